// SPDX-License-Identifier: GPL-2.0-or-later
/* What gives the functions of a profile names, where many samples have none. */
#include <inttypes.h>
#include <string.h>

#include "lwpctl_report.h"
#include "memory.h"

#define HINT_PERCENT 30 /* of the samples, from which on a hint is of use */

/* Programs that name the functions of their programs if they are asked to: docs/languages.md. */
static const struct language {
	const char *program, *option;
	bool interprets; /* all samples are the interpreter's, which has names of its own */
} languages[] = {
	{ "java", "java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit", false },
	{ "node", "node --perf-basic-prof", false },
	{ "python3", "python3 -X perf (3.12 or newer), lwprun --windows and lwpctl report --calls",
	  true },
	{ "", "an option of the program that writes /tmp/perf-PID.map", false },
};
#define LANGUAGES (sizeof(languages) / sizeof(languages[0]))

struct counts {
	uint64_t total;
	uint64_t unnamed; /* in files */
	uint64_t of_language[LANGUAGES]; /* to which its option would give names */
	uint64_t *of_object, most;
	const char *object; /* that has most of `unnamed`, a path; NULL: none */
};

static size_t language_of(const struct profile_process *process)
{
	const char *program = last_part(process->exe);
	size_t i = 0;

	while (strncmp(program, languages[i].program, strlen(languages[i].program)) != 0)
		i++; /* the last is any */
	return i;
}

static void count(const struct profile *p, const struct located *l, struct counts *c)
{
	const struct profile_process *process = &p->processes[p->threads[l->count->thread].process];
	bool made = !l->place.named && !strcmp(l->place.object, "[anon]"); /* in no file */
	size_t language = language_of(process);
	uint64_t samples = l->count->samples;

	c->total += samples;
	if (!process->perf_map.size && (made || languages[language].interprets))
		c->of_language[language] += samples;
	if (l->place.named || l->place.object_id >= p->nr_objects)
		return;
	c->unnamed += samples;
	c->of_object[l->place.object_id] += samples;
	if (c->of_object[l->place.object_id] > c->most) {
		c->most = c->of_object[l->place.object_id];
		c->object = l->place.object;
	}
}

static bool many(const struct counts *c, uint64_t samples)
{
	return samples && samples * 100 >= c->total * HINT_PERCENT;
}

char *report_hint(const struct report *report)
{
	const struct profile *p = report->profile;
	struct counts c = { .of_object = must(calloc(p->nr_objects + 1, sizeof(*c.of_object))) };
	double percent;

	for (size_t i = 0; i < report->samples->nr; i++)
		count(p, &report->samples->list[i], &c);
	free(c.of_object);
	percent = 100.0 / (double)(c.total ?: 1);
	for (size_t i = 0; i < LANGUAGES; i++)
		if (many(&c, c.of_language[i]))
			return formatted("%.0f%% of the samples are in functions that have names "
					 "with %s.",
					 percent * (double)c.of_language[i], languages[i].option);
	if (many(&c, c.unnamed))
		return formatted("%.0f%% of the samples have no symbol, most of them in %s: its "
				 "debug symbols help (in Debian a package whose name ends in "
				 "-dbgsym, or debuginfod).",
				 percent * (double)c.unnamed, c.object);
	return NULL;
}
