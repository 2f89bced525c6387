// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Streams of records of the same code, for a comparison of what stores them: each record as a line of hexadecimal digits,
 * without CPU and time. Static, so that its code has the same addresses everywhere.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#include "lwptest.h"

#define RECORDS 20000
#define CORE 1 /* the byte of a record with the CPU */
#define TIME 24 /* where its time stamp begins */

enum { CNH = 5, RNH = 6 };

static volatile uint32_t sink;

static uint32_t add(uint32_t x)
{
	return x + 3;
}

static uint32_t shuffle(uint32_t x)
{
	return x ^ x << 7 ^ x >> 9;
}

static uint32_t (*const steps[])(uint32_t) = { add, shuffle };

static uint32_t fib(uint32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Calls by address, recursion, divisions, REP, SSE and system calls; marks, if they are on. */
static void work(void)
{
	static char from[300], to[300];
	uint32_t x = 1;

	for (uint32_t i = 0; i < 60; i++) {
		for (uint32_t k = 0; k < 50; k++)
			x = steps[x % 2](x);
		__lwpval32(x, i, 7);
		if (i % 20 == 0)
			__lwpins32(i, x, 9);
		__builtin_memcpy(to, from, x % sizeof(from));
		asm volatile("rep movsb" : : "D"(to), "S"(from), "c"(i) : "memory");
		x += fib(i % 9);
		sink = (uint32_t)((double)x * 1.5) / (i + 1);
		syscall(SYS_getppid);
	}
}

static void stream(const char *name, unsigned int event, int32_t interval)
{
	struct lwptest t;

	lwptest_setup(&t, event, interval, interval, RECORDS);
	__llwpcb(t.block);
	work();
	__llwpcb(NULL);
	printf("%s: %lu records, %lu missed\n", name, lwptest_records(&t), lwptest_missed(&t));
	for (uint64_t i = 0; i < lwptest_records(&t); i++) {
		uint8_t *record = t.ring + i * LWP_RECORD_SIZE;

		record[CORE] = 0;
		memset(record + TIME, 0, LWP_RECORD_SIZE - TIME);
		for (unsigned int byte = 0; byte < LWP_RECORD_SIZE; byte++)
			printf("%02x", record[byte]);
		printf("\n");
	}
	lwptest_free(&t);
}

int main(void)
{
	stream("each instruction", IRE, 0);
	stream("instructions", IRE, 96);
	stream("each branch", BRE, 0);
	stream("clocks", CNH, 112);
	stream("reference clocks", RNH, 130);
	stream("marks", VAL, 2);
	return 0;
}
