// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branches (EventId 3) in their rarer encodings, and the far transfers that stay at CPL 3: instructions
 * for event 2, no branches for event 3 (43724-507, 43724-716, 43724-717, 2007-707, 2007-708).
 */
#include "lwp_fixture.h"
#include "test.h"

extern char frm_code[], frm_1[], frm_1t[], frm_2[], frm_2t[], frm_3[], frm_3t[], frm_4[], frm_4t[];
extern char frm_5[], frm_5t[], frm_6[], frm_6t[], frm_7[], frm_7r[], frm_8[], frm_8r[], frm_f[],
	frm_fr[];
extern char frm_g[], frm_gr[], frm_h[], frm_hr[], frm_9[], frm_9r[];
extern char far_code[], far_1[], far_2[], far_3[], far_4[], far_5[], far_6[], far_7[], far_8[],
	far_9[];
extern char far_10[], mix_code[], mix_1[], mix_2[], mix_3[], mix_4[];

USER_CODE(/* rcx = 2, ZF = 0 */
	  "frm_code: llwpcb %rax\n"
	  "lea frm_h(%rip), %rbx\n"
	  "mov %rbx, (%rdi)\n"
	  "mov $2, %ecx\n"
	  "test %ecx, %ecx\n"
	  "frm_1: .byte 0x0f, 0x85\n" /* JNZ rel32 */
	  ".long frm_1t - . - 4\n"
	  "ud2\n"
	  "frm_1t:\n"
	  "frm_2: loopne frm_2t\n" /* rcx = 1: taken */
	  "ud2\n"
	  "frm_2t:\n"
	  "frm_3: loope frm_code\n" /* ZF = 0: not taken; rcx = 0 */
	  "frm_3t:\n"
	  "frm_4: jecxz frm_4t\n"
	  "ud2\n"
	  "frm_4t:\n"
	  "frm_5: .byte 0x3e, 0x75, 0x02\n" /* JNZ with a hint prefix */
	  "ud2\n"
	  "frm_5t:\n"
	  "frm_6: .byte 0x48, 0xe9, 2, 0, 0, 0\n" /* JMP rel32 with REX.W */
	  "ud2\n"
	  "frm_6t:\n"
	  "push $0\n"
	  "frm_7: call frm_f\n"
	  "frm_7r:\n"
	  "frm_8: call frm_g\n"
	  "frm_8r:\n"
	  "frm_9: call *(%rdi)\n"
	  "frm_9r: user_exit\n"
	  "frm_f: nop\n"
	  "frm_fr: ret $8\n" /* pops the 0 */
	  "frm_g: nop\n"
	  "frm_gr: rep ret\n"
	  "frm_h: nop\n"
	  "frm_hr: ret\n"
	  /* Far RET, IRET and far CALL to USER_CS64. */
	  "far_code: llwpcb %rax\n"
	  "far_1: mov %rsp, %rbx\n"
	  "far_2: pushq $0x33\n"
	  "far_3: push %rsi\n"
	  "far_4: lretq\n"
	  "far_5: pushq $0x2b\n"
	  "far_6: push %rbx\n"
	  "far_7: pushfq\n"
	  "far_8: pushq $0x33\n"
	  "far_9: push %rdx\n"
	  "iretq\n"
	  "far_10: lcall *(%rdi)\n"
	  /* 32-bit code that goes to 64-bit code and back. */
	  ".code32\n"
	  "mix_code: llwpcb %eax\n"
	  "mix_1: ljmp $0x33, $mix_2\n"
	  ".code64\n"
	  "mix_2: mov $0x1122334455667788, %rbx\n"
	  "mix_3: ljmp *(%rdi)\n"
	  ".code32\n"
	  "mix_4: inc %edx\n"
	  "user_exit\n"
	  ".code64\n"
	  "far_end: user_exit\n");

extern char far_end[];

static const struct block branches = { .event = { { EV_BRE, 0, 0 } } };

static void far_pointer(struct lwp *l, const char *target, u16 selector)
{
	lwp_put32(l->data, (u32)(u64)target);
	lwp_put16(l->data + 4, selector);
}

static void prepare_far(struct lwp *l, const struct block *b)
{
	lwp_prepare(l, b, far_code);
	far_pointer(l, far_end, USER_CS64);
	l->u.r.rsi = (u64)far_5;
	l->u.r.rdx = (u64)far_10;
	lwp_resume(l);
}

LWP_TEST(bre_forms)
{
	lwp_go(l, &branches, frm_code);
	rule("43724-716", RECALLED);
	EXPECT_RECORDS(l,
		       "rel32, LOOPNE, LOOPE, JECXZ, hint, REX.W, RET imm16, REP RET, CALL memory",
		       REC_BRE(frm_1, frm_1t, true), REC_BRE(frm_2, frm_2t, true),
		       REC_BRE(frm_3, frm_3t, false), REC_BRE(frm_4, frm_4t, true),
		       REC_BRE(frm_5, frm_5t, true), REC_BRE(frm_6, frm_6t, true),
		       REC_BRE(frm_7, frm_f, true), REC_BRE(frm_fr, frm_7r, true),
		       REC_BRE(frm_8, frm_g, true), REC_BRE(frm_gr, frm_8r, true),
		       REC_BRE(frm_9, frm_h, true), REC_BRE(frm_hr, frm_9r, true));

	prepare_far(l, &branches);
	rule("43724-717", CHOICE);
	expect_no_records(l, "far RET, IRET and far CALL within CPL 3 are no branches");
	prepare_far(l, every_insn());
	EXPECT_IRE(l, "they count as instructions", far_1, far_2, far_3, far_4, far_5, far_6, far_7,
		   far_8, far_9, far_9 + 1, far_10);

	lwp_prepare32(l, every_insn(), mix_code);
	far_pointer(l, mix_4, USER_CS32);
	lwp_resume(l);
	report_eq(l->u.r.cs, USER_CS32, "back in 32-bit code");
	EXPECT_IRE(l, "32-bit code that goes through 64-bit code", mix_1, mix_2, mix_3, mix_4);
}
