// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux's own perf on the performance counters of the processor: instructions and branches of CPL 3 are exact (what
 * a longer loop adds is known; far transfers, to which AMD's counters add interrupts, are taken off), and a sampling counter
 * gives its samples, each in the loop.
 */
#include <cpuid.h>

#include "perfring.h"

#define SHORT_LOOP 1000000ull
#define LONG_LOOP 3000000ull
#define PERIOD 99991ull
#define AMD_FAR_TRANSFERS 0xc6 /* interrupts included */
#define INTEL_FAR_BRANCHES 0x40c4

extern const uint8_t perf_loop_begin[], perf_loop_end[];
void perf_loop(uint64_t n);

static bool is_intel(void)
{
	unsigned int eax, ebx, ecx, edx;

	__cpuid(0, eax, ebx, ecx, edx);
	return ebx == signature_INTEL_ebx;
}

/* n turns of two instructions, one of them a branch. */
asm(".pushsection .text\n"
    ".globl perf_loop, perf_loop_begin, perf_loop_end\n"
    "perf_loop:\n"
    "perf_loop_begin:\n"
    "1: dec %rdi\n"
    "jnz 1b\n"
    "ret\n"
    "perf_loop_end:\n"
    ".popsection\n");

static int counter(uint32_t type, uint64_t config, uint64_t period, int group)
{
	return perf_counter((struct perf_event_attr){ .type = type,
						      .config = config,
						      .exclude_kernel = 1,
						      .exclude_hv = 1,
						      .sample_period = period,
						      .sample_type = PERF_SAMPLE_IP },
			    group);
}

static uint64_t value(int fd)
{
	uint64_t v;

	if (read(fd, &v, sizeof(v)) != sizeof(v))
		tap_error("cannot read a counter");
	return v;
}

struct counts {
	uint64_t instructions, branches, far;
};

static struct counts measure(uint64_t turns)
{
	int insns = counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, -1);
	int branches = counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0, insns);
	int far = counter(PERF_TYPE_RAW, is_intel() ? INTEL_FAR_BRANCHES : AMD_FAR_TRANSFERS, 0,
			  insns);
	struct counts c;

	if (insns < 0 || branches < 0 || far < 0)
		tap_error("perf_event_open refuses a group of three counters");
	ioctl(insns, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	perf_loop(turns);
	ioctl(insns, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	c = (struct counts){ value(insns), value(branches), value(far) };
	close(far);
	close(branches);
	close(insns);
	return c;
}

static void test_counting(void)
{
	struct counts a = measure(SHORT_LOOP), b = measure(LONG_LOOP);
	uint64_t turns = LONG_LOOP - SHORT_LOOP;

	tap(b.instructions - a.instructions == 2 * turns,
	    "instructions:u of a longer loop are exact");
	tap(b.branches - b.far - (a.branches - a.far) == turns,
	    "branches:u, less interrupts, of a longer loop are exact");
	tap_note("instructions %llu and %llu, branches %llu and %llu, of which far %llu and %llu",
		 (unsigned long long)a.instructions, (unsigned long long)b.instructions,
		 (unsigned long long)a.branches, (unsigned long long)b.branches,
		 (unsigned long long)a.far, (unsigned long long)b.far);
}

static void test_sampling(void)
{
	int fd = counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, PERIOD, -1);
	const struct perf_event_mmap_page *ring = perf_ring(fd);
	uint64_t at = 0, samples = 0, inside = 0, lost = 0;
	struct {
		struct perf_event_header h;
		uint64_t ip;
	} s;

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	perf_loop(LONG_LOOP);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (perf_next(ring, &at, &s, sizeof(s))) {
		if (s.h.type == PERF_RECORD_SAMPLE) {
			samples++;
			inside += s.ip >= (uintptr_t)perf_loop_begin &&
				  s.ip < (uintptr_t)perf_loop_end;
		}
		lost += s.h.type == PERF_RECORD_LOST || s.h.type == PERF_RECORD_THROTTLE;
	}
	tap_note("%llu samples, %llu in the loop, %llu losses", (unsigned long long)samples,
		 (unsigned long long)inside, (unsigned long long)lost);
	/* A few hundred instructions besides the loop's six million. */
	tap(!lost && samples == 2 * LONG_LOOP / PERIOD, "one sample for each period");
	tap(samples - inside <= 1, "the samples lie in the loop");
	close(fd);
}

int main(void)
{
	perf_need(counter(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0, -1),
		  "performance counters");
	test_counting();
	lwptest_any_rate();
	test_sampling();
	return tap_done();
}
