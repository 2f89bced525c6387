// SPDX-License-Identifier: GPL-2.0-or-later
/* Loops, and how often their bodies run. */
#include "loops.h"
#include "memory.h"

#define NESTED_MAX 16 /* loops in one another, in one function */

void loops_end(struct loops *loops, struct running_loops *running, size_t first, double weight)
{
	while (running->nr > first) {
		const struct running *r = &running->list[--running->nr];
		struct loop *loop = &loops->list[r->loop];

		if (r->partial || weight == 0)
			continue;
		if (loop->entered == 0 || r->trips < loop->least)
			loop->least = r->trips;
		if (r->trips > loop->most)
			loop->most = r->trips;
		loop->entered += weight;
		loop->trips += weight * (double)r->trips;
	}
}

/* A run may end after the branch back that is the farthest so far: there may be one that is farther. */
void loops_run(struct loops *loops, struct running_loops *running, size_t first, uint64_t begin,
	       uint64_t end, double weight)
{
	while (running->nr > first) {
		const struct running *r = &running->list[running->nr - 1];

		if (begin >= r->begin && begin <= r->end)
			return;
		loops_end(loops, running, running->nr - 1, weight);
	}
}

bool loops_again(struct running_loops *running, size_t first, uint64_t from, uint64_t to)
{
	struct running *r = running->nr > first ? &running->list[running->nr - 1] : NULL;

	if (!r || r->begin != to)
		return false;
	r->trips++;
	if (from > r->end)
		r->end = from;
	return true;
}

void loops_begin(struct loops *loops, struct running_loops *running, size_t first,
		 const struct loop *loop, uint64_t from, uint64_t to, uint64_t origin,
		 double weight)
{
	size_t number;

	while (running->nr > first && running->list[running->nr - 1].begin > to)
		loops_end(loops, running, running->nr - 1, weight);
	if (loops_again(running, first, from, to) || running->nr - first == NESTED_MAX)
		return;
	number = keys_number_of(&loops->keys, loop->function, loop->address);
	if (number == loops->nr)
		*APPEND(loops->list, loops->nr, loops->room) = *loop;
	*APPEND(running->list, running->nr, running->room) = (struct running){
		.begin = to,
		.end = from,
		.loop = number,
		.trips = 2,
		.partial = origin >= to && origin <= from,
	};
}

void loops_free(struct loops *loops)
{
	keys_free(&loops->keys);
	free(loops->list);
}
