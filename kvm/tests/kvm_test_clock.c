// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Clock events by performance counters. In the lab's processor an instruction takes one core clock and two
 * reference clocks, so all numbers are known.
 *
 * With the argument "rnh" the processor must have a counter of reference clocks, else none
 * (43724-513, 43724-720, 43724-721, 43724-725).
 */
#include <string.h>
#include <unistd.h>
#include "host_counters.h"
#include "counted.h"
#include "texts.h"

#define CNH 5
#define RNH 6
#define CLOCKS_LEAST 1000 /* between two stops of the guest */
#define SECONDS 20 /* many times what a short program takes */
#define LOOP 60001 /* instructions of ROUNDS turns of the loop */
#define SHORT_ROUNDS 2000 /* for tests that step */
#define SHORT_LOOP 6001

static bool all_in_loop(u32 event)
{
	u32 i;

	for (i = 0; i < block_head(vm); i++) {
		u64 at = ring_record(vm, i).address - VM_CODE;

		if (ring_record(vm, i).event_id != event || (at != 10 && at != 11 && at != 13))
			return false;
	}
	return i > 0;
}

static void a_record_each_so_many_core_clocks(u32 delivery)
{
	run_loop(ROUNDS, delivery, CNH, 5000);
	is(block_head(vm), 12, "12 records of 60,001 clocks");
	ok(all_in_loop(CNH), "each names an instruction of the loop");
	is(block_counter(vm, CNH), 5000 - 1 - 1, "one clock of the next period");
	is(missed(), 0, "none is missed");
	is(vm_stat(v, "lwp_counter_irqs"), 12, "one interrupt a record");
	is(vm_stat(v, "lwp_steps"), 0, "no step");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot, whatever the delivery");
}

static void reference_clocks_are_counted_beside_core_clocks(void)
{
	begin_loop(ROUNDS, 1, LWP_F_CNH | LWP_F_RNH);
	event_each(RNH, 10000);
	count_only(CNH);
	run_to_end();
	is(block_head(vm), 12, "12 records of 120,002 reference clocks");
	ok(all_in_loop(RNH), "each names an instruction of the loop");
	is(block_counter(vm, RNH), 10000 - 1 - 2, "two clocks of the next period");
	is(count_of(CNH), LOOP, "core clocks");
}

/* A period of 100: ten of them pass before the guest is stopped, nine are missed. */
TEST(a_short_interval_does_not_stop_the_guest_more_often)
{
	run_loop(ROUNDS, 1, CNH, 100);
	is(block_head(vm) + missed(), LOOP / 100, "records and MissedEvents");
	ok(vm_stat(v, "lwp_counter_irqs") <= LOOP / CLOCKS_LEAST, "interrupts: %lu",
	   vm_stat(v, "lwp_counter_irqs"));
	is(block_counter(vm, CNH), 100 - 1 - 1, "one clock of the next period");
}

/* KVM steps for the records of instructions; clocks still pass in the guest. */
TEST(clocks_go_on_while_other_events_are_stepped)
{
	u64 steps;

	begin_loop(SHORT_ROUNDS, 0, LWP_F_CNH | LWP_F_IRE);
	event_each(2, 600);
	set_margin(600);
	count_only(CNH);
	run_to_end();
	is(block_head(vm), 10, "ten records of instructions");
	/* A turn of three instructions is one step over its branch, or three steps. */
	steps = vm_stat(v, "lwp_steps");
	ok(steps >= SHORT_LOOP / 3 && steps <= SHORT_LOOP, "all is stepped: %lu steps", steps);
	is(count_of(CNH), SHORT_LOOP, "core clocks");
	set_margin(2);
}

/* Once, at 42,000, both are due: the clocks' record comes later. */
TEST(clocks_and_instructions_are_counted_at_once)
{
	u32 i, clocks = 0;

	begin_loop(ROUNDS, 0, LWP_F_CNH | LWP_F_IRE);
	event_each(2, 6000);
	event_each(CNH, 7000);
	run_to_end();
	for (i = 0; i < block_head(vm); i++)
		clocks += ring_record(vm, i).event_id == CNH;
	is(clocks, 8, "records of clocks");
	is(block_head(vm), 18, "and ten of instructions");
	ok(vm_stat(v, "lwp_steps") < 1000, "with few steps: %lu", vm_stat(v, "lwp_steps"));
}

TEST(an_ip_filter_asks_where_a_clock_passed)
{
	begin_loop(SHORT_ROUNDS, 1, LWP_F_CNH);
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_FILTERS, LWP_FILTER_IPF);
	lwp_put64(vm->mem + VM_BLOCK + LWP_CB_BASE_IP, VM_CODE + 10);
	lwp_put64(vm->mem + VM_BLOCK + LWP_CB_LIMIT_IP, VM_CODE + 12);
	event_each(CNH, 500);
	run_to_end();
	is(block_head(vm), 8, "8 records of the 4,000 clocks of NOP and DEC");
	COUNTED("each of DEC, the second of the two", 11, 11, 11, 11, 11, 11, 11, 11);
	is(block_counter(vm, CNH), 500 - 1, "none of the next period");
}

/* The clocks of the kernel, which SYSCALL and SYSRET spend between the loops, are not counted. */
TEST(clocks_of_the_kernel_do_not_count)
{
	begin_delivery(loops, loops_end, 1, LWP_F_CNH);
	count_only(CNH);
	is(run_past(VM_SYSCALL, VM_SYSCALL), 3, "system calls");
	is(count_of(CNH), 3 * 1001 + 1, "core clocks at CPL 3");
}

/* A later program gets the counters if they are free then. */
TEST(without_a_counter_no_clock_is_counted)
{
	unsigned int taken = take_counters();

	begin_loop(ROUNDS, 1, LWP_F_CNH);
	count_only(CNH);
	run_to_end();
	ok(vm_stat(v, "lwp_no_counter") > 0, "%u counters are taken: none for KVM", taken);
	is(count_of(CNH), 0, "no clock is counted");
	give_counters_back();
	begin_loop(ROUNDS, 1, LWP_F_CNH);
	count_only(CNH);
	run_to_end();
	is(count_of(CNH), LOOP, "all are, once they are free");
}

/* An intercept of IRET notices returns to CPL 3. The one from CPL 3 must come past it, though nothing is stepped. */
TEST(an_iret_of_the_program_is_executed)
{
	begin_delivery(iret, iret_end, 0, LWP_F_CNH);
	count_only(CNH);
	alarm(SECONDS);
	is(vm_run_interruptible(vm, v), VM_DONE, "IRET at CPL 3 is executed");
	alarm(0);
}

int main(int argc, char **argv)
{
	bool rnh = argc > 1 && !strcmp(argv[1], "rnh");

	need_source("perf");
	set_margin(2);
	begin_loop(ROUNDS, 1, 0);
	is(vm_leaf(vm, LWP_CPUID_LEAF)->edx & (LWP_F_CNH | LWP_F_RNH),
	   LWP_F_CNH | (rnh ? LWP_F_RNH : 0), "clocks that KVM offers");
	a_record_each_so_many_core_clocks(0);
	a_record_each_so_many_core_clocks(1);
	if (rnh)
		reference_clocks_are_counted_beside_core_clocks();
	run_tests();
	return done();
}
