// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init of a guest that is migrated while it runs: four processes of two threads each profile known code, over
 * and over, and check each round: the numbers that LWPINS gives have no gap, every record lies in the code
 * that was profiled, the numbers of instructions and branches are the program's. With the argument "plain" they
 * do as much without LWP; with "short" a round is 10,000 times shorter, for a guest that is stepped. A line for
 * each round, "P.T ROUND ok" or the error, goes to the serial port.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "known.h"
#include "lwptest.h"

#define PROCESSES 4
#define THREADS 2
#define RECORDS 8192 /* of the ring: more than a round gives */

static int serial;
static bool plain; /* no LWP */
/* Of a round: numbers that LWPINS gives, turns of the loop between two */
static unsigned int numbers = 2000, turns = 1500;
static int32_t shorter = 1; /* intervals by so much */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vdprintf(serial, format, args) < 0)
		_exit(1);
	va_end(args);
}

/* What a thread profiles, different for each. */
struct thread {
	int process, number;
	int32_t ire, bre; /* intervals */
};

static uint8_t *slot(const struct lwptest *t, unsigned int event)
{
	return t->block + LWP_CB_EVENT_OFFSET + (event - 1) * LWP_CB_SLOT_SIZE;
}

/* Events that have been counted, by the records of them and by what the counter has left. */
static int64_t counted(const struct lwptest *t, unsigned int event, uint32_t records)
{
	int32_t interval = (int32_t)lwp_get32(slot(t, event) + LWP_CB_SLOT_INTERVAL);
	int32_t left = lwp_sext26(lwp_get32(slot(t, event) + LWP_CB_SLOT_COUNTER));

	return (int64_t)records * (interval + 1) + interval - left;
}

/* One round; the error, or "ok". */
static const char *round_of(const struct thread *me, char *text, size_t size)
{
	uint32_t of[256] = { 0 };
	struct lwp_record rec;
	struct lwptest t;
	const char *wrong = NULL;

	lwptest_setup(&t, IRE, me->ire, me->ire, RECORDS);
	lwp_put32(t.block + LWP_CB_FLAGS, LWP_BIT(IRE) | LWP_BIT(BRE));
	lwp_put32(slot(&t, BRE) + LWP_CB_SLOT_INTERVAL, (uint32_t)me->bre);
	lwp_put32(slot(&t, BRE) + LWP_CB_SLOT_COUNTER, (uint32_t)me->bre);
	known_sequence(t.block, numbers, turns);
	for (uint64_t i = 0; i < lwptest_records(&t) && !wrong; i++) {
		lwptest_record(&t, i, &rec);
		if (rec.address < (uintptr_t)known_sequence_begin ||
		    rec.address >= (uintptr_t)known_sequence_end)
			wrong = "record outside its code";
		else if (rec.event_id == 255 && rec.data1 != of[255])
			wrong = "gap in the numbers";
		of[rec.event_id]++;
	}
	if (!wrong && of[255] != numbers)
		wrong = "numbers are missing at the end";
	if (!wrong && lwptest_missed(&t))
		wrong = "records were missed";
	if (!wrong && counted(&t, IRE, of[IRE]) != (int64_t)KNOWN_SEQUENCE(numbers, turns))
		wrong = "instructions";
	if (!wrong && counted(&t, BRE, of[BRE]) != (int64_t)KNOWN_SEQUENCE_BRANCHES(numbers, turns))
		wrong = "branches";
	if (wrong)
		snprintf(text, size,
			 "%s (%lld instructions, %lld branches, %u numbers, %llu missed)", wrong,
			 (long long)counted(&t, IRE, of[IRE]), (long long)counted(&t, BRE, of[BRE]),
			 of[255], (unsigned long long)lwptest_missed(&t));
	else
		snprintf(text, size, "ok");
	lwptest_free(&t);
	return text;
}

/* The same loops, and as much written memory, without LWP. */
static const char *plain_round(void)
{
	static _Thread_local uint8_t ring[RECORDS * LWP_RECORD_SIZE];

	for (unsigned int i = 0; i < numbers; i++) {
		for (volatile unsigned int turn = 0; turn < turns; turn++)
			;
		memset(ring + (size_t)i * 2 * LWP_RECORD_SIZE, (int)i, LWP_RECORD_SIZE);
	}
	return "ok";
}

static void *run(void *argument)
{
	const struct thread *me = argument;
	char text[120];

	for (unsigned int round = 1;; round++)
		say("%d.%d %u %s\n", me->process, me->number, round,
		    plain ? plain_round() : round_of(me, text, sizeof(text)));
	return NULL;
}

static _Noreturn void run_process(int process)
{
	struct thread threads[THREADS];
	pthread_t id;

	for (int i = 0; i < THREADS; i++) {
		threads[i] = (struct thread){ process, i,
					      (6000 + 1000 * process + 10 * i) / shorter,
					      (4000 + 700 * process + 10 * i) / shorter };
		if (i && pthread_create(&id, NULL, run, &threads[i]))
			_exit(1);
	}
	run(&threads[0]);
	_exit(0);
}

int main(int argc, char **argv)
{
	plain = argc > 1 && !strcmp(argv[1], "plain");
	if (argc > 1 && !strcmp(argv[1], "short")) {
		numbers /= 100;
		turns /= 100;
		shorter = 100;
	}
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) && access("/dev/ttyS0", W_OK))
		return 1;
	serial = open("/dev/ttyS0", O_WRONLY | O_NOCTTY);
	if (serial < 0)
		return 1;
	for (int i = 0; i < PROCESSES; i++) {
		if (!fork())
			run_process(i);
	}
	while (wait(NULL) > 0)
		say("a process has died\n");
	for (;;)
		pause();
}
