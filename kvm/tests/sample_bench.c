// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of a sample: one program runs without profiling, and with each way of taking a sample every PERIOD
 * instructions. kvm_bench [PERIOD [ROUNDS]]
 *
 * `guest pmu` samples by the overflow of the guest's own virtual counter. Its handler does only the work that Linux's
 * handler cannot avoid (vpmu.h): the least that `perf record` in a guest costs.
 */
#include <stdio.h>
#include <stdlib.h>
#include "counted.h"
#include "vpmu.h"

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

enum mode { NONE, PROMPT, EXACT, STEP, GUEST_PMU, MODES };

static const char *const names[MODES] = { "none", "lwp prompt", "lwp exact", "lwp step",
					  "guest pmu" };

/* Modes that step most of the time get a shorter run. */
#define SHORT 10

static u32 period = 10000, rounds = 200000;
static double none_seconds, exits_each[MODES];
static u64 none_exits;

static u32 rounds_of(enum mode mode)
{
	return mode == EXACT || mode == STEP ? rounds / SHORT : rounds;
}

static void set_up(enum mode mode)
{
	begin_delivery(work, work_end, mode == PROMPT, 0);
	block_init(vm, LWP_F_IRE, 4096);
	event_each(2, period);
	/* An IP filter that lets everything pass, because filters need stepping. */
	if (mode == STEP) {
		lwp_put32(vm->mem + VM_BLOCK + LWP_CB_FILTERS, LWP_FILTER_IPF);
		lwp_put64(vm->mem + VM_BLOCK + LWP_CB_LIMIT_IP, VM_SIZE);
	}
	v->regs.r8 = rounds_of(mode);
	if (mode == NONE || mode == GUEST_PMU)
		v->regs.rbx = 0;
	vm_set_regs(v);
	if (mode == GUEST_PMU)
		vpmu_sample(vm, v, period);
}

/* Run once; false: it did not end. NONE comes first: the others are compared with it. */
static bool measure(enum mode mode)
{
	double seconds, slowdown;
	u64 exits, samples;
	int stop;

	set_up(mode);
	exits = vm_stat(v, "exits");
	seconds = now();
	stop = vm_run_interruptible(vm, v);
	seconds = now() - seconds;
	exits = vm_stat(v, "exits") - exits;
	if (mode == NONE) {
		none_seconds = seconds;
		none_exits = exits;
	}
	slowdown = seconds / none_seconds * rounds / rounds_of(mode);
	samples = mode == GUEST_PMU ? vpmu_samples(vm) : vm_stat(v, "lwp_records");
	printf("%-10s %8lu %10lu", names[mode], samples, exits);
	if (samples) {
		exits_each[mode] = (double)(exits - none_exits) / (double)samples;
		printf(" %12.2f", exits_each[mode]);
	} else {
		printf(" %12s", "-");
	}
	printf(" %9.1f %7lu %10lu %8lu\n", slowdown, vm_stat(v, "lwp_missed"),
	       vm_stat(v, "lwp_overshoots"), vm_stat(v, "lwp_steps"));
	fflush(stdout);
	return stop == VM_DONE;
}

/* Compare with the aims for prompt delivery. */
static void print_aims(void)
{
	double ratio = exits_each[GUEST_PMU] / exits_each[PROMPT];

	printf("lwp prompt: %.2f exits per record, wanted at most 1.05: %s\n", exits_each[PROMPT],
	       exits_each[PROMPT] <= 1.05 ? "reached" : "missed");
	printf("guest pmu: %.1f times the exits per sample of lwp prompt, wanted at least 4: %s\n",
	       ratio, ratio >= 4 ? "reached" : "missed");
}

int main(int argc, char **argv)
{
	bool whole = true;
	enum mode mode;

	if (argc > 1)
		period = (u32)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		rounds = (u32)strtoul(argv[2], NULL, 10);
	printf("a bare guest: %u instructions (lwp exact, lwp step: %u), a sample each %u\n",
	       19 * (rounds / 2), 19 * (rounds / SHORT / 2), period);
	printf("%-10s %8s %10s %12s %9s %7s %10s %8s\n", "", "samples", "exits", "exits/sample",
	       "slowdown", "missed", "overshoots", "steps");
	for (mode = NONE; mode < MODES; mode++)
		whole &= measure(mode);
	puts("(exits/sample: less those without profiling)");
	print_aims();
	return whole ? 0 : 1;
}
