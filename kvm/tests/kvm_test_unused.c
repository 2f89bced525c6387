// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where no VM has LWP nothing of LWP runs at a VM-Entry: neither before the first VM that has it, nor after the last.
 * Probes of the kernel count how often KVM enters LWP's functions.
 */
#include <stddef.h>
#include "kvm_vm.h"
#include "tracing.h"

#define VISITS 50 /* each is one VM-Entry or more */

GUEST_CODE(visit, "	int $0x80\n");

static const char *const functions[] = { "svm_lwp_enter", "svm_lwp_before_run",
					 "svm_lwp_after_run" };
#define FUNCTIONS (sizeof(functions) / sizeof(*functions))

static void visit_guest(struct vm *vm)
{
	for (int i = 0; i < VISITS; i++) {
		vm_start(vm, &vm->vcpu[0]);
		vm_finish(vm, &vm->vcpu[0]);
	}
}

/* The guest runs, and each function is entered at least so often, or never. */
static void runs(struct vm *vm, bool entered, const char *when)
{
	unsigned int before[FUNCTIONS];

	for (size_t i = 0; i < FUNCTIONS; i++)
		before[i] = probe_hits(functions[i]);
	visit_guest(vm);
	for (size_t i = 0; i < FUNCTIONS; i++) {
		unsigned int n = probe_hits(functions[i]) - before[i];

		ok(entered ? n >= VISITS : n == 0, "%s: %s() is entered %u times", when,
		   functions[i], n);
	}
}

int main(void)
{
	struct vm *vm = vm_new_unasked(true), *with_lwp;

	for (size_t i = 0; i < FUNCTIONS; i++)
		probe(functions[i], functions[i]);
	vm_add_vcpu(vm);
	vm_load(vm, visit, visit_end);
	runs(vm, false, "no VM has LWP");
	with_lwp = vm_new(true);
	vm_add_vcpu(with_lwp);
	runs(vm, true, "another one has it");
	vm_free(with_lwp);
	runs(vm, false, "the other one is gone");
	vm_free(vm);
	return done();
}
