// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a QEMU can give its guests, by asking for one thing after the other. The properties of an expanded
 * model describe the CPU (docs/cpu.md); numbers without a property follow from lwp-profile.
 */
#include "expansion.h"
#include "json_out.h"

void question_each(const struct question *q,
		   void (*tell)(void *opaque, const char *name, const char *value), void *opaque)
{
	tell(opaque, "lwp-host-file", "off"); /* what it can give, not what its file says */
	tell(opaque, "lwp-rev", lwp_rev_get(q->rev)->name);
	tell(opaque, "lwp-context", context_words[q->context]);
	tell(opaque, "lwp-delivery", delivery_words[q->delivery]);
	if (q->vmcb)
		tell(opaque, "lwp-vmcb", "on");
	if (q->misses)
		tell(opaque, "lwp-dme", "on");
}

static void add_property(void *opaque, const char *name, const char *value)
{
	json_object *props = opaque;

	if (!strcmp(value, "on") || !strcmp(value, "off"))
		json_add(props, name, (bool)!strcmp(value, "on"));
	else
		json_add(props, name, value);
}

json_object *question_command(const struct question *q)
{
	json_object *command = json_new(), *arguments = json_new(), *model = json_new(),
		    *props = json_new();

	add_property(props, "lwp", "on");
	if (q->vmcb)
		add_property(props, "svm", "on");
	question_each(q, add_property, props);
	json_add(model, "name", "max");
	json_add(model, "props", props);
	json_add(arguments, "type", "full");
	json_add(arguments, "model", model);
	json_add(command, "execute", QUESTION_COMMAND);
	json_add(command, "arguments", arguments);
	return command;
}

json_object *question_answer(json_object *returned, char why[WHY_SIZE])
{
	json_object *value;

	if (json_object_object_get_ex(returned, "model", &value) &&
	    json_object_object_get_ex(value, "props", &value))
		return json_object_get(value);
	snprintf(why, WHY_SIZE, "QEMU's answer has no properties");
	return NULL;
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

static bool caps_of(json_object *props, u32 rev, struct lwp_caps *caps, char why[WHY_SIZE])
{
	u8 max_events = 0, min_buffer = 0, latency_max = 0;
	enum lwp_profile profile = LWP_PROFILE_FULL;
	json_object *value;
	u32 features = 0;

	if (json_object_object_get_ex(props, "lwp-profile", &value) &&
	    json_object_is_type(value, json_type_string) &&
	    !strcmp(json_object_get_string(value), profile_words[LWP_PROFILE_FAM15H]))
		profile = LWP_PROFILE_FAM15H;
	lwp_caps_profile(caps, profile, rev);
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		if (!json_object_object_get_ex(props, f->property, &value))
			return no(why, "QEMU's CPU has no property '%s'", f->property);
		if (json_object_get_boolean(value))
			features |= lwp_feature_flag(f, rev);
	}
	if (!get_number(props, "lwp-max-events", &max_events) ||
	    !get_number(props, "lwp-min-buffer", &min_buffer) ||
	    !get_number(props, "lwp-latency-max", &latency_max) ||
	    !lwp_caps_set_max_events(caps, max_events))
		return no(why, "QEMU gives no sensible lwp-max-events, lwp-min-buffer "
			       "and lwp-latency-max");
	caps->min_buffer = min_buffer;
	caps->latency_max = latency_max;
	caps->features = features;
	caps->ecx_features = lwp_caps_ecx_features(caps);
	if (!lwp_caps_valid(caps))
		return no(why, "QEMU's numbers of LWP do not fit together");
	return true;
}

static json_object *ask_lwp(asker ask, void *opaque, const struct question *q, char why[WHY_SIZE])
{
	json_object *props = ask(opaque, q, why), *lwp;

	if (!props)
		return NULL;
	if (json_object_object_get_ex(props, "lwp", &lwp) && json_object_get_boolean(lwp))
		return props;
	snprintf(why, WHY_SIZE, "this QEMU has no LWP");
	json_object_put(props);
	return NULL;
}

/* Is it there? */
static bool offers(asker ask, void *opaque, const struct question *q)
{
	char why[WHY_SIZE];
	json_object *props = ask_lwp(ask, opaque, q, why);

	json_object_put(props);
	return props;
}

void hostcaps_ask(struct hostcaps *host, asker ask, void *opaque)
{
	char why[WHY_SIZE], reason[WHY_SIZE] = "";

	for (u32 id = 0; id < LWP_REVS; id++) {
		struct host_rev *rev = &host->rev[id];
		struct question q = { .rev = id, .misses = true };
		json_object *props = ask_lwp(ask, opaque, &q, why);
		bool good;

		if (!props) {
			q.misses = false;
			props = ask_lwp(ask, opaque, &q, why);
		}
		good = props && caps_of(props, id, &rev->caps, why);
		json_object_put(props);
		if (!good) {
			if (!*reason)
				memcpy(reason, why, WHY_SIZE);
			continue;
		}
		rev->offered = true;
		rev->contexts = 1;
		rev->deliveries = 1;
		q.delivery = 1;
		if (offers(ask, opaque, &q))
			rev->deliveries |= 2;
		q.delivery = 0;
		q.context = 1;
		if (offers(ask, opaque, &q))
			rev->contexts |= 2;
		q.vmcb = true;
		rev->vmcb = offers(ask, opaque, &q);
	}
	if (!hostcaps_any(host))
		host->reason = copy_string(reason, strlen(reason));
}
