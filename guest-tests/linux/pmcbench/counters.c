// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values by RDPMC. The counters are one group of perf events of this thread, whose pages in memory say which number
 * RDPMC takes, and allow it at CPL 3. A page's lock changes when the kernel has had its hands on the counter: such
 * a run says nothing.
 */
#include <asm/unistd.h>
#include <cpuid.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pmcbench.h"

#define WARM_UP 32 /* runs that touch and translate what the others use */
#define HYPERVISOR (1u << 31) /* leaf 1 ECX */
#define GIVE_UP 100 /* disturbed runs for each good one, at most */

/* What the routine works on: in its instructions all of it is an 8-bit displacement. */
struct reading {
	uint64_t before[MAX_EVENTS], after[MAX_EVENTS];
	uint32_t index[MAX_EVENTS];
};

_Static_assert(sizeof(struct reading) <= 128, "8-bit displacements");

static volatile struct perf_event_mmap_page *page[MAX_EVENTS];

static int open_event(const struct event *e, int group)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = e->select,
		.pinned = group < 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(__NR_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static _Noreturn void cannot_open(const struct options *options, unsigned int n)
{
	const char *name = options->events[n].name;

	switch (errno) {
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		quit(STATUS_SKIPPED, "this machine has no performance counters for perf (%s)",
		     name);
	case EACCES:
	case EPERM:
		quit(STATUS_SKIPPED,
		     "perf is not allowed to you: /proc/sys/kernel/perf_event_paranoid");
	case EINVAL:
	case ENOSPC:
		if (n)
			quit(STATUS_SKIPPED,
			     "this machine counts only %u of these %u events at once", n,
			     options->nr_events);
	}
	quit(STATUS_FAILED, "perf_event_open for %s: %s", name, strerror(errno));
}

/* QEMU's TCG says who it is at leaf 4000_0000h. */
static bool in_tcg(void)
{
	unsigned int eax, ebx = 0, ecx = 0, edx = 0;
	char name[13] = "";

	__cpuid(1, eax, ebx, ecx, edx);
	if (!(ecx & HYPERVISOR))
		return false;
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	memcpy(name, &ebx, 4);
	memcpy(name + 4, &ecx, 4);
	memcpy(name + 8, &edx, 4);
	return !strcmp(name, "TCGTCGTCGTCG");
}

static void refuse_unmodelled(const struct options *options)
{
	for (unsigned int i = 0; i < options->nr_events; i++) {
		const struct event *e = &options->events[i];

		if (!event_is_known(e->select))
			quit(STATUS_SKIPPED, "QEMU's TCG has no model of event %s: it would stay 0",
			     e->name);
	}
}

void counters_open(const struct options *options)
{
	int group = -1;

	if (in_tcg())
		refuse_unmodelled(options);
	for (unsigned int i = 0; i < options->nr_events; i++) {
		int fd = open_event(&options->events[i], group);

		if (fd < 0)
			cannot_open(options, i);
		if (group < 0)
			group = fd;
		page[i] = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
		if (page[i] == MAP_FAILED)
			quit(STATUS_FAILED, "cannot map a counter's page: %s", strerror(errno));
		if (!page[i]->cap_user_rdpmc)
			quit(STATUS_SKIPPED,
			     "RDPMC is off: /sys/bus/event_source/devices/cpu/rdpmc must be 1");
	}
}

/* mov reading.index[n], %ecx; rdpmc; shl $32, %rdx; or %rdx, %rax; mov %rax, to */
static void add_read(struct routine *r, unsigned int n, size_t to)
{
	const uint8_t index = (uint8_t)(offsetof(struct reading, index) + n * sizeof(uint32_t));
	const uint8_t code[] = { 0x8b, 0x4f, index, 0x0f,
				 0x33, 0x48, 0xc1,  0xe2,
				 0x20, 0x48, 0x09,  0xd0,
				 0x48, 0x89, 0x47,  (uint8_t)(to + n * sizeof(uint64_t)) };

	routine_add(r, code, sizeof(code));
}

static routine_fn build(const struct options *options, const struct snippet *snippet)
{
	struct routine r;

	routine_begin(&r);
	for (unsigned int i = 0; i < options->nr_events; i++)
		add_read(&r, i, offsetof(struct reading, before));
	routine_add_fenced(&r, snippet);
	for (unsigned int i = options->nr_events; i--;)
		add_read(&r, i, offsetof(struct reading, after));
	return routine_end(&r);
}

/* One run. False: the kernel has touched a counter meanwhile. */
static bool run(routine_fn routine, const struct options *options, struct reading *reading)
{
	uint32_t lock[MAX_EVENTS];
	bool undisturbed = true;

	if (options->flush)
		routine_flush(routine);
	for (unsigned int i = 0; i < options->nr_events; i++) {
		lock[i] = page[i]->lock;
		atomic_signal_fence(memory_order_seq_cst);
		if (!page[i]->index)
			return false;
		reading->index[i] = page[i]->index - 1;
	}
	routine(reading);
	for (unsigned int i = 0; i < options->nr_events; i++)
		undisturbed &= page[i]->lock == lock[i] && !(lock[i] & 1);
	return undisturbed;
}

void counters_measure(const struct options *options, const struct snippet *snippet,
		      struct samples *samples)
{
	routine_fn routine = build(options, snippet);
	unsigned int done = 0, warm = 0;
	uint64_t mask = page[0]->pmc_width < 64 ? (1ull << page[0]->pmc_width) - 1 : ~0ull;
	struct reading reading;

	while (done < options->runs) {
		if (!run(routine, options, &reading)) {
			if (++samples->dropped / GIVE_UP > options->runs)
				quit(STATUS_FAILED,
				     "the counters are taken away again and again: who else uses perf?");
			continue;
		}
		if (warm++ < WARM_UP)
			continue;
		for (unsigned int i = 0; i < options->nr_events; i++)
			samples->value[i][done] =
				(uint32_t)((reading.after[i] - reading.before[i]) & mask);
		done++;
	}
}
