// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An instruction that the emulator executes while all other processors wait, and that faults, leaves the flags and DF
 * as they were (AMD64 Architecture Programmer's Manual, volume 2, "Faults"). A locked ADC that is split over two pages
 * is such an instruction: its first page is there, its second is not.
 */
#include "cpu.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define SPLIT_VA (DATA_VA + PAGE_SIZE - 4)
#define FLAGS (RFLAGS_STATUS | RFLAGS_DF)

extern char ls_code[], ls_insn[];

/* What ADC adds is the carry. RAX: the flags after it. */
USER_CODE("ls_code: push %rbx\n"
	  "popfq\n"
	  "ls_insn: lock adcq $0, (%rdi)\n"
	  "pushfq\n"
	  "pop %rax\n"
	  "user_exit\n");

static void test_split(struct lwp *l, const char *what, u64 flags, u64 sum, u64 flags_behind)
{
	u64 *split = (u64 *)(l->data + PAGE_SIZE - 4);

	report_push("%s", what);
	*split = 0;
	user_init64(&l->u, (u64)ls_code, STACK_TOP);
	l->u.r.rbx = RFLAGS_FIXED | flags;
	l->u.r.rdi = SPLIT_VA;
	as_protect(l->cr3, DATA_VA + PAGE_SIZE, PAGE_NONE);
	user_run(&l->u);
	report(l->u.r.vector == VEC_PF && l->u.r.rip == (u64)ls_insn &&
		       l->u.cr2 == DATA_VA + PAGE_SIZE,
	       "the second page is not there");
	report_eq(l->u.r.rflags & FLAGS, flags, "the frame of #PF has its flags");
	as_protect(l->cr3, DATA_VA + PAGE_SIZE, PAGE_USER_RW);
	user_run(&l->u);
	report_eq(*split, sum, "ADC has added the carry");
	report_eq(l->u.r.rax & FLAGS, flags_behind, "flags after it");
	report_pop();
}

USER_TEST(lock_split)
{
	test_split(l, "CF", RFLAGS_CF, 1, 0);
	test_split(l, "DF", RFLAGS_DF, 0, RFLAGS_ZF | RFLAGS_PF | RFLAGS_DF);
	test_split(l, "all", FLAGS, 1, RFLAGS_DF);
}
