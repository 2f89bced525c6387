// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does the count of instruction-based sampling go on across VMRUN and #VMEXIT? perf tags an op every so many ops of this
 * thread, its own, the kernel's and the guest's. Each stay of the guest is shorter than that. If its ops count as others do,
 * their share of the samples is due; if entries or exits begin a period, there is none.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "probe.h"

#define PERIOD 65536 /* ops */
#define COUNT_OPS (1 << 19) /* in the event's config: ops, not cycles */
#define STAY 64 /* times LOOP instructions of one op each, a quarter of a period */
#define STAYS 1024 /* of which a quarter has a sample, give or take 14 */
#define PAGE 4096
#define PAGES 8 /* of samples */

struct sample {
	struct perf_event_header header;
	u64 ip;
};

/* Read what is in the ring. Result: how many samples lie in the guest's code. *throttled: perf has left out others. */
static u32 samples(struct perf_event_mmap_page *ring, bool *throttled)
{
	const u8 *data = (const u8 *)ring + PAGE;
	u64 head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), at = ring->data_tail;
	struct sample s;
	u32 found = 0;

	while (at < head) {
		for (u64 i = 0; i < sizeof(s); i++)
			((u8 *)&s)[i] = data[(at + i) % (PAGES * PAGE)];
		*throttled |= s.header.type == PERF_RECORD_THROTTLE;
		found += s.header.type == PERF_RECORD_SAMPLE && s.ip >= AT_CODE &&
			 s.ip < AT(guest_end);
		at += s.header.size;
	}
	__atomic_store_n(&ring->data_tail, at, __ATOMIC_RELEASE);
	return found;
}

void measure_ibs(struct machine *m, struct result *r)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.config = COUNT_OPS,
					.sample_period = PERIOD,
					.sample_type = PERF_SAMPLE_IP };
	FILE *type = fopen("/sys/bus/event_source/devices/ibs_op/type", "re");
	struct perf_event_mmap_page *ring = MAP_FAILED;
	u64 ops = 0;
	int event = -1;

	if (type && fscanf(type, "%u", &attr.type) == 1)
		event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event >= 0)
		ring = mmap(NULL, (1 + PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
	for (u32 i = 0; ring != MAP_FAILED && i < STAYS; i++) {
		machine_start(m, AT(at_straight), 0, STAY);
		machine_run(m);
		r->ibs_samples += samples(ring, &r->ibs_throttled);
		ops += STAY * LOOP;
	}
	if (!r->ibs_throttled)
		r->ibs_due = (u32)(ops / PERIOD);
	if (ring != MAP_FAILED)
		munmap(ring, (1 + PAGES) * PAGE);
	close(event);
	if (type)
		fclose(type);
}
