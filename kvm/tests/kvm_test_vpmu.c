// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's own performance counters and LWP at the same time: each counts what it would count alone.
 *
 * The argument is the number of instructions by which the interrupts of the host's counters come
 * late (0) (2007-715).
 */
#include <stdio.h>
#include <stdlib.h>
#include "counted.h"
#include "vpmu.h"

#define PERIOD 5000 /* of LWP */
#define SAMPLE_PERIOD 7000 /* of the guest's sampling counter */

static unsigned int skid;

static void start(const u8 *from, const u8 *to, bool lwp, u32 delivery)
{
	begin_delivery(from, to, delivery, LWP_F_IRE | LWP_F_BRE);
	event_each(2, PERIOD);
	block_event(vm, 3, 100000, 100000);
	if (!lwp) {
		v->regs.rbx = 0;
		vm_set_regs(v);
	}
}

/* 1 and 20,000 times 3 instructions, 20,000 branches; LLWPCB before, SLWPCB and INT 80h after. */
PROGRAM(loop, "	mov $20000, %ecx\n" /* 5 */
	      "1:	nop\n" /* 10 */
	      "	dec %ecx\n" /* 11 */
	      "	jnz 1b\n"); /* 13 */

#define LOOP_INSTRUCTIONS (1 + 1 + 20000 * 3 + 1 + 1)

/* The last far transfer is INT 80h, a branch for the PMU. Interrupts of the host do not count. */
static void the_guest_counts(const char *what)
{
	is(vpmu_counted(v, 0), LOOP_INSTRUCTIONS, "the guest's instructions");
	is(vpmu_counted(v, 1) - vpmu_counted(v, 2), 20000,
	   "the guest's branches, less far transfers");
	diag("%s: %llu branches, %llu far transfers", what, (unsigned long long)vpmu_counted(v, 1),
	     (unsigned long long)vpmu_counted(v, 2));
}

static void lwp_counts(u32 records)
{
	is(block_head(vm), records, "LWP's records");
	is(block_counter(vm, 2), PERIOD - 1 - 1, "one instruction of the next period");
	is(100000 - block_counter(vm, 3), 20000, "LWP's branches");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was a counter for both");
}

static void both_count(bool lwp, u32 delivery, const char *what)
{
	start(loop, loop_end, lwp, delivery);
	vpmu_count(v, 0, PERF_INSTRUCTIONS);
	vpmu_count(v, 1, PERF_BRANCHES);
	vpmu_count(v, 2, PERF_FAR);
	run_to_end();
	the_guest_counts(what);
	if (lwp) {
		lwp_counts(12);
		ok(vm_stat(v, "lwp_counter_irqs") > 0, "%s: the PMU counted for LWP", what);
	}
}

/*
 * Number n > 2 of the program is at offset 10, 11 or 13 as n % 3 is 0, 1 or 2. Interrupts that are on time find the
 * instruction after the 7,000th, 14,000th, ... : 7001 % 3 is 2, 14001 % 3 is 0, 21001 % 3 is 1.
 */
static void samples_are_right(const char *what)
{
	static const u64 offset[] = { 13, 10, 11 };
	u64 i, wrong = 0;

	is(vpmu_samples(vm), 60004 / SAMPLE_PERIOD, "the guest's samples");
	for (i = 0; i < vpmu_samples(vm); i++) {
		u64 at = vpmu_sampled_rip(vm, i) - VM_CODE;

		wrong += skid ? at < 10 || at > 13 : at != offset[i % 3];
		if (!i)
			diag("%s: the first is at offset %llu", what, (unsigned long long)at);
	}
	is(wrong, 0, skid ? "they lie in the loop" : "they name the instructions after");
}

static void guest_samples_while_lwp_records(bool lwp, u32 delivery, const char *what)
{
	start(loop, loop_end, lwp, delivery);
	vpmu_sample(vm, v, SAMPLE_PERIOD);
	run_to_end();
	samples_are_right(what);
	if (lwp)
		lwp_counts(12);
	if (lwp && !delivery)
		COUNTED("each 5,000th of 60,001", 10, 13, 11, 10, 13, 11, 10, 13, 11, 10, 13, 11);
}

PROGRAM(calls, "	mov $50, %r8d\n"
	       "1:	syscall\n"
	       "	dec %r8d\n"
	       "	jnz 1b\n");

/* The guest's instructions at all CPLs, and its branches. KVM completes SYSCALL and SYSRET while LWP is on. */
static u64 count_system_calls(bool lwp, u64 *branches)
{
	u64 instructions;
	u32 stops = 0;
	int stop;

	start(calls, calls_end, lwp, 1);
	vpmu_count_all(v, 0, PERF_INSTRUCTIONS);
	vpmu_count_all(v, 1, PERF_BRANCHES);
	while ((stop = vm_run(vm, v)) == VM_SYSCALL)
		stops++;
	is(stop, VM_DONE, "the program runs to its end");
	is(stops, 50, "with its system calls");
	instructions = vpmu_counted(v, 0);
	*branches = vpmu_counted(v, 1);
	return instructions;
}

static void system_calls_count_for_the_guest(void)
{
	u64 branches, with_lwp, instructions = count_system_calls(false, &branches);

	is(count_system_calls(true, &with_lwp), instructions,
	   "as many of the guest's instructions with LWP as without");
	is(with_lwp, branches, "and as many branches");
}

int main(int argc, char **argv)
{
	char margin[16];

	if (!parameter_is("lwp_source", "perf"))
		skip_all("kvm-amd is not loaded with lwp_source=perf");
	skid = argc > 1 ? (unsigned int)atoi(argv[1]) : 0;
	snprintf(margin, sizeof(margin), "%u", skid + 2);
	set_parameter("lwp_margin", margin);
	both_count(false, 0, "without LWP");
	both_count(true, 0, "exact");
	both_count(true, 1, "prompt");
	system_calls_count_for_the_guest();
	guest_samples_while_lwp_records(false, 0, "without LWP");
	guest_samples_while_lwp_records(true, 0, "exact");
	guest_samples_while_lwp_records(true, 1, "prompt");
	return done();
}
