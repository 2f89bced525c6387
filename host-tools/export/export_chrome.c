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
	uint64_t weight;
};

static void put_sample(void *to, const struct sample *sample)
{
	struct writer *w = to;
	struct export *e = w->e;
	const struct located *l = samples_find(&e->view->samples, &e->view->tally, &sample->key);
	const struct profile *p = &e->view->profile;

	if (!l || sample->key.event_id != e->event_id)
		return;
	fprintf(e->out,
		"%s\n{\"cpu\":%u,\"tid\":%" PRIu32 ",\"ts\":%.3f,\"name\":\"%s\",\"sf\":\"%zu\","
		"\"weight\":%" PRIu64 "}",
		w->before, sample->record->core_id, p->threads[sample->key.thread].tid,
		(double)(int64_t)(sample->time - p->config.start_monotonic) / 1000,
		profile_event_name(p, e->event_id), stacks_of(w->stacks, l), w->weight);
	w->before = ",";
}

bool export_chrome(struct export *e)
{
	struct stacks stacks;
	struct writer w = { .e = e,
			    .stacks = &stacks,
			    .before = "",
			    .weight = export_period(&e->view->profile, e->event_id) };

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
	tally_walk(&e->view->profile, &e->options->filter, e->options->targets, put_sample, &w);
	fputs("]}\n", e->out);
	stacks_free(&stacks);
	return true;
}
