// SPDX-License-Identifier: GPL-2.0-or-later
/* From CPUID and options to a control block without BufferBase and counters. */
#include <stdio.h>
#include <string.h>

#include "processor.h"
#include "lwp_cb.h"
#include "lwp_record.h"

bool leaf_decode(struct leaf *leaf)
{
	uint32_t offset = lwp_field_get(LWP_EBX_EVENT_OFFSET, leaf->regs.ebx);

	leaf->rev = lwp_rev_get(offset >= LWP_CB_FIXED_SIZE ? LWP_REV_43724 : LWP_REV_2007);
	return lwp_leaf_decode(&leaf->regs, leaf->rev->id, &leaf->caps);
}

uint32_t leaf_ring_min(const struct leaf *leaf)
{
	uint32_t min = leaf->caps.min_buffer * LWP_MIN_BUFFER_RECORDS * LWP_RECORD_SIZE;

	/* One place in a ring is never used: fewer than two records make no ring. */
	return min < 2 * LWP_RECORD_SIZE ? 2 * LWP_RECORD_SIZE : min;
}

/* EventId of a kind if programs can count it here now, else 0. In both revisions bit n is EventId n. */
static uint32_t offered(const struct leaf *leaf, uint32_t kind)
{
	uint32_t id = leaf->rev->event_id[kind];

	return id && (leaf->regs.eax & LWP_BIT(id)) ? id : 0;
}

/* The events that there are, for a message. */
static void list_events(const struct leaf *leaf, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t kind = LWP_KIND_VAL; kind < LWP_KINDS && used < size; kind++)
		if (offered(leaf, kind))
			used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "",
						 lwpdata_event_name(kind));
}

/* The i-th event asked for: its slot is that of its id, or, where slots select events, the i-th. */
static void fill_slot(const struct leaf *leaf, struct pool *pool, uint32_t i, uint32_t id,
		      uint32_t interval)
{
	bool selects = leaf->rev->slot_selects_event;
	uint32_t offset = lwp_cb_slot_offset(&leaf->caps, selects ? i : id - 1);
	uint32_t selector = selects ? lwp_field_put(LWP07_SLOT_EVENT_ID, id) : 0;

	lwp_put32(pool->template + offset + LWP_CB_SLOT_INTERVAL, interval | selector);
	pool->counter_offset[i] = offset + LWP_CB_SLOT_COUNTER;
	pool->interval[i] = interval;
}

static bool fill_events(const struct leaf *leaf, const struct options *options, struct pool *pool,
			char *why, size_t size)
{
	uint32_t lowest = (uint32_t)leaf->rev->min_interval;
	uint32_t flags = 0;
	char names[128];

	for (uint32_t i = 0; i < options->nr_events; i++) {
		const struct lwpdata_event *event = &options->events[i];
		uint32_t id = offered(leaf, event->event_id);

		if (!id) {
			list_events(leaf, names, sizeof(names));
			snprintf(why, size, "this processor does not count %s; it has: %s",
				 lwpdata_event_name(event->event_id), names);
			return false;
		}
		/* Every branch: the shortest interval that there is. */
		if (options->windows && i == 0) {
			fill_slot(leaf, pool, i, id, lowest);
			flags |= LWP_BIT(id);
			continue;
		}
		if (event->interval < lowest) {
			snprintf(why, size, "the interval of %s must be at least %u here",
				 lwpdata_event_name(event->event_id), lowest);
			return false;
		}
		fill_slot(leaf, pool, i, id, event->interval);
		flags |= LWP_BIT(id);
	}
	/* Windows are taken soon, and need no time for each branch. */
	if (!options->windows)
		flags |= leaf->regs.eax & LWP_F_PTSC;
	if (leaf->rev->flags_are_input)
		lwp_put32(pool->template + LWP_CB_FLAGS, flags);
	pool->nr_events = options->nr_events;
	pool->counter_min = lowest;
	return true;
}

bool leaf_fill_pool(const struct leaf *leaf, const struct options *options, struct pool *pool,
		    char *why, size_t size)
{
	if (options->ring_size < leaf_ring_min(leaf)) {
		snprintf(why, size, "a ring of %u bytes is too small, this processor needs %u",
			 options->ring_size, leaf_ring_min(leaf));
		return false;
	}
	if (options->nr_events > leaf->caps.max_events) {
		snprintf(why, size, "%u events are too many, this processor counts %u at once",
			 options->nr_events, leaf->caps.max_events);
		return false;
	}
	memset(pool->template, 0, sizeof(pool->template));
	lwp_put32(pool->template + LWP_CB_SIZE_RANDOM,
		  options->ring_size | lwp_field_put(LWP_CB_RANDOM, options->random));
	pool->block_size = leaf->caps.cb_size;
	pool->ring_size = options->ring_size;
	pool->base_offset = LWP_CB_BASE;
	/* BaseIP means nothing without the IP filter, and must stay the same, else LWP drops the context. */
	pool->unique_offset = leaf->rev->has_ip_filter ? LWP_CB_BASE_IP : 0;
	return fill_events(leaf, options, pool, why, size);
}
