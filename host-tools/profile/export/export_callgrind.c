// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profile format of callgrind, version 1: costs by object, file, function and address; conditional jumps as
 * jcnd=, how often they were taken of how often they were executed; calls as calls=. Costs are events: samples by the
 * period. Windows of branches tell the instructions that were executed at each address, too, and what each call cost
 * until it returned; single records of branches tell only how often it was made.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lwpctl_report.h"
#include "branch.h"
#include "calls.h"
#include "export.h"
#include "lwp_rev.h"
#include "memory.h"

/* What is known of an address: one of the three. */
struct entry {
	struct place place;
	const struct count *count; /* samples, or NULL */
	double instructions; /* executed, or 0 */
	const struct call *call; /* or NULL */
};

/* An address of a process, and how often it was executed. */
struct executed {
	uint64_t address;
	size_t map;
	double number;
};

struct writer {
	struct export *e;
	uint32_t events[LWPDATA_MAX_EVENTS + 1]; /* EventIds of the columns */
	uint64_t periods[LWPDATA_MAX_EVENTS + 1];
	size_t nr_events;
	bool windows; /* there is one more column, the first: instructions */
	struct calls calls;
	struct keys executed_keys;
	struct executed *executed;
	size_t nr_executed, executed_room;
	struct entry *entries;
	size_t nr, room;
	struct keys function_keys; /* by name and object */
	const char **files; /* of these */
	size_t nr_files, file_room;
};

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

static int compare_function(const struct entry *x, const struct entry *y)
{
	return compare_text(x->place.object, y->place.object) ?:
		       compare_text(x->place.symbol, y->place.symbol);
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const struct place *p = &x->place, *q = &y->place;

	return compare_function(x, y) ?: ORDER(p->address, q->address) ?: p->line - q->line;
}

static size_t column(const struct writer *w, uint32_t event_id)
{
	return view_column(w->events, w->nr_events, event_id);
}

static void choose_events(struct writer *w)
{
	w->nr_events = view_events(w->e->view, w->e->options->kind, w->events);
	for (size_t k = 0; k < w->nr_events; k++)
		w->periods[k] = report_stands_for(&w->e->view->profile, w->events[k]);
}

static void put_head(const struct writer *w)
{
	const struct profile *p = &w->e->view->profile;
	char *command = profile_command(p);
	FILE *out = w->e->out;

	fputs("# callgrind format\nversion: 1\ncreator: lwpctl\n", out);
	if (p->nr_processes)
		fprintf(out, "pid: %" PRIu32 "\n", p->processes[0].pid);
	fprintf(out, "cmd:%s%s", p->config.nr_args ? " " : "", command);
	free(command);
	fputs("\npart: 1\n\npositions: instr line\nevents:", out);
	if (w->windows)
		fputs(" instructions", out);
	for (size_t k = 0; k < w->nr_events; k++) {
		fputc(' ', out);
		for (const char *name = profile_event_name(p, w->events[k]); *name; name++)
			fputc(*name == '-' || *name == ' ' ? '_' : *name, out);
	}
	fputs("\n\n", out);
}

static const uint8_t *code_at(const struct writer *w, const struct place *place, uint64_t *size)
{
	if (place->object_id == LWPDATA_NONE)
		return NULL;
	*size = 16;
	return symbols_code(resolver_object(&w->e->view->resolver, place->object_id),
			    place->address, size);
}

/* The address that records of taken branches from here lead to, in the process. */
static uint64_t recorded_target(const struct entry *first, const struct entry *end)
{
	for (const struct entry *x = first; x < end; x++)
		if (x->count && x->count->detail.taken)
			return x->count->target;
	return 0;
}

static void put_callee(const struct writer *w, const struct entry *x, const struct place *to,
		       const char *file, double number, double instructions)
{
	fprintf(w->e->out, "cob=%s\ncfi=%s\ncfn=%s\ncalls=%.0f %#" PRIx64 " %d\n%#" PRIx64 " %d",
		to->object, file, to->symbol, number, to->address, to->line, x->place.address,
		x->place.line);
	if (w->windows)
		fprintf(w->e->out, " %.0f", instructions);
	for (size_t k = 0; k < w->nr_events; k++)
		fputs(" 0", w->e->out);
	fputc('\n', w->e->out);
}

/* A call of which only single records tell. */
static void put_recorded_call(const struct writer *w, const struct entry *first,
			      const struct entry *end, uint64_t number)
{
	struct export *e = w->e;
	const struct profile *p = &e->view->profile;
	uint32_t process = p->threads[first->count->thread].process;
	uint64_t target = recorded_target(first, end);
	struct place to;

	if (!target || !number)
		return;
	resolve(&e->view->resolver, process, profile_find_map(p, process, UINT64_MAX - 1, target),
		target, &to);
	put_callee(w, first, &to, to.file ?: "???", (double)number, 0);
}

/* What the branch of one address did, if it is one. */
static void put_branch(const struct writer *w, const struct entry *first, const struct entry *end)
{
	const struct profile *p = &w->e->view->profile;
	uint32_t event_id = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];
	const struct place *place = &first->place;
	uint64_t executed = 0, taken = 0, target, size = 0, period;
	const uint8_t *code;
	enum branch_kind kind;

	for (const struct entry *x = first; x < end; x++)
		if (x->count && x->count->event_id == event_id) {
			executed += x->count->samples;
			taken += x->count->detail.taken;
		}
	if (!executed)
		return;
	period = report_stands_for(p, event_id);
	code = code_at(w, place, &size);
	kind = branch_kind(code, code ? size : 0, place->address, &target);
	if (kind == BRANCH_CONDITIONAL)
		fprintf(w->e->out,
			"jcnd=%" PRIu64 "/%" PRIu64 " %#" PRIx64 " %d\n%#" PRIx64 " %d\n",
			taken * period, executed * period, target, place->line, place->address,
			place->line);
	else if (kind == BRANCH_CALL && !w->windows)
		put_recorded_call(w, first, end, taken * period);
}

/* The file of a function is that of its lowest address. */
static const char **file_of(struct writer *w, const struct place *place)
{
	size_t number = keys_number_of(&w->function_keys, (uintptr_t)place->symbol,
				       (uintptr_t)place->object, 0);

	if (number == w->nr_files)
		*APPEND(w->files, w->nr_files, w->file_room) = NULL;
	return &w->files[number];
}

static void put_calls(struct writer *w, const struct entry *first, const struct entry *end)
{
	for (const struct entry *x = first; x < end; x++) {
		const struct call *call = x->call;
		const struct place *to;

		if (!call)
			continue;
		to = &w->calls.blocks.functions[call->callee].place;
		put_callee(w, x, to, *file_of(w, to) ?: "???", call->number, call->instructions);
	}
}

static void put_costs(const struct writer *w, const struct entry *first, const struct entry *end,
		      uint64_t totals[])
{
	uint64_t costs[LWPDATA_MAX_EVENTS + 2] = { 0 };
	double instructions = 0;

	for (const struct entry *x = first; x < end; x++) {
		instructions += x->instructions;
		if (x->count) {
			size_t k = column(w, x->count->event_id);

			costs[w->windows + k] += x->count->samples * w->periods[k];
		}
	}
	if (w->windows)
		costs[0] = (uint64_t)(instructions + 0.5);
	fprintf(w->e->out, "%#" PRIx64 " %d", first->place.address, first->place.line);
	for (size_t k = 0; k < w->nr_events + w->windows; k++) {
		totals[k] += costs[k];
		fprintf(w->e->out, " %" PRIu64, costs[k]);
	}
	fputc('\n', w->e->out);
}

static void put_entries(struct writer *w, uint64_t totals[])
{
	const struct entry *last = w->entries ? w->entries + w->nr : NULL, *end;
	const char *file = NULL;

	for (const struct entry *x = w->entries; x < last; x = end) {
		const struct place *place = &x->place;
		const char *own = place->file ?: "???";

		if (x == w->entries || compare_function(x - 1, x)) {
			file = *file_of(w, place);
			fprintf(w->e->out, "ob=%s\nfl=%s\nfn=%s\n", place->object, file,
				place->symbol);
		}
		/* Code of another file that is inlined. */
		if (strcmp(own, file)) {
			fprintf(w->e->out, "fi=%s\n", own);
			file = own;
		}
		for (end = x + 1; end < last && !compare(x, end); end++)
			;
		put_costs(w, x, end, totals);
		put_branch(w, x, end);
		put_calls(w, x, end);
	}
}

/* ---- What there is to write ----------------------------------------------------------------- */

static struct entry *add_entry(struct writer *w, const struct place *place)
{
	w->entries = grow(w->entries, w->nr, &w->room, sizeof(*w->entries));
	w->entries[w->nr] = (struct entry){ .place = *place };
	return &w->entries[w->nr++];
}

static void add_samples(struct writer *w)
{
	const struct samples *samples = &w->e->view->samples;

	for (size_t i = 0; i < samples->nr; i++)
		if (column(w, samples->list[i].count->event_id) < w->nr_events)
			add_entry(w, &samples->list[i].place)->count = samples->list[i].count;
}

static void see(void *to, const struct block *block, uint64_t address)
{
	struct writer *w = to;
	size_t number = keys_number_of(&w->executed_keys, address, block->map);

	if (number == w->nr_executed) {
		*APPEND(w->executed, w->nr_executed, w->executed_room) =
			(struct executed){ .address = address, .map = block->map };
	}
	w->executed[number].number += block->number;
}

static bool resolved(const struct writer *w, size_t map, uint64_t address, struct place *place)
{
	struct view *view = w->e->view;

	if (map == SIZE_MAX)
		return false;
	resolve(&view->resolver, view->profile.maps[map].process, map, address, place);
	return filter_place(&w->e->options->filter, place->object, place->symbol);
}

static void add_windows(struct writer *w)
{
	struct calls *c = &w->calls;
	struct place place;

	calls_make(c, &w->e->view->resolver, &w->e->options->filter, NULL, NULL);
	for (size_t i = 0; i < c->blocks.keys.nr; i++)
		if (c->blocks.list[i].number > 0)
			blocks_instructions(&c->blocks, &c->blocks.list[i], see, w);
	for (size_t i = 0; i < w->nr_executed; i++)
		if (resolved(w, w->executed[i].map, w->executed[i].address, &place))
			add_entry(w, &place)->instructions = w->executed[i].number;
	for (size_t i = 0; i < c->nr_calls; i++)
		if (resolved(w, c->calls[i].map, c->calls[i].from, &place))
			add_entry(w, &place)->call = &c->calls[i];
}

static bool has_branches(const struct writer *w)
{
	const struct profile *p = &w->e->view->profile;
	uint32_t event_id = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];

	return p->nr_windows && column(w, event_id) < w->nr_events;
}

bool export_callgrind(struct export *e)
{
	struct writer w = { .e = e };
	uint64_t totals[LWPDATA_MAX_EVENTS + 2] = { 0 };

	choose_events(&w);
	w.windows = has_branches(&w);
	add_samples(&w);
	if (w.windows)
		add_windows(&w);
	sort_list(w.entries, w.nr, sizeof(*w.entries), compare);
	for (size_t i = 0; i < w.nr; i++) {
		const char **file = file_of(&w, &w.entries[i].place);

		*file = *file ?: w.entries[i].place.file ?: "???";
	}
	put_head(&w);
	put_entries(&w, totals);
	fputs("totals:", e->out);
	for (size_t k = 0; k < w.nr_events + w.windows; k++)
		fprintf(e->out, " %" PRIu64, totals[k]);
	fputc('\n', e->out);
	calls_free(&w.calls);
	keys_free(&w.executed_keys);
	keys_free(&w.function_keys);
	free(w.executed);
	free(w.files);
	free(w.entries);
	return true;
}
