// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ring (43724-801 to 43724-807): wrap, capacity of one record less than its size, the slot that is
 * overwritten when it is full, MissedEvents, a tail that software moves or spoils, an interval that it changes,
 * continuous mode (43724-403, 43724-404, 43724-419, 2007-418).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define CONT (1u << 29)
#define LWPINS_LENGTH 9

extern char ring_fill[], ring_first[], ring_stop[], ring_ins[], ring_change[], ring_c2[], ring_c4[],
	ring_c8[];

/* 40 LWPINS, the gate, 40 LWPINS, the gate. */
USER_CODE("ring_fill: llwpcb %rax\n"
	  "ring_first: .rept 40; lwpins $1, %ecx, %edx; .endr\n"
	  "user_exit\n"
	  "ring_stop: .rept 40; lwpins $1, %ecx, %edx; .endr\n"
	  "user_exit\n"
	  /* rsi times; r9 is how often CF was set. */
	  "ring_ins: llwpcb %rax\n"
	  "1: lwpins $1, %esi, %esi\n"
	  "adc $0, %r9\n"
	  "dec %esi\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  "ring_change: llwpcb %rax\n"
	  "ring_c1: nop\n"
	  "ring_c2: nop\n"
	  "ring_c3: movl $3, (%rdi)\n"
	  "ring_c4: nop\n"
	  "ring_c5: nop\n"
	  "ring_c6: nop\n"
	  "ring_c7: nop\n"
	  "ring_c8: nop\n"
	  "user_exit\n");

/* The smallest ring, and where its last 32 slots begin. */
#define RING_SIZE (least_records() * RECORD_SIZE)
#define LEFT (least_records() - 32)

static struct rec ins(const char *from, u32 n)
{
	return (struct rec){ EV_INS, .flags = 1, .address = (u64)from + n * LWPINS_LENGTH };
}

static void test_full(struct lwp *l)
{
	struct block b = { .size = RING_SIZE, .head = LEFT * RECORD_SIZE };
	struct rec second;
	bool ok = true;

	lwp_go(l, &b, ring_fill);
	second = ring_record(l, 2);
	rule("43724-802 43724-803", CERTAIN);
	expect_head(l, (LEFT + 31) * RECORD_SIZE,
		    "40 records for 32 slots: the head stops at the last");
	expect_missed(l, 9, "40 - 31 records are missed");
	for (u32 i = 0; i < 31; i++) {
		struct rec got = ring_record(l, LEFT + i);

		ok &= got.id == EV_INS && got.address == ins(ring_first, i).address;
	}
	report(ok, "the first 31 are in order");
	expect_record(l, LEFT + 31, ins(ring_first, 39), "the last slot has the last record");
	report(ring_untouched(l, least_records()), "nothing is written after the ring");
	rule("43724-814", CHOICE);
	report_eq(*as_pte(l->cr3, RING_VA + b.head) & (PTE_A | PTE_D), PTE_A | PTE_D,
		  "the ring's page is accessed and dirty");

	/* Two slots are freed: the record at the head becomes visible with the next. */
	cb_set_tail(l, 2 * RECORD_SIZE);
	l->u.r.rip = ins(ring_stop, 37).address;
	lwp_resume(l);
	/* The last slot, 0 and 1; at 1 the ring is full again. */
	rule("43724-801 43724-803", CERTAIN);
	expect_head(l, RECORD_SIZE, "the tail moved by two: two more fit");
	expect_missed(l, 10, "the third is missed");
	expect_record(l, LEFT + 31, ins(ring_stop, 37), "the last slot is written first");
	expect_record(l, 0, ins(ring_stop, 38), "then the ring wraps to slot 0");
	expect_record(l, 1, ins(ring_stop, 39), "slot 1 is the full ring's slot");
	expect_record(l, 2, second, "slot 2 is not touched");
}

static void test_start(struct lwp *l)
{
	struct block b = { .size = RING_SIZE,
			   .head = (LEFT + 30) * RECORD_SIZE,
			   .tail = 30 * RECORD_SIZE,
			   .missed = 0xffffffff };

	lwp_go(l, &b, ring_fill);
	rule("43724-801 43724-803", CERTAIN);
	expect_head(l, 29 * RECORD_SIZE, "head at the last but one, tail at 30: full at 29");
	expect_record(l, LEFT + 30, ins(ring_first, 0), "the first record is at the head");
	expect_record(l, 0, ins(ring_first, 2), "the third is at 0");
	expect_record(l, 29, ins(ring_first, 39), "the last is at 29");
	rule("43724-807", CERTAIN);
	expect_missed(l, 0x100000008, "MissedEvents has 64 bits");
}

static void test_continuous(struct lwp *l)
{
	struct block b = { .size = RING_SIZE, .head = LEFT * RECORD_SIZE, .flags = CONT };

	lwp_go(l, &b, ring_fill);
	rule("43724-403 43724-404", CERTAIN);
	report_eq(cb_flags(l) & ~1u, CONT, "continuous mode is granted");
	rule("43724-625 43724-804", CERTAIN);
	expect_head(l, 8 * RECORD_SIZE, "continuous: 40 records end at slot 8");
	expect_record(l, 7, ins(ring_first, 39), "continuous: the last is at 7");
	expect_record(l, LEFT + 8, ins(ring_first, 8),
		      "continuous: the oldest that is left is at 8");
	expect_record(l, LEFT + 31, ins(ring_first, 31),
		      "continuous: the last slot is an ordinary one");
}

/* 43724-625: in continuous mode no ring is full, so LWPINS never sets CF. */
static void test_ins_continuous(struct lwp *l)
{
	struct block b = { .size = RING_SIZE, .head = LEFT * RECORD_SIZE, .flags = CONT };

	lwp_go_rsi(l, &b, ring_ins, 40);
	report_eq(l->u.r.r9, 0, "continuous: 40 LWPINS for 32 slots leave CF clear");
	expect_head(l, 8 * RECORD_SIZE, "the head has gone round");
	ask("Q28", "43724-804", "MissedEvents of continuous mode after an overwrite", "0",
	    text("%lu", cb_missed(l)));
	b.flags = 0;
	lwp_go_rsi(l, &b, ring_ins, 40);
	rule("43724-625", CERTAIN);
	report_eq(l->u.r.r9, 9, "without continuous mode nine of them set CF");
}

/* 43724-806: a tail outside the ring is 0, one between records is rounded down. */
static void test_bad_tail(struct lwp *l)
{
	struct block outside = { .size = RING_SIZE, .head = LEFT * RECORD_SIZE, .tail = RING_SIZE };
	struct block between = { .size = RING_SIZE, .tail = 11 * RECORD_SIZE - 1 };

	lwp_go(l, &outside, ring_fill);
	rule("43724-806", CHOICE);
	expect_head(l, (LEFT + 31) * RECORD_SIZE, "a tail at the ring's end: full before slot 0");
	report_eq(lwp_get32(l->cb + LWP_CB_TAIL), RING_SIZE,
		  "the tail is not corrected in the block");
	lwp_go(l, &between, ring_fill);
	expect_head(l, 9 * RECORD_SIZE, "a tail in the middle of slot 10: full before it");
	expect_missed(l, 31, "nine fit");
}

/* 43724-420: the interval is read at each reload, so a new one holds from the next record on. */
static void test_interval(struct lwp *l)
{
	lwp_prepare(l, EVENT(EV_IRE, 1, 1), ring_change);
	l->u.r.rdi = CB_VA + cb_slot(EV_IRE);
	lwp_resume(l);
	rule("43724-420 43724-410", CHOICE);
	EXPECT_IRE(l, "the interval becomes 3 after the first record", ring_c2, ring_c4, ring_c8);
}

LWP_TEST(ring)
{
	test_full(l);
	test_start(l);
	test_bad_tail(l);
	test_interval(l);
	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).a & CONT), "8000_001C EAX[29] is clear",
			 "continuous mode"))
		return;
	test_continuous(l);
	test_ins_continuous(l);
}
