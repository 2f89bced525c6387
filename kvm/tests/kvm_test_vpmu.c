// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's own performance counters and LWP at the same time: each counts what it would count alone.
 *
 * The argument is the number of instructions by which the interrupts of the host's counters come late. Without one nobody
 * knows, nor by how much each VM-Entry adds to what the guest counts: it counts no less than its instructions, and all is
 * LONG times as long (2007-715).
 *
 * perf arms a counter for two events if one is left. A thread that is switched there gets that sample one late, and none
 * if it is switched again after one instruction: with LWP and without. So no ordinary thread preempts this one, and a
 * sample is judged by where it lies only if nothing switched it.
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include "counted.h"
#include "texts.h"
#include "vpmu.h"

#define LONG 40 /* see kvm_test_perf.c */

static unsigned int skid;
static bool known = true;
static u32 period = 5000; /* of LWP */
static u32 sample_period = 7000; /* of the guest's sampling counter */
static u32 rounds = ROUNDS;

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw + usage.ru_nvcsw;
}

static void start(const u8 *from, const u8 *to, bool lwp, u32 delivery)
{
	begin_delivery(from, to, delivery, LWP_F_IRE | LWP_F_BRE);
	event_each(2, period);
	count_only(3);
	if (!lwp) {
		v->regs.rbx = 0;
		vm_set_regs(v);
	}
}

static void start_loop(bool lwp, u32 delivery)
{
	start(loop, loop_end, lwp, delivery);
	lwp_put32(vm->mem + VM_CODE + 6, rounds);
}

static void guest_counted(u64 count, u64 wanted, const char *what)
{
	if (known)
		is(count, wanted, what);
	else
		ok(count >= wanted, "%s: %lu of %lu", what, count, wanted);
}

/* The last far transfer is INT 80h, a branch for the PMU. Interrupts of the host do not count. */
static void the_guest_counts(const char *what)
{
	guest_counted(vpmu_counted(v, 0), 1 + 1 + rounds * 3 + 1 + 1, "the guest's instructions");
	guest_counted(vpmu_counted(v, 1) - vpmu_counted(v, 2), rounds,
		      "the guest's branches, less far transfers");
	diag("%s: %lu branches, %lu far transfers", what, vpmu_counted(v, 1), vpmu_counted(v, 2));
}

static void lwp_counts(u32 records)
{
	is(block_head(vm), records, "LWP's records");
	is(block_counter(vm, 2), period - 1 - 1, "one instruction of the next period");
	is(count_of(3), rounds, "LWP's branches");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was a counter for both");
}

static void both_count(bool lwp, u32 delivery, const char *what)
{
	start_loop(lwp, delivery);
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
 * Interrupts that are on time find the instruction after the 7,000th, 14,000th, ... that the guest has counted, and
 * LLWPCB is the first of these.
 */
static void samples_are_right(bool judged, const char *what)
{
	u64 i, wrong = 0;

	if (judged)
		is(vpmu_samples(vm), 60004 / sample_period, "the guest's samples");
	else
		ok(vpmu_samples(vm) > 0, "%lu samples of the guest", vpmu_samples(vm));
	for (i = 0; i < vpmu_samples(vm); i++) {
		u64 at = vpmu_sampled_rip(vm, i);

		wrong += skid || !judged ? at < VM_CODE + 10 || at > VM_CODE + 13 :
					   at != loop_place((u32)(i + 1) * sample_period);
		if (!i)
			diag("%s: the first is at offset %lu", what, at - VM_CODE);
	}
	is(wrong, 0, skid || !judged ? "they lie in the loop" : "they name the instructions after");
}

static void guest_samples_while_lwp_records(bool lwp, u32 delivery, const char *what)
{
	long switched;

	start_loop(lwp, delivery);
	vpmu_sample(vm, v, sample_period);
	switched = -switches();
	run_to_end();
	switched += switches();
	if (switched)
		diag("%s: its thread was switched %ld times", what, switched);
	samples_are_right(known && !switched, what);
	if (lwp)
		lwp_counts(12);
	if (lwp && !delivery && (known || !vm_stat(v, "lwp_overshoots")))
		COUNTED("each 5,000th of 60,001", 10, 13, 11, 10, 13, 11, 10, 13, 11, 10, 13, 11);
}

PROGRAM(calls, "	mov $50, %r8d\n"
	       "1:	syscall\n"
	       "	dec %r8d\n"
	       "	jnz 1b\n");

/* The guest's instructions at all CPLs, and its branches. KVM completes SYSCALL and SYSRET with `exact`. */
static u64 count_system_calls(bool lwp, u32 delivery, u64 *branches)
{
	start(calls, calls_end, lwp, delivery);
	vpmu_count(v, 0, PERF_CTL_OS | PERF_INSTRUCTIONS);
	vpmu_count(v, 1, PERF_CTL_OS | PERF_BRANCHES);
	is(run_past(VM_SYSCALL, VM_SYSCALL), 50, "with its system calls");
	*branches = vpmu_counted(v, 1);
	return vpmu_counted(v, 0);
}

static void system_calls_count_for_the_guest(u32 delivery)
{
	u64 branches, with, with_branches, instructions = count_system_calls(false, 0, &branches);

	with = count_system_calls(true, delivery, &with_branches);
	if (!known) {
		diag("system calls: %lu of the guest's instructions and %lu branches, with LWP %lu and %lu",
		     instructions, branches, with, with_branches);
		return;
	}
	is(with, instructions, "as many of the guest's instructions with LWP as without");
	is(with_branches, branches, "and as many branches");
}

#define ALL 4 /* with LWP's three there are more than a processor has */
PROGRAM(twice, "	mov $20000, %r8d\n"
	       "1:	nop\n"
	       "	dec %r8d\n"
	       "	jnz 1b\n"
	       "	syscall\n"
	       "	mov $20000, %r8d\n"
	       "2:	nop\n"
	       "	dec %r8d\n"
	       "	jnz 2b\n");

/* The guest's kernel programs its counters while LWP has some: LWP steps then, and again without them. */
static void the_guests_kernel_comes_first(u32 delivery, const char *what)
{
	static const struct timespec moment = { .tv_nsec = 1000000 };

	start(twice, twice_end, true, delivery);
	is(vm_run(vm, v), VM_SYSCALL, "LWP has counters");
	is(vm_stat(v, "lwp_no_counter"), 0, "all that it wants");
	for (unsigned int i = 0; i < ALL; i++)
		vpmu_count(v, i, PERF_INSTRUCTIONS);
	nanosleep(&moment, NULL); /* the kernel schedules the thread's events again */
	run_to_end();
	for (unsigned int i = 0; i < ALL; i++)
		is(vpmu_counted(v, i), 1 + 20000 * 3 + 1 + 1, "a counter of the guest");
	is(count_of(3), 40000, what);
	ok(vm_stat(v, "lwp_no_counter") > 0, "LWP had no counter %lu times",
	   vm_stat(v, "lwp_no_counter"));
}

int main(int argc, char **argv)
{
	static const struct sched_param before_others = { .sched_priority = 1 };

	need_source("perf");
	if (sched_setscheduler(0, SCHED_FIFO, &before_others))
		skip_all("no SCHED_FIFO");
	known = argc > 1;
	if (known) {
		skid = (unsigned int)atoi(argv[1]);
	} else {
		period *= LONG;
		sample_period *= LONG;
		rounds *= LONG;
	}
	set_margin(known ? skid + 2 : 0);
	both_count(false, 0, "without LWP");
	both_count(true, 0, "exact");
	both_count(true, 1, "prompt");
	system_calls_count_for_the_guest(0);
	system_calls_count_for_the_guest(1);
	guest_samples_while_lwp_records(false, 0, "without LWP");
	guest_samples_while_lwp_records(true, 0, "exact");
	guest_samples_while_lwp_records(true, 1, "prompt");
	if (known) {
		the_guests_kernel_comes_first(0, "exact: LWP's branches");
		the_guests_kernel_comes_first(1, "prompt: LWP's branches");
	}
	return done();
}
