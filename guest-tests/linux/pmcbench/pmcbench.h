/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pmcbench: the types and functions that its parts share. */
#ifndef PMCBENCH_H
#define PMCBENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_EVENTS 6

/* Exit codes, as everywhere in vlwp. */
enum { STATUS_FAILED = 1, STATUS_USAGE = 2, STATUS_SKIPPED = 77 };

struct event {
	const char *name;
	unsigned int select; /* of PERF_CTL: UnitMask 15:8, EventSelect 7:0 */
};

/* Code to be measured. It may change all registers that a C function may change, and must come out at its end. */
struct snippet {
	const char *name;
	const char *text; /* in words */
	const uint8_t *begin, *end;
};

struct options {
	struct event events[MAX_EVENTS];
	unsigned int nr_events;
	struct snippet snippet;
	unsigned int runs;
	unsigned int cpu;
	bool flush; /* the code from the caches before each run */
	bool lwp; /* count LWP's records instead of reading counters */
};

/* One value for each run of a snippet, by event. */
struct samples {
	uint32_t *value[MAX_EVENTS];
	unsigned int dropped; /* runs in which the thread was moved or scheduled away */
};

/* One clear line on standard error, and the end. */
#define quit(status, format, ...) \
	(fprintf(stderr, "pmcbench: " format "\n", ##__VA_ARGS__), exit(status))

/* pmcbench_options.c: parses the command line, or ends the program. */
void options_parse(struct options *options, int argc, char **argv);

/* It has a name, which are those that QEMU's TCG has a model of: all others stay 0 there. */
bool event_is_known(unsigned int select);

/* snippets.c: the snippet of this name, or NULL. Index beyond the last: NULL. */
const struct snippet *snippet_find(const char *name);
const struct snippet *snippet_at(size_t index);
extern const struct snippet snippet_empty;

/* routine.c: text of a routine in memory of its own. */
struct routine {
	uint8_t *memory;
	size_t used;
};

void routine_begin(struct routine *r);
void routine_add(struct routine *r, const void *bytes, size_t size);
/* LFENCE, the snippet, LFENCE; what rdi held is there again after it. */
void routine_add_fenced(struct routine *r, const struct snippet *snippet);
typedef void (*routine_fn)(void *argument);
/* CLFLUSH of all its code. */
void routine_flush(routine_fn fn);
/* Makes it executable; void (*)(void *argument), argument in rdi. */
routine_fn routine_end(struct routine *r);

/* counters.c and records.c: run a snippet options->runs times. *samples has room for them. */
void counters_open(const struct options *options);
void counters_measure(const struct options *options, const struct snippet *snippet,
		      struct samples *samples);
void records_open(const struct options *options);
void records_measure(const struct options *options, const struct snippet *snippet,
		     struct samples *samples);

/*
 * result_table.c: prints min, mode and max of both, by how much each is above the floor's, and the distributions. Sorts the
 * samples.
 */
void table_print(const struct options *options, struct samples *floor, struct samples *snippet);

#endif
