// SPDX-License-Identifier: GPL-2.0-or-later
/* What all formats of the report say: which events there are, and how many of each. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lwp_rev.h"
#include "lwpctl_report.h"
#include "memory.h"

#define FEW 100 /* samples, or windows */
#define ENOUGH 10000

/* Events between two records that LWP stored. The low `random` bits of each reload are random. */
static double stored_period(const struct lwpdata_config *config, uint32_t e)
{
	uint32_t mask = (1u << config->random) - 1;
	double interval = config->events[e].interval;

	if (mask)
		interval = (config->events[e].interval & ~mask) + mask / 2.0;
	/* 43724 is due below zero, 2007 at zero. */
	return config->revision == LWP_REV_2007 ? interval : interval + 1;
}

double report_period(const struct profile *p, uint32_t e)
{
	return ldexp(stored_period(&p->config, e), p->kept[e]);
}

static double sign_extended(uint32_t counter)
{
	return counter > LWP_COUNTER_MAX ? (double)counter - (LWP_COUNTER_MASK + 1.0) : counter;
}

struct estimate report_estimate(const struct profile *p, uint32_t e)
{
	double period = report_period(p, e);
	struct estimate estimate = { .exact = p->config.random == 0 && !p->kept[e] };

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *thread = &p->threads[i];

		estimate.events += period * (double)thread->per_event[e];
		if (p->config.nr_events == 1)
			estimate.events += stored_period(&p->config, e) * (double)thread->missed;
		else if (thread->missed)
			estimate.exact = false;
		if (thread->flags & LWPDATA_THREAD_FLUSHED)
			estimate.events +=
				(double)thread->initial[e] - sign_extended(thread->final[e]);
		else
			estimate.exact = false;
	}
	return estimate;
}

/* Between windows everything is missed, which is what they are for. */
double report_missed_share(const struct profile *p)
{
	uint64_t missed = 0, records = 0;

	for (size_t i = 0; i < p->nr_threads; i++) {
		if (p->threads[i].windows)
			continue;
		missed += p->threads[i].missed;
		records += p->threads[i].records;
	}
	return missed ? (double)missed / ((double)missed + (double)records) : 0;
}

static bool wanted(const struct report *report, uint32_t event_id)
{
	return !report->kind || profile_kind(report->profile, event_id) == report->kind;
}

uint32_t report_event(const struct report *report, uint32_t i)
{
	const struct profile *p = report->profile;

	for (uint32_t e = 0; e < p->config.nr_events; e++)
		if (wanted(report, p->config.events[e].event_id) && i-- == 0)
			return p->config.events[e].event_id;
	for (uint32_t id = 1; id < 256; id++)
		if (report->samples->per_event[id] &&
		    profile_event_index(p, id) == p->config.nr_events && wanted(report, id) &&
		    i-- == 0)
			return id;
	return 0;
}

const struct report_table report_tables[REPORT_TABLES] = {
	{ "symbols", { .keys = { KEY_SYMBOL, KEY_OBJECT }, .nr = 2 } },
	{ "objects", { .keys = { KEY_OBJECT }, .nr = 1 } },
	{ "threads", { .keys = { KEY_THREAD }, .nr = 1 } },
	{ "data", { .keys = { KEY_SYMBOL, KEY_VARIABLE, KEY_DATA }, .nr = 3 } },
};

bool report_has_data(const struct report *report, uint32_t event_id)
{
	return report->profile->has_data && profile_kind(report->profile, event_id) == LWP_KIND_DME;
}

uint64_t report_nr_windows(const struct profile *p, const struct samples *samples,
			   uint32_t event_id)
{
	const struct profile_window *last = NULL;
	uint64_t nr = 0;

	if (samples->weight_per_event[event_id] <= (double)samples->per_event[event_id])
		return 0;
	for (size_t i = 0; i < p->nr_windows; i++) {
		const struct profile_window *window = &p->windows[i];
		const struct profile_batch batch = window_batch(window);

		if (window->data[0] != event_id || !filter_batch(samples->filter, p, &batch))
			continue;
		nr += !last || !(window->flags & LWPDATA_WINDOW_CONTINUES);
		last = window;
	}
	return nr;
}

/* The interval that makes some 10000 samples of so many events, of two digits. */
static uint32_t wanted_interval(const struct profile *p, double events)
{
	double interval = events / ENOUGH - 1,
	       least = lwp_rev_get(p->config.revision)->min_interval;
	double unit = 1;

	while (interval / unit >= 100)
		unit *= 10;
	interval -= fmod(interval, unit);
	return interval < least ? (uint32_t)least : (uint32_t)interval;
}

static char *advice(const struct profile *p, uint32_t e, uint64_t samples, uint64_t windows)
{
	double events = report_estimate(p, e).events;
	const char *name = profile_event_name(p, p->config.events[e].event_id);
	uint32_t interval = wanted_interval(p, events);
	const char *are = samples == 1 ? " is" : "s are";

	if (windows)
		return formatted("%" PRIu64 " window%s few: record with --windows=64:%.0f", windows,
				 windows == 1 ? " is" : "s are", fmax(64, events / ENOUGH));
	if (events < 1)
		return formatted("No samples: no %s were counted; the program had none, or this "
				 "processor does not count them",
				 name);
	if (interval >= p->config.events[e].interval)
		return formatted("%" PRIu64 " sample%s few, and more there are not: about %.0f %s "
				 "were counted",
				 samples, are, events, name);
	return formatted("%" PRIu64 " sample%s few: about %.0f %s were counted; record with "
			 "--event=%s:%" PRIu32,
			 samples, are, events, name, name, interval);
}

char *report_advice(const struct report *report, uint32_t event_id)
{
	const struct profile *p = report->profile;
	uint64_t samples = report->samples->per_event[event_id];
	uint64_t windows = report_nr_windows(p, report->samples, event_id);
	uint32_t e = profile_event_index(p, event_id);

	if ((windows ?: samples) >= FEW)
		return NULL;
	if (!p->nr_threads)
		return strdup("No samples: LWP was not on in any thread");
	if (report->filtered)
		return samples ? NULL : strdup("No samples: the options leave out all there are");
	return e < p->config.nr_events ? advice(p, e, samples, windows) : NULL;
}

/* Branches for each record of a window; 0 if the event has no windows. */
static uint64_t window_period(const struct profile *p, uint32_t event_id)
{
	double weight = 0, records = 0;

	for (size_t i = 0; i < p->nr_windows; i++)
		if (p->windows[i].data[0] == event_id) {
			weight += (double)p->windows[i].weight;
			records += p->windows[i].count;
		}
	return records ? (uint64_t)(weight / records + 0.5) : 0;
}

uint64_t report_stands_for(const struct profile *p, uint32_t event_id)
{
	uint64_t weight = window_period(p, event_id);
	uint32_t e = profile_event_index(p, event_id);
	double period = e < p->config.nr_events ? report_period(p, e) : 1;

	if (weight)
		return weight;
	return period < 1 ? 1 : (uint64_t)(period + 0.5);
}
