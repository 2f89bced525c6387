// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts while no event is near, so that nothing has to be looked at instruction by instruction: SLWPCB at the
 * end shows exactly how many instructions and branches there were, whatever interrupted them
 * (43724-621, 43724-631, 43724-701 to 43724-703, 43724-713, 2007-701).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define START 1000000u
#define ABSENT_VA (DATA_VA + DATA_PAGES * PAGE_SIZE)

extern char bud_plain[], bud_load[], bud_load_insn[], bud_ud[], bud_rep[], bud_rep_insn[];
extern char bud_int3[], bud_sys[], bud_call[], bud_call_insn[], bud_ret[], bud_ret_insn[],
	bud_jump[];
extern char bud_jump_target[], bud_val[], bud_cpuid[], bud_jcc[];

#define NOPS_10 ".fill 10, 1, 0x90\n"
/* What follows LLWPCB and comes before SLWPCB is counted. */
#define BEGIN "llwpcb %rax\n"
#define END "flush_exit\n"

USER_CODE(
	"bud_plain: " BEGIN NOPS_10 END
	/* 21: the load faults once in the middle. */
	"bud_load: " BEGIN NOPS_10 "bud_load_insn: mov (%rdi), %ecx\n" NOPS_10 END
	/* 20: UD2 is skipped. */
	"bud_ud: " BEGIN NOPS_10 "ud2\n" NOPS_10 END
	/* 24: two MOVs, REP STOSB, XOR around the NOPs; it faults half-way. */
	"bud_rep: " BEGIN NOPS_10 "mov $64, %ecx\n"
	"lea 4096-32(%rdi), %rdi\n"
	"bud_rep_insn: rep stosb\n"
	"xor %ecx, %ecx\n" NOPS_10 END
	/* 20: INT3 enters the kernel. */
	"bud_int3: " BEGIN NOPS_10 "int3\n" NOPS_10 END
	/* 20: SYSCALL enters the kernel. */
	"bud_sys: " BEGIN NOPS_10 "syscall\n" NOPS_10 END
	/* 21 and 1 branch: the CALL faults on its stack first; its target is the next instruction. */
	"bud_call: " BEGIN NOPS_10 "bud_call_insn: call 1f\n"
	"1: " NOPS_10 END
	/* 22 and 1 branch: PUSH, NOPs, RET that faults reading its stack, NOPs. */
	"bud_ret: " BEGIN "push %rsi\n" NOPS_10 "bud_ret_insn: ret\n"
	"1: " NOPS_10 END
	/* 12 and 1 branch: a jump to a page that is not there retires, its target faults. */
	"bud_jump: " BEGIN NOPS_10 "jmp *%rsi\n"
	"bud_jump_target: nop\n" END
	/* 10 turns of 4 instructions, 2 branches: 40 and 20; the last JNZ is not taken. */
	"bud_jcc: " BEGIN "1: nop\n"
	"jz 2f\n"
	"2: dec %esi\n"
	"jnz 1b\n" END
	/* 5 turns of 3: LWPVAL, DEC, JNZ. */
	"bud_val: " BEGIN "1: lwpval $1, %ecx, %edx\n"
	"dec %esi\n"
	"jnz 1b\n" END
	/* 24: XOR, CPUID, RDTSC, PAUSE. */
	"bud_cpuid: " BEGIN NOPS_10 "xor %eax, %eax\n"
	"cpuid\n"
	"rdtsc\n"
	"pause\n" NOPS_10 END);

static const struct block b = {
	.event = { { EV_IRE, START, START }, { EV_BRE, START, START }, { EV_VAL, START, START } }
};

static void start(struct lwp *l, const char *code)
{
	lwp_prepare(l, &b, code);
}

static void expect_counts(struct lwp *l, u32 instructions, u32 branches, const char *what)
{
	report_push("%s", what);
	rule("43724-701 43724-702 43724-712", CHOICE);
	report_eq(START - cb_counter(l, EV_IRE), instructions, "instructions");
	rule("43724-703", CERTAIN);
	report_eq(START - cb_counter(l, EV_BRE), branches, "branches");
	expect_no_records(l, "no event was due");
	report_pop();
}

/* Run to the fault at `at`, take away its reason, run on. */
static void through_fault(struct lwp *l, u64 va, u32 vector, const char *at)
{
	as_protect(l->cr3, va, PAGE_NONE);
	user_run(&l->u);
	rule("43724-701", RECALLED);
	report(l->u.r.vector == vector && l->u.r.rip == (u64)at, "it faults on the way");
	lwp_bring(l, va);
}

static void test_faults(struct lwp *l)
{
	start(l, bud_load);
	through_fault(l, DATA_VA, VEC_PF, bud_load_insn);
	expect_counts(l, 21, 0, "a load that faults once");
	start(l, bud_rep);
	through_fault(l, DATA_VA + PAGE_SIZE, VEC_PF, bud_rep_insn);
	expect_counts(l, 24, 0, "REP STOSB that faults half-way");
	start(l, bud_call);
	l->u.r.rsp = DATA_VA + PAGE_SIZE;
	through_fault(l, DATA_VA, VEC_PF, bud_call_insn);
	expect_counts(l, 21, 1, "CALL whose stack faults");
	start(l, bud_ret);
	l->u.r.rsi = (u64)bud_ret_insn + 1;
	/* PUSH has its page; the page goes when the code is in the middle. */
	l->u.r.rflags |= RFLAGS_TF;
	user_run(&l->u);
	user_run(&l->u);
	user_run(&l->u);
	l->u.r.rflags &= ~RFLAGS_TF;
	through_fault(l, STACK_TOP - PAGE_SIZE, VEC_PF, bud_ret_insn);
	expect_counts(l, 22, 1, "RET whose stack faults");
}

static void test_kernel_entries(struct lwp *l)
{
	start(l, bud_ud);
	user_run(&l->u);
	l->u.r.rip += 2;
	lwp_resume(l);
	expect_counts(l, 20, 0, "UD2 that is skipped");
	start(l, bud_int3);
	user_run(&l->u);
	rule("43724-702", RECALLED);
	report_eq(l->u.r.vector, VEC_BP, "INT3 enters the kernel");
	lwp_resume(l);
	expect_counts(l, 20, 0, "INT3");
	start(l, bud_sys);
	user_run(&l->u);
	lwp_resume(l);
	expect_counts(l, 20, 0, "SYSCALL and IRET");
	start(l, bud_sys);
	user_run(&l->u);
	l->u.enter_by_sysret = true;
	lwp_resume(l);
	expect_counts(l, 20, 0, "SYSCALL and SYSRET");
	start(l, bud_jump);
	l->u.r.rsi = ABSENT_VA;
	user_run(&l->u);
	rule("43724-701", RECALLED);
	report(l->u.r.vector == VEC_PF && l->u.r.rip == ABSENT_VA, "the target of a jump faults");
	lwp_run(l, bud_jump_target);
	expect_counts(l, 12, 1, "a jump whose target faults");
}

LWP_TEST(budget)
{
	as_map(l->cr3, ABSENT_VA, 0, 1, PAGE_NONE);
	lwp_go(l, &b, bud_plain);
	expect_counts(l, 10, 0, "ten NOPs");
	test_faults(l);
	test_kernel_entries(l);
	lwp_go_rsi(l, &b, bud_jcc, 10);
	expect_counts(l, 40, 20, "Jcc taken and not");
	lwp_go_rsi(l, &b, bud_jcc, 60000);
	expect_counts(l, 240000, 120000, "more than TCG's budget of 16 bits holds");
	lwp_go(l, &b, bud_cpuid);
	expect_counts(l, 24, 0, "CPUID, RDTSC, PAUSE");
	lwp_go_rsi(l, &b, bud_val, 5);
	expect_counts(l, 15, 5, "LWPVAL that is not due");
	rule("43724-631", CERTAIN);
	report_eq(START - cb_counter(l, EV_VAL), 5, "event 1 was counted");
}
