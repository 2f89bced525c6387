// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters: NRB, NCB and NAB leave out classes of branches; IPF counts only instructions in
 * [BaseIP, LimitIP], with IPI only those outside. What is filtered does not count.
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define NRB (1u << 27)
#define NCB (1u << 28)
#define NAB (1u << 29)
#define IPI (1u << 30)
#define IPF (1u << 31)

extern char flt_code[], flt_jcc[], flt_jmp[], flt_call[], flt_ind[], flt_f[], flt_ret[], flt_end[];
extern char ipf_loop[], ipf_jnz[];
extern char ipf_code[], ipf_1[], ipf_2[], ipf_3[], ipf_4[], ipf_5[];

/* One branch of each class: conditional; relative (JMP, CALL); absolute (RET, indirect JMP). */
USER_CODE("flt_code: llwpcb %rax\n"
	  "lea flt_end(%rip), %rbx\n"
	  "flt_jcc: jz flt_code\n"
	  "flt_jmp: jmp flt_call\n"
	  "ud2\n"
	  "flt_call: call flt_f\n"
	  "flt_ind: jmp *%rbx\n"
	  "flt_f: nop\n"
	  "flt_ret: ret\n"
	  "flt_end: user_exit\n"
	  "ipf_code: llwpcb %rax\n"
	  "ipf_1: nop\n"
	  "ipf_2: mov $0, %ecx\n"
	  "ipf_3: nop\n"
	  "ipf_4: mov $1, %ecx\n"
	  "ipf_5: nop\n"
	  "user_exit\n"
	  "ipf_loop: llwpcb %rax\n"
	  "1: dec %esi\n"
	  "ipf_jnz: jnz 1b\n"
	  "user_exit\n");

static struct rec jcc, jmp, call, ret, ind;

static void go(struct lwp *l, u32 filters)
{
	struct block b = { .filters = filters, .event = { { EV_BRE, 0, 0 } } };

	lwp_prepare(l, &b, flt_code);
	l->u.r.rflags &= ~RFLAGS_ZF;
	lwp_resume(l);
}

static void test_branches(struct lwp *l)
{
	static const struct block second = { .filters = NCB, .event = { { EV_BRE, 1, 1 } } };

	go(l, 0);
	EXPECT_RECORDS(l, "no filter: all", jcc, jmp, call, ret, ind);
	go(l, NRB);
	EXPECT_RECORDS(l, "NRB: no JMP rel, no CALL rel", jcc, ret, ind);
	go(l, NCB);
	EXPECT_RECORDS(l, "NCB: no Jcc", jmp, call, ret, ind);
	go(l, NAB);
	EXPECT_RECORDS(l, "NAB: no RET, no indirect JMP", jcc, jmp, call);
	go(l, NRB | NAB);
	EXPECT_RECORDS(l, "NRB and NAB: only Jcc", jcc);
	go(l, NRB | NCB | NAB);
	expect_no_records(l, "all three: none");
	lwp_go(l, &second, flt_code);
	EXPECT_RECORDS(l, "what is filtered does not decrement the counter", call, ind);
}

static void go_ip(struct lwp *l, u32 filters, u64 base, u64 limit)
{
	struct block b = { .filters = filters,
			   .base_ip = base,
			   .limit_ip = limit,
			   .event = { { EV_IRE, 0, 0 } } };

	lwp_go(l, &b, ipf_code);
}

static void test_ip(struct lwp *l)
{
	struct block second = { .filters = IPF | IPI,
				.base_ip = (u64)ipf_2,
				.limit_ip = (u64)ipf_2,
				.event = { { EV_IRE, 1, 1 } } };
	struct block fifth = { .filters = IPF,
			       .base_ip = (u64)ipf_jnz,
			       .limit_ip = (u64)ipf_jnz,
			       .event = { { EV_IRE, 4, 4 } } };
	u64 at2 = (u64)ipf_2, at4 = (u64)ipf_4;

	go_ip(l, IPF, at2, at4);
	EXPECT_RECORDS(l, "IPF: BaseIP to LimitIP, both included", REC_IRE(ipf_2), REC_IRE(ipf_3),
		       REC_IRE(ipf_4));
	go_ip(l, IPF, at2 + 1, at4 - 1);
	EXPECT_RECORDS(l, "IPF: the address is that of the first byte", REC_IRE(ipf_3));
	go_ip(l, IPF | IPI, at2, at4);
	EXPECT_RECORDS(l, "IPF and IPI: what is outside", REC_IRE(ipf_1), REC_IRE(ipf_5));
	go_ip(l, 0, at2, at4);
	EXPECT_RECORDS(l, "without IPF the range means nothing", REC_IRE(ipf_1), REC_IRE(ipf_2),
		       REC_IRE(ipf_3), REC_IRE(ipf_4), REC_IRE(ipf_5));
	go_ip(l, IPF, at4, at2);
	expect_no_records(l, "IPF with LimitIP below BaseIP: none");
	lwp_prepare(l, &fifth, ipf_loop);
	l->u.r.rsi = 20;
	lwp_resume(l);
	EXPECT_RECORDS(l, "every fifth of 20 JNZ in the range, of 40 instructions",
		       REC_IRE(ipf_jnz), REC_IRE(ipf_jnz), REC_IRE(ipf_jnz), REC_IRE(ipf_jnz));
	lwp_go(l, &second, ipf_code);
	EXPECT_RECORDS(l, "what is filtered does not decrement the counter", REC_IRE(ipf_3),
		       REC_IRE(ipf_5));
}

FLAT_TEST(filters)
{
	struct lwp l;

	jcc = (struct rec)REC_BRE(flt_jcc, flt_jmp, false);
	jmp = (struct rec)REC_BRE(flt_jmp, flt_call, true);
	call = (struct rec)REC_BRE(flt_call, flt_f, true);
	ret = (struct rec)REC_BRE(flt_ret, flt_ind, true);
	ind = (struct rec)REC_BRE(flt_ind, flt_end, true);
	lwp_init(&l);
	test_branches(&l);
	if (cpuid(LWP_CPUID_LEAF, 0).c & 1u << 29)
		test_ip(&l);
	else
		report_skip("8000_001C ECX[29] is clear", "IP filter");
}
