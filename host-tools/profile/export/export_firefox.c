// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processed format of the Firefox Profiler, preprocessedProfileVersion 47: tables of strings, functions, frames,
 * stacks and samples for each thread.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "export.h"
#include "memory.h"
#include "stacks.h"

#define PROFILE_VERSION 47
#define NS_PER_MS 1e6

/* Samples of one thread, as the walk finds them. */
struct timed {
	uint64_t time;
	size_t stack;
	uint64_t weight;
};

struct timeline {
	struct timed *list;
	size_t nr, room;
};

struct collector {
	struct export *e;
	const struct stacks *stacks;
	struct timeline *threads;
};

static void collect(void *to, const struct sample *sample)
{
	struct collector *c = to;
	struct view *view = c->e->view;
	const struct located *l = samples_find(&view->samples, &view->tally, &sample->key);
	struct timeline *t = &c->threads[sample->key.thread];

	if (!l || sample->key.event_id != c->e->event_id)
		return;
	*APPEND(t->list, t->nr, t->room) =
		(struct timed){ sample->time, stacks_of(c->stacks, l), c->stacks->period };
}

static void collect_steps(struct collector *c)
{
	for (size_t i = 0; i < c->stacks->nr_steps; i++) {
		const struct stack_step *step = &c->stacks->steps[i];
		struct timeline *t = &c->threads[step->thread];

		*APPEND(t->list, t->nr, t->room) =
			(struct timed){ step->time, step->stack, step->instructions };
	}
}

static double milliseconds(const struct profile *p, uint64_t time)
{
	return (double)(int64_t)(time - p->config.start_monotonic) / NS_PER_MS;
}

/* A column: "NAME":[...] with `value` for each of `nr` rows. */
static void put_column(FILE *to, const char *name, size_t nr,
		       void (*value)(FILE *to, const struct stacks *s, size_t i),
		       const struct stacks *s)
{
	fprintf(to, "\"%s\":[", name);
	for (size_t i = 0; i < nr; i++) {
		if (i)
			fputc(',', to);
		value(to, s, i);
	}
	fputs("],", to);
}

/* Rows of the tables are the stacks from 1 on; a row's function, frame and string have its number. */
static void put_number(FILE *to, const struct stacks *s, size_t i)
{
	fprintf(to, "%zu", i);
}

/* A column of one value. */
static void put_constant(FILE *to, const char *name, size_t nr, const char *value)
{
	fprintf(to, "\"%s\":[", name);
	for (size_t i = 0; i < nr; i++)
		fprintf(to, "%s%s", i ? "," : "", value);
	fputs("],", to);
}

static void put_parent(FILE *to, const struct stacks *s, size_t i)
{
	if (s->list[i + 1].parent)
		fprintf(to, "%zu", s->list[i + 1].parent - 1);
	else
		fputs("null", to);
}

static void put_line(FILE *to, const struct stacks *s, size_t i)
{
	if (s->list[i + 1].file)
		fprintf(to, "%d", s->list[i + 1].line);
	else
		fputs("null", to);
}

/* The strings of files stand after those of names. */
static void put_file(FILE *to, const struct stacks *s, size_t i)
{
	if (s->list[i + 1].file)
		fprintf(to, "%zu", s->nr - 1 + i);
	else
		fputs("null", to);
}

static void put_tables(FILE *to, const struct stacks *s)
{
	size_t nr = s->nr - 1;

	fputs("\"stackTable\":{", to);
	put_column(to, "frame", nr, put_number, s);
	put_constant(to, "category", nr, "0");
	put_constant(to, "subcategory", nr, "0");
	put_column(to, "prefix", nr, put_parent, s);
	fprintf(to, "\"length\":%zu},\n\"frameTable\":{", nr);
	put_constant(to, "address", nr, "-1");
	put_constant(to, "inlineDepth", nr, "0");
	put_constant(to, "category", nr, "0");
	put_constant(to, "subcategory", nr, "0");
	put_column(to, "func", nr, put_number, s);
	put_constant(to, "nativeSymbol", nr, "null");
	put_constant(to, "innerWindowID", nr, "null");
	put_constant(to, "implementation", nr, "null");
	put_column(to, "line", nr, put_line, s);
	put_constant(to, "column", nr, "null");
	fprintf(to, "\"length\":%zu},\n\"funcTable\":{", nr);
	put_column(to, "name", nr, put_number, s);
	put_constant(to, "isJS", nr, "false");
	put_constant(to, "relevantForJS", nr, "false");
	put_constant(to, "resource", nr, "-1");
	put_column(to, "fileName", nr, put_file, s);
	put_constant(to, "lineNumber", nr, "null");
	put_constant(to, "columnNumber", nr, "null");
	fprintf(to, "\"length\":%zu},\n\"stringArray\":[", nr);
	for (size_t i = 1; i < s->nr; i++) {
		if (i > 1)
			fputc(',', to);
		put_json_string(to, s->list[i].name);
	}
	for (size_t i = 1; i < s->nr; i++) {
		fputc(',', to);
		put_json_string(to, s->list[i].file ?: "");
	}
	fputs("],\n\"resourceTable\":{\"lib\":[],\"name\":[],\"host\":[],\"type\":[],\"length\":0},\n"
	      "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
	      "\"length\":0},\n"
	      "\"markers\":{\"data\":[],\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],"
	      "\"category\":[],\"length\":0},\n",
	      to);
}

static int compare(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;

	return ORDER(x->time, y->time);
}

static void put_samples(struct export *e, struct timeline *t)
{
	const struct profile *p = &e->view->profile;

	sort_list(t->list, t->nr, sizeof(*t->list), compare);
	fputs("\"samples\":{\"stack\":[", e->out);
	for (size_t i = 0; i < t->nr; i++)
		fprintf(e->out, "%s%zu", i ? "," : "", t->list[i].stack - 1);
	fputs("],\"time\":[", e->out);
	for (size_t i = 0; i < t->nr; i++)
		fprintf(e->out, "%s%.6f", i ? "," : "", milliseconds(p, t->list[i].time));
	fputs("],\"weight\":[", e->out);
	for (size_t i = 0; i < t->nr; i++)
		fprintf(e->out, "%s%" PRIu64, i ? "," : "", t->list[i].weight);
	fprintf(e->out, "],\"weightType\":\"samples\",\"length\":%zu}}", t->nr);
}

static void put_thread(struct export *e, const struct stacks *s, size_t i, struct timeline *t)
{
	const struct profile *p = &e->view->profile;
	const struct profile_thread *thread = &p->threads[i];
	const struct profile_process *process = &p->processes[thread->process];

	fputs(i ? ",\n{\"processType\":\"default\",\"name\":" :
		  "\n{\"processType\":\"default\",\"name\":",
	      e->out);
	put_json_string(e->out, thread->comm);
	fputs(",\"processName\":", e->out);
	put_json_string(e->out, process->comm);
	fprintf(e->out,
		",\"isMainThread\":%s,\"pid\":\"%" PRIu32 "\",\"tid\":%" PRIu32
		",\"processStartupTime\":%.6f,\"processShutdownTime\":null,\"registerTime\":%.6f,"
		"\"unregisterTime\":null,\"pausedRanges\":[],\n",
		process->pid == thread->tid ? "true" : "false", process->pid, thread->tid,
		milliseconds(p, process->time), milliseconds(p, thread->time));
	put_tables(e->out, s);
	put_samples(e, t);
}

bool export_firefox(struct export *e)
{
	const struct profile *p = &e->view->profile;
	struct stacks stacks;
	struct collector c = { e, &stacks, must(calloc(p->nr_threads + 1, sizeof(*c.threads))) };

	stacks_make(&stacks, e);
	if (stacks_of_windows(e))
		collect_steps(&c);
	else
		tally_walk(p, &e->options->filter, e->options->targets, collect, &c);
	fprintf(e->out,
		"{\"meta\":{\"version\":29,\"preprocessedProfileVersion\":%d,\"processType\":0,"
		"\"interval\":1,\"startTime\":%.3f,\"stackwalk\":0,\"debug\":false,"
		"\"product\":\"lwprun\",\"symbolicated\":true,\"markerSchema\":[],"
		"\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}]"
		"},\n\"libs\":[],\n\"threads\":[",
		PROFILE_VERSION, (double)p->config.start_realtime / NS_PER_MS);
	for (size_t i = 0; i < p->nr_threads; i++) {
		put_thread(e, &stacks, i, &c.threads[i]);
		free(c.threads[i].list);
	}
	fputs("]}\n", e->out);
	free(c.threads);
	stacks_free(&stacks);
	return true;
}
