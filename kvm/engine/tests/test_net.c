// SPDX-License-Identifier: GPL-2.0-or-later
/* Nets of breakpoints (lwp_net.h): what they cut, and that no way leads past them. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lwp_net.h"

#define NONE (~(u64)0)
#define CODE 0x401000

#define NOP 0x90
#define JZ(n) 0x74, (u8)(n)
#define JMP(n) 0xeb, (u8)(n)
#define CALL(n) 0xe8, (u8)(n), (n) < 0 ? 0xff : 0, (n) < 0 ? 0xff : 0, (n) < 0 ? 0xff : 0
#define RET 0xc3
#define SYSCALL 0x0f, 0x05
#define MOV_SS 0x8e, 0xd0
#define PUSHF 0x9c
#define JMP_RAX 0xff, 0xe0
#define JMP_MEM 0xff, 0x20

static u8 code[512];
static struct lwp_net net;

/* Only the 512 bytes from CODE on can be read. */
static unsigned int fetch(void *ctx, u64 ip, u8 *bytes)
{
	unsigned int n = 0;

	while (n < LWP_NET_BYTES && ip - CODE + n < sizeof(code)) {
		bytes[n] = code[ip - CODE + n];
		n++;
	}
	return n;
}

static u64 gpr(void *ctx, unsigned int reg)
{
	return CODE + 0x40 + reg;
}

static bool lay(u64 ip, u64 insns, u64 branches)
{
	static const struct lwp_access access = { .gpr = gpr };
	const struct lwp_net_code c = { .bits = LWP_CODE64, .access = &access, .fetch = fetch };

	return lwp_net_lay(&c, ip, insns, branches, &net);
}

static bool lay_text(const u8 *text, size_t size, u64 insns, u64 branches)
{
	memset(code, NOP, sizeof(code));
	memcpy(code, text, size);
	return lay(CODE, insns, branches);
}

#define LAY(insns, branches, ...) \
	lay_text((const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ }), insns, branches)

static bool cuts(u64 at)
{
	for (u32 i = 0; i < net.cuts; i++)
		if (net.cut[i] == CODE + at)
			return true;
	return false;
}

Test(net, lets_nothing_that_is_due_pass)
{
	cr_assert(LAY(5, NONE, NOP, NOP, NOP, NOP, NOP, NOP));
	cr_expect(eq(u32, net.cuts, 1));
	cr_expect(cuts(4), "before the fifth");
	cr_expect(eq(u32, net.insns, 4));
	cr_expect(not(LAY(1, NONE, NOP)), "the first is due");
	cr_assert(LAY(NONE, 2, JZ(1), NOP, NOP, JMP(0), NOP));
	cr_expect(eq(u32, net.branches, 1));
	cr_expect(cuts(4), "before the second branch");
	cr_expect(not(LAY(NONE, 1, JZ(1), NOP)));
}

Test(net, has_both_ways_of_a_conditional_branch)
{
	/* 0: JZ 4; 2: NOP, 3: RET; 4: NOP, NOP, 6: RET */
	cr_assert(LAY(NONE, NONE, JZ(2), NOP, RET, NOP, NOP, RET));
	cr_expect(eq(u32, net.cuts, 2));
	cr_expect(cuts(3) && cuts(6));
	cr_expect(eq(u32, net.insns, 3), "the longest way");
}

Test(net, measures_the_longest_of_ways_that_meet)
{
	/* 0: JZ 5; 2: NOP, NOP, NOP; 5: NOP; 6: RET */
	cr_assert(LAY(NONE, NONE, JZ(3), NOP, NOP, NOP, NOP, RET));
	cr_expect(eq(u32, net.cuts, 1));
	cr_expect(cuts(6));
	cr_expect(eq(u32, net.insns, 5));
	cr_assert(LAY(5, NONE, JZ(3), NOP, NOP, NOP, NOP, RET));
	cr_expect(le(u32, net.insns, 4));
	/* 0: JZ 8; 2: six NOPs, of which three fit; 8: NOP, NOP, JMP 2, a longer way to them */
	cr_assert(LAY(5, NONE, JZ(6), NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP, JMP(-10)));
	cr_expect(le(u32, net.insns, 4), "found later");
}

Test(net, cuts_a_circle)
{
	/* 0: NOP; 1: NOP, JZ 1; 4: NOP, RET */
	cr_assert(LAY(NONE, NONE, NOP, NOP, JZ(-3), NOP, RET));
	cr_expect(cuts(1), "the head of the loop");
	cr_expect(not(net.again));
	/* rIP is the head: it stops the second turn. */
	cr_assert(LAY(NONE, NONE, NOP, JZ(-3), NOP, RET));
	cr_expect(cuts(0) && net.again);
	cr_expect(cuts(4));
}

Test(net, has_at_most_four_cuts)
{
	/* Each JZ goes to a RET of its own. */
	cr_assert(LAY(NONE, NONE, JZ(0x40), JZ(0x41), JZ(0x42), JZ(0x43), JZ(0x44), RET));
	cr_expect(le(u32, net.cuts, LWP_NET_CUTS));
	cr_expect(gt(u32, net.insns, 1));
}

Test(net, goes_through_calls_and_not_through_returns)
{
	/* 0: CALL 8; 5: NOP; 8: NOP, RET */
	cr_assert(LAY(NONE, NONE, CALL(3), NOP, NOP, NOP, NOP, RET));
	cr_expect(eq(u32, net.cuts, 1));
	cr_expect(cuts(9), "the return may go elsewhere");
	cr_expect(not(LAY(NONE, NONE, RET)));
}

Test(net, begins_behind_a_jump_through_a_register)
{
	cr_assert(LAY(NONE, NONE, JMP_RAX));
	cr_expect(eq(u32, net.branches, 1));
	cr_expect(gt(u32, net.insns, 1), "it goes on at 40h");
	cr_assert(LAY(NONE, NONE, NOP, JMP_RAX));
	cr_expect(cuts(1), "the register may change before");
	cr_expect(not(LAY(NONE, NONE, JMP_MEM)), "memory may change at any time");
}

Test(net, ends_where_something_exits_by_itself)
{
	cr_assert(LAY(NONE, NONE, NOP, SYSCALL));
	cr_expect(eq(u32, net.cuts, 0));
	cr_expect(not(LAY(NONE, NONE, SYSCALL)));
	cr_assert(LAY(NONE, NONE, JZ(2), NOP, RET, SYSCALL));
	cr_expect(eq(u32, net.cuts, 1));
}

Test(net, has_no_instruction_that_delays_a_breakpoint)
{
	cr_assert(LAY(NONE, NONE, NOP, MOV_SS, NOP));
	cr_expect(cuts(1), "before it, never right behind it");
	cr_expect(not(LAY(NONE, NONE, MOV_SS)));
	cr_assert(LAY(3, NONE, PUSHF, PUSHF, NOP), "flags show nothing");
	cr_expect(cuts(2));
}

Test(net, is_cut_where_code_cannot_be_read)
{
	memset(code, NOP, sizeof(code));
	cr_assert(lay(CODE + 500, NONE, NONE));
	cr_expect(cuts(512));
	cr_expect(not(lay(CODE + 512, NONE, NONE)));
}

/* Random code: NOP, JZ, JMP, LOOP, CALL, RET, ADD, JMP *%rax. */
static void draw_code(unsigned int *seed)
{
	/* Lengths of what is before and of what is a number. */
	static const struct {
		u8 bytes[3], length, number;
	} kinds[] = {
		{ { NOP }, 1, 0 },     { { NOP }, 1, 0 },
		{ { 0x74 }, 1, 1 },    { { 0x74 }, 1, 1 },
		{ { 0xeb }, 1, 1 },    { { 0xe2 }, 1, 1 },
		{ { 0xe8 }, 1, 4 },    { { RET }, 1, 0 },
		{ { JMP_RAX }, 2, 0 }, { { 0x48, 0x01, 0xc8 }, 3, 0 },
	};
	unsigned int at = 0, k;

	memset(code, NOP, sizeof(code));
	for (; at < sizeof(code) - 5; at += kinds[k].length + kinds[k].number) {
		s32 to = rand_r(seed) % 128 - 64;

		k = (unsigned int)rand_r(seed) % (sizeof(kinds) / sizeof(*kinds));
		memcpy(code + at, kinds[k].bytes, kinds[k].length);
		memcpy(code + at + kinds[k].length, &to, kinds[k].number);
	}
}

/* Walk from rIP, each branch as it falls, to a cut. False: more has passed than the net says, or what is due. */
static bool walk(u64 ip, u64 insns, u64 branches, unsigned int *seed)
{
	static const struct lwp_access access = { .gpr = gpr };
	u64 passed = 0, passed_branches = 0;

	do {
		struct lwp_insn insn;
		u64 target;

		if (ip - CODE >= sizeof(code) ||
		    lwp_insn_decode(code + (ip - CODE), (unsigned int)(sizeof(code) - (ip - CODE)),
				    LWP_CODE64, &insn) != LWP_DECODE_OK)
			return false;
		if (lwp_insn_exits(&insn))
			return passed;
		passed++;
		target = lwp_insn_next_ip(&insn, ip);
		if (lwp_insn_is_branch(&insn)) {
			passed_branches++;
			if (passed > 1 && !lwp_insn_is_relative(&insn))
				return false;
			if (!lwp_insn_is_conditional(&insn) || rand_r(seed) & 1)
				lwp_insn_target(&insn, ip, &access, &target);
		}
		ip = target;
		if (passed >= insns || passed_branches >= branches || passed > net.insns ||
		    passed_branches > net.branches)
			return false;
	} while (!cuts(ip - CODE));
	return true;
}

Test(net, no_way_of_random_code_leads_past_it)
{
	unsigned int seed = (unsigned int)time(NULL), nets = 0, passed = 0, drawn = seed;

	for (int i = 0; i < 20000; i++) {
		u64 ip, insns, branches;

		if (i % 16 == 0)
			draw_code(&seed);
		ip = CODE + (u64)rand_r(&seed) % sizeof(code);
		insns = rand_r(&seed) & 1 ? (u64)(rand_r(&seed) % 40 + 1) : NONE;
		branches = rand_r(&seed) & 1 ? (u64)(rand_r(&seed) % 10 + 1) : NONE;
		if (!lay(ip, insns, branches))
			continue;
		nets++;
		passed += net.insns;
		for (int k = 0; k < 10; k++)
			cr_assert(walk(ip, insns, branches, &seed), "seed %u: net %d at %llx",
				  drawn, i, (unsigned long long)ip);
	}
	cr_expect(gt(u32, nets, 5000));
	cr_expect(gt(u32, passed, 3 * nets));
}
