// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a guest's configuration says of LWP, and what a host makes of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lwp_cb.h"
#include "memory.h"
#include "settings.h"

#define BUFFER_MAX 255
#define LATENCY_MIN 10
#define LATENCY_MAX 31
#define ROUNDING_MAX 4 /* of QEMU's property */

void settings_init(struct settings *s)
{
	*s = (struct settings){
		.rev = NOT_SAID,
		.context = NOT_SAID,
		.delivery = NOT_SAID,
		.profile = NOT_SAID,
		.vmcb = NOT_SAID,
		.max_events = NOT_SAID,
		.min_buffer = NOT_SAID,
		.latency_max = NOT_SAID,
		.latency_rnd = NOT_SAID,
		.fsgsbase = NOT_SAID,
		.enforce = NOT_SAID,
	};
}

u32 settings_rev(const struct settings *s)
{
	return s->rev == NOT_SAID ? LWP_REV_43724 : (u32)s->rev;
}

int settings_context(const struct settings *s)
{
	return s->context == NOT_SAID ? 0 : s->context;
}

int settings_delivery(const struct settings *s)
{
	return s->delivery == NOT_SAID ? 0 : s->delivery;
}

/* ---- Reading one property ------------------------------------------------------------------- */

static enum setting_verdict bad(char why[WHY_SIZE], const char *name, const char *expected,
				const char *value)
{
	snprintf(why, WHY_SIZE, "%s: expected %s, got '%s'", name, expected, value);
	return SETTING_BAD;
}

static int boolean(const char *value)
{
	if (!strcmp(value, "on") || !strcmp(value, "yes") || !strcmp(value, "true") ||
	    !strcmp(value, "y"))
		return 1;
	if (!strcmp(value, "off") || !strcmp(value, "no") || !strcmp(value, "false") ||
	    !strcmp(value, "n"))
		return 0;
	return -1;
}

static enum setting_verdict set_number(int *field, const char *name, const char *value, int min,
				       int max, char why[WHY_SIZE])
{
	char expected[64], *end;
	long number;

	errno = 0;
	number = strtol(value, &end, 0);
	if (end == value || *end || errno || number < min || number > max) {
		snprintf(expected, sizeof(expected), "a number from %d to %d", min, max);
		return bad(why, name, expected, value);
	}
	*field = (int)number;
	return SETTING_OK;
}

static enum setting_verdict set_choice(int *field, const char *name, const char *value,
				       const char *const words[2], char why[WHY_SIZE])
{
	char expected[64];
	int index = word_index(words, value);

	if (index < 0) {
		snprintf(expected, sizeof(expected), "'%s' or '%s'", words[0], words[1]);
		return bad(why, name, expected, value);
	}
	*field = index;
	return SETTING_OK;
}

static enum setting_verdict set_boolean(int *field, const char *name, const char *value,
					char why[WHY_SIZE])
{
	int is = boolean(value);

	if (is < 0)
		return bad(why, name, "'on' or 'off'", value);
	*field = is;
	return SETTING_OK;
}

static enum setting_verdict set_feature(struct settings *s, const struct lwp_feature *feature,
					const char *value, char why[WHY_SIZE])
{
	int is = boolean(value);

	if (is < 0)
		return bad(why, feature->property, "'on' or 'off'", value);
	s->on &= ~settings_flag(feature);
	s->off &= ~settings_flag(feature);
	if (is)
		s->on |= settings_flag(feature);
	else
		s->off |= settings_flag(feature);
	return SETTING_OK;
}

static enum setting_verdict set_latency(struct settings *s, const char *value, char why[WHY_SIZE])
{
	enum setting_verdict verdict;
	int number = 0;

	verdict = set_number(&number, "lwp-latency-max", value, 0, LATENCY_MAX, why);
	if (verdict != SETTING_OK)
		return verdict;
	if (number && number < LATENCY_MIN)
		return bad(why, "lwp-latency-max", "0 or a number from 10 to 31", value);
	s->latency_max = number;
	return SETTING_OK;
}

enum setting_verdict settings_set(struct settings *s, const char *name, const char *value,
				  char why[WHY_SIZE])
{
	static const char *const rev_words[2] = { "43724", "2007" };
	const struct lwp_feature *feature = lwp_feature_by_property(name);
	int is;

	if (!value)
		value = "on";
	if (feature)
		return set_feature(s, feature, value, why);
	if (!strcmp(name, "lwp")) {
		is = boolean(value);
		if (is < 0)
			return bad(why, name, "'on' or 'off'", value);
		s->lwp = is;
		return SETTING_OK;
	}
	if (!strcmp(name, "lwp-rev"))
		return set_choice(&s->rev, name, value, rev_words, why);
	if (!strcmp(name, "lwp-context"))
		return set_choice(&s->context, name, value, context_words, why);
	if (!strcmp(name, "lwp-delivery"))
		return set_choice(&s->delivery, name, value, delivery_words, why);
	if (!strcmp(name, "lwp-profile"))
		return set_choice(&s->profile, name, value, profile_words, why);
	if (!strcmp(name, "lwp-vmcb"))
		return set_boolean(&s->vmcb, name, value, why);
	if (!strcmp(name, "lwp-preset")) /* no host lacks it */
		return set_boolean(&is, name, value, why);
	if (!strcmp(name, "fsgsbase"))
		return set_boolean(&s->fsgsbase, name, value, why);
	if (!strcmp(name, "enforce"))
		return set_boolean(&s->enforce, name, value, why);
	if (!strcmp(name, "lwp-max-events"))
		return set_number(&s->max_events, name, value, 1, LWP_LAST_EVENT_ID, why);
	if (!strcmp(name, "lwp-min-buffer"))
		return set_number(&s->min_buffer, name, value, 0, BUFFER_MAX, why);
	if (!strcmp(name, "lwp-latency-max"))
		return set_latency(s, value, why);
	if (!strcmp(name, "lwp-latency-rounding"))
		return set_number(&s->latency_rnd, name, value, 0, ROUNDING_MAX, why);
	if (!strcmp(name, "lwp-context-age") || !strncmp(name, "lwp-cache-", 10))
		return SETTING_NOT_OURS; /* TCG's own: no other host sees them */
	if (!strncmp(name, "lwp-", 4)) {
		snprintf(why, WHY_SIZE, "there is no property '%s'", name);
		return SETTING_BAD;
	}
	return SETTING_NOT_OURS;
}

enum setting_verdict settings_set_word(struct settings *s, const char *word, char why[WHY_SIZE])
{
	const char *equals = strchr(word, '=');
	enum setting_verdict verdict;
	char *name;

	if (*word == '+' || *word == '-')
		return settings_set(s, word + 1, *word == '+' ? "on" : "off", why);
	name = copy_string(word, equals ? (size_t)(equals - word) : strlen(word));
	verdict = settings_set(s, name, equals ? equals + 1 : NULL, why);
	free(name);
	return verdict;
}

/* ---- On a host ------------------------------------------------------------------------------ */

/* A block that has its slots and nothing else shrinks with their number, as QEMU makes it. */
static bool shrink(struct lwp_caps *caps, u32 max_events)
{
	if (max_events == caps->max_events)
		return true;
	return caps->cb_size == lwp_cb_slot_offset(caps, caps->max_events) &&
	       lwp_caps_set_max_events(caps, max_events);
}

static bool apply_numbers(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (s->max_events != NOT_SAID) {
		if (s->max_events > caps->max_events) {
			snprintf(why, WHY_SIZE,
				 "lwp-max-events: the guest needs %d, the host offers %u",
				 s->max_events, caps->max_events);
			return false;
		}
		if (!shrink(caps, (u32)s->max_events)) {
			snprintf(
				why, WHY_SIZE,
				"lwp-max-events: the guest needs %d, the host's block has %u and more",
				s->max_events, caps->max_events);
			return false;
		}
	}
	if (s->min_buffer != NOT_SAID) {
		if (s->min_buffer < caps->min_buffer) {
			snprintf(why, WHY_SIZE,
				 "lwp-min-buffer: the guest needs %d, the host's smallest is %u",
				 s->min_buffer, caps->min_buffer);
			return false;
		}
		caps->min_buffer = (u8)s->min_buffer;
	}
	return true;
}

static bool apply_features(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		u32 flag = lwp_feature_flag(f, caps->rev);

		if (settings_flag(f) & s->off)
			caps->features &= ~flag;
		if (settings_flag(f) & s->on && !(caps->features & flag)) {
			snprintf(why, WHY_SIZE, "%s: the guest needs %s, the host has none",
				 f->property, f->text);
			return false;
		}
	}
	return true;
}

/* The latency of a guest without data cache misses is a number that it never sees. */
static bool apply_latency(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (s->latency_max == NOT_SAID)
		return true;
	if (lwp_caps_has(caps, LWP_KIND_DME) && s->latency_max > caps->latency_max) {
		snprintf(why, WHY_SIZE, "lwp-latency-max: the guest needs %d, the host offers %u",
			 s->latency_max, caps->latency_max);
		return false;
	}
	caps->latency_max = (u8)s->latency_max;
	return true;
}

/* Bits that the host rounds are rounded for each of its guests. */
static bool apply_rounding(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (s->latency_rnd == NOT_SAID)
		return true;
	if (s->latency_rnd && caps->rev != LWP_REV_43724) {
		snprintf(why, WHY_SIZE, "lwp-latency-rounding: revision 2007 has none");
		return false;
	}
	if (s->latency_rnd < lwp_caps_latency_rnd(caps)) {
		snprintf(why, WHY_SIZE,
			 "lwp-latency-rounding: the guest needs %d, the host rounds %u",
			 s->latency_rnd, caps->latency_rnd);
		return false;
	}
	caps->latency_rnd = (u8)s->latency_rnd;
	return true;
}

static bool apply_profile(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	enum lwp_caps_field field;
	struct lwp_caps need;

	if (s->profile != LWP_PROFILE_FAM15H)
		return true;
	if (caps->rev != LWP_REV_43724) {
		snprintf(why, WHY_SIZE, "lwp-profile: fam15h is of revision 43724, not 2007");
		return false;
	}
	lwp_caps_profile(&need, LWP_PROFILE_FAM15H, LWP_REV_43724);
	if (need.max_events < caps->max_events)
		shrink(caps, need.max_events);
	field = lwp_caps_covers(caps, &need);
	if (field != LWP_CAPS_OK) {
		snprintf(why, WHY_SIZE, "lwp-profile=fam15h: the host lacks what it needs of %s",
			 lwp_caps_field_name(field));
		return false;
	}
	*caps = need;
	return true;
}

bool settings_apply(const struct settings *s, const struct hostcaps *host, struct lwp_caps *caps,
		    char why[WHY_SIZE])
{
	const struct host_rev *rev = &host->rev[settings_rev(s)];
	int context = settings_context(s), delivery = settings_delivery(s);

	memset(caps, 0, sizeof(*caps));
	if (!hostcaps_any(host)) {
		snprintf(why, WHY_SIZE, "lwp: the guest needs it, the host has none%s%s",
			 host->reason ? ": " : "", host->reason ?: "");
		return false;
	}
	if (!rev->offered) {
		snprintf(why, WHY_SIZE,
			 "lwp-rev: the guest needs %s, which the host does not offer",
			 lwp_rev_get(settings_rev(s))->name);
		return false;
	}
	if (!(rev->contexts & 1u << context)) {
		snprintf(why, WHY_SIZE,
			 "lwp-context: the guest needs '%s', which the host does not offer",
			 context_words[context]);
		return false;
	}
	if (!(rev->deliveries & 1u << delivery)) {
		snprintf(why, WHY_SIZE,
			 "lwp-delivery: the guest needs '%s', which the host does not offer",
			 delivery_words[delivery]);
		return false;
	}
	*caps = rev->caps;
	if (!apply_profile(s, caps, why) || !apply_numbers(s, caps, why) ||
	    !apply_features(s, caps, why) || !apply_latency(s, caps, why) ||
	    !apply_rounding(s, caps, why))
		return false;
	if (s->vmcb == 1) {
		if (context == 0) {
			snprintf(why, WHY_SIZE, "lwp-vmcb: it needs lwp-context=os");
			return false;
		}
		if (!rev->vmcb) {
			snprintf(why, WHY_SIZE, "lwp-vmcb: the host does not offer it");
			return false;
		}
		caps->ecx_features |= LWP_ECX_VMCB_AREA;
	}
	return true;
}

/* ---- Differences ---------------------------------------------------------------------------- */

static bool features_differ(const struct lwp_caps *a, const char *a_name, const struct lwp_caps *b,
			    const char *b_name, char why[WHY_SIZE])
{
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		u32 flag = lwp_feature_flag(f, a->rev);

		if (!((a->features ^ b->features) & flag))
			continue;
		snprintf(why, WHY_SIZE, "%s: on with %s, off with %s", f->property,
			 a->features & flag ? a_name : b_name,
			 a->features & flag ? b_name : a_name);
		return true;
	}
	return false;
}

bool caps_differ(const struct lwp_caps *a, const char *a_name, const struct lwp_caps *b,
		 const char *b_name, char why[WHY_SIZE])
{
	static const struct {
		enum lwp_caps_field field;
		size_t offset;
	} bytes[] = {
		{ LWP_CAPS_REV, offsetof(struct lwp_caps, rev) },
		{ LWP_CAPS_MAX_EVENTS, offsetof(struct lwp_caps, max_events) },
		{ LWP_CAPS_VERSION, offsetof(struct lwp_caps, version) },
		{ LWP_CAPS_EVENT_OFFSET, offsetof(struct lwp_caps, event_offset) },
		{ LWP_CAPS_EVENT_SIZE, offsetof(struct lwp_caps, event_size) },
		{ LWP_CAPS_MIN_BUFFER, offsetof(struct lwp_caps, min_buffer) },
		{ LWP_CAPS_LATENCY_MAX, offsetof(struct lwp_caps, latency_max) },
		{ LWP_CAPS_LATENCY_RND, offsetof(struct lwp_caps, latency_rnd) },
	};

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		u8 x = ((const u8 *)a)[bytes[i].offset], y = ((const u8 *)b)[bytes[i].offset];

		if (x == y)
			continue;
		snprintf(why, WHY_SIZE, "%s: %u with %s, %u with %s",
			 lwp_caps_field_name(bytes[i].field), x, a_name, y, b_name);
		return true;
	}
	if (a->cb_size != b->cb_size) {
		snprintf(why, WHY_SIZE, "%s: %u with %s, %u with %s",
			 lwp_caps_field_name(LWP_CAPS_CB_SIZE), a->cb_size, a_name, b->cb_size,
			 b_name);
		return true;
	}
	if (features_differ(a, a_name, b, b_name, why))
		return true;
	if (a->ecx_features == b->ecx_features)
		return false;
	snprintf(why, WHY_SIZE, "%s: %#x with %s, %#x with %s",
		 lwp_caps_field_name(LWP_CAPS_ECX_FEATURES), a->ecx_features, a_name,
		 b->ecx_features, b_name);
	return true;
}

/* ---- Telling them --------------------------------------------------------------------------- */

typedef void (*teller)(void *opaque, const char *name, const char *value);

static void tell_number(teller tell, void *opaque, const char *name, int number)
{
	char text[16];

	if (number == NOT_SAID)
		return;
	snprintf(text, sizeof(text), "%d", number);
	tell(opaque, name, text);
}

static void tell_choice(teller tell, void *opaque, const char *name, int index,
			const char *const words[2])
{
	if (index != NOT_SAID)
		tell(opaque, name, words[index]);
}

void settings_each(const struct settings *s, teller tell, void *opaque)
{
	static const char *const switch_words[2] = { "off", "on" };

	if (s->rev != NOT_SAID)
		tell(opaque, "lwp-rev", lwp_rev_get((u32)s->rev)->name);
	tell_choice(tell, opaque, "lwp-context", s->context, context_words);
	tell_choice(tell, opaque, "lwp-delivery", s->delivery, delivery_words);
	tell_choice(tell, opaque, "lwp-profile", s->profile, profile_words);
	tell_choice(tell, opaque, "lwp-vmcb", s->vmcb, switch_words);
	tell_number(tell, opaque, "lwp-max-events", s->max_events);
	tell_number(tell, opaque, "lwp-min-buffer", s->min_buffer);
	tell_number(tell, opaque, "lwp-latency-max", s->latency_max);
	tell_number(tell, opaque, "lwp-latency-rounding", s->latency_rnd);
	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		if ((s->on | s->off) & settings_flag(f))
			tell(opaque, f->property, s->on & settings_flag(f) ? "on" : "off");
	tell_choice(tell, opaque, "enforce", s->enforce, switch_words);
}
