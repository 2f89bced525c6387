// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * LWPVAL (43724-630 to 43724-635): the interval rule, an operand that is not touched unless a record is due,
 * a full ring, faults that leave the counter as it was, and their order.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char val_loop[], val_insn[], val_mem[], val_mem_insn[];
extern char val_event[], val_event_1[], val32[], val32_1[];

USER_CODE(/* rsi times; data1 and data2 are the number that is left. */
	  "val_loop: llwpcb %rax\n"
	  "1: stc\n"
	  "val_insn: lwpval $0x12abcd, %esi, %rsi\n"
	  "adc $0, %r9\n"
	  "dec %esi\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  "val_mem: llwpcb %rax\n"
	  "1:\n"
	  "val_mem_insn: lwpval $3, (%rdi), %edx\n"
	  "dec %esi\n"
	  "jnz 1b\n"
	  "flush_exit\n"
	  "val_event: llwpcb %rax\n"
	  "val_event_1: lwpval $9, %ecx, %edx\n"
	  "user_exit\n"
	  ".code32\n"
	  "val32: llwpcb %eax\n"
	  "mov $0x55667788, %edx\n"
	  "mov $0xddeeff00, %ecx\n"
	  "val32_1: lwpval $0x4321, %ecx, %edx\n"
	  "user_exit\n"
	  ".code64\n");

static struct rec sample(u32 left)
{
	return (struct rec)REC_SAMPLE(EV_VAL, val_insn, 0xabcd, left, left);
}

static void run_loop(struct lwp *l, const struct block *b, u32 times)
{
	lwp_go_rsi(l, b, val_loop, times);
}

static void test_interval(struct lwp *l)
{
	static const struct block every = { .event = { { EV_VAL, 0, 0 } } };

	run_loop(l, EVENT(EV_VAL, 3, 3), 9);
	/* 9 8 7 [6] 5 4 3 [2] 1 */
	rule("43724-632 43724-634", CERTAIN);
	EXPECT_RECORDS(l, "interval 3: the fourth and the eighth", sample(6), sample(2));
	report_eq(l->u.r.r9, 9, "no flag is changed");
	run_loop(l, &every, 3);
	EXPECT_RECORDS(l, "interval 0: each", sample(3), sample(2), sample(1));
	run_loop(l, EVENT(EV_IRE, 0x1ffffff, 0x1ffffff), 3);
	rule("43724-630", CERTAIN);
	expect_no_records(l, "event 1 not in Flags: none");
	lwp_go_rsi(l, &every, val_insn, 1);
	expect_no_records(l, "LWP off: none");
	lwp_go32(l, &every, val32);
	rule("43724-505", CERTAIN);
	EXPECT_RECORDS(l, "32-bit code",
		       REC_SAMPLE(EV_VAL, val32_1, 0x4321, 0xddeeff00, 0x55667788));
}

static void test_operand(struct lwp *l)
{
	as_protect(l->cr3, DATA_VA, PAGE_NONE);
	lwp_prepare(l, EVENT(EV_VAL, 2, 2), val_mem);
	l->u.r.rsi = 4;
	l->u.r.rdx = 77;
	rule("43724-631", CERTAIN);
	run_to_store_fault(l, PF_USER, DATA_VA, (u64)val_mem_insn,
			   "the operand is read when a record is due, not before: #PF");
	report_eq(l->u.r.rsi, 2, "that was the third execution");
	report(ring_untouched(l, 0), "nothing is stored");
	rule("43724-635", CHOICE);
	run_to_store_fault(l, PF_USER, DATA_VA, (u64)val_mem_insn,
			   "restarted, it is due again: the counter was left as it was");
	as_protect(l->cr3, DATA_VA, PAGE_USER_RW);
	lwp_put32(l->data, 0x11223344);
	lwp_resume(l);
	rule("43724-632", CHOICE);
	EXPECT_RECORDS(l, "restarted with the page there, it stores once",
		       REC_SAMPLE(EV_VAL, val_mem_insn, 3, 0x11223344, 77));
	/* Reloaded with 2, one more LWPVAL. */
	report_eq(cb_counter(l, EV_VAL), 1, "and reloads once");
}

static void test_ring_fault(struct lwp *l)
{
	as_protect(l->cr3, RING_VA, PAGE_USER_RO);
	lwp_prepare(l, EVENT(EV_VAL, 5, 0), val_mem);
	l->u.r.rsi = 1;
	rule("43724-635", CHOICE);
	run_to_store_fault(l, PF_PRESENT | PF_WRITE | PF_USER, RING_VA, (u64)val_mem_insn,
			   "ring read-only: #PF at LWPVAL for writing");
	lwp_bring(l, RING_VA);
	expect_head(l, RECORD_SIZE, "restarted, it stores once");
	report_eq(cb_counter(l, EV_VAL), 5, "and reloads once");
}

/* 43724-633: a full ring, whose last slot is overwritten by each. */
static void test_full(struct lwp *l)
{
	u32 last = least_records() - 1;
	struct block b = { .size = least_records() * RECORD_SIZE,
			   .head = (last - 1) * RECORD_SIZE,
			   .event = { { EV_VAL, 0, 0 } } };

	run_loop(l, &b, 4);
	rule("43724-633 43724-634", CERTAIN);
	expect_head(l, last * RECORD_SIZE, "full ring: the head stays");
	expect_missed(l, 3, "the first of four fits, MissedEvents counts three");
	expect_record(l, last - 1, sample(4), "the first is in its slot");
	expect_record(l, last, sample(1), "the slot at the head has the last");
	report_eq(l->u.r.r9, 4, "no flag is changed");
}

/* VAL cleared in LWP_CFG: LLWPCB does not grant the event, and LWPVAL has no effect (43724-630). */
static void test_not_allowed(struct lwp *l)
{
	u64 cfg = rdmsr(LWP_MSR_CFG);

	wrmsr(LWP_MSR_CFG, cfg & ~(1ul << EV_VAL));
	run_loop(l, EVENT(EV_VAL, 0, 0), 3);
	rule("43724-404 43724-630", CERTAIN);
	report_eq(cb_flags(l), 0, "VAL cleared in LWP_CFG: Flags are 0");
	expect_no_records(l, "and LWPVAL does nothing");
	lwp_stop();
	wrmsr(LWP_MSR_CFG, cfg);
}

/* 43724-635: operand, then ring. */
static void test_order(struct lwp *l)
{
	as_protect(l->cr3, RING_VA, PAGE_NONE);
	as_protect(l->cr3, DATA_VA, PAGE_NONE);
	lwp_prepare(l, EVENT(EV_VAL, 5, 0), val_mem);
	l->u.r.rsi = 1;
	rule("43724-635", CHOICE);
	run_to_store_fault(l, PF_USER, DATA_VA, (u64)val_mem_insn,
			   "operand and ring are missing: #PF by the operand");
	as_protect(l->cr3, DATA_VA, PAGE_USER_RW);
	run_to_store_fault(l, PF_WRITE | PF_USER, RING_VA, (u64)val_mem_insn, "then by the ring");
	lwp_bring(l, RING_VA);
	expect_head(l, RECORD_SIZE, "then it stores once");
}

static void test_event(struct lwp *l)
{
	static const struct block every = { .event = { { EV_VAL, 0, 0 }, { EV_IRE, 0, 0 } } };

	lwp_go(l, &every, val_event);
	rule("43724-712 43724-410", CHOICE);
	EXPECT_RECORDS(l, "LWPVAL counts as an instruction after its own record",
		       { EV_VAL, .flags = 9, .address = (u64)val_event_1 }, REC_IRE(val_event_1));
}

LWP_TEST(lwpval)
{
	test_interval(l);
	test_operand(l);
	test_ring_fault(l);
	test_full(l);
	test_not_allowed(l);
	test_order(l);
	test_event(l);
}
