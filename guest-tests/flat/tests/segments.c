// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code with a CS base and 16-bit code: addresses in records are linear, CS base added; the XOP instructions exist in
 * 16-bit protected-mode code too. The limits and types of DS, and of an operand's segment (2007-503, 2007-610).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define DS_BASE (CB_VA - 0x1000)

/* Code offsets are small: offset 0 is seg_base, and for 16-bit code everything lies below 64 KiB. */
extern char seg_base[], seg_32[], seg_32_1[], seg_32_2[], seg_32_3[], seg_32_4[];
extern char seg_op[], seg_op_ds[], seg_op_es[], seg_op_es_1[], seg_op_ss[], seg_op_ss_1[],
	seg_query[];
extern char seg_16[], seg_16_1[], seg_16_2[], seg_16_3[], seg_16_4[], seg_16_5[];

USER_CODE("seg_base: hlt\n"
	  ".code32\n"
	  "seg_32: llwpcb %eax\n"
	  "seg_32_1: nop\n"
	  "seg_32_2: jmp seg_32_3\n"
	  "ud2\n"
	  "seg_32_3: lwpins $1, %ecx, %edx\n"
	  "seg_32_4: nop\n"
	  "user_exit\n"
	  "seg_op: llwpcb %eax\n"
	  "seg_op_ds: lwpins $2, (%ebx), %edx\n"
	  "user_exit\n"
	  "seg_op_es: llwpcb %eax\n"
	  "seg_op_es_1: lwpins $2, %es:(%ebx), %edx\n"
	  "user_exit\n"
	  "seg_op_ss: llwpcb %eax\n"
	  "seg_op_ss_1: lwpins $2, (%ebp), %edx\n"
	  "user_exit\n"
	  "seg_query: slwpcb %ebx\n"
	  "user_exit\n"
	  /* llwpcb eax; lwpins edx, [bx+si+4], 1234h with 16-bit addressing. */
	  ".code16\n"
	  "seg_16: .byte 0x8f, 0xe9, 0x78, 0x12, 0xc0\n"
	  "seg_16_1: nop\n"
	  "seg_16_2: jmp seg_16_3\n"
	  "ud2\n"
	  "seg_16_3: .byte 0x8f, 0xea, 0x68, 0x12, 0x40, 0x04, 0x34, 0x12, 0, 0\n"
	  "seg_16_4: call seg_16_5\n"
	  "seg_16_5: nop\n"
	  "user_exit\n"
	  ".code64\n");

static const struct block branches = { .event = { { EV_BRE, 0, 0 } } };

/* Code in USER_FREE_CS, whose base is seg_base. */
static void prepare(struct lwp *l, const struct block *b, const char *code, u8 kind)
{
	lwp_prepare32(l, b, code);
	seg_set(USER_FREE_CS, (u32)(u64)seg_base, 0xffff, SEG_USER_CODE, kind);
	l->u.r.cs = USER_FREE_CS;
	l->u.r.rip = (u64)(code - seg_base);
	l->u.r.rcx = 0x11223344;
	l->u.r.rdx = 0x55667788;
}

static struct rec ins(const char *at, u16 flags, u32 data1)
{
	return (struct rec)REC_SAMPLE(EV_INS, at, flags, data1, 0x55667788);
}

static void test_code32(struct lwp *l)
{
	prepare(l, every_insn(), seg_32, SEG_32BIT_BYTES);
	lwp_resume(l);
	rule("43724-503 43724-410", CHOICE);
	EXPECT_RECORDS(l, "32-bit code: addresses have the CS base", REC_IRE(seg_32_1),
		       REC_IRE(seg_32_2), ins(seg_32_3, 1, 0x11223344), REC_IRE(seg_32_3),
		       REC_IRE(seg_32_4));
	prepare(l, &branches, seg_32, SEG_32BIT_BYTES);
	lwp_resume(l);
	rule("43724-503", RECALLED);
	EXPECT_RECORDS(l, "32-bit code: branch targets have the CS base",
		       REC_BRE(seg_32_2, seg_32_3, true), ins(seg_32_3, 1, 0x11223344));
	prepare(l, &branches, seg_32, SEG_32BIT_BYTES);
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"(seg_32_2), "r"(DR7_CODE_0));
	run_to_fault(l, VEC_DB, 0, (u64)(seg_32_2 - seg_base), "a breakpoint is a linear address");
	asm volatile("mov %0, %%dr7" : : "r"(DR7_NONE));
	lwp_resume(l);
}

/* The operand of LWPINS is at DS:2800h, so DS gets a base below the block. */
static void prepare16(struct lwp *l, const struct block *b)
{
	struct block based = *b;

	based.base = RING_VA - DS_BASE;
	prepare(l, &based, seg_16, SEG_16BIT_BYTES);
	seg_set(USER_FREE_DS, DS_BASE, 0xfffff, SEG_USER_DATA, SEG_32BIT_PAGES);
	l->u.ds = USER_FREE_DS;
	l->u.r.rax = CB_VA - DS_BASE;
	l->u.r.rbx = 0x2000;
	l->u.r.rsi = 0x7fc;
	lwp_put32(l->cb + DS_BASE + 0x2800 - CB_VA, 0xcafef00d);
}

static void test_code16(struct lwp *l)
{
	prepare16(l, every_insn());
	lwp_resume(l);
	rule("43724-503 43724-604 43724-410", CHOICE);
	EXPECT_RECORDS(l, "16-bit code: LLWPCB, LWPINS with 16-bit addressing, instructions",
		       REC_IRE(seg_16_1), REC_IRE(seg_16_2), ins(seg_16_3, 0x1234, 0xcafef00d),
		       REC_IRE(seg_16_3), REC_IRE(seg_16_4), REC_IRE(seg_16_5));
	prepare16(l, &branches);
	lwp_resume(l);
	rule("43724-503 43724-604", RECALLED);
	EXPECT_RECORDS(l, "16-bit code: branches", REC_BRE(seg_16_2, seg_16_3, true),
		       ins(seg_16_3, 0x1234, 0xcafef00d), REC_BRE(seg_16_4, seg_16_5, true));
}

/* A DS of another type or limit, in pages. */
static void prepare_ds(struct lwp *l, u32 limit, u8 access, u16 selector)
{
	prepare(l, every_insn(), seg_32, SEG_32BIT_BYTES);
	seg_set(USER_FREE_DS, 0, limit, access, SEG_32BIT_PAGES);
	l->u.ds = selector;
}

static void expect_gp(struct lwp *l, const char *what)
{
	run_to_fault(l, VEC_GP, 0, (u64)(seg_32 - seg_base), what);
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "and LWP is off");
}

/* 43724-612: bytes of the block that DS does not allow to read and write. */
static void test_limit(struct lwp *l)
{
	prepare_ds(l, CB_VA / PAGE_SIZE - 1, SEG_USER_DATA, USER_FREE_DS);
	rule("43724-612", RECALLED);
	expect_gp(l, "32-bit code: a block beyond the limit of DS is #GP");
	prepare_ds(l, 0xfffff, SEG_USER_DATA & ~SEG_WRITABLE, USER_FREE_DS);
	rule("43724-612", CHOICE);
	expect_gp(l, "32-bit code: a block in a read-only DS is #GP");
	prepare_ds(l, 0xfffff, SEG_USER_DATA, 0);
	expect_gp(l, "32-bit code: a null DS is #GP");
	prepare_ds(l, CB_VA / PAGE_SIZE, SEG_USER_DATA | SEG_EXPAND_DOWN, USER_FREE_DS);
	expect_gp(l, "32-bit code: a block within the limit of an expand-down DS is #GP");
}

static void test_expand_down(struct lwp *l)
{
	prepare_ds(l, CB_VA / PAGE_SIZE - 1, SEG_USER_DATA | SEG_EXPAND_DOWN, USER_FREE_DS);
	lwp_resume(l);
	rule("43724-612 43724-410", CHOICE);
	EXPECT_RECORDS(l, "32-bit code: block and ring above the limit of an expand-down DS",
		       REC_IRE(seg_32_1), REC_IRE(seg_32_2), ins(seg_32_3, 1, 0x11223344),
		       REC_IRE(seg_32_3), REC_IRE(seg_32_4));
}

/* 43724-612: the last byte of the ring, and the end of the 32-bit address space. */
static void test_ring_limit(struct lwp *l)
{
	struct block b = *every_insn();

	b.size = least_records() * RECORD_SIZE;
	b.base = RING_VA + RING_PAGES * PAGE_SIZE - b.size;
	prepare(l, &b, seg_32, SEG_32BIT_BYTES);
	seg_set(USER_FREE_DS, 0, (RING_VA + RING_PAGES * PAGE_SIZE) / PAGE_SIZE - 1, SEG_USER_DATA,
		SEG_32BIT_PAGES);
	l->u.ds = USER_FREE_DS;
	lwp_resume(l);
	rule("43724-612 43724-410", CHOICE);
	expect_head(l, 5 * RECORD_SIZE, "32-bit code: a ring that ends with the limit of DS");
	b.base += 1;
	prepare(l, &b, seg_32, SEG_32BIT_BYTES);
	l->u.ds = USER_FREE_DS;
	expect_gp(l, "32-bit code: a ring whose last byte is beyond the limit of DS is #GP");

	b.base = 0x100000000 - b.size;
	prepare(l, &b, seg_32, SEG_32BIT_BYTES);
	run_to_store_fault(l, PF_WRITE | PF_USER, (u32)b.base, (u64)(seg_32_2 - seg_base),
			   "32-bit code: a ring up to 4 GiB is taken, and is missing");
	lwp_stop();
	/* 43724-423: as a program has it that widens its pointer as a signed number. */
	rule("43724-423", CHOICE);
	b.base |= 0xffffffff00000000;
	prepare(l, &b, seg_32, SEG_32BIT_BYTES);
	run_to_store_fault(l, PF_WRITE | PF_USER, (u32)b.base, (u64)(seg_32_2 - seg_base),
			   "32-bit code: the high half of BufferBase is ignored");
	lwp_stop();
	rule("43724-612", CHOICE);
	b.base = (u32)b.base + RECORD_SIZE;
	prepare(l, &b, seg_32, SEG_32BIT_BYTES);
	expect_gp(l, "32-bit code: a ring that wraps round 4 GiB is #GP");
}

/* 43724-615: DS.Base is added once. SLWPCB subtracts that of its own DS. */
static void test_ds_changes(struct lwp *l)
{
	prepare(l, every_insn(), seg_32, SEG_32BIT_BYTES);
	lwp_resume(l);
	seg_set(USER_FREE_DS, DS_BASE, 0xfffff, SEG_USER_DATA, SEG_32BIT_PAGES);
	l->u.ds = USER_FREE_DS;
	l->u.r.rip = (u64)(seg_query - seg_base);
	lwp_resume(l);
	rule("43724-615 43724-622", RECALLED);
	report_eq(l->u.r.rbx, CB_VA - DS_BASE,
		  "another DS: SLWPCB returns the address in that one");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP_CBADDR is as it was");
	/* Five, then the gate's own; SLWPCB itself. */
	rule("43724-615 43724-410", CHOICE);
	expect_head(l, 6 * RECORD_SIZE, "and records go into the old ring");
}

/* 43724-629: an operand beyond the limit of its segment. */
static void test_operand(struct lwp *l)
{
	u32 top = CB_VA / PAGE_SIZE + 0x20;

	seg_set(USER_FREE_DS, 0, top, SEG_USER_DATA, SEG_32BIT_PAGES);
	prepare(l, NO_EVENT, seg_op, SEG_32BIT_BYTES);
	l->u.ds = USER_FREE_DS;
	l->u.r.rbx = (u64)top * PAGE_SIZE + PAGE_SIZE - 3;
	rule("43724-629", RECALLED);
	run_to_fault(l, VEC_GP, 0, (u64)(seg_op_ds - seg_base),
		     "LWPINS whose operand ends beyond the limit of DS: #GP(0)");
	l->u.r.rbx--;
	lwp_resume(l);
	expect_head(l, RECORD_SIZE, "one that ends with it is read");
	prepare(l, NO_EVENT, seg_op_es, SEG_32BIT_BYTES);
	l->u.ds = USER_FREE_DS;
	l->u.r.rbx = (u64)top * PAGE_SIZE + PAGE_SIZE - 4;
	lwp_resume(l);
	expect_head(l, RECORD_SIZE, "an operand in another segment has that one's limit");
	prepare(l, NO_EVENT, seg_op_es, SEG_32BIT_BYTES);
	l->u.es = 0;
	l->u.r.rbx = DATA_VA;
	run_to_fault(l, VEC_GP, 0, (u64)(seg_op_es_1 - seg_base),
		     "an operand in a null segment: #GP(0)");
	prepare(l, NO_EVENT, seg_op_ss, SEG_32BIT_BYTES);
	l->u.r.ss = USER_FREE_DS;
	l->u.r.rbp = (u64)top * PAGE_SIZE + PAGE_SIZE;
	run_to_fault(l, VEC_SS, 0, (u64)(seg_op_ss_1 - seg_base),
		     "an operand beyond the limit of SS: #SS(0)");
	expect_no_records(l, "a fault leaves nothing stored");
	lwp_stop();
}

LWP_TEST(segments)
{
	test_code32(l);
	test_code16(l);
	test_limit(l);
	test_expand_down(l);
	test_ring_limit(l);
	test_ds_changes(l);
	test_operand(l);
}
