// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where user code begins and ends: an instruction that faults is not counted until it is restarted and succeeds;
 * SYSCALL, INT n and the returns to CPL 3 are not counted; interrupts lose nothing (2007-701).
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define IPI_VECTOR 0x40

extern char edge_fault[], edge_f1[], edge_f2[], edge_f3[];
extern char edge_ud[], edge_u1[], edge_u2[], edge_u3[];
extern char edge_sys[], edge_s1[], edge_s3[], edge_s4[];
extern char edge_int[], edge_i1[], edge_i2[], edge_i3[];
extern char edge_loop[];

USER_CODE("edge_fault: llwpcb %rax\n"
	  "edge_f1: nop\n"
	  "edge_f2: mov (%rdi), %ecx\n"
	  "edge_f3: nop\n"
	  "user_exit\n"
	  "edge_ud: llwpcb %rax\n"
	  "edge_u1: nop\n"
	  "edge_u2: ud2\n"
	  "edge_u3: nop\n"
	  "user_exit\n"
	  "edge_sys: llwpcb %rax\n"
	  "edge_s1: nop\n"
	  "syscall\n"
	  "edge_s3: nop\n"
	  "edge_s4: nop\n"
	  "user_exit\n"
	  "edge_int: llwpcb %rax\n"
	  "edge_i1: nop\n"
	  "edge_i2: int $0x80\n"
	  "edge_i3: nop\n"
	  "user_exit\n"
	  /* esi times two instructions. */
	  "edge_loop: llwpcb %rax\n"
	  "1: dec %esi\n"
	  "jnz 1b\n"
	  "flush_exit\n");

static void test_fault(struct lwp *l)
{
	lwp_prepare(l, every_insn(), edge_fault);
	as_protect(l->cr3, DATA_VA, PAGE_NONE);
	rule("43724-701 43724-410", CHOICE);
	run_to_store_fault(l, PF_USER, DATA_VA, (u64)edge_f2, "a load faults");
	expect_head(l, RECORD_SIZE, "and is not counted");
	lwp_bring(l, DATA_VA);
	EXPECT_IRE(l, "restarted, it counts once", edge_f1, edge_f2, edge_f3);

	lwp_prepare(l, every_insn(), edge_ud);
	run_to_fault(l, VEC_UD, 0, (u64)edge_u2, "UD2");
	l->u.r.rip += 2;
	lwp_resume(l);
	EXPECT_IRE(l, "what faults and is skipped never counts", edge_u1, edge_u3);
}

static void test_syscall(struct lwp *l)
{
	lwp_prepare(l, every_insn(), edge_sys);
	user_run(&l->u);
	rule("43724-702 43724-410", CHOICE);
	report_eq(l->u.r.vector, VEC_SYSCALL, "SYSCALL enters the kernel");
	lwp_resume(l);
	EXPECT_IRE(l, "SYSCALL and IRET are not counted", edge_s1, edge_s3, edge_s4);
	lwp_prepare(l, every_insn(), edge_sys);
	user_run(&l->u);
	l->u.enter_by_sysret = true;
	lwp_resume(l);
	EXPECT_IRE(l, "SYSCALL and SYSRET are not counted", edge_s1, edge_s3, edge_s4);
	lwp_prepare(l, every_insn(), edge_int);
	lwp_resume(l);
	report_eq(l->u.r.rip, (u64)edge_i2 + 2, "INT n enters the kernel");
	lwp_resume(l);
	EXPECT_IRE(l, "INT n and IRET are not counted", edge_i1, edge_i3);
}

static void test_interrupt(struct lwp *l)
{
	irq_set_handler(IPI_VECTOR, count_irq);
	lwp_prepare(l, EVENT(EV_IRE, 9, 9), edge_loop);
	l->u.r.rsi = 500;
	/* Stop after each instruction for a while, with an interrupt each time. */
	for (u32 i = 0; i < 20; i++) {
		l->u.r.rflags |= RFLAGS_TF | RFLAGS_IF;
		apic_send(0, IPI_VECTOR);
		user_run(&l->u);
	}
	l->u.r.rflags &= ~RFLAGS_TF;
	lwp_resume(l);
	rule("43724-820 43724-821", CHOICE);
	report_eq(irqs, 20, "20 interrupts were taken at CPL 3");
	/* 1000 instructions, each tenth; SLWPCB is after them. */
	expect_stored(l, 100,
		      "1000 instructions, interval 9: interrupts and steps lose and add nothing");
	report_eq(cb_counter(l, EV_IRE), 9, "the counter is back at the interval");
}

LWP_TEST(ire_edges)
{
	test_fault(l);
	test_syscall(l);
	test_interrupt(l);
}
