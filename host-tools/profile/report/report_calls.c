// SPDX-License-Identifier: GPL-2.0-or-later
/* What windows of branches tell: instructions of each function, callers and callees, loops. */
#include <inttypes.h>

#include "calls.h"
#include "fit.h"
#include "json_out.h"
#include "memory.h"
#include "lwpctl.h"
#include "output.h"
#include "report_calls.h"

/* A function, or a call, or a loop: by its number, in the order of a table. */
struct ranked {
	size_t number;
	double weight;
};

struct table {
	struct ranked *list;
	size_t nr;
};

struct printer {
	const struct calls_report *what;
	struct view *view;
	struct calls *calls;
	double *inclusive; /* instructions, by function */
	double *called; /* times, by function */
	bool complete; /* the trace is; else outer callers, and what returns later, are not seen */
};

bool calls_report_any(const struct calls_report *what)
{
	return what->exact || what->calls || what->loops;
}

/* ---- Tables --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return ORDER(y->weight, x->weight) ?: ORDER(x->number, y->number);
}

static struct table table_make(size_t room)
{
	return (struct table){ .list = must(calloc(room + 1, sizeof(struct ranked))) };
}

static void table_add(struct table *t, size_t number, double weight)
{
	t->list[t->nr++] = (struct ranked){ number, weight };
}

static void table_sort(struct table *t)
{
	sort_list(t->list, t->nr, sizeof(*t->list), compare);
}

size_t calls_rows(const struct calls_report *what, size_t nr)
{
	return what->limit && what->limit < nr ? what->limit : nr;
}

void calls_put_name(const struct calls_report *what, const char *symbol, const char *object,
		    int used)
{
	char *name = fitted_symbol(symbol, last_part(object), (size_t)used + 2, what->wide);

	printf("  %s\n", name);
	free(name);
}

/* By the instructions of each, its own or with those of what it called. */
static struct table functions(const struct printer *p, bool inclusive)
{
	const struct blocks *b = &p->calls->blocks;
	struct table t = table_make(b->nr_functions);

	for (size_t i = 0; i < b->nr_functions; i++) {
		double own = b->functions[i].instructions;

		if (own > 0 || p->inclusive[i] > 0)
			table_add(&t, i, inclusive ? p->inclusive[i] : own);
	}
	table_sort(&t);
	return t;
}

/* Calls that are made by a function, or of it: those of one pair of functions are one row. */
static struct table calls_of(const struct printer *p, size_t function, bool by_it)
{
	const struct calls *c = p->calls;
	struct table t = table_make(c->nr_calls);

	for (size_t i = 0; i < c->nr_calls; i++) {
		const struct call *call = &c->calls[i];
		size_t k = 0;

		if ((by_it ? call->caller : call->callee) != function)
			continue;
		for (; k < t.nr; k++) {
			const struct call *other = &c->calls[t.list[k].number];

			if (other->caller == call->caller && other->callee == call->callee)
				break;
		}
		if (k == t.nr)
			table_add(&t, i, 0);
		t.list[k].weight += call->number;
	}
	table_sort(&t);
	return t;
}

/* The instructions of all calls of a pair. */
static double pair_instructions(const struct calls *c, const struct call *pair)
{
	double sum = 0;

	for (size_t i = 0; i < c->nr_calls; i++)
		if (c->calls[i].caller == pair->caller && c->calls[i].callee == pair->callee)
			sum += c->calls[i].instructions;
	return sum;
}

/* By how often their bodies ran. */
static struct table loops(const struct printer *p)
{
	const struct loops *l = &p->calls->loops;
	struct table t = table_make(l->nr);

	for (size_t i = 0; i < l->nr; i++)
		if (l->list[i].entered > 0)
			table_add(&t, i, l->list[i].trips);
	table_sort(&t);
	return t;
}

static const struct place *place_of(const struct printer *p, size_t function)
{
	return &p->calls->blocks.functions[function].place;
}

/* ---- For people ----------------------------------------------------------------------------- */

/* The rest of a line of which so many columns are used. */
static void print_name(const struct printer *p, size_t function, int used)
{
	const struct place *place = place_of(p, function);

	calls_put_name(p->what, place->symbol, place->object, used);
}

static void print_functions(const struct printer *p)
{
	struct table t = functions(p, false);
	double all = p->calls->instructions, rest = all;

	printf("\nexactly %.0f instructions in %zu functions\n", all, t.nr);
	puts("\n  Share  Instructions  With callees       Calls  Symbol");
	for (size_t i = 0; i < calls_rows(p->what, t.nr); i++) {
		size_t number = t.list[i].number;
		int used = printf("%6.2f%%  %12.0f  %12.0f  %10.0f",
				  all > 0 ? 100 * t.list[i].weight / all : 0, t.list[i].weight,
				  p->inclusive[number], p->called[number]);

		print_name(p, number, used);
		rest -= t.list[i].weight;
	}
	if (calls_rows(p->what, t.nr) < t.nr)
		printf("%6.2f%%  %12.0f  ... %zu more\n", all > 0 ? 100 * rest / all : 0, rest,
		       t.nr - calls_rows(p->what, t.nr));
	free(t.list);
}

/* Of the entries of a function, from its windows, those that one other made. */
static int print_entries(const struct printer *p, const struct call *call)
{
	const struct calls *c = p->calls;
	struct interval i;
	int used = 0;

	for (size_t e = 0; e < c->nr_edges; e++) {
		if (c->edges[e].caller != call->caller || c->edges[e].callee != call->callee)
			continue;
		i = edge_interval(c, &c->edges[e]);
		used += printf(" %6.2f%% %6.2f -%6.2f%% of its calls",
			       100 * c->edges[e].number / c->entered[call->callee].number,
			       100 * i.low, 100 * i.high);
	}
	return used;
}

static void print_pairs(const struct printer *p, size_t function, bool by_it)
{
	struct table t = calls_of(p, function, by_it);
	size_t nr = calls_rows(p->what, t.nr);

	for (size_t i = 0; i < nr; i++) {
		const struct call *call = &p->calls->calls[t.list[i].number];

		int used = printf("  %s %s%10.0f times", by_it ? "calls    " : "called by",
				  p->complete ? "" : "about", t.list[i].weight);

		if (p->complete)
			used += printf(" %12.0f instructions", pair_instructions(p->calls, call));
		else
			used += print_entries(p, call);
		print_name(p, by_it ? call->callee : call->caller, used);
	}
	if (nr < t.nr)
		printf("  ... %zu more\n", t.nr - nr);
	free(t.list);
}

static void print_calls(const struct printer *p)
{
	struct table t = functions(p, true);
	double all = p->calls->instructions;

	puts("\nCallers and callees, by the instructions of a function and what it called");
	if (!p->complete)
		puts("Windows do not show calls that began before them: a share with callees is at least so much.\n"
		     "Beside a call stands which part of the calls of the function that is called it makes, and the\n"
		     "95% interval of that.");
	for (size_t i = 0; i < calls_rows(p->what, t.nr); i++) {
		size_t number = t.list[i].number;
		int used = printf("\n%s%6.2f%%", p->complete ? "" : "at least ",
				  all > 0 ? 100 * p->inclusive[number] / all : 0);

		print_name(p, number, used);
		print_pairs(p, number, false);
		print_pairs(p, number, true);
	}
	free(t.list);
}

static void resolve_loop(const struct printer *p, const struct loop *loop, struct place *place)
{
	const struct profile *profile = &p->view->profile;

	resolve(&p->view->resolver, profile->maps[loop->map].process, loop->map, loop->begin,
		place);
}

static void print_loops(const struct printer *p)
{
	struct table t = loops(p);
	size_t nr = calls_rows(p->what, t.nr);

	puts("\nLoops, by how often their bodies ran\n\n       Trips     Entered        Mean       Least"
	     "        Most  Loop");
	for (size_t i = 0; i < nr; i++) {
		const struct loop *loop = &p->calls->loops.list[t.list[i].number];
		struct place place;

		resolve_loop(p, loop, &place);
		printf("%12.0f %11.0f %11.1f %11" PRIu64 " %11" PRIu64 "  %s  (%s+%#" PRIx64 ")",
		       loop->trips, loop->entered, loop->trips / loop->entered, loop->least,
		       loop->most, place_of(p, loop->function)->symbol, last_part(place.object),
		       place.address);
		if (place.file)
			printf("  %s:%d", last_part(place.file), place.line);
		putchar('\n');
	}
	if (nr < t.nr)
		printf("... %zu more\n", t.nr - nr);
	free(t.list);
}

static void print_text(const struct printer *p)
{
	if (p->what->exact)
		print_functions(p);
	if (p->what->calls)
		print_calls(p);
	if (p->what->loops)
		print_loops(p);
	if (p->calls->unknown > 0)
		printf("\n%.0f runs went through code that is in no file: their instructions are not "
		       "counted.\n",
		       p->calls->unknown);
	if (p->calls->broken > 0)
		printf("\n%.0f runs were broken off by signals, or continued after them.\n",
		       p->calls->broken);
}

/* ---- For programs --------------------------------------------------------------------------- */

/* A whole number without a fraction. */
static json_object *count(double value)
{
	uint64_t whole = (uint64_t)value;

	return value == (double)whole ? json_of(whole) : json_of(value);
}

static json_object *functions_json(const struct printer *p)
{
	json_object *list = json_list();
	struct table t = functions(p, false);

	for (size_t i = 0; i < calls_rows(p->what, t.nr); i++) {
		json_object *item = json_new();
		const struct place *place = place_of(p, t.list[i].number);

		json_add(item, "symbol", place->symbol);
		json_add(item, "object", place->object);
		json_add(item, "instructions", count(t.list[i].weight));
		json_add(item, "with_callees", count(p->inclusive[t.list[i].number]));
		json_add(item, "calls", count(p->called[t.list[i].number]));
		json_append(list, item);
	}
	free(t.list);
	return list;
}

static json_object *calls_json(const struct printer *p)
{
	json_object *list = json_list();
	const struct calls *c = p->calls;

	for (size_t i = 0; i < c->nr_calls; i++) {
		json_object *item = json_new();
		const struct call *call = &c->calls[i];

		json_add(item, "caller", place_of(p, call->caller)->symbol);
		json_add(item, "caller_object", place_of(p, call->caller)->object);
		json_add(item, "address", call->address);
		json_add(item, "callee", place_of(p, call->callee)->symbol);
		json_add(item, "callee_object", place_of(p, call->callee)->object);
		json_add(item, "calls", count(call->number));
		json_add(item, "instructions", count(call->instructions));
		json_append(list, item);
	}
	return list;
}

static json_object *callers_json(const struct printer *p)
{
	json_object *list = json_list();
	const struct calls *c = p->calls;

	for (size_t i = 0; i < c->nr_edges; i++) {
		json_object *item = json_new();
		const struct edge *e = &c->edges[i];
		struct interval interval = edge_interval(c, e);

		json_add(item, "caller", place_of(p, e->caller)->symbol);
		json_add(item, "callee", place_of(p, e->callee)->symbol);
		json_add(item, "calls", count(e->number));
		json_add(item, "share", e->number / c->entered[e->callee].number);
		json_add(item, "share_low", interval.low);
		json_add(item, "share_high", interval.high);
		json_append(list, item);
	}
	return list;
}

static json_object *loops_json(const struct printer *p)
{
	json_object *list = json_list();
	struct table t = loops(p);

	for (size_t i = 0; i < calls_rows(p->what, t.nr); i++) {
		const struct loop *loop = &p->calls->loops.list[t.list[i].number];
		json_object *item = json_new();
		struct place place;

		resolve_loop(p, loop, &place);
		json_add(item, "symbol", place_of(p, loop->function)->symbol);
		json_add(item, "object", place.object);
		json_add(item, "address", place.address);
		if (place.file) {
			json_add(item, "source_file", place.file);
			json_add(item, "source_line", count(place.line));
		}
		json_add(item, "trips", count(loop->trips));
		json_add(item, "entered", count(loop->entered));
		json_add(item, "least", loop->least);
		json_add(item, "most", loop->most);
		json_append(list, item);
	}
	free(t.list);
	return list;
}

static void print_json(const struct printer *p)
{
	json_object *root = json_new();

	json_add(root, "file", p->view->profile.path);
	json_add(root, "instructions", count(p->calls->instructions));
	json_add(root, "complete", p->complete);
	json_add(root, "runs_without_code", count(p->calls->unknown));
	json_add(root, "runs_broken_off", count(p->calls->broken));
	if (p->what->exact)
		json_add(root, "functions", functions_json(p));
	if (p->what->calls)
		json_add(root, "calls", calls_json(p));
	if (p->what->calls && !p->complete)
		json_add(root, "callers", callers_json(p));
	if (p->what->loops)
		json_add(root, "loops", loops_json(p));
	put_json(root);
}

/* ---- Both ----------------------------------------------------------------------------------- */

static double *count_calls(const struct calls *c)
{
	double *called = must(calloc(c->blocks.nr_functions + 1, sizeof(*called)));

	for (size_t i = 0; i < c->nr_calls; i++)
		called[c->calls[i].callee] += c->calls[i].number;
	return called;
}

static bool windows_tell(const struct calls_report *what, const struct profile *profile,
			 const struct filter *filter, bool *complete)
{
	const char *why;

	*complete = calls_complete(profile, filter, &why);
	if (*complete || (!what->exact && profile->nr_windows))
		return true;
	if (what->exact && profile->nr_windows)
		return refuse("%s: this is no complete trace: %s; record with lwprun --windows=all",
			      profile->path, why);
	return refuse("%s: %s; record with lwprun --windows%s", profile->path, why,
		      what->exact ? "=all" :
		      what->loops ? "" :
				    " or --stacks");
}

bool calls_report(const struct calls_report *what, struct view *view, const struct filter *filter)
{
	struct calls calls;
	struct printer p = { what, view, &calls, NULL, NULL, false };

	if (!windows_tell(what, &view->profile, filter, &p.complete))
		return false;
	calls_make(&calls, &view->resolver, filter, NULL, NULL);
	p.inclusive = calls_inclusive(&calls);
	p.called = count_calls(&calls);
	if (what->json)
		print_json(&p);
	else
		print_text(&p);
	free(p.inclusive);
	free(p.called);
	calls_free(&calls);
	return true;
}
