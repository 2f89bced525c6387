// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * I/O breakpoints are traps: an IN or OUT that hits one has retired and counts; REP OUTS traps between its
 * iterations, and counts once, when rIP leaves it (43724-714).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define PORT 0x80
#define TRAPS 6u

extern char iob_code[], iob_mov1[], iob_mov2[], iob_1[], iob_out[], iob_2[], iob_in[], iob_3[],
	iob_rep[], iob_4[], iob_end[];

USER_CODE("iob_code: llwpcb %rax\n"
	  "iob_mov1: mov $0x80, %edx\n"
	  "iob_mov2: mov $4, %ecx\n"
	  "iob_1: stc\n"
	  "iob_out: out %al, $0x80\n"
	  "iob_2: nop\n"
	  "iob_in: in $0x80, %al\n"
	  "iob_3: nop\n"
	  "iob_rep: rep outsb\n"
	  "iob_4: nop\n"
	  "iob_end: slwpcb %rbx\n"
	  "user_exit\n");

static void run(struct lwp *l, const struct block *b, const char *how)
{
	const struct {
		const char *rip;
		u64 rcx, rsi;
	} want[TRAPS] = {
		{ iob_2, 4, DATA_VA },	     { iob_3, 4, DATA_VA },
		{ iob_rep, 3, DATA_VA + 1 }, { iob_rep, 2, DATA_VA + 2 },
		{ iob_rep, 1, DATA_VA + 3 }, { iob_4, 0, DATA_VA + 4 },
	};

	report_push("%s", how);
	lwp_prepare(l, b, iob_code);
	l->u.r.rsi = DATA_VA;
	l->u.r.rflags |= RFLAGS_IOPL3;
	for (u32 i = 0; i < TRAPS; i++) {
		user_run(&l->u);
		report(l->u.r.vector == VEC_DB && l->u.r.rip == (u64)want[i].rip &&
			       l->u.r.rcx == want[i].rcx && l->u.r.rsi == want[i].rsi,
		       "trap %u: at %lx, rcx %lx", i, (u64)want[i].rip, want[i].rcx);
		report_eq(l->u.r.rflags & RFLAGS_CF, RFLAGS_CF, "CF is as STC left it");
	}
	lwp_resume(l);
	report_pop();
}

LWP_TEST(io_break)
{
	u64 dr7 = DR7_IO_0;

	rule("43724-714 43724-410", CHOICE);
	write_cr4(read_cr4() | CR4_DE);
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"((u64)PORT), "r"(dr7));
	run(l, EVENT(EV_IRE, 100, 50), "no event due");
	/* Two MOVs, STC, OUT, NOP, IN, NOP, REP OUTS, NOP. */
	report_eq(cb_counter(l, EV_IRE), 41, "nine instructions are counted");
	run(l, every_insn(), "every instruction due");
	EXPECT_IRE(l, "each has one record", iob_mov1, iob_mov2, iob_1, iob_out, iob_2, iob_in,
		   iob_3, iob_rep, iob_4, iob_end);
}
