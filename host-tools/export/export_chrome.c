// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Trace events in JSON with samples and stack frames: Perfetto, chrome://tracing, speedscope.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "memory.h"
#include "stacks.h"

static void put_names(struct export *e)
{
	const struct profile *p = &e->view->profile;
	const char *before = "";

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *t = &p->threads[i];
		const struct profile_process *process = &p->processes[t->process];

		fprintf(e->out, "%s\n{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, before,
			process->pid, t->tid);
		fputs(",\"name\":\"process_name\",\"args\":{\"name\":", e->out);
		put_json_string(e->out, process->comm);
		fprintf(e->out, "}},\n{\"ph\":\"M\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
			process->pid, t->tid);
		fputs(",\"name\":\"thread_name\",\"args\":{\"name\":", e->out);
		put_json_string(e->out, t->comm);
		fputs("}}", e->out);
		before = ",";
	}
}

struct writer {
	struct export *e;
	struct stacks *stacks;
	const char *before;
};

static void put_event(struct writer *w, uint32_t thread, uint8_t core_id, uint64_t time,
		      size_t stack, uint64_t weight)
{
	const struct profile *p = &w->e->view->profile;
	const struct profile_thread *t = &p->threads[thread];

	/* The form has no pid here; speedscope wants one. */
	fprintf(w->e->out,
		"%s\n{\"cpu\":%u,\"pid\":%" PRIu32 ",\"tid\":%" PRIu32
		",\"ts\":%.3f,\"name\":\"%s\",\"sf\":\"%zu\","
		"\"weight\":%" PRIu64 "}",
		w->before, core_id, p->processes[t->process].pid, t->tid,
		(double)(int64_t)(time - p->config.start_monotonic) / 1000, w->stacks->unit, stack,
		weight);
	w->before = ",";
}

static void put_sample(void *to, const struct sample *sample)
{
	struct writer *w = to;
	struct export *e = w->e;
	const struct located *l = samples_find(&e->view->samples, &e->view->tally, &sample->key);

	if (l && sample->key.event_id == e->event_id)
		put_event(w, sample->key.thread, sample->record->core_id, sample->time,
			  stacks_of(w->stacks, l), w->stacks->period);
}

static void put_steps(struct writer *w)
{
	for (size_t i = 0; i < w->stacks->nr_steps; i++) {
		const struct stack_step *step = &w->stacks->steps[i];

		put_event(w, step->thread, step->core_id, step->time, step->stack,
			  step->instructions);
	}
}

bool export_chrome(struct export *e)
{
	struct stacks stacks;
	struct writer w = { .e = e, .stacks = &stacks, .before = "" };

	stacks_make(&stacks, e);
	fputs("{\"traceEvents\":[", e->out);
	put_names(e);
	fputs("],\n\"stackFrames\":{", e->out);
	for (size_t i = 1; i < stacks.nr; i++) {
		fprintf(e->out, "%s\n\"%zu\":{\"name\":", i > 1 ? "," : "", i);
		put_json_string(e->out, stacks.list[i].name);
		fputs(",\"category\":", e->out);
		put_json_string(e->out, stacks.list[i].object);
		if (stacks.list[i].parent)
			fprintf(e->out, ",\"parent\":\"%zu\"", stacks.list[i].parent);
		fputc('}', e->out);
	}
	fputs("},\n\"samples\":[", e->out);
	if (stacks_of_windows(e))
		put_steps(&w);
	else
		tally_walk(&e->view->profile, &e->options->filter, e->options->targets, put_sample,
			   &w);
	fputs("]}\n", e->out);
	stacks_free(&stacks);
	return true;
}
