// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Instructions that are easily counted wrong: REP strings (once, when rIP leaves them), what a hypervisor emulates
 * (once), the shadow of MOV SS and POP SS (counts, nothing is stored in it), the guest's own single steps (2007-714) and
 * data breakpoints.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

extern char rep_code[], rep_1[], rep_2[], rep_3[], rep_4[], rep_5[], rep_6[], rep_7[], rep_8[];
extern char rep_fault[], rep_fault_1[], rep_fault_2[], rep_fault_3[], rep_fault_4[];
extern char emu_code[], emu_1[], emu_2[], emu_3[], emu_4[];
extern char ss_code[], ss_1[], ss_2[], ss_4[], ss_pop[], ss_pop_1[];
extern char step_code[], step_1[], step_2[], step_3[];
extern char watch_code[], watch_1[], watch_rep[], watch_2[];

USER_CODE("rep_code: llwpcb %rax\n"
	  "rep_1: lea 64(%rdi), %rsi\n"
	  "rep_2: mov $40, %ecx\n"
	  "rep_3: rep movsb\n"
	  "rep_4: mov $3, %ecx\n"
	  "rep_5: rep stosq\n"
	  "rep_6: rep stosb\n" /* rcx is 0 */
	  "rep_7: mov $9, %ecx\n"
	  "rep_8: repe cmpsb\n" /* ends at the first difference */
	  "user_exit\n"
	  "rep_fault: llwpcb %rax\n"
	  "rep_fault_1: mov $32, %ecx\n"
	  "rep_fault_2: lea 4096-16(%rdi), %rdi\n"
	  "rep_fault_3: rep stosb\n"
	  "rep_fault_4: nop\n"
	  "user_exit\n"
	  "emu_code: llwpcb %rax\n"
	  "emu_1: xor %eax, %eax\n"
	  "emu_2: cpuid\n"
	  "emu_3: rdtsc\n"
	  "emu_4: pause\n"
	  "user_exit\n"
	  /* ebx and ecx: the head as seen in the shadow and after it. */
	  "ss_code: mov %ss, %edx\n"
	  "llwpcb %rax\n"
	  "ss_1: nop\n"
	  "ss_2: mov %edx, %ss\n"
	  "mov 16(%rax), %ebx\n"
	  "ss_4: mov 16(%rax), %ecx\n"
	  "user_exit\n"
	  "step_code: llwpcb %rax\n"
	  "step_1: mov %ecx, (%rdi)\n"
	  "step_2: mov %ecx, (%rdi)\n"
	  "step_3: nop\n"
	  "user_exit\n"
	  "watch_code: llwpcb %rax\n"
	  "watch_1: mov $8, %ecx\n"
	  "watch_rep: rep stosb\n"
	  "watch_2: nop\n"
	  "user_exit\n"
	  ".code32\n"
	  "ss_pop: push %ss\n"
	  "llwpcb %eax\n"
	  "ss_pop_1: pop %ss\n"
	  "mov 16(%eax), %ebx\n"
	  "mov 16(%eax), %ecx\n"
	  "user_exit\n"
	  ".code64\n");

static void test_rep(struct lwp *l)
{
	lwp_go(l, every_insn(), rep_code);
	rule("43724-714 43724-410", CHOICE);
	EXPECT_IRE(l, "a REP string counts once, also with 0 iterations", rep_1, rep_2, rep_3,
		   rep_4, rep_5, rep_6, rep_7, rep_8);

	as_protect(l->cr3, DATA_VA + PAGE_SIZE, PAGE_NONE);
	lwp_prepare(l, every_insn(), rep_fault);
	run_to_store_fault(l, PF_WRITE | PF_USER, DATA_VA + PAGE_SIZE, (u64)rep_fault_3,
			   "a REP string faults in its middle");
	expect_head(l, 2 * RECORD_SIZE, "and is not counted yet");
	lwp_bring(l, DATA_VA + PAGE_SIZE);
	EXPECT_IRE(l, "resumed, it counts once", rep_fault_1, rep_fault_2, rep_fault_3,
		   rep_fault_4);
}

static void test_emulated(struct lwp *l)
{
	lwp_go(l, every_insn(), emu_code);
	rule("43724-713 43724-410", CHOICE);
	EXPECT_IRE(l, "CPUID, RDTSC and PAUSE count once", emu_1, emu_2, emu_3, emu_4);
}

static void test_shadow(struct lwp *l)
{
	lwp_go(l, EVENT(EV_IRE, 1000, 1), ss_code);
	rule("43724-715", CHOICE);
	EXPECT_IRE(l, "MOV SS counts", ss_2);
	report_eq(l->u.r.rbx, 0, "nothing is stored in its shadow");
	report_eq(l->u.r.rcx, RECORD_SIZE, "it is stored after it");
	/* MOV SS is in the slot while the next one is due: that one waits for its next instruction. */
	lwp_go(l, every_insn(), ss_code);
	EXPECT_IRE(l, "interval 0: the instruction in the shadow finds the slot taken", ss_1, ss_2,
		   ss_4);
	lwp_go32(l, EVENT(EV_IRE, 1000, 0), ss_pop);
	EXPECT_IRE(l, "POP SS counts", ss_pop_1);
	report_eq(l->u.r.rbx, 0, "nothing is stored in its shadow");
	report_eq(l->u.r.rcx, RECORD_SIZE, "it is stored after it");
}

/* Run the program at code in single steps. Result: their number; in dr6 what the first four found there. */
static u32 step_all(struct lwp *l, char *code, u64 dr6[4])
{
	u32 steps = 0;

	take_dr6();
	lwp_prepare(l, every_insn(), code);
	l->u.r.rflags |= RFLAGS_TF;
	for (user_run(&l->u); l->u.r.vector == VEC_DB; user_run(&l->u), steps++)
		dr6[steps % 4] = take_dr6();
	return steps;
}

static void watch(u64 address, u64 dr7)
{
	asm volatile("mov %0, %%dr0; mov %1, %%dr7" : : "r"(address), "r"(dr7));
}

/* #DB after an instruction comes before the store; the instruction has retired and counts. */
static void test_step(struct lwp *l)
{
	u64 dr6[4];
	u32 steps = step_all(l, step_code, dr6);

	rule("43724-701 43724-410", CHOICE);
	report(user_exited(&l->u), "single steps end at the gate");
	report_eq(steps, 4, "the guest's single steps: LLWPCB and three instructions");
	EXPECT_IRE(l, "each counts once", step_1, step_2, step_3);
	steps = step_all(l, watch_code, dr6);
	report_eq(steps, 11, "eight of them are iterations of a REP string");
	EXPECT_IRE(l, "which counts once", watch_1, watch_rep, watch_2);
}

/* The step of an instruction that writes what is watched is one #DB, with both conditions. */
static void test_watched_step(struct lwp *l)
{
	u64 dr6[4] = {};
	u32 steps;

	watch(DATA_VA, DR7_WRITE_0);
	steps = step_all(l, step_code, dr6);
	watch(0, DR7_NONE);
	rule("43724-701 43724-410", CHOICE);
	report(user_exited(&l->u), "watched steps end at the gate");
	report_eq(steps, 4, "a watched step is one #DB");
	report_eq(dr6[1], DR6_NONE | DR6_BS | 1, "DR6 of the step that writes");
	report_eq(dr6[2], DR6_NONE | DR6_BS | 1, "DR6 of the next step that writes");
	report_eq(dr6[3], DR6_NONE | DR6_BS, "DR6 of the step after it");
	EXPECT_IRE(l, "each counts once", step_1, step_2, step_3);
}

/*
 * A REP string traps behind the iteration that writes the watched byte, not when it is done. Behind the last one QEMU
 * with icount still has the string's address.
 */
static void test_watched_rep(struct lwp *l)
{
	rule("43724-714 43724-410", CHOICE);
	for (u32 byte = 0; byte < 8; byte++) {
		take_dr6();
		lwp_prepare(l, every_insn(), watch_code);
		watch(DATA_VA + byte, DR7_WRITE_BYTE_0);
		user_run(&l->u);
		watch(0, DR7_NONE);
		report_push("byte %u", byte);
		report(l->u.r.vector == VEC_DB && (l->u.r.rip == (u64)watch_rep ||
						   (byte == 7 && l->u.r.rip == (u64)watch_2)),
		       "it traps behind the iteration");
		report_eq(l->u.r.rcx, 7 - byte, "iterations to come");
		report_eq(take_dr6(), DR6_NONE | 1, "DR6");
		lwp_resume(l);
		EXPECT_IRE(l, "it counts once", watch_1, watch_rep, watch_2);
		report_pop();
	}
}

LWP_TEST(ire_special)
{
	test_rep(l);
	test_emulated(l);
	test_shadow(l);
	test_step(l);
	test_watched_step(l);
	test_watched_rep(l);
}
