// SPDX-License-Identifier: GPL-2.0-or-later
/* Control blocks in memory: what needs nothing of the kernel. */
#include "lwp_fixture.h"
#include "x86.h"

u64 hash(u64 h, const void *data, u64 n)
{
	const u8 *p = data;

	for (; n; n--)
		h = (h ^ *p++) * 0x100000001b3;
	return h;
}

u32 least_records(void)
{
	u32 units = cpuid(LWP_CPUID_LEAF, 0).c >> 16 & 0xff;

	return rev07() || !units ? 32 : 32 * units;
}

u32 cb_slot(u32 n)
{
	u32 first = rev07() ? LWP07_CB_FIXED_SIZE : cpuid(LWP_CPUID_LEAF, 0).b >> 24;

	return first + (n - 1) * LWP_CB_SLOT_SIZE;
}

static u32 tail_offset(void)
{
	return rev07() ? LWP07_CB_TAIL : LWP_CB_TAIL;
}

void block_write_at(struct lwp *l, u32 offset, const struct block *b)
{
	u8 *cb = l->cb + offset;
	u32 flags = b->flags;

	memset(cb, 0, cb_slot(LWP_MAX_EVENT_ID + 1));
	for (u32 i = 0; i < 4 && b->event[i].id; i++) {
		const struct block_event *e = &b->event[i];
		u8 *slot = cb + cb_slot(rev07() ? i + 1 : e->id);

		if (!rev07())
			flags |= 1u << e->id;
		lwp_put32(slot + LWP_CB_SLOT_INTERVAL,
			  e->interval | (rev07() ? (u32)e->id << 26 : 0));
		lwp_put32(slot + LWP_CB_SLOT_COUNTER, e->counter);
	}
	lwp_put32(cb + LWP_CB_FLAGS, flags);
	lwp_put32(cb + LWP_CB_SIZE_RANDOM,
		  (b->size ? b->size : DEFAULT_RECORDS * RECORD_SIZE) | b->random << 28);
	lwp_put64(cb + LWP_CB_BASE, b->base ? b->base : RING_VA);
	lwp_put32(cb + LWP_CB_HEAD, b->head);
	lwp_put32(cb + tail_offset(), b->tail);
	lwp_put64(cb + LWP_CB_MISSED, b->missed);
	lwp_put32(cb + LWP_CB_THRESHOLD, b->threshold);
	lwp_put32(cb + LWP_CB_FILTERS, b->filters);
	if (!rev07()) {
		lwp_put64(cb + LWP_CB_BASE_IP, b->base_ip);
		lwp_put64(cb + LWP_CB_LIMIT_IP, b->limit_ip);
	}
}

u32 cb_flags(const struct lwp *l)
{
	return lwp_get32(l->cb + LWP_CB_FLAGS);
}

u64 cb_head(const struct lwp *l)
{
	return lwp_get32(l->cb + LWP_CB_HEAD);
}

u64 cb_missed(const struct lwp *l)
{
	return lwp_get64(l->cb + LWP_CB_MISSED);
}

u64 cb_stored(const struct lwp *l)
{
	return cb_head(l) / RECORD_SIZE + cb_missed(l);
}

void cb_set_tail(struct lwp *l, u32 tail)
{
	lwp_put32(l->cb + tail_offset(), tail);
}

u32 cb_interval(const struct lwp *l, u32 n)
{
	return lwp_get32(l->cb + cb_slot(n) + LWP_CB_SLOT_INTERVAL);
}

u32 cb_counter(const struct lwp *l, u32 n)
{
	return lwp_get32(l->cb + cb_slot(n) + LWP_CB_SLOT_COUNTER);
}
