// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting with performance counters: records are those of single steps. Instructions that a counter counts and LWP
 * does not, or the other way round, are neither lost nor counted twice.
 *
 * The argument is the number of instructions by which the counters' interrupts come late. perf adds one when it
 * gives a thread its counter back with one event left, because it never arms for one. `exact` gets a margin of one
 * more than both, so it must never overshoot. Without an argument nobody knows how late they come: the margin is KVM's
 * own, all is LONG times as long, and a record may be late if KVM counts it as an overshoot (43724-701, 43724-702,
 * 43724-717, 43724-822, 2007-701, 2007-708).
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>
#include "host_counters.h"
#include "counted.h"
#include "texts.h"

/* A period is longer than any lateness that was measured, and leaves as many of the loop's three instructions. */
#define LONG 40

static unsigned int skid;
static bool known = true;
static u32 period = 5000;
static u32 rounds = ROUNDS;

/* A machine whose user space has set no policy. */
TEST(prompt_is_the_default)
{
	struct kvm_lwp_policy policy = { .delivery = 0 };
	int kvm = open("/dev/kvm", O_RDWR), machine = ioctl(kvm, KVM_CREATE_VM, 0);

	is(vm_attr(machine, KVM_GET_DEVICE_ATTR, KVM_LWP_VM, KVM_LWP_VM_POLICY, &policy), 0,
	   "get the policy");
	is(policy.delivery, 1, "prompt is the default");
	is(policy.context, KVM_LWP_CONTEXT_AUTO, "with contexts that KVM finds");
	is(policy.step_budget, BUDGET, "and 100,000 steps a second");
	close(machine);
	close(kvm);
}

/* Is each record of the very instruction? */
static bool in_time(void)
{
	u64 late = vm_stat(v, "lwp_overshoots");

	if (known)
		is(late, 0, "no overshoot");
	else
		diag("exact: %lu overshoots", late);
	return known || !late;
}

/* Steps that `exact` may take for each record: the margin, and some for KVM's own exits. */
static void spared_steps(u32 records)
{
	u64 steps = vm_stat(v, "lwp_steps");

	ok(steps <= records * (known ? skid + 3ull : period / 2),
	   "the counter spares stepping: %lu steps", steps);
}

TEST(exact_names_the_very_instruction)
{
	run_loop(rounds, 0, 2, period);
	if (in_time())
		COUNTED("each 5,000th of 60,001", 10, 13, 11, 10, 13, 11, 10, 13, 11, 10, 13, 11);
	is(block_counter(vm, 2), period - 1 - 1, "one has been counted of the next period");
	spared_steps(12);
	is(vm_stat(v, "lwp_counter_irqs"), 12, "one interrupt a record");
}

/* The n-th branch is the JNZ of round n, at offset 13. */
TEST(exact_branches_step_to_the_very_one)
{
	run_loop(rounds, 0, 3, period);
	if (!in_time())
		return;
	COUNTED("each 5,000th of 20,000", 13, 13, 13, 13);
	is(ring_record(vm, 2).flags, LWP_RECORD_TKN, "the 15,000th is taken");
	is(ring_record(vm, 2).data2, VM_CODE + 10, "its target");
	is(ring_record(vm, 3).flags, 0, "the 20,000th is not");
	is(ring_record(vm, 3).data2, VM_CODE + 15, "its target is after it");
	is(block_counter(vm, 3), period - 1, "no other branch");
}

/* Instructions each 5,000, branches each 3,000, which are instructions 1 + 9,000 n. */
static void both_events_share_one_deadline(void)
{
	static const u8 events[] = { 2, 3, 2, 2, 3, 2, 2, 3, 2, 2, 3, 2, 2, 3, 2, 3, 2, 2 };
	u32 i, wrong = 0;

	begin_loop(rounds, 0, LWP_F_IRE | LWP_F_BRE);
	event_each(2, period);
	event_each(3, period / 5 * 3);
	run_to_end();
	if (!in_time())
		return;
	is(block_head(vm), 18, "12 and 6 records");
	for (i = 0; i < sizeof(events); i++)
		wrong += ring_record(vm, i).event_id != events[i];
	is(wrong, 0, "in the order of their instructions");
	is(ring_record(vm, 12).address, VM_CODE + 11, "the 45,000th instruction");
	is(ring_record(vm, 13).address, VM_CODE + 13, "after it the 15,000th branch");
	is(block_counter(vm, 2), period - 2, "rest of instructions");
	is(block_counter(vm, 3), period / 5 - 1, "20,000 - 18,000 of 3,000 branches");
}

TEST(what_counters_see_differently_counts_as_in_steps)
{
	begin_mixed(0, LWP_F_IRE);
	count_only(2);
	is(run_past(VM_SYSCALL, 3), 1500, "INT n, INT3 and SYSCALL reach the kernel");
	is(count_of(2), 1 + 500 * 11 + 1, "instructions");
	is(vm_stat(v, "lwp_no_counter"), 0, "there was always a counter");

	begin_mixed(0, LWP_F_BRE);
	count_only(3);
	run_past(VM_SYSCALL, 3);
	is(count_of(3), 1000, "branches");
}

/* User space's breakpoints and LWP both intercept #BP. */
TEST(breakpoints_of_user_space_come_and_go)
{
	u32 stops = 0;
	int stop;

	begin_mixed(0, LWP_F_IRE);
	count_only(2);
	while ((stop = vm_run(vm, v)) == 3 || stop == VM_SYSCALL)
		vm_debug(v, stops++ & 1 ? KVM_GUESTDBG_USE_SW_BP : 0, 0);
	is(stop, VM_DONE, "the program runs while guest debug is switched on and off");
	is(stops, 1500, "INT n, INT3 and SYSCALL reach the kernel");
	is(count_of(2), 1 + 500 * 11 + 1, "instructions");
}

/*
 * No margin: late interrupts do not change the rate. With an interrupt on time the record names the instruction
 * after the 5,000th. If the thread was preempted when one event was left (1 in 5,000 times), KVM has stepped that
 * one, and the record names it; see below.
 */
TEST(prompt_takes_one_interrupt_a_record)
{
	u32 stepped = 0, other = 0, i;

	run_loop(rounds, 1, 2, period);
	is(block_head(vm), 12, "12 records of 60,001 instructions");
	is(block_counter(vm, 2), period - 1 - 1, "no count is lost");
	is(vm_stat(v, "lwp_missed"), 0, "none is missed");
	is(vm_stat(v, "lwp_overshoots"), 0, "which is no overshoot");
	ok(vm_stat(v, "lwp_steps") <= 1, "no step, or one before an event");
	for (i = 0; i < 12; i++) {
		u64 address = ring_record(vm, i).address;

		if (address == loop_place(period * (i + 1)))
			stepped++;
		else if (address != loop_place(period * (i + 1) + 1))
			other++;
	}
	if (known && !skid) {
		is(other, 0, "the instruction after");
		is(vm_stat(v, "lwp_steps"), stepped, "and a stepped one is named itself");
	}
}

/*
 * perf never arms a counter for one event. So a counter with one left would interrupt one late when its thread is
 * scheduled again; KVM steps that event instead. Here the thread sleeps at each signal. Where that finds the program
 * may be the same place of its loop always, so the period is no multiple of the loop's three instructions.
 */
#define SEVENTHS 8571

static void prompt_is_on_time_when_its_thread_is_preempted(void)
{
	struct itimerval each = { { 0, 200 }, { 0, 200 } }, never = { 0 };
	u32 sleeps = 0, late = 0, i;
	int stop;

	begin_delivery(loop, loop_end, 1, 0);
	block_init(vm, LWP_BIT(2), SEVENTHS + 1);
	event_each(2, 7);
	setitimer(ITIMER_REAL, &each, NULL);
	while ((stop = vm_run_interruptible(vm, v)) == VM_TIMEOUT) {
		usleep(10);
		sleeps++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	is(stop, VM_DONE, "the program runs to its end");
	ok(sleeps > 50, "its thread slept %u times", sleeps);
	is(block_head(vm), SEVENTHS, "each seventh of 60,001 instructions has a record");
	/* The record names the one that was due if it was stepped, else the one after it. */
	for (i = 0; i < SEVENTHS; i++) {
		u64 address = ring_record(vm, i).address;
		u32 due = 7 * (i + 1);

		late += address != loop_place(due) && address != loop_place(due + 1);
	}
	is(late, 0, "no record names a later instruction");
	is(vm_stat(v, "lwp_missed"), 0, "none is missed");
}

/*
 * Perf stops a counter whose interrupts are many in a tick until KVM starts it again: that of branches, but not that of
 * far transfers, such as the NMIs that come here. A branch for each of them would be missing.
 */
static void a_throttled_counter_loses_no_branch(void)
{
	struct itimerval each = { { 0, 300 }, { 0, 300 } }, never = { 0 };
	u32 nmis = 0;
	int stop;

	set_sample_rate("100");
	begin_delivery(loop, loop_end, 0, 0);
	block_init(vm, LWP_BIT(3), 20000 / 5 + 1);
	event_each(3, 5);
	setitimer(ITIMER_REAL, &each, NULL);
	while ((stop = vm_run_interruptible(vm, v)) == VM_TIMEOUT || stop == 2) {
		if (stop == VM_TIMEOUT)
			nmis += !ioctl(v->fd, KVM_NMI);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	set_sample_rate("100000");
	is(stop, VM_DONE, "the program runs to its end");
	ok(nmis > 50, "%u NMIs came", nmis);
	is(block_head(vm), 20000 / 5, "each fifth branch has a record");
	is(block_counter(vm, 3), 4, "no branch is lost");
}

/* An automatic margin begins far above the skid; KVM steps all events that are nearer. */
TEST(the_margin_is_found)
{
	set_margin(0);
	run_loop(rounds, 0, 2, rounds);
	/* Numbers 20,000, 40,000, 60,000 */
	if (in_time())
		COUNTED("each 20,000th", 10, 13, 11);
	is(vm_stat(v, "lwp_counter_irqs"), 3, "one interrupt a record");
	set_margin(known ? skid + 2 : 0);
}

/* KVM steps, and its statistic has that. */
TEST(without_a_counter_it_is_stepped)
{
	unsigned int taken = take_counters();

	begin_loop(100, 0, LWP_F_IRE);
	block_event(vm, 2, 5000 - 1, 50 - 1);
	RUN_COUNTED("the 50th of 301", 10);
	ok(vm_stat(v, "lwp_no_counter") > 0, "%u counters are taken: none for KVM", taken);
	is(vm_stat(v, "lwp_steps"), 301, "all is stepped");
	give_counters_back();
}

/*
 * 1,000 steps a second are 100 in a tenth of a second; interrupts of the host may cost a few of them. The rest of
 * the time the program runs uncounted.
 */
TEST(prompt_steps_no_more_than_its_budget)
{
	u64 tenths, steps;
	double start;

	take_counters();
	begin_policy(loop, loop_end, (struct kvm_lwp_policy){ .delivery = 1, .step_budget = 1000 },
		     LWP_F_IRE);
	count_only(2);
	start = now();
	run_to_end();
	tenths = (u64)(now() - start + 1) * 10 + 1;
	steps = vm_stat(v, "lwp_steps");
	ok(steps >= 50 && steps <= tenths * 100, "at most %lu tenths of a second: %lu steps",
	   tenths, steps);
	is(count_of(2), steps, "they are what has counted");
	/* KVM adds the uncounted time when it steps again. */
	usleep(200000);
	vm_start(vm, v);
	run_to_end();
	ok(vm_stat(v, "lwp_uncounted_us") > 0, "for %lu us nothing was counted",
	   vm_stat(v, "lwp_uncounted_us"));
	give_counters_back();
}

/* As `exact` does, whatever the budget is. */
static void without_a_budget_prompt_steps_all(u32 delivery, u32 budget)
{
	begin_policy(loop, loop_end,
		     (struct kvm_lwp_policy){ .delivery = delivery, .step_budget = budget },
		     LWP_F_IRE);
	lwp_put32(vm->mem + VM_CODE + 6, 1000); /* rounds */
	count_only(2);
	run_to_end();
	is(count_of(2), 1 + 1000 * 3, "all is counted");
	is(vm_stat(v, "lwp_steps"), 1 + 1000 * 3, "by steps");
}

/* Another thread than before calls KVM_RUN. */
static void *run_part(void *stop)
{
	*(int *)stop = vm_run(vm, v);
	return NULL;
}

TEST(counters_follow_the_vcpu_to_another_thread)
{
	int i, stop;

	begin_delivery(loops, loops_end, 0, LWP_F_IRE);
	count_only(2);
	for (i = 0; i < 3; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, run_part, &stop);
		pthread_join(thread, NULL);
		is(stop, VM_SYSCALL, "a part in a thread of its own");
	}
	run_to_end();
	is(count_of(2), 3 * 1001 + 1, "instructions");
	is(vm_stat(v, "lwp_no_counter"), 0, "each thread has its counters");
	ok(vm_stat(v, "lwp_steps") < 1001, "which spare stepping: %lu steps",
	   vm_stat(v, "lwp_steps"));
}

/* 1 and in each round 205 instructions, besides SYSENTER; SYSEXIT goes to offset 19. */
PROGRAM32(calls32, "	mov $100, %edi\n" /* 5 */
		   "1:	mov $0x100013, %edx\n" /* 10 */
		   "	mov %esp, %ecx\n" /* 15 */
		   "	sysenter\n" /* 17 */
		   "	mov $100, %eax\n" /* 19 */
		   "2:	dec %eax\n"
		   "	jnz 2b\n"
		   "	dec %edi\n"
		   "	jnz 1b\n");

/* KVM completes SYSENTER and SYSEXIT, because the return may be to another thread. */
static void sysenter_is_counted_around(u32 delivery, const char *what)
{
	begin_delivery(calls32, calls32_end, delivery, LWP_F_IRE);
	count_only(2);
	vm_start32(vm, v);
	is(run_past(VM_SYSENTER, VM_SYSENTER), 100, "system calls of a 32-bit program");
	is(count_of(2), 1 + 100 * 205, what);
	is(vm_stat(v, "lwp_steps"), 0, "without a step");
}

int main(int argc, char **argv)
{
	need_source("perf");
	known = argc > 1;
	skid = known ? atoi(argv[1]) : 0;
	period *= known ? 1 : LONG;
	rounds *= known ? 1 : LONG;
	set_margin(known ? skid + 2 : 0);
	if (known)
		both_events_share_one_deadline();
	if (known && !skid) {
		prompt_is_on_time_when_its_thread_is_preempted();
		a_throttled_counter_loses_no_branch();
	}
	take_counters();
	without_a_budget_prompt_steps_all(KVM_LWP_DELIVERY_PROMPT, 0);
	without_a_budget_prompt_steps_all(KVM_LWP_DELIVERY_PROMPT, ~0u);
	without_a_budget_prompt_steps_all(KVM_LWP_DELIVERY_EXACT, 1);
	give_counters_back();
	run_tests();
	sysenter_is_counted_around(KVM_LWP_DELIVERY_EXACT, "exact");
	sysenter_is_counted_around(KVM_LWP_DELIVERY_PROMPT, "prompt");
	return done();
}
