// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How late the interrupt of an overflow comes, by a planted row. The counter keeps counting meanwhile, so the handler
 * reads how many instructions it was late. min= and max= on the command line: the bounds; lost=: one of so many never
 * comes; without them the sequence of `adversarial`.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "test.h"

#define PERIOD 10000ul
#define MAX_SEEN 400u
#define INSNS (PERF_INSNS | PERF_USR | PERF_INT)

extern char psk_loop[];

/* esi turns of two instructions. */
USER_CODE("psk_loop: dec %esi\n"
	  "jnz psk_loop\n"
	  "user_exit\n");

static u64 late[MAX_SEEN];
static u32 count;

static void on_nmi(struct regs *r)
{
	u64 now = rdmsr(MSR_PERF_CTR(0));

	if (count < MAX_SEEN)
		late[count] = now;
	count++;
	wrmsr(MSR_PERF_CTR(0), -PERIOD & PERF_MASK);
}

static void run(u32 turns)
{
	struct user u;

	count = 0;
	user_init64(&u, (u64)psk_loop, 0);
	u.r.rsi = turns;
	pmu_start(0, INSNS, -PERIOD);
	user_run(&u);
	pmu_stop(0);
}

static void test_bounds(u64 min, u64 max)
{
	u64 lowest = ~0ul, highest = 0;

	run(1000000);
	for (u32 i = 0; i < count && i < MAX_SEEN; i++) {
		if (late[i] < lowest)
			lowest = late[i];
		if (late[i] > highest)
			highest = late[i];
	}
	report_note("%u interrupts, %lu to %lu instructions late", count, lowest, highest);
	/* Two million instructions, at most PERIOD + max apart on the average of the distribution. */
	report(count >= 2000000 / (PERIOD + 6000), "interrupts come");
	report(lowest >= min, "none comes too early");
	report(highest <= max, "none comes too late");
	report(lowest != highest, "they differ");
}

static void test_adversarial(void)
{
	/* The first on time, the third 20000 late, the fourth 100 late and three more after it. */
	run(500000);
	report(count >= 7, "interrupts come");
	report_eq(late[0], 0, "the first is on time");
	report(late[1] >= 1202 && late[1] <= 86738, "the second is late");
	report_eq(late[2], 20000, "the third is very late");
	report_eq(late[3], 100, "the fourth is a little late");
	/* The handler has begun the next period. */
	report(late[4] > 1ul << 40 && late[5] > 1ul << 40 && late[6] > 1ul << 40,
	       "and is followed by three without an overflow");
	report_eq(count, 7, "the next waits for a #VMEXIT");
}

/* Nobody sets the counter again after an interrupt that does not come. */
static void test_lost(void)
{
	run(1000000);
	report_eq(late[0], 0, "interrupts come on time");
	report(count < 2000000 / PERIOD / 2, "until one does not");
}

FLAT_TEST(pmu_skid)
{
	u32 max = option_number("max", 0);

	irq_set_handler(VEC_NMI, on_nmi);
	apic_set_lvtpc(LVT_NMI);
	if (option_number("lost", 0))
		test_lost();
	else if (max)
		test_bounds(option_number("min", 0), max);
	else
		test_adversarial();
}
