// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The four instructions at CPL 0 (43724-608, 43724-637): they act, with the rights of user code on block and
 * ring, and nothing is counted there.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define CR4_SMAP (1ul << 21)
#define EBX_SMAP (1u << 20)

extern char cpl0_ins_insn[], cpl0_val_insn[], cpl0_user[], cpl0_user_1[];

USER_CODE("cpl0_user:\n"
	  "cpl0_user_1: nop\n"
	  "user_exit\n");

static char kernel_block[256] __attribute__((aligned(64)));

static u32 try_llwpcb(u64 address)
{
	return TRY("llwpcb %1", "r"(address) : "memory");
}

static u64 slwpcb(void)
{
	u64 address;

	asm volatile("slwpcb %0" : "=r"(address) : : "memory");
	return address;
}

__attribute__((noinline)) static u32 try_lwpins(u32 data1, u64 data2)
{
	register u32 fault asm("r8") = NO_FAULT;

	asm volatile("cpl0_ins_insn: lwpins $0x77, %1, %2\n2:\n" EX_TABLE("cpl0_ins_insn", "2b")
		     : "+r"(fault)
		     : "r"(data1), "r"(data2)
		     : "memory", "cc");
	return fault;
}

/* LWPINS into a ring with these rights, with bits of CR0 clear and of CR4 set. */
static const char *ins(struct lwp *l, u64 rights, u64 clear, u64 set)
{
	u64 cr0 = read_cr0(), cr4 = read_cr4(), head = cb_head(l);
	u32 fault;

	as_protect(l->cr3, RING_VA, rights);
	write_cr0(cr0 & ~clear);
	write_cr4(cr4 | set);
	fault = try_lwpins(5, 6);
	write_cr4(cr4);
	write_cr0(cr0);
	as_protect(l->cr3, RING_VA, PAGE_USER_RW);
	slwpcb();
	return fault_or(fault, cb_head(l) > head ? "stores" : "nothing");
}

__attribute__((noinline)) static void lwpval(u32 data1, u64 data2)
{
	asm volatile("cpl0_val_insn: lwpval $0x66, %0, %1" : : "r"(data1), "r"(data2) : "memory");
}

/* The second LWPVAL is due; neither is counted as an instruction. */
static void test_val(struct lwp *l)
{
	static const struct block b = { .event = { { EV_VAL, 1, 1 }, { EV_IRE, 100, 50 } } };

	lwp_prepare(l, &b, cpl0_user);
	rule("43724-608", CERTAIN);
	report_eq(try_llwpcb(CB_VA), NO_FAULT, "LLWPCB loads");
	lwpval(1, 2);
	lwpval(3, 4);
	report_eq(slwpcb(), CB_VA, "SLWPCB");
	rule("43724-637", RECALLED);
	EXPECT_RECORDS(l, "LWPVAL counts and stores at CPL 0",
		       REC_SAMPLE(EV_VAL, cpl0_val_insn, 0x66, 3, 4));
	ask("Q32", "43724-637", "LWPVAL at CPL 0", "stores", cb_head(l) ? "stores" : "nothing");
	report_eq(cb_counter(l, EV_VAL), 1, "its counter is reloaded");
	report_eq(cb_counter(l, EV_IRE), 50, "no instruction of CPL 0 is counted");
	lwp_stop();
}

LWP_TEST(cpl0)
{
	rule("43724-620", CERTAIN);
	report_eq(slwpcb(), 0, "SLWPCB returns 0 while off");
	lwp_prepare(l, EVENT(EV_IRE, 100, 0), cpl0_user);
	rule("43724-612", RECALLED);
	report_eq(try_llwpcb(0x800000000000), FAULT(VEC_GP, 0), "LLWPCB, non-canonical: #GP(0)");
	rule("43724-608", CHOICE);
	report_eq(try_llwpcb((u64)kernel_block), FAULT(VEC_PF, PF_PRESENT | PF_WRITE | PF_USER),
		  "LLWPCB of a kernel page: #PF with user rights");
	report_eq(fault_cr2(), (u64)kernel_block, "CR2 is the block");
	rule("43724-608", CERTAIN);
	report_eq(try_llwpcb(CB_VA), NO_FAULT, "LLWPCB loads");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "LWP_CBADDR is the block");
	report_eq(slwpcb(), CB_VA, "SLWPCB returns it");
	rule("43724-637", RECALLED);
	report_eq(cb_counter(l, EV_IRE), 0, "no instruction of CPL 0 is counted");
	ask("Q33", "43724-637", "LWPINS at CPL 0", "stores", ins(l, PAGE_USER_RW, 0, 0));
	lwp_resume(l);
	rule("43724-637 43724-710", RECALLED);
	EXPECT_RECORDS(l, "LWPINS stores at CPL 0, user code is counted",
		       REC_SAMPLE(EV_INS, cpl0_ins_insn, 0x77, 5, 6), REC_IRE(cpl0_user_1));
	ask("Q34", "43724-608", "LWPINS at CPL 0, the ring is the system's", "fault 14 7",
	    ins(l, PAGE_KERNEL_RW, 0, 0));
	rule("43724-608", CHOICE);
	report_eq(fault_cr2(), RING_VA + 2 * RECORD_SIZE, "CR2 is the slot");
	ask("Q35", "43724-608", "LWPINS at CPL 0, the ring is read-only, CR0.WP clear",
	    "fault 14 7", ins(l, PAGE_USER_RO, CR0_WP, 0));
	if (cpuid(7, 0).b & EBX_SMAP)
		ask("Q36", "43724-608", "LWPINS at CPL 0 with CR4.SMAP", "stores",
		    ins(l, PAGE_USER_RW, 0, CR4_SMAP));
	rule("43724-611", CERTAIN);
	report_eq(try_llwpcb(0), NO_FAULT, "LLWPCB 0");
	report_eq(rdmsr(LWP_MSR_CBADDR), 0, "LWP is off");
	test_val(l);
}
