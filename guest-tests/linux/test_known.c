// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Known code in one thread: every record is where the count says, also through faults and signals
 * (43724-701, 43724-712, 43724-821, 2007-701).
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "known.h"
#include "lwptest.h"

/* known_loop retires dec, jnz, dec, jnz, ..., xor: where the k-th instruction (from 0) lies. */
static uint64_t loop_address(uint64_t k, uint64_t n)
{
	uint64_t begin = (uintptr_t)known_loop_begin;

	/* jnz is 2 bytes */
	return k == 2 * n ? begin + KNOWN_DEC + 2 : begin + (k % 2 ? KNOWN_DEC : 0);
}

static void instruction_addresses(int32_t interval, int32_t counter, uint64_t n)
{
	struct lwptest t;
	uint64_t wrong = 0;

	lwptest_setup(&t, IRE, interval, counter, 65536);
	known_loop(t.block, n);
	lwptest_complete(&t, KNOWN_LOOP(n), "known loop");
	for (uint64_t i = 0; i < lwptest_records(&t); i++) {
		uint64_t k = (uint64_t)counter + i * ((uint64_t)interval + 1);
		struct lwp_record rec;

		lwptest_record(&t, i, &rec);
		wrong += rec.event_id != IRE || rec.address != loop_address(k, n);
	}
	tap(!wrong, "known loop: interval %d, each record names its instruction", interval);
	lwptest_free(&t);
}

static void branch_records(int32_t interval, uint64_t n)
{
	struct lwptest t;
	uint64_t wrong = 0, begin = (uintptr_t)known_loop_begin;

	lwptest_setup(&t, BRE, interval, interval, 65536);
	known_loop(t.block, n);
	lwptest_complete(&t, n, "branches of the known loop");
	for (uint64_t i = 0; i < lwptest_records(&t); i++) {
		bool last = (i + 1) * ((uint64_t)interval + 1) == n;
		struct lwp_record rec;

		lwptest_record(&t, i, &rec);
		wrong += rec.event_id != BRE || rec.address != begin + KNOWN_DEC ||
			 rec.flags != (last ? 0 : LWP_RECORD_TKN) ||
			 rec.data2 != (last ? begin + KNOWN_DEC + 2 : begin);
	}
	tap(!wrong, "branches: interval %d, address, TKN and target of each", interval);
	lwptest_free(&t);
}

static void rep_counts_once(void)
{
	static char from[64], to[64];
	struct lwptest t;

	lwptest_setup(&t, IRE, 6, 6, 65536);
	known_rep(t.block, 5000, to, from);
	lwptest_complete(&t, KNOWN_REP(5000), "REP MOVSB counts once");
	lwptest_inside(&t, known_rep_begin, known_rep_end, "REP MOVSB");
	lwptest_free(&t);
}

static void faulting_stores_count_once(void)
{
	const size_t pages = 2000;
	struct lwptest t;
	void *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		tap_error("no memory");
	lwptest_setup(&t, IRE, 2, 2, 65536);
	known_touch(t.block, memory, pages);
	lwptest_complete(&t, KNOWN_TOUCH(pages), "page faults in the middle");
	lwptest_inside(&t, known_touch_begin, known_touch_end, "page faults");
	lwptest_free(&t);
	munmap(memory, pages * 4096);
}

static void small_ring_misses(void)
{
	struct lwptest t;

	lwptest_setup(&t, IRE, 0, 0, 32);
	known_loop(t.block, 100000);
	tap(lwptest_records(&t) == 31, "a ring of 32 records holds 31");
	lwptest_complete(&t, KNOWN_LOOP(100000), "full ring");
	lwptest_free(&t);
}

/* Signals by the program's own time: handler and restorer are counted, the kernel between them is not. */
static void signals_are_counted(void)
{
	struct {
		void (*handler)(int signal);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { known_handler, SA_SIGINFO | 0x04000000 /* SA_RESTORER */, known_restorer, 0 };
	struct itimerval timer = { { 0, 500 }, { 0, 500 } }, off = { 0 };
	const uint64_t n = 1000000;
	struct lwptest t;
	uint64_t signals, turns = 0;

	if (syscall(SYS_rt_sigaction, SIGVTALRM, &action, NULL, 8))
		tap_error("no signal handler");
	lwptest_setup(&t, IRE, 9999, 9999, 65536);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	/* However fast the processor is: the kernel looks at the timer once a tick. */
	do {
		known_loop(t.block, n);
		turns++;
	} while (known_signals <= 10);
	setitimer(ITIMER_VIRTUAL, &off, NULL);
	signals = known_signals;
	lwptest_complete(&t, turns * KNOWN_LOOP(n) + signals * KNOWN_SIGNAL, "signals");
	lwptest_inside(&t, known_loop_begin, known_handler_end, "signals");
	lwptest_free(&t);
}

int main(void)
{
	lwptest_need(IRE);
	lwptest_need(BRE);
	instruction_addresses(0, 0, 20000);
	instruction_addresses(1, 0, 30000);
	instruction_addresses(2, 2, 30000);
	instruction_addresses(7, 3, 30000);
	instruction_addresses(996, 500, 3000000);
	branch_records(0, 30000);
	branch_records(4, 30000);
	branch_records(999, 3000000);
	rep_counts_once();
	faulting_stores_count_once();
	small_ring_misses();
	signals_are_counted();
	return tap_done();
}
