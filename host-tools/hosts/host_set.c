// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of unequal hosts. */
#include "domain.h"
#include "host_set.h"

static bool lacks(const struct hostcaps *host, char why[WHY_SIZE], const char *field,
		  const char *what)
{
	return no(why, "%.200s: %s: %.200s", hostcaps_label(host), field, what);
}

static bool can(const struct hostcaps *host, const struct wish *wish, char why[WHY_SIZE])
{
	const struct host_rev *rev = &host->rev[wish->rev];

	if (!hostcaps_any(host))
		return lacks(host, why, "lwp", host->reason ?: "this host has none");
	if (!rev->offered)
		return lacks(host, why, "lwp-rev", "this host does not offer the revision");
	if (!(rev->contexts & 1u << wish->context))
		return lacks(host, why, "lwp-context", "this host does not offer the kind");
	return true;
}

/* Have these two alone nothing in common? */
static bool differs_in_numbers(const struct hostcaps *a, const struct hostcaps *b, u32 rev)
{
	struct lwp_caps caps = a->rev[rev].caps, other = b->rev[rev].caps;

	caps_shrink(&caps, other.max_events);
	caps_shrink(&other, caps.max_events);
	return lwp_caps_intersect(&caps, &other) != LWP_CAPS_OK;
}

static bool differs_in_delivery(const struct hostcaps *a, const struct hostcaps *b, u32 rev)
{
	return !(a->rev[rev].deliveries & b->rev[rev].deliveries);
}

/* Names the first host that host `i` has nothing in common with. */
static bool irreconcilable(const struct hostcaps *hosts, size_t i, u32 rev, char why[WHY_SIZE],
			   const char *field,
			   bool (*differ)(const struct hostcaps *, const struct hostcaps *, u32))
{
	char what[WHY_SIZE / 2] = "cannot be reconciled with all hosts before it together";

	for (size_t j = 0; j < i; j++)
		if (differ(&hosts[j], &hosts[i], rev)) {
			snprintf(what, sizeof(what), "cannot be reconciled with %.150s",
				 hostcaps_label(&hosts[j]));
			break;
		}
	return lacks(&hosts[i], why, field, what);
}

static bool intersect(const struct hostcaps *hosts, size_t nr, u32 rev, struct lwp_caps *caps,
		      char why[WHY_SIZE])
{
	u32 max_events = LWP_MAX_EVENT_ID;
	struct lwp_caps one;

	for (size_t i = 0; i < nr; i++)
		if (hosts[i].rev[rev].caps.max_events < max_events)
			max_events = hosts[i].rev[rev].caps.max_events;
	*caps = hosts[0].rev[rev].caps;
	caps_shrink(caps, max_events);
	/* The first one too: what means nothing without cache misses goes away. */
	for (size_t i = 0; i < nr; i++) {
		enum lwp_caps_field field;

		one = hosts[i].rev[rev].caps;
		caps_shrink(&one, max_events);
		field = lwp_caps_intersect(caps, &one);
		if (field != LWP_CAPS_OK)
			return irreconcilable(hosts, i, rev, why, lwp_caps_field_name(field),
					      differs_in_numbers);
	}
	return true;
}

static void say_all(struct settings *s, const struct lwp_caps *caps)
{
	s->max_events = caps->max_events;
	s->min_buffer = caps->min_buffer;
	s->latency_max = lwp_caps_latency_max(caps);
	if (lwp_caps_latency_rnd(caps))
		s->latency_rnd = lwp_caps_latency_rnd(caps);
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		u32 flag = lwp_feature_flag(f, caps->rev);

		if (caps->features & flag)
			s->on |= settings_flag(f);
		else if (flag)
			s->off |= settings_flag(f);
	}
}

/* Does QEMU make of these properties what the pool has, also where it has no property? */
static bool expressed(const struct settings *s, const struct lwp_caps *caps, char why[WHY_SIZE])
{
	struct hostcaps qemu = { 0 };
	struct host_rev *rev = &qemu.rev[caps->rev];
	struct lwp_caps made;

	rev->offered = true;
	rev->contexts = 3;
	rev->deliveries = 3;
	lwp_caps_profile(&rev->caps, LWP_PROFILE_FULL, caps->rev);
	rev->caps.min_buffer = 0;
	rev->caps.latency_max = caps->latency_max;
	rev->caps.ecx_features &= ~(u32)LWP_ECX_BRANCH_PREDICTION;
	if (!settings_apply(s, &qemu, &made, why))
		return false;
	return !caps_differ(caps, "the pool", &made, "QEMU, which has no property for it", why);
}

/* Numbers without a property come with a profile: that of silicon where the full one does not fit. */
static bool choose_profile(struct settings *s, const struct lwp_caps *caps, char why[WHY_SIZE])
{
	char other[WHY_SIZE];

	if (expressed(s, caps, why))
		return true;
	s->profile = LWP_PROFILE_FAM15H;
	return caps->rev == LWP_REV_43724 && expressed(s, caps, other);
}

bool host_set_baseline(const struct hostcaps *hosts, size_t nr, const struct wish *wish,
		       struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	u8 deliveries = 3;

	for (size_t i = 0; i < nr; i++) {
		if (!can(&hosts[i], wish, why))
			return false;
		deliveries &= hosts[i].rev[wish->rev].deliveries;
		if (!deliveries)
			return irreconcilable(hosts, i, wish->rev, why, "lwp-delivery",
					      differs_in_delivery);
	}
	if (!intersect(hosts, nr, wish->rev, caps, why))
		return false;
	settings_init(s);
	s->lwp = true;
	s->rev = (int)wish->rev;
	s->context = wish->context;
	/* What QEMU takes by itself where it has the choice. */
	s->delivery = deliveries & 2 ? 1 : 0;
	s->enforce = 1;
	say_all(s, caps);
	return choose_profile(s, caps, why);
}

bool host_set_fits_beside(const struct settings *s, const struct hostcaps *first,
			  const struct hostcaps *host, const char *advice, char why[WHY_SIZE])
{
	struct lwp_caps there, caps;
	char field[WHY_SIZE];

	if (!s->lwp)
		return true;
	if (!settings_apply(s, host, &caps, why))
		return false;
	/* A host that has no such LWP has been named for itself. */
	return !settings_apply(s, first, &there, field) ||
	       !caps_differ(&there, first->name, &caps, "this host", field) ||
	       no(why, "%.300s; %s", field, advice);
}

bool host_set_fits(const struct settings *s, const struct hostcaps *hosts, size_t nr,
		   char why[WHY_SIZE])
{
	char what[WHY_SIZE];

	for (size_t i = 0; i < nr; i++)
		if (!host_set_fits_beside(s, &hosts[0], &hosts[i], managers[0].differs, what))
			return no(why, "%.150s: %.350s", hostcaps_label(&hosts[i]), what);
	return true;
}
