// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where no VM has LWP nothing of LWP runs at a VM-Entry: neither before the first VM that has it, nor some time after the
 * last. The kernel's code is patched for that, which stops all CPUs for a moment: not for each VM that comes and goes.
 * Probes of the kernel count how often it enters functions.
 */
#include <stddef.h>
#include <time.h>
#include "kvm_vm.h"
#include "tracing.h"

#define VISITS 50 /* each is one VM-Entry or more */
#define VMS 50
#define PATIENCE 20 /* seconds; what is waited for takes one */

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

static void waits_until_it_is_patched(struct vm *vm)
{
	time_t until = time(NULL) + PATIENCE;
	unsigned int before;

	do {
		before = probe_hits(functions[0]);
		visit_guest(vm);
	} while (probe_hits(functions[0]) > before && time(NULL) < until);
}

static void code_is_not_patched_for_each_vm(void)
{
	unsigned int before = probe_hits("patched"), n;
	struct vm *vm;

	for (int i = 0; i < VMS; i++) {
		vm = vm_new(true);
		vm_add_vcpu(vm);
		vm_free(vm);
	}
	n = probe_hits("patched") - before;
	ok(n <= VMS / 2, "%d VMs with LWP come and go: code is patched %u times", VMS, n);
}

int main(void)
{
	struct vm *vm = vm_new_unasked(true), *with_lwp;

	for (size_t i = 0; i < FUNCTIONS; i++)
		probe(functions[i], functions[i]);
	probe("patched", "arch_jump_label_transform_apply");
	vm_add_vcpu(vm);
	vm_load(vm, visit, visit_end);
	waits_until_it_is_patched(vm); /* the last VM of another test has just gone */
	runs(vm, false, "no VM has LWP");
	with_lwp = vm_new(true);
	vm_add_vcpu(with_lwp);
	runs(vm, true, "another one has it");
	vm_free(with_lwp);
	code_is_not_patched_for_each_vm();
	waits_until_it_is_patched(vm);
	runs(vm, false, "the other one is gone");
	vm_free(vm);
	return done();
}
