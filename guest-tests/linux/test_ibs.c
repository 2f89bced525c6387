// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Linux's ibs_op on the processor's instruction-based sampling: the samples of a known loop name its instructions, each
 * as often as the others, and say of each what it is: branch, taken, return, load, store, width and address. The same of
 * ibs_fetch, whose samples have the address of the instruction.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "perfring.h"

#define TYPE "/sys/bus/event_source/devices/%s/type"
#define RANDOM_FETCH (1ull << 57)
#define FETCHED (3ull << 49) /* valid, complete */
#define FETCHED_PHYSICAL (1ull << 52)
#define COUNT_OPS (1u << 19)
#define PERIOD 64016u /* a multiple of 16; the processor draws the low bits */
#define TURNS 5000000ul

/* IBS_OP_DATA and IBS_OP_DATA3 */
#define RETURN (1ull << 34)
#define TAKEN (1ull << 35)
#define BRANCH (1ull << 37)
#define DATA_BITS (RETURN | TAKEN | BRANCH | 1ull << 36)
#define LOAD 1ull
#define STORE 2ull
#define LINEAR (1ull << 17)
#define BYTES_4 (3ull << 22)
#define BYTES_8 (4ull << 22)
#define DATA3_BITS (LOAD | STORE | LINEAR | 15ull << 22)

struct sample {
	struct perf_event_header h;
	uint64_t ip;
	uint32_t size, caps;
	union {
		struct {
			uint64_t ctl, rip, data, data2, data3, linear, physical, target;
		};
		struct {
			uint64_t ctl, linear, physical;
		} fetch;
	};
} __attribute__((packed));

extern const uint8_t ibs_1[], ibs_2[], ibs_3[], ibs_4[], ibs_5[], ibs_6[], ibs_7[], ibs_8[],
	ibs_9[];
void ibs_loop(uint64_t turns, uint64_t *memory);

asm(".pushsection .text\n"
    ".globl ibs_loop, ibs_1, ibs_2, ibs_3, ibs_4, ibs_5, ibs_6, ibs_7, ibs_8, ibs_9\n"
    "ibs_loop:\n"
    "ibs_1: mov (%rsi), %eax\n"
    "ibs_2: mov %rax, 8(%rsi)\n"
    "ibs_3: addl $1, 16(%rsi)\n"
    "ibs_4: call ibs_9\n"
    "ibs_5: jmp ibs_6\n"
    "nop\n"
    "ibs_6: dec %rdi\n"
    "ibs_7: js ibs_8\n"
    "ibs_8: jnz ibs_1\n"
    "ret\n"
    "ibs_9: ret\n"
    ".popsection\n");

#define ON_STACK (-1)
static const struct insn {
	const uint8_t *ip;
	uint64_t data, data3;
	int offset;
	const uint8_t *target;
} insns[] = {
	{ ibs_1, 0, LOAD | LINEAR | BYTES_4, 0, NULL },
	{ ibs_2, 0, STORE | LINEAR | BYTES_8, 8, NULL },
	{ ibs_3, 0, LOAD | STORE | LINEAR | BYTES_4, 16, NULL },
	{ ibs_4, BRANCH | TAKEN, STORE | LINEAR | BYTES_8, ON_STACK, ibs_9 },
	{ ibs_5, BRANCH | TAKEN, 0, 0, ibs_6 },
	{ ibs_6, 0, 0, 0, NULL },
	{ ibs_7, BRANCH, 0, 0, NULL },
	{ ibs_8, BRANCH | TAKEN, 0, 0, ibs_1 },
	{ ibs_9, BRANCH | TAKEN | RETURN, LOAD | LINEAR | BYTES_8, ON_STACK, ibs_5 },
};
#define INSNS (sizeof(insns) / sizeof(insns[0]))

static uint64_t memory[8];
static uint64_t seen[INSNS];

static int open_ibs(const char *pmu, uint64_t config)
{
	struct perf_event_attr attr = {
		.config = config,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_RAW,
	};
	char type[80];
	FILE *f;

	snprintf(type, sizeof(type), TYPE, pmu);
	f = fopen(type, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%u", &attr.type) != 1)
		tap_error("cannot read %s", type);
	fclose(f);
	return perf_counter(attr, -1);
}

static bool is_right(const struct sample *s, const struct insn *i)
{
	bool taken = i->data & TAKEN;

	return s->rip == s->ip && (s->data & DATA_BITS) == i->data &&
	       (s->data3 & DATA3_BITS) == i->data3 &&
	       (!i->data3 || i->offset == ON_STACK ||
		s->linear == (uintptr_t)memory + (uint64_t)i->offset) &&
	       (!taken || s->target == (uintptr_t)i->target);
}

/* Counts the samples of the loop. Result: how many are wrong. */
static uint64_t judge(const struct sample *s, bool fetches)
{
	for (size_t i = 0; i < INSNS; i++) {
		if (s->ip == (uintptr_t)insns[i].ip) {
			seen[i]++;
			if (fetches)
				return s->fetch.linear != s->ip ||
				       (s->fetch.ctl & (FETCHED | FETCHED_PHYSICAL)) !=
					       (FETCHED | FETCHED_PHYSICAL) ||
				       (s->fetch.physical ^ s->ip) % PERF_PAGE;
			if (is_right(s, &insns[i]))
				return 0;
			tap_note("ibs_%zu: data %llx, data3 %llx, address %llx, target %llx", i + 1,
				 (unsigned long long)s->data, (unsigned long long)s->data3,
				 (unsigned long long)s->linear, (unsigned long long)s->target);
			return 1;
		}
	}
	return 0;
}

static void test_samples(const struct perf_event_mmap_page *ring, bool fetches)
{
	uint64_t pos = 0, all = 0, wrong = 0, lost = 0, most = 0, least = UINT64_MAX;
	struct sample s;
	double mean;

	memset(seen, 0, sizeof(seen));
	while (perf_next(ring, &pos, &s, sizeof(s))) {
		if (s.h.type == PERF_RECORD_SAMPLE)
			wrong += judge(&s, fetches);
		else
			lost++;
	}
	for (size_t i = 0; i < INSNS; i++) {
		all += seen[i];
		most = seen[i] > most ? seen[i] : most;
		least = seen[i] < least ? seen[i] : least;
	}
	mean = (double)all / INSNS;
	tap_note(
		"%s: %llu samples of the loop, %llu to %llu of each instruction, %llu other records",
		fetches ? "fetches" : "ops", (unsigned long long)all, (unsigned long long)least,
		(unsigned long long)most, (unsigned long long)lost);
	tap(!wrong,
	    fetches ? "each fetch has its address" : "each sample says what its instruction is");
	/*
	 * A period begins in Linux's handler of the sample before, whose last instructions belong to it; the random
	 * bits shorten it by 64 on average.
	 */
	tap(all > TURNS * INSNS / PERIOD * 9 / 10, "there is a sample for each period");
	tap((double)most - mean < 5 * sqrt(mean) && mean - (double)least < 5 * sqrt(mean),
	    "each instruction is sampled as often as the others");
}

static void sample(const char *pmu, uint64_t config, bool fetches)
{
	int fd = open_ibs(pmu, config);
	const struct perf_event_mmap_page *ring = perf_ring(fd);

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	ibs_loop(TURNS, memory);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	test_samples(ring, fetches);
	close(fd);
}

int main(void)
{
	perf_need(open_ibs("ibs_op", COUNT_OPS), "IBS");
	lwptest_any_rate();
	sample("ibs_op", COUNT_OPS, false);
	sample("ibs_fetch", RANDOM_FETCH, true);
	return tap_done();
}
