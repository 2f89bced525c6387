// SPDX-License-Identifier: GPL-2.0-or-later
/* LWPINS: record, CF, full ring, and the faults of its operand and of the ring (43724-602, 43724-624, 43724-712). */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char ins_off[], ins_forms[], ins_1[], ins_2[], ins_3[], ins_4[];
extern char ins_fill[], ins_fill_insn[], ins_mem[], ins_mem_insn[], ins_noncanonical[];
extern char ins_stack[], ins_event[], ins_event_1[], ins_event_2[], ins32[], ins32_1[], ins32_2[];

USER_CODE("ins_off: stc\n"
	  "lwpins $1, %ecx, %rax\n"
	  "setc %bl\n"
	  "user_exit\n"
	  /* All status flags set before; CF is the only one that changes. */
	  "ins_forms: llwpcb %rax\n"
	  "mov $0x1122334455667788, %rdx\n"
	  "mov $0x99aabbccddeeff00, %rcx\n"
	  "movl $0xcafef00d, 8(%rdi)\n"
	  "push $0x8d7\n"
	  "popfq\n"
	  "ins_1: lwpins $0x12345678, %ecx, %rdx\n"
	  "ins_2: lwpins $0xffff, %ecx, %edx\n"
	  "ins_3: lwpins $0xabcd, 8(%rdi), %rdx\n"
	  "ins_4: lwpins $1, ins_4_data(%rip), %edx\n"
	  "pushfq\n"
	  "pop %rbx\n"
	  "user_exit\n"
	  "ins_4_data: .long 0x0badcafe\n"
	  /* rbp + rsi LWPINS in a row: r9 counts those that set CF. */
	  "ins_fill: llwpcb %rax\n"
	  "1:\n"
	  "ins_fill_insn: lwpins $7, %esi, %rsi\n"
	  "adc $0, %r9\n"
	  "dec %esi\n"
	  "jnz 1b\n"
	  "user_exit\n"
	  "ins_mem: llwpcb %rax\n"
	  "mov $5, %edx\n"
	  "ins_mem_insn: lwpins $3, (%rdi), %edx\n"
	  "user_exit\n"
	  "ins_noncanonical: llwpcb %rax\n"
	  "lwpins $3, (%rdi), %edx\n"
	  "user_exit\n"
	  "ins_stack: llwpcb %rax\n"
	  "lwpins $3, (%rsp), %edx\n"
	  "user_exit\n"
	  "ins_event: llwpcb %rax\n"
	  "ins_event_1: lwpins $9, %ecx, %edx\n"
	  "ins_event_2: nop\n"
	  "user_exit\n"
	  ".code32\n"
	  "ins32: llwpcb %eax\n"
	  "mov $0x55667788, %edx\n"
	  "mov $0xddeeff00, %ecx\n"
	  "mov %ecx, 4(%edi)\n"
	  "ins32_1: lwpins $0x4321, %ecx, %edx\n"
	  "ins32_2: lwpins $0x8765, 4(%edi), %ecx\n"
	  "user_exit\n"
	  ".code64\n");

static void test_off(struct lwp *l)
{
	lwp_go(l, NO_EVENT, ins_off);
	rule("43724-626", CERTAIN);
	report_eq(l->u.r.rbx & 0xff, 0, "LWP off: CF is cleared");
	report(ring_untouched(l, 0), "LWP off: nothing is stored");
}

static void test_forms(struct lwp *l)
{
	lwp_go(l, NO_EVENT, ins_forms);
	rule("43724-505 43724-601 43724-603", CERTAIN);
	EXPECT_RECORDS(l, "register and memory operands, 32 and 64 bits of operand 1",
		       REC_SAMPLE(EV_INS, ins_1, 0x5678, 0xddeeff00, 0x1122334455667788),
		       REC_SAMPLE(EV_INS, ins_2, 0xffff, 0xddeeff00, 0x55667788),
		       REC_SAMPLE(EV_INS, ins_3, 0xabcd, 0xcafef00d, 0x1122334455667788),
		       REC_SAMPLE(EV_INS, ins_4, 1, 0x0badcafe, 0x55667788));
	rule("43724-625 43724-627", RECALLED);
	report_eq(l->u.r.rbx & RFLAGS_STATUS, 0x8d4, "CF is cleared, the other flags are kept");
	lwp_go32(l, NO_EVENT, ins32);
	rule("43724-505 43724-601 43724-603", CERTAIN);
	EXPECT_RECORDS(l, "32-bit code",
		       REC_SAMPLE(EV_INS, ins32_1, 0x4321, 0xddeeff00, 0x55667788),
		       REC_SAMPLE(EV_INS, ins32_2, 0x8765, 0xddeeff00, 0xddeeff00));
}

static void test_full(struct lwp *l)
{
	/* The smallest ring, of which 32 slots are left. */
	u32 left = least_records() - 32;
	struct block small = { .size = least_records() * RECORD_SIZE, .head = left * RECORD_SIZE };

	lwp_go_rsi(l, &small, ins_fill, 35);
	/* 35 down to 1; 31 fit, the other four overwrite each other in the last slot. */
	rule("43724-625 43724-803", CERTAIN);
	expect_head(l, (left + 31) * RECORD_SIZE, "full: the head stays before the tail");
	expect_missed(l, 4, "full: MissedEvents counts the rest");
	report_eq(l->u.r.r9, 4, "full: CF is set for each of them");
	expect_record(l, left + 30, (struct rec)REC_SAMPLE(EV_INS, ins_fill_insn, 7, 5, 5),
		      "full: the newest record that can be seen is the 31st");
	expect_record(l, left + 31, (struct rec)REC_SAMPLE(EV_INS, ins_fill_insn, 7, 1, 1),
		      "full: the slot at the head has the last one");
}

static void test_operand(struct lwp *l)
{
	lwp_prepare(l, NO_EVENT, ins_mem);
	l->u.r.rdi = DATA_VA + 2 * PAGE_SIZE - 2;
	as_map(l->cr3, DATA_VA + 2 * PAGE_SIZE, 0, 1, PAGE_NONE);
	rule("43724-629", CHOICE);
	run_to_store_fault(l, PF_USER, DATA_VA + 2 * PAGE_SIZE, (u64)ins_mem_insn,
			   "operand across a page that is not there: #PF for reading");
	report(ring_untouched(l, 0) && !cb_head(l), "and nothing is stored");
	l->u.r.rdi = DATA_VA;
	lwp_put32(l->data, 0x12345678);
	lwp_resume(l);
	EXPECT_RECORDS(l, "restarted, it stores once",
		       REC_SAMPLE(EV_INS, ins_mem_insn, 3, 0x12345678, 5));
	lwp_prepare(l, NO_EVENT, ins_noncanonical);
	l->u.r.rdi = 0x800000000000;
	rule("43724-629", RECALLED);
	run_to_fault(l, VEC_GP, 0, (u64)ins_noncanonical + 5, "non-canonical operand: #GP(0)");
	lwp_prepare(l, NO_EVENT, ins_stack);
	l->u.r.rsp = 0x800000000000;
	run_to_fault(l, VEC_SS, 0, (u64)ins_stack + 5,
		     "non-canonical operand on the stack: #SS(0)");
}

static void test_ring_fault(struct lwp *l)
{
	lwp_prepare(l, NO_EVENT, ins_mem);
	rule("43724-629", CHOICE);
	run_to_missing(l, RING_VA, (u64)ins_mem_insn, "ring not there: #PF at LWPINS for writing");
	as_protect(l->cr3, RING_VA, PAGE_USER_RO);
	run_to_store_fault(l, PF_PRESENT | PF_WRITE | PF_USER, RING_VA, (u64)ins_mem_insn,
			   "ring read-only: #PF at LWPINS");
	lwp_bring(l, RING_VA);
	expect_head(l, RECORD_SIZE, "restarted, it stores once");
}

static void test_event(struct lwp *l)
{
	lwp_go(l, every_insn(), ins_event);
	rule("43724-628 43724-410", CHOICE);
	EXPECT_RECORDS(l, "LWPINS counts as an instruction after its own record",
		       { EV_INS, .flags = 9, .address = (u64)ins_event_1 }, REC_IRE(ins_event_1),
		       REC_IRE(ins_event_2));
}

/* CR0.TS is for the floating-point state; LWP does not care. */
static void test_ts(struct lwp *l)
{
	lwp_prepare(l, NO_EVENT, ins_mem);
	write_cr0(read_cr0() | CR0_TS);
	user_run(&l->u);
	write_cr0(read_cr0() & ~CR0_TS);
	rule("43724-314", CERTAIN);
	expect_head(l, RECORD_SIZE, "CR0.TS does not matter");
}

LWP_TEST(lwpins)
{
	test_off(l);
	test_forms(l);
	test_full(l);
	test_operand(l);
	test_ring_fault(l);
	test_event(l);
	test_ts(l);
}
