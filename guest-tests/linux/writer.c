// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ring of a thread changes while records are stored: another thread takes its page away and gives it back
 * (43724-815); the ring lies in a page with code that runs (43724-818).
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#include "known.h"
#include "lwptest.h"

#define ROUNDS 20000 /* of the thread that changes the mapping */
#define TURNS 300000
#define PAGE 4096
#define SIZE (256 * PAGE) /* of the ring, which never fills up */

extern const char __executable_start, etext;

static struct lwptest t;
static volatile sig_atomic_t faults, elsewhere;
static char stack[1 << 20]; /* of the handler, whose own instructions may fault, too */
static volatile int over;
static volatile bool gives_back; /* the handler makes the ring writable */
static pthread_mutex_t look =
	PTHREAD_MUTEX_INITIALIZER; /* at the ring, which does not change then */

/* The page is back soon, so the store is tried again. */
static void faulted(int number, siginfo_t *info, void *context)
{
	uint8_t *address = info->si_addr;

	(void)number;
	(void)context;
	if (address < t.ring || address >= t.ring + SIZE)
		_exit(3);
	if (gives_back)
		mprotect(t.ring, SIZE, PROT_READ | PROT_WRITE);
	faults++;
	elsewhere += (char *)&address < stack || (char *)&address >= stack + sizeof(stack);
}

static void *protect(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&look);
		mprotect(t.ring, SIZE, PROT_READ);
		mprotect(t.ring, SIZE, PROT_READ | PROT_WRITE);
		pthread_mutex_unlock(&look);
	}
	over = 1;
	return unused;
}

/* Other memory takes the place of the ring: what was stored is gone, the store is not lost half way. */
static void *replace(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&look);
		mmap(t.ring, SIZE, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
		pthread_mutex_unlock(&look);
	}
	over = 1;
	return unused;
}

/* Records that are not whole: of another event, or with an address outside of this program. */
static uint64_t torn(void)
{
	uint64_t bad = 0;

	for (uint64_t i = 0; i < lwptest_records(&t); i++) {
		struct lwp_record rec;

		lwptest_record(&t, i, &rec);
		bad += rec.event_id &&
		       (rec.event_id != IRE || rec.address < (uintptr_t)&__executable_start ||
			rec.address >= (uintptr_t)&etext);
	}
	return bad;
}

/* @exact: no handler runs, whose instructions would count, too. */
static void changed_meanwhile(void *(*change)(void *), const char *what, bool exact)
{
	pthread_t thread;
	uint64_t bad = 0;
	bool complete = true;

	over = 0;
	lwptest_setup(&t, IRE, 99, 99, SIZE / LWP_RECORD_SIZE);
	if (pthread_create(&thread, NULL, change, NULL))
		tap_error("no thread");
	while (!over) {
		known_loop(t.block, TURNS);
		complete &= lwptest_records(&t) + lwptest_missed(&t) == KNOWN_LOOP(TURNS) / 100;
		pthread_mutex_lock(&look);
		bad += torn();
		memset(t.ring, 0, SIZE);
		pthread_mutex_unlock(&look);
		lwp_put32(t.block + LWP_CB_HEAD, 0);
	}
	pthread_join(thread, NULL);
	tap(!bad, "%s: each record is whole", what);
	if (exact)
		tap(complete, "%s: none is lost", what);
	else
		tap(faults > 0 && !elsewhere, "%s: its handler runs on a stack of its own", what);
	lwptest_free(&t);
}

/* A function of a few bytes, in the page of the ring, behind its end. */
static void ring_beside_code(void)
{
	static const uint8_t code[] = { 0xff, 0xc7, 0x89, 0xf8,
					0xc3 }; /* inc %edi; mov %edi, %eax; ret */
	uint8_t *page;
	int sum = 0;

	lwptest_setup(&t, IRE, 0, 0, SIZE / LWP_RECORD_SIZE - 1);
	page = t.ring + SIZE - PAGE;
	mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(page + PAGE - sizeof(code), code, sizeof(code));
	__llwpcb(t.block);
	for (int i = 0; i < 20000; i++)
		sum = ((int (*)(int))(page + PAGE - sizeof(code)))(sum);
	__llwpcb(NULL);
	tap(sum == 20000, "a ring beside code: the code runs as it is (%d)", sum);
	tap(lwptest_records(&t) + lwptest_missed(&t) > 3 * 20000,
	    "a ring beside code: its instructions are recorded");
	lwptest_free(&t);
}

/* Its store is tried again where the handler returns, long before another event is due. */
static void tried_again_at_once(void)
{
	uint32_t head;

	lwptest_setup(&t, IRE, 10000000, 100, SIZE / LWP_RECORD_SIZE);
	mprotect(t.ring, SIZE, PROT_READ);
	gives_back = true;
	faults = 0;
	__llwpcb(t.block);
	for (volatile int i = 0; i < 1000; i++)
		;
	head = lwp_get32(t.block + LWP_CB_HEAD);
	__llwpcb(NULL);
	gives_back = false;
	tap(faults == 1 && head == LWP_RECORD_SIZE, "a record is stored where the handler returns");
	lwptest_free(&t);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = faulted,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
	stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };

	sigaltstack(&own, NULL);
	sigaction(SIGSEGV, &action, NULL);
	lwptest_need(IRE);
	changed_meanwhile(protect, "a ring that is protected meanwhile", false);
	changed_meanwhile(replace, "a ring that is replaced meanwhile", true);
	tried_again_at_once();
	ring_beside_code();
	return tap_done();
}
