// SPDX-License-Identifier: GPL-2.0-or-later
/* Comma-separated values as of RFC 4180: a line for each address of each thread and event, branches by target. */
#include <inttypes.h>

#include "lwpctl_report.h"
#include "export.h"

/* In quotes, which are doubled in it. A text that a table calculator would calculate gets an apostrophe. */
static void put(FILE *to, const char *text)
{
	fputs(*text == '=' || *text == '+' || *text == '-' || *text == '@' ? ",\"'" : ",\"", to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	fputc('"', to);
}

bool export_csv(struct export *e)
{
	const struct profile *p = &e->view->profile;

	fputs("event,samples,events,pid,tid,process,thread,object,address,symbol,file,line,target,taken,"
	      "mispredicted,latency\r\n",
	      e->out);
	for (size_t i = 0; i < e->view->samples.nr; i++) {
		const struct located *l = &e->view->samples.list[i];
		const struct count *c = l->count;
		const struct profile_thread *thread = &p->threads[c->thread];
		const struct profile_process *process = &p->processes[thread->process];

		if (e->options->kind && c->event_id != e->event_id)
			continue;
		fprintf(e->out, "%s,%" PRIu64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu32,
			profile_event_name(p, c->event_id), c->samples,
			c->samples * report_stands_for(p, c->event_id), process->pid, thread->tid);
		put(e->out, process->comm);
		put(e->out, thread->comm);
		put(e->out, l->place.object);
		fprintf(e->out, ",%#" PRIx64, l->place.address);
		put(e->out, l->place.symbol);
		put(e->out, l->place.file ?: "");
		fprintf(e->out, ",%d,%#" PRIx64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\r\n",
			l->place.line, c->target, c->detail.taken,
			c->detail.predicted - c->detail.right, c->detail.latency);
	}
	return true;
}
