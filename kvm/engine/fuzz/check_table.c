// SPDX-License-Identifier: GPL-2.0-or-later
#include "check_table.h"
#include "fuzz.h"

/* A list of indices, forwards and backwards; returns its length. */
static u32 check_list(const struct lwp_ctx_table *t, const struct lwp_ctx_link *links,
		      const struct lwp_ctx_list *list)
{
	u32 last = LWP_CTX_END, n = 0, i;

	for (i = list->first; i != LWP_CTX_END; i = links[i].next) {
		CHECK(i < t->size && n < t->size);
		CHECK(links[i].prev == last);
		last = i;
		n++;
	}
	CHECK(list->last == last);
	return n;
}

/* A space is in the list of its size, and there only, while one of its contexts is parked. */
static void check_space(const struct lwp_ctx_table *t, u32 s, u32 contexts, u32 parked)
{
	const struct lwp_ctx_space *space = &t->space[s];
	u32 found = 0;

	CHECK(space->contexts == contexts);
	CHECK(check_list(t, t->of_space, &space->parked) == parked);
	for (u32 size = 0; size <= t->size; size++) {
		check_list(t, t->of_size, &t->by_size[size]);
		for (u32 i = t->by_size[size].first; i != LWP_CTX_END; i = t->of_size[i].next) {
			CHECK(size <= t->largest);
			CHECK(i != s || size == contexts);
			found += i == s;
		}
	}
	CHECK(found == !!parked);
}

/* All parked contexts, in the order of their next looks. */
static void check_parked(const struct lwp_ctx_table *t)
{
	u32 parked = 0;

	for (u32 i = 0; i < t->size; i++)
		parked += t->entry[i].used && t->entry[i].holder == LWP_CTX_NOBODY;
	CHECK(check_list(t, t->of_parked, &t->parked) == parked);
	for (u32 i = t->parked.first; i != LWP_CTX_END && t->of_parked[i].next != LWP_CTX_END;
	     i = t->of_parked[i].next)
		CHECK(t->entry[i].due <= t->entry[t->of_parked[i].next].due);
}

void check_table(const struct lwp_ctx_table *t)
{
	u32 used = 0;

	for (u32 i = 0; i < t->size; i++) {
		const struct lwp_ctx *a = &t->entry[i];
		u32 contexts = 0, parked = 0;

		if (!a->used)
			continue;
		used++;
		CHECK(lwp_ctx_by_key(t, &a->saved.key) == a);
		CHECK(a->space < t->size && t->space[a->space].cr3 == a->saved.key.cr3);
		for (u32 j = 0; j < t->size; j++) {
			const struct lwp_ctx *b = &t->entry[j];

			if (!b->used)
				continue;
			CHECK((a->space == b->space) == (a->saved.key.cr3 == b->saved.key.cr3));
			contexts += a->space == b->space;
			parked += a->space == b->space && b->holder == LWP_CTX_NOBODY;
			if (i == j)
				continue;
			CHECK(a->stamp != b->stamp && a->stamp <= t->clock);
			CHECK(!lwp_ctx_key_equal(&a->saved.key, &b->saved.key));
			CHECK(a->holder == LWP_CTX_NOBODY || a->holder != b->holder);
		}
		check_space(t, a->space, contexts, parked);
	}
	CHECK(t->used == used);
	check_parked(t);
}
