// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of samples as a tree. */
#include <stdlib.h>

#include "calls.h"
#include "lwp_rev.h"
#include "lwpctl_report.h"
#include "memory.h"
#include "stacks.h"

/* Names are the same pointers if they are the same. */
static size_t add(struct stacks *s, const struct stack *stack)
{
	/* Number 0 is the list's first, which is none. */
	size_t number = 1 + keys_number_of(&s->keys, (uintptr_t)stack->name,
					   (uintptr_t)stack->object, stack->parent);

	if (number == s->nr)
		*APPEND(s->list, s->nr, s->room) = *stack;
	return number;
}

static size_t add_process(struct stacks *s, uint32_t thread)
{
	const struct profile *p = &s->view->profile;

	return add(s, &(struct stack){ .name = p->processes[p->threads[thread].process].comm,
				       .object = "" });
}

/* A function, and what is inlined at the place. */
static size_t add_place(struct stacks *s, const struct place *place, size_t caller)
{
	unsigned int left = place->inlined ? place->inlined->nr : 0;
	const char *name = place->symbol;

	for (;;) {
		caller = add(s, &(struct stack){ .name = name,
						 .object = place->object,
						 .file = left ? NULL : place->file,
						 .line = place->line,
						 .parent = caller });
		if (!left--)
			return caller;
		name = place->inlined->names[left];
	}
}

static size_t add_located(struct stacks *s, const struct located *l)
{
	size_t at = add_place(s, &l->place, add_process(s, l->count->thread));

	s->list[at].samples += l->count->samples;
	return at;
}

static bool of_windows(const struct profile *p, uint32_t event_id)
{
	return p->nr_windows && event_id == lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];
}

static bool of_recorded(const struct profile *p, uint32_t event_id)
{
	return p->nr_stacks && p->config.nr_events && event_id == p->config.events[0].event_id;
}

bool stacks_tell_callers(const struct profile *p, uint32_t event_id)
{
	return of_windows(p, event_id) || of_recorded(p, event_id);
}

/* ---- Windows -------------------------------------------------------------------------------- */

/* `stack` is the chain until all of them are known. */
static void take(void *to, const struct call_step *step)
{
	struct stacks *s = to;

	*APPEND(s->steps, s->nr_steps, s->step_room) =
		(struct stack_step){ step->time, step->thread, step->chain,
				     (uint64_t)(step->instructions + 0.5) };
}

/* The stack of a chain in a process, of which `process` is the stack. */
static size_t add_chain(struct stacks *s, const struct calls *c, size_t chain, size_t process)
{
	const struct chain *callers[CHAIN_MAX + 1];
	size_t nr = 0, at = chain, stack;

	for (; at; at = c->chains[at].caller)
		callers[nr++] = &c->chains[at];
	stack = process;
	while (nr-- > 0) {
		size_t function = callers[nr]->function;
		const struct place *place =
			function == NO_FUNCTION ? NULL : &c->blocks.functions[function].place;

		stack = add(s, &(struct stack){ .name = callers[nr]->name,
						.object = place ? place->object : "",
						.parent = stack });
	}
	return stack;
}

static bool wanted(const struct stacks *s, const struct calls *c, size_t chain)
{
	size_t function = c->chains[chain].function;
	const struct place *place;

	if (function == NO_FUNCTION)
		return !filter_any(&s->options->filter);
	place = &c->blocks.functions[function].place;
	return filter_place(&s->options->filter, place->object, place->symbol);
}

static void add_windows(struct stacks *s)
{
	size_t *known = NULL, nr_known = 0, room = 0, kept = 0;
	struct keys keys = { 0 };
	struct calls calls;

	calls_make(&calls, &s->view->resolver, &s->options->filter, take, s);
	for (size_t i = 0; i < s->nr_steps; i++) {
		struct stack_step *step = &s->steps[i];
		size_t process, number;

		if (!wanted(s, &calls, step->stack))
			continue;
		process = add_process(s, step->thread);
		number = keys_number_of(&keys, process, step->stack);
		if (number == nr_known)
			*APPEND(known, nr_known, room) = add_chain(s, &calls, step->stack, process);
		step->stack = known[number];
		s->list[step->stack].samples += step->count;
		s->steps[kept++] = *step;
	}
	s->nr_steps = kept;
	s->period = 1;
	s->unit = "instructions";
	free(known);
	keys_free(&keys);
	calls_free(&calls);
}

/* ---- Recorded stacks ------------------------------------------------------------------------ */

static void add_stack(struct stacks *s, const struct profile_stack *stack, uint64_t events)
{
	const struct filter *filter = &s->options->filter;
	const struct profile *p = &s->view->profile;
	const struct profile_batch batch = { .thread = stack->thread, .time = stack->time };
	uint32_t process = p->threads[stack->thread].process;
	struct place place;
	size_t at;

	if (!filter_batch(filter, p, &batch))
		return;
	at = add_process(s, stack->thread);
	for (uint32_t i = stack->nr; i-- > 0;) {
		uint64_t address = lwp_get64(stack->addresses + sizeof(address) * i);

		resolve(&s->view->resolver, process,
			profile_find_map(p, process, stack->section, address), address, &place);
		at = add_place(s, &place, at);
	}
	if (!filter_place(filter, place.object, place.symbol))
		return;
	s->list[at].samples += events;
	*APPEND(s->steps, s->nr_steps, s->step_room) =
		(struct stack_step){ stack->time, stack->thread, at, events };
}

static void add_recorded(struct stacks *s)
{
	const struct profile *p = &s->view->profile;

	for (size_t i = 0; i < p->nr_stacks; i++)
		add_stack(s, &p->stacks[i], p->stacks[i].weight * s->period);
	s->period = 1;
}

/* ---- All ------------------------------------------------------------------------------------ */

void stacks_make(struct stacks *s, struct view *view, const struct view_options *options,
		 uint32_t event_id)
{
	const struct samples *samples = &view->samples;
	const struct profile *p = &view->profile;

	*s = (struct stacks){ .view = view,
			      .options = options,
			      .period = report_stands_for(p, event_id),
			      .unit = profile_event_name(p, event_id) };
	s->of = must(calloc(samples->nr + 1, sizeof(*s->of)));
	*APPEND(s->list, s->nr, s->room) = (struct stack){ .name = "", .object = "" };
	if (of_windows(p, event_id)) {
		add_windows(s);
		return;
	}
	if (of_recorded(p, event_id)) {
		add_recorded(s);
		return;
	}
	for (size_t i = 0; i < samples->nr; i++)
		if (samples->list[i].count->event_id == event_id)
			s->of[i] = add_located(s, &samples->list[i]);
}

size_t stacks_of(const struct stacks *s, const struct located *located)
{
	return s->of[located - s->view->samples.list];
}

void stacks_free(struct stacks *s)
{
	free(s->list);
	keys_free(&s->keys);
	free(s->of);
	free(s->steps);
}

void put_json_string(FILE *to, const char *text)
{
	fputc('"', to);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c < 0x20 || c == '<' || c == '>' || c == '&')
			fprintf(to, "\\u%04x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}
