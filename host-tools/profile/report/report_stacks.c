// SPDX-License-Identifier: GPL-2.0-or-later
/* What recorded stacks tell: how much each function executed with all that it called, and who called it. */
#include "intervals.h"
#include "json_out.h"
#include "memory.h"
#include "output.h"
#include "report_calls.h"
#include "stacks.h"

/* `in`: of all stacks the events of those that it is in, however often. `last`: the stack before which it was counted. */
struct function {
	const char *name, *object;
	double in, own;
	size_t last;
};

struct pair {
	size_t caller, callee; /* functions */
	double in;
	size_t last;
};

struct teller {
	const struct calls_report *what;
	struct stacks stacks;
	struct function *functions;
	struct pair *pairs;
	size_t nr, room, nr_pairs, pair_room;
	struct keys keys, pair_keys;
	double all; /* events */
};

static size_t function_of(struct teller *t, const struct stack *frame)
{
	size_t number =
		keys_number_of(&t->keys, (uintptr_t)frame->name, (uintptr_t)frame->object, 0);

	if (number == t->nr)
		*APPEND(t->functions, t->nr, t->room) =
			(struct function){ .name = frame->name, .object = frame->object };
	return number;
}

static void count_in(double *in, size_t *last, size_t stack, double events)
{
	if (*last == stack)
		return;
	*last = stack;
	*in += events;
}

static void add_pair(struct teller *t, size_t caller, size_t callee, size_t stack, double events)
{
	size_t number = keys_number_of(&t->pair_keys, caller, callee, 0);

	if (number == t->nr_pairs)
		*APPEND(t->pairs, t->nr_pairs, t->pair_room) =
			(struct pair){ .caller = caller, .callee = callee };
	count_in(&t->pairs[number].in, &t->pairs[number].last, stack, events);
}

/* Stack number `stack`, from 1 on; its outermost frame is the process, which is no function. */
static void add_step(struct teller *t, const struct stack_step *step, size_t stack)
{
	const struct stack *list = t->stacks.list;
	double events = (double)step->count;
	size_t callee = SIZE_MAX;

	t->all += events;
	for (size_t at = step->stack; list[at].parent; at = list[at].parent) {
		size_t function = function_of(t, &list[at]);
		struct function *f = &t->functions[function];

		count_in(&f->in, &f->last, stack, events);
		if (callee == SIZE_MAX)
			f->own += events;
		else
			add_pair(t, function, callee, stack, events);
		callee = function;
	}
}

static int compare_functions(const void *a, const void *b)
{
	const struct function *x = *(const struct function *const *)a;
	const struct function *y = *(const struct function *const *)b;

	return ORDER(y->in, x->in) ?: ORDER(x, y);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	return ORDER(y->in, x->in) ?: ORDER(x->caller, y->caller) ?: ORDER(x->callee, y->callee);
}

static void print_pairs(const struct teller *t, size_t function, bool by_it)
{
	for (size_t i = 0, n = 0; i < t->nr_pairs; i++) {
		const struct pair *p = &t->pairs[i];
		const struct function *f;
		int used;

		if ((by_it ? p->caller : p->callee) != function ||
		    n++ == calls_rows(t->what, SIZE_MAX))
			continue;
		used = printf("  %s %6.2f%%", by_it ? "calls    " : "called by",
			      100 * p->in / t->all);
		f = &t->functions[by_it ? p->callee : p->caller];
		calls_put_name(t->what, f->name, f->object, used);
	}
}

static void print_text(const struct teller *t, struct function *const *sorted)
{
	printf("\nCallers and callees, by the share of %zu stacks that a function is in, the 95%% interval of that,\n"
	       "and its own share. Beside a call stands the share of the stacks that have it.\n",
	       t->stacks.nr_steps);
	for (size_t i = 0; i < calls_rows(t->what, t->nr); i++) {
		const struct function *f = sorted[i];
		struct interval in = share_interval(f->in / t->all, (double)t->stacks.nr_steps, 0);
		int used = printf("\n%6.2f%% %6.2f -%6.2f%% %6.2f%%", 100 * f->in / t->all,
				  100 * in.low, 100 * in.high, 100 * f->own / t->all);

		calls_put_name(t->what, f->name, f->object, used);
		print_pairs(t, (size_t)(f - t->functions), false);
		print_pairs(t, (size_t)(f - t->functions), true);
	}
}

static void print_json(const struct teller *t, const char *file, struct function *const *sorted)
{
	json_object *root = json_new(), *functions = json_list(), *callers = json_list();

	for (size_t i = 0; i < calls_rows(t->what, t->nr); i++) {
		const struct function *f = sorted[i];
		struct interval in = share_interval(f->in / t->all, (double)t->stacks.nr_steps, 0);
		json_object *item = json_new();

		json_add(item, "symbol", f->name);
		json_add(item, "object", f->object);
		json_add(item, "share", f->in / t->all);
		json_add(item, "share_low", in.low);
		json_add(item, "share_high", in.high);
		json_add(item, "own_share", f->own / t->all);
		json_append(functions, item);
	}
	for (size_t i = 0; i < t->nr_pairs; i++) {
		json_object *item = json_new();

		json_add(item, "caller", t->functions[t->pairs[i].caller].name);
		json_add(item, "callee", t->functions[t->pairs[i].callee].name);
		json_add(item, "share", t->pairs[i].in / t->all);
		json_append(callers, item);
	}
	json_add(root, "file", file);
	json_add(root, "stacks", (uint64_t)t->stacks.nr_steps);
	json_add(root, "functions", functions);
	json_add(root, "callers", callers);
	put_json(root);
}

void stacks_report(const struct calls_report *what, struct view *view,
		   const struct view_options *options, uint32_t event_id)
{
	struct teller t = { .what = what };
	struct function **sorted;

	stacks_make(&t.stacks, view, options, event_id);
	for (size_t i = 0; i < t.stacks.nr_steps; i++)
		add_step(&t, &t.stacks.steps[i], i + 1);
	sorted = must(calloc(t.nr + 1, sizeof(struct function *)));
	for (size_t i = 0; i < t.nr; i++)
		sorted[i] = &t.functions[i];
	sort_list(sorted, t.nr, sizeof(struct function *), compare_functions);
	sort_list(t.pairs, t.nr_pairs, sizeof(*t.pairs), compare_pairs);
	if (what->json)
		print_json(&t, view->profile.path, sorted);
	else
		print_text(&t, sorted);
	free(sorted);
	free(t.functions);
	free(t.pairs);
	keys_free(&t.keys);
	keys_free(&t.pair_keys);
	stacks_free(&t.stacks);
}
