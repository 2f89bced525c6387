// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the migration of a pool rests on: what hosts have in common is the greatest lower bound of
 * the order that lwp_caps_covers() is. Also the registers of the leaf, and LWP_CFG.
 */
#include "any_caps.h"
#include "lwp_msr.h"

/* Do they announce the same? */
static bool same(const struct lwp_caps *a, const struct lwp_caps *b)
{
	struct lwp_leaf x, y;

	lwp_leaf_encode(a, 0, &x);
	lwp_leaf_encode(b, 0, &y);
	return a->rev == b->rev && x.ebx == y.ebx && x.ecx == y.ecx && x.edx == y.edx;
}

static bool covers(const struct lwp_caps *have, const struct lwp_caps *need)
{
	return lwp_caps_covers(have, need) == LWP_CAPS_OK;
}

PROPERTY(any_bytes_are_judged)
{
	ANY(struct lwp_caps, caps);
	u32 events, cache = LWP_ECX_DATA_ADDRESS | LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY;
	ANY(u8, kind);
	bool misses;

	cover(lwp_caps_valid(&caps));
	cover(!lwp_caps_valid(&caps));
	if (!lwp_caps_valid(&caps))
		return;
	events = LWP_MASK(caps.max_events, 1);
	misses = caps.features & (caps.rev == LWP_REV_2007 ? LWP07_F_DME : LWP_F_DME);
	check("43724-104",
	      caps.max_events >= 1 &&
		      caps.cb_size >= (caps.rev == LWP_REV_2007 ? 40 : caps.event_offset) +
					      8 * caps.max_events);
	check("43724-104", caps.rev == LWP_REV_2007 ||
				   !(caps.features & LWP_MASK(LWP_MAX_EVENT_ID, 1) & ~events));
	check("43724-107", !caps.latency_max || caps.latency_max >= 10);
	check("2007-106", caps.rev == LWP_REV_43724 ||
				  (!caps.min_buffer &&
				   (!misses || caps.ecx_features & cache & ~LWP_ECX_DATA_ADDRESS)));
	assume(kind < LWP_KINDS);
	check("43724-502",
	      lwp_caps_has(&caps, kind) ==
		      (kind &&
		       caps.features & ~1u & LWP_BIT(lwp_rev_get(caps.rev)->event_id[kind])));
	check("43724-107", misses || !(lwp_caps_ecx_features(&caps) & cache));
	cover(misses);
}

PROPERTY(splits)
{
	struct lwp_caps caps = any_caps();

	check("43724-104",
	      caps.rev != LWP_REV_43724 || (caps.event_offset >= 88 && caps.event_offset % 8 == 0));
	check("2007-106",
	      caps.rev == LWP_REV_43724 || (caps.rev == LWP_REV_2007 && !caps.event_offset));
	cover(caps.event_offset == 248);
	cover(caps.rev == LWP_REV_2007);
}

PROPERTY(each_event_has_one_number)
{
	ANY(u8, rev_id);
	ANY(u8, kind);
	const struct lwp_rev *rev = lwp_rev_get(rev_id);
	u32 id;

	assume(rev && kind != LWP_KIND_NONE && kind < LWP_KINDS);
	id = rev->event_id[kind];
	check("43724-502",
	      rev->id == rev_id && id <= rev->max_event_id && (!id || rev->kind[id] == kind));
	check("43724-502", rev_id == LWP_REV_2007 || id == kind);
	check("2007-502", rev_id != LWP_REV_2007 || id == (kind == LWP_KIND_IRE ? 1 :
							   kind == LWP_KIND_BRE ? 2 :
							   kind == LWP_KIND_DME ? 3 :
										  0));
	cover(rev_id == LWP_REV_2007 && id == 3);
}

PROPERTY(intersect_commutes)
{
	struct lwp_caps a = any_caps(), b = any_caps(), ab = a, ba = b;
	enum lwp_caps_field field = lwp_caps_intersect(&ab, &b);

	check("43724-117", lwp_caps_intersect(&ba, &a) == field);
	if (field == LWP_CAPS_OK)
		check("43724-117", same(&ab, &ba));
	else
		check("43724-117", same(&ab, &a) && same(&ba, &b));
	cover(field == LWP_CAPS_OK);
	cover(field == LWP_CAPS_EVENT_OFFSET);
}

PROPERTY(intersect_associates)
{
	struct lwp_caps a = any_caps(), b = any_caps(), c = any_caps(), left = a, bc = b, right = a;
	bool left_ok = lwp_caps_intersect(&left, &b) == LWP_CAPS_OK &&
		       lwp_caps_intersect(&left, &c) == LWP_CAPS_OK;
	bool right_ok = lwp_caps_intersect(&bc, &c) == LWP_CAPS_OK &&
			lwp_caps_intersect(&right, &bc) == LWP_CAPS_OK;

	check("43724-117", left_ok == right_ok);
	if (left_ok)
		check("43724-117", same(&left, &right));
	cover(left_ok && a.features != b.features && b.features != c.features);
}

PROPERTY(intersect_is_idempotent)
{
	struct lwp_caps a = any_caps(), aa = a;

	check("43724-117", lwp_caps_intersect(&aa, &a) == LWP_CAPS_OK);
	check("43724-117", same(&aa, &a));
}

/* It is valid, both sides can run what it promises, and it has no feature that one side lacks. */
PROPERTY(intersect_is_a_lower_bound)
{
	struct lwp_caps a = any_caps(), b = any_caps(), both = a;

	if (lwp_caps_intersect(&both, &b) != LWP_CAPS_OK)
		return;
	check("43724-117", lwp_caps_valid(&both));
	check("43724-117", covers(&a, &both) && covers(&b, &both));
	check("43724-117", !(both.features & ~(a.features & b.features)));
	check("2007-109", !(lwp_caps_ecx_features(&both) &
			    ~(lwp_caps_ecx_features(&a) & lwp_caps_ecx_features(&b))));
	check("43724-117", both.max_events <= a.max_events && both.max_events <= b.max_events);
	cover(both.features && a.max_events < b.max_events);
}

/* Whatever both can run, what they have in common can run. */
PROPERTY(intersect_is_the_greatest_lower_bound)
{
	struct lwp_caps a = any_caps(), b = any_caps(), c = any_caps(), both = a;

	if (!covers(&a, &c) || !covers(&b, &c))
		return;
	check("43724-117", lwp_caps_intersect(&both, &b) == LWP_CAPS_OK);
	check("43724-117", covers(&both, &c));
	cover(!same(&a, &b) && !same(&a, &c));
}

PROPERTY(intersect_is_monotone)
{
	struct lwp_caps a = any_caps(), less = any_caps(), b = any_caps(), ab = a, less_b = less;

	if (!covers(&a, &less) || lwp_caps_intersect(&ab, &b) != LWP_CAPS_OK)
		return;
	check("43724-117", lwp_caps_intersect(&less_b, &b) == LWP_CAPS_OK);
	check("43724-117", covers(&ab, &less_b));
	cover(!same(&a, &less) && !same(&a, &b));
}

PROPERTY(covers_is_an_order)
{
	struct lwp_caps a = any_caps(), b = any_caps(), c = any_caps();

	check("43724-117", covers(&a, &a));
	if (covers(&a, &b) && covers(&b, &c))
		check("43724-117", covers(&a, &c));
	if (covers(&a, &b) && covers(&b, &a))
		check("43724-117", same(&a, &b));
	cover(covers(&a, &b) && covers(&b, &c) && !same(&a, &c));
}

PROPERTY(leaf_decodes_or_is_refused)
{
	ANY(struct lwp_leaf, leaf);
	ANY(u32, rev);
	struct lwp_caps caps, second;
	struct lwp_leaf again;

	if (!lwp_leaf_decode(&leaf, rev, &caps))
		return;
	check("43724-103", rev == caps.rev && lwp_caps_valid(&caps));
	lwp_leaf_encode(&caps, leaf.eax, &again);
	check("43724-104", again.eax == leaf.eax && again.ebx == leaf.ebx && again.edx == leaf.edx);
	check("43724-107", again.ecx == leaf.ecx || !lwp_caps_has(&caps, LWP_KIND_DME));
	check("43724-105", lwp_leaf_decode(&again, rev, &second) && same(&caps, &second));
	cover(rev == LWP_REV_2007);
	cover(rev == LWP_REV_43724 && lwp_caps_has(&caps, LWP_KIND_DME));
}

PROPERTY(caps_survive_the_leaf)
{
	struct lwp_caps caps = any_caps(), second;
	struct lwp_leaf leaf;

	lwp_leaf_encode(&caps, 1, &leaf);
	check("43724-105", lwp_leaf_decode(&leaf, caps.rev, &second));
	check("2007-105", same(&caps, &second) && covers(&caps, &second) && covers(&second, &caps));
	check("43724-103", leaf.edx & LWP_F_AVAIL);
}

PROPERTY(max_events_can_be_set_or_stay)
{
	struct lwp_caps caps = any_caps(), before = caps;
	ANY(u32, n);

	if (lwp_caps_set_max_events(&caps, n)) {
		check("2007-110", n >= 1 && n <= lwp_rev_get(caps.rev)->max_event_id);
		check("2007-110", caps.max_events == n && lwp_caps_valid(&caps));
		check("2007-110", !(caps.features & ~before.features));
		check("2007-110", caps.rev == LWP_REV_43724 || caps.features == before.features);
		cover(n < before.max_events);
	} else {
		check("2007-110", same(&caps, &before));
	}
}

PROPERTY(cfg_is_refused_or_can_be_stored)
{
	struct lwp_caps caps = any_caps();
	ANY(u64, value);
	ANY(u64, old);
	u64 cfg = old, again;

	if (lwp_cfg_write(&caps, value, &cfg)) {
		check("43724-209", lwp_cfg_valid(&caps, cfg));
		check("43724-203", !(cfg & ~value));
		check("43724-202", !((u32)cfg & ~(caps.features | LWP_F_AVAIL)));
		check("43724-204", lwp_cfg_write(&caps, cfg, &again) && again == cfg);
		cover(cfg != value);
	} else {
		check("43724-202", cfg == old);
	}
	if (lwp_cfg_valid(&caps, value))
		check("43724-209", lwp_cfg_write(&caps, value, &again) && again == value);
}

PROPERTY(cfg_at_reset)
{
	struct lwp_caps caps = any_caps();
	ANY(u32, apic_id);
	u64 cfg = lwp_cfg_reset(&caps, true, apic_id);

	check("43724-209", lwp_cfg_valid(&caps, cfg));
	check("43724-207", !((u32)cfg & LWP_F_INT) && lwp_cfg_core_id(cfg) == (u8)apic_id);
	check("43724-201", !lwp_cfg_reset(&caps, false, apic_id));
}

PROPERTY(avail_is_within_the_leaf_and_cfg)
{
	struct lwp_caps caps = any_caps();
	ANY(u64, cfg);
	ANY(u8, mode);
	u32 avail = lwp_avail(&caps, cfg, mode & 1, mode & 2);
	bool there = caps.rev == LWP_REV_2007 ? cfg & 1 : mode & 1 ? cfg & caps.features : mode & 2;

	check("43724-109", avail == (there ? ((u32)cfg & caps.features) | LWP_F_AVAIL : 0));
	check("43724-103", !(avail & ~(caps.features | LWP_F_AVAIL)));
	check("43724-110", avail & LWP_F_AVAIL || !avail);
	check("43724-109", !(avail & ~LWP_F_AVAIL & ~(u32)cfg));
	cover(avail & ~LWP_F_AVAIL);
	cover(!avail);
}
