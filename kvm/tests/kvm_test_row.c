// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counters that count too much where a row says so, and KVM, which knows that row: the records are those of single
 * steps (43724-822). Without a row, or with one that leaves something open, `exact` steps, and is as right.
 *
 * The counters count an instruction and a branch too many at each entry at CPL 3, as a processor does that counts VMRUN,
 * and more instructions at each IRET to CPL 3. Argument `far`: they count far transfers too many of which KVM's row does
 * not know.
 */
#include <stdio.h>
#include <string.h>
#include "counted.h"
#include "texts.h"

#define PERIOD 500

/*
 * 1 and 2,000 times 4 instructions, and 2,000 faults, whose handler returns after DIV: number n > 1 is at
 * offset 11, 15, 16 or 19 as (n - 2) % 4 is 0 to 3.
 */
PROGRAM(faults, "	mov $2000, %r8d\n" /* 5; 6 bytes */
		"1:	xor %ecx, %ecx\n" /* 11 */
		"	div %ecx\n" /* 13, does not retire */
		"	nop\n" /* 15 */
		"	dec %r8d\n" /* 16 */
		"	jnz 1b\n"); /* 19 */

static void run_faults(u32 delivery)
{
	begin_delivery(faults, faults_end, delivery, LWP_F_IRE);
	vm_handler(vm, 0, skip_div, skip_div_end);
	event_each(2, PERIOD);
	run_to_end();
}

static void counts_are_true(const char *when)
{
	is(block_head(vm), 16, when);
	is(block_counter(vm, 2), PERIOD - 1 - 1, "8,001 - 16 * 500: one of the next period");
	is(missed(), 0, "nothing is missed");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	is(vm_stat(v, "lwp_no_counter"), 0, "no counter was missing");
}

/* Each CPUID exits, and a branch follows it. */
PROGRAM(exits, "	mov $600, %r8d\n"
	       "1:	xor %eax, %eax\n"
	       "	cpuid\n"
	       "	dec %r8d\n"
	       "	jnz 1b\n");

/*
 * A counter of far transfers that is too high makes C2h - C6h negative: then no branch has passed. There is no record
 * and nothing is missed that has not happened.
 */
static void far_transfers_in_excess_make_no_events(u32 delivery)
{
	run_with(exits, exits_end, delivery, 3, PERIOD);
	ok(block_head(vm) <= 1, "600 branches: %u records", block_head(vm));
	ok(block_counter(vm, 3) < PERIOD, "the counter is within the period: %u",
	   block_counter(vm, 3));
	is(missed(), 0, "nothing is missed");
}

static int far_transfers(void)
{
	far_transfers_in_excess_make_no_events(KVM_LWP_DELIVERY_EXACT);
	far_transfers_in_excess_make_no_events(KVM_LWP_DELIVERY_PROMPT);
	return done();
}

static void exact_is_right(const char *how, bool stepped)
{
	u64 steps;

	run_faults(0);
	steps = vm_stat(v, "lwp_steps");
	diag("%s: %lu steps", how, steps);
	counts_are_true("exact: 16 records of 8,001 instructions");
	/* (500 k - 2) % 4 = 2 */
	COUNTED("each 500th", 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16);
	ok(stepped ? steps >= 8001 : steps < 8001 / 4, "%s: %s", how,
	   stepped ? "each instruction is stepped" : "a counter counts");
	ok(says("row", stepped ? "instructions: stepped: " : "instructions: counted\n"), "as told");
}

/* An entry for each CPUID and each step adds a branch that is none. */
static void branches_are_right(bool stepped)
{
	u64 steps;

	run_with(exits, exits_end, 0, 3, 100);
	steps = vm_stat(v, "lwp_steps");
	COUNTED("each 100th of the loop's 600 branches", 18, 18, 18, 18, 18, 18);
	is(block_counter(vm, 3), 99, "none is counted that was none");
	is(vm_stat(v, "lwp_overshoots"), 0, "no overshoot");
	ok(stepped ? steps >= 1800 : steps < 600, "%s: %lu steps",
	   stepped ? "each instruction is stepped" : "a counter counts", steps);
	ok(says("row", stepped ? "branches: stepped: " : "branches: counted\n"), "as told");
}

static char base[1024]; /* the row that the module was loaded with */

static void also(const char *item)
{
	char row[sizeof(base) + 64];

	snprintf(row, sizeof(row), "%s%s", base, item);
	set_parameter("lwp_row", row);
}

TEST(a_row_that_leaves_something_open_is_not_used)
{
	char row[sizeof(base) + 64];

	set_parameter("lwp_row", "");
	exact_is_right("no row", true);
	branches_are_right(true);
	ok(says("row", "row: \norigin: none\n"), "no row: its origin");
	run_faults(1);
	ok(vm_stat(v, "lwp_steps") < 100, "prompt counts by counters without a row");

	also(",insns.rep=0/1");
	exact_is_right("instructions that vary", true);
	branches_are_right(false);
	also(",far.lock=?");
	exact_is_right("far transfers that nobody knows", false);
	branches_are_right(true);
	also(",insns.pf=1");
	exact_is_right("page faults, which KVM does not see", true);
	also(",lost=100");
	exact_is_right("interrupts that may not come", true);
	also("");
	snprintf(row, sizeof(row), "row: %s\norigin: lwp_row=\n", base);
	ok(says("row", row), "the row that the module was loaded with, and its origin");
}

/* The first time the margin is longer than the period. */
TEST(another_row_is_used_at_once)
{
	u64 all;

	set_margin(0);
	run_faults(0);
	all = vm_stat(v, "lwp_steps");
	set_margin(2);
	vm_start(vm, v);
	run_to_end();
	is(vm_stat(v, "lwp_records"), 2 * 16, "as many records again");
	ok(vm_stat(v, "lwp_steps") - all < all / 4, "another row is used at once: %lu steps of %lu",
	   vm_stat(v, "lwp_steps") - all, all);
	also("");
}

TEST(a_row_that_is_wrong_changes_nothing)
{
	static const char *const wrong[] = { "insns.entry=1,insns.nmi=2", "insns.sleep=1",
					     "rate=1000", "cpu=6/0/ff" };
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		ok(!write_parameter("lwp_row", wrong[i]) && parameter_is("lwp_row", base),
		   "%s: refused", wrong[i]);
}

int main(int argc, char **argv)
{
	need_source("perf");
	if (argc > 1 && !strcmp(argv[1], "far"))
		return far_transfers();
	read_parameter("lwp_row", base, sizeof(base));
	exact_is_right("a row", false);
	branches_are_right(false);
	run_faults(1);
	counts_are_true("prompt: 16 records");
	run_tests();
	return done();
}
