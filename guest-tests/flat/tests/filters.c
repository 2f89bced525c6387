// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Filters: NRB, NCB and NAB leave out classes of branches; IPF counts only instructions in [BaseIP, LimitIP], with IPI
 * only those outside. What is filtered does not count (43724-418).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define NMB (1u << 25)
#define NPB (1u << 26)
#define NRB (1u << 27)
#define NCB (1u << 28)
#define NAB (1u << 29)
#define IPI (1u << 30)
#define IPF (1u << 31)

extern char flt_code[], flt_jcc[], flt_jmp[], flt_call[], flt_ind[], flt_f[], flt_ret[], flt_end[];
extern char ipf_loop[], ipf_jnz[], ipf_val[], ipf_val_in[], ipf_ins[];
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
	  "ipf_val: llwpcb %rax\n"
	  "lwpval $1, (%rdi), %ecx\n"
	  "ipf_val_in: lwpval $2, %edx, %ecx\n"
	  "ipf_ins: lwpins $3, %edx, %ecx\n"
	  "user_exit\n"
	  "ipf_loop: llwpcb %rax\n"
	  "1: dec %esi\n"
	  "ipf_jnz: jnz 1b\n"
	  "user_exit\n");

static struct rec jcc, jmp, call, ret, ind;

static struct block in_range(u32 filters, u64 base, u64 limit, struct block_event event)
{
	return (struct block){
		.filters = filters, .base_ip = base, .limit_ip = limit, .event = { event }
	};
}

static void go(struct lwp *l, u32 filters)
{
	struct block b = { .filters = filters, .event = { { EV_BRE, 0, 0 } } };

	lwp_prepare(l, &b, flt_code);
	l->u.r.rflags &= ~RFLAGS_ZF;
	lwp_resume(l);
}

/* Which classes of branches have records. */
static const char *left(const struct lwp *l)
{
	static const char *const names[] = { " jcc", " jmp", " call", " ret", " jmp-indirect" };
	const char *const at[] = { flt_jcc, flt_jmp, flt_call, flt_ret, flt_ind };
	const char *no[] = { "", "", "", "", "", "" };

	for (u32 n = 0; n < 5; n++) {
		no[n] = names[n];
		for (u64 i = flushed(l); i--;)
			no[n] = ring_record(l, (u32)i).address == (u64)at[n] ? "" : no[n];
		no[5] = *no[n] ? " but" : no[5];
	}
	return text("all%s%s%s%s%s%s", no[5], no[0], no[1], no[2], no[3], no[4]);
}

static void test_branches(struct lwp *l)
{
	static const struct {
		const char *id, *what, *vlwp;
		u32 filter;
	} bits[] = {
		{ "Q01", "branches with bit 25 of Filters", "all", NMB },
		{ "Q02", "branches with bit 26 of Filters", "all", NPB },
		{ "Q03", "branches with bit 27 of Filters", "all but jmp call", NRB },
		{ "Q04", "branches with bit 28 of Filters", "all but jcc", NCB },
		{ "Q05", "branches with bit 29 of Filters", "all but ret jmp-indirect", NAB },
	};
	static const struct block second = { .filters = NCB, .event = { { EV_BRE, 1, 1 } } };

	go(l, 0);
	rule("43724-716", RECALLED);
	EXPECT_RECORDS(l, "no filter: all", jcc, jmp, call, ret, ind);
	for (u32 i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		go(l, bits[i].filter);
		ask(bits[i].id, "43724-417 43724-723 43724-724", bits[i].what, bits[i].vlwp,
		    left(l));
	}
	rule("43724-723", RECALLED);
	go(l, NRB | NAB);
	EXPECT_RECORDS(l, "NRB and NAB: only Jcc", jcc);
	go(l, NRB | NCB | NAB);
	expect_no_records(l, "all three: none");
	lwp_go(l, &second, flt_code);
	rule("43724-722", RECALLED);
	EXPECT_RECORDS(l, "what is filtered does not decrement the counter", call, ind);
}

static void go_ip(struct lwp *l, u32 filters, u64 base, u64 limit)
{
	struct block b = in_range(filters, base, limit, (struct block_event){ EV_IRE, 0, 0 });

	lwp_go(l, &b, ipf_code);
}

static void test_ip(struct lwp *l)
{
	u64 at2 = (u64)ipf_2, at4 = (u64)ipf_4, jnz = (u64)ipf_jnz;
	struct block second = in_range(IPF | IPI, at2, at2, (struct block_event){ EV_IRE, 1, 1 });
	struct block fifth = in_range(IPF, jnz, jnz, (struct block_event){ EV_IRE, 4, 4 });

	rule("43724-725 43724-410", CHOICE);
	go_ip(l, IPF, at2, at4);
	EXPECT_IRE(l, "IPF: BaseIP to LimitIP, both included", ipf_2, ipf_3, ipf_4);
	ask("Q06", "43724-417 43724-725", "bit 31 of Filters, 3 in the range and 2 outside", "3",
	    text("%lu", flushed(l)));
	go_ip(l, IPF, at2 + 1, at4 - 1);
	EXPECT_IRE(l, "IPF: the address is that of the first byte", ipf_3);
	go_ip(l, IPF | IPI, at2, at4);
	EXPECT_IRE(l, "IPF and IPI: what is outside", ipf_1, ipf_5);
	ask("Q07", "43724-417 43724-725", "bits 30 and 31 of Filters, the same", "2",
	    text("%lu", flushed(l)));
	go_ip(l, 0, at2, at4);
	EXPECT_IRE(l, "without IPF the range means nothing", ipf_1, ipf_2, ipf_3, ipf_4, ipf_5);
	go_ip(l, IPF, at4, at2);
	expect_no_records(l, "IPF with LimitIP below BaseIP: none");
	rule("43724-722 43724-725", RECALLED);
	lwp_go_rsi(l, &fifth, ipf_loop, 20);
	EXPECT_IRE(l, "every fifth of 20 JNZ in the range, of 40 instructions", ipf_jnz, ipf_jnz,
		   ipf_jnz, ipf_jnz);
	rule("43724-722 43724-410", CHOICE);
	lwp_go(l, &second, ipf_code);
	EXPECT_IRE(l, "what is filtered does not decrement the counter", ipf_3, ipf_5);
}

/* 43724-725: the range is one of instructions, so a branch into it is outside. */
static void test_ip_branches(struct lwp *l)
{
	struct block b =
		in_range(IPF, (u64)flt_jmp, (u64)flt_call, (struct block_event){ EV_BRE, 0, 0 });

	lwp_go(l, &b, flt_code);
	rule("43724-725", RECALLED);
	EXPECT_RECORDS(l, "IPF: branches that begin in the range", jmp, call);
	b.filters = IPF | IPI;
	lwp_go(l, &b, flt_code);
	EXPECT_RECORDS(l, "IPF and IPI: branches outside", jcc, ret, ind);
	rule("43724-723 43724-725", CHOICE);
	b = in_range(IPF | NRB, 0, (u64)flt_f, (struct block_event){ EV_BRE, 0, 0 });
	lwp_go(l, &b, flt_code);
	EXPECT_RECORDS(l, "IPF and NRB together", jcc, ind);
}

/* 43724-726: an LWPVAL that is filtered has no effect at all, LWPINS is not filtered. */
static void test_ip_samples(struct lwp *l)
{
	u64 at = (u64)ipf_val_in;
	struct block b = in_range(IPF, at, at, (struct block_event){ EV_VAL, 4, 0 });

	as_protect(l->cr3, DATA_VA, PAGE_NONE);
	lwp_prepare(l, &b, ipf_val);
	l->u.r.rdx = 5;
	l->u.r.rcx = 6;
	lwp_resume(l);
	rule("43724-726", CHOICE);
	EXPECT_RECORDS(
		l, "an LWPVAL outside the range reads no operand and does not count, LWPINS stores",
		{ EV_VAL, .flags = 2, .data1 = 5, .data2 = 6, .address = (u64)ipf_val_in },
		{ EV_INS, .flags = 3, .data1 = 5, .data2 = 6, .address = (u64)ipf_ins });
	as_protect(l->cr3, DATA_VA, PAGE_USER_RW);
}

LWP_TEST(filters)
{
	jcc = (struct rec)REC_BRE(flt_jcc, flt_jmp, false);
	jmp = (struct rec)REC_BRE(flt_jmp, flt_call, true);
	call = (struct rec)REC_BRE(flt_call, flt_f, true);
	ret = (struct rec)REC_BRE(flt_ret, flt_ind, true);
	ind = (struct rec)REC_BRE(flt_ind, flt_end, true);
	test_branches(l);
	if (report_lacks(!(cpuid(LWP_CPUID_LEAF, 0).c & 1u << 29), "8000_001C ECX[29] is clear",
			 "IP filter"))
		return;
	test_ip(l);
	test_ip_branches(l);
	test_ip_samples(l);
}
