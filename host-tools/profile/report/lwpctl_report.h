/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lwpctl report prints, in each of its formats (formats.h). */
#ifndef LWPCTL_REPORT_H
#define LWPCTL_REPORT_H

#include <stdbool.h>

#include "resolve.h"
#include "rows.h"
#include "view.h"

struct report {
	const struct profile *profile;
	struct resolver *resolver;
	const struct samples *samples;
	bool filtered; /* something was left out: the whole profile's totals do not hold */
	bool wide; /* names in full, however long */
	bool source; /* lines of source with their text in place of the tables */
	struct grouping by; /* nr 0: by symbol, by object and by thread */
	enum order order;
	const char *name; /* of the data, in the head of a report for people; "": none */
	uint64_t limit; /* rows of a table, 0 = all */
	uint32_t kind; /* only this event, as profile_kind() says; 0 = all */
};

/* How many events the records of one kind stand for. */
struct estimate {
	double events;
	bool exact; /* no random intervals, nothing missed or not kept, all counters known */
};

/* Events between two records, on average. `e` is the event's index in CONFIG, here and below. */
double report_period(const struct profile *profile, uint32_t e);

/* How many events a sample of this EventId stands for: a whole number, at least 1. */
uint64_t report_stands_for(const struct profile *profile, uint32_t event_id);

struct estimate report_estimate(const struct profile *profile, uint32_t e);

/* One line that says what gives names to samples without, if there are many; NULL if nothing is to be said. Free it. */
char *report_hint(const struct report *report);

/*
 * In how many windows the samples of an event are that a filter wants; 0 if they are in none, or all that happened is
 * in them.
 */
uint64_t report_nr_windows(const struct profile *profile, const struct samples *samples,
			   uint32_t event_id);

/* One line that says why there are no samples, or few, and what to do; NULL if there is nothing to say. Free it. */
char *report_advice(const struct report *report, uint32_t event_id);

/* A row's share, its interval if wanted, and how many samples or windows it is of. */
void report_share(const struct row *row, bool windows, bool interval);

/* The share of all events that was missed, 0..1. From REPORT_BIASED on, shares are not to be trusted. */
double report_missed_share(const struct profile *profile);
#define REPORT_BIASED 0.01

/* The report's event `i`: EventIds in CONFIG's order, then others that records have. 0 = no more. */
uint32_t report_event(const struct report *report, uint32_t i);

/* Do records of this event have data addresses, and is it known what was mapped there? */
bool report_has_data(const struct report *report, uint32_t event_id);

/* The tables of an event for which none was asked for. The last is for events with data. */
#define REPORT_TABLES 4
extern const struct report_table {
	const char *name;
	struct grouping by;
} report_tables[REPORT_TABLES];

/* report_text(), report_json(): print the report. */
#define REPORT_FORMAT(name, text) void report_##name(const struct report *report);
#include "formats.h"

#endif
