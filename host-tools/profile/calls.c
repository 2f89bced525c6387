// SPDX-License-Identifier: GPL-2.0-or-later
/* Who called whom, from windows of branches. */
#include <math.h>
#include <string.h>

#include "calls.h"
#include "lwp_record.h"
#include "lwp_rev.h"
#include "memory.h"
#include "tally.h"

#define NO_CALL SIZE_MAX
#define JUMPS_MAX 16 /* functions that one another jump to, of which the calls are told apart */

/* The branch that leads to what comes next. */
struct made {
	enum branch_kind kind; /* BRANCH_UNKNOWN: what it does to the stack is done */
	size_t function; /* in which it is */
	uint64_t site; /* its address in the file */
	uint64_t from; /* the same in the process */
	size_t from_map; /* and its mapping */
	uint64_t back; /* of a call: where it returns to */
	uint64_t begin; /* where it leads to */
	size_t map; /* of that */
};

/* A function that was called and has not returned. */
struct frame {
	size_t chain;
	uint64_t back; /* where it returns to; 0: not known */
	size_t call; /* by which it was called; NO_CALL: none */
	double before; /* instructions until then */
	uint64_t
		origin; /* the first address that the window shows of it; 0: it shows its beginning */
	size_t loops; /* the first of its running loops */
	unsigned int jumps; /* it was jumped to: it returns for this many functions below */
	bool handler; /* of a signal, which broke off what `made` led to */
	struct made made;
};

struct way {
	struct frame *stack;
	size_t nr, room;
	struct running_loops loops;
	bool known; /* `made` is */
	struct made made;
	bool complete; /* all of the thread is there: nothing is below */
	double instructions;
};

struct walker {
	struct calls *calls;
	const struct profile *profile;
	struct way *ways; /* by thread */
	uint32_t branches; /* EventId */
	void (*take)(void *to, const struct call_step *step);
	void *to;
	/* Of the window: */
	uint32_t thread, process;
	uint64_t section;
	double weight; /* of a branch */
	double records, branches_all; /* of all windows: what is in them, and what they stand for */
	size_t map; /* found last */
};

/* ---- Chains --------------------------------------------------------------------------------- */

static size_t add_chain(struct calls *c, size_t caller, size_t function)
{
	unsigned int depth = c->chains[caller].depth + 1;
	const char *name = BELOW_WINDOW;
	size_t number;

	if (depth > CHAIN_MAX)
		return caller;
	if (depth == CHAIN_MAX) {
		function = NO_FUNCTION;
		name = DEEPER;
	}
	if (function != NO_FUNCTION)
		name = c->blocks.functions[function].place.symbol;
	number = keys_number_of(&c->chain_keys, caller, function) + 1;
	if (number == c->nr_chains) {
		*APPEND(c->chains, c->nr_chains, c->chain_room) = (struct chain){
			.caller = caller, .function = function, .name = name, .depth = depth
		};
	}
	return number;
}

static struct call *find_call(struct calls *c, const struct made *made, size_t callee)
{
	size_t number = keys_number_of(&c->call_keys, made->function, callee, made->site);

	if (number == c->nr_calls) {
		*APPEND(c->calls, c->nr_calls, c->call_room) =
			(struct call){ .caller = made->function,
				       .callee = callee,
				       .address = made->site,
				       .from = made->from,
				       .map = made->from_map };
	}
	return &c->calls[number];
}

/* ---- The stack ------------------------------------------------------------------------------ */

static struct frame *push(struct way *way, size_t chain)
{
	way->stack = grow(way->stack, way->nr, &way->room, sizeof(*way->stack));
	way->stack[way->nr] = (struct frame){
		.chain = chain,
		.call = NO_CALL,
		.before = way->instructions,
		.loops = way->loops.nr,
	};
	return &way->stack[way->nr++];
}

static void pop(struct walker *w, struct way *way)
{
	const struct frame *f = &way->stack[--way->nr];

	loops_end(&w->calls->loops, &way->loops, f->loops, w->weight);
	if (f->call != NO_CALL)
		w->calls->calls[f->call].instructions += way->instructions - f->before;
}

static struct frame *top(struct way *way)
{
	return way->nr ? &way->stack[way->nr - 1] : NULL;
}

/* Its function; NO_FUNCTION beyond CHAIN_MAX. */
static size_t function_of(const struct walker *w, const struct frame *f)
{
	return w->calls->chains[f->chain].function;
}

static size_t caller_of(const struct walker *w, const struct frame *f)
{
	return w->calls->chains[f->chain].caller;
}

/* The lowest function of a window. */
static struct frame *push_lowest(struct walker *w, struct way *way, size_t function,
				 uint64_t origin)
{
	size_t caller = way->complete ? 0 : add_chain(w->calls, 0, NO_FUNCTION);
	struct frame *f = push(way, add_chain(w->calls, caller, function));

	f->origin = origin;
	return f;
}

/* RET goes to where CALL came from. If it was no call that the windows show, it leaves all of them. */
static void do_return(struct walker *w, struct way *way, uint64_t to)
{
	size_t at = way->nr;

	while (at > 0 && way->stack[at - 1].back != to && !way->stack[at - 1].handler)
		at--;
	if (at > 0 && way->stack[at - 1].handler)
		return; /* to code that ends it */
	at = at ? at - 1 - way->stack[at - 1].jumps : 0;
	while (way->nr > at)
		pop(w, way);
}

/* ---- Entries -------------------------------------------------------------------------------- */

static void count_entry(struct calls *c, size_t caller, size_t callee, double weight)
{
	size_t number = keys_number_of(&c->edge_keys, caller, callee);

	if (number == c->nr_edges) {
		*APPEND(c->edges, c->nr_edges, c->edge_room) =
			(struct edge){ .caller = caller, .callee = callee };
	}
	while (callee >= c->nr_entered) {
		c->entered = must(realloc(c->entered, 2 * (callee + 1) * sizeof(*c->entered)));
		memset(c->entered + c->nr_entered, 0,
		       (2 * (callee + 1) - c->nr_entered) * sizeof(*c->entered));
		c->nr_entered = 2 * (callee + 1);
	}
	if (!(c->edges[number].now > 0))
		*APPEND(c->present, c->nr_present, c->present_room) = number;
	c->edges[number].now += weight;
	c->entered[callee].now += weight;
}

static void end_entries(struct calls *c)
{
	for (size_t i = 0; i < c->nr_present; i++) {
		struct edge *e = &c->edges[c->present[i]];

		e->number += e->now;
		e->own += e->now * e->now;
		e->both += e->now * c->entered[e->callee].now;
		e->now = 0;
	}
	for (size_t i = 0; i < c->nr_present; i++) {
		struct entered *f = &c->entered[c->edges[c->present[i]].callee];

		f->number += f->now;
		f->own += f->now * f->now;
		f->now = 0;
	}
	c->nr_present = 0;
}

struct interval edge_interval(const struct calls *c, const struct edge *e)
{
	const struct entered *f = &c->entered[e->callee];
	double p = e->number / f->number, n = (double)c->windows, variance, effective;

	if (!(c->left_out > 0))
		return share_interval(p, INFINITY, 0);
	/* As many windows as are full of its entries would be as exact; at least for a sure thing. */
	effective = f->number * f->number / f->own;
	variance = c->left_out * n / (n - 1) * (e->own - 2 * p * e->both + p * p * f->own) /
		   (f->number * f->number);
	if (n > 1 && variance > 0)
		effective = p * (1 - p) / variance;
	return share_interval(p, effective, c->windows);
}

static void count_call(struct walker *w, struct way *way, struct frame *f, size_t function)
{
	struct call *call = find_call(w->calls, &way->made, function);

	call->number += w->weight;
	count_entry(w->calls, way->made.function, function, w->weight);
	w->calls->chains[f->chain].calls += w->weight;
	f->call = (size_t)(call - w->calls->calls);
}

/* A jump to the beginning of a function: that returns for the one that jumps. */
static void jump_to(struct walker *w, struct way *way, size_t function)
{
	struct frame *f = top(way);
	unsigned int jumps = f->jumps + 1;
	uint64_t back = f->back;
	size_t caller = caller_of(w, f);

	if (jumps > JUMPS_MAX) {
		jumps--;
		pop(w, way);
	}
	f = push(way, add_chain(w->calls, caller, function));
	f->jumps = jumps;
	f->back = back;
	count_call(w, way, f, function);
}

/* A jump into a function: back to one that has not returned, as longjmp() does, or to a part of this one. */
static void jump_into(struct walker *w, struct way *way, size_t function, uint64_t begin)
{
	struct frame *f = top(way);
	size_t at = way->nr;

	while (at > 0 && function_of(w, &way->stack[at - 1]) != function &&
	       !way->stack[at - 1].handler)
		at--;
	if (at > 0 && function_of(w, &way->stack[at - 1]) == function) {
		while (way->nr > at)
			pop(w, way);
		return;
	}
	loops_end(&w->calls->loops, &way->loops, f->loops, w->weight);
	f->chain = add_chain(w->calls, caller_of(w, f), function);
	f->origin = begin;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/* Into the function in which a block begins, by the branch that led to it. */
static void enter(struct walker *w, struct way *way, const struct block *block)
{
	size_t function = w->calls->blocks.pieces[block->pieces].function;
	struct frame *f = top(way);

	if (!f) {
		push_lowest(w, way, function, block->begin);
	} else if (way->made.kind == BRANCH_CALL) {
		f = push(way, add_chain(w->calls, f->chain, function));
		f->back = way->made.back;
		count_call(w, way, f, function);
	} else if (function_of(w, f) != function && function_of(w, f) != NO_FUNCTION) {
		if (block->entry && way->made.kind != BRANCH_RETURN)
			jump_to(w, way, function);
		else
			jump_into(w, way, function, block->begin);
	}
	way->made.kind = BRANCH_UNKNOWN;
}

/* Its instructions belong to the functions in which they lie. */
static void count_run(struct walker *w, struct way *way, struct block *block)
{
	struct calls *c = w->calls;
	struct frame *f = top(way);

	block->number += w->weight;
	for (size_t i = 0; i < block->nr_pieces; i++) {
		const struct piece *piece = &c->blocks.pieces[block->pieces + i];
		double number = w->weight * piece->instructions;

		/* One runs into the next. */
		if (i)
			f->chain = add_chain(c, caller_of(w, f), piece->function);
		c->blocks.functions[piece->function].instructions += number;
		c->chains[f->chain].instructions += number;
		c->instructions += number;
		way->instructions += number;
	}
	loops_run(&c->loops, &way->loops, f->loops, block->begin, block->end, w->weight);
}

/* The handler has ended if what it broke off ends with this branch. */
static struct block *end_handler(struct walker *w, struct way *way, uint64_t from)
{
	struct blocks *b = &w->calls->blocks;
	size_t at = way->nr;
	struct block *block;
	struct made made;

	while (at > 0 && !way->stack[at - 1].handler)
		at--;
	if (!at)
		return NULL;
	made = way->stack[at - 1].made;
	block = blocks_find(b, w->process, made.map, made.begin, from);
	if (block->state == BLOCK_BROKEN)
		return NULL;
	while (way->nr >= at)
		pop(w, way);
	way->made = made;
	return block;
}

/* A handler is entered at its beginning, without a branch. */
static struct block *begin_handler(struct walker *w, struct way *way, uint64_t from, size_t map)
{
	struct blocks *b = &w->calls->blocks;
	struct block *block = blocks_find(b, w->process, map, from, from);
	uint64_t start, end;
	struct frame *f = top(way);

	if (block->state == BLOCK_BROKEN)
		return NULL;
	if (block->state == BLOCK_DECODED &&
	    symbols_range_at(resolver_object(b->resolver, block->object), block->last, &start,
			     &end)) {
		block = blocks_find(b, w->process, map, from - (block->last - start), from);
		if (block->state == BLOCK_BROKEN)
			block = blocks_find(b, w->process, map, from, from);
	}
	f = push(way, add_chain(w->calls, f ? f->chain : 0, b->pieces[block->pieces].function));
	f->handler = true;
	f->made = way->made;
	f->origin = block->entry ? 0 : from;
	way->made.kind = BRANCH_UNKNOWN;
	return block;
}

/* The block that ends with the branch at `from`, NULL if the way is lost. */
static struct block *block_to(struct walker *w, struct way *way, uint64_t from, size_t map)
{
	struct blocks *b = &w->calls->blocks;
	struct block *block;

	if (!way->known) {
		/* Of the window's first run only the branch is known. */
		block = blocks_find(b, w->process, map, from, from);
		return block->state == BLOCK_BROKEN ? NULL : block;
	}
	block = blocks_find(b, w->process, way->made.map, way->made.begin, from);
	if (block->state != BLOCK_BROKEN)
		return block;
	w->calls->broken += w->weight;
	block = end_handler(w, way, from);
	return block ?: begin_handler(w, way, from, map);
}

/* ---- Windows -------------------------------------------------------------------------------- */

static size_t find_map(struct walker *w, uint64_t address)
{
	const struct profile_map *map = w->map == SIZE_MAX ? NULL : &w->profile->maps[w->map];

	/* Neighbours are mostly in one mapping, present while the window was. */
	if (!map || address < map->start || address >= map->end)
		w->map = profile_find_map(w->profile, w->process, w->section, address);
	return w->map;
}

/* What runs now was not seen to end. */
static void forget(struct walker *w, struct way *way)
{
	loops_end(&w->calls->loops, &way->loops, 0, 0);
	while (way->nr)
		pop(w, way);
	way->known = false;
	way->made.kind = BRANCH_UNKNOWN;
}

/* A branch back within its function. */
static void go_back(struct walker *w, struct way *way, const struct block *block, size_t function,
		    uint64_t to)
{
	const struct frame *f = top(way);
	struct loop loop = { .function = function, .begin = to, .map = block->map };
	uint64_t start, end;

	if (to > block->end || block->state != BLOCK_DECODED ||
	    (block->kind != BRANCH_JUMP && block->kind != BRANCH_CONDITIONAL) ||
	    loops_again(&way->loops, f->loops, block->end, to))
		return;
	loop.address = block->last - (block->end - to);
	if (symbols_range_at(resolver_object(w->calls->blocks.resolver, block->object), block->last,
			     &start, &end) &&
	    loop.address >= start && loop.address <= block->last)
		loops_begin(&w->calls->loops, &way->loops, f->loops, &loop, block->end, to,
			    f->origin, w->weight);
}

static void take_branch(struct walker *w, struct way *way, struct block *block, uint64_t to)
{
	const struct calls *c = w->calls;
	size_t function = c->blocks.pieces[block->pieces + block->nr_pieces - 1].function;

	go_back(w, way, block, function, to);
	way->made = (struct made){
		.kind = block->kind,
		.function = function,
		.site = block->state == BLOCK_DECODED ? block->last : block->end,
		.from = block->end,
		.from_map = block->map,
		.back = block->length ? block->end + block->length : 0,
	};
	if (block->kind == BRANCH_RETURN)
		do_return(w, way, to);
}

static void step(struct walker *w, struct way *way, const struct lwp_record *record, uint64_t time)
{
	struct calls *c = w->calls;
	bool whole = way->known;
	size_t map = find_map(w, record->address);
	struct block *block = block_to(w, way, record->address, map);
	double before = c->instructions;

	if (block) {
		enter(w, way, block);
		if (block->state == BLOCK_NO_CODE)
			c->unknown += w->weight;
		if (whole)
			count_run(w, way, block);
		if (w->take)
			w->take(w->to,
				&(struct call_step){ .thread = w->thread,
						     .time = time,
						     .core_id = record->core_id,
						     .chain = top(way)->chain,
						     .instructions = c->instructions - before });
		take_branch(w, way, block, record->data2);
	} else {
		forget(w, way);
	}
	way->made.begin = record->data2;
	way->made.map = find_map(w, record->data2);
	way->known = true;
}

static void follow(struct walker *w, const struct profile_window *window, uint64_t before)
{
	struct way *way = &w->ways[window->thread];
	double pace = window->time > before ? (double)(window->time - before) / window->count : 0;

	w->thread = window->thread;
	w->process = w->profile->threads[window->thread].process;
	w->section = window->section;
	w->weight = (double)window->weight / window->count;
	w->map = SIZE_MAX;
	if (!(window->flags & LWPDATA_WINDOW_CONTINUES)) {
		forget(w, way);
		w->calls->windows++;
	}
	w->records += window->count;
	w->branches_all += (double)window->weight;
	for (uint32_t i = 0; i < window->count; i++) {
		struct lwp_record record;

		lwp_record_decode(window->data + (size_t)i * LWP_RECORD_SIZE, &record);
		if (record.flags & LWP_RECORD_TKN)
			step(w, way, &record,
			     window->time - (uint64_t)(pace * (window->count - 1 - i)));
	}
	end_entries(w->calls);
}

static bool wanted(const struct profile *p, const struct filter *filter, size_t i)
{
	const struct profile_batch batch = window_batch(&p->windows[i]);

	return batch.data[0] == lwp_rev_get(p->config.revision)->event_id[LWP_KIND_BRE] &&
	       filter_batch(filter, p, &batch);
}

/* Each thread's first window is the only one that does not continue another, and nothing was missed. */
static void find_complete(struct walker *w)
{
	const struct profile *p = w->profile;
	bool *seen = must(calloc(p->nr_threads + 1, sizeof(*seen)));

	for (size_t i = 0; i < p->nr_threads; i++)
		w->ways[i].complete = !p->threads[i].missed;
	for (size_t i = 0; i < p->nr_windows; i++) {
		const struct profile_window *window = &p->windows[i];

		if (seen[window->thread] && !(window->flags & LWPDATA_WINDOW_CONTINUES))
			w->ways[window->thread].complete = false;
		seen[window->thread] = true;
	}
	free(seen);
}

void calls_make(struct calls *c, struct resolver *resolver, const struct filter *filter,
		void (*take)(void *to, const struct call_step *step), void *to)
{
	const struct profile *p = resolver->profile;
	uint64_t *before = must(calloc(p->nr_threads + 1, sizeof(*before)));
	struct walker w = { .calls = c, .profile = p, .take = take, .to = to };

	*c = (struct calls){ 0 };
	blocks_init(&c->blocks, resolver);
	*APPEND(c->chains, c->nr_chains, c->chain_room) =
		(struct chain){ .function = NO_FUNCTION, .name = "" };
	w.ways = must(calloc(p->nr_threads + 1, sizeof(*w.ways)));
	find_complete(&w);
	for (size_t i = 0; i < p->nr_threads; i++)
		before[i] = p->threads[i].time;
	for (size_t i = 0; i < p->nr_windows; i++) {
		uint32_t thread = p->windows[i].thread;

		if (wanted(p, filter, i))
			follow(&w, &p->windows[i], before[thread]);
		before[thread] = p->windows[i].time;
	}
	for (size_t i = 0; i < p->nr_threads; i++) {
		w.weight = 1;
		forget(&w, &w.ways[i]);
		free(w.ways[i].stack);
		free(w.ways[i].loops.list);
	}
	c->left_out = w.branches_all > w.records ? 1 - w.records / w.branches_all : 0;
	free(w.ways);
	free(before);
}

bool calls_complete(const struct profile *p, const struct filter *filter, const char **why)
{
	bool *seen = must(calloc(p->nr_threads + 1, sizeof(*seen)));

	*why = p->nr_windows ? NULL : "it has no windows of branches";
	for (size_t i = 0; i < p->nr_windows && !*why; i++) {
		const struct profile_window *window = &p->windows[i];

		if (!wanted(p, filter, i))
			continue;
		if (p->threads[window->thread].missed)
			*why = "branches were missed";
		else if (p->threads[window->thread].flags & LWPDATA_THREAD_LOST)
			*why = "LWP went off before a thread's end";
		else if (seen[window->thread] && !(window->flags & LWPDATA_WINDOW_CONTINUES))
			*why = "its windows do not continue one another";
		seen[window->thread] = true;
	}
	free(seen);
	return !*why;
}

static bool is_called_by(const struct calls *c, size_t chain, size_t function)
{
	while ((chain = c->chains[chain].caller))
		if (c->chains[chain].function == function)
			return true;
	return false;
}

double *calls_inclusive(const struct calls *c)
{
	double *of_chain = must(calloc(c->nr_chains + 1, sizeof(*of_chain)));
	double *of_function = must(calloc(c->blocks.nr_functions + 1, sizeof(*of_function)));

	for (size_t i = c->nr_chains; i-- > 1;) {
		of_chain[i] += c->chains[i].instructions;
		of_chain[c->chains[i].caller] += of_chain[i];
		if (c->chains[i].function != NO_FUNCTION &&
		    !is_called_by(c, i, c->chains[i].function))
			of_function[c->chains[i].function] += of_chain[i];
	}
	free(of_chain);
	return of_function;
}

void calls_free(struct calls *c)
{
	blocks_free(&c->blocks);
	keys_free(&c->chain_keys);
	keys_free(&c->call_keys);
	keys_free(&c->edge_keys);
	free(c->edges);
	free(c->entered);
	free(c->present);
	loops_free(&c->loops);
	free(c->chains);
	free(c->calls);
}
