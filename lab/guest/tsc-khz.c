// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The frequency of the TSC in kHz, which guests under TCG have, too, by the clock. A reading is the quickest of some, so
 * that one from which the processor was taken away does not count. On other machines there is none: it prints nothing.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>

struct reading {
	uint64_t tsc, ns;
};

static struct reading take(void)
{
	struct reading best = { 0 };
	uint64_t begin, took, least = UINT64_MAX;
	struct timespec now;

	for (int i = 0; i < 50; i++) {
		begin = __rdtsc();
		clock_gettime(CLOCK_MONOTONIC_RAW, &now);
		took = __rdtsc() - begin;
		if (took < least) {
			least = took;
			best.tsc = begin + took / 2;
			best.ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
		}
	}
	return best;
}
#endif

int main(void)
{
#ifdef __x86_64__
	struct reading first = take(), last;

	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	last = take();
	printf("%.0f\n", (double)(last.tsc - first.tsc) * 1e6 / (double)(last.ns - first.ns));
#endif
	return 0;
}
