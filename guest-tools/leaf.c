/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From CPUID and options to a control block without BufferBase and counters. */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>

#include "leaf.h"
#include "lwp.h"
#include "lwp_cb.h"

#define RECORD_SIZE ((uint32_t)sizeof(struct lwp_event))

void leaf_decode(struct leaf *leaf, uint32_t eax, uint32_t ebx, uint32_t ecx, uint32_t edx)
{
	uint32_t offset = ebx >> 24;

	*leaf = (struct leaf){ .eax = eax, .ebx = ebx, .ecx = ecx, .edx = edx };
	leaf->slots = ebx >> 16 & 0xff;
	if (offset >= LWP_CB_FIXED_SIZE) {
		leaf->revision = LWP_REV_43724;
		leaf->block_size = (ebx & 0xff) * 8;
		leaf->slots_offset = offset;
		leaf->tail_offset = LWP_CB_TAIL;
		leaf->ring_min = (ecx >> 16 & 0xff) * LWP_MIN_BUFFER_RECORDS * RECORD_SIZE;
	} else {
		leaf->revision = LWP_REV_2007;
		leaf->block_size = ebx & 0xff;
		leaf->slots_offset = LWP07_CB_FIXED_SIZE;
		leaf->tail_offset = LWP07_CB_TAIL;
		leaf->lowest = 1;
	}
	/* One place in a ring is never used: fewer than two records make no ring. */
	if (leaf->ring_min < 2 * RECORD_SIZE)
		leaf->ring_min = 2 * RECORD_SIZE;
}

bool leaf_query(struct leaf *leaf, const char **why)
{
	uint32_t eax, ebx, ecx, edx;

	*why = "this processor has no LWP (CPUID 80000001h ECX[15] is 0)";
	if (__get_cpuid_max(0x80000000u, NULL) < LWP_CPUID_LEAF)
		return false;
	__cpuid(LWP_CPUID_PRESENT_LEAF, eax, ebx, ecx, edx);
	if (!(ecx & LWP_CPUID_PRESENT_ECX))
		return false;
	__cpuid_count(LWP_CPUID_LEAF, 0, eax, ebx, ecx, edx);
	*why = "LWP is not available to programs here (CPUID 8000001Ch EAX[0] is 0)";
	if (!(eax & LWP_F_AVAIL))
		return false;
	leaf_decode(leaf, eax, ebx, ecx, edx);
	return true;
}

uint32_t leaf_event_id(const struct leaf *leaf, uint32_t event_id)
{
	if (leaf->revision == LWP_REV_43724)
		return event_id;
	switch (event_id) {
	case LWP_EVENT_INSTRUCTION:
		return 1;
	case LWP_EVENT_BRANCH:
		return 2;
	case LWP_EVENT_DCACHE_MISS:
		return 3;
	default:
		return 0;
	}
}

static bool offers(const struct leaf *leaf, uint32_t event_id)
{
	uint32_t id = leaf_event_id(leaf, event_id);

	/* Both revisions: bit n of EAX is EventId n. */
	return id && (leaf->revision == LWP_REV_2007 || id <= leaf->slots) &&
	       (leaf->eax & LWP_ENABLE(id));
}

/* The events that there are, for a message. */
static void list_events(const struct leaf *leaf, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t id = LWP_EVENT_VALUE; id <= LWP_EVENT_REF_CLOCK; id++) {
		if (!offers(leaf, id))
			continue;
		used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
					 lwpdata_event_name(id));
	}
}

static void put32(struct pool *pool, uint32_t offset, uint32_t value)
{
	memcpy(pool->template + offset, &value, sizeof(value));
}

/* The i-th event asked for: its slot is that of its id in 43724, the i-th in 2007. */
static void fill_slot(const struct leaf *leaf, struct pool *pool, uint32_t i, uint32_t id,
		      uint32_t interval)
{
	uint32_t slot = leaf->revision == LWP_REV_43724 ? id - 1 : i;
	uint32_t offset = leaf->slots_offset + slot * LWP_CB_SLOT_SIZE;
	uint32_t selector = leaf->revision == LWP_REV_43724 ? 0 : id << 26;

	put32(pool, offset + LWP_CB_SLOT_INTERVAL, interval | selector);
	pool->counter_offset[i] = offset + LWP_CB_SLOT_COUNTER;
	pool->interval[i] = interval;
}

bool leaf_fill_pool(const struct leaf *leaf, const struct options *options, struct pool *pool,
		    char *why, size_t size)
{
	uint32_t flags = 0;
	char names[128];

	if (options->ring_size < leaf->ring_min) {
		snprintf(why, size, "a ring of %u bytes is too small, this processor needs %u",
			 options->ring_size, leaf->ring_min);
		return false;
	}
	if (leaf->revision == LWP_REV_2007 && options->nr_events > leaf->slots) {
		snprintf(why, size, "%u events are too many, this processor counts %u at once",
			 options->nr_events, leaf->slots);
		return false;
	}
	memset(pool->template, 0, sizeof(pool->template));
	for (uint32_t i = 0; i < options->nr_events; i++) {
		const struct lwpdata_event *event = &options->events[i];
		uint32_t id = leaf_event_id(leaf, event->event_id);

		if (!offers(leaf, event->event_id)) {
			list_events(leaf, names, sizeof(names));
			snprintf(why, size, "this processor does not count %s; it has: %s",
				 lwpdata_event_name(event->event_id), names);
			return false;
		}
		if (event->interval < leaf->lowest) {
			snprintf(why, size, "the interval of %s must be at least %u here",
				 lwpdata_event_name(event->event_id), leaf->lowest);
			return false;
		}
		fill_slot(leaf, pool, i, id, event->interval);
		flags |= LWP_ENABLE(id);
	}
	/* 2007 ignores Flags: the slots select. */
	put32(pool, LWP_CB_FLAGS, flags);
	put32(pool, LWP_CB_SIZE_RANDOM, options->ring_size | options->random << 28);
	pool->block_size = leaf->block_size;
	pool->base_offset = LWP_CB_BASE;
	/* BaseIP means nothing without the IP filter, and must be the same for LWP to go on. */
	pool->unique_offset = leaf->revision == LWP_REV_43724 ? LWP_CB_BASE_IP : 0;
	pool->nr_events = options->nr_events;
	pool->counter_min = leaf->lowest;
	pool->ring_size = options->ring_size;
	return true;
}
