// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Branches retired (EventId 3): which instructions are branches, and the address, target and TKN of each. TKN is the
 * evaluated condition, also where target and fall-through are the same (43724-508 to 43724-510, 43724-710, 43724-718).
 */
#include "lwp_fixture.h"
#include "test.h"

extern char bre_jcc[], bre_j1[], bre_j2[], bre_j2t[], bre_j3[], bre_j3t[], bre_j4[], bre_j4t[];
extern char bre_cx[], bre_c1[], bre_c1t[], bre_c2[], bre_c2t[], bre_c3[], bre_c3t[];
extern char bre_call[], bre_k1[], bre_k1r[], bre_k2[], bre_k2r[], bre_f[], bre_fr[];
extern char bre_jmp[], bre_m1[], bre_m1t[], bre_m2[], bre_m2t[], bre_m3[], bre_m3t[];
extern char bre_turns[], bre_loop[], bre_jnz[], bre_far[], bre_far_target[], bre_fm[], bre_fmt[];
extern char bre_pair[], bre_pair_jcc[];
extern char bre32[], bre32_1[], bre32_1t[], bre32_2[], bre32_2t[], bre32_3[], bre32_f[];

USER_CODE(/* Jcc: taken; not taken; +0 taken; +0 not taken. ZF = 1. */
	  "bre_jcc: llwpcb %rax\n"
	  "xor %ecx, %ecx\n"
	  "bre_j1: jnz bre_jcc\n"
	  "bre_j2: jz bre_j3\n"
	  "ud2\n"
	  "bre_j2t:\n"
	  "bre_j3: .byte 0x74, 0x00\n" /* JZ +0 */
	  "bre_j3t:\n"
	  "bre_j4: .byte 0x75, 0x00\n" /* JNZ +0 */
	  "bre_j4t: user_exit\n"
	  /* JRCXZ not taken and taken; LOOP. */
	  "bre_cx: llwpcb %rax\n"
	  "mov $2, %ecx\n"
	  "bre_c1: jrcxz bre_cx\n"
	  "bre_c1t:\n"
	  "bre_c2: loop bre_c2\n"
	  "bre_c2t:\n"
	  "bre_c3: jrcxz bre_c3t\n"
	  "ud2\n"
	  "bre_c3t: user_exit\n"
	  /* CALL relative and indirect, RET. */
	  "bre_call: llwpcb %rax\n"
	  "lea bre_f(%rip), %rbx\n"
	  "bre_k1: call bre_f\n"
	  "bre_k1r: nop\n"
	  "bre_k2: call *%rbx\n"
	  "bre_k2r: user_exit\n"
	  "bre_f: nop\n"
	  "bre_fr: ret\n"
	  /* JMP rel8, rel32, indirect through memory. */
	  "bre_jmp: llwpcb %rax\n"
	  "lea bre_m3t(%rip), %rbx\n"
	  "mov %rbx, (%rdi)\n"
	  "bre_m1: jmp bre_m1t\n"
	  "ud2\n"
	  "bre_m1t:\n"
	  "bre_m2: .byte 0xe9\n"
	  ".long 2\n"
	  "ud2\n"
	  "bre_m2t:\n"
	  "bre_m3: jmp *(%rdi)\n"
	  "ud2\n"
	  "bre_m3t: user_exit\n"
	  "bre_turns: llwpcb %rax\n"
	  "bre_loop: dec %esi\n"
	  "bre_jnz: jnz bre_loop\n"
	  "user_exit\n"
	  "bre_pair: llwpcb %rax\n"
	  "1: dec %esi\n"
	  "cmp $0, %esi\n"
	  "bre_pair_jcc: jne 1b\n"
	  "user_exit\n"
	  /* A far jump that stays at CPL 3, then a near one. */
	  "bre_far: llwpcb %rax\n"
	  "ljmp *(%rdi)\n"
	  "bre_far_target:\n"
	  "bre_fm: jmp bre_fmt\n"
	  "ud2\n"
	  "bre_fmt: user_exit\n"
	  ".code32\n"
	  "bre32: llwpcb %eax\n"
	  "bre32_1: jmp bre32_1t\n"
	  "ud2\n"
	  "bre32_1t:\n"
	  "xor %ecx, %ecx\n"
	  "bre32_2: jcxz bre32_2t\n"
	  "ud2\n"
	  "bre32_2t:\n"
	  "bre32_3: call bre32_f\n"
	  "bre32_f: pop %edx\n"
	  "user_exit\n"
	  ".code64\n");

#define ROUNDS 1024u

static const struct block every = { .event = { { EV_BRE, 0, 0 } } };

static void test_conditional(struct lwp *l)
{
	lwp_go(l, &every, bre_jcc);
	rule("43724-507 43724-710", RECALLED);
	EXPECT_RECORDS(l, "Jcc taken, not taken, and with displacement 0",
		       REC_BRE(bre_j1, bre_j2, false), REC_BRE(bre_j2, bre_j2t, true),
		       REC_BRE(bre_j3, bre_j3t, true), REC_BRE(bre_j4, bre_j4t, false));
	lwp_go(l, &every, bre_cx);
	rule("43724-507 43724-716", RECALLED);
	EXPECT_RECORDS(l, "JRCXZ and LOOP", REC_BRE(bre_c1, bre_c1t, false),
		       REC_BRE(bre_c2, bre_c2, true), REC_BRE(bre_c2, bre_c2t, false),
		       REC_BRE(bre_c3, bre_c3t, true));
}

static void test_calls(struct lwp *l)
{
	lwp_go(l, &every, bre_call);
	rule("43724-716", RECALLED);
	EXPECT_RECORDS(l, "CALL relative, CALL indirect, RET", REC_BRE(bre_k1, bre_f, true),
		       REC_BRE(bre_fr, bre_k1r, true), REC_BRE(bre_k2, bre_f, true),
		       REC_BRE(bre_fr, bre_k2r, true));
}

static void test_jumps(struct lwp *l)
{
	lwp_go(l, &every, bre_jmp);
	rule("43724-716", RECALLED);
	EXPECT_RECORDS(l, "JMP rel8, rel32, through memory", REC_BRE(bre_m1, bre_m1t, true),
		       REC_BRE(bre_m2, bre_m2t, true), REC_BRE(bre_m3, bre_m3t, true));
	lwp_prepare(l, &every, bre_far);
	lwp_put32(l->data, (u32)(u64)bre_far_target);
	lwp_put16(l->data + 4, USER_CS64);
	lwp_resume(l);
	ask("Q08", "43724-717", "a far JMP is a branch", "no", flushed(l) > 1 ? "yes" : "no");
}

static void test_interval(struct lwp *l)
{
	struct rec jnz = REC_BRE(bre_jnz, bre_loop, true);

	lwp_go_rsi(l, EVENT(EV_BRE, 20, 0), bre_turns, 42);
	rule("43724-507 43724-704", CERTAIN);
	EXPECT_RECORDS(l, "interval 20: the first and the 22nd of 42", jnz, jnz);
}

/* What an interval of 0 is taken for, by the number of records. */
static const char *least(struct lwp *l, u8 id)
{
	struct block b = { .event = { { id, 0, 0 } } };
	u64 events = id == EV_IRE ? 2 * ROUNDS : ROUNDS, stored;

	lwp_go_rsi(l, &b, bre_turns, ROUNDS);
	flushed(l);
	stored = cb_stored(l);
	return stored ? text("%lu", (events + stored / 2) / stored - 1) : "inactive";
}

static void ask_unknown(struct lwp *l)
{
	static const struct block b = { .event = { { EV_BRE, 20, 0 } } };
	u32 flags = 0;

	lwp_go_rsi(l, &b, bre_pair, ROUNDS);
	for (u64 i = flushed(l); i--;)
		flags |= ring_record(l, (u32)i).flags;
	ask("Q09", "43724-508 43724-510", "PRD, PRV, FUS (4, 2, 1) that are ever set", "0",
	    text("%x", flags >> 12 & 7));
	ask("Q10", "43724-508", "a record of CMP and Jcc has the address of", "jcc",
	    ring_record(l, 0).address == (u64)bre_pair_jcc ? "jcc" : "cmp");
	ask("Q11", "43724-410", "interval 0 of EventId 2 is", "0", least(l, EV_IRE));
	ask("Q12", "43724-410", "interval 0 of EventId 3 is", "0", least(l, EV_BRE));
}

static void test_code32(struct lwp *l)
{
	lwp_go32(l, &every, bre32);
	rule("43724-604 43724-716", RECALLED);
	EXPECT_RECORDS(l, "32-bit code: JMP, JCXZ, CALL", REC_BRE(bre32_1, bre32_1t, true),
		       REC_BRE(bre32_2, bre32_2t, true), REC_BRE(bre32_3, bre32_f, true));
}

LWP_TEST(bre)
{
	test_conditional(l);
	test_calls(l);
	test_jumps(l);
	test_interval(l);
	test_code32(l);
	ask_unknown(l);
}
