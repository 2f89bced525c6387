// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LLWPCB: what it loads, what it normalises and writes back, what it refuses, and what is on after it has faulted
 * (43724-402, 43724-403, 43724-414, 43724-416, 43724-421, 43724-422, 43724-602, 43724-615, 2007-610).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define NON_CANONICAL 0x800000000000ul

extern char ll_load[], ll_insn[], ll_load32[], ll_off[], ll_two[], ll_two_insn[], ll_again[];

USER_CODE("ll_load: stc\n"
	  "ll_insn: llwpcb %rax\n"
	  "setc %dl\n"
	  "user_exit\n"
	  "ll_load32: llwpcb %eax\n"
	  "user_exit\n"
	  "ll_off: llwpcb %rax\n"
	  "nop\n"
	  "nop\n"
	  "xor %ebx, %ebx\n"
	  "llwpcb %rbx\n"
	  "nop\n"
	  "user_exit\n"
	  /* Load rax, count two, load rbx. */
	  "ll_two: llwpcb %rax\n"
	  "nop\n"
	  "nop\n"
	  "ll_two_insn: llwpcb %rbx\n"
	  "nop\n"
	  "user_exit\n"
	  "ll_again: llwpcb %rax\n"
	  "mov %ecx, 4(%rdi)\n"
	  "nop\n"
	  "llwpcb %rax\n"
	  "nop\n"
	  "flush_exit\n");

static void test_load(struct lwp *l)
{
	/* Event 2 may be granted; bit 28 is reserved, bit 31 (INT) is not in LWP_CFG. */
	struct block b = {
		.flags = 1u << 28 | 1u << 31,
		.size = DEFAULT_RECORDS * RECORD_SIZE + 17,
		.random = 5,
		.head = 3 * RECORD_SIZE + 1,
		.tail = 3 * RECORD_SIZE + 1,
		.threshold = 10 * RECORD_SIZE + 31,
		.missed = 123,
		.event = { { EV_IRE, 0x3ffffff, 0x2000000 }, { EV_BRE, 0x1ffffff, 0x1ffffff } },
	};

	lwp_go(l, &b, ll_load);
	rule("43724-609 43724-617", CERTAIN);
	report_eq(l->u.r.rdx & 0xff, 1, "CF is kept");
	report_eq(l->u.r.rax, CB_VA, "rAX is kept");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP_CBADDR is the block");
	rule("43724-404", CERTAIN);
	report_eq(cb_flags(l) & ~1u, 1u << EV_IRE | 1u << EV_BRE, "Flags: what is granted is left");
	rule("43724-401 43724-406", CERTAIN);
	report_eq(lwp_get32(l->cb + 4), 0x50000000 | DEFAULT_RECORDS * RECORD_SIZE,
		  "BufferSize is rounded down, Random kept");
	ask("Q13", "43724-410", "a negative interval of EventId 2 becomes", "0",
	    text("%u", cb_interval(l, EV_IRE)));
	rule("43724-413", CERTAIN);
	report_eq(cb_interval(l, EV_BRE), 0x1ffffff, "the largest interval is kept");
	rule("43724-409", CERTAIN);
	report_eq(lwp_get32(l->cb + 32), 10 * RECORD_SIZE, "Threshold is rounded down");
	rule("43724-412", CERTAIN);
	report_eq(lwp_get32(l->cb + 64), 3 * RECORD_SIZE + 1, "the tail is not altered");
	rule("43724-807", CERTAIN);
	expect_missed(l, 123, "MissedEvents is kept");
	/* A negative counter becomes 0: SETC was the first instruction and gave a record. */
	rule("43724-408 43724-411 43724-710", RECALLED);
	expect_record(l, 3, (struct rec)REC_IRE(ll_insn + 5), "head rounded down, counter 0");
	/* STC was before; SETC was counted. */
	expect_head(l, 4 * RECORD_SIZE, "one record");
}

static void test_head(struct lwp *l)
{
	struct block outside = { .head = DEFAULT_RECORDS * RECORD_SIZE };

	lwp_go(l, &outside, ll_load);
	rule("43724-408", CERTAIN);
	expect_head(l, 0, "a head at the end of the ring becomes 0");
}

static void test_width(struct lwp *l)
{
	lwp_prepare(l, NO_EVENT, ll_load32);
	l->u.r.rax = 0xdeadbeef00000000ul | CB_VA;
	lwp_resume(l);
	rule("43724-609", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "W=0: the address is truncated to 32 bits");
}

/* True: it raises #GP, and the block is not active. */
static bool expect_gp(struct lwp *l, const char *id, const char *what)
{
	bool refused;

	run_to_fault(l, VEC_GP, 0, (u64)ll_insn, what);
	refused = l->u.r.vector == VEC_GP && rdmsr(LWP_MSR_CBADDR) != CB_VA;
	ask(id, "43724-407 43724-612", what, "fault 13 0", outcome(l));
	report(!rdmsr(LWP_MSR_CBADDR) && !lwp_query(l), "and LWP is off");
	return refused;
}

static void test_gp(struct lwp *l)
{
	struct block least = { .size = least_records() * RECORD_SIZE };
	struct block less = { .size = least_records() * RECORD_SIZE - 1 };
	static const struct block outside = { .base = NON_CANONICAL };
	struct block across = { .base = NON_CANONICAL - (DEFAULT_RECORDS - 1) * RECORD_SIZE };
	bool refused;

	lwp_go(l, &least, ll_load);
	rule("43724-407", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "the smallest ring is enough");
	rule("43724-407 43724-614", RECALLED);
	lwp_prepare(l, &less, ll_load);
	refused = expect_gp(l, "Q14", "LLWPCB of a ring too small by a byte");
	report_beside("43724-407", CERTAIN, refused, "it is refused");
	rule("43724-612 43724-614", RECALLED);
	lwp_prepare(l, &outside, ll_load);
	expect_gp(l, "Q15", "LLWPCB of a non-canonical ring");
	lwp_prepare(l, &across, ll_load);
	expect_gp(l, "Q16", "LLWPCB of a ring with a non-canonical end");
	lwp_prepare(l, &least, ll_load);
	l->u.r.rax = NON_CANONICAL;
	expect_gp(l, "Q17", "LLWPCB of a non-canonical block");
}

static void test_pf(struct lwp *l)
{
	u32 offset = PAGE_SIZE - 64;

	lwp_prepare(l, NO_EVENT, ll_load);
	rule("43724-613 43724-614", RECALLED);
	run_to_missing(l, CB_VA, (u64)ll_insn, "a block that is not there: #PF");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and LWP is off");
	as_protect(l->cr3, CB_VA, PAGE_KERNEL_RW);
	run_to_store_fault(l, PF_PRESENT | PF_WRITE | PF_USER, CB_VA, (u64)ll_insn,
			   "a block in a kernel page: #PF");
	as_protect(l->cr3, CB_VA, PAGE_USER_RO);
	run_to_store_fault(l, PF_PRESENT | PF_WRITE | PF_USER, CB_VA, (u64)ll_insn,
			   "a read-only block: #PF");
	lwp_bring(l, CB_VA);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "restarted, it loads");

	lwp_prepare(l, NO_EVENT, ll_load);
	block_write_at(l, offset, NO_EVENT);
	l->u.r.rax = CB_VA + offset;
	run_to_missing(l, CB_VA + PAGE_SIZE, (u64)ll_insn,
		       "a block across a page that is not there: CR2 is that page");
	lwp_bring(l, CB_VA + PAGE_SIZE);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA + offset, "restarted, a block across pages loads");
}

static void test_off(struct lwp *l)
{
	lwp_go(l, EVENT(EV_IRE, 100, 50), ll_off);
	/* NOP NOP XOR. */
	rule("43724-611", CERTAIN);
	report_eq(cb_counter(l, EV_IRE), 47, "LLWPCB 0 flushes the counters");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and turns LWP off");
}

static void prepare_two(struct lwp *l, const struct block *first, const struct block *second)
{
	lwp_prepare(l, first, ll_two);
	block_write_at(l, SECOND, second);
	l->u.r.rbx = CB_VA + SECOND;
}

static void test_replace(struct lwp *l)
{
	static const struct block first = { .event = { { EV_IRE, 100, 50 } } };
	static const struct block second = { .event = { { EV_IRE, 200, 0 } } };
	static const struct block bad = { .size = RECORD_SIZE };

	prepare_two(l, &first, &second);
	lwp_resume(l);
	rule("43724-610", CERTAIN);
	report_eq(cb_counter(l, EV_IRE), 48, "a new block: the old one is flushed");
	rule("43724-617", CERTAIN);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA + SECOND, "and the new one is loaded");
	rule("43724-616 43724-710", RECALLED);
	expect_record(l, 0, (struct rec)REC_IRE(ll_two_insn + 5),
		      "and counts from the next one on");

	prepare_two(l, &first, &bad);
	rule("43724-614", RECALLED);
	run_to_fault(l, VEC_GP, 0, (u64)ll_two_insn, "a new block that is refused: #GP(0)");
	report_eq(cb_counter(l, EV_IRE), 48, "the old one is flushed");
	report(!rdmsr(LWP_MSR_CBADDR) && !lwp_query(l), "and LWP is off");

	prepare_two(l, &first, &second);
	l->u.r.rbx = CB_VA + PAGE_SIZE;
	run_to_missing(l, CB_VA + PAGE_SIZE, (u64)ll_two_insn,
		       "a new block that is not there: #PF");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and LWP is off");
	as_protect(l->cr3, CB_VA + PAGE_SIZE, PAGE_USER_RW);
}

/* The old block cannot be written: LWP stays on with it. */
static void test_flush_fault(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV_IRE, 100, 50), ll_two);
	block_write_at(l, PAGE_SIZE, EVENT(EV_IRE, 200, 0));
	l->u.r.rbx = CB_VA + PAGE_SIZE;
	/* Come back before the second LLWPCB: NOPs are single bytes, the gate two. */
	l->u.r.rflags |= RFLAGS_TF;
	user_run(&l->u);
	user_run(&l->u);
	l->u.r.rflags &= ~RFLAGS_TF;
	rule("43724-638", RECALLED);
	report(l->u.r.vector == VEC_DB && l->u.r.rip == (u64)ll_two_insn - 1,
	       "stepped to the second NOP");
	as_protect(l->cr3, CB_VA, PAGE_USER_RO);
	run_to_store_fault(l, PF_PRESENT | PF_WRITE | PF_USER, CB_VA, (u64)ll_two_insn,
			   "the old block is read-only: #PF with its address");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP stays on with the old block");
	lwp_bring(l, CB_VA);
	report_eq(cb_counter(l, EV_IRE), 48, "restarted, the old one is flushed");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA + PAGE_SIZE, "and the new one is loaded");
}

/* What LWP_CFG does not allow is not granted; without any event LWP is on all the same. */
static void test_masked(struct lwp *l)
{
	static const struct block b = { .event = { { EV_IRE, 0, 0 }, { EV_BRE, 9, 9 } } };
	u64 cfg = rdmsr(LWP_MSR_CFG);

	wrmsr(LWP_MSR_CFG, 1u << EV_BRE);
	lwp_go(l, &b, ll_load);
	rule("43724-404", CERTAIN);
	report_eq(cb_flags(l), 1u << EV_BRE, "Flags are masked with LWP_CFG");
	expect_no_records(l, "and what is masked does not count");
	lwp_go(l, every_insn(), ll_load);
	report_eq(cb_flags(l), 0, "no event is left");
	ask("Q18", "43724-618", "LWP without an event is", "on", outcome(l));
	lwp_stop();
	wrmsr(LWP_MSR_CFG, cfg);
}

/* 43724-619: the flush overwrites what the program has just prepared in the active block. */
static void test_again(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV_IRE, 100, 50), ll_again);
	l->u.r.rcx = 7;
	l->u.r.rdi = CB_VA + cb_slot(EV_IRE);
	lwp_resume(l);
	/* MOV and NOP; the counter that MOV has written is lost. NOP and SLWPCB after it. */
	rule("43724-619", RECALLED);
	report_eq(cb_counter(l, EV_IRE), 47,
		  "the active block again: the counter is the flushed one");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "and LWP is on");
}

/* 43724-405, 43724-415: Flags[0] is as it was; BufferBase need not be aligned. */
static void test_odd(struct lwp *l)
{
	static const struct block b = { .flags = 1,
					.base = RING_VA + 5,
					.event = { { EV_IRE, 0, 0 } } };

	lwp_go(l, &b, ll_load);
	ask("Q19", "43724-405", "Flags[0] that is set", "stays",
	    cb_flags(l) & 1 ? "stays" : "goes");
	rule("43724-415", CHOICE);
	report_eq(lwp_get64(l->ring + 5 + 8), (u64)ll_insn + 5, "a ring at an odd address");
	report_eq(l->ring[4], RING_FILL, "begins there");
}

/* 43724-415, 43724-416: the least power of 2 at which block or ring may lie. */
static const char *alignment(struct lwp *l, bool ring)
{
	for (u32 n = 1; n < PAGE_SIZE; n *= 2) {
		struct block b = { .base = RING_VA + (ring ? n : 0) };

		lwp_prepare(l, &b, ll_load);
		block_write_at(l, ring ? 0 : n, &b);
		l->u.r.rax += ring ? 0 : n;
		user_run(&l->u);
		if (user_exited(&l->u))
			return text("%u", n);
	}
	return "page";
}

LWP_TEST(llwpcb)
{
	test_load(l);
	test_head(l);
	test_width(l);
	test_gp(l);
	test_pf(l);
	test_off(l);
	test_replace(l);
	test_flush_fault(l);
	test_masked(l);
	test_again(l);
	test_odd(l);
	ask("Q20", "43724-416", "alignment of the block", "1", alignment(l, false));
	ask("Q21", "43724-415", "alignment of the ring", "1", alignment(l, true));
}
