// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * exits RUNS: how often a guest that does not use LWP exits, by exit code, one line for each run. The lines must be
 * the same with KVM with LWP and without. The guest has no timer; exits for interrupts of the host are left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include "exit_reasons.h"
#include "counted.h"

#define EXIT_INTR 0x60
#define EXIT_NMI 0x61

/* At CPL 0: instructions that LWP would intercept if it were in use. */
extern const u8 kernel[], kernel_end[];
asm(".pushsection .text\n"
    "kernel:\n"
    "	mov $500, %r12d\n"
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
    "	out %al, $0x50\n"
    "kernel_end:\n"
    ".popsection\n");

/* At CPL 3: system calls, flags, exceptions, a loop. */
extern const u8 user[], user_end[];
asm(".pushsection .text\n"
    "user:\n"
    "	mov $200, %r12d\n"
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
    "	int $0x80\n"
    "user_end:\n"
    ".popsection\n");

static void workload(void)
{
	int stop;

	vm = vm_new(true);
	v = vm_add_vcpu(vm);
	memcpy(vm->mem + VM_CODE, kernel, (size_t)(kernel_end - kernel));
	vm_start_kernel(vm, v, VM_CODE);
	is(vm_run(vm, v), 0x50, "the kernel's part");
	vm_load(vm, user, user_end);
	vm_start(vm, v);
	do {
		stop = vm_run(vm, v);
	} while (stop == VM_SYSCALL || stop == 3);
	is(stop, VM_DONE, "the program's part");
	vm_free(vm);
}

static void print_exit(unsigned int reason, unsigned int count)
{
	if (reason != EXIT_INTR && reason != EXIT_NMI)
		printf(" %x:%u", reason, count);
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 1;

	while (runs--) {
		exit_reasons_begin();
		workload();
		printf("# exits");
		exit_reasons_end(print_exit);
		printf("\n");
	}
	return done();
}
