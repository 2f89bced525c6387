// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * By how much the counters are ahead each time, place by place. A turn is one stay of the guest, or two, from where
 * OUT has stopped it before. What its code retires is known: an instruction counts at the CPL where it begins, an
 * interrupt or exception is a far transfer of the CPL that it leaves, and an intercepted instruction does not retire.
 *
 * A turn begins with the entry after OUT, so OUT is measured first and subtracted. What ends a stay at CPL 3 and what
 * begins the next one can be told apart only by a convention: an exit counts with the entry after it. INT n and SYSCALL
 * are subtracted where they lead to what is measured.
 */
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "probe.h"

#define NMI_PERIOD 2000
#define NMI_SPIN 0x10000 /* turns of the loop at at_spin in which a late NMI comes */
#define TICK 1000000 /* ns */

static struct machine *m;
static int counters, nmi;
static u32 spin = NMI_SPIN; /* turns of that loop in which one interrupt of the timer comes */

int counter_open(u32 event, u64 period, int group)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_RAW,
					.size = sizeof(attr),
					.config = event,
					.sample_period = period,
					.read_format = PERF_FORMAT_GROUP,
					.exclude_host = 1,
					.exclude_kernel = 1,
					.pinned = group < 0,
					.disabled = period != 0 };

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

bool counter_read(int group, u64 *count, u32 n)
{
	u64 got[1 + PMC_EVENTS];

	errno = EBUSY;
	if (read(group, got, sizeof(got)) != (ssize_t)((1 + n) * 8))
		return false;
	memcpy(count, got + 1, n * 8);
	return true;
}

static const struct piece {
	enum pmc_place place;
	const u8 *code;
	u8 insns, branches, far; /* what it retires at CPL 3, beside a loop */
	u8 exits; /* 0: any, at CPL 0 */
	u8 stop;
	u8 also; /* a place that is in it besides; PMC_OUT: none */
	u32 rsi;
	u32 debug;
} pieces[] = {
	{ PMC_OUT, at_out, 0, 0, 0, 1, STOP_CPL3, PMC_OUT, 0, 0 },
	{ PMC_INTN, at_int80, 1, 1, 1, 1, STOP_CPL0, PMC_OUT, 0, 0 },
	{ PMC_SYSCALL, at_syscall, 1, 1, 1, 1, STOP_CPL0, PMC_OUT, 0, 0 },
	{ PMC_IRET, at_int81, 1, 1, 1, 1, STOP_CPL3, PMC_INTN, 0, 0 },
	{ PMC_SYSRET, at_syscall, 1, 1, 1, 1, STOP_CPL3, PMC_SYSCALL, 1, 0 },
	{ PMC_CPUID, at_cpuid, 1, 0, 0, 2, STOP_CPL3, PMC_OUT, 0, 0 },
	{ PMC_HLT, at_int82, 1, 1, 1, 2, STOP_CPL3, PMC_INTN, 0, 0 },
	{ PMC_NPF, at_read, 1, 0, 0, 2, STOP_CPL3, PMC_OUT, AT_FRESH, 0 },
	{ PMC_INTR, at_spin, 0, 0, 0, 2, STOP_CPL3, PMC_OUT, 0, 0 },
	{ PMC_NMI, at_spin, 0, 0, 0, 2, STOP_CPL3, PMC_OUT, 0, 0 },
	{ PMC_STEP, at_nops, 2, 0, 0, 2, STOP_CPL3, PMC_OUT, 0, KVM_GUESTDBG_SINGLESTEP },
	{ PMC_BP, at_nops, 2, 0, 0, 2, STOP_CPL3, PMC_OUT, 0, KVM_GUESTDBG_USE_HW_BP },
	{ PMC_PF, at_read, 0, 1, 1, 1, STOP_CPL0, PMC_OUT, AT_HOLE, 0 },
	{ PMC_INJECT, at_out, 0, 1, 1, 0, STOP_CPL0, PMC_OUT, 0, 0 },
	{ PMC_REP, at_rep, 3, 0, 0, 1, STOP_CPL3, PMC_OUT, 0, 0 },
	{ PMC_LOCK, at_lock, LOCKS, 0, 0, 1, STOP_CPL3, PMC_OUT, AT_LINE, 0 },
};

static void prepare(enum pmc_place place)
{
	struct kvm_interrupt irq = { VECTOR };
	u64 period = NMI_PERIOD;

	if (place == PMC_NPF)
		madvise(m->mem + AT_FRESH, 0x1000, MADV_DONTNEED);
	if (place == PMC_INJECT)
		ioctl(m->vcpu, KVM_INTERRUPT, &irq);
	if (place == PMC_NMI) {
		ioctl(nmi, PERF_EVENT_IOC_DISABLE, 0);
		ioctl(nmi, PERF_EVENT_IOC_PERIOD, &period);
		ioctl(nmi, PERF_EVENT_IOC_REFRESH, 1);
	}
}

/* To the OUT at the end, over a stop at HLT or by the debugger. */
static int stay(const struct piece *p)
{
	struct kvm_guest_debug debug = { p->debug | KVM_GUESTDBG_ENABLE,
					 .arch.debugreg = { AT(at_second_nop), [7] = 0x402 } };
	int stop;

	if (p->debug)
		ioctl(m->vcpu, KVM_SET_GUEST_DEBUG, &debug);
	stop = machine_run(m);
	debug.control = 0;
	if (p->debug)
		ioctl(m->vcpu, KVM_SET_GUEST_DEBUG, &debug);
	if (stop == STOP_HLT) /* at CPL 0; from there on at CPL 3 */
		machine_start(m, AT(at_out), 0, 0);
	return stop == STOP_HLT || stop == STOP_DEBUG ? machine_run(m) : stop;
}

/* One turn: how many counts were too many. False: something else has happened in it. */
static bool turn(const struct piece *p, s64 over[PMC_EVENTS])
{
	u64 before[PMC_EVENTS], after[PMC_EVENTS], exits[2], now[2], irqs = p->place == PMC_INTR;
	s64 loops = p->place == PMC_INTR ? spin : p->place == PMC_NMI ? NMI_SPIN : 0;
	int stop;

	machine_start(m, AT(p->code), p->rsi, (u64)loops);
	prepare(p->place);
	machine_exits(m, exits);
	if (!counter_read(counters, before, PMC_EVENTS))
		return false;
	stop = stay(p);
	if (!counter_read(counters, after, PMC_EVENTS))
		return false;
	machine_exits(m, now);
	for (int i = 0; i < PMC_EVENTS; i++)
		over[i] = (s64)(after[i] - before[i]);
	over[PMC_INSNS] -= p->insns + 2 * loops;
	over[PMC_BRANCHES] -= p->branches + loops;
	over[PMC_FAR] -= p->far;
	if (p->place == PMC_INTR && now[1] - exits[1] != 1)
		spin = now[1] == exits[1] ? spin + spin / 4 : spin - spin / 4;
	return stop == p->stop &&
	       (!p->exits || (now[0] - exits[0] == p->exits && now[1] - exits[1] == irqs));
}

static void measure(const struct piece *p, struct result *r)
{
	static s32 values[PMC_EVENTS][TURNS];
	u32 n = 0;
	s64 over[PMC_EVENTS];

	for (u32 tries = 0; n < r->turns && tries < 4 * r->turns; tries++) {
		if (!turn(p, over))
			continue;
		for (u32 i = 0; i < PMC_EVENTS; i++) {
			s32 out = p->place == PMC_OUT ? 0 : r->over[i][PMC_OUT].usual;
			s32 also = p->also == PMC_OUT ? 0 : r->over[i][p->also].usual;

			values[i][n] = (s32)over[i] - out - also;
		}
		n++;
	}
	for (u32 i = 0; i < PMC_EVENTS && n >= r->turns / 4; i++)
		r->over[i][p->place] = spread_of(values[i], n, p->place == PMC_LOCK ? LOCKS : 1);
}

const char *count_places(struct machine *machine, struct result *r, int other)
{
	static const struct itimerspec each[] = { { { 0 } },
						  { { 0, TICK }, { 0, TICK } } }; /* off, on */
	const struct piece *p;
	u64 count[PMC_EVENTS];
	int branches, far, timer;

	m = machine;
	counters = counter_open(0xc0, 0, -1);
	if (counters < 0)
		return "perf does not count guests (event C0h)";
	branches = counter_open(0xc2, 0, counters);
	far = counter_open(0xc6, 0, counters);
	if (branches < 0 || far < 0 || !counter_read(counters, count, PMC_EVENTS))
		return "perf has no three counters at the same time";
	nmi = counter_open(0xc0, NMI_PERIOD, -1);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	for (p = pieces; p < pieces + sizeof(pieces) / sizeof(*pieces); p++) {
		timerfd_settime(timer, 0, &each[p->place == PMC_INTR], NULL);
		if (p->place != PMC_LOCK) {
			measure(p, r);
		} else if (beside_start(other, (u32 *)(m->mem + AT_LINE))) {
			measure(p, r);
			beside_stop();
		}
	}
	close(nmi);
	close(far);
	close(branches);
	close(counters);
	return r->over[0][PMC_OUT].turns ? NULL : "the counters or the guest are disturbed";
}
