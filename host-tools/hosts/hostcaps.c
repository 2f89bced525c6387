// SPDX-License-Identifier: GPL-2.0-or-later
/* What LWP a host can give its guests: as JSON and for people. Reading is in hostcaps_read.c. */
#include <stdlib.h>

#include "hostcaps.h"
#include "json_out.h"

const char *hostcaps_label(const struct hostcaps *host)
{
	return host->label ?: host->name;
}

bool hostcaps_any(const struct hostcaps *host)
{
	for (u32 rev = 0; rev < LWP_REVS; rev++)
		if (host->rev[rev].offered)
			return true;
	return false;
}

void hostcaps_free(struct hostcaps *host)
{
	free(host->name);
	free(host->label);
	free(host->source);
	free(host->reason);
	free(host->open.name);
	memset(host, 0, sizeof(*host));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static json_object *add_array(json_object *object, const char *key)
{
	json_object *array = json_list();

	json_add(object, key, array);
	return array;
}

static void add_choices(json_object *object, const char *key, u8 set, const char *const words[2])
{
	json_object *array = add_array(object, key);

	for (int i = 0; i < 2; i++)
		if (set & 1u << i)
			json_append(array, words[i]);
}

static json_object *rev_to_json(const struct host_rev *rev)
{
	json_object *object = json_new(), *array;
	const struct lwp_caps *caps = &rev->caps;

	add_choices(object, "contexts", rev->contexts, context_words);
	add_choices(object, "deliveries", rev->deliveries, delivery_words);
	json_add(object, "vmcb", rev->vmcb);
	json_add(object, "version", caps->version);
	json_add(object, "max_events", caps->max_events);
	json_add(object, "min_buffer", caps->min_buffer);
	json_add(object, "latency_max", caps->latency_max);
	json_add(object, "latency_rounding", caps->latency_rnd);
	json_add(object, "block_size", caps->cb_size);
	json_add(object, "event_offset", caps->event_offset);
	json_add(object, "event_size", caps->event_size);
	array = add_array(object, "features");
	for (const struct lwp_feature *f = lwp_features; f->property; f++)
		if (caps->features & lwp_feature_flag(f, caps->rev))
			json_append(array, f->property);
	array = add_array(object, "filters");
	for (const struct lwp_filter *f = lwp_filters; f->name; f++)
		if (caps->ecx_features & f->flag)
			json_append(array, f->name);
	return object;
}

json_object *hostcaps_to_json(const struct hostcaps *host)
{
	json_object *root = json_new(), *revs = json_new();

	json_add(root, "lwp_capabilities", 1u);
	json_add(root, "host", host->name);
	json_add(root, "source", host->source);
	if (host->reason)
		json_add(root, "reason", host->reason);
	if (host->open.name)
		json_add(root, "class", host->open.name);
	for (u32 rev = 0; rev < LWP_REVS; rev++)
		if (host->rev[rev].offered)
			json_add(revs, lwp_rev_get(rev)->name, rev_to_json(&host->rev[rev]));
	json_add(root, "revisions", revs);
	return root;
}

/* ---- Text ----------------------------------------------------------------------------------- */

static void print_choices(FILE *to, const char *title, u8 set, const char *const words[2])
{
	fprintf(to, "  %-22s%s%s%s\n", title, set & 1 ? words[0] : "", set == 3 ? ", " : "",
		set & 2 ? words[1] : "");
}

static void print_rev(const struct host_rev *rev, FILE *to)
{
	const struct lwp_caps *caps = &rev->caps;

	fprintf(to, "revision %s\n", lwp_rev_get(caps->rev)->name);
	print_choices(to, "contexts", rev->contexts, context_words);
	print_choices(to, "delivery", rev->deliveries, delivery_words);
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		u32 flag = lwp_feature_flag(f, caps->rev);

		if (flag)
			fprintf(to, "  %-22s%-4s(%s)\n", f->property,
				caps->features & flag ? "yes" : "no", f->text);
	}
	fprintf(to, "  %-22s%s\n", "lwp-vmcb", rev->vmcb ? "yes" : "no");
	fprintf(to, "  %-22s%u\n", "lwp-max-events", caps->max_events);
	fprintf(to, "  %-22s%u (%u records)\n", "lwp-min-buffer", caps->min_buffer,
		caps->min_buffer * 32u);
	fprintf(to, "  %-22s%u bits\n", "latency", lwp_caps_latency_max(caps));
	fprintf(to, "  %-22s%u bytes, events at %u\n", "control block", caps->cb_size,
		caps->event_offset);
	fprintf(to, "  %-22s", "filters");
	for (const struct lwp_filter *f = lwp_filters; f->name; f++)
		if (caps->ecx_features & f->flag)
			fprintf(to, "%s ", f->name);
	fputs(caps->ecx_features ? "\n" : "none\n", to);
}

void hostcaps_print(const struct hostcaps *host, FILE *to)
{
	fprintf(to, "%s: %s\n", host->name, host->source);
	if (!hostcaps_any(host))
		fprintf(to, "no LWP%s%s\n", host->reason ? ": " : "", host->reason ?: "");
	for (u32 rev = 0; rev < LWP_REVS; rev++)
		if (host->rev[rev].offered)
			print_rev(&host->rev[rev], to);
}
