// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl report for programs. */
#include <json-c/json.h>
#include <stdlib.h>

#include "lwp_names.h"
#include "lwp_rev.h"
#include "memory.h"
#include "output.h"
#include "lwpctl_report.h"
#include "printable.h"
#include "report_source.h"

static struct json_object *number(uint64_t value)
{
	return must(json_object_new_uint64(value));
}

/* JSON is UTF-8, names of files and programs are any bytes. */
static struct json_object *string(const char *text)
{
	char *shown = printable_string(text);
	struct json_object *json = must(json_object_new_string(shown));

	free(shown);
	return json;
}

static struct json_object *bytes(struct lwpdata_bytes text)
{
	char *shown = printable(text.data, text.size);
	struct json_object *json = must(json_object_new_string(shown));

	free(shown);
	return json;
}

static struct json_object *object(void)
{
	return must(json_object_new_object());
}

static struct json_object *array(void)
{
	return must(json_object_new_array());
}

/* The mean latency, and how often the data came from where. */
static void add_misses(struct json_object *item, const struct row *row)
{
	struct json_object *from = object();

	for (enum lwp_data_source s = 0; s < LWP_SOURCES; s++)
		if (row->detail.from[s] && lwp_source_name(s))
			json_object_object_add(from, lwp_source_name(s),
					       number(row->detail.from[s]));
	json_object_object_add(
		item, "latency",
		json_object_new_double((double)row->detail.latency / (double)row->samples));
	json_object_object_add(item, "from", from);
}

static void add_branches(struct json_object *item, const struct row *row)
{
	json_object_object_add(item, "taken", number(row->detail.taken));
	json_object_object_add(item, "predictions_known", number(row->detail.predicted));
	json_object_object_add(item, "mispredicted",
			       number(row->detail.predicted - row->detail.right));
}

void json_share(struct json_object *item, const struct row *row)
{
	if (row->windows)
		json_object_object_add(item, "windows", number(row->windows));
	json_object_object_add(item, "share", json_object_new_double(row->share));
	json_object_object_add(item, "share_low", json_object_new_double(row->interval.low));
	json_object_object_add(item, "share_high", json_object_new_double(row->interval.high));
}

static struct json_object *rows_json(const struct report *report, const struct grouping *by,
				     uint32_t event_id)
{
	uint32_t kind = profile_kind(report->profile, event_id);
	struct json_object *list = array();
	struct rows rows;

	rows_make(&rows, report->resolver, report->samples, by, (uint8_t)event_id, report->order);
	for (size_t i = 0; i < rows.nr && (!report->limit || i < report->limit); i++) {
		const struct row *row = &rows.list[i];
		struct json_object *item = object();

		for (size_t k = 0; k < by->nr; k++)
			json_object_object_add(item, key_names[by->keys[k]],
					       string(row->labels[k]));
		json_object_object_add(item, "samples", number(row->samples));
		json_share(item, row);
		if (kind == LWP_KIND_DME)
			add_misses(item, row);
		if (kind == LWP_KIND_BRE)
			add_branches(item, row);
		if (row->file) {
			json_object_object_add(item, "source_file", string(row->file));
			json_object_object_add(item, "source_line", number((uint64_t)row->line));
		}
		json_object_array_add(list, item);
	}
	rows_free(&rows);
	return list;
}

static void add_tables(const struct report *report, struct json_object *event, uint32_t event_id)
{
	static const struct {
		const char *name;
		struct grouping by;
	} usual[] = {
		{ "symbols", { .keys = { KEY_SYMBOL, KEY_OBJECT }, .nr = 2 } },
		{ "objects", { .keys = { KEY_OBJECT }, .nr = 1 } },
		{ "threads", { .keys = { KEY_THREAD }, .nr = 1 } },
		{ "data", { .keys = { KEY_SYMBOL, KEY_VARIABLE, KEY_DATA }, .nr = 3 } },
	};
	size_t nr = sizeof(usual) / sizeof(usual[0]) - !report_has_data(report, event_id);

	if (report->source) {
		json_object_object_add(event, "lines", source_json(report, event_id));
		return;
	}
	if (report->by.nr) {
		json_object_object_add(event, "rows", rows_json(report, &report->by, event_id));
		return;
	}
	for (size_t i = 0; i < nr; i++)
		json_object_object_add(event, usual[i].name,
				       rows_json(report, &usual[i].by, event_id));
}

static struct json_object *event_json(const struct report *report, uint32_t event_id)
{
	const struct profile *p = report->profile;
	struct json_object *event = object();
	uint64_t windows = report_nr_windows(p, report->samples, event_id);
	char *advice = report_advice(report, event_id);

	json_object_object_add(event, "event", string(profile_event_name(p, event_id)));
	json_object_object_add(event, "event_id", number(event_id));
	json_object_object_add(event, "samples", number(report->samples->per_event[event_id]));
	if (windows)
		json_object_object_add(event, "windows", number(windows));
	if (advice)
		json_object_object_add(event, "advice", string(advice));
	free(advice);
	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		struct estimate estimate;

		if (p->config.events[e].event_id != event_id)
			continue;
		json_object_object_add(event, "interval", number(p->config.events[e].interval));
		json_object_object_add(event, "kept_of", number(1ull << p->kept[e]));
		if (report->filtered)
			continue;
		estimate = report_estimate(p, e);
		json_object_object_add(event, "counted", json_object_new_double(estimate.events));
		json_object_object_add(event, "counted_exactly",
				       json_object_new_boolean(estimate.exact));
	}
	add_tables(report, event, event_id);
	return event;
}

static struct json_object *counters_json(const struct profile *p, const struct profile_thread *t)
{
	struct json_object *list = array();

	for (uint32_t e = 0; e < p->config.nr_events; e++) {
		struct json_object *item = object();

		json_object_object_add(item, "event",
				       string(profile_event_name(p, p->config.events[e].event_id)));
		json_object_object_add(item, "records", number(t->per_event[e]));
		json_object_object_add(item, "initial", number(t->initial[e]));
		if (t->flags & LWPDATA_THREAD_FLUSHED)
			json_object_object_add(item, "final", number(t->final[e]));
		json_object_array_add(list, item);
	}
	return list;
}

static struct json_object *threads_json(const struct profile *p)
{
	struct json_object *list = array();

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *t = &p->threads[i];
		struct json_object *item = object();

		json_object_object_add(item, "tid", number(t->tid));
		json_object_object_add(item, "pid", number(p->processes[t->process].pid));
		json_object_object_add(item, "program", number(t->process));
		json_object_object_add(item, "name", string(t->comm));
		json_object_object_add(item, "records", number(t->records));
		json_object_object_add(item, "missed", number(t->missed));
		json_object_object_add(item, "lost",
				       json_object_new_boolean(t->flags & LWPDATA_THREAD_LOST));
		json_object_object_add(item, "counters", counters_json(p, t));
		json_object_array_add(list, item);
	}
	return list;
}

static struct json_object *programs_json(const struct profile *p)
{
	static const char *const ends[] = {
		[LWPDATA_END_EXIT] = "exit",
		[LWPDATA_END_EXEC] = "exec",
		[LWPDATA_END_RUNNING] = "running",
		[LWPDATA_END_UNFOLLOWED] = "exec, not followed",
	};
	struct json_object *list = array();

	for (size_t i = 0; i < p->nr_processes; i++) {
		const struct profile_process *process = &p->processes[i];
		struct json_object *item = object();

		json_object_object_add(item, "pid", number(process->pid));
		json_object_object_add(item, "name", string(process->comm));
		json_object_object_add(item, "exe", string(process->exe));
		if (process->parent != LWPDATA_NONE)
			json_object_object_add(item, "parent", number(process->parent));
		if (process->ended)
			json_object_object_add(item, "end", string(ends[process->how]));
		json_object_array_add(list, item);
	}
	return list;
}

static struct json_object *losses_json(const struct profile *p)
{
	const struct lwpdata_stats *s = &p->stats;
	struct json_object *losses = object();

	json_object_object_add(losses, "missed_events", number(profile_missed(p)));
	json_object_object_add(losses, "missed_share",
			       json_object_new_double(report_missed_share(p)));
	json_object_object_add(losses, "rings_filled", number(s->rings_filled));
	json_object_object_add(losses, "rings_damaged", number(s->rings_damaged));
	json_object_object_add(losses, "contexts_evicted", number(s->contexts_lost));
	json_object_object_add(losses, "threads_no_slot", number(s->threads_no_slot));
	json_object_object_add(losses, "threads_no_memory", number(s->threads_no_memory));
	json_object_object_add(losses, "processes_refused", number(s->processes_refused));
	json_object_object_add(losses, "execs_unfollowed", number(s->execs_unfollowed));
	return losses;
}

static struct json_object *problems_json(const struct report *report)
{
	struct json_object *list = array();

	for (uint32_t id = 0; id < report->profile->nr_objects; id++) {
		const char *problem = resolver_problem(report->resolver, id);
		struct json_object *item;

		if (!problem)
			continue;
		item = object();
		json_object_object_add(item, "object", string(report->profile->objects[id].name));
		json_object_object_add(item, "problem", string(problem));
		json_object_array_add(list, item);
	}
	return list;
}

void report_json(const struct report *report)
{
	const struct profile *p = report->profile;
	struct json_object *root = object(), *command = array(), *events = array();
	uint32_t event_id;

	for (uint32_t i = 0; i < p->config.nr_args; i++)
		json_object_array_add(command, bytes(lwpdata_arg(&p->config, i)));
	for (uint32_t i = 0; (event_id = report_event(report, i)); i++)
		json_object_array_add(events, event_json(report, event_id));
	json_object_object_add(root, "file", string(p->path));
	json_object_object_add(root, "command", command);
	json_object_object_add(root, "kernel", bytes(p->config.kernel));
	json_object_object_add(root, "revision", string(lwp_rev_get(p->config.revision)->name));
	json_object_object_add(root, "start_ns", number(p->config.start_realtime));
	json_object_object_add(root, "ring_size", number(p->config.ring_size));
	json_object_object_add(root, "random_bits", number(p->config.random));
	json_object_object_add(root, "events", events);
	json_object_object_add(root, "programs", programs_json(p));
	json_object_object_add(root, "threads", threads_json(p));
	json_object_object_add(root, "losses", losses_json(p));
	json_object_object_add(root, "without_symbols", problems_json(report));
	put_json(root);
}
