// SPDX-License-Identifier: GPL-2.0-or-later
/* The stacks of samples as a tree. */
#include <stdlib.h>

#include "calls.h"
#include "lwp_rev.h"
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

static size_t add_located(struct stacks *s, const struct located *l)
{
	const char *names[EXPORT_STACK_MAX];
	unsigned int n = export_stack(s->e, l, names, EXPORT_STACK_MAX);
	size_t at = 0;

	for (unsigned int i = 0; i < n; i++)
		at = add(s, &(struct stack){ .name = names[i],
					     .object = i ? l->place.object : "",
					     .file = i + 1 == n ? l->place.file : NULL,
					     .line = l->place.line,
					     .parent = at });
	s->list[at].samples += l->count->samples;
	return at;
}

bool stacks_of_windows(const struct export *e)
{
	const struct profile *p = &e->view->profile;

	return p->nr_windows &&
	       e->event_id == lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE];
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
		return !filter_any(&s->e->options->filter);
	place = &c->blocks.functions[function].place;
	return filter_place(&s->e->options->filter, place->object, place->symbol);
}

static void add_windows(struct stacks *s)
{
	const struct profile *p = &s->e->view->profile;
	size_t *known = NULL, nr_known = 0, room = 0, kept = 0;
	struct keys keys = { 0 };
	struct calls calls;

	calls_make(&calls, &s->e->view->resolver, &s->e->options->filter, take, s);
	for (size_t i = 0; i < s->nr_steps; i++) {
		struct stack_step *step = &s->steps[i];
		uint32_t id = p->threads[step->thread].process;
		size_t process, number;

		if (!wanted(s, &calls, step->stack))
			continue;
		process = add(s, &(struct stack){ .name = p->processes[id].comm, .object = "" });
		number = keys_number_of(&keys, process, step->stack);
		if (number == nr_known)
			*APPEND(known, nr_known, room) = add_chain(s, &calls, step->stack, process);
		step->stack = known[number];
		s->list[step->stack].samples += step->instructions;
		s->steps[kept++] = *step;
	}
	s->nr_steps = kept;
	s->period = 1;
	s->unit = "instructions";
	free(known);
	keys_free(&keys);
	calls_free(&calls);
}

/* ---- Both ----------------------------------------------------------------------------------- */

void stacks_make(struct stacks *s, const struct export *e)
{
	const struct samples *samples = &e->view->samples;
	const struct profile *p = &e->view->profile;

	*s = (struct stacks){ .e = e,
			      .period = export_period(p, e->event_id),
			      .unit = profile_event_name(p, e->event_id) };
	s->of = must(calloc(samples->nr + 1, sizeof(*s->of)));
	*APPEND(s->list, s->nr, s->room) = (struct stack){ .name = "", .object = "" };
	if (stacks_of_windows(e)) {
		add_windows(s);
		return;
	}
	for (size_t i = 0; i < samples->nr; i++)
		if (samples->list[i].count->event_id == e->event_id)
			s->of[i] = add_located(s, &samples->list[i]);
}

size_t stacks_of(const struct stacks *s, const struct located *located)
{
	return s->of[located - s->e->view->samples.list];
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
