// SPDX-License-Identifier: GPL-2.0-or-later
/* What a guest's configuration says of LWP, and what a host makes of it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json_out.h"
#include "lwp_cb.h"
#include "memory.h"
#include "settings.h"

#define BUFFER_MAX 255
#define LATENCY_MIN 10
#define LATENCY_MAX 31
#define ROUNDING_MAX 4 /* of QEMU's property */

/* All properties but "lwp", those of features and those that no host lacks. */
static const char *const rev_words[2] = { "43724", "2007" };
static const char *const switch_words[2] = { "off", "on" };
static const struct property {
	const char *name;
	size_t field;
	const char *const *words; /* NULL: a number */
	int min, max;
} properties[] = {
	{ "lwp-rev", offsetof(struct settings, rev), rev_words },
	{ "lwp-context", offsetof(struct settings, context), context_words },
	{ "lwp-delivery", offsetof(struct settings, delivery), delivery_words },
	{ "lwp-profile", offsetof(struct settings, profile), profile_words },
	{ "lwp-vmcb", offsetof(struct settings, vmcb), switch_words },
	{ "lwp-max-events", offsetof(struct settings, max_events), NULL, 1, LWP_LAST_EVENT_ID },
	{ "lwp-min-buffer", offsetof(struct settings, min_buffer), NULL, 0, BUFFER_MAX },
	{ "lwp-latency-max", offsetof(struct settings, latency_max), NULL, 0, LATENCY_MAX },
	{ "lwp-latency-rounding", offsetof(struct settings, latency_rnd), NULL, 0, ROUNDING_MAX },
	{ "enforce", offsetof(struct settings, enforce), switch_words },
	{ 0 },
};

void settings_init(struct settings *s)
{
	memset(s, 0, sizeof(*s));
	for (const struct property *p = properties; p->name; p++)
		*(int *)((char *)s + p->field) = NOT_SAID;
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

static enum setting_verdict set_number(int *field, const struct property *p, const char *value,
				       char why[WHY_SIZE])
{
	char expected[64], *end;
	long number;

	errno = 0;
	number = strtol(value, &end, 0);
	if (end == value || *end || errno || number < p->min || number > p->max) {
		snprintf(expected, sizeof(expected), "a number from %d to %d", p->min, p->max);
		return bad(why, p->name, expected, value);
	}
	if (p->max == LATENCY_MAX && number && number < LATENCY_MIN)
		return bad(why, p->name, "0 or a number from 10 to 31", value);
	*field = (int)number;
	return SETTING_OK;
}

static enum setting_verdict set_choice(int *field, const struct property *p, const char *value,
				       char why[WHY_SIZE])
{
	char expected[64];
	int index = word_index(p->words, value);

	if (index < 0) {
		snprintf(expected, sizeof(expected), "'%s' or '%s'", p->words[0], p->words[1]);
		return bad(why, p->name, expected, value);
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
	int is = 0;
	enum setting_verdict verdict = set_boolean(&is, feature->property, value, why);

	if (verdict != SETTING_OK)
		return verdict;
	s->on &= ~settings_flag(feature);
	s->off &= ~settings_flag(feature);
	*(is ? &s->on : &s->off) |= settings_flag(feature);
	return SETTING_OK;
}

enum setting_verdict settings_set(struct settings *s, const char *name, const char *value,
				  char why[WHY_SIZE])
{
	const struct lwp_feature *feature = lwp_feature_by_property(name);
	enum setting_verdict verdict;
	int is = s->lwp;

	if (!value)
		value = "on";
	if (feature)
		return set_feature(s, feature, value, why);
	if (!strcmp(name, "lwp")) {
		verdict = set_boolean(&is, name, value, why);
		s->lwp = is;
		return verdict;
	}
	for (const struct property *p = properties; p->name; p++) {
		int *field = (int *)((char *)s + p->field);

		if (strcmp(name, p->name))
			continue;
		if (p->words == switch_words)
			return set_boolean(field, name, value, why);
		return p->words ? set_choice(field, p, value, why) :
				  set_number(field, p, value, why);
	}
	if (!strcmp(name, "lwp-preset")) /* no host lacks it */
		return set_boolean(&is, name, value, why);
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

bool caps_shrink(struct lwp_caps *caps, u32 max_events)
{
	if (max_events == caps->max_events)
		return true;
	return caps->cb_size == lwp_cb_slot_offset(caps, caps->max_events) &&
	       lwp_caps_set_max_events(caps, max_events);
}

static bool apply_numbers(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (s->max_events != NOT_SAID) {
		if (s->max_events > caps->max_events)
			return no(why, "lwp-max-events: the guest needs %d, the host offers %u",
				  s->max_events, caps->max_events);
		if (!caps_shrink(caps, (u32)s->max_events))
			return no(
				why,
				"lwp-max-events: the guest needs %d, the host's block has %u and more",
				s->max_events, caps->max_events);
	}
	if (s->min_buffer != NOT_SAID) {
		if (s->min_buffer < caps->min_buffer)
			return no(why,
				  "lwp-min-buffer: the guest needs %d, the host's smallest is %u",
				  s->min_buffer, caps->min_buffer);
		caps->min_buffer = (u8)s->min_buffer;
	}
	return true;
}

/* Data cache misses are off if the guest does not ask for them. */
static bool apply_features(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		u32 flag = lwp_feature_flag(f, caps->rev);

		if (settings_flag(f) & s->off ||
		    (f->kind == LWP_KIND_DME && !(settings_flag(f) & s->on)))
			caps->features &= ~flag;
		if (settings_flag(f) & s->on && !(caps->features & flag))
			return no(why, "%s: the guest needs %s, the host has none", f->property,
				  f->text);
	}
	return true;
}

/* The latency of a guest without data cache misses is a number that it never sees. */
static bool apply_latency(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (s->latency_max == NOT_SAID)
		return true;
	if (lwp_caps_has(caps, LWP_KIND_DME) && s->latency_max > caps->latency_max)
		return no(why, "lwp-latency-max: the guest needs %d, the host offers %u",
			  s->latency_max, caps->latency_max);
	caps->latency_max = (u8)s->latency_max;
	return true;
}

/* Bits that the host rounds are rounded for each of its guests. */
static bool apply_rounding(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (s->latency_rnd == NOT_SAID)
		return true;
	if (s->latency_rnd && caps->rev != LWP_REV_43724)
		return no(why, "lwp-latency-rounding: revision 2007 has none");
	if (s->latency_rnd < lwp_caps_latency_rnd(caps))
		return no(why, "lwp-latency-rounding: the guest needs %d, the host rounds %u",
			  s->latency_rnd, caps->latency_rnd);
	caps->latency_rnd = (u8)s->latency_rnd;
	return true;
}

static bool apply_profile(const struct settings *s, struct lwp_caps *caps, char why[WHY_SIZE])
{
	enum lwp_caps_field field;
	struct lwp_caps need;

	if (s->profile != LWP_PROFILE_FAM15H)
		return true;
	if (caps->rev != LWP_REV_43724)
		return no(why, "lwp-profile: fam15h is of revision 43724, not 2007");
	lwp_caps_profile(&need, LWP_PROFILE_FAM15H, LWP_REV_43724);
	if (need.max_events < caps->max_events)
		caps_shrink(caps, need.max_events);
	field = lwp_caps_covers(caps, &need);
	if (field != LWP_CAPS_OK)
		return no(why, "lwp-profile=fam15h: the host lacks what it needs of %s",
			  lwp_caps_field_name(field));
	*caps = need;
	return true;
}

bool settings_apply(const struct settings *s, const struct hostcaps *host, struct lwp_caps *caps,
		    char why[WHY_SIZE])
{
	/* A guest that says another revision than the host's default gets no other default of the host. */
	static const struct host_open qemu;
	bool usual = s->rev == NOT_SAID || (u32)s->rev == host->open.rev;
	const struct host_open *open = usual ? &host->open : &qemu;
	const struct host_rev *rev = &host->rev[s->rev == NOT_SAID ? open->rev : (u32)s->rev];
	int context = s->context == NOT_SAID ? open->context : s->context;
	int delivery = s->delivery == NOT_SAID ? open->delivery : s->delivery;

	memset(caps, 0, sizeof(*caps));
	if (!hostcaps_any(host))
		return no(why, "lwp: the guest needs it, the host has none%s%s",
			  host->reason ? ": " : "", host->reason ?: "");
	if (!rev->offered)
		return no(why, "lwp-rev: the guest needs %s, which the host does not offer",
			  lwp_rev_get((u32)(rev - host->rev))->name);
	if (!(rev->contexts & 1u << context))
		return no(why, "lwp-context: the guest needs '%s', which the host does not offer",
			  context_words[context]);
	if (!(rev->deliveries & 1u << delivery))
		return no(why, "lwp-delivery: the guest needs '%s', which the host does not offer",
			  delivery_words[delivery]);
	*caps = rev->caps;
	if (!apply_profile(s, caps, why) || !apply_numbers(s, caps, why) ||
	    !apply_features(s, caps, why) || !apply_latency(s, caps, why) ||
	    !apply_rounding(s, caps, why))
		return false;
	caps->latency_max = lwp_caps_latency_max(caps);
	caps->latency_rnd = lwp_caps_latency_rnd(caps);
	caps->ecx_features = lwp_caps_ecx_features(caps);
	if (s->vmcb == 1) {
		if (context == 0)
			return no(why, "lwp-vmcb: it needs lwp-context=os");
		if (!rev->vmcb)
			return no(why, "lwp-vmcb: the host does not offer it");
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
	const u32 numbers[][3] = {
		{ LWP_CAPS_REV, a->rev, b->rev },
		{ LWP_CAPS_MAX_EVENTS, a->max_events, b->max_events },
		{ LWP_CAPS_VERSION, a->version, b->version },
		{ LWP_CAPS_EVENT_OFFSET, a->event_offset, b->event_offset },
		{ LWP_CAPS_EVENT_SIZE, a->event_size, b->event_size },
		{ LWP_CAPS_MIN_BUFFER, a->min_buffer, b->min_buffer },
		{ LWP_CAPS_LATENCY_MAX, a->latency_max, b->latency_max },
		{ LWP_CAPS_LATENCY_RND, a->latency_rnd, b->latency_rnd },
		{ LWP_CAPS_CB_SIZE, a->cb_size, b->cb_size },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (numbers[i][1] == numbers[i][2])
			continue;
		snprintf(why, WHY_SIZE, "%s: %u with %s, %u with %s",
			 lwp_caps_field_name(numbers[i][0]), numbers[i][1], a_name, numbers[i][2],
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

static void tell_property(const struct settings *s, const struct property *p,
			  void (*tell)(void *opaque, const char *name, const char *value),
			  void *opaque)
{
	int value = *(const int *)((const char *)s + p->field);
	char text[16];

	if (value == NOT_SAID)
		return;
	snprintf(text, sizeof(text), "%d", value);
	tell(opaque, p->name, p->words ? p->words[value] : text);
}

void settings_each(const struct settings *s,
		   void (*tell)(void *opaque, const char *name, const char *value), void *opaque)
{
	const struct property *p = properties;

	for (; strcmp(p->name, "enforce"); p++)
		tell_property(s, p, tell, opaque);
	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		if ((s->on | s->off) & settings_flag(f))
			tell(opaque, f->property, s->on & settings_flag(f) ? "on" : "off");
	tell_property(s, p, tell, opaque);
}

static void put_property(void *opaque, const char *name, const char *value)
{
	json_add(opaque, name, value);
}

json_object *settings_json(const struct settings *s)
{
	json_object *object = json_new();

	put_property(object, "lwp", s->lwp ? "on" : "off");
	settings_each(s, put_property, object);
	return object;
}
