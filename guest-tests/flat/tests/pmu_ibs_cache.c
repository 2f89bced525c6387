// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The data cache misses of IBS's samples: miss, source and latency of a load by IBS's own model of the caches (ibs-cache);
 * by LWP's (model=lwp), while LWP counts misses; and by its own beside LWP's (model=both), where both streams are those
 * that each has alone, also of lines that only one model knows (model=paused). But for the last the run's caches are
 * small: L1D has 4 sets of 2 lines and serves in 4 cycles, L2 8 sets of 4 lines in 12, L3 16 sets of 8 lines in 39, RAM
 * in 200.
 */
#include "apic.h"
#include "ibs.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"
#include "x86.h"

#define LATENCY_L2 12u
#define LATENCY_L3 39u
#define LATENCY_RAM 200u

/* Flags of a record of EventId 4: the address is valid; who had the data. */
#define DAV 0x1000u
#define L3_HIT (1u << 13)
#define RAM_HIT (3u << 13)

/* All of these lines are in set 0 of L1D (2 ways), of L2 (4 ways) and of L3, but for 512 and 1536, in set 8 of L3. */
#define EIGHT_LOADS              \
	"mov (%rdi), %eax\n"     \
	"mov 512(%rdi), %eax\n"  \
	"mov 1024(%rdi), %eax\n" \
	"mov (%rdi), %eax\n"     \
	"mov 1536(%rdi), %eax\n" \
	"mov 2048(%rdi), %eax\n" \
	"mov 512(%rdi), %eax\n"  \
	"mov 512(%rdi), %eax\n"

static const struct load {
	u64 data3;
	u32 source, latency;
	u32 offset;
	const char *what;
} loads[] = {
	{ MISS | L2_MISS, FROM_RAM, LATENCY_RAM, 0, "the first of a line: RAM" },
	{ MISS | L2_MISS, FROM_RAM, LATENCY_RAM, 512, "of another: RAM" },
	{ MISS | L2_MISS, FROM_RAM, LATENCY_RAM, 1024, "of a third: RAM" },
	{ MISS, 0, LATENCY_L2, 0, "the third line in two ways of L1D: L2" },
	{ MISS | L2_MISS, FROM_RAM, LATENCY_RAM, 1536, "of a fourth: RAM" },
	{ MISS | L2_MISS, FROM_RAM, LATENCY_RAM, 2048, "of a fifth: RAM" },
	{ MISS | L2_MISS, FROM_CACHE, LATENCY_L3, 512, "the fifth line in four ways of L2: L3" },
	{ 0, 0, 0, 512, "again: L1D" },
};
#define LOADS (sizeof(loads) / sizeof(loads[0]))

/* What a sample of this load of lines at `from` says. */
static void expect_load(const struct load *l, u64 from, const char *where)
{
	report_eq(rdmsr(MSR_OP_DATA3),
		  LOAD | BYTES_4 | LINEAR | PHYSICAL | l->data3 | MISS_LATENCY(l->latency),
		  "%s: %s", where, l->what);
	report_eq(rdmsr(MSR_OP_DATA2), l->source, "%s: the source", where);
	report_eq(rdmsr(MSR_DC_LIN), from + l->offset, "%s: the address", where);
	report_eq(rdmsr(MSR_OP_DATA), LATENCY * (1 + l->latency), "%s: tag to retire", where);
}

/* ---- IBS's own model, at CPL 0 ---- */

asm(".pushsection .text\n"
    "ibs_loads:\n" EIGHT_LOADS "ret\n"
    ".popsection\n");

static u8 lines[PAGE_SIZE] __attribute__((aligned(PAGE_SIZE)));

/* IBS is switched on, which empties the model; then CALL, and the loads. */
static __attribute__((noinline, noclone)) void sample_load(u32 n)
{
	u64 ctl = OP_EN | OP_OPS | 1 | OP_COUNT(MAX - 1 - (n + 1));
	u32 low = (u32)ctl;

	wrmsr(MSR_OP_CTL, 0);
	asm volatile("wrmsr\n"
		     "call ibs_loads\n"
		     : "+a"(low)
		     : "c"(MSR_OP_CTL), "d"((u32)(ctl >> 32)), "D"(lines)
		     : "memory", "cc");
}

static void test_own(void)
{
	for (u32 n = 0; n < LOADS; n++) {
		sample_load(n);
		expect_load(&loads[n], (u64)lines, "its own model");
	}
	sample_load(0);
	report_eq(rdmsr(MSR_OP_DATA2), FROM_RAM, "the first line is in RAM each time");
	wrmsr(MSR_OP_CTL, 0);
}

/* ---- The same for counters, at CPL 3 ---- */

extern char ibs_counted[];
USER_CODE("ibs_counted:\n" EIGHT_LOADS "user_exit\n");

static void test_counters(struct lwp *l)
{
	/* Requests of data to L2, of code, data that misses L2, code; what the first loads count, the same again. */
	static const u64 events[][3] = {
		{ 0xc860, 7, 6 }, { 0x1060, 0, 0 }, { 0x0964, 6, 4 }, { 0x0164, 0, 0 }
	};

	lwp_map(l, kernel_cr3());
	for (u32 i = 0; i < 2 * sizeof(events) / sizeof(events[0]); i++) {
		if (i % 2 == 0)
			wrmsr(MSR_OP_CTL, OP_EN); /* empties the model */
		wrmsr(MSR_OP_CTL, 0);
		report_eq(pmu_counted(events[i / 2][0] | PERF_USR, ibs_counted),
			  events[i / 2][1 + i % 2], "counter %u of the model", i);
	}
	as_map(l->cr3, DATA_VA, APIC_BASE, 1, PAGE_USER_RW | PTE_PCD | PTE_PWT);
	report_eq(pmu_counted(events[0][0] | PERF_USR, ibs_counted), 0, "loads of a device");
}

/* ---- LWP's model, at CPL 3 ---- */

#define BEFORE 1000u /* NOPs, so that a count of 2,048 ops from CPL 0 ends after the loads */
#define REST 1500u

extern char ibs_walk[], ibs_walk_loads[], ibs_walk_rest[];
USER_CODE("ibs_walk: llwpcb %rax\n"
	  ".fill 1000, 1, 0x90\n"
	  "ibs_walk_loads:\n" EIGHT_LOADS "slwpcb %rbx\n"
	  "ibs_walk_rest: .fill 1500, 1, 0x90\n"
	  "user_exit\n");
/* Numbers of the instructions: LLWPCB is 0. */
#define FIRST_LOAD (1 + BEFORE)
#define FIRST_REST (FIRST_LOAD + LOADS + 1)

/* Lengths of the loads, whose addresses the records have. */
static const u32 length[LOADS] = { 2, 6, 6, 2, 6, 6, 6, 6 };

static u64 load_at(u32 n)
{
	u64 at = (u64)ibs_walk_loads;

	for (u32 i = 0; i < n; i++)
		at += length[i];
	return at;
}

static struct rec miss_of(u32 n)
{
	static const u16 source[LOADS] = {
		RAM_HIT, RAM_HIT, RAM_HIT, 0, RAM_HIT, RAM_HIT, L3_HIT, 0
	};

	return (struct rec){
		.id = EV_DME,
		.flags = (u16)(source[n] | DAV),
		.data1 = loads[n].latency,
		.address = load_at(n),
		.data2 = DATA_VA + loads[n].offset,
	};
}

/* The walk, with a sample whose count begins at `count`; no LWP without a block. Result: where the sample is. */
static __attribute__((noinline, noclone)) u64 walk(struct lwp *l, const struct block *b, bool lwp,
						   u32 count)
{
	lwp_prepare(l, b, ibs_walk);
	if (!lwp)
		l->u.r.rax = 0;
	wrmsr(MSR_OP_CTL, OP_EN | OP_OPS | 128 | OP_COUNT(count)); /* after 2,048 ops */
	user_run(&l->u);
	wrmsr(MSR_OP_CTL, 0);
	return rdmsr(MSR_OP_RIP);
}

/* Each load is the sample, while each miss, or each third, has a record. */
static void test_shared(struct lwp *l)
{
	static const struct block each = { .event = { { EV_DME, 0, 0 } } };
	u64 rest = walk(l, &each, true, 0);
	u32 first = (u32)(rest - (u64)ibs_walk_rest) + FIRST_REST;

	report(first >= FIRST_REST && first < FIRST_REST + REST, "a sample after the loads");
	for (u32 n = 0; n < LOADS; n++) {
		u32 count = first - (FIRST_LOAD + n);

		report_eq(walk(l, &each, true, count), load_at(n), "load %u is the sample", n);
		expect_load(&loads[n], DATA_VA, "LWP's model");
		EXPECT_RECORDS(l, "the records beside it", miss_of(0), miss_of(1), miss_of(2),
			       miss_of(3), miss_of(4), miss_of(5), miss_of(6));
		report_eq(walk(l, EVENT(EV_DME, 2, 2), true, count), load_at(n),
			  "a sample where few are due");
		expect_load(&loads[n], DATA_VA, "every third");
		EXPECT_RECORDS(l, "every third record beside it", miss_of(2), miss_of(5));
	}
	walk(l, &each, false, first - FIRST_LOAD);
	report_eq(rdmsr(MSR_OP_DATA3), LOAD | BYTES_4 | LINEAR | PHYSICAL,
		  "while LWP is off no load misses");
}

/* ---- A model for each ---- */

#define SAMPLES 64u
enum { WITH_IBS = 1, WITH_LWP = 2 };

extern char ibs_stream[];

/* Loads of which some miss, also with the stack, a string and an area. */
USER_CODE("ibs_stream: llwpcb %rax\n"
	  "mov $600, %ebx\n"
	  "xor %esi, %esi\n"
	  "mov %rdi, %rbp\n"
	  "fxsave 0x1800(%rbp)\n"
	  "1: mov (%rbp,%rsi), %edx\n"
	  "add 64(%rbp,%rsi), %edx\n"
	  "push %rdx\n"
	  "mov (%rbp,%rsi), %edx\n"
	  "pop %rdx\n"
	  "add $1088, %esi\n"
	  "and $0xfff, %esi\n"
	  "mov $3, %ecx\n"
	  "lea (%rbp,%rsi), %rdi\n"
	  "xchg %rsi, %rdi\n"
	  "rep lodsq\n"
	  "mov %rdi, %rsi\n"
	  "fxrstor 0x1800(%rbp)\n"
	  "dec %ebx\n"
	  "jnz 1b\n"
	  "flush_exit\n");

static struct streams {
	u32 samples, misses, hits;
	struct sample {
		u64 rip, data, data2, data3, address;
	} sample[SAMPLES];
	u32 records;
	u8 ring[64 * RECORD_SIZE];
} alone, now;

static u64 again;

static void on_sample(struct regs *r)
{
	struct sample *s = &now.sample[now.samples];

	if (now.samples < SAMPLES) {
		now.samples++;
		*s = (struct sample){ rdmsr(MSR_OP_RIP), rdmsr(MSR_OP_DATA), rdmsr(MSR_OP_DATA2),
				      rdmsr(MSR_OP_DATA3), rdmsr(MSR_DC_LIN) };
	}
	wrmsr(MSR_OP_CTL, again);
}

static void record(struct lwp *l, u32 with)
{
	memset(&now, 0, sizeof(now));
	lwp_prepare(l, EVENT(EV_DME, 198, 198), ibs_stream);
	if (!(with & WITH_LWP))
		l->u.r.rax = 0;
	again = with & WITH_IBS ? OP_EN | OP_OPS | 9 : 0;
	wrmsr(MSR_OP_CTL, again);
	lwp_resume(l);
	wrmsr(MSR_OP_CTL, 0);
	for (u32 n = 0; n < now.samples; n++) {
		now.misses += now.sample[n].data3 & MISS ? 1 : 0;
		now.hits += (now.sample[n].data3 & (MISS | LOAD)) == LOAD;
	}
	if (with & WITH_LWP) {
		now.records = cb_head(l) / RECORD_SIZE;
		memcpy(now.ring, l->ring, sizeof(now.ring));
	}
}

static void test_together(struct lwp *l)
{
	irq_set_handler(VEC_NMI, on_sample);
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_NMI);
	record(l, WITH_LWP);
	memcpy(alone.ring, now.ring, sizeof(now.ring));
	alone.records = now.records;
	record(l, WITH_IBS);
	memcpy(alone.sample, now.sample, sizeof(now.sample));
	alone.samples = now.samples;
	report(now.misses > 5 && now.hits > 5, "%u samples missed, %u hit", now.misses, now.hits);
	record(l, WITH_IBS | WITH_LWP);
	apic_write(APIC_EXT_LVT(IBS_LVT), LVT_MASKED);
	report(alone.records > 20 && alone.records < DEFAULT_RECORDS, "%u records", alone.records);
	report_eq(now.samples, alone.samples, "samples beside records of misses: as many");
	report(!memcmp(now.sample, alone.sample, sizeof(now.sample)),
	       "which say the same of each load");
	report_eq(now.records, alone.records, "records beside samples: as many");
	report(!memcmp(now.ring, alone.ring, sizeof(now.ring)), "byte for byte");
}

/* ---- IBS's model while a sample waits ---- */

#define LINES 64u /* one in each set of L1D, some of which the kernel does not use */

extern char ibs_pause[], ibs_pause_loads[], ibs_pause_rest[];
USER_CODE("ibs_pause: llwpcb %rax\n"
	  "mov (%rdi), %edx\n"
	  "user_exit\n"
	  ".fill 1000, 1, 0x90\n"
	  "ibs_pause_loads:\n"
	  "mov (%rdi), %edx\n"
	  "mov (%rdi), %edx\n"
	  "slwpcb %rbx\n"
	  "ibs_pause_rest: .fill 1500, 1, 0x90\n"
	  "user_exit\n");
#define SECOND_LOAD (BEFORE + 1) /* number of the instruction after the first exit */
#define PAUSE_REST (SECOND_LOAD + 2)

/* LWP sees a load while IBS waits with a sample; then IBS samples, its count beginning at `count`. */
static __attribute__((noinline, noclone)) u64 paused(struct lwp *l, u32 line, u32 count)
{
	lwp_prepare(l, EVENT(EV_DME, 1000, 1000), ibs_pause);
	l->u.r.rdi = DATA_VA + line * 64;
	wrmsr(MSR_OP_CTL, OP_EN | OP_VAL | OP_OPS | 128);
	user_run(&l->u);
	wrmsr(MSR_OP_CTL, OP_EN | OP_OPS | 128 | OP_COUNT(count));
	user_run(&l->u);
	wrmsr(MSR_OP_CTL, 0);
	return rdmsr(MSR_OP_RIP);
}

static void test_paused(struct lwp *l)
{
	u32 first = (u32)(paused(l, 0, 0) - (u64)ibs_pause_rest) + PAUSE_REST, wrong = 0;

	for (u32 n = 0; n < LINES; n++) {
		u64 at = paused(l, n, first - SECOND_LOAD);

		wrong += at != (u64)ibs_pause_loads + 2 ||
			 rdmsr(MSR_OP_DATA3) != (LOAD | BYTES_4 | LINEAR | PHYSICAL);
	}
	report_eq(wrong, 0,
		  "the second of two loads hits, though LWP knew the line before the first");
}

/* ---- LWP's model beside loads at CPL 0 ---- */

extern char ibs_kernel[], ibs_kernel_load[];
USER_CODE("ibs_kernel: llwpcb %rax\n"
	  "user_exit\n"
	  "ibs_kernel_load: mov (%rdi), %edx\n"
	  "flush_exit\n");

/* IBS sees a load at CPL 0 of a line that LWP does not know. */
static void test_kernel(struct lwp *l)
{
	u32 records = 0;

	for (u32 n = 0; n < LINES; n++) {
		u64 at = DATA_VA + n * 64;

		lwp_prepare(l, EVENT(EV_DME, 0, 0), ibs_kernel);
		l->u.r.rdi = at;
		wrmsr(MSR_OP_CTL, OP_EN | OP_OPS | 0xffff);
		user_run(&l->u);
		*(volatile u32 *)at;
		lwp_resume(l);
		wrmsr(MSR_OP_CTL, 0);
		records += cb_head(l) == RECORD_SIZE && ring_record(l, 0).data2 == at &&
			   ring_record(l, 0).address == (u64)ibs_kernel_load;
	}
	report_eq(records, LINES, "each load misses, though IBS knew the line from CPL 0");
}

FLAT_TEST(pmu_ibs_cache)
{
	struct lwp l;

	if (option_is("model", "lwp")) {
		lwp_init(&l);
		test_shared(&l);
	} else if (option_is("model", "both")) {
		lwp_init(&l);
		test_own();
		test_together(&l);
	} else if (option_is("model", "paused")) {
		lwp_init(&l);
		test_paused(&l);
		test_kernel(&l);
	} else {
		test_own();
		test_counters(&l);
	}
}
