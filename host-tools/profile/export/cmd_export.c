// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl export: a profile in the formats of other tools. */
#include <argp.h>
#include <string.h>

#include "export.h"
#include "lwpctl.h"
#include "lwpctl_report.h"
#include "memory.h"
#include "output.h"

static const struct format {
	const char *name;
	bool (*write)(struct export *e);
} formats[] = {
#define EXPORT_FORMAT(name, text) { #name, export_##name },
#include "formats.h"
	{ 0 },
};

struct arguments {
	struct view_options view;
	const struct format *format;
	const char *output;
};

static const struct argp_option options[] = {
	{ "format", 'f', "FORMAT", 0,
	  "what to write: "
#define EXPORT_FORMAT(name, text) #name ", "
#include "formats.h"
	  "each as lwpctl(1) describes it",
	  0 },
	{ "output", 'o', "FILE", 0, "write to FILE (default: standard output)", 0 },
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

	switch (key) {
	case 'f':
		parse_format(state, a, arg);
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->format)
			bad_usage(state, "it needs --format; see --help");
		return 0;
	default:
		return other_key(key, state);
	}
}

/* ---- The command ---------------------------------------------------------------------------- */

static bool write_to(const struct arguments *a, struct view *view, FILE *out)
{
	struct export e = {
		.out = out,
		.output = a->output,
		.view = view,
		.options = &a->view,
		.event_id = view_event(view, a->view.kind),
	};

	return a->format->write(&e);
}

static bool work(void *arguments, struct view *view)
{
	const struct arguments *a = arguments;
	FILE *out = output_open(a->output);

	return out && output_close(out, a->output, write_to(a, view, out));
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "[FILE]",
		"Write a profile as other tools read it.\vFILE is what lwprun wrote (default: "
		"lwp.data). A format with room for one event takes the first, or --event.",
		view_children
	};
	struct arguments a = { .view = VIEW_OPTIONS };

	a.view.targets = true;
	return view_command(argc, argv, &argp, &a, &a.view, work);
}

const struct command cmd_export = { "export", run,
				    "write a profile in the formats of other tools" };
