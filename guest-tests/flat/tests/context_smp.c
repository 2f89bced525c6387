// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `auto` contexts on several processors: a context belongs to the machine and is live on at most one; the processor
 * that meets its key takes it over, from a holder that is running user code, too.
 */
#include "lwp_fixture.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define ROUNDS 200u

extern char csm_spin[], csm32_1[], csm32_spin[];

USER_CODE(".code32\n"
	  "csm32_1: nop\n"
	  "nop\n"
	  "user_exit\n"
	  "csm32_spin: movl $1, (%edi)\n"
	  "1: cmpl $2, (%edi)\n"
	  "jne 1b\n"
	  "slwpcb %eax\n"
	  "xor %ecx, %ecx\n"
	  "llwpcb %ecx\n"
	  "user_exit\n"
	  ".code64\n"
	  "csm_spin: movl $1, (%rdi)\n"
	  "1: cmpl $2, (%rdi)\n"
	  "jne 1b\n"
	  "user_exit\n");

static u64 elsewhere;

struct visit {
	struct lwp *l;
	const char *code;
	bool code32; /* which is to be the first at CPL 3 */
	u64 cbaddr;
};

/* On some processor: enter the address space, run, leave it. */
static void visit(void *arg)
{
	struct visit *v = arg;

	write_cr3(v->l->cr3);
	if (!v->code32)
		v->cbaddr = lwp_touch();
	v->l->u.r.rip = (u64)v->code;
	lwp_resume(v->l);
	write_cr3(elsewhere);
}

static void test_move(struct lwp *l)
{
	struct visit v = { l, lwp_nop_1 };
	struct rec on_1[2] = { REC_IRE(lwp_nop_1), REC_IRE(lwp_nop_2) };

	on_1[0].core = on_1[1].core = 1;
	write_cr3(l->cr3);
	lwp_go(l, every_insn(), lwp_on);
	write_cr3(elsewhere);
	visit(&v);
	smp_call(1, visit, &v);
	report_eq(v.cbaddr, CB_VA, "a parked context is found on another processor");
	visit(&v);
	report_eq(v.cbaddr, CB_VA, "and comes back");
	EXPECT_RECORDS(l, "records continue; CoreId is that of the processor", REC_IRE(lwp_nop_1),
		       REC_IRE(lwp_nop_2), on_1[0], on_1[1], REC_IRE(lwp_nop_1),
		       REC_IRE(lwp_nop_2));

	/* Not parked: processor 0 stays in the address space, in its kernel. */
	write_cr3(l->cr3);
	smp_call(1, visit, &v);
	report_eq(v.cbaddr, CB_VA, "a live context is taken over from a processor in its kernel");
	expect_head(l, 8 * RECORD_SIZE, "two more records");
	report_eq(lwp_touch_in(l->cr3), CB_VA, "the first processor has it when it looks again");
	lwp_stop();
	write_cr3(elsewhere);
}

/*
 * A thread of 32-bit code goes to another processor, and comes back to one whose idle kernel still has its CR3:
 * no register of its key is written there.
 */
static void test_idle(struct lwp *l)
{
	struct visit v = { l, csm32_1, .code32 = true };
	u64 per_cpu = rdmsr(MSR_KERNEL_GS_BASE);

	/* As in a kernel that has executed SWAPGS. */
	wrmsr(MSR_KERNEL_GS_BASE, rdmsr(MSR_GS_BASE));
	write_cr3(l->cr3);
	lwp_go32(l, every_insn(), lwp_on32);
	smp_call(1, visit, &v);
	expect_head(l, 2 * RECORD_SIZE, "32-bit code: two records on the other processor");
	lwp_run(l, csm32_1);
	expect_head(l, 4 * RECORD_SIZE,
		    "back on a processor that has had its CR3 all the time: two more");
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "its context is live there");
	lwp_stop();
	wrmsr(MSR_KERNEL_GS_BASE, per_cpu);
	write_cr3(elsewhere);
}

/* Many moves lose and add nothing. */
static void test_many(struct lwp *l)
{
	struct visit v = { l, lwp_nop_1 };
	u32 cpu;

	write_cr3(l->cr3);
	lwp_go(l, EVENT(EV_IRE, 2, 2), lwp_on);
	write_cr3(elsewhere);
	for (u32 i = 0; i < ROUNDS; i++) {
		cpu = i % smp_count();
		if (cpu)
			smp_call(cpu, visit, &v);
		else
			visit(&v);
	}
	expect_stored(l, 133, "%u visits on %u processors: every third of 400 instructions", ROUNDS,
		      smp_count());
	report_eq(lwp_touch_in(l->cr3), CB_VA, "the context is still there");
	lwp_stop();
	write_cr3(elsewhere);
}

/* Processor 1 is in its loop at CPL 3 with the context when processor 0 wants it. */
static void test_kick(struct lwp *l)
{
	struct visit v = { l, csm_spin };
	volatile u32 *flag = (volatile u32 *)l->data;

	write_cr3(l->cr3);
	lwp_go(l, EVENT(EV_IRE, 0x1ffffff, 0x1ffffff), lwp_on);
	write_cr3(elsewhere);
	*flag = 0;
	smp_run(1, visit, &v);
	while (*flag != 1)
		pause();
	report_eq(lwp_touch_in(l->cr3), CB_VA, "taken from a processor that runs user code");
	*flag = 2;
	smp_wait(1);
	report_eq(v.cbaddr, CB_VA, "which had it before");
	lwp_stop();
	write_cr3(elsewhere);
}

/*
 * Two threads of one program in 32-bit code, which have one context. One takes it from the other, which runs user
 * code, and ends. No register of the key is written where the other runs; its next instruction of LWP finds the context.
 * That thread ends LWP: lwp_stop() runs 64-bit code, which has another context.
 */
static void test_taken_at_cpl3(struct lwp *l)
{
	volatile u32 *flag = (volatile u32 *)l->data;
	struct lwp first;
	struct visit v = { &first, csm32_spin, .code32 = true };

	write_cr3(l->cr3);
	lwp_go32(l, EVENT(EV_IRE, 0x1ffffff, 0x1ffffff), lwp_on32);
	*flag = 0;
	first = *l;
	first.u.r.rax = 0;
	smp_run(1, visit, &v);
	while (*flag != 1)
		pause();
	lwp_run(l, csm32_1);
	report_eq(rdmsr(LWP_MSR_CBADDR), CB_VA, "32-bit code: taken from a thread at CPL 3");
	*flag = 2;
	smp_wait(1);
	report_eq(first.u.r.rax, CB_VA, "whose SLWPCB finds it again");
	write_cr3(elsewhere);
}

FLAT_TEST(context_smp)
{
	struct lwp l;

	rule("43724-902 43724-903 43724-904", CHOICE);
	smp_start();
	lwp_enable();
	elsewhere = kernel_cr3();
	lwp_map(&l, as_new());
	test_move(&l);
	test_idle(&l);
	test_many(&l);
	test_kick(&l);
	test_taken_at_cpl3(&l);
}
