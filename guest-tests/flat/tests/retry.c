// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A record that cannot be stored: #PF with the rIP of the next instruction, user-write error code and CR2 = lowest
 * missing byte; it stays pending, the program may run elsewhere meanwhile, and it is stored when CPL 3 is entered at
 * that rIP again. Nothing is ever written partially (43724-707, 43724-708, 43724-813).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char rt_code[], rt_1[], rt_2[], rt_3[], rt_handler[], rt_h1[], rt_jump[], rt_j1[];
extern char rt_j2[], rt_llwpcb[], rt_ins[], rt_val[], rt_ins_memory[], rt_value[], rt_v[],
	rt_chain[];

USER_CODE("rt_code: llwpcb %rax\n"
	  "rt_1: nop\n"
	  "rt_2: mov $1, %ecx\n"
	  "rt_3: nop\n"
	  "user_exit\n"
	  "rt_handler: nop\n"
	  "rt_h1: nop\n"
	  "nop\n"
	  "user_exit\n"
	  "rt_llwpcb: llwpcb %rbp\n"
	  "user_exit\n"
	  "rt_ins: lwpins $5, %ecx, %edx\n"
	  "user_exit\n"
	  "rt_val: lwpval $6, (%rdi), %edx\n"
	  "user_exit\n"
	  "rt_ins_memory: lwpins $5, (%rdi), %edx\n"
	  "user_exit\n"
	  "rt_jump: llwpcb %rax\n"
	  "rt_j1: jmp rt_j2\n"
	  "ud2\n"
	  "rt_j2: nop\n"
	  "user_exit\n"
	  "rt_value: llwpcb %rax\n"
	  "rt_v: lwpval $6, %ecx, %edx\n"
	  "user_exit\n"
	  "rt_chain: .fill 8, 2, 0x00eb\n" /* jumps to the next one */
	  "user_exit\n");

#define ABSENT (PF_WRITE | PF_USER)
#define READ_ONLY (PF_PRESENT | PF_WRITE | PF_USER)

static const struct block tenth = { .event = { { EV_IRE, 9, 0 } } };

/* The record of rt_1 cannot be stored; the program is at another place then. */
static void pend(struct lwp *l, const struct block *b, const char *code)
{
	lwp_prepare(l, b, rt_code);
	as_protect(l->cr3, RING_VA, PAGE_NONE);
	user_run(&l->u);
	l->u.r.rip = (u64)code;
}

static void test_store(struct lwp *l)
{
	rule("43724-814 43724-815", CHOICE);
	lwp_prepare(l, every_insn(), rt_code);
	run_to_missing(l, RING_VA, (u64)rt_2, "ring not there: #PF before the next one");
	expect_head(l, 0, "the head is not moved");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP stays on");
	run_to_store_fault(l, ABSENT, RING_VA, (u64)rt_2, "entered at that rIP again: tried again");
	as_protect(l->cr3, RING_VA, PAGE_USER_RO);
	run_to_store_fault(l, READ_ONLY, RING_VA, (u64)rt_2, "ring read-only: #PF with P");
	as_protect(l->cr3, RING_VA, PAGE_KERNEL_RW);
	run_to_store_fault(l, READ_ONLY, RING_VA, (u64)rt_2, "ring in a kernel page: #PF with P");
	lwp_bring(l, RING_VA);
	EXPECT_IRE(l, "with the page there nothing is lost", rt_1, rt_2, rt_3);

	lwp_prepare(l, every_insn(), rt_jump);
	run_to_missing(l, RING_VA, (u64)rt_j2, "after a jump: rIP is its target");
	lwp_bring(l, RING_VA);
	EXPECT_IRE(l, "stored once", rt_j1, rt_j2);
}

static void test_block(struct lwp *l)
{
	lwp_prepare(l, every_insn(), rt_code);
	/* LLWPCB wants it writable; stop after it. */
	l->u.r.rflags |= RFLAGS_TF;
	user_run(&l->u);
	l->u.r.rflags &= ~RFLAGS_TF;
	rule("43724-814 43724-815", CHOICE);
	as_protect(l->cr3, CB_VA, PAGE_USER_RO);
	run_to_store_fault(l, READ_ONLY, CB_VA, (u64)rt_2, "block read-only: #PF at the store");
	report(ring_untouched(l, 0), "the record is not written either");
	lwp_bring(l, CB_VA);
	EXPECT_IRE(l, "with the page writable nothing is lost", rt_1, rt_2, rt_3);
}

/* A record in the last 16 bytes of one page and the first 16 of the next. */
static void test_crossing(struct lwp *l)
{
	struct block b = { .base = RING_VA + PAGE_SIZE - 16, .event = { { EV_IRE, 1000, 0 } } };
	bool untouched = true;

	lwp_prepare(l, &b, rt_code);
	rule("43724-814", CHOICE);
	run_to_missing(l, RING_VA + PAGE_SIZE, (u64)rt_2,
		       "record across pages, second not there: CR2 is the second page");
	for (u32 i = 0; i < 16; i++)
		untouched &= l->ring[PAGE_SIZE - 16 + i] == RING_FILL;
	report(untouched, "nothing is written to the first page");
	as_protect(l->cr3, RING_VA + PAGE_SIZE, PAGE_USER_RW);
	run_to_missing(l, RING_VA + PAGE_SIZE - 16, (u64)rt_2,
		       "first page not there: CR2 is the record");
	for (u32 i = 0; i < 16; i++)
		untouched &= l->ring[PAGE_SIZE + i] == RING_FILL;
	report(untouched, "nothing is written to the second page");
	lwp_bring(l, RING_VA);
	report_eq(lwp_get64(l->ring + PAGE_SIZE - 16 + 8), (u64)rt_1, "then the record is whole");
	report_eq(lwp_get64(l->ring + PAGE_SIZE - 16 + 16), 0,
		  "its second half is in the next page");
	expect_head(l, RECORD_SIZE, "and the head is moved");
}

/* The program runs on in a "SIGSEGV handler" while the record waits. */
static void test_handler(struct lwp *l)
{
	struct user saved;

	lwp_prepare(l, &tenth, rt_code);
	rule("43724-816", CHOICE);
	run_to_missing(l, RING_VA, (u64)rt_2, "#PF at rt_2");
	saved = l->u;
	lwp_try(l, rt_handler);
	report(user_exited(&l->u), "a handler runs although the ring is not there");
	l->u = saved;
	run_to_store_fault(l, ABSENT, RING_VA, (u64)rt_2, "back at that rIP: tried again");
	lwp_bring(l, RING_VA);
	EXPECT_IRE(l, "stored once the page is there", rt_1);
	lwp_run(l, lwp_slwpcb);
	/* Reloaded with 9 when gathered; three in the handler, two after. */
	report_eq(cb_counter(l, EV_IRE), 4, "the handler was counted");
}

/*
 * Another event that becomes due in the handler has the store tried again there. The one that waits for the
 * slot takes its next instruction when the slot is free.
 */
static void test_second_event(struct lwp *l)
{
	pend(l, every_insn(), rt_handler);
	rule("43724-816", CHOICE);
	run_to_store_fault(l, ABSENT, RING_VA, (u64)rt_h1,
			   "another event becomes due in the handler: tried again there");
	lwp_bring(l, RING_VA);
	EXPECT_IRE(l, "the first record is stored first", rt_1, rt_h1, rt_h1 + 1);
}

/* Events that are due keep counting while the record waits, instruction by instruction. */
static void test_due(struct lwp *l)
{
	pend(l, every_insn(), rt_handler);
	rule("43724-705 43724-816", CHOICE);
	run_to_store_fault(l, ABSENT, RING_VA, (u64)rt_h1, "due by one: tried again");
	lwp_try(l, rt_handler);
	report(user_exited(&l->u), "due by more: not again");
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	lwp_run(l, lwp_slwpcb);
	/* 0 when gathered; one, then three in the handler. */
	report_eq(cb_counter(l, EV_IRE), -4u & LWP_COUNTER_MASK, "the handler was counted");
	EXPECT_IRE(l, "SLWPCB takes the next record", rt_1, lwp_slwpcb);
}

/* LWP instructions try first thing, wherever they are. */
static void test_instructions(struct lwp *l)
{
	static const struct {
		const char *code, *name;
	} insns[] = { { lwp_slwpcb, "SLWPCB" }, { rt_llwpcb, "LLWPCB" }, { rt_ins, "LWPINS" } };
	bool waits;

	rule("43724-817", CHOICE);
	for (u32 i = 0; i < 3; i++) {
		report_push("%s", insns[i].name);
		lwp_prepare(l, &tenth, rt_code);
		waits = run_to_missing(l, RING_VA, (u64)rt_2, "the store faults") &&
			run_to_store_fault(l, ABSENT, RING_VA, (u64)rt_2, "and is tried again");
		lwp_try(l, insns[i].code);
		expect_store_fault(l, ABSENT, RING_VA, (u64)insns[i].code,
				   "tries again and faults");
		as_protect(l->cr3, RING_VA, PAGE_USER_RW);
		lwp_run(l, insns[i].code);
		expect_record(l, 0, (struct rec)REC_IRE(rt_1),
			      "restarted, the record is stored first");
		/* However a store is tried: one that was outstanding is done. */
		if (waits && insns[i].code == lwp_slwpcb)
			report_beside("43724-621", CERTAIN, cb_head(l) == RECORD_SIZE,
				      "the record that waited is in the ring");
		report_pop();
	}
}

static const struct block value = { .event = { { EV_IRE, 9, 0 }, { EV_VAL, 9, 0 } } };

/* 43724-636: ring and operand are missing while a record is pending: the pending record goes first. */
static void test_operand(struct lwp *l, const char *code, const char *name, struct rec want)
{
	pend(l, &value, code);
	as_protect(l->cr3, DATA_VA, PAGE_NONE);
	l->u.r.rdx = 77;
	user_run(&l->u);
	rule("43724-636", CHOICE);
	report_push("%s", name);
	expect_store_fault(l, ABSENT, RING_VA, (u64)code, "the pending record is tried first");
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	run_to_store_fault(l, PF_USER, DATA_VA, (u64)code, "then the operand is read");
	expect_head(l, RECORD_SIZE, "the pending record is stored");
	as_protect(l->cr3, DATA_VA, PAGE_USER_RW);
	lwp_put32(l->data, 55);
	lwp_resume(l);
	expect_record(l, 0, (struct rec)REC_IRE(rt_1), "the pending record");
	expect_record(l, 1, want, "then its own");
	report_pop();
}

/* 43724-817: an LWPVAL that is not due leaves the pending record alone. */
static void test_not_due(struct lwp *l)
{
	static const struct block later = { .event = { { EV_IRE, 9, 0 }, { EV_VAL, 9, 9 } } };

	pend(l, &later, rt_val);
	user_run(&l->u);
	rule("43724-817", CHOICE);
	report(user_exited(&l->u), "an LWPVAL that is not due tries nothing");
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	lwp_stop();
}

/* An LWPVAL whose store faults has not retired: what is due behind it is due neither earlier nor later. */
static void test_value_faults(struct lwp *l)
{
	for (u32 due = 1; due <= 8; due++) {
		const struct block b = { .event = { { EV_IRE, 99, due - 1 }, { EV_VAL, 0, 0 } } };
		u64 jump = (u64)rt_chain + 2 * (due - 1);

		lwp_prepare(l, &b, rt_value);
		rule("43724-714 43724-813", CHOICE);
		run_to_missing(l, RING_VA, (u64)rt_v, "LWPVAL's record has no page");
		as_protect(l->cr3, RING_VA, PAGE_USER_RW);
		lwp_run(l, rt_chain);
		expect_record(l, 0, (struct rec)REC_IRE(jump), "jump %u of the next ones is due",
			      due);
	}
}

LWP_TEST(retry)
{
	test_store(l);
	test_block(l);
	test_crossing(l);
	test_handler(l);
	test_second_event(l);
	test_due(l);
	test_instructions(l);
	test_operand(l, rt_val, "LWPVAL", (struct rec)REC_SAMPLE(EV_VAL, rt_val, 6, 55, 77));
	test_operand(l, rt_ins_memory, "LWPINS",
		     (struct rec)REC_SAMPLE(EV_INS, rt_ins_memory, 5, 55, 77));
	test_not_due(l);
	test_value_faults(l);
}
