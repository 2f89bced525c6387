// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threshold interrupt of the 2007 proposal (2007-803): when the bytes in the ring become equal to
 * EventRingBufferThreshold, so once for each time it is crossed, and never for 0 (2007-204,
 * 2007-405, 2007-801, 2007-802, 2007-804 to 2007-806, 2007-809).
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define VECTOR 0x51ul
#define CFG_INT 0x80000000ul

extern char t07_code[], t07_first[];

USER_CODE("t07_code: llwpcb %rax\n"
	  "t07_first: nop\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "user_exit\n");

static u64 last;
static u32 count;
static struct lwp *consume;

static void on_threshold(struct regs *r)
{
	last = r->rip;
	count++;
	if (consume)
		cb_set_tail(consume, cb_head(consume));
	apic_eoi();
}

/* Five NOPs with one record each. */
static void go(struct lwp *l, u32 limit)
{
	struct block b = { .threshold = limit, .event = { { EV07_IRE, 1, 1 } } };

	count = 0;
	last = 0;
	lwp_prepare(l, &b, t07_code);
	l->u.r.rflags |= RFLAGS_IF;
	lwp_resume(l);
}

LWP_TEST(rev07_threshold)
{
	u64 cfg;

	/* 2007: EDX[1] */
	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).d & 2), "8000_001C EDX[1] is clear",
			 "threshold interrupt"))
		return;
	cfg = rdmsr(LWP_MSR_CFG) | VECTOR << LWP_CFG_VECTOR_SHIFT;
	wrmsr(LWP_MSR_CFG, cfg | CFG_INT);
	irq_set_handler(VECTOR, on_threshold);

	rule("2007-803", CERTAIN);
	go(l, 96);
	report_eq(count, 1, "Threshold of 3 records, five come: one interrupt");
	report_eq(last, (u64)t07_first + 3, "before the fourth NOP");
	report_eq(cb_flags(l), 0x80000003, "Flags are Enabled IRE Interrupt");
	go(l, 0);
	report_eq(count, 0, "Threshold 0: never");
	rule("2007-804", CHOICE);
	go(l, 80);
	report_eq(count, 0, "a Threshold between two records is never equal");
	rule("2007-803", CERTAIN);
	go(l, 192);
	report_eq(count, 0, "Threshold of 6 records, five come: none");
	consume = l;
	go(l, 64);
	report_eq(count, 2, "the tail moves: again when it is crossed again");
	report_eq(last, (u64)t07_first + 4, "at the fourth record");
	consume = NULL;
	wrmsr(LWP_MSR_CFG, cfg);
	go(l, 96);
	report_eq(count, 0, "LWPMSR0.Interrupt clear: never");
	report_eq(cb_flags(l), 0x3, "Flags are Enabled IRE");
}
