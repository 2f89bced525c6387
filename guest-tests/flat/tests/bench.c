// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A load for flatbench: mixed integer code at CPL 3 (checksum, sorting, pointer chase, matrix), the same
 * instructions at every run. rounds=N says how much; interval=N profiles it (0: LWP is not touched, so it
 * also runs without), event=2|3 says what is counted, event=5 both. No ring is ever full: it is continuous. Other
 * loads: beside=1, stores into the page of the code that makes them; threads=N, switches between N threads, profiled
 * if interval=N; spread=1, code of 10,000 loops. counter=EVENT: a counter counts it, in all modes; lbr=1: branches
 * are recorded.
 */
#include "lwp_fixture.h"
#include "paging.h"
#include "pmu.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#ifdef __clang__
#define USER __attribute__((section(".utext"), noinline))
#else
#define USER \
	__attribute__((section(".utext"), noinline, optimize("no-tree-loop-distribute-patterns")))
#endif

#define WORDS 256
#define SIDE 12
/* Fits into the data pages. */
struct load {
	u32 word[WORDS];
	u32 next[WORDS];
	u32 a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
};

extern char bench_plain[], bench_profiled[];
/* rax = block, rdi = data, rsi = rounds; the sum comes back in rax. */
USER_CODE("bench_profiled: llwpcb %rax\n"
	  "bench_plain: call bench_rounds\n"
	  "user_exit\n");

u64 bench_rounds(struct load *l, u64 rounds);

static USER u32 checksum(const struct load *l)
{
	u32 crc = ~0u;

	for (int i = 0; i < WORDS; i++) {
		crc ^= l->word[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
	}
	return crc;
}

static USER void sort(struct load *l)
{
	for (int i = 1; i < 64; i++) {
		u32 key = l->word[i];
		int j = i - 1;

		for (; j >= 0 && l->word[j] > key; j--)
			l->word[j + 1] = l->word[j];
		l->word[j + 1] = key;
	}
}

static USER u32 chase(const struct load *l, u32 at)
{
	u32 sum = 0;

	for (int i = 0; i < 4 * WORDS; i++) {
		sum += l->word[at];
		at = l->next[at];
	}
	return sum;
}

static USER u32 multiply(struct load *l)
{
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			u32 sum = 0;

			for (int k = 0; k < SIDE; k++)
				sum += l->a[i][k] * l->b[k][j];
			l->c[i][j] = sum;
		}
	return l->c[3][5];
}

__attribute__((section(".utext"))) u64 bench_rounds(struct load *l, u64 rounds)
{
	u32 seed = 1, sum = 0;

	while (rounds--) {
		for (int i = 0; i < WORDS; i++) {
			seed = seed * 1664525 + 1013904223;
			l->word[i] = seed;
			l->next[i] = (u32)(i * 197 + 31) % WORDS;
			l->a[i % SIDE][i / SIDE % SIDE] = seed >> 7;
			l->b[i % SIDE][i / SIDE % SIDE] = seed >> 9;
		}
		sum += checksum(l) + chase(l, sum % WORDS) + multiply(l);
		sort(l);
	}
	return sum;
}

#define STORES_A_ROUND 64
#define BESIDE 0x800 /* where it stores, in the page */
extern char bench_stores[], bench_stores_end[];
/* rdi = where, rsi = rounds. */
USER_CODE("bench_stores: mov $64, %ecx\n"
	  "1: incl (%rdi)\n"
	  "dec %ecx\n"
	  "jnz 1b\n"
	  "dec %rsi\n"
	  "jnz bench_stores\n"
	  "user_exit\n"
	  "bench_stores_end:\n");

static void stores_beside_code(u32 rounds)
{
	u8 *page = as_alloc(kernel_cr3(), USER_BASE, 1, PAGE_USER_RW);
	struct user u;

	memcpy(page, bench_stores, (size_t)(bench_stores_end - bench_stores));
	user_init64(&u, USER_BASE, 0);
	u.r.rdi = USER_BASE + BESIDE;
	u.r.rsi = rounds;
	user_run(&u);
	report(user_exited(&u), "the stores were made to the end");
	report_eq(*(u32 *)(page + BESIDE), STORES_A_ROUND * rounds, "each store was made");
}

/* The counters at first are those of a whole interval. */
static struct block profile(u32 interval, u32 event)
{
	struct block b = { .flags = LWP_F_CONT,
			   .size = RING_PAGES * PAGE_SIZE,
			   .event = { { (u8)event, interval - 1, interval - 1 } } };

	if (event == EV_IRE + EV_BRE) {
		b.event[0].id = EV_IRE;
		b.event[1] = b.event[0];
		b.event[1].id = EV_BRE;
	}
	return b;
}

/*
 * A pass is SPREAD_INSNS instructions, 64 in a loop. At an interval of a 64th of them the same 64 are due in each
 * pass; at one more, some in 64 other loops, up to all.
 */
#define SPREAD_LOOPS 10000u
#define SPREAD_PADDING 60
#define SPREAD_INSNS (SPREAD_LOOPS * 64 + SPREAD_PADDING + 4)
#define ROUNDS_A_PASS 375
_Static_assert(SPREAD_INSNS % 64 == 0 && SPREAD_INSNS / 64 == 10001,
	       "bench tcg has these intervals");
extern char bench_loop[], bench_loop_end[], bench_spread[], bench_spread_profiled[];
/* rdi = the loops, rsi = passes. */
USER_CODE("bench_loop: mov $9, %ecx\n"
	  "1: .rept 5\n"
	  "add %ecx, %eax\n"
	  ".endr\n"
	  "dec %ecx\n"
	  "jnz 1b\n"
	  "bench_loop_end:\n"
	  "bench_spread_profiled: llwpcb %rax\n"
	  "bench_spread: call *%rdi\n"
	  "dec %rsi\n"
	  "jnz bench_spread\n"
	  "user_exit\n");

static void spread(u32 rounds, u32 interval)
{
	u32 size = (u32)(bench_loop_end - bench_loop);
	u32 bytes = SPREAD_LOOPS * size + SPREAD_PADDING + 1;
	struct block b = profile(interval, EV_IRE);
	struct lwp l;
	u8 *code;

	lwp_map(&l, kernel_cr3());
	code = as_alloc(l.cr3, THREADS_VA, bytes / PAGE_SIZE + 1, PAGE_USER_RW);
	for (u32 i = 0; i < SPREAD_LOOPS; i++)
		memcpy(code + i * size, bench_loop, size);
	memset(code + SPREAD_LOOPS * size, 0x90, SPREAD_PADDING);
	code[bytes - 1] = 0xc3;
	if (interval) {
		lwp_enable();
		block_write(&l, &b);
	}
	user_init64(&l.u, (u64)(interval ? bench_spread_profiled : bench_spread), STACK_TOP);
	l.u.r.rax = CB_VA;
	l.u.r.rdi = THREADS_VA;
	l.u.r.rsi = rounds / ROUNDS_A_PASS + 1;
	lwp_resume(&l);
	if (interval)
		lwp_stop();
	report(!l.u.r.rsi, "all passes were made");
}

#define SWITCHES_A_ROUND 16

extern char bench_start[], bench_switched[];
/* rax = block of the thread. */
USER_CODE("bench_start: llwpcb %rax\n"
	  "bench_switched: mov (%rax), %rcx\n"
	  "user_exit\n");

static void switches(u32 threads, u32 rounds, u32 interval)
{
	u8 *area = (u8 *)phys_alloc(threads * THREAD_SIZE / PAGE_SIZE + 1, PAGE_SIZE);
	u32 i = 0;
	struct lwp l;

	lwp_map(&l, kernel_cr3());
	as_map(kernel_cr3(), THREADS_VA, (u64)area, threads * THREAD_SIZE / PAGE_SIZE + 1,
	       PAGE_USER_RW);
	if (interval) {
		lwp_enable();
		for (u32 thread = 0; thread < threads; thread++)
			lwp_start_thread(&l, area, thread, interval - 1, bench_start);
	}
	for (u32 n = rounds * SWITCHES_A_ROUND; n; n--) {
		wrmsr(MSR_FS_BASE, FS_OF(i));
		user_init64(&l.u, (u64)bench_switched, STACK_TOP);
		l.u.r.rax = THREAD_VA(i);
		user_run(&l.u);
		i = i + 1 < threads ? i + 1 : 0;
	}
	report(user_exited(&l.u), "the threads ran");
	if (interval) {
		wrmsr(MSR_FS_BASE, FS_OF(0));
		report_eq(lwp_touch(), THREADS_VA, "the first thread is profiled at the end");
	}
}

#define JIT_VA (USER_BASE + 0x100000)
#define JIT_PAGES 8
#define JIT_SLOT 64u

extern char bench_jit[], bench_jit_profiled[];
/* rdi = a slot of the first page, rsi = rounds; r8d = the sum of what the functions return. */
USER_CODE("bench_jit_profiled: llwpcb %rax\n"
	  "bench_jit: mov %esi, %ebx\n"
	  "and $7, %ebx\n"
	  "shl $12, %ebx\n"
	  "add %rdi, %rbx\n"
	  "movb $0xb8, (%rbx)\n" /* mov $imm32, %eax; ret */
	  "mov %esi, 1(%rbx)\n"
	  "movb $0xc3, 5(%rbx)\n"
	  "call *%rbx\n"
	  "add %eax, %r8d\n"
	  "dec %esi\n"
	  "jnz bench_jit\n"
	  "user_exit\n");

static u32 jit_rounds, jit_interval;
static u8 *jit_areas;
static u32 jit_sum[MAX_CPUS];

/* On each processor: a thread of its own, with a stack, a block and a ring. */
static void write_and_execute(void *unused)
{
	u32 cpu = cpu_index();
	struct block b = { .flags = LWP_F_CONT,
			   .base = THREAD_VA(cpu) + THREAD_RING,
			   .size = 32 * RECORD_SIZE,
			   .event = { { EV_IRE, jit_interval - 1, jit_interval - 1 } } };
	struct lwp l = { .cr3 = kernel_cr3(), .cb = jit_areas + cpu * THREAD_SIZE };

	user_init64(&l.u, (u64)(jit_interval ? bench_jit_profiled : bench_jit),
		    THREAD_VA(cpu) + THREAD_RING);
	wrmsr(MSR_FS_BASE, FS_OF(cpu));
	if (jit_interval)
		block_write(&l, &b);
	l.u.r.rax = THREAD_VA(cpu);
	l.u.r.rdi = JIT_VA + cpu * JIT_SLOT;
	l.u.r.rsi = jit_rounds;
	lwp_resume(&l);
	jit_sum[cpu] = (u32)l.u.r.r8;
}

static void jit(u32 rounds, u32 interval)
{
	u32 pages = MAX_CPUS * THREAD_SIZE / PAGE_SIZE;

	jit_areas = as_alloc(kernel_cr3(), THREADS_VA, pages, PAGE_USER_RW);
	as_alloc(kernel_cr3(), JIT_VA, JIT_PAGES, PAGE_USER_RW);
	jit_rounds = rounds / smp_count() + 1;
	jit_interval = interval;
	if (interval)
		lwp_enable();
	smp_start();
	for (u32 cpu = 1; cpu < smp_count(); cpu++)
		smp_run(cpu, write_and_execute, NULL);
	write_and_execute(NULL);
	for (u32 cpu = 1; cpu < smp_count(); cpu++)
		smp_wait(cpu);
	for (u32 cpu = 0; cpu < smp_count(); cpu++)
		report_eq(jit_sum[cpu], (u32)((u64)jit_rounds * (jit_rounds + 1) / 2),
			  "each function was executed as it was written");
}

static void start_counters(void)
{
	u32 event = option_number("counter", 0);

	if (event)
		pmu_start(0, event | PERF_USR | PERF_OS, 0);
	if (option_number("lbr", 0))
		wrmsr(MSR_DBG_EXTN_CFG, LBRV2EN);
}

FLAT_TEST(bench)
{
	u32 interval = option_number("interval", 0), event = option_number("event", EV_IRE);
	struct block b = profile(interval, event);
	struct lwp l;

	if (option_number("beside", 0)) {
		stores_beside_code(option_number("rounds", 1));
		return;
	}
	if (option_number("spread", 0)) {
		spread(option_number("rounds", 1), interval);
		return;
	}
	if (option_number("threads", 0)) {
		switches(option_number("threads", 0), option_number("rounds", 1), interval);
		return;
	}
	if (option_number("jit", 0)) {
		jit(option_number("rounds", 1), interval);
		return;
	}
	start_counters();
	_Static_assert(sizeof(struct load) <= DATA_PAGES * PAGE_SIZE, "data pages hold the load");
	if (interval) {
		lwp_init(&l);
		lwp_prepare(&l, &b, bench_profiled);
	} else {
		lwp_map(&l, kernel_cr3());
		user_init64(&l.u, (u64)bench_plain, STACK_TOP);
		l.u.r.rdi = DATA_VA;
	}
	l.u.r.rsi = option_number("rounds", 1);
	user_run(&l.u);
	if (interval)
		lwp_stop();
	report(user_exited(&l.u), "the load ran to its end");
	report_note("sum %lx", l.u.r.rax);
}
