// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl diff: which functions have another share in a second profile. */
#include <argp.h>
#include <inttypes.h>
#include <stdlib.h>

#include "compare.h"
#include "fit.h"
#include "lwpctl.h"
#include "view.h"

#define DEFAULT_LIMIT 20

struct arguments {
	struct view_options view;
	const char *files[2];
	size_t nr;
	uint64_t limit;
	bool all;
};

static const struct argp_option options[] = {
	{ "all", 'a', NULL, 0, "differences that may be chance, too", 0 },
	{ "limit", 'l', "N", 0, "rows, 0 for all (default: 20)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case 'a':
		a->all = true;
		return 0;
	case 'l':
		a->limit = view_number(state, "limit", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (a->nr == 2)
			bad_usage(state, "more than two files: '%s'", arg);
		a->files[a->nr++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (a->nr != 2)
			bad_usage(state, "it needs two files");
		return 0;
	default:
		return other_key(key, state);
	}
}

#define CHANGE_COLUMNS 45 /* before the symbol */

static void print_changes(const struct arguments *a, const struct changes *c, const char *event)
{
	uint64_t shown = 0;
	size_t chance = 0;

	printf("%s: %" PRIu64 " and %" PRIu64 " %s\n\n", event, c->windows[0] ?: c->samples[0],
	       c->windows[1] ?: c->samples[1], c->windows[0] ? "windows" : "samples");
	puts("  Before    After   Change  95% +/-  Chance  Symbol  (object)");
	for (size_t i = 0; i < c->nr; i++) {
		const struct change *x = &c->list[i];
		char *name;

		if (!a->all && !change_significant(x, c->nr)) {
			chance++;
			continue;
		}
		if (a->limit && shown == a->limit)
			continue;
		shown++;
		name = fitted_symbol(x->symbol, x->object, CHANGE_COLUMNS, !terminal_columns());
		printf("%7.2f%% %7.2f%% %+7.2f%% %7.2f%% %7.1g  %s\n", 100 * x->share[0],
		       100 * x->share[1], 100 * (x->share[1] - x->share[0]), 100 * x->error, x->p,
		       name);
		free(name);
	}
	if (!shown)
		puts("        no difference that is more than chance");
	if (chance)
		printf("%zu of %zu differences may be chance\n", chance, c->nr);
}

static bool compare(const struct arguments *a, struct view views[2])
{
	static const struct grouping by = { .keys = { KEY_SYMBOL, KEY_OBJECT }, .nr = 2 };
	struct rows rows[2];
	struct changes changes;
	uint32_t kind = a->view.kind, event_id;

	if (!kind)
		kind = profile_kind(&views[0].profile, profile_event(&views[0].profile, 0));
	for (size_t i = 0; i < 2; i++) {
		event_id = kind ? view_event(&views[i], kind) : 0;
		if (!event_id)
			return refuse("%s: the profile has no %s", a->files[i],
				      lwpdata_event_name(kind) ?: "event");
	}
	for (size_t i = 0; i < 2; i++)
		rows_make(&rows[i], &views[i].resolver, &views[i].samples, &by,
			  (uint8_t)view_event(&views[i], kind), ORDER_SAMPLES);
	changes_make(&changes, &rows[0], &rows[1]);
	print_changes(a, &changes, lwpdata_event_name(kind));
	changes_free(&changes);
	rows_free(&rows[0]);
	rows_free(&rows[1]);
	return true;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "BEFORE AFTER",
		"Show which functions have another share of the samples in a second profile, as far "
		"as it is more than chance.\vBEFORE and AFTER are what lwprun wrote.",
		view_children
	};
	struct arguments a = { .view = VIEW_OPTIONS, .limit = DEFAULT_LIMIT };
	struct view views[2] = { 0 };
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	a.view.no_lines = true;
	good = view_open(&views[0], a.files[0], &a.view) &&
	       view_open(&views[1], a.files[1], &a.view) && compare(&a, views);
	view_close(&views[0]);
	view_close(&views[1]);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_diff = { "diff", run,
				  "show which functions have another share in a second profile" };
