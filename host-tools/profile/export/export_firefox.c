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
			(struct timed){ step->time, step->stack, step->count };
	}
}

static double milliseconds(const struct profile *p, uint64_t time)
{
	return (double)(int64_t)(time - p->config.start_monotonic) / NS_PER_MS;
}

/* A column: "NAME":[...] with `same`, or else a value of its own, for each stack. */
static void put_column(FILE *to, const struct stacks *s, const char *name, const char *same,
		       void (*own)(FILE *to, const struct stacks *s, size_t i))
{
	fprintf(to, "\"%s\":[", name);
	for (size_t i = 0; i + 1 < s->nr; i++) {
		if (i)
			fputc(',', to);
		if (same)
			fputs(same, to);
		else
			own(to, s, i);
	}
	fputs("],", to);
}

/* Rows of the tables are the stacks from 1 on; a row's function, frame and string have its number. */
static void put_number(FILE *to, const struct stacks *s, size_t i)
{
	fprintf(to, "%zu", i);
}

static void put_known(FILE *to, bool known, size_t number)
{
	if (known)
		fprintf(to, "%zu", number);
	else
		fputs("null", to);
}

static void put_parent(FILE *to, const struct stacks *s, size_t i)
{
	put_known(to, s->list[i + 1].parent, s->list[i + 1].parent - 1);
}

static void put_line(FILE *to, const struct stacks *s, size_t i)
{
	put_known(to, s->list[i + 1].file, (size_t)s->list[i + 1].line);
}

/* The strings of files stand after those of names. */
static void put_file(FILE *to, const struct stacks *s, size_t i)
{
	put_known(to, s->list[i + 1].file, s->nr - 1 + i);
}

static void put_tables(FILE *to, const struct stacks *s)
{
	size_t nr = s->nr - 1;

	fputs("\"stackTable\":{", to);
	put_column(to, s, "frame", NULL, put_number);
	put_column(to, s, "category", "0", NULL);
	put_column(to, s, "subcategory", "0", NULL);
	put_column(to, s, "prefix", NULL, put_parent);
	fprintf(to, "\"length\":%zu},\n\"frameTable\":{", nr);
	put_column(to, s, "address", "-1", NULL);
	put_column(to, s, "inlineDepth", "0", NULL);
	put_column(to, s, "category", "0", NULL);
	put_column(to, s, "subcategory", "0", NULL);
	put_column(to, s, "func", NULL, put_number);
	put_column(to, s, "nativeSymbol", "null", NULL);
	put_column(to, s, "innerWindowID", "null", NULL);
	put_column(to, s, "implementation", "null", NULL);
	put_column(to, s, "line", NULL, put_line);
	put_column(to, s, "column", "null", NULL);
	fprintf(to, "\"length\":%zu},\n\"funcTable\":{", nr);
	put_column(to, s, "name", NULL, put_number);
	put_column(to, s, "isJS", "false", NULL);
	put_column(to, s, "relevantForJS", "false", NULL);
	put_column(to, s, "resource", "-1", NULL);
	put_column(to, s, "fileName", NULL, put_file);
	put_column(to, s, "lineNumber", "null", NULL);
	put_column(to, s, "columnNumber", "null", NULL);
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

	fprintf(e->out, "%s\n{\"processType\":\"default\",\"name\":", i ? "," : "");
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

	stacks_make(&stacks, e->view, e->options, e->event_id);
	if (stacks_tell_callers(&e->view->profile, e->event_id))
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
