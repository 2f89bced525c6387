// SPDX-License-Identifier: GPL-2.0-or-later
/* Which samples of a profile are wanted. */
#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "resolve.h"

#define NS 1e9
#define SECONDS_MAX 1e9

bool filter_any(const struct filter *f)
{
	return f->process || f->thread || f->object || f->symbol || f->from || f->until;
}

static bool is_number(const char *pattern, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, number);
	return !strcmp(pattern, text);
}

static bool is_name(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) || !fnmatch(pattern, name, 0);
}

bool filter_time(const struct filter *f, const struct profile *p, uint64_t time)
{
	uint64_t start = p->config.start_monotonic, since = time > start ? time - start : 0;

	return since >= f->from && (!f->until || since < f->until);
}

bool filter_thread(const struct filter *f, const struct profile *p, uint32_t id)
{
	const struct profile_thread *thread = &p->threads[id];
	const struct profile_process *process = &p->processes[thread->process];

	if (f->process && !is_number(f->process, process->pid) &&
	    !is_name(f->process, process->comm))
		return false;
	return !f->thread || is_number(f->thread, thread->tid) || is_name(f->thread, thread->comm);
}

bool filter_batch(const struct filter *f, const struct profile *p,
		  const struct profile_batch *batch)
{
	return filter_thread(f, p, batch->thread) && filter_time(f, p, batch->time);
}

bool filter_place(const struct filter *f, const char *object, const char *symbol)
{
	if (f->object && !is_name(f->object, object) && !is_name(f->object, last_part(object)))
		return false;
	return !f->symbol || is_name(f->symbol, symbol);
}

bool filter_seconds(const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0) || seconds > SECONDS_MAX)
		return false;
	*ns = (uint64_t)llround(seconds * NS);
	return true;
}
