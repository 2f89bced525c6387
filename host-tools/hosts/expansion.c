// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a QEMU can give its guests, by asking for one thing after the other. The properties of an expanded
 * model describe the CPU (docs/cpu.md); numbers without a property follow from lwp-profile.
 */
#include "expansion.h"
#include "json_out.h"
#include "lwp_state.h"

/* What a QEMU is asked for, besides lwp=on. */
struct question {
	u32 rev;
	int context, delivery; /* index of the word */
	bool vmcb;
	bool misses;
	bool open; /* nothing of all this: what guests get that say no more than lwp=on */
};

static json_object *question_props(const struct question *q)
{
	json_object *props = json_new();

	json_add(props, "lwp", (bool)true);
	if (q->open)
		return props;
	json_add(props, "lwp-host-file",
		 (bool)false); /* the host's defaults are the class's alone */
	json_add(props, "lwp-rev", lwp_rev_get(q->rev)->name);
	json_add(props, "lwp-context", context_words[q->context]);
	json_add(props, "lwp-delivery", delivery_words[q->delivery]);
	json_add(props, "lwp-vmcb", q->vmcb);
	if (q->vmcb)
		json_add(props, "svm", (bool)true);
	if (q->misses)
		json_add(props, "lwp-dme", (bool)true);
	return props;
}

/* The "props" of the expanded model "max" with LWP, to be released; NULL with @why. */
static json_object *ask(struct qmp *qmp, const struct question *q, char why[WHY_SIZE])
{
	json_object *arguments = json_new(), *model = json_new(), *answer, *props, *lwp;

	json_add(model, "name", "max");
	json_add(model, "props", question_props(q));
	json_add(arguments, "type", "full");
	json_add(arguments, "model", model);
	answer = qmp_call(qmp, "query-cpu-model-expansion", arguments);
	if (!answer) {
		snprintf(why, WHY_SIZE, "%s", qmp->error);
		return NULL;
	}
	if (!json_object_object_get_ex(answer, "model", &props) ||
	    !json_object_object_get_ex(props, "props", &props)) {
		snprintf(why, WHY_SIZE, "QEMU's answer has no properties");
		props = NULL;
	} else if (!json_object_object_get_ex(props, "lwp", &lwp) ||
		   !json_object_get_boolean(lwp)) {
		snprintf(why, WHY_SIZE, "this QEMU has no LWP");
		props = NULL;
	}
	json_object_get(props);
	json_object_put(answer);
	return props;
}

/* Is it there? */
static bool offers(struct qmp *qmp, const struct question *q)
{
	char why[WHY_SIZE];
	json_object *props = ask(qmp, q, why);

	json_object_put(props);
	return props;
}

static bool get_number(json_object *props, const char *name, u8 *number)
{
	json_object *value;

	if (!json_object_object_get_ex(props, name, &value) ||
	    !json_object_is_type(value, json_type_int) || json_object_get_int64(value) < 0 ||
	    json_object_get_int64(value) > UINT8_MAX)
		return false;
	*number = (u8)json_object_get_int64(value);
	return true;
}

static bool has_word(json_object *props, const char *name, const char *word)
{
	json_object *value;

	return json_object_object_get_ex(props, name, &value) &&
	       !strcmp(json_object_get_string(value) ?: "", word);
}

/* The numbers as QEMU has them, also those that the leaf announces only with data cache misses. */
static bool numbers_of(json_object *props, u32 rev, struct lwp_caps *caps, char why[WHY_SIZE])
{
	const char *fam15h = profile_words[LWP_PROFILE_FAM15H];
	u8 max_events = 0, min_buffer = 0, latency_max = 0, latency_rnd = 0;
	json_object *value;
	u32 features = 0;

	lwp_caps_profile(caps,
			 has_word(props, "lwp-profile", fam15h) ? LWP_PROFILE_FAM15H :
								  LWP_PROFILE_FULL,
			 rev);
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		if (!json_object_object_get_ex(props, f->property, &value))
			return no(why, "QEMU's CPU has no property '%s'", f->property);
		if (json_object_get_boolean(value))
			features |= lwp_feature_flag(f, rev);
	}
	if (!get_number(props, "lwp-max-events", &max_events) ||
	    !get_number(props, "lwp-min-buffer", &min_buffer) ||
	    !get_number(props, "lwp-latency-max", &latency_max) ||
	    !get_number(props, "lwp-latency-rounding", &latency_rnd) ||
	    !lwp_caps_set_max_events(caps, max_events))
		return no(why, "QEMU gives no sensible lwp-max-events, lwp-min-buffer, "
			       "lwp-latency-max and lwp-latency-rounding");
	caps->min_buffer = min_buffer;
	caps->latency_max = latency_max;
	caps->latency_rnd = latency_rnd;
	caps->features = features;
	return true;
}

static bool caps_of(json_object *props, u32 rev, struct lwp_caps *caps, char why[WHY_SIZE])
{
	if (!numbers_of(props, rev, caps, why))
		return false;
	caps->ecx_features = lwp_caps_ecx_features(caps);
	if (!lwp_caps_valid(caps))
		return no(why, "QEMU's numbers of LWP do not fit together");
	return true;
}

static void ask_rev(struct qmp *qmp, struct host_rev *rev, u32 id, char why[WHY_SIZE])
{
	struct question q = { .rev = id, .misses = true };
	json_object *props = ask(qmp, &q, why);

	if (!props) {
		q.misses = false;
		props = ask(qmp, &q, why);
	}
	rev->offered = props && caps_of(props, id, &rev->caps, why);
	json_object_put(props);
	if (!rev->offered)
		return;
	rev->contexts = 1;
	rev->deliveries = 1;
	q.delivery = 1;
	if (offers(qmp, &q))
		rev->deliveries |= 2;
	q.delivery = 0;
	q.context = 1;
	if (offers(qmp, &q))
		rev->contexts |= 2;
	q.vmcb = true;
	rev->vmcb = offers(qmp, &q);
}

/*
 * What the two sides of a migration must agree on (qemu-patches/lwp/lwp-agree.c), as a word. ECX has the numbers of
 * both revisions where 43724 has them, and those of data cache misses also where the leaf reads as 0. The format of
 * contexts is no property: it is that of the tree that QEMU and lwpctl are built from.
 */
static void ask_open(struct qmp *qmp, struct hostcaps *host)
{
	const struct question q = { .open = true };
	char why[WHY_SIZE];
	json_object *props = ask(qmp, &q, why);
	struct host_open *is = &host->open;
	struct lwp_leaf leaf;
	struct lwp_caps caps;

	if (!props)
		return;
	is->rev = has_word(props, "lwp-rev", lwp_rev_get(LWP_REV_2007)->name) ? LWP_REV_2007 :
										LWP_REV_43724;
	is->context = has_word(props, "lwp-context", context_words[1]);
	is->delivery = has_word(props, "lwp-delivery", delivery_words[1]);
	if (numbers_of(props, is->rev, &caps, why)) {
		lwp_leaf_encode(&caps, 0, &leaf);
		is->max_events = caps.max_events;
		is->name = formatted(
			"%s-%s-%s%s-f%d-%08x-%08x-%08x", lwp_rev_get(is->rev)->name,
			context_words[is->context], delivery_words[is->delivery],
			has_word(props, "lwp-preset", "false") ? "-nopreset" : "",
			LWP_CTX_FORMAT_VERSION, leaf.ebx,
			lwp_field_put(LWP_ECX_LATENCY_MAX, caps.latency_max) |
				lwp_field_put(LWP_ECX_LATENCY_RND, caps.latency_rnd) |
				lwp_field_put(LWP_ECX_VERSION, caps.version) |
				lwp_field_put(LWP_ECX_MIN_BUFFER, caps.min_buffer) |
				(has_word(props, "lwp-vmcb", "true") ? LWP_ECX_VMCB_AREA : 0) |
				caps.ecx_features,
			leaf.edx);
	}
	json_object_put(props);
}

void hostcaps_ask(struct hostcaps *host, struct qmp *qmp)
{
	char why[WHY_SIZE], reason[WHY_SIZE] = "";

	for (u32 id = 0; id < LWP_REVS; id++) {
		ask_rev(qmp, &host->rev[id], id, why);
		if (!host->rev[id].offered && !*reason)
			memcpy(reason, why, WHY_SIZE);
	}
	if (!hostcaps_any(host))
		host->reason = copy_string(reason, strlen(reason));
	else
		ask_open(qmp, host);
}
