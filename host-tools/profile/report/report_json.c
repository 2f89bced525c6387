// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl report for programs. */
#include <math.h>
#include <stdlib.h>

#include "json_out.h"
#include "lwp_names.h"
#include "lwp_rev.h"
#include "output.h"
#include "lwpctl_report.h"
#include "printable.h"
#include "report_source.h"

/* JSON is UTF-8, names of files and programs are any bytes. */
static json_object *bytes(struct lwpdata_bytes text)
{
	char *shown = printable(text.data, text.size);
	json_object *json = json_of(shown);

	free(shown);
	return json;
}

static json_object *string(const char *text)
{
	return bytes((struct lwpdata_bytes){ (const uint8_t *)text, strlen(text) });
}

/* The mean latency, and how often the data came from where. */
static void add_misses(json_object *item, const struct row *row)
{
	json_object *from = json_new();

	for (enum lwp_data_source s = 0; s < LWP_SOURCES; s++)
		if (row->detail.from[s] && lwp_source_name(s))
			json_add(from, lwp_source_name(s), row->detail.from[s]);
	json_add(item, "latency", (double)row->detail.latency / (double)row->samples);
	json_add(item, "from", from);
}

static void add_branches(json_object *item, const struct row *row)
{
	json_add(item, "taken", row->detail.taken);
	json_add(item, "predictions_known", row->detail.predicted);
	json_add(item, "mispredicted", row->detail.predicted - row->detail.right);
}

void json_share(json_object *item, const struct row *row)
{
	if (row->windows)
		json_add(item, "windows", row->windows);
	json_add(item, "share", row->share);
	json_add(item, "share_low", row->interval.low);
	json_add(item, "share_high", row->interval.high);
}

static json_object *rows_json(const struct report *report, const struct grouping *by,
			      uint32_t event_id)
{
	uint32_t kind = profile_kind(report->profile, event_id);
	json_object *list = json_list();
	struct rows rows;

	rows_make(&rows, report->resolver, report->samples, by, (uint8_t)event_id, report->order);
	for (size_t i = 0; i < rows.nr && (!report->limit || i < report->limit); i++) {
		const struct row *row = &rows.list[i];
		json_object *item = json_new();

		for (size_t k = 0; k < by->nr; k++)
			json_add(item, key_names[by->keys[k]], string(row->labels[k]));
		json_add(item, "samples", row->samples);
		json_share(item, row);
		if (kind == LWP_KIND_DME)
			add_misses(item, row);
		if (kind == LWP_KIND_BRE)
			add_branches(item, row);
		if (row->file) {
			json_add(item, "source_file", string(row->file));
			json_add(item, "source_line", (uint64_t)row->line);
		}
		json_append(list, item);
	}
	rows_free(&rows);
	return list;
}

static void add_tables(const struct report *report, json_object *event, uint32_t event_id)
{
	const struct report_table *t = report_tables;
	const struct report_table *end = t + REPORT_TABLES - !report_has_data(report, event_id);

	if (report->source) {
		json_add(event, "lines", source_json(report, event_id));
		return;
	}
	if (report->by.nr) {
		json_add(event, "rows", rows_json(report, &report->by, event_id));
		return;
	}
	for (; t < end; t++)
		json_add(event, t->name, rows_json(report, &t->by, event_id));
}

static json_object *event_json(const struct report *report, uint32_t event_id)
{
	const struct profile *p = report->profile;
	json_object *event = json_new();
	uint64_t windows = report_nr_windows(p, report->samples, event_id);
	char *advice = report_advice(report, event_id);

	json_add(event, "event", string(profile_event_name(p, event_id)));
	json_add(event, "event_id", event_id);
	json_add(event, "samples", report->samples->per_event[event_id]);
	if (windows)
		json_add(event, "windows", windows);
	if (advice)
		json_add(event, "advice", string(advice));
	free(advice);
	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		struct estimate estimate;

		if (p->config.events[e].event_id != event_id)
			continue;
		json_add(event, "interval", p->config.events[e].interval);
		json_add(event, "kept_of", 1ull << p->kept[e]);
		if (report->filtered)
			continue;
		estimate = report_estimate(p, e);
		json_add(event, "counted", (uint64_t)llround(estimate.events));
		json_add(event, "counted_exactly", estimate.exact);
	}
	add_tables(report, event, event_id);
	return event;
}

static json_object *counters_json(const struct profile *p, const struct profile_thread *t)
{
	json_object *list = json_list();

	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		json_object *item = json_new();

		json_add(item, "event",
			 string(profile_event_name(p, p->config.events[e].event_id)));
		json_add(item, "records", t->per_event[e]);
		json_add(item, "initial", t->initial[e]);
		if (t->flags & LWPDATA_THREAD_FLUSHED)
			json_add(item, "final", t->final[e]);
		json_append(list, item);
	}
	return list;
}

static json_object *threads_json(const struct profile *p)
{
	json_object *list = json_list();

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *t = &p->threads[i];
		json_object *item = json_new();

		json_add(item, "tid", t->tid);
		json_add(item, "pid", p->processes[t->process].pid);
		json_add(item, "program", t->process);
		json_add(item, "name", string(t->comm));
		json_add(item, "records", t->records);
		json_add(item, "missed", t->missed);
		json_add(item, "lost", (bool)(t->flags & LWPDATA_THREAD_LOST));
		json_add(item, "counters", counters_json(p, t));
		json_append(list, item);
	}
	return list;
}

static json_object *programs_json(const struct profile *p)
{
	static const char *const ends[] = {
		[LWPDATA_END_EXIT] = "exit",
		[LWPDATA_END_EXEC] = "exec",
		[LWPDATA_END_RUNNING] = "running",
		[LWPDATA_END_UNFOLLOWED] = "exec, not followed",
	};
	json_object *list = json_list();

	for (size_t i = 0; i < p->nr_processes; i++) {
		const struct profile_process *process = &p->processes[i];
		json_object *item = json_new();

		json_add(item, "pid", process->pid);
		json_add(item, "name", string(process->comm));
		json_add(item, "exe", string(process->exe));
		if (process->parent != LWPDATA_NONE)
			json_add(item, "parent", process->parent);
		if (process->ended)
			json_add(item, "end", string(ends[process->how]));
		json_append(list, item);
	}
	return list;
}

static json_object *losses_json(const struct profile *p)
{
	const struct lwpdata_stats *s = &p->stats;
	json_object *losses = json_new();

	json_add(losses, "missed_events", profile_missed(p));
	json_add(losses, "missed_share", report_missed_share(p));
	json_add(losses, "rings_filled", s->rings_filled);
	json_add(losses, "rings_damaged", s->rings_damaged);
	json_add(losses, "contexts_evicted", s->contexts_lost);
	json_add(losses, "threads_no_slot", s->threads_no_slot);
	json_add(losses, "threads_no_memory", s->threads_no_memory);
	json_add(losses, "processes_refused", s->processes_refused);
	json_add(losses, "execs_unfollowed", s->execs_unfollowed);
	return losses;
}

static json_object *problems_json(const struct report *report)
{
	json_object *list = json_list();

	for (uint32_t id = 0; id < report->profile->nr_objects; id++) {
		const char *problem = resolver_problem(report->resolver, id);
		json_object *item;

		if (!problem)
			continue;
		item = json_new();
		json_add(item, "object", string(report->profile->objects[id].name));
		json_add(item, "problem", string(problem));
		json_append(list, item);
	}
	return list;
}

void report_json(const struct report *report)
{
	const struct profile *p = report->profile;
	json_object *root = json_new(), *command = json_list(), *events = json_list();
	uint32_t event_id;

	for (uint32_t i = 0; i < p->config.nr_args; i++)
		json_append(command, bytes(lwpdata_arg(&p->config, i)));
	for (uint32_t i = 0; (event_id = report_event(report, i)); i++)
		json_append(events, event_json(report, event_id));
	json_add(root, "file", string(p->path));
	json_add(root, "command", command);
	json_add(root, "kernel", bytes(p->config.kernel));
	json_add(root, "revision", string(lwp_rev_get(p->config.revision)->name));
	json_add(root, "start_ns", p->config.start_realtime);
	json_add(root, "ring_size", p->config.ring_size);
	json_add(root, "random_bits", p->config.random);
	json_add(root, "events", events);
	json_add(root, "programs", programs_json(p));
	json_add(root, "threads", threads_json(p));
	json_add(root, "losses", losses_json(p));
	json_add(root, "without_symbols", problems_json(report));
	put_json(root);
}
