// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaf 8000_001C over several hosts: whether one can run what was started on another, and what a
 * migration set has in common. Source: 43724-117, 2007-109.
 */
#include "lwp_cpuid.h"

static const char *const field_names[] = {
	[LWP_CAPS_OK] = "nothing",
	[LWP_CAPS_REV] = "lwp-rev",
	[LWP_CAPS_VERSION] = "LWP version",
	[LWP_CAPS_MAX_EVENTS] = "lwp-max-events",
	[LWP_CAPS_EVENT_OFFSET] = "LWPCB event offset",
	[LWP_CAPS_CB_SIZE] = "LWPCB size",
	[LWP_CAPS_EVENT_SIZE] = "event record size",
	[LWP_CAPS_MIN_BUFFER] = "lwp-min-buffer",
	[LWP_CAPS_LATENCY_MAX] = "lwp-latency-max",
	[LWP_CAPS_LATENCY_RND] = "cache latency rounding",
	[LWP_CAPS_FEATURES] = "event features",
	[LWP_CAPS_ECX_FEATURES] = "filter features",
};

const char *lwp_caps_field_name(enum lwp_caps_field field)
{
	return field_names[field];
}

/* What no two sides can differ in: the program was compiled or set up for it. */
static enum lwp_caps_field layout_mismatch(const struct lwp_caps *a, const struct lwp_caps *b)
{
	if (a->rev != b->rev)
		return LWP_CAPS_REV;
	if (a->event_offset != b->event_offset)
		return LWP_CAPS_EVENT_OFFSET;
	if (a->cb_size != b->cb_size)
		return LWP_CAPS_CB_SIZE;
	if (a->event_size != b->event_size)
		return LWP_CAPS_EVENT_SIZE;
	return LWP_CAPS_OK;
}

enum lwp_caps_field lwp_caps_covers(const struct lwp_caps *have, const struct lwp_caps *need)
{
	enum lwp_caps_field layout = layout_mismatch(have, need);

	if (layout != LWP_CAPS_OK)
		return layout;
	if (have->version < need->version)
		return LWP_CAPS_VERSION;
	if (have->max_events < need->max_events)
		return LWP_CAPS_MAX_EVENTS;
	if (have->min_buffer > need->min_buffer)
		return LWP_CAPS_MIN_BUFFER;
	if (need->features & ~have->features)
		return LWP_CAPS_FEATURES;
	if (lwp_caps_ecx_features(need) & ~lwp_caps_ecx_features(have))
		return LWP_CAPS_ECX_FEATURES;
	/* Without data cache misses the guest was promised nothing about latency. */
	if (lwp_caps_latency_max(have) < lwp_caps_latency_max(need))
		return LWP_CAPS_LATENCY_MAX;
	if (lwp_caps_has(need, LWP_KIND_DME) &&
	    lwp_caps_latency_rnd(have) > lwp_caps_latency_rnd(need))
		return LWP_CAPS_LATENCY_RND;
	return LWP_CAPS_OK;
}

static u8 min_u8(u8 a, u8 b)
{
	return a < b ? a : b;
}

static u8 max_u8(u8 a, u8 b)
{
	return a > b ? a : b;
}

enum lwp_caps_field lwp_caps_intersect(struct lwp_caps *into, const struct lwp_caps *other)
{
	enum lwp_caps_field layout = layout_mismatch(into, other);

	if (layout != LWP_CAPS_OK)
		return layout;
	into->version = min_u8(into->version, other->version);
	into->max_events = min_u8(into->max_events, other->max_events);
	into->min_buffer = max_u8(into->min_buffer, other->min_buffer);
	into->features &= other->features;
	into->latency_max = min_u8(lwp_caps_latency_max(into), lwp_caps_latency_max(other));
	into->latency_rnd = max_u8(lwp_caps_latency_rnd(into), lwp_caps_latency_rnd(other));
	into->ecx_features = lwp_caps_ecx_features(into) & lwp_caps_ecx_features(other);
	/*
	 * 2007-106: cache misses must be filterable by level or by latency, or they are not
	 * offered.
	 */
	if (into->rev == LWP_REV_2007 &&
	    !(into->ecx_features & (LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY)))
		into->features &= ~LWP07_F_DME;
	if (!lwp_caps_has(into, LWP_KIND_DME)) {
		into->latency_max = 0;
		into->latency_rnd = 0;
		into->ecx_features = lwp_caps_ecx_features(into);
	}
	return LWP_CAPS_OK;
}
