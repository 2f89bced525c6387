// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What windows of branches tell of functions: their instructions, callers, callees and loops. The code is that below;
 * each test writes the branches that it would take. Numbers are counted by hand.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>

#include "calls.h"
#include "made_profile.h"
#include "own_map.h"

/*
 * outer calls inner twice, and the second time what inner jumps to, last, returns. The handler of a signal calls nothing.
 */
__asm__(".pushsection .text.calls, \"ax\", @progbits\n"
	".type outer, @function\n"
	"outer: nop\n"
	".Lc_again: nop\n"
	".Lc_call: call inner\n"
	".Lc_after: dec %eax\n"
	".Lc_back: jnz .Lc_again\n"
	".Lc_return: ret\n"
	".size outer, . - outer\n"
	".type inner, @function\n"
	"inner: nop\n"
	".Lc_loop: nop\n"
	"nop\n"
	".Lc_jump: jnz .Lc_loop\n"
	".Lc_inner_return: ret\n"
	".Lc_tail: jmp last\n"
	".size inner, . - inner\n"
	".type last, @function\n"
	"last: nop\n"
	"nop\n"
	".Lc_last_return: ret\n"
	".size last, . - last\n"
	".type handler, @function\n"
	"handler: nop\n"
	"nop\n"
	".Lc_handler_return: ret\n"
	".size handler, . - handler\n"
	".type restorer, @function\n"
	"restorer: mov $15, %eax\n"
	"syscall\n"
	".size restorer, . - restorer\n"
	".type leaver, @function\n"
	"leaver: nop\n"
	"syscall\n"
	"int $0x80\n"
	"int3\n"
	"sysenter\n"
	".byte 0xf1\n" /* ICEBP */
	"llwpcb %rax\n"
	"slwpcb %rax\n"
	".Lc_leaver_return: ret\n"
	".size leaver, . - leaver\n"
	".popsection\n"
	".pushsection .data.rel.ro.calls, \"aw\", @progbits\n"
	".balign 8\n"
	"calls_table: .quad outer, .Lc_again, .Lc_call, .Lc_after, .Lc_back, .Lc_return\n"
	".quad inner, .Lc_loop, .Lc_jump, .Lc_inner_return, .Lc_tail\n"
	".quad last, .Lc_last_return, handler, .Lc_handler_return, restorer\n"
	".quad leaver, .Lc_leaver_return\n"
	".popsection\n");
extern const uint64_t calls_table[];
enum {
	OUTER,
	AGAIN,
	CALL,
	AFTER,
	BACK,
	RETURN,
	INNER,
	LOOP,
	JUMP,
	INNER_RETURN,
	TAIL,
	LAST,
	LAST_RETURN,
	HANDLER,
	HANDLER_RETURN,
	RESTORER,
	LEAVER,
	LEAVER_RETURN,
	ELSEWHERE /* an address that is in no mapping */
};
enum { BRANCHES = 3 };

static struct calls calls;
static double *inclusive;
static const char *why;

static void set_up(void)
{
	struct lwpdata_map map = { 0 };
	char file[4096];

	cr_assert(own_map((const void *)calls_table[OUTER], &map, file));
	begin(2, 0, 0);
	add_object(0, file);
	lwpdata_write_map(writer, &map);
	add_thread(0, 0);
}

struct branch {
	int from, to;
};

static uint64_t address_of(int label)
{
	return label == ELSEWHERE ? 0x1000 : calls_table[label];
}

static void add_window(uint64_t weight, uint32_t flags, const struct branch *branches, uint32_t nr)
{
	const struct lwpdata_window window = { .count = nr, .weight = weight, .flags = flags };
	uint8_t bytes[64 * LWP_RECORD_SIZE];

	for (uint32_t i = 0; i < nr; i++) {
		const struct lwp_record record = { .event_id = BRANCHES,
						   .flags = LWP_RECORD_TKN,
						   .address = address_of(branches[i].from),
						   .data2 = address_of(branches[i].to) };

		lwp_record_encode(&record, bytes + i * LWP_RECORD_SIZE);
	}
	lwpdata_write_window(writer, &window, bytes, nr * LWP_RECORD_SIZE, NULL, 0);
}
#define WINDOW(weight, flags, ...)                                        \
	add_window(weight, flags, (const struct branch[]){ __VA_ARGS__ }, \
		   sizeof((const struct branch[]){ __VA_ARGS__ }) / sizeof(struct branch))

static void follow(uint64_t missed)
{
	end_thread(0, 0, missed, 0);
	load();
	resolver_init(&resolver, &profile, "", false);
	calls_make(&calls, &resolver, &filter, NULL, NULL);
	inclusive = calls_inclusive(&calls);
}

static size_t function(const char *name)
{
	for (size_t i = 0; i < calls.blocks.nr_functions; i++)
		if (!strcmp(calls.blocks.functions[i].place.symbol, name))
			return i;
	return SIZE_MAX;
}

static double own(const char *name)
{
	return function(name) == SIZE_MAX ? -1 :
					    calls.blocks.functions[function(name)].instructions;
}

static double with_callees(const char *name)
{
	return function(name) == SIZE_MAX ? -1 : inclusive[function(name)];
}

/* "outer;inner" and so on. */
static double of_chain(const char *names)
{
	for (size_t i = 1; i < calls.nr_chains; i++) {
		char text[256] = "", longer[256];

		for (size_t at = i; at; at = calls.chains[at].caller) {
			if (snprintf(longer, sizeof(longer), "%s%s%s", calls.chains[at].name,
				     *text ? ";" : "", text) >= (int)sizeof(longer))
				return -1;
			strcpy(text, longer);
		}
		if (!strcmp(text, names))
			return calls.chains[i].instructions;
	}
	return -1;
}

static const struct call *call_of(const char *caller, const char *callee)
{
	for (size_t i = 0; i < calls.nr_calls; i++)
		if (calls.calls[i].caller == function(caller) &&
		    calls.calls[i].callee == function(callee))
			return &calls.calls[i];
	cr_assert(false, "%s does not call %s", caller, callee);
	return NULL;
}

TestSuite(calls, .init = set_up, .fini = forget);

/* ---- Instructions --------------------------------------------------------------------------- */

Test(calls, a_run_counts_from_the_target_of_a_branch_to_the_next_branch)
{
	/* inner: 4 with its branch not taken, and RET; the loop once more: 3. After: DEC, JNZ. */
	WINDOW(4, 0, { CALL, INNER }, { JUMP, LOOP }, { INNER_RETURN, AFTER }, { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, own("inner"), 4 + 4));
	cr_expect(eq(dbl, own("outer"), 2));
	cr_expect(eq(dbl, calls.instructions, 10));
	cr_expect(eq(dbl, calls.broken, 0));
}

/* docs/design.md, "Counting": NOP, SLWPCB and RET do. */
Test(calls, instructions_that_leave_the_program_and_llwpcb_do_not_count)
{
	WINDOW(2, 0, { CALL, LEAVER }, { LEAVER_RETURN, AFTER });
	follow(0);
	cr_expect(eq(dbl, own("leaver"), 3));
	cr_expect(eq(dbl, calls.broken, 0));
}

Test(calls, windows_that_continue_are_one_way)
{
	WINDOW(1, 0, { CALL, INNER });
	WINDOW(1, 1, { INNER_RETURN, AFTER });
	WINDOW(1, 0, { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, own("inner"), 5));
	cr_expect(eq(dbl, own("outer"), 0));
}

Test(calls, a_run_counts_for_all_that_its_window_stands_for)
{
	WINDOW(20, 0, { CALL, INNER }, { INNER_RETURN, AFTER });
	follow(7);
	cr_expect(eq(dbl, own("inner"), 10 * 5));
	cr_expect(eq(dbl, call_of("outer", "inner")->number, 10));
}

Test(calls, code_in_no_file_is_not_counted_but_said)
{
	WINDOW(3, 0, { CALL, ELSEWHERE }, { ELSEWHERE, AFTER }, { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, calls.unknown, 1));
	cr_expect(eq(dbl, calls.instructions, 2));
}

/* ---- Stacks --------------------------------------------------------------------------------- */

Test(calls, call_goes_down_and_return_goes_up)
{
	WINDOW(3, 0, { CALL, INNER }, { INNER_RETURN, AFTER }, { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, of_chain("outer;inner"), 5));
	cr_expect(eq(dbl, of_chain("outer"), 2));
	cr_expect(eq(dbl, with_callees("outer"), 7));
	cr_expect(eq(dbl, with_callees("inner"), 5));
	cr_expect(eq(dbl, call_of("outer", "inner")->number, 1));
	cr_expect(eq(dbl, call_of("outer", "inner")->instructions, 5));
	cr_expect(eq(u64, call_of("outer", "inner")->from, calls_table[CALL]));
}

Test(calls, what_is_below_a_window_is_marked)
{
	/* The caller of inner is seen only when inner returns; that of outer never. */
	WINDOW(3, 0, { JUMP, LOOP }, { INNER_RETURN, AFTER }, { BACK, AGAIN });
	follow(5);
	cr_expect(eq(dbl, of_chain("[below the window];inner"), 4));
	cr_expect(eq(dbl, of_chain("[below the window];outer"), 2));
}

Test(calls, a_function_that_is_jumped_to_returns_for_the_one_that_jumps)
{
	WINDOW(5, 0, { CALL, INNER }, { JUMP, TAIL }, { TAIL, LAST }, { LAST_RETURN, AFTER },
	       { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, of_chain("outer;inner"), 4 + 1));
	cr_expect(eq(dbl, of_chain("outer;last"), 3));
	cr_expect(eq(dbl, of_chain("outer"), 2));
	cr_expect(eq(dbl, call_of("inner", "last")->instructions, 3));
	cr_expect(eq(dbl, call_of("outer", "inner")->instructions, 8));
}

Test(calls, longjmp_leaves_what_was_called_since)
{
	WINDOW(4, 0, { CALL, INNER }, { JUMP, TAIL }, { TAIL, AFTER }, { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, of_chain("outer"), 2));
	cr_expect(eq(dbl, of_chain("outer;outer"), -1));
}

Test(calls, recursion_counts_once_with_callees)
{
	/* As if inner called itself. */
	WINDOW(4, 0, { CALL, OUTER }, { CALL, INNER }, { INNER_RETURN, AFTER }, { RETURN, AFTER });
	WINDOW(1, 1, { BACK, AGAIN });
	follow(0);
	/* outer: NOP, NOP, CALL; inner: 5; outer: DEC, JNZ, RET; DEC, JNZ. */
	cr_expect(eq(dbl, of_chain("outer;outer;inner"), 5));
	cr_expect(eq(dbl, own("outer"), 3 + 3 + 2));
	cr_expect(eq(dbl, with_callees("outer"), 13));
}

Test(calls, a_signal_breaks_a_run_off_and_it_counts_as_a_whole)
{
	/* Between the call and the return of inner: its handler, which ends in the restorer, without a branch. */
	WINDOW(4, 0, { CALL, INNER }, { HANDLER_RETURN, RESTORER }, { INNER_RETURN, AFTER },
	       { BACK, AGAIN });
	follow(0);
	cr_expect(eq(dbl, of_chain("outer;handler"), 3));
	cr_expect(eq(dbl, of_chain("outer;inner"), 5));
	cr_expect(eq(dbl, of_chain("outer"), 2));
	cr_expect(eq(dbl, calls.broken, 2));
}

Test(calls, chains_end_at_a_depth)
{
	for (int i = 0; i < 300; i++)
		WINDOW(1, i ? 1 : 0, { CALL, OUTER });
	follow(0);
	cr_expect(eq(sz, calls.nr_chains, CHAIN_MAX + 1));
	cr_expect(eq(dbl, own("outer"), 3 * 299));
	cr_expect(eq(dbl, with_callees("outer"), 3 * 299));
}

/* ---- Entries -------------------------------------------------------------------------------- */

/*
 * 40 windows with one entry of 100 each: the variance of a half is 0.99 * 40 / 39 * 10 * 100^2 / 4000^2, which is that
 * of 39.394 entries. No call need return.
 */
Test(calls, the_part_of_a_caller_is_that_of_the_entries_and_has_an_interval)
{
	struct interval i;
	size_t edges = 0;

	for (int n = 0; n < 20; n++) {
		WINDOW(300, 0, { CALL, LAST }, { LAST_RETURN, AFTER }, { BACK, AGAIN });
		WINDOW(300, 0, { INNER_RETURN, INNER }, { TAIL, LAST }, { LAST_RETURN, AFTER });
	}
	follow(0);
	for (size_t e = 0; e < calls.nr_edges; e++) {
		if (calls.edges[e].callee != function("last"))
			continue;
		edges++;
		cr_expect(epsilon_eq(dbl, calls.edges[e].number, 2000, 1e-6));
		i = edge_interval(&calls, &calls.edges[e]);
		cr_expect(epsilon_eq(dbl, i.low, 0.350959, 1e-5));
		cr_expect(epsilon_eq(dbl, i.high, 0.649041, 1e-5));
	}
	cr_expect(eq(sz, edges, 2));
	cr_expect(eq(u64, calls.windows, 40));
}

Test(calls, of_a_complete_trace_the_part_of_a_caller_is_exact)
{
	WINDOW(3, 0, { CALL, LAST }, { LAST_RETURN, AFTER }, { BACK, AGAIN });
	follow(0);
	cr_assert(eq(sz, calls.nr_edges, 1));
	cr_expect(eq(dbl, edge_interval(&calls, &calls.edges[0]).low, 1));
}

/* ---- Loops ---------------------------------------------------------------------------------- */

Test(calls, trips_of_a_loop_are_branches_back_and_one)
{
	WINDOW(7, 0, { CALL, INNER }, { JUMP, LOOP }, { JUMP, LOOP }, { INNER_RETURN, AFTER },
	       { BACK, AGAIN }, { CALL, INNER }, { JUMP, LOOP });
	WINDOW(2, 1, { INNER_RETURN, AFTER }, { RETURN, OUTER });
	follow(0);
	for (size_t i = 0; i < calls.loops.nr; i++) {
		const struct loop *loop = &calls.loops.list[i];
		bool of_inner = loop->function == function("inner");

		cr_expect(eq(u64, loop->begin, calls_table[of_inner ? LOOP : AGAIN]));
		/* Where outer's began nobody saw. */
		cr_expect(eq(dbl, loop->entered, of_inner ? 2 : 0));
		cr_expect(eq(dbl, loop->trips, of_inner ? 3 + 2 : 0));
		cr_expect(eq(u64, loop->least, of_inner ? 2 : 0));
		cr_expect(eq(u64, loop->most, of_inner ? 3 : 0));
	}
	cr_expect(eq(sz, calls.loops.nr, 2));
}

/* ---- Completeness --------------------------------------------------------------------------- */

static bool complete(uint32_t flags, uint64_t missed)
{
	WINDOW(1, 0, { CALL, INNER });
	WINDOW(1, flags, { INNER_RETURN, AFTER });
	follow(missed);
	return calls_complete(&profile, &filter, &why);
}

Test(calls, a_trace_is_complete_if_windows_continue_and_nothing_is_missed)
{
	cr_expect(complete(1, 0));
}

Test(calls, a_trace_with_a_gap_is_not_complete)
{
	cr_expect(not(complete(0, 0)));
}

Test(calls, a_trace_with_missed_branches_is_not_complete)
{
	cr_expect(not(complete(1, 1)));
}

Test(calls, a_trace_that_ends_before_its_thread_is_not_complete)
{
	cr_expect(complete(1, 0));
	profile.threads[0].flags = LWPDATA_THREAD_LOST;
	cr_assert(not(calls_complete(&profile, &filter, &why)));
	cr_expect(eq(str, (char *)why, (char *)"LWP went off before a thread's end"));
}
