// SPDX-License-Identifier: MIT
/*
 * tracejit: a bytecode interpreter that LWP tells what to compile.
 *
 * A loop over a table is run slice by slice, each slice interpreted, and with the traces that come of LWP's samples.
 * What the table holds changes in four phases, and with it where the loop's branch goes. Where there is no LWP,
 * all is interpreted.
 *
 * Output: "slice N phase P interpreted T traced T compiled C dropped D", T in microseconds, C and D of this slice;
 * then the sums, of each phase too. Exit status 0 if the results are the same. picture.py draws it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "interpret.h"

#define PHASES 4u
#define SLICES_MAX 1000u
#define PASSES 64 /* over the table, a slice */
#define LIMIT 1000 /* values below go one way */

enum { I, N, LIMIT_REG, HASH, X, FACTOR, T, PASS, NR_PASSES };

/* Sums up, or hashes, the words of the table. */
static const struct insn code[] = {
	{ OP_SET, PASS, 0, 0, 0 },
	{ OP_SET, NR_PASSES, 0, 0, PASSES },
	{ OP_SET, N, 0, 0, MEMORY_WORDS },
	{ OP_SET, LIMIT_REG, 0, 0, LIMIT },
	{ OP_SET, FACTOR, 0, 0, 16777619 },
	{ OP_SET, I, 0, 0, 0 }, /* 5: a pass */
	{ OP_LOAD, X, I, 0, 0 }, /* 6: a word */
	{ OP_LESS, X, LIMIT_REG, 0, 12 },
	{ OP_MUL, HASH, HASH, FACTOR, 0 },
	{ OP_SHRI, T, X, 0, 7 },
	{ OP_XOR, HASH, HASH, T, 0 },
	{ OP_JUMP, 0, 0, 0, 14 },
	{ OP_ADD, HASH, HASH, X, 0 }, /* 12: a small one */
	{ OP_XOR, HASH, HASH, I, 0 },
	{ OP_ADDI, I, I, 0, 1 }, /* 14 */
	{ OP_LESS, I, N, 0, 6 },
	{ OP_ADDI, PASS, PASS, 0, 1 },
	{ OP_NOT_EQUAL, PASS, NR_PASSES, 0, 5 },
	{ OP_END, 0, 0, 0, 0 },
};
static const struct program program = { code, sizeof(code) / sizeof(code[0]) };

/* Percent of the words below LIMIT. */
static const unsigned int small[PHASES] = { 98, 2, 50, 98 };

struct sums {
	double interpreted, traced; /* microseconds */
};

static void fill(struct machine *m, unsigned int phase)
{
	uint64_t random = 88172645463325252u + phase;

	for (uint32_t i = 0; i < MEMORY_WORDS; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		m->memory[i] = (int64_t)(random >> 32) % LIMIT +
			       ((random >> 8) % 100 < small[phase] ? 0 : LIMIT);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* A slice both ways. A tracer that is NULL does nothing. */
static void run_slice(struct machine *plain, struct machine *traced, struct tracer *tracer,
		      struct sums *took)
{
	double begin = now();

	interpret(plain, &program);
	took->interpreted = now() - begin;
	if (!tracer)
		return;
	begin = now();
	interpret_traced(traced, tracer);
	took->traced = now() - begin;
}

static void print_slice(unsigned int i, unsigned int phase, const struct sums *took,
			const struct tracer *tracer, const struct tracer *before)
{
	printf("slice %u phase %u interpreted %.0f traced %.0f compiled %u dropped %u\n", i, phase,
	       took->interpreted, took->traced, tracer->compiled - before->compiled,
	       tracer->dropped - before->dropped);
}

static void print_sums(const struct sums *phases, const struct tracer *tracer)
{
	struct sums all = { 0 };

	for (unsigned int i = 0; i < PHASES; i++) {
		const struct sums *sums = &phases[i];

		printf("phase %u: %u%% of the words are small: %.2f times as fast\n", i, small[i],
		       sums->interpreted / sums->traced);
		all.interpreted += sums->interpreted;
		all.traced += sums->traced;
	}
	printf("interpreted %.0f us, traced %.0f us: %.2f times as fast, from %" PRIu64
	       " records\n",
	       all.interpreted, all.traced, all.interpreted / all.traced, tracer->records);
}

/* All slices. Returns whether both ways had the same result. */
static bool run_all(unsigned int nr, struct tracer *tracer)
{
	static struct machine plain, traced;
	struct sums phases[PHASES] = { 0 };

	for (unsigned int i = 0; i < nr; i++) {
		struct tracer before = tracer ? *tracer : (struct tracer){ 0 };
		unsigned int phase = i * PHASES / nr;
		struct sums took;

		if (!i || phase != (i - 1) * PHASES / nr) {
			fill(&plain, phase);
			fill(&traced, phase);
		}
		run_slice(&plain, &traced, tracer, &took);
		if (!tracer)
			continue;
		phases[phase].interpreted += took.interpreted;
		phases[phase].traced += took.traced;
		print_slice(i, phase, &took, tracer, &before);
	}
	printf("result %" PRId64 "\n", plain.r[HASH]);
	if (tracer)
		print_sums(phases, tracer);
	return !tracer || plain.r[HASH] == traced.r[HASH];
}

static unsigned int number(const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value < PHASES || value > SLICES_MAX) {
		fprintf(stderr, "usage: tracejit [SLICES]    (%u..%u)\n", PHASES, SLICES_MAX);
		exit(2);
	}
	return (unsigned int)value;
}

int main(int argc, char **argv)
{
	unsigned int nr = argc > 1 ? number(argv[1]) : 80;
	struct tracer tracer;
	int error = tracer_open(&tracer, &program);
	bool same;

	if (error)
		printf("tracejit: %s: everything is interpreted\n", lwp_strerror(error));
	same = run_all(nr, error ? NULL : &tracer);
	if (!error)
		tracer_close(&tracer);
	if (!same)
		fprintf(stderr, "tracejit: the results differ\n");
	return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
