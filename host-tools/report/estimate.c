// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What all formats of the report say: which events there are, and how many of each.
 */
#include <stdlib.h>
#include <string.h>

#include "lwp_rev.h"
#include "lwpctl_report.h"
#include "memory.h"

/* The low `random` bits of each reload are random. */
double report_period(const struct lwpdata_config *config, uint32_t e)
{
	uint32_t mask = (1u << config->random) - 1;
	double interval = config->events[e].interval;

	if (mask)
		interval = (config->events[e].interval & ~mask) + mask / 2.0;
	/* 43724 is due below zero, 2007 at zero. */
	return config->revision == LWP_REV_2007 ? interval : interval + 1;
}

static double sign_extended(uint32_t counter)
{
	return counter > LWP_COUNTER_MAX ? (double)counter - (LWP_COUNTER_MASK + 1.0) : counter;
}

struct estimate report_estimate(const struct profile *p, uint32_t e)
{
	double period = report_period(&p->config, e);
	struct estimate estimate = { .exact = p->config.random == 0 };

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *thread = &p->threads[i];

		estimate.events += period * (double)thread->per_event[e];
		if (p->config.nr_events == 1)
			estimate.events += period * (double)thread->missed;
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

static bool configured(const struct profile *p, uint32_t event_id)
{
	for (uint32_t e = 0; e < p->config.nr_events; e++)
		if (p->config.events[e].event_id == event_id)
			return true;
	return false;
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
		if (report->samples->per_event[id] && !configured(p, id) && wanted(report, id) &&
		    i-- == 0)
			return id;
	return 0;
}

bool report_has_data(const struct report *report, uint32_t event_id)
{
	return report->profile->has_data && profile_kind(report->profile, event_id) == LWP_KIND_DME;
}

struct unnamed report_unnamed(const struct report *report)
{
	const struct profile *p = report->profile;
	uint64_t *of = must(calloc(p->nr_objects + 1, sizeof(*of)));
	struct unnamed unnamed = { 0 };
	uint64_t most = 0;

	for (size_t i = 0; i < report->samples->nr; i++) {
		const struct place *place = &report->samples->list[i].place;
		uint64_t samples = report->samples->list[i].count->samples;
		uint32_t id = place->object_id < p->nr_objects ? place->object_id : p->nr_objects;

		unnamed.total += samples;
		if (place->named)
			continue;
		unnamed.samples += samples;
		of[id] += samples;
		if (of[id] > most) {
			most = of[id];
			unnamed.object = id < p->nr_objects ? place->object : NULL;
		}
	}
	free(of);
	return unnamed;
}
