// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's instruction-based sampling of ops and fetches: the leaf, the registers, the extended local vector table; which
 * instruction is the sample, what its registers say of branches, loads and stores, its interrupt, and the random bits.
 */
#include "apic.h"
#include "ibs.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define APIC_VERSION 0x30u
#define APIC_EXT_FEATURES 0x400u
#define FILL 4000u

extern char ibs_call[], ibs_code[], ibs_fill[];
extern char ibs32_fill[], ibs32_load[], ibs32_jmp[], ibs32_rest[];
extern char ibs_0[], ibs_1[], ibs_2[], ibs_3[], ibs_4[], ibs_5[], ibs_6[], ibs_7[], ibs_8[],
	ibs_9[], ibs_10[], ibs_11[];

asm(".pushsection .text\n"
    "ibs_code:\n"
    "ibs_0: nop\n"
    "ibs_1: mov (%rdi), %eax\n"
    "ibs_2: mov %rax, 8(%rdi)\n"
    "ibs_3: addl $1, (%rdi)\n"
    "ibs_4: lock addl $1, (%rdi)\n"
    "ibs_5: jmp ibs_6\n"
    "nop\n"
    "ibs_6: xor %ecx, %ecx\n"
    "ibs_7: jnz ibs_0\n"
    "ibs_8: mov 1(%rdi), %eax\n"
    "ibs_9: push %rax\n"
    "ibs_10: pop %rax\n"
    "ibs_11: ret\n"
    ".popsection\n");

USER_CODE("ibs_fill: .fill 4000, 1, 0x90\n"
	  "user_exit\n"
	  ".code32\n"
	  "ibs32_fill: .fill 1500, 1, 0x90\n"
	  "ibs32_load: mov -8(%esp), %eax\n"
	  "ibs32_jmp: jmp ibs32_rest\n"
	  "nop\n"
	  "ibs32_rest: .fill 1000, 1, 0x90\n"
	  "user_exit\n"
	  ".code64\n");

static u64 data[8] __attribute__((aligned(64)));
static u64 stack; /* RSP before the call */

/*
 * The sample is the instruction with number n after the WRMSR that switches IBS on: CALL (0), then the code. WRMSR counts.
 */
static __attribute__((noinline, noclone)) void sample(u32 n, u64 mode)
{
	u64 ctl = OP_EN | mode | 1 | OP_COUNT(MAX - 1 - n);

	asm volatile("mov %%rsp, %0\n"
		     "wrmsr\n"
		     ".globl ibs_call\n"
		     "ibs_call: call ibs_code\n"
		     : "=m"(stack)
		     : "c"(MSR_OP_CTL), "a"((u32)ctl), "d"((u32)(ctl >> 32)), "D"(data)
		     : "memory", "cc");
}

static const struct op {
	char *rip;
	u64 data, data3;
	char *target;
	int offset; /* of the load or store, from the data or, if negative, from RSP */
} ops[] = {
	{ ibs_call, BRANCH | TAKEN, STORE | BYTES_8, ibs_code, -8 },
	{ ibs_0, 0, 0, NULL, 0 },
	{ ibs_1, 0, LOAD | BYTES_4, NULL, 0 },
	{ ibs_2, 0, STORE | BYTES_8, NULL, 8 },
	{ ibs_3, 0, LOAD | STORE | BYTES_4, NULL, 0 },
	{ ibs_4, 0, LOAD | STORE | LOCKED | BYTES_4, NULL, 0 },
	{ ibs_5, BRANCH | TAKEN, 0, ibs_6, 0 },
	{ ibs_6, 0, 0, NULL, 0 },
	{ ibs_7, BRANCH, 0, NULL, 0 },
	{ ibs_8, 0, LOAD | MISALIGNED | BYTES_4, NULL, 1 },
	{ ibs_9, 0, STORE | BYTES_8, NULL, -16 },
	{ ibs_10, 0, LOAD | BYTES_8, NULL, -16 },
	{ ibs_11, BRANCH | TAKEN | RETURN, LOAD | BYTES_8, ibs_call + 5, -8 },
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

static void test_registers(void)
{
	report(cpuid(0x80000001, 0).c & 1u << 10, "8000_0001 ECX[10]: IBS");
	report(cpuid(0x80000001, 0).c & 1u << 3, "ECX[3]: extended APIC registers");
	report_eq(cpuid(0x8000001b, 0).a, 0x7f, "8000_001B EAX");
	report_eq(rdmsr(MSR_IBS_CTL), 0x101, "IBS_CTL: entry 1, valid");
	report_eq(try_wrmsr(MSR_IBS_CTL, 0x101), FAULT(VEC_GP, 0), "it cannot be written");
	wrmsr(MSR_OP_CTL, ~OP_EN);
	report_eq(rdmsr(MSR_OP_CTL), 0x07ffffff07fcfffful, "reserved bits of IBS_OP_CTL stay 0");
	wrmsr(MSR_OP_CTL, 0);
	for (u32 n = MSR_OP_RIP; n < MSR_IBS_CTL; n++) {
		wrmsr(n, n);
		report_eq(rdmsr(n), n, "%x is kept", n);
	}
	report(apic_read(APIC_VERSION) >> 31, "APIC version[31]");
	report_eq(apic_read(APIC_EXT_FEATURES), 4u << 16, "400h: four entries");
	for (u32 n = 0; n < 4; n++) {
		report_eq(apic_read(APIC_EXT_LVT(n)), LVT_MASKED, "entry %u is masked", n);
		apic_write(APIC_EXT_LVT(n), ~0u);
		report_eq(apic_read(APIC_EXT_LVT(n)), 0x107ff, "entry %u", n);
		apic_write(APIC_EXT_LVT(n), LVT_MASKED);
	}
}

static void test_ops(u64 mode, const char *what)
{
	for (u32 i = 0; i < OPS; i++) {
		const struct op *op = &ops[i];
		u64 at, valid = op->data3 ? LINEAR | PHYSICAL : 0;

		sample(i, mode);
		at = (op->offset < 0 ? stack : (u64)data) + (u64)(s64)op->offset;
		report(rdmsr(MSR_OP_CTL) & OP_VAL, "%s: op %u is a sample", what, i);
		report_eq(rdmsr(MSR_OP_RIP), (u64)op->rip, "op %u: IBS_OP_RIP", i);
		report_eq(rdmsr(MSR_OP_DATA), op->data | LATENCY, "op %u: IBS_OP_DATA", i);
		report_eq(rdmsr(MSR_OP_DATA2), 0, "op %u: IBS_OP_DATA2", i);
		report_eq(rdmsr(MSR_OP_DATA3), op->data3 | valid, "op %u: IBS_OP_DATA3", i);
		report_eq(rdmsr(MSR_DC_LIN), op->data3 ? at : 0, "op %u: IBS_DC_LIN_AD", i);
		report_eq(rdmsr(MSR_DC_PHYS), op->data3 ? at : 0, "op %u: IBS_DC_PHYS_AD", i);
		report_eq(rdmsr(MSR_BR_TARGET), (u64)op->target, "op %u: IBS_BR_TARGET", i);
	}
	wrmsr(MSR_OP_CTL, 0);
}

/* A maximum of (5 << 20) + 16. */
static void test_maximum(void)
{
	sample(1, OP_OPS | OP_MAX_EXT(5));
	report(!(rdmsr(MSR_OP_CTL) & OP_VAL), "the maximum has bits 26:20: no sample at 16");
	sample(1, OP_OPS | OP_MAX_EXT(5) | OP_COUNT(5u << 20));
	report_eq(rdmsr(MSR_OP_RIP), (u64)ibs_0, "but as far after them");
	wrmsr(MSR_OP_CTL, 0);
}

/* Both samples wait; a counter counts. */
static void test_waiting(void)
{
	pmu_start(0, PERF_INSNS | PERF_OS, 0);
	wrmsr(MSR_OP_CTL, OP_EN | OP_VAL | OP_OPS | 128 | OP_COUNT(5));
	wrmsr(MSR_FETCH_CTL, FETCH_EN | FETCH_VAL | 128 | FETCH_COUNT(5));
	asm volatile(".fill 100, 1, 0x90");
	report(pmu_stop(0) > 100, "a counter counts");
	report_eq(rdmsr(MSR_OP_CTL), OP_EN | OP_VAL | OP_OPS | 128 | OP_COUNT(5),
		  "while IbsOpVal is set, the count of ops stands still");
	report_eq(rdmsr(MSR_FETCH_CTL), FETCH_EN | FETCH_VAL | 128 | FETCH_COUNT(5),
		  "while IbsFetchVal is set, that of fetches");
	wrmsr(MSR_OP_CTL, 0);
	wrmsr(MSR_FETCH_CTL, 0);
}

static void test_interrupt(void)
{
	u64 random[8], changes = 0;

	irq_set_handler(VEC_NMI, note_nmi);
	sample(1, OP_OPS);
	report_eq(nmis, 0, "masked: no interrupt");
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_NMI);
	sample(1, OP_OPS);
	report_eq(nmis, 1, "an NMI");
	report_eq(nmi_rip, (u64)ibs_1, "after the sample");
	for (u32 i = 0; i < 8; i++) {
		sample(1, OP_OPS);
		random[i] = rdmsr(MSR_OP_CTL) >> 32;
		report(random[i] < 128, "the count begins with seven random bits");
		changes += i && random[i] != random[i - 1];
	}
	report(changes > 4, "which are not always the same");
	sample(1, 0);
	report_eq(rdmsr(MSR_OP_RIP), (u64)ibs_0, "while IbsOpVal is set");
	asm volatile(".fill 100, 1, 0x90");
	report_eq(rdmsr(MSR_OP_RIP), (u64)ibs_0, "nothing is sampled");
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_MASKED);
	wrmsr(MSR_OP_CTL, 0);
}

/* Where at CPL 3 the sample is, with the count beginning at n. */
static __attribute__((noinline, noclone)) u64 user_sample(u32 n)
{
	struct user u;

	user_init64(&u, (u64)ibs_fill, STACK_TOP);
	pmu_start(0, PERF_INSNS | PERF_USR, 0);
	wrmsr(MSR_OP_CTL, OP_EN | OP_OPS | 128 | OP_COUNT(n)); /* after 2,048 ops */
	user_run(&u);
	wrmsr(MSR_OP_CTL, 0);
	return rdmsr(MSR_OP_RIP);
}

static void test_user(void)
{
	u64 first = user_sample(0);

	report(first > (u64)ibs_fill + 1000 && first < (u64)ibs_fill + 2048,
	       "CPL 3 and CPL 0 count together");
	report_eq(pmu_stop(0), FILL + 1, "a counter beside it counts as alone");
	report_eq(user_sample(100), first - 100, "a count that is ahead by 100");
	report_eq(user_sample(101), first - 101, "by 101");
}

#define BEFORE_REST 1502u /* instructions */

static __attribute__((noinline, noclone)) u64 sample32(u32 n)
{
	struct user u;

	user_init32(&u, (u32)(u64)ibs32_fill, STACK_TOP);
	wrmsr(MSR_OP_CTL, OP_EN | OP_OPS | 128 | OP_COUNT(n));
	user_run(&u);
	return rdmsr(MSR_OP_RIP);
}

static void test_code32(void)
{
	u64 first = sample32(0) - (u64)ibs32_rest + BEFORE_REST;

	report(first >= BEFORE_REST && first < 2048, "32-bit code: a sample in the NOPs");
	report_eq(sample32((u32)first - (BEFORE_REST - 2)), (u64)ibs32_load, "a load");
	report_eq(rdmsr(MSR_OP_DATA3), LOAD | BYTES_4 | LINEAR | PHYSICAL, "its data");
	report_eq(rdmsr(MSR_DC_LIN), STACK_TOP - 8, "its address");
	report_eq(sample32((u32)first - (BEFORE_REST - 1)), (u64)ibs32_jmp, "a branch");
	report_eq(rdmsr(MSR_OP_DATA), BRANCH | TAKEN | LATENCY, "taken");
	report_eq(rdmsr(MSR_BR_TARGET), (u64)ibs32_rest, "its target");
	wrmsr(MSR_OP_CTL, 0);
}

/* The same of fetches; the count has a granularity of 16. */
static __attribute__((noinline, noclone)) u64 user_fetch(u64 bits)
{
	struct user u;

	user_init64(&u, (u64)ibs_fill, STACK_TOP);
	wrmsr(MSR_FETCH_CTL, FETCH_EN | 128 | bits);
	user_run(&u);
	return rdmsr(MSR_FETCH_LIN);
}

static void test_fetch(void)
{
	u32 draws = 0;
	u64 first, results = FETCH_EN | FETCH_VAL | FETCH_COMPLETE | FETCH_PHYSICAL |
			     FETCH_COUNT(128) | 128;

	wrmsr(MSR_FETCH_CTL, ~FETCH_EN);
	report_eq(rdmsr(MSR_FETCH_CTL), 0x3ffffffffffffffful & ~FETCH_EN, "IBS_FETCH_CTL");
	wrmsr(MSR_FETCH_CTL, 0);
	first = user_fetch(0);
	report(first > (u64)ibs_fill + 1000 && first < (u64)ibs_fill + 2048,
	       "fetches of all modes");
	report_eq(rdmsr(MSR_FETCH_CTL), results, "valid, complete, no miss, the count at its end");
	report_eq(rdmsr(MSR_FETCH_PHYS) % PAGE_SIZE, first % PAGE_SIZE, "its physical address");
	report_eq(*(u8 *)rdmsr(MSR_FETCH_PHYS), 0x90, "where a NOP lies");
	report_eq(user_fetch(FETCH_COUNT(3)), first - 48, "a count that is ahead by 48");
	nmis = 0;
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_NMI);
	user_fetch(0);
	report_eq(nmis, 1, "an NMI");
	report_eq(nmi_rip, first + 1, "after the instruction");
	for (u32 n = 0; n < 8; n++) {
		u64 ahead = first - user_fetch(FETCH_RANDOM);

		report(ahead < 16, "IbsRandEn: ahead by %lu, less than 16", ahead);
		draws |= 1u << (ahead & 15);
	}
	report(draws & (draws - 1), "which is not always the same");
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_MASKED);
	wrmsr(MSR_FETCH_CTL, 0);
}

/* ---- All at the same time ---- */

#define SAMPLES 64u
enum { WITH_IBS = 1, WITH_COUNTER = 2, WITH_LBR = 4, WITH_LWP = 8, WITH_ALL = 15 };

extern char ibs_mix[];

USER_CODE("ibs_mix: llwpcb %rax\n"
	  "mov $200, %ecx\n"
	  "1: mov (%rdi), %edx\n"
	  "add %edx, 4(%rdi)\n"
	  "call 2f\n"
	  "dec %ecx\n"
	  "jnz 1b\n"
	  "flush_exit\n"
	  "2: ret\n");

static struct streams {
	u64 rip[SAMPLES];
	u32 samples;
	u64 count;
	u64 lbr[32];
	u32 records;
	u8 ring[64 * RECORD_SIZE];
} alone, together;

static struct streams *now;
static u64 again;

static void on_sample(struct regs *r)
{
	if (now->samples < SAMPLES)
		now->rip[now->samples++] = rdmsr(MSR_OP_RIP);
	wrmsr(MSR_OP_CTL, again);
}

/* The streams of the recorders that `with` names; each register is written in any case. */
static void record(struct lwp *l, struct streams *s, u32 with)
{
	static const struct block b = { .event = { { EV_IRE, 16, 16 }, { EV_BRE, 28, 28 } } };

	now = s;
	lwp_prepare(l, &b, ibs_mix);
	if (!(with & WITH_LWP))
		l->u.r.rax = 0;
	again = with & WITH_IBS ? OP_EN | OP_OPS | 5 : 0;
	wrmsr(MSR_LBR_SELECT, 1u | 1u << 8); /* no kernel, no far branches */
	wrmsr(MSR_DBG_EXTN_CFG, with & WITH_LBR ? LBRV2EN : 0);
	pmu_start(0, with & WITH_COUNTER ? PERF_CONDITIONAL | PERF_USR : 0, 0);
	wrmsr(MSR_OP_CTL, again);
	lwp_resume(l);
	wrmsr(MSR_OP_CTL, 0);
	wrmsr(MSR_DBG_EXTN_CFG, 0);
	if (with & WITH_COUNTER)
		s->count = pmu_stop(0);
	else
		pmu_stop(0);
	for (u32 n = 0; n < 32 && (with & WITH_LBR); n++)
		s->lbr[n] = rdmsr(MSR_LBR_FROM(0) + n);
	if (with & WITH_LWP) {
		s->records = cb_head(l) / RECORD_SIZE;
		memcpy(s->ring, l->ring, sizeof(s->ring));
	}
}

static void test_together(struct lwp *l)
{
	irq_set_handler(VEC_NMI, on_sample);
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_NMI);
	record(l, &alone, WITH_IBS);
	record(l, &alone, WITH_COUNTER);
	record(l, &alone, WITH_LBR);
	record(l, &alone, WITH_LWP);
	record(l, &together, WITH_ALL);
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_MASKED);
	report(alone.samples > 10 && alone.records > 50, "there are samples and records");
	report_eq(together.samples, alone.samples, "samples beside the others: as many");
	report(!memcmp(together.rip, alone.rip, sizeof(alone.rip)), "of the same instructions");
	report_eq(together.count, alone.count, "a counter beside the others");
	report(!memcmp(together.lbr, alone.lbr, sizeof(alone.lbr)), "last branches, too");
	report_eq(together.records, alone.records, "LWP's records, too");
	report(!memcmp(together.ring, alone.ring, sizeof(alone.ring)), "byte for byte");
}

FLAT_TEST(pmu_ibs)
{
	struct lwp l;
	bool lwp = cpuid(0x80000001, 0).c & LWP_CPUID_PRESENT_ECX;

	if (lwp)
		lwp_init(&l);
	else
		lwp_map(&l, kernel_cr3());
	test_registers();
	test_ops(OP_OPS, "ops");
	test_ops(0, "cycles");
	test_maximum();
	test_waiting();
	test_interrupt();
	test_user();
	test_code32();
	test_fetch();
	if (lwp)
		test_together(&l);
}
