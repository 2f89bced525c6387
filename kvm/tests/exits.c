// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exits RUNS KIND: how often a guest that does not use LWP exits, by exit code, one line for each run. The lines must be
 * the same with KVM with LWP and without. The guest has no timer; exits for interrupts of the host are left out.
 *
 * idle: the guest has LWP, if KVM has. stranger: it is made by a VMM that does not know LWP; the line also has what KVM
 * tells such a VMM, and the memory that the kernel allocates for it by kmalloc(). beside: the same guest, while in all runs but the first and the last another VM is profiled.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include "exit_reasons.h"
#include "counted.h"

#define EXIT_INTR 0x60
#define EXIT_NMI 0x61

/* At CPL 0: instructions that LWP would intercept if it were in use. */
GUEST_CODE(kernel, "	mov $500, %r12d\n"
		   "1:	mov %cr3, %rax\n"
		   "	mov %rax, %cr3\n"
		   "	mov $0xc0000100, %ecx\n"
		   "	mov %r12d, %eax\n"
		   "	xor %edx, %edx\n"
		   "	wrmsr\n"
		   "	xor %eax, %eax\n"
		   "	cpuid\n"
		   "	dec %r12d\n"
		   "	jnz 1b\n"
		   "	out %al, $0x50\n");

/* At CPL 3: system calls, flags, exceptions, a loop. */
GUEST_CODE(user, "	mov $200, %r12d\n"
		 "1:	syscall\n"
		 "	pushf\n"
		 "	popf\n"
		 "	int3\n"
		 "	mov (%rdi), %eax\n"
		 "	add $0x1000, %rdi\n"
		 "	and $0x30ffff, %edi\n"
		 "	mov $10000, %ecx\n"
		 "2:	loop 2b\n"
		 "	dec %r12d\n"
		 "	jnz 1b\n"
		 "	int $0x80\n");

/* Profiled, or, if KVM has no LWP, only executed. */
PROGRAM(other, "	mov $30000, %ecx\n"
	       "1:	nop\n"
	       "	loop 1b\n");

static struct vm *other_vm;
static volatile bool other_ends;

static void *run_other(void *unused)
{
	struct vcpu *second = &other_vm->vcpu[1];
	bool lwp = ioctl(other_vm->fd, KVM_CHECK_EXTENSION, KVM_CAP_X86_LWP) > 0;

	(void)unused;
	while (!other_ends) {
		vm_start(other_vm, second);
		block_init(other_vm, LWP_F_IRE | LWP_F_BRE, 4096);
		block_event(other_vm, 2, 99, 99);
		block_event(other_vm, 3, 199, 199);
		if (!lwp)
			vm_go_to(second, VM_CODE + 5);
		vm_run_interruptible(other_vm, second);
	}
	return NULL;
}

static pthread_t other_thread;

/* The other VM's vCPU has the id 1, so that its exits are not counted. */
static void start_other(void)
{
	other_vm = vm_new(true);
	vm_add_vcpu(other_vm);
	vm_add_vcpu(other_vm);
	vm_load(other_vm, other, other_end);
	pthread_create(&other_thread, NULL, run_other, NULL);
}

static void end_other(void)
{
	other_ends = true;
	pthread_join(other_thread, NULL);
	vm_free(other_vm);
}

static u64 digest(const void *data, size_t size)
{
	u64 sum = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		sum = (sum ^ ((const u8 *)data)[i]) * 0x100000001b3ull;
	return sum;
}

/* Some leaves have the APIC ID of the processor that reads them. */
static void run_on(size_t size, cpu_set_t *processors)
{
	if (sched_setaffinity(0, size, processors))
		skip_all("a thread cannot be bound to a processor");
}

/* What KVM tells every VMM: supported CPUID, MSRs to save. */
static void print_offers(void)
{
	cpu_set_t all, first;
	struct kvm_msr_list *list = calloc(1, sizeof(*list) + 1000 * sizeof(u32));
	struct vm *any;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	run_on(sizeof(first), &first);
	any = vm_new_unasked(true);
	run_on(sizeof(all), &all);
	list->nmsrs = 1000;
	is(ioctl(any->kvm, KVM_GET_MSR_INDEX_LIST, list), 0, "KVM_GET_MSR_INDEX_LIST");
	printf("# exits cpuid:%lx msrs:%lx",
	       digest(any->cpuid->entries, any->cpuid->nent * sizeof(any->cpuid->entries[0])),
	       digest(list->indices, list->nmsrs * sizeof(u32)));
	free(list);
	vm_free(any);
}

static void workload(bool stranger)
{
	vm = stranger ? vm_new_unasked(true) : vm_new(true);
	v = vm_add_vcpu(vm);
	memcpy(vm->mem + VM_CODE, kernel, (size_t)(kernel_end - kernel));
	vm_start_kernel(vm, v, VM_CODE);
	is(vm_run(vm, v), 0x50, "the kernel's part");
	vm_load(vm, user, user_end);
	vm_start(vm, v);
	run_past(VM_SYSCALL, 3);
	vm_free(vm);
}

static void print_exit(unsigned int reason, unsigned int count)
{
	if (reason != EXIT_INTR && reason != EXIT_NMI)
		printf(" %x:%u", reason, count);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "idle";
	bool stranger = strcmp(kind, "idle"), beside = !strcmp(kind, "beside");
	int i, runs = argc > 1 ? atoi(argv[1]) : 1;
	u64 bytes;

	for (i = 0; i < runs; i++) {
		if (beside && i == 1)
			start_other();
		if (beside && i == runs - 1)
			end_other();
		exit_reasons_begin();
		if (stranger)
			memory_begin();
		workload(stranger);
		if (stranger) {
			bytes = memory_end();
			print_offers();
			printf(" memory:%lu", bytes);
		} else {
			printf("# exits");
		}
		exit_reasons_end(print_exit);
		printf("\n");
	}
	return done();
}
