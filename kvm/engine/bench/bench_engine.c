// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench-engine: the cost of the engine on this processor, in nanoseconds of CPU time, compared with a copy of
 * 32 bytes into a ring and with a record that perf writes into its own ring.
 *
 * Guest memory is an array here. The ring is continuous, so it never fills and nobody drains it; each figure
 * is the smallest of several turns, in which the ways take their turns.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lwp_engine.h"

#define TURNS 7
#define CALLS 2000000u
#define RING_BYTES (1u << 16)
#define RECORD 32u

/* Linear addresses of the guest: the block, then the ring, in one array. */
#define BLOCK 0x10000u
#define RING 0x11000u
#define MEMORY (RING - BLOCK + RING_BYTES)

#define IRE_SLOT (LWP_CB_EVENT_OFFSET + LWP_CB_SLOT_SIZE) /* EventId 2 */

#define PERF_PAGES 64u /* of perf's ring, a power of two */
#define TOUCHED 4096u /* pages whose first touch is one event */

static u8 memory[MEMORY];
static struct lwp_engine engine;

static enum lwp_mem_result map(void *vcpu, struct lwp_span *span, bool write,
			       struct lwp_fault *fault)
{
	span->page[0] = span->gva - BLOCK;
	if (span->gva >= BLOCK && span->gva - BLOCK + span->len <= MEMORY)
		return LWP_MEM_OK;
	fault->addr = span->gva;
	fault->error_code = write ? 6 : 4;
	return LWP_MEM_FAULT;
}

static enum lwp_mem_result read_span(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				     u32 len)
{
	memcpy(to, memory + span->page[0] + offset, len);
	return LWP_MEM_OK;
}

static void write_span(void *vcpu, const struct lwp_span *span, u32 offset, const void *from,
		       u32 len)
{
	memcpy(memory + span->page[0] + offset, from, len);
}

static const struct lwp_vcpu_ops ops = {
	.mem = { .map = map, .read = read_span, .write = write_span },
};

static void put32(u32 offset, u32 value)
{
	lwp_put32(memory + offset, value);
}

/* A block of 43724 that counts instructions with an interval, in a continuous ring. */
static void arm(u32 interval)
{
	const struct lwp_ds flat = { .limit = ~(u64)0, .long_mode = true, .va_bits = 48 };
	struct lwp_caps caps;
	struct lwp_exc exc;
	u64 old;

	memset(memory, 0, sizeof(memory));
	memset(&engine, 0, sizeof(engine));
	put32(LWP_CB_FLAGS, LWP_F_IRE | LWP_F_CONT);
	put32(LWP_CB_SIZE_RANDOM, RING_BYTES);
	put32(LWP_CB_BASE, RING);
	put32(IRE_SLOT + LWP_CB_SLOT_INTERVAL, interval);
	put32(IRE_SLOT + LWP_CB_SLOT_COUNTER, interval);
	lwp_caps_profile(&caps, LWP_PROFILE_FULL, LWP_REV_43724);
	lwp_engine_init(&engine, &caps, true, LWP_DELIVERY_EXACT, &ops, memory);
	lwp_engine_reset(&engine, true, 0);
	lwp_llwpcb(&engine, BLOCK, &flat, 3, &old, &exc);
	if (exc.kind != LWP_EXC_NONE || !lwp_engine_on(&engine)) {
		fprintf(stderr, "bench-engine: LLWPCB does not switch LWP on\n");
		exit(1);
	}
}

static u64 now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000u + (u64)t.tv_nsec;
}

/* Each way runs CALLS times and returns the number of records, which is checked. */
static u64 copy_records(void)
{
	u8 record[RECORD] = { 1 };
	u32 head = 0;

	for (u32 i = 0; i < CALLS; i++) {
		lwp_put64(record + 8, i);
		memcpy(memory + (RING - BLOCK) + head, record, RECORD);
		__asm__ volatile("" ::: "memory");
		head = head + RECORD == RING_BYTES ? 0 : head + RECORD;
		lwp_put32(memory, head);
	}
	return CALLS;
}

static u64 retire_all(void)
{
	struct lwp_retired r = { 0 };
	struct lwp_exc exc;

	for (u32 i = 0; i < CALLS; i++) {
		r.address = i;
		if (lwp_retire(&engine, &r))
			lwp_boundary(&engine, i + 1, false, &exc);
	}
	return engine.stats.records;
}

static u64 count_in_bulk(void)
{
	for (u32 i = 0; i < CALLS; i++) {
		if (lwp_budget(&engine, LWP_KIND_IRE) > 2)
			lwp_count(&engine, LWP_KIND_IRE, 1);
	}
	return engine.stats.records;
}

static u64 insert_all(void)
{
	struct lwp_sample s = { .data2 = 2 };
	struct lwp_exc exc;
	bool full;

	for (u32 i = 0; i < CALLS; i++) {
		s.address = i;
		lwp_ins(&engine, &s, &full, &exc);
	}
	return engine.stats.records;
}

static const struct way {
	const char *name;
	u32 interval; /* of the instruction event */
	u64 records; /* that must have been stored */
	u64 (*run)(void);
} ways[] = {
	{ "copy of 32 bytes into a ring", LWP_COUNTER_MAX, CALLS, copy_records },
	{ "counted, not due: one instruction", LWP_COUNTER_MAX, 0, retire_all },
	{ "counted, not due: budget and bulk", LWP_COUNTER_MAX, 0, count_in_bulk },
	{ "record of an instruction, stored", 0, CALLS, retire_all },
	{ "record of LWPINS, stored", LWP_COUNTER_MAX, CALLS, insert_all },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* CPU time of the first touch of TOUCHED pages, in nanoseconds a page. */
static double touch_pages(u8 *area)
{
	u64 start;

	madvise(area, TOUCHED * 4096ul, MADV_DONTNEED);
	start = now();
	for (u32 i = 0; i < TOUCHED; i++)
		((volatile u8 *)area)[i * 4096ul] = 1;
	return (double)(now() - start) / TOUCHED;
}

/* The extra cost of a page fault when perf writes a record of it; negative: cannot be measured here. */
static double perf_record_cost(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	double without = 1e9, with = 1e9, t;
	struct perf_event_mmap_page *ring;
	u8 *area;
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		return -1;
	ring = mmap(NULL, (PERF_PAGES + 1) * 4096ul, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	area = mmap(NULL, TOUCHED * 4096ul, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (ring == MAP_FAILED || area == MAP_FAILED)
		return -1;
	madvise(area, TOUCHED * 4096ul, MADV_NOHUGEPAGE);
	for (int i = 0; i < TURNS; i++) {
		t = touch_pages(area);
		without = t < without ? t : without;
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
		ring->data_tail = ring->data_head;
		t = touch_pages(area);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
		with = t < with ? t : with;
	}
	close(fd);
	return with - without;
}

int main(void)
{
	double best[WAYS], perf, t;
	u64 start;

	for (u32 turn = 0; turn < TURNS; turn++) {
		for (u32 i = 0; i < WAYS; i++) {
			arm(ways[i].interval);
			start = now();
			if (ways[i].run() != ways[i].records) {
				fprintf(stderr, "bench-engine: %s: not every record was stored\n",
					ways[i].name);
				return 1;
			}
			t = (double)(now() - start) / CALLS;
			best[i] = turn && best[i] < t ? best[i] : t;
		}
	}
	for (u32 i = 0; i < WAYS; i++)
		printf("%-36s %7.1f ns %7.2f\n", ways[i].name, best[i], best[i] / best[0]);
	perf = perf_record_cost();
	if (perf < 0)
		printf("%-36s not measurable: %s\n", "perf's record of a page fault",
		       strerror(errno));
	else
		printf("%-36s %7.1f ns %7.2f\n", "perf's record of a page fault", perf,
		       perf / best[0]);
	return 0;
}
