// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counting in a guest with one processor. Its counters count user mode, whoever executes. When the kernel switches tasks
 * it writes their values and the task's number into a ring: what was counted since the record before is this task's. An
 * exec has a record, too, with which the counts of the command begin: the loader's first instruction is counted, and
 * none of ours. So has an exit: when a thread that has exited leaves the processor, its number is no longer known.
 * Forks say who belongs to the command.
 *
 * The file COUNTS has lines:
 *   total COUNT...                       in the order of the events
 *   thread PROCESS THREAD COUNT... NAME
 *   left N                               processes that still ran when the command had ended
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "guest-count.h"
#include "guest-setup.h"

#define COUNTS SHARE_DIR "/counts"
#define RING_PAGES 1024u /* a power of two */
#define PAGE 4096u
#define NAME_SIZE 16

/* AMD's event select and unit mask. Branches of any kind include far transfers, which have an event of their own. */
#define RETIRED_INSTRUCTIONS 0xc0
#define RETIRED_BRANCHES 0xc2
#define RETIRED_TAKEN 0xc4
#define RETIRED_FAR 0xc6
#define L1D_MISSES 0xc860

static const struct {
	const char *name;
	uint64_t config, without; /* what is subtracted; 0: nothing */
} known[] = {
	{ "instructions", RETIRED_INSTRUCTIONS, 0 },
	{ "branches", RETIRED_BRANCHES, RETIRED_FAR },
	{ "taken-branches", RETIRED_TAKEN, RETIRED_FAR },
	{ "dcache-misses", L1D_MISSES, 0 },
};
#define EVENTS (sizeof(known) / sizeof(known[0]))
#define COUNTERS (EVENTS + 1)

static const uint64_t counters[COUNTERS] = { RETIRED_INSTRUCTIONS, RETIRED_BRANCHES, RETIRED_TAKEN,
					     RETIRED_FAR, L1D_MISSES };

static unsigned int chosen[EVENTS], events;

/* The group: switches of tasks, execs, exits, and then so many of the counters. */
enum { EXECS = 1, EXITS, FIRST_COUNTER };
#define TRACING "/sys/kernel/tracing"

static unsigned int members[COUNTERS], member_count;
static int leader = -1;
static struct perf_event_mmap_page *ring;
static uint64_t last[COUNTERS], execs;
static unsigned long long exec_id, exit_id;
static uint64_t lost;

struct row {
	uint32_t pid, tid;
	bool counted; /* from its first exec on, or from that of who has started it */
	char name[NAME_SIZE];
	uint64_t counts[COUNTERS];
};

static struct row *rows;
static size_t row_count, row_room;

static unsigned int counter_of(uint64_t config)
{
	unsigned int i = 0;

	while (counters[i] != config)
		i++;
	return i;
}

static void add_member(uint64_t config)
{
	for (unsigned int i = 0; i < member_count; i++) {
		if (counters[members[i]] == config)
			return;
	}
	members[member_count++] = counter_of(config);
}

void count_choose(const char *text)
{
	char *words = strdup(text), *rest = words, *word;
	unsigned int i;

	while ((word = strsep(&rest, ","))) {
		for (i = 0; i < EVENTS && strcmp(word, known[i].name); i++)
			;
		if (i == EVENTS || events == EVENTS)
			trouble("no event '%s'", word);
		chosen[events++] = i;
		add_member(known[i].config);
		if (known[i].without)
			add_member(known[i].without);
	}
	free(words);
}

/* add_row - a pointer that is valid until the next one is added; @name may be another row's */
static struct row *add_row(uint32_t pid, uint32_t tid, const char *name)
{
	char kept[NAME_SIZE];
	struct row *row;

	snprintf(kept, NAME_SIZE, "%s", name);
	if (row_count == row_room) {
		row_room = 2 * row_room + 64;
		rows = realloc(rows, row_room * sizeof(*rows));
		if (!rows)
			trouble("out of memory");
	}
	row = &rows[row_count++];
	memset(row, 0, sizeof(*row));
	row->pid = pid;
	row->tid = tid;
	memcpy(row->name, kept, NAME_SIZE);
	return row;
}

/* find_row - the youngest with this number */
static struct row *find_row(uint32_t tid)
{
	for (size_t i = row_count; i--;) {
		if (rows[i].tid == tid)
			return &rows[i];
	}
	return NULL;
}

static int open_event(struct perf_event_attr *attr)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->read_format = PERF_FORMAT_GROUP;
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_READ;
	fd = (int)syscall(SYS_perf_event_open, attr, -1, 0, leader, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		trouble("cannot count event %llxh: %s", (unsigned long long)attr->config,
			strerror(errno));
	return fd;
}

static unsigned long long tracepoint(const char *path)
{
	unsigned long long id;
	FILE *f = fopen(path, "re");

	if (!f || fscanf(f, "%llu", &id) != 1)
		trouble("%s: %s", path, strerror(errno));
	fclose(f);
	return id;
}

void count_prepare(void)
{
	if (exec_id)
		return;
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	exec_id = tracepoint(TRACING "/events/sched/sched_process_exec/id");
	exit_id = tracepoint(TRACING "/events/sched/sched_process_exit/id");
	umount(TRACING);
}

/* records_of - a tracepoint's records, in the order of the others */
static void records_of(unsigned long long id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
	};

	if (ioctl(open_event(&attr), PERF_EVENT_IOC_SET_OUTPUT, leader))
		trouble("cannot notice execs and exits: %s", strerror(errno));
}

void count_start(pid_t child)
{
	struct perf_event_attr switches = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
		.pinned = 1,
		.comm = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = RING_PAGES * PAGE / 2,
	};
	struct perf_event_attr counter = { .type = PERF_TYPE_RAW, .exclude_kernel = 1 };

	if (!events)
		return;
	add_row((uint32_t)child, (uint32_t)child, "");
	leader = open_event(&switches);
	ring = mmap(NULL, (1 + RING_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, leader, 0);
	if (ring == MAP_FAILED)
		trouble("cannot count threads: %s", strerror(errno));
	count_prepare();
	records_of(exec_id);
	records_of(exit_id);
	for (unsigned int i = 0; i < member_count; i++) {
		counter.config = counters[members[i]];
		open_event(&counter);
	}
}

int count_fd(void)
{
	return leader;
}

/* take_sample - what was counted since the sample before is @row's, if the task is one of the command's */
static void take_sample(struct row *row, const uint64_t *values)
{
	for (unsigned int i = 0; i < member_count; i++) {
		uint64_t now = values[FIRST_COUNTER + i];

		if (row && row->counted)
			row->counts[members[i]] += now - last[i];
		last[i] = now;
	}
	if (row && values[EXECS] != execs)
		row->counted = true;
	execs = values[EXECS];
}

static void take_record(const void *bytes)
{
	const struct perf_event_header *head = bytes;
	const union {
		struct {
			uint32_t pid, tid;
			char name[NAME_SIZE];
		} comm;
		struct {
			uint32_t pid, ppid, tid, ptid;
		} fork;
		struct {
			uint32_t pid, tid;
			uint64_t number, values[FIRST_COUNTER + COUNTERS];
		} sample;
		struct {
			uint64_t id, lost;
		} lost;
	} *what = (const void *)(head + 1);
	struct row *row;

	switch (head->type) {
	case PERF_RECORD_FORK:
		row = find_row(what->fork.ptid);
		if (row && row->counted)
			add_row(what->fork.pid, what->fork.tid, row->name)->counted = true;
		break;
	case PERF_RECORD_COMM:
		row = find_row(what->comm.tid);
		if (row)
			snprintf(row->name, NAME_SIZE, "%s", what->comm.name);
		break;
	case PERF_RECORD_SAMPLE:
		take_sample(find_row(what->sample.tid), what->sample.values);
		break;
	case PERF_RECORD_LOST:
		lost += what->lost.lost;
		break;
	}
}

void count_take(void)
{
	const char *bytes = (const char *)ring + PAGE;
	uint64_t head = *(volatile __u64 *)&ring->data_head;
	uint64_t tail = ring->data_tail, at, size = RING_PAGES * PAGE;
	static char record[UINT16_MAX + 1];
	struct perf_event_header next;

	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* records up to the head are there */
	for (; tail < head; tail += next.size) {
		at = tail %
		     size; /* a head never wraps: records are multiples of 8 bytes, and so is it */
		memcpy(&next, bytes + at, sizeof(next));
		if (at + next.size > size) {
			memcpy(record, bytes + at, size - at);
			memcpy(record + (size - at), bytes, next.size - (size - at));
		} else {
			memcpy(record, bytes + at, next.size);
		}
		take_record(record);
	}
	__atomic_thread_fence(__ATOMIC_RELEASE); /* they have been read */
	*(volatile __u64 *)&ring->data_tail = tail;
}

static void write_counts(FILE *to, const uint64_t *counts)
{
	uint64_t number;

	for (unsigned int i = 0; i < events; i++) {
		number = counts[counter_of(known[chosen[i]].config)];
		if (known[chosen[i]].without)
			number -= counts[counter_of(known[chosen[i]].without)];
		fprintf(to, " %llu", (unsigned long long)number);
	}
}

void count_end(unsigned int left)
{
	uint64_t totals[COUNTERS] = { 0 };
	FILE *to;

	if (!events)
		return;
	count_take();
	if (lost)
		trouble("%llu records of threads are lost", (unsigned long long)lost);
	for (size_t i = 0; i < row_count; i++) {
		for (unsigned int n = 0; n < COUNTERS; n++)
			totals[n] += rows[i].counts[n];
	}
	to = fopen(COUNTS, "w");
	if (!to)
		trouble("%s: %s", COUNTS, strerror(errno));
	fputs("total", to);
	write_counts(to, totals);
	for (size_t i = 0; i < row_count; i++) {
		fprintf(to, "\nthread %u %u", rows[i].pid, rows[i].tid);
		write_counts(to, rows[i].counts);
		fprintf(to, " %s", rows[i].name);
	}
	fprintf(to, "\nleft %u\n", left);
	if (fclose(to))
		trouble("%s: %s", COUNTS, strerror(errno));
}
