// SPDX-License-Identifier: GPL-2.0-or-later
/* A profile with its samples counted and resolved. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lwp_rev.h"
#include "lwpctl.h"
#include "view.h"

/* ---- Options -------------------------------------------------------------------------------- */

enum {
	OPTION_SYSROOT = 0x400,
	OPTION_NO_LINES,
	OPTION_INLINE,
	OPTION_MANGLED,
	OPTION_PROCESS,
	OPTION_THREAD,
	OPTION_OBJECT,
	OPTION_SYMBOL,
	OPTION_FROM,
	OPTION_UNTIL,
};

static const struct argp_option options[] = {
	{ "event", 'e', "EVENT", 0, "only this event", 0 },
	{ "process", OPTION_PROCESS, "NAME|PID", 0, "only samples of this process", 1 },
	{ "thread", OPTION_THREAD, "NAME|TID", 0, "only samples of this thread", 1 },
	{ "object", OPTION_OBJECT, "FILE", 0, "only samples in this object", 1 },
	{ "symbol", OPTION_SYMBOL, "NAME", 0,
	  "only samples of this symbol; names may be patterns, as 'str*'", 1 },
	{ "from", OPTION_FROM, "SECONDS", 0, "only samples from this time after the start on", 1 },
	{ "until", OPTION_UNTIL, "SECONDS", 0, "only samples before this time after the start", 1 },
	{ "inline", OPTION_INLINE, NULL, 0, "name inlined functions, not what they are inlined in",
	  2 },
	{ "mangled", OPTION_MANGLED, NULL, 0, "names of C++ and Rust as they are in the file", 2 },
	{ "no-lines", OPTION_NO_LINES, NULL, 0, "do not look source lines up", 2 },
	{ "sysroot", OPTION_SYSROOT, "DIR", 0, "look the guest's files up below DIR", 2 },
	{ 0 },
};

static void parse_time(struct argp_state *state, const char *text, uint64_t *ns)
{
	if (!filter_seconds(text, ns))
		bad_usage(state, "'%s' is no time in seconds", text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct view_options *o = state->input;
	const char **const names[] = { &o->filter.process, &o->filter.thread, &o->filter.object,
				       &o->filter.symbol };
	bool *const flags[] = { &o->no_lines, &o->inlines, &o->mangled };

	switch (key) {
	case 'e':
		o->kind = lwpdata_event_by_name(arg, strlen(arg));
		if (!o->kind)
			bad_usage(state,
				  "unknown event '%s'; lwpctl report lists those of a profile",
				  arg);
		return 0;
	case OPTION_PROCESS ... OPTION_SYMBOL:
		*names[key - OPTION_PROCESS] = arg;
		return 0;
	case OPTION_FROM:
		parse_time(state, arg, &o->filter.from);
		return 0;
	case OPTION_UNTIL:
		parse_time(state, arg, &o->filter.until);
		if (!o->filter.until)
			bad_usage(state, "no sample lies before the start");
		return 0;
	case OPTION_NO_LINES ... OPTION_MANGLED:
		*flags[key - OPTION_NO_LINES] = true;
		return 0;
	case OPTION_SYSROOT:
		o->sysroot = arg;
		if (access(arg, X_OK))
			bad_usage(state, "--sysroot=%s: %s", arg, strerror(errno));
		return 0;
	case ARGP_KEY_ARG: /* of commands that have one */
		if (o->file)
			bad_usage(state, "more than one file: '%s'", arg);
		o->file = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp view_argp = { .options = options, .parser = parse };
const struct argp_child view_children[] = { { &view_argp, 0, NULL, 0 }, { 0 } };

uint64_t view_number(struct argp_state *state, const char *what, const char *text)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-')
		bad_usage(state, "%s '%s' is not a number", what, text);
	return value;
}

/* ---- Views ---------------------------------------------------------------------------------- */

/* The profile has an event that is asked for: it was recorded, or there are records of it. */
static bool check_event(const struct view *v, uint32_t kind)
{
	const struct profile *p = &v->profile;
	char have[256] = "";

	if (!kind || view_event(v, kind))
		return true;
	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		size_t length = strlen(have);

		snprintf(have + length, sizeof(have) - length, "%s%s", e ? ", " : "",
			 profile_event_name(p, p->config.events[e].event_id));
	}
	return refuse("%s: the profile has no %s; it has %s", p->path, lwpdata_event_name(kind),
		      *have ? have : "no event");
}

bool view_open(struct view *v, const char *path, const struct view_options *o)
{
	*v = (struct view){ 0 };
	if (!profile_load(&v->profile, path))
		return false;
	resolver_init(&v->resolver, &v->profile, o->sysroot, !o->no_lines);
	v->resolver.inlines = o->inlines;
	v->resolver.mangled = o->mangled;
	tally_profile(&v->tally, &v->profile, &o->filter, o->targets,
		      o->data && v->profile.has_data ? &v->resolver : NULL);
	if (!check_event(v, o->kind))
		return false;
	samples_locate(&v->samples, &v->resolver, &v->tally, &o->filter);
	return true;
}

void view_close(struct view *v)
{
	samples_free(&v->samples);
	if (v->resolver.profile)
		resolver_free(&v->resolver);
	tally_free(&v->tally);
	profile_free(&v->profile);
}

int view_command(int argc, char **argv, const struct argp *argp, void *arguments,
		 struct view_options *o, bool (*work)(void *arguments, struct view *view))
{
	struct view view;
	bool good;

	argp_parse(argp, argc, argv, 0, NULL, arguments);
	good = view_open(&view, o->file ?: "lwp.data", o) && work(arguments, &view);
	view_close(&view);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

uint32_t view_event(const struct view *v, uint32_t kind)
{
	uint32_t event_id = profile_event(&v->profile, kind);

	for (uint32_t id = 1; kind && !event_id && id < 256; id++)
		if (v->tally.per_event[id] && profile_kind(&v->profile, id) == kind)
			event_id = id;
	return event_id;
}

size_t view_events(const struct view *v, uint32_t kind, uint32_t events[LWPDATA_MAX_EVENTS])
{
	const struct profile *p = &v->profile;
	size_t nr = 0;

	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		uint32_t id = p->config.events[e].event_id;

		if (view_column(events, nr, id) == nr && (!kind || profile_kind(p, id) == kind))
			events[nr++] = id;
	}
	return nr;
}

size_t view_column(const uint32_t events[], size_t nr, uint32_t event_id)
{
	size_t k = 0;

	while (k < nr && events[k] != event_id)
		k++;
	return k;
}

uint64_t profile_missed(const struct profile *p)
{
	uint64_t missed = 0;

	for (size_t i = 0; i < p->nr_threads; i++)
		missed += p->threads[i].missed;
	return missed;
}
