// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Leaf 8000_001C: the ready-made profiles, what makes a set of numbers consistent, and the
 * registers. What several hosts have in common is in lwp_cpuid_set.c.
 */
#include "lwp_cb.h"
#include "lwp_record.h"

#define LATENCY_BITS_MIN 10
#define LATENCY_BITS_MAX 31
#define LATENCY_RND_MAX 4

#define ECX_CACHE (LWP_ECX_DATA_ADDRESS | LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY)
#define ECX_CACHE_FILTERS (LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY)

#define ECX_FEATURES_2007 (ECX_CACHE | LWP_ECX_VMCB_AREA)

#define LWP_ECX_DEFINED                                                                     \
	(LWP_ECX_LATENCY_MAX | LWP_ECX_LATENCY_RND | LWP_ECX_VERSION | LWP_ECX_MIN_BUFFER | \
	 LWP_ECX_FEATURES)
#define LWP07_ECX_DEFINED (LWP_ECX_LATENCY_MAX | ECX_FEATURES_2007)
#define LWP07_EDX_DEFINED \
	(LWP07_F_ENABLED | LWP07_EDX_INT | LWP07_EDX_IRE | LWP07_EDX_BRE | LWP07_EDX_DME)

/* Bits 8..1 of Flags: one for each EventId with a counter. */
#define EVENT_FLAGS LWP_MASK(LWP_MAX_EVENT_ID, 1)

_Static_assert(LWP_CB_EVENT_OFFSET + 3 * LWP_CB_SLOT_SIZE == 0x13 * 8,
	       "LwpCbSize of family 15h: 13h quadwords");
_Static_assert(LWP_EBX_CB_SIZE * 8 == LWP_CB_MAX_SIZE, "LwpCbSize is 8 bits of quadwords");

static const struct lwp_caps full_43724 = {
	.rev = LWP_REV_43724,
	.version = 1,
	.max_events = LWP_LAST_EVENT_ID,
	.event_offset = LWP_CB_EVENT_OFFSET,
	.cb_size = LWP_CB_EVENT_OFFSET + LWP_LAST_EVENT_ID * LWP_CB_SLOT_SIZE,
	.event_size = LWP_RECORD_SIZE,
	.min_buffer = 1,
	.latency_max = 16,
	.latency_rnd = 0,
	.ecx_features = ECX_CACHE | LWP_ECX_IP_FILTERING,
};

static const struct lwp_caps fam15h = {
	.rev = LWP_REV_43724,
	.version = 1,
	.max_events = 3,
	.event_offset = LWP_CB_EVENT_OFFSET,
	.cb_size = LWP_CB_EVENT_OFFSET + 3 * LWP_CB_SLOT_SIZE,
	.event_size = LWP_RECORD_SIZE,
	.min_buffer = 1,
	.features = LWP_F_VAL | LWP_F_IRE | LWP_F_BRE | LWP_F_INT,
};

static const struct lwp_caps full_2007 = {
	.rev = LWP_REV_2007,
	.version = 1,
	.max_events = LWP07_LAST_EVENT_ID,
	.cb_size = LWP07_CB_FIXED_SIZE + LWP07_LAST_EVENT_ID * LWP_CB_SLOT_SIZE,
	.event_size = LWP_RECORD_SIZE,
	.latency_max = 16,
	.ecx_features = ECX_CACHE,
};

/* All features that a revision has: its events and what else is in EDX. */
static u32 features_of(u32 rev)
{
	u32 features = rev == LWP_REV_2007 ? LWP07_F_INT : LWP_F_CONT | LWP_F_PTSC | LWP_F_INT;
	u32 id;

	for (id = 1; id <= LWP_MAX_EVENT_ID; id++)
		if (lwp_rev_get(rev)->kind[id] != LWP_KIND_NONE)
			features |= LWP_BIT(id);
	return features;
}

void lwp_caps_profile(struct lwp_caps *caps, enum lwp_profile profile, u32 rev)
{
	if (rev == LWP_REV_43724 && profile == LWP_PROFILE_FAM15H) {
		*caps = fam15h;
		return;
	}
	*caps = rev == LWP_REV_2007 ? full_2007 : full_43724;
	caps->features = features_of(caps->rev);
}

u32 lwp_caps_event_features(u32 max_event_id)
{
	return LWP_MASK(max_event_id, 1);
}

bool lwp_caps_set_max_events(struct lwp_caps *caps, u32 max_events)
{
	const struct lwp_rev *rev = lwp_rev_get(caps->rev);

	if (max_events < 1 || max_events > rev->max_event_id)
		return false;
	caps->max_events = (u8)max_events;
	caps->cb_size = (u16)lwp_cb_slot_offset(caps, max_events);
	if (!rev->slot_selects_event)
		caps->features &= ~EVENT_FLAGS | lwp_caps_event_features(max_events);
	return true;
}

bool lwp_caps_has(const struct lwp_caps *caps, enum lwp_kind kind)
{
	u32 event_id = lwp_rev_get(caps->rev)->event_id[kind];

	return event_id && caps->features & LWP_BIT(event_id);
}

/* 43724-107 */
u32 lwp_caps_ecx_features(const struct lwp_caps *caps)
{
	if (lwp_caps_has(caps, LWP_KIND_DME))
		return caps->ecx_features;
	return caps->ecx_features & ~ECX_CACHE;
}

u8 lwp_caps_latency_max(const struct lwp_caps *caps)
{
	return lwp_caps_has(caps, LWP_KIND_DME) ? caps->latency_max : 0;
}

u8 lwp_caps_latency_rnd(const struct lwp_caps *caps)
{
	return lwp_caps_has(caps, LWP_KIND_DME) ? caps->latency_rnd : 0;
}

static bool valid_latency(const struct lwp_caps *caps)
{
	if (caps->latency_max > LATENCY_BITS_MAX || caps->latency_rnd > LATENCY_RND_MAX)
		return false;
	if (caps->latency_max >= LATENCY_BITS_MIN)
		return true;
	return !caps->latency_max && !lwp_caps_has(caps, LWP_KIND_DME);
}

static bool valid_43724(const struct lwp_caps *caps)
{
	u32 events = lwp_caps_event_features(caps->max_events);

	return caps->version <= lwp_field_get(LWP_ECX_VERSION, ~0u) &&
	       caps->event_offset >= LWP_CB_FIXED_SIZE &&
	       caps->event_offset % LWP_CB_SLOT_SIZE == 0 && caps->cb_size <= LWP_CB_MAX_SIZE &&
	       !(caps->features & ~features_of(LWP_REV_43724)) &&
	       !(caps->features & EVENT_FLAGS & ~events) &&
	       !(caps->ecx_features & ~LWP_ECX_FEATURES);
}

static bool valid_2007(const struct lwp_caps *caps)
{
	if (lwp_caps_has(caps, LWP_KIND_DME) && !(caps->ecx_features & ECX_CACHE_FILTERS))
		return false;
	return !caps->event_offset && caps->cb_size <= LWP_EBX_CB_SIZE && !caps->min_buffer &&
	       !caps->latency_rnd && !(caps->features & ~features_of(LWP_REV_2007)) &&
	       !(caps->ecx_features & ~ECX_FEATURES_2007);
}

bool lwp_caps_valid(const struct lwp_caps *caps)
{
	if (caps->rev >= LWP_REVS || caps->event_size != LWP_RECORD_SIZE)
		return false;
	if (caps->max_events < 1 || caps->max_events > LWP_MAX_EVENT_ID)
		return false;
	if (caps->cb_size % LWP_CB_SLOT_SIZE ||
	    caps->cb_size < lwp_cb_slot_offset(caps, caps->max_events))
		return false;
	if (!valid_latency(caps))
		return false;
	return caps->rev == LWP_REV_2007 ? valid_2007(caps) : valid_43724(caps);
}

/*
 * 2007: EDX has the interrupt in bit 1 and the events one bit higher than EAX and LWPMSR0
 * (2007-102).
 */
static u32 edx_encode_2007(u32 features)
{
	u32 edx = LWP07_F_ENABLED;

	if (features & LWP07_F_INT)
		edx |= LWP07_EDX_INT;
	if (features & LWP07_F_IRE)
		edx |= LWP07_EDX_IRE;
	if (features & LWP07_F_BRE)
		edx |= LWP07_EDX_BRE;
	if (features & LWP07_F_DME)
		edx |= LWP07_EDX_DME;
	return edx;
}

/* 2007-102 */
static u32 edx_decode_2007(u32 edx)
{
	u32 features = 0;

	if (edx & LWP07_EDX_INT)
		features |= LWP07_F_INT;
	if (edx & LWP07_EDX_IRE)
		features |= LWP07_F_IRE;
	if (edx & LWP07_EDX_BRE)
		features |= LWP07_F_BRE;
	if (edx & LWP07_EDX_DME)
		features |= LWP07_F_DME;
	return features;
}

void lwp_leaf_encode(const struct lwp_caps *caps, u32 eax, struct lwp_leaf *leaf)
{
	leaf->eax = eax;
	leaf->ebx = lwp_field_put(LWP_EBX_EVENT_SIZE, caps->event_size) |
		    lwp_field_put(LWP_EBX_MAX_EVENTS, caps->max_events);
	leaf->ecx = lwp_field_put(LWP_ECX_LATENCY_MAX, lwp_caps_latency_max(caps)) |
		    lwp_caps_ecx_features(caps);
	if (caps->rev == LWP_REV_2007) {
		leaf->ebx |= lwp_field_put(LWP_EBX_CB_SIZE, caps->cb_size) |
			     lwp_field_put(LWP07_EBX_VERSION, caps->version);
		leaf->edx = edx_encode_2007(caps->features);
		return;
	}
	leaf->ebx |= lwp_field_put(LWP_EBX_CB_SIZE, caps->cb_size / 8u) |
		     lwp_field_put(LWP_EBX_EVENT_OFFSET, caps->event_offset);
	leaf->ecx |= lwp_field_put(LWP_ECX_LATENCY_RND, lwp_caps_latency_rnd(caps)) |
		     lwp_field_put(LWP_ECX_VERSION, caps->version) |
		     lwp_field_put(LWP_ECX_MIN_BUFFER, caps->min_buffer);
	leaf->edx = LWP_F_AVAIL | caps->features;
}

static void leaf_decode_2007(const struct lwp_leaf *leaf, struct lwp_caps *caps)
{
	caps->version = (u8)lwp_field_get(LWP07_EBX_VERSION, leaf->ebx);
	caps->cb_size = (u16)lwp_field_get(LWP_EBX_CB_SIZE, leaf->ebx);
	caps->features = edx_decode_2007(leaf->edx);
}

static void leaf_decode_43724(const struct lwp_leaf *leaf, struct lwp_caps *caps)
{
	caps->version = (u8)lwp_field_get(LWP_ECX_VERSION, leaf->ecx);
	caps->event_offset = (u8)lwp_field_get(LWP_EBX_EVENT_OFFSET, leaf->ebx);
	caps->cb_size = (u16)(lwp_field_get(LWP_EBX_CB_SIZE, leaf->ebx) * 8);
	caps->min_buffer = (u8)lwp_field_get(LWP_ECX_MIN_BUFFER, leaf->ecx);
	caps->latency_rnd = (u8)lwp_field_get(LWP_ECX_LATENCY_RND, leaf->ecx);
	caps->features = leaf->edx & ~LWP_F_AVAIL;
}

bool lwp_leaf_decode(const struct lwp_leaf *leaf, u32 rev, struct lwp_caps *caps)
{
	memset(caps, 0, sizeof(*caps));
	if (rev >= LWP_REVS)
		return false;
	caps->rev = (u8)rev;
	caps->event_size = (u8)lwp_field_get(LWP_EBX_EVENT_SIZE, leaf->ebx);
	caps->max_events = (u8)lwp_field_get(LWP_EBX_MAX_EVENTS, leaf->ebx);
	caps->latency_max = (u8)lwp_field_get(LWP_ECX_LATENCY_MAX, leaf->ecx);
	caps->ecx_features = leaf->ecx & LWP_ECX_FEATURES;
	if (rev == LWP_REV_2007)
		leaf_decode_2007(leaf, caps);
	else
		leaf_decode_43724(leaf, caps);
	/* A reserved bit that is set describes something that is not known here. */
	if (rev == LWP_REV_2007 &&
	    (leaf->ecx & ~LWP07_ECX_DEFINED || leaf->edx & ~LWP07_EDX_DEFINED))
		return false;
	if (rev == LWP_REV_43724 && leaf->ecx & ~LWP_ECX_DEFINED)
		return false;
	return leaf->edx & LWP_F_AVAIL && lwp_caps_valid(caps);
}
