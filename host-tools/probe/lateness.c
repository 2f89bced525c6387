// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How late the interrupt of a counter of instructions comes. The guest runs a loop, and the interrupt sends a signal,
 * which ends KVM_RUN at the exit that the interrupt has caused. The counter counts until then: what is beyond the period
 * is the lateness in instructions. Cycles are counted beside it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "probe.h"

#define PERIOD 100000
#define BEYOND 1000000 /* instructions after which an interrupt is lost */
#define SIGNAL SIGRTMIN

static pthread_t thread;
static bool stopping;

static void *beside(void *word)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED))
		__atomic_fetch_add((u32 *)word, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

bool beside_start(int cpu, u32 *word)
{
	pthread_attr_t attr;
	cpu_set_t set;

	if (cpu < 0)
		return false;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof(set), &set);
	stopping = false;
	return !pthread_create(&thread, &attr, beside, word);
}

void beside_stop(void)
{
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

/* One turn with its counts: how many instructions late; -1: the interrupt did not come. */
static s32 turn(struct machine *m, int counter, const u8 *code, u64 period, u64 count[2])
{
	static const struct timespec now;
	u64 before[2];
	sigset_t set;
	int stop;

	sigemptyset(&set);
	sigaddset(&set, SIGNAL);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	machine_start(m, AT(code), AT_RING, (PERIOD + BEYOND) / LOOP);
	ioctl(counter, PERF_EVENT_IOC_PERIOD, &period);
	if (!counter_read(counter, before, 2))
		return -1;
	ioctl(counter, PERF_EVENT_IOC_REFRESH, 1);
	stop = machine_run(m);
	ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
	if (!counter_read(counter, count, 2))
		return -1;
	count[0] -= before[0];
	count[1] -= before[1];
	return stop == STOP_SIGNAL && count[0] >= period ? (s32)(count[0] - period) : -1;
}

static void measure(struct machine *m, int counter, const u8 *code, u32 turns, struct lateness *l)
{
	static s32 insns[TURNS], cycles[TURNS];
	u64 count[2], all[2] = { 0 }, before[2], after[2];
	u32 n = 0;

	for (u32 i = 0; i < turns; i++) {
		s32 late;

		machine_exits(m, before);
		/* Not always at the same place of the loop. */
		late = turn(m, counter, code, PERIOD + i % LOOP, count);
		machine_exits(m, after);
		l->lost += late < 0;
		l->interrupts += late >= 0;
		if (late < 0 ||
		    after[1] != before[1]) /* an interrupt of the host may have ended it before */
			continue;
		insns[n] = late;
		cycles[n++] = (s32)((u64)late * count[1] / count[0]);
		all[0] += count[0];
		all[1] += count[1];
	}
	if (!all[1])
		return;
	quantiles(insns, n, l->insns);
	quantiles(cycles, n, l->cycles);
	l->rate = (u32)((all[0] * 1000 + all[1] / 2) / all[1]);
}

const char *measure_lateness(struct machine *m, struct result *r, bool loaded)
{
	static const u8 *const codes[RUNS / 2] = { at_straight, at_chain, at_chase, at_branchy };
	int counter = counter_open(0xc0, PERIOD, -1), cycles = counter_open(0x76, 0, counter);
	struct f_owner_ex owner = { F_OWNER_TID, gettid() };
	sigset_t set;

	if (counter < 0 || cycles < 0)
		return "perf has no two counters for the lateness";
	sigemptyset(&set);
	sigaddset(&set, SIGNAL);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fcntl(counter, F_SETFL, O_ASYNC);
	fcntl(counter, F_SETSIG, SIGNAL);
	fcntl(counter, F_SETOWN_EX, &owner);
	for (int i = 0; i < RUNS / 2; i++)
		measure(m, counter, codes[i], r->turns, &r->late[2 * i + loaded]);
	close(cycles);
	close(counter);
	return r->late[loaded].rate ? NULL : "no interrupt of a counter came";
}
