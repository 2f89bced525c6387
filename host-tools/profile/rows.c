// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples grouped by what the user asked for. */
#include <inttypes.h>
#include <string.h>

#include "clusters.h"
#include "memory.h"
#include "rows.h"

const char *const key_names[NR_KEYS] = {
	[KEY_SYMBOL] = "symbol",   [KEY_OBJECT] = "object",   [KEY_THREAD] = "thread",
	[KEY_PROCESS] = "process", [KEY_PROGRAM] = "program", [KEY_LINE] = "line",
	[KEY_ADDRESS] = "address", [KEY_TARGET] = "target",   [KEY_VARIABLE] = "variable",
	[KEY_DATA] = "data",
};

bool grouping_has(const struct grouping *grouping, enum key key)
{
	for (size_t i = 0; i < grouping->nr; i++)
		if (grouping->keys[i] == key)
			return true;
	return false;
}

bool grouping_parse(struct grouping *grouping, const char *text)
{
	grouping->nr = 0;
	for (;;) {
		size_t length = strcspn(text, ",");
		enum key key = 0;

		while (key < NR_KEYS && (strlen(key_names[key]) != length ||
					 strncmp(key_names[key], text, length) != 0))
			key++;
		if (key == NR_KEYS || grouping_has(grouping, key))
			return false;
		grouping->keys[grouping->nr++] = key;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

/* ---- Places --------------------------------------------------------------------------------- */

void samples_locate(struct samples *samples, struct resolver *r, const struct tally *tally,
		    const struct filter *filter)
{
	*samples = (struct samples){ .list = must(calloc(tally->nr + 1, sizeof(*samples->list))),
				     .tally = tally,
				     .filter = filter };
	samples->index = must(calloc(tally->nr + 1, sizeof(*samples->index)));
	for (size_t i = 0; i < tally->nr; i++) {
		struct located *located = &samples->list[samples->nr];
		const struct count *count = &tally->list[i];

		located->count = count;
		resolve(r, r->profile->threads[count->thread].process, count->map, count->address,
			&located->place);
		if (!filter_place(filter, located->place.object, located->place.symbol))
			continue;
		samples->per_event[count->event_id] += count->samples;
		samples->weight_per_event[count->event_id] += count->weight;
		samples->index[i] = ++samples->nr;
	}
}

const struct located *samples_find(const struct samples *samples, const struct tally *tally,
				   const struct count *key)
{
	size_t place = tally_find(tally, key);
	size_t index = place == NO_KEY ? 0 : samples->index[place];

	return index ? &samples->list[index - 1] : NULL;
}

void samples_free(struct samples *samples)
{
	free(samples->index);
	free(samples->list);
}

/* Object and address, where there is an object: they are the same in every run. */
static char *address_label(const struct place *place)
{
	if (place->object[0] == '[')
		return formatted("%#" PRIx64, place->address);
	return formatted("%s+%#" PRIx64, last_part(place->object), place->address);
}

static char *target_label(struct resolver *r, const struct count *count)
{
	uint32_t process = r->profile->threads[count->thread].process;
	struct place place;
	size_t map;

	if (!count->target)
		return copy_string("-", 1);
	map = profile_find_map(r->profile, process, UINT64_MAX - 1, count->target);
	resolve(r, process, map, count->target, &place);
	if (!place.named)
		return address_label(&place);
	return formatted("%s %s+%#" PRIx64, place.symbol, last_part(place.object), place.address);
}

static const char *label_of(struct resolver *r, const struct located *l, enum key key)
{
	const struct profile_thread *thread = &r->profile->threads[l->count->thread];
	const struct profile_process *process = &r->profile->processes[thread->process];
	const struct data_place *data;
	const char *label;
	char *text;

	switch (key) {
	case KEY_SYMBOL:
		return l->place.inlined ? l->place.inlined->names[0] : l->place.symbol;
	case KEY_OBJECT:
		return l->place.object;
	case KEY_THREAD:
		text = formatted("%s %" PRIu32 "/%" PRIu32, thread->comm, process->pid,
				 thread->tid);
		break;
	case KEY_PROGRAM:
		return intern(&r->strings, process->comm);
	case KEY_PROCESS:
		text = formatted("%s %" PRIu32, process->comm, process->pid);
		break;
	case KEY_LINE:
		text = l->place.file ? formatted("%s:%d", l->place.file, l->place.line) :
				       formatted("[no line]");
		break;
	case KEY_VARIABLE:
	case KEY_DATA:
		data = data_place(r, l->count->data);
		if (data)
			return key == KEY_DATA ? data->name : data->variable;
		return intern(&r->strings, NO_VARIABLE);
	case KEY_TARGET:
		text = target_label(r, l->count);
		break;
	default:
		text = address_label(&l->place);
		break;
	}
	label = intern(&r->strings, text);
	free(text);
	return label;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* Finds rows by their labels, which are interned. */
struct finder {
	struct keys keys;
	bool by_line; /* source lines tell rows apart too */
	struct rows *rows;
};

static struct row *row_for(struct finder *f, const struct row *key)
{
	struct rows *rows = f->rows;
	struct {
		const char *labels[NR_KEYS];
		const char *file;
		uint64_t line;
	} bytes = { .file = f->by_line ? key->file : NULL,
		    .line = f->by_line ? (uint64_t)key->line : 0 };
	size_t number;

	memcpy(bytes.labels, key->labels, sizeof(bytes.labels));
	number = keys_number(&f->keys, &bytes, sizeof(bytes));
	if (number == rows->nr)
		*APPEND(rows->list, rows->nr, rows->room) = *key;
	return &rows->list[number];
}

static int compare_names(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	for (size_t i = 0; i < NR_KEYS && x->labels[i]; i++)
		if (x->labels[i] != y->labels[i])
			return strcmp(x->labels[i], y->labels[i]);
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return ORDER(y->weight, x->weight) ?: compare_names(a, b);
}

/* Rows that differ only in their line become one, which keeps the line with most samples. row_of: of the fine ones. */
static void merge_lines(const struct rows *fine, struct rows *rows, size_t *row_of)
{
	struct finder finder = { .rows = rows };

	for (size_t i = 0; i < fine->nr; i++) {
		const struct row *from = &fine->list[i];
		struct row key = { 0 }, *row;

		memcpy(key.labels, from->labels, sizeof(key.labels));
		row = row_for(&finder, &key);
		row->number = row_of[i] = (size_t)(row - rows->list);
		row->samples += from->samples;
		row->weight += from->weight;
		detail_add(&row->detail, &from->detail);
		if (from->file && from->weight > row->line_weight) {
			row->file = from->file;
			row->line = from->line;
			row->line_weight = from->weight;
		}
	}
	keys_free(&finder.keys);
}

void rows_make(struct rows *rows, struct resolver *r, const struct samples *samples,
	       const struct grouping *grouping, uint8_t event_id, enum order order)
{
	struct rows fine = { 0 };
	struct finder finder = { .by_line = true, .rows = &fine };
	size_t *fine_of = must(calloc(samples->nr + 1, sizeof(*fine_of))), *row_of;

	*rows = (struct rows){ 0 };
	for (size_t i = 0; i < samples->nr; i++) {
		const struct located *l = &samples->list[i];
		struct row key = { .file = l->place.file, .line = l->place.line }, *row;

		if (l->count->event_id != event_id)
			continue;
		for (size_t k = 0; k < grouping->nr; k++)
			key.labels[k] = label_of(r, l, grouping->keys[k]);
		row = row_for(&finder, &key);
		fine_of[i] = (size_t)(row - fine.list);
		row->samples += l->count->samples;
		row->weight += l->count->weight;
		detail_add(&row->detail, &l->count->detail);
		rows->samples += l->count->samples;
		rows->weight += l->count->weight;
	}
	keys_free(&finder.keys);
	row_of = must(calloc(fine.nr + 1, sizeof(*row_of)));
	merge_lines(&fine, rows, row_of);
	for (size_t i = 0; i < samples->nr; i++)
		fine_of[i] = row_of[fine_of[i]];
	rows_judge(rows, r->profile, samples, fine_of, event_id);
	free(row_of);
	free(fine_of);
	rows_free(&fine);
	sort_list(rows->list, rows->nr, sizeof(*rows->list),
		  order == ORDER_NAME ? compare_names : compare_samples);
}

void rows_free(struct rows *rows)
{
	free(rows->list);
}
