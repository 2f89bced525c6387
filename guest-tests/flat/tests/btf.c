// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DEBUGCTL.BTF: RFLAGS.TF traps after taken branches only. Each #DB clears the bit. SVM without LBR
 * virtualization does not switch the register.
 */
#include "lwp_fixture.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

#define DEBUGCTL_BTF 2
#define DB_INTERCEPT (1u << VEC_DB)

extern char btf_code[], btf_2nd[], btf_jmp[], btf_jcc[], btf_again[], btf_f[], btf_back[],
	btf_ind[], btf_g[], btf_back_ind[], btf_zero[], btf_far[], btf_iret[], btf_syscall[],
	btf_ud2[], btf_end[], btf_guest[], btf_guest_to[];

USER_CODE("btf_code: nop\n"
	  "btf_2nd: nop\n"
	  "jmp btf_jmp\n"
	  "ud2\n"
	  "btf_jmp: clc\n"
	  "jc btf_jcc\n"
	  "jnc btf_jcc\n"
	  "ud2\n"
	  "btf_jcc: mov $3, %ecx\n"
	  "rep stosb\n"
	  "mov $2, %ecx\n"
	  "btf_again: nop\n"
	  "loop btf_again\n"
	  "call btf_f\n"
	  "btf_back: lea btf_ind(%rip), %rax\n"
	  "jmp *%rax\n"
	  "btf_f: nop\n"
	  "ret\n"
	  "btf_ind: lea btf_g(%rip), %rax\n"
	  "call *%rax\n"
	  "btf_back_ind: xor %ecx, %ecx\n"
	  "jrcxz btf_zero\n"
	  "btf_g: ret\n"
	  "btf_zero: inc %ecx\n"
	  "jrcxz btf_code\n"
	  "mov %cs, %ecx\n"
	  "push %rcx\n"
	  "lea btf_far(%rip), %rax\n"
	  "push %rax\n"
	  "lretq\n"
	  "btf_far: mov %rsp, %rdx\n"
	  "mov %ss, %ecx\n"
	  "push %rcx\n"
	  "push %rdx\n"
	  "push $0x102\n"
	  "mov %cs, %ecx\n"
	  "push %rcx\n"
	  "lea btf_iret(%rip), %rax\n"
	  "push %rax\n"
	  "iretq\n"
	  "btf_iret: nop\n"
	  "syscall\n"
	  "btf_syscall: nop\n"
	  "btf_ud2: ud2\n"
	  "btf_end: user_exit\n"
	  "btf_guest: nop\n"
	  "jmp btf_guest_to\n"
	  "ud2\n"
	  "btf_guest_to: nop\n"
	  "vmmcall\n");

static void expect_trap(struct user *u, const char *at, const char *how)
{
	user_run(u);
	report(u->r.vector == VEC_DB && u->r.rip == (u64)at, "%s: trap at %lx", how, (u64)at);
	report_eq(take_dr6() & DR6_BS, DR6_BS, "with DR6.BS");
}

static void expect_vector(struct user *u, u64 vector, const char *at, const char *how)
{
	user_run(u);
	report(u->r.vector == vector && u->r.rip == (u64)at, "%s: vector %lx at %lx", how, vector,
	       (u64)at);
	report_eq(rdmsr(MSR_DEBUGCTL), DEBUGCTL_BTF, "BTF stays");
}

static void start(struct user *u, u64 tf)
{
	user_init64(u, (u64)btf_code, STACK_TOP);
	u->r.rdi = DATA_VA;
	u->r.rflags |= tf;
}

/* With BTF: these, in this order, and nothing between them. */
static void test_taken_branches_trap(struct user *u)
{
	static const struct {
		const char *at, *how;
	} want[] = {
		{ btf_jmp, "JMP" },
		{ btf_jcc, "JNC taken" },
		{ btf_again, "LOOP taken" },
		{ btf_f, "CALL" },
		{ btf_back, "RET" },
		{ btf_ind, "JMP through a register" },
		{ btf_g, "indirect CALL" },
		{ btf_back_ind, "its RET" },
		{ btf_zero, "JRCXZ taken" },
		{ btf_far, "far RET" },
		{ btf_iret, "IRET at CPL 3" },
	};

	start(u, RFLAGS_TF);
	for (u32 i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		wrmsr(MSR_DEBUGCTL, DEBUGCTL_BTF);
		expect_trap(u, want[i].at, want[i].how);
		report_eq(rdmsr(MSR_DEBUGCTL), 0, "the trap clears BTF");
	}
	wrmsr(MSR_DEBUGCTL, DEBUGCTL_BTF);
	/* SFMASK clears TF; an exception and an interrupt clear it for their handler. */
	expect_vector(u, VEC_SYSCALL, btf_syscall, "SYSCALL");
	expect_vector(u, VEC_UD, btf_ud2, "an exception");
	u->r.rip = (u64)btf_end;
	expect_vector(u, VEC_EXIT_GATE, btf_end + 2, "INT n");
}

static void test_without_one_of_them(struct user *u)
{
	wrmsr(MSR_DEBUGCTL, 0);
	start(u, RFLAGS_TF);
	expect_trap(u, btf_2nd, "TF alone: each instruction");
	wrmsr(MSR_DEBUGCTL, DEBUGCTL_BTF);
	start(u, 0);
	expect_vector(u, VEC_SYSCALL, btf_syscall, "BTF alone: no trap");
	start(u, RFLAGS_TF);
	u->enter_by_sysret = true;
	expect_trap(u, btf_code, "SYSRET that loads TF");
	wrmsr(MSR_DEBUGCTL, ~0ul);
	report_eq(rdmsr(MSR_DEBUGCTL), DEBUGCTL_BTF, "no other bit of the register is kept");
}

static u64 guest_from(struct guest *g, u64 tf)
{
	lwp_put64(g->vmcb + VMCB_RIP, (u64)btf_guest);
	lwp_put64(g->vmcb + VMCB_RFLAGS, RFLAGS_FIXED | tf);
	return guest_vmrun(g);
}

static void test_guest(u64 cr3)
{
	struct guest g;

	if (report_lacks(!svm_present(), "8000_0001 ECX[2] is clear", "BTF in an SVM guest"))
		return;
	svm_init();
	guest_init(&g, cr3, (u64)btf_guest, STACK_TOP, true);
	lwp_put32(g.vmcb + VMCB_EXCEPTIONS, lwp_get32(g.vmcb + VMCB_EXCEPTIONS) | DB_INTERCEPT);
	wrmsr(MSR_DEBUGCTL, DEBUGCTL_BTF);
	report_eq(guest_from(&g, 0), EXIT_VMMCALL, "a guest without TF");
	report_eq(rdmsr(MSR_DEBUGCTL), DEBUGCTL_BTF, "VMRUN and #VMEXIT keep DEBUGCTL");
	report_eq(guest_from(&g, RFLAGS_TF), EXIT_DB, "the host's BTF is in force in the guest");
	report_eq(lwp_get64(g.vmcb + VMCB_RIP), (u64)btf_guest_to, "at the branch's target");
	report_eq(lwp_get64(g.vmcb + VMCB_DR6) & DR6_BS, DR6_BS, "with DR6.BS");
	report_eq(rdmsr(MSR_DEBUGCTL), 0, "an intercepted trap clears BTF too");
	report_eq(guest_from(&g, RFLAGS_TF), EXIT_DB, "without BTF");
	report_eq(lwp_get64(g.vmcb + VMCB_RIP), (u64)btf_guest + 1, "after the first instruction");
}

USER_TEST(btf)
{
	struct user u;

	report_eq(rdmsr(MSR_DEBUGCTL), 0, "BTF is clear after reset");
	test_taken_branches_trap(&u);
	test_without_one_of_them(&u);
	test_guest(l->cr3);
	wrmsr(MSR_DEBUGCTL, 0);
}
