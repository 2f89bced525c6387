// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of hosts: their common LWP, and whether a guest sees the same on all (43724-117). */
#include "hosts.h"

static struct settings s;
static struct lwp_caps caps;
static char why[WHY_SIZE];
static const struct wish usual;
/* Hosts a and b: two as QEMU's full profile; one such and one of less. */
static struct hostcaps full[2], mixed[2];

static void say(const char *name, const char *value)
{
	cr_assert(eq(int, settings_set(&s, name, value, why), SETTING_OK), "%s", why);
}

static void begin(void)
{
	settings_init(&s);
	s.lwp = true;
	*why = '\0';
}

static void set_up(void)
{
	begin();
	full[0] = mixed[0] = HOST("a", FULL);
	full[1] = HOST("b", FULL);
	mixed[1] = HOST("b", SMALL);
}

TestSuite(host_set, .init = set_up);

/* The guest does not fit, for this reason. */
static void unfit(const struct hostcaps *hosts, size_t nr, const char *reason)
{
	cr_expect(not(host_set_fits(&s, hosts, nr, why)), "%s", reason);
	cr_expect(eq(str, why, text(reason)));
}

Test(host_set, one_host_is_its_own_baseline_with_everything_said)
{
	cr_assert(host_set_baseline(full, 1, &usual, &s, &caps, why), "%s", why);
	cr_expect(eq(int, s.max_events, 6));
	cr_expect(eq(int, s.min_buffer, 1));
	cr_expect(eq(int, s.latency_max, 0)); /* no data cache misses: announced as 0 */
	cr_expect(eq(u32, s.on, 0xe000006e));
	cr_expect(eq(u32, s.off, 0x00000010));
	cr_expect(eq(int, s.rev, 0));
	cr_expect(eq(int, s.context, 0));
	cr_expect(eq(int, s.delivery, 1));
	cr_expect(eq(int, s.enforce, 1));
	cr_expect(eq(int, s.profile, NOT_SAID));
}

/*
 * 6 and 3 events, rings from 1 and 4: 3 events, rings from 4, neither PTSC nor clocks (43724-117,
 * 2007-109).
 */
Test(host_set, baseline_is_the_minimum_of_events_and_the_largest_smallest_ring)
{
	cr_assert(host_set_baseline(mixed, 2, &usual, &s, &caps, why), "%s", why);
	cr_expect(eq(int, s.max_events, 3));
	cr_expect(eq(int, s.min_buffer, 4));
	cr_expect(eq(u32, s.on, 0xa000000e));
	cr_expect(eq(u32, s.off, 0x40000070));
	cr_expect(eq(u16, caps.cb_size, 152));
	cr_expect(host_set_fits(&s, mixed, 2, why), "%s", why);
}

Test(host_set, order_of_the_hosts_does_not_matter)
{
	struct hostcaps turned[] = { mixed[1], mixed[0] };
	struct settings other;

	cr_assert(host_set_baseline(mixed, 2, &usual, &s, &caps, why));
	cr_assert(host_set_baseline(turned, 2, &usual, &other, &caps, why));
	cr_expect(eq(int, s.lwp, other.lwp));
	/* After it is padding. */
	cr_expect(
		eq(int, memcmp(&s.rev, &other.rev, sizeof(s) - offsetof(struct settings, rev)), 0));
}

Test(host_set, delivery_is_prompt_where_every_host_offers_it)
{
	full[0].rev[0].deliveries = 3;
	full[1].rev[0].deliveries = 1;
	cr_assert(host_set_baseline(full, 2, &usual, &s, &caps, why));
	cr_expect(eq(int, s.delivery, 0));
	full[1].rev[0].deliveries = 3;
	cr_assert(host_set_baseline(full, 2, &usual, &s, &caps, why));
	cr_expect(eq(int, s.delivery, 1));
	full[1].rev[0].deliveries = 2;
	cr_assert(host_set_baseline(full, 2, &usual, &s, &caps, why));
	cr_expect(eq(int, s.delivery, 1));
	full[0].rev[0].deliveries = 1;
	cr_assert(not(host_set_baseline(full, 2, &usual, &s, &caps, why)));
	cr_expect(eq(str, why, text("b: lwp-delivery: cannot be reconciled with a")));
}

Test(host_set, baseline_names_the_host_without_lwp_and_its_reason)
{
	struct hostcaps hosts[] = { HOST("a", FULL), { .name = text("b"), .reason = text("old") } };

	cr_assert(not(host_set_baseline(hosts, 2, &usual, &s, &caps, why)));
	cr_expect(eq(str, why, text("b: lwp: old")));
}

Test(host_set, baseline_names_the_field_that_nothing_reconciles)
{
	full[1].rev[0].caps.event_offset = 120;
	cr_assert(not(host_set_baseline(full, 2, &usual, &s, &caps, why)));
	cr_expect(eq(str, why, text("b: LWPCB event offset: cannot be reconciled with a")));
}

Test(host_set, baseline_names_revision_and_contexts_that_are_not_offered)
{
	const struct wish old = { .rev = LWP_REV_2007 }, os = { .context = 1 };

	full[0].rev[0].contexts = 1;
	cr_assert(not(host_set_baseline(full, 1, &old, &s, &caps, why)));
	cr_expect(eq(str, why, text("a: lwp-rev: this host does not offer the revision")));
	cr_assert(not(host_set_baseline(full, 1, &os, &s, &caps, why)));
	cr_expect(eq(str, why, text("a: lwp-context: this host does not offer the kind")));
}

/* Silicon of family 15h filters no addresses; QEMU has that as a profile only. */
Test(host_set, baseline_with_silicon_takes_its_profile)
{
	struct hostcaps hosts[] = { HOST("a", FULL),
				    HOST("b", .rev = 0, .version = 1, .max_events = 3,
					 .event_offset = 128, .cb_size = 152, .event_size = 32,
					 .min_buffer = 1, .features = 0x8000000e) };

	cr_assert(host_set_baseline(hosts, 2, &usual, &s, &caps, why), "%s", why);
	cr_expect(eq(int, s.profile, LWP_PROFILE_FAM15H));
	cr_expect(eq(u32, caps.ecx_features, 0));
}

/* Each field: what a guest needs and a host does not have, by its property. */
static void expect_refused(const char *name, const char *value, const char *message)
{
	begin();
	mixed[1].rev[0].contexts = 1;
	mixed[1].rev[0].deliveries = 1;
	mixed[1].rev[0].vmcb = false;
	say(name, value);
	unfit(&mixed[1], 1, message);
}

Test(host_set, what_a_guest_needs_and_a_host_lacks_is_named)
{
	expect_refused("lwp-max-events", "6",
		       "b: lwp-max-events: the guest needs 6, the host offers 3");
	expect_refused("lwp-min-buffer", "1",
		       "b: lwp-min-buffer: the guest needs 1, the host's smallest is 4");
	expect_refused("lwp-ptsc", "on",
		       "b: lwp-ptsc: the guest needs time stamps in records, the host has none");
	expect_refused("lwp-cnh", "on",
		       "b: lwp-cnh: the guest needs core clock records, the host has none");
	expect_refused("lwp-rev", "2007",
		       "b: lwp-rev: the guest needs 2007, which the host does not offer");
	expect_refused("lwp-context", "os",
		       "b: lwp-context: the guest needs 'os', which the host does not offer");
	expect_refused("lwp-delivery", "prompt",
		       "b: lwp-delivery: the guest needs 'prompt', which the host does not offer");
	expect_refused("lwp-vmcb", "on", "b: lwp-vmcb: it needs lwp-context=os");
	expect_refused("lwp-profile", "fam15h",
		       "b: lwp-profile=fam15h: the host lacks what it needs of lwp-min-buffer");
}

Test(host_set, every_feature_bit_that_a_host_lacks_is_named)
{
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		char start[32];

		begin();
		full[1] = HOST("b", FULL);
		full[1].rev[0].caps.features &= ~lwp_feature_flag(f, LWP_REV_43724);
		say(f->property, "on");
		snprintf(start, sizeof(start), "b: %s: ", f->property);
		cr_expect(not(host_set_fits(&s, &full[1], 1, why)), "%s", start);
		cr_expect(eq(int, strncmp(why, start, strlen(start)), 0), "%s", why);
	}
}

Test(host_set, cache_latency_matters_only_with_cache_misses)
{
	full[0].rev[0].caps.features |= 0x10;
	full[0].rev[0].caps.ecx_features = 0xe0000020;
	full[1].rev[0].caps.latency_max = 0; /* as in a leaf without misses */
	cr_expect(host_set_fits(&s, full, 2, why), "%s", why);
	say("lwp-latency-max", "20");
	cr_expect(host_set_fits(&s, full, 1, why));
	say("lwp-dme", "on");
	unfit(full, 1, "a: lwp-latency-max: the guest needs 20, the host offers 16");
}

/* 43724-117: a host that rounds less can round more; libvirt says the number always. */
Test(host_set, latency_rounding_is_the_hosts_or_more)
{
	for (int i = 0; i < 2; i++) {
		struct lwp_caps *own = &full[i].rev[0].caps;

		own->features |= 0x10;
		own->ecx_features = 0xe0000020; /* and filters by cache */
	}
	full[1].rev[0].caps.latency_rnd = 2;
	say("lwp-dme", "on");
	say("lwp-latency-rounding", "0");
	cr_expect(host_set_fits(&s, full, 1, why), "%s", why);
	unfit(full, 2, "b: lwp-latency-rounding: the guest needs 0, the host rounds 2");
	begin();
	cr_assert(host_set_baseline(full, 2, &usual, &s, &caps, why), "%s", why);
	cr_expect(eq(int, s.latency_rnd, 2));
	cr_expect(host_set_fits(&s, full, 2, why), "%s", why);

	begin();
	full[0].rev[LWP_REV_2007] = full[0].rev[0];
	full[0].rev[LWP_REV_2007].caps.rev = LWP_REV_2007;
	say("lwp-rev", "2007");
	say("lwp-latency-rounding", "2");
	unfit(full, 1, "a: lwp-latency-rounding: revision 2007 has none");
}

/* Nothing said: each host's own default, and they differ. */
Test(host_set, what_is_not_said_and_differs_is_named)
{
	unfit(mixed, 2,
	      "b: lwp-max-events: 6 with a, 3 with this host; set it in the domain "
	      "(lwpctl baseline)");
	say("lwp-max-events", "3");
	say("lwp-min-buffer", "4");
	say("lwp-latency-max", "0");
	unfit(mixed, 2,
	      "b: lwp-ptsc: on with a, off with this host; set it in the domain (lwpctl baseline)");
	say("lwp-ptsc", "off");
	cr_expect(host_set_fits(&s, mixed, 2, why), "%s", why);
}

/* As a host that offers nothing else may say of itself; a guest of another revision gets QEMU's defaults. */
Test(host_set, what_is_not_said_is_as_the_host_says)
{
	full[0].rev[0].contexts = full[0].rev[0].deliveries = 2;
	cr_expect(not(host_set_fits(&s, full, 1, why)));
	full[0].open.context = full[0].open.delivery = 1;
	cr_expect(host_set_fits(&s, full, 1, why), "%s", why);
	full[0].open.rev = LWP_REV_2007;
	unfit(full, 1, "a: lwp-rev: the guest needs 2007, which the host does not offer");
	say("lwp-rev", "43724");
	unfit(full, 1, "a: lwp-context: the guest needs 'auto', which the host does not offer");
}

Test(host_set, a_guest_without_lwp_fits_everywhere)
{
	struct hostcaps hosts[] = { { .name = text("b") } };

	unfit(hosts, 1, "b: lwp: the guest needs it, the host has none");
	s.lwp = false;
	cr_expect(host_set_fits(&s, hosts, 1, why));
}

Test(host_set, a_guest_without_the_preset_fits_each_host)
{
	say("lwp-preset", "off");
	cr_expect(host_set_fits(&s, &mixed[1], 1, why), "%s", why);
}

Test(settings, values_out_of_range_are_named_with_what_was_expected)
{
	static const struct {
		const char *name, *value, *message;
	} bad[] = {
		{ "lwp-max-events", "0", "lwp-max-events: expected a number from 1 to 6, got '0'" },
		{ "lwp-max-events", "7", "lwp-max-events: expected a number from 1 to 6, got '7'" },
		{ "lwp-max-events", "3x",
		  "lwp-max-events: expected a number from 1 to 6, got '3x'" },
		{ "lwp-min-buffer", "256",
		  "lwp-min-buffer: expected a number from 0 to 255, got '256'" },
		{ "lwp-latency-max", "9",
		  "lwp-latency-max: expected 0 or a number from 10 to 31, got '9'" },
		{ "lwp-rev", "2008", "lwp-rev: expected '43724' or '2007', got '2008'" },
		{ "lwp-context", "", "lwp-context: expected 'auto' or 'os', got ''" },
		{ "lwp-val", "maybe", "lwp-val: expected 'on' or 'off', got 'maybe'" },
		{ "lwp-preset", "auto", "lwp-preset: expected 'on' or 'off', got 'auto'" },
		{ "lwp-latency-rounding", "5",
		  "lwp-latency-rounding: expected a number from 0 to 4, got '5'" },
		{ "lwp-frob", "1", "there is no property 'lwp-frob'" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin();
		cr_expect(eq(int, settings_set(&s, bad[i].name, bad[i].value, why), SETTING_BAD));
		cr_expect(eq(str, why, text(bad[i].message)));
	}
	cr_expect(eq(int, settings_set(&s, "xlevel", "1", why), SETTING_NOT_OURS));
	cr_expect(eq(int, settings_set(&s, "lwp-context-age", "9", why), SETTING_NOT_OURS));
	cr_expect(eq(int, settings_set(&s, "lwp-cache-l2", "none", why), SETTING_NOT_OURS));
}
