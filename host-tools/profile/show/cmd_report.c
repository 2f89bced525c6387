// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl report: where the samples of a profile lie. */
#include <argp.h>
#include <string.h>

#include "lwpctl.h"
#include "lwpctl_report.h"
#include "open.h"
#include "report_calls.h"
#include "stacks.h"

#define DEFAULT_LIMIT 20

static const struct format {
	const char *name, *text;
	void (*print)(const struct report *report);
} formats[] = {
#define REPORT_FORMAT(name, text) { #name, (text), report_##name },
#include "formats.h"
	{ 0 },
};

struct arguments {
	struct view_options view;
	const char *name;
	const char *profiler; /* to open it there; NULL: print it */
	const struct format *format;
	struct grouping by;
	uint64_t limit;
	enum order order;
	bool wide, source;
	struct calls_report calls;
};

enum {
	OPTION_NAME = 0x100,
	OPTION_WIDE,
	OPTION_EXACT,
	OPTION_CALLS,
	OPTION_LOOPS,
	OPTION_SOURCE,
	OPTION_OPEN
};

static const struct argp_option options[] = {
	{ "by", 'b', "KEY[,KEY...]", 0,
	  "one table grouped by these: symbol, object, thread, process, program, line, address, "
	  "target, variable, data (default: by symbol, by object and by thread, and data cache misses by "
	  "symbol, variable, data)",
	  0 },
	{ "format", 'f', "FORMAT", 0,
	  "what to print: "
#define REPORT_FORMAT(name, text) #name ", "
#include "formats.h"
	  "each as lwpctl(1) describes it (default: the first)",
	  0 },
	{ "json", 'j', NULL, 0, "the same as --format=json", 0 },
	{ "limit", 'l', "N", 0, "rows of each table, 0 for all (default: 20)", 0 },
	{ "name", OPTION_NAME, "TEXT", 0,
	  "name the data so in the head instead of by its file; empty: not at all", 0 },
	{ "open", OPTION_OPEN, "ADDRESS", OPTION_ARG_OPTIONAL,
	  "open it in a browser, in the Firefox Profiler (default: " PROFILER ")", 0 },
	{ "sort", 's', "ORDER", 0, "rows by samples (default) or name", 0 },
	{ "exact", OPTION_EXACT, NULL, 0,
	  "the instructions of each function, which a complete trace tells (lwprun --windows=all)",
	  0 },
	{ "calls", OPTION_CALLS, NULL, 0, "callers and callees, which windows or stacks tell", 0 },
	{ "loops", OPTION_LOOPS, NULL, 0, "how often loops go around, which windows tell", 0 },
	{ "source", OPTION_SOURCE, NULL, 0, "the hottest lines of source with their text", 0 },
	{ "wide", OPTION_WIDE, NULL, 0, "names in full, however long", 0 },
	{ 0 },
};

static void parse_format(struct argp_state *state, struct arguments *a, const char *name)
{
	for (a->format = formats; a->format->name; a->format++)
		if (!strcmp(a->format->name, name))
			return;
	bad_usage(state, "there is no format '%s'; see --help", name);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	bool *const flags[] = { &a->wide, &a->calls.exact, &a->calls.calls, &a->calls.loops,
				&a->source };

	switch (key) {
	case 'b':
		if (!grouping_parse(&a->by, arg))
			bad_usage(state,
				  "'%s' is not a list of symbol, object, thread, process, "
				  "program, line, address, target, variable, data",
				  arg);
		return 0;
	case 'f':
		parse_format(state, a, arg);
		return 0;
	case 'j':
		parse_format(state, a, "json");
		return 0;
	case 'l':
		a->limit = view_number(state, "limit", arg);
		return 0;
	case 's':
		a->order = strcmp(arg, "name") == 0 ? ORDER_NAME : ORDER_SAMPLES;
		if (a->order == ORDER_SAMPLES && strcmp(arg, "samples") != 0)
			bad_usage(state, "order '%s' is neither samples nor name", arg);
		return 0;
	case OPTION_NAME:
		a->name = arg;
		return 0;
	case OPTION_WIDE ... OPTION_SOURCE:
		*flags[key - OPTION_WIDE] = true;
		return 0;
	case OPTION_OPEN:
		a->profiler = arg ?: PROFILER;
		if (strncmp(a->profiler, "http", 4) || !strstr(a->profiler, "://"))
			bad_usage(state, "'%s' is no address of a Firefox Profiler", arg);
		return 0;
	case ARGP_KEY_END:
		if (a->profiler &&
		    (a->by.nr || a->source || calls_report_any(&a->calls) || a->format != formats))
			bad_usage(state, "--open shows the whole profile, not with --by, --format, "
					 "--exact, --calls, --loops, --source");
		if (a->source && (a->by.nr || calls_report_any(&a->calls) || a->view.no_lines))
			bad_usage(
				state,
				"--source is a report of its own, not with --by, --exact, --calls, "
				"--loops, --no-lines");
		a->view.targets = grouping_has(&a->by, KEY_TARGET);
		a->view.data = !a->by.nr || grouping_has(&a->by, KEY_VARIABLE) ||
			       grouping_has(&a->by, KEY_DATA);
		return 0;
	default:
		return other_key(key, state);
	}
}

static void report(const struct arguments *a, struct view *view)
{
	const struct report r = {
		.profile = &view->profile,
		.resolver = &view->resolver,
		.samples = &view->samples,
		.by = a->by,
		.order = a->order,
		.name = a->name ?: view->profile.path,
		.limit = a->limit,
		.kind = a->view.kind,
		.filtered = filter_any(&a->view.filter),
		.wide = a->wide,
		.source = a->source,
	};

	a->format->print(&r);
}

static bool work(void *arguments, struct view *view)
{
	struct arguments *a = arguments;

	uint32_t event_id = view_event(view, a->view.kind);

	if (a->profiler)
		return open_profile(a->profiler, view, &a->view, event_id);
	if (calls_report_any(&a->calls)) {
		a->calls.json = !strcmp(a->format->name, "json");
		a->calls.limit = a->limit;
		a->calls.wide = a->wide;
		if (a->calls.calls && !a->calls.exact && !a->calls.loops &&
		    view->profile.nr_stacks && stacks_tell_callers(&view->profile, event_id)) {
			stacks_report(&a->calls, view, &a->view, event_id);
			return true;
		}
		return calls_report(&a->calls, view, &a->view.filter);
	}
	report(a, view);
	return true;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "[FILE]",
		"Show where the samples of a profile lie.\vFILE is what lwprun wrote "
		"(default: lwp.data).",
		view_children
	};
	struct arguments a = { .view = VIEW_OPTIONS, .format = formats, .limit = DEFAULT_LIMIT };

	return view_command(argc, argv, &argp, &a, &a.view, work);
}

const struct command cmd_report = { "report", run, "show where the samples of a profile lie" };
