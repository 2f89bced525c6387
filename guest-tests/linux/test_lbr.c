// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * perf's branch stacks, from the processor's last branch records: every entry is true. LWP records all branches of the
 * same code at the same time, and each stack is a stretch of them, which ends where the sample is.
 */
#include <stdlib.h>
#include <x86intrin.h>

#include "perfring.h"

#define RECORDS 262144u
#define PERIOD 1009u
#define DEPTH 16u
#define ITEMS 600u

struct branch {
	uint64_t from, to;
};

struct sample {
	struct perf_event_header h;
	uint64_t ip, nr;
	struct perf_branch_entry entry[DEPTH];
};

static struct branch *trace;
static uint64_t branches;

/* ---- Code with branches of all kinds ---- */

static uint32_t state = 1;

static uint32_t draw(void)
{
	state = state * 1103515245 + 12345;
	return state >> 16 & 0x7fff;
}

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int one(int n)
{
	return n + 1;
}

static int two(int n)
{
	return n % 3 ? n : one(n);
}

static int descend(int n)
{
	return n < 2 ? n : descend(n - 1) + descend(n - 2);
}

static int work(void)
{
	static int (*const call[])(int) = { one, two, descend };
	int item[ITEMS], sum = 0;

	for (unsigned int i = 0; i < ITEMS; i++) {
		item[i] = (int)(draw() % 11);
		sum += call[draw() % 3](item[i]);
	}
	qsort(item, ITEMS, sizeof(item[0]), by_value);
	return sum + item[ITEMS / 2];
}

/* ---- The two recorders ---- */

static int stacks(void)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_INSTRUCTIONS,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_period = PERIOD,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK,
		.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
	};

	return perf_counter(attr, -1);
}

/* The taken branches of LWP's ring, in order. */
static void read_trace(const struct lwptest *t)
{
	uint64_t n = lwptest_records(t);

	trace = calloc(n, sizeof(*trace));
	for (uint64_t i = 0; trace && i < n; i++) {
		struct lwp_record rec;

		lwptest_record(t, i, &rec);
		if (rec.event_id == BRE && (rec.flags & LWP_RECORD_TKN))
			trace[branches++] = (struct branch){ rec.address, rec.data2 };
	}
	tap_note("%llu branches, %llu of them taken", (unsigned long long)n,
		 (unsigned long long)branches);
	tap(!lwptest_missed(t), "LWP has recorded each branch");
}

/* ---- The comparison ---- */

static bool is_at(const struct sample *s, const struct branch *b)
{
	for (uint64_t i = 0; i < s->nr; i++) {
		const struct perf_branch_entry *e = &s->entry[s->nr - 1 - i];

		if (e->from != b[i].from || e->to != b[i].to)
			return false;
	}
	/* The sample lies after the youngest, and not after the next. */
	return s->ip >= b[s->nr - 1].to && s->ip <= b[s->nr].from;
}

/* Where in the trace a stack is, not before *at, or false. */
static bool find(const struct sample *s, uint64_t *at)
{
	for (uint64_t i = *at; i + s->nr < branches; i++) {
		if (is_at(s, &trace[i])) {
			*at = i;
			return true;
		}
	}
	return false;
}

/* Without what comes from the kernel: IRET. */
static void leave_user(struct sample *s)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < s->nr; i++) {
		if (!(s->entry[i].from >> 63))
			s->entry[n++] = s->entry[i];
	}
	s->nr = n;
}

static void compare(const struct perf_event_mmap_page *ring)
{
	uint64_t at = 0, pos = 0, samples = 0, found = 0, entries = 0, other = 0;
	struct sample s;

	while (perf_next(ring, &pos, &s, sizeof(s))) {
		if (s.h.type != PERF_RECORD_SAMPLE || s.nr > DEPTH) {
			other++;
			continue;
		}
		leave_user(&s);
		samples++;
		entries += s.nr;
		/* The first stack may begin, the last one end, outside of the trace. */
		if (!s.nr || find(&s, &at))
			found++;
		else
			tap_note(
				"sample %llu, %llu entries, is not in the trace: %llx to %llx, then %llx",
				(unsigned long long)samples, (unsigned long long)s.nr,
				(unsigned long long)s.entry[0].from,
				(unsigned long long)s.entry[0].to, (unsigned long long)s.ip);
	}
	tap_note("%llu samples with %llu entries, %llu other records", (unsigned long long)samples,
		 (unsigned long long)entries, (unsigned long long)other);
	tap(samples >= 100 && !other, "there is a stack for each period");
	tap(found == samples, "each stack is a stretch of the trace that ends at its sample");
	tap(entries >= samples * (DEPTH - 2), "they are as deep as the processor's");
}

int main(void)
{
	const struct perf_event_mmap_page *ring;
	struct lwptest t;
	int fd;

	perf_need(stacks(), "branch stacks");
	lwptest_any_rate();
	fd = stacks();
	ring = perf_ring(fd);
	lwptest_need(BRE);
	lwptest_setup(&t, BRE, 0, 0, RECORDS);
	__llwpcb(t.block);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	tap(work(), "the code has run");
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	__llwpcb(NULL);
	read_trace(&t);
	compare(ring);
	close(fd);
	return tap_done();
}
