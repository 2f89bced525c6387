// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profile format of callgrind, version 1: costs by object, file, function and address; conditional jumps as
 * jcnd=, how often they were taken of how often they were executed; calls as calls=, without the cost of what they
 * called, which no record tells. Costs are events: samples by the period.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "branch.h"
#include "export.h"
#include "lwp_rev.h"
#include "memory.h"
#include "printable.h"

struct entry {
	const struct located *located;
	const char *file;
};

struct writer {
	struct export *e;
	uint32_t events[LWPDATA_MAX_EVENTS + 1]; /* EventIds of the columns */
	uint64_t periods[LWPDATA_MAX_EVENTS + 1];
	size_t nr_events;
	struct entry *entries;
	size_t nr;
};

static int compare_text(const char *a, const char *b)
{
	return a == b ? 0 : strcmp(a, b);
}

static int compare_function(const struct entry *x, const struct entry *y)
{
	int order = compare_text(x->located->place.object, y->located->place.object);

	if (!order)
		order = compare_text(x->located->place.symbol, y->located->place.symbol);
	return order ?: compare_text(x->file, y->file);
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	const struct place *p = &x->located->place, *q = &y->located->place;
	int order = compare_function(x, y);

	if (order)
		return order;
	if (p->address != q->address)
		return p->address < q->address ? -1 : 1;
	return p->line - q->line;
}

static void choose_events(struct writer *w)
{
	const struct profile *p = &w->e->view->profile;

	for (uint32_t i = 0; i < p->config.nr_events; i++) {
		uint32_t id = p->config.events[i].event_id;
		bool twice = false;

		for (size_t k = 0; k < w->nr_events; k++)
			twice |= w->events[k] == id;
		if (twice || (w->e->options->kind && id != w->e->event_id))
			continue;
		w->periods[w->nr_events] = export_period(p, id);
		w->events[w->nr_events++] = id;
	}
}

static size_t column(const struct writer *w, uint32_t event_id)
{
	size_t k = 0;

	while (k < w->nr_events && w->events[k] != event_id)
		k++;
	return k;
}

static void put_head(const struct writer *w)
{
	const struct profile *p = &w->e->view->profile;
	FILE *out = w->e->out;

	fputs("# callgrind format\nversion: 1\ncreator: lwpctl\n", out);
	if (p->nr_processes)
		fprintf(out, "pid: %" PRIu32 "\n", p->processes[0].pid);
	fputs("cmd:", out);
	for (uint32_t i = 0; i < p->config.nr_args; i++) {
		struct lwpdata_bytes bytes = lwpdata_arg(&p->config, i);
		char *arg = printable(bytes.data, bytes.size);

		fprintf(out, " %s", arg);
		free(arg);
	}
	fputs("\npart: 1\n\npositions: instr line\nevents:", out);
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
		if (x->located->count->detail.taken)
			return x->located->count->target;
	return 0;
}

static void put_call(const struct writer *w, const struct entry *first, const struct entry *end,
		     uint64_t number)
{
	struct export *e = w->e;
	const struct count *count = first->located->count;
	uint32_t process = e->view->profile.threads[count->thread].process;
	uint64_t target = recorded_target(first, end);
	struct place to;

	if (!target || !number)
		return;
	resolve(&e->view->resolver, process,
		profile_find_map(&e->view->profile, process, UINT64_MAX - 1, target), target, &to);
	fprintf(e->out, "cob=%s\ncfi=%s\ncfn=%s\ncalls=%" PRIu64 " %#" PRIx64 " %d\n", to.object,
		to.file ?: "???", to.symbol, number, to.address, to.line);
	fprintf(e->out, "%#" PRIx64 " %d", first->located->place.address,
		first->located->place.line);
	for (size_t k = 0; k < w->nr_events; k++)
		fputs(" 0", e->out);
	fputc('\n', e->out);
}

/* What the branch of one address did, if it is one. */
static void put_branch(const struct writer *w, const struct entry *first, const struct entry *end)
{
	const struct profile *p = &w->e->view->profile;
	uint32_t event_id = lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];
	const struct place *place = &first->located->place;
	uint64_t executed = 0, taken = 0, target, size = 0, period;
	const uint8_t *code;
	enum branch_kind kind;

	for (const struct entry *x = first; x < end; x++)
		if (x->located->count->event_id == event_id) {
			executed += x->located->count->samples;
			taken += x->located->count->detail.taken;
		}
	if (!executed)
		return;
	period = export_period(p, event_id);
	code = code_at(w, place, &size);
	kind = branch_kind(code, code ? size : 0, place->address, &target);
	if (kind == BRANCH_CONDITIONAL)
		fprintf(w->e->out,
			"jcnd=%" PRIu64 "/%" PRIu64 " %#" PRIx64 " %d\n%#" PRIx64 " %d\n",
			taken * period, executed * period, target, place->line, place->address,
			place->line);
	else if (kind == BRANCH_CALL)
		put_call(w, first, end, taken * period);
}

static void put_costs(const struct writer *w, const struct entry *first, const struct entry *end,
		      uint64_t totals[])
{
	uint64_t costs[LWPDATA_MAX_EVENTS + 1] = { 0 };

	for (const struct entry *x = first; x < end; x++) {
		size_t k = column(w, x->located->count->event_id);

		costs[k] += x->located->count->samples * w->periods[k];
	}
	fprintf(w->e->out, "%#" PRIx64 " %d", first->located->place.address,
		first->located->place.line);
	for (size_t k = 0; k < w->nr_events; k++) {
		totals[k] += costs[k];
		fprintf(w->e->out, " %" PRIu64, costs[k]);
	}
	fputc('\n', w->e->out);
}

static void put_entries(const struct writer *w, uint64_t totals[])
{
	const struct entry *last = w->entries + w->nr, *end;

	for (const struct entry *x = w->entries; x < last; x = end) {
		const struct place *place = &x->located->place;

		if (x == w->entries || compare_function(x - 1, x))
			fprintf(w->e->out, "ob=%s\nfl=%s\nfn=%s\n", place->object, x->file,
				place->symbol);
		for (end = x + 1; end < last && !compare(x, end); end++)
			;
		put_costs(w, x, end, totals);
		put_branch(w, x, end);
	}
}

bool export_callgrind(struct export *e)
{
	const struct samples *samples = &e->view->samples;
	struct writer w = { .e = e };
	uint64_t totals[LWPDATA_MAX_EVENTS + 1] = { 0 };

	choose_events(&w);
	w.entries = must(calloc(samples->nr + 1, sizeof(*w.entries)));
	for (size_t i = 0; i < samples->nr; i++)
		if (column(&w, samples->list[i].count->event_id) < w.nr_events)
			w.entries[w.nr++] = (struct entry){ &samples->list[i],
							    samples->list[i].place.file ?: "???" };
	if (w.nr)
		qsort(w.entries, w.nr, sizeof(*w.entries), compare);
	put_head(&w);
	put_entries(&w, totals);
	fputs("totals:", e->out);
	for (size_t k = 0; k < w.nr_events; k++)
		fprintf(e->out, " %" PRIu64, totals[k]);
	fputc('\n', e->out);
	free(w.entries);
	return true;
}
