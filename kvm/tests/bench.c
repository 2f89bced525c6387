// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a record costs: one program, without profiling and with each way of getting a sample every so many
 * instructions. kvm_bench [PERIOD [ROUNDS]]
 *
 * `vpmu` is what an interrupt of the guest's own virtual counter costs at least: an NMI whose handler does what
 * Linux's handler for AMD processors cannot do without (LVTPC, RDPMC, WRMSR), and takes no sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include "program.h"

/* r8d rounds of 9 instructions, and one more in odd ones. */
PROGRAM(work, "1:	mov (%rdi), %rax\n"
	      "	add %r8, %rax\n"
	      "	mov %rax, (%rdi)\n"
	      "	call 2f\n"
	      "	test $1, %r8b\n"
	      "	jz 3f\n"
	      "	imul %rax, %rax\n"
	      "3:	dec %r8d\n"
	      "	jnz 1b\n"
	      "	jmp 4f\n"
	      "2:	ret\n"
	      "4:	\n");

/* The NMI handler; rdi, which the program leaves alone, points to VM_DATA: its count, and -period. */
#define PERF_CTL0 0xc0010000
#define PERF_CTR0 0xc0010004
#define CTL_INSNS_USER_INT 0x5100c0
#define APIC_LVTPC 0x340
#define APIC_DM_NMI 0x400
#define COUNT 0x800
#define RESTART 0x808

extern const u8 handler[], handler_end[];
asm(".pushsection .text\n"
    "handler:\n"
    "	push %rax\n"
    "	push %rcx\n"
    "	push %rdx\n"
    "	movl $0x400, 0x3ff340\n" /* VM_APIC + APIC_LVTPC */
    "	xor %ecx, %ecx\n"
    "	rdpmc\n"
    "	mov $0xc0010004, %ecx\n"
    "	mov 0x808(%rdi), %eax\n"
    "	mov $0xffff, %edx\n"
    "	wrmsr\n"
    "	incq 0x800(%rdi)\n"
    "	pop %rdx\n"
    "	pop %rcx\n"
    "	pop %rax\n"
    "	iretq\n"
    "handler_end:\n"
    ".popsection\n");

enum mode { NONE, PROMPT, EXACT, STEP, VPMU };

static const char *const names[] = { "none", "lwp prompt", "lwp exact", "lwp step", "vpmu" };

static u32 period = 10000, rounds = 200000;

static void set_up(enum mode mode)
{
	struct kvm_lwp_policy policy = { .delivery = mode == PROMPT };
	struct kvm_device_attr a = {
		.group = KVM_LWP_VM,
		.attr = KVM_LWP_VM_POLICY,
		.addr = (u64)&policy,
	};

	vm = vm_new(true);
	ioctl(vm->fd, KVM_SET_DEVICE_ATTR, &a);
	v = vm_add_vcpu(vm);
	block_init(vm, LWP_F_IRE, 4096);
	block_event(vm, 2, period - 1, period - 1);
	/* An IP filter that everything passes: filters are stepped. */
	if (mode == STEP) {
		lwp_put32(vm->mem + VM_BLOCK + LWP_CB_FILTERS, LWP_FILTER_IPF);
		lwp_put64(vm->mem + VM_BLOCK + LWP_CB_LIMIT_IP, VM_SIZE);
	}
	vm_load(vm, work, work_end);
	v->regs.r8 = rounds;
	if (mode == NONE || mode == VPMU)
		v->regs.rbx = 0;
	vm_set_regs(v);
	if (mode != VPMU)
		return;
	vm_handler(vm, 2, handler, handler_end);
	vm_apic_on(v);
	vm_apic_set(v, APIC_LVTPC, APIC_DM_NMI);
	lwp_put32(vm->mem + VM_DATA + RESTART, -period);
	vm_set_msr(v, PERF_CTR0, -(u64)period & 0xffffffffffff);
	vm_set_msr(v, PERF_CTL0, CTL_INSNS_USER_INT);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Run once; false: it did not end. *seconds is compared with those of NONE, which come first. */
static bool measure(enum mode mode, double *seconds)
{
	u64 exits, samples;
	double begun;
	int stop;

	set_up(mode);
	exits = vm_stat(v, "exits");
	begun = now();
	stop = vm_run_interruptible(vm, v);
	begun = now() - begun;
	exits = vm_stat(v, "exits") - exits;
	if (mode == NONE)
		*seconds = begun;
	samples = mode == VPMU ? lwp_get64(vm->mem + VM_DATA + COUNT) : vm_stat(v, "lwp_records");
	printf("%-10s %8llu %10llu", names[mode], (unsigned long long)samples,
	       (unsigned long long)exits);
	if (samples)
		printf(" %11.2f", (double)exits / (double)samples);
	else
		printf(" %11s", "-");
	printf(" %9.1f %7llu %10llu %6llu\n", begun / *seconds,
	       (unsigned long long)vm_stat(v, "lwp_missed"),
	       (unsigned long long)vm_stat(v, "lwp_overshoots"),
	       (unsigned long long)vm_stat(v, "lwp_steps"));
	fflush(stdout);
	vm_free(vm);
	return stop == VM_DONE;
}

int main(int argc, char **argv)
{
	double seconds = 1;
	bool whole = true;
	enum mode mode;

	if (argc > 1)
		period = (u32)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		rounds = (u32)strtoul(argv[2], NULL, 10);
	printf("%u instructions, a sample each %u\n", 19 * (rounds / 2), period);
	printf("%-10s %8s %10s %11s %9s %7s %10s %6s\n", "", "samples", "exits", "exits/sample",
	       "slowdown", "missed", "overshoots", "steps");
	for (mode = NONE; mode <= VPMU; mode++)
		whole &= measure(mode, &seconds);
	return whole ? 0 : 1;
}
