// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See pmc_row.h.
 */
#include "pmc_row.h"

#define NAME(event, place, name) name,
#define NOT_CONSTANT(event, place, name) event "." name " is not constant",

static const char digits[] = "0123456789abcdef";
static const char *const events[] = { "insns", "branches", "far" };
static const char *const places[] = { PMC_FOR_PLACES(NAME, ) "entry" };
static const char *const not_constant[PMC_EVENTS][PMC_PLACES] = {
	{ PMC_FOR_PLACES(NOT_CONSTANT, "insns") },
	{ PMC_FOR_PLACES(NOT_CONSTANT, "branches") },
	{ PMC_FOR_PLACES(NOT_CONSTANT, "far") },
};

/* n numbers at an offset in struct pmc_row. From the one with the index `rising` on, none falls. */
static const struct item {
	const char *name;
	size_t offset;
	uint32_t n, base, least, most, rising;
} items[PMC_ITEMS] = {
	{ "cpu", offsetof(struct pmc_row, cpu), 3, 16, 0, 0xfff, 1 },
	{ "late", offsetof(struct pmc_row, late), PMC_LATES, 10, 0, PMC_LATE_MAX, 0 },
	{ "rate", offsetof(struct pmc_row, rate), 1, 10, 1, 16000, 0 },
	{ "lost", offsetof(struct pmc_row, lost), 1, 10, 2, 1000000, 0 },
	{ "freeze", offsetof(struct pmc_row, freeze), 1, 10, 0, 1, 0 },
};
/* The counts of a place: the second is greater, or is left out because it is the same. */
static const struct item over = { "", 0, 2, 10, 0, PMC_OVER_MAX, 0 };

struct reader {
	const char *at, *end;
	struct pmc_row_error *err;
	uint32_t places[PMC_EVENTS]; /* those that were read */
};

const char *pmc_event_name(enum pmc_event event)
{
	return events[event];
}

const char *pmc_place_name(enum pmc_place place)
{
	return places[place];
}

static bool fail(struct reader *r, const char *at, const char *message)
{
	r->at = at;
	r->err->message = message;
	return false;
}

/* If the text continues with this, read it. No word of the grammar begins with another one. */
static bool skip(struct reader *r, const char *what)
{
	if ((size_t)(r->end - r->at) < strlen(what) || memcmp(r->at, what, strlen(what)))
		return false;
	r->at += strlen(what);
	return true;
}

static bool numbers(struct reader *r, const struct item *item, uint32_t *value)
{
	const char *start, *digit;
	uint32_t i;

	for (i = 0; i < item->n; i++) {
		if (i && !skip(r, "/")) {
			value[i] = value[0];
			return item == &over || fail(r, r->at, "'/' is missing");
		}
		start = r->at;
		value[i] = 0;
		while (r->at < r->end && (digit = memchr(digits, *r->at, item->base))) {
			if (value[i] <= PMC_LATE_MAX) /* no bound is greater */
				value[i] = value[i] * item->base + (uint32_t)(digit - digits);
			r->at++;
		}
		if (r->at == start)
			return fail(r, start, "a number is missing");
		if (value[i] < item->least || value[i] > item->most)
			return fail(r, start, "the number is out of range");
		if (i > item->rising && value[i] < value[i - 1] + (item == &over))
			return fail(r, start, "the numbers are not in order");
	}
	return true;
}

/* PLACE=... of an event. */
static bool place(struct reader *r, struct pmc_over *event, uint32_t *seen)
{
	const char *start = r->at;
	uint32_t i = 0, last;

	while (i <= PMC_PLACES && !skip(r, places[i]))
		i++;
	if (i > PMC_PLACES)
		return fail(r, start, "no such place");
	last = i < PMC_PLACES ? i : PMC_EXITS - 1;
	i = i < PMC_PLACES ? i : 0;
	if (*seen & (PMC_BIT(last + 1) - 1) & ~(PMC_BIT(i) - 1))
		return fail(r, start, "the place is set twice");
	if (!skip(r, "="))
		return fail(r, r->at, "'=' is missing");
	event[last].most = PMC_UNKNOWN;
	if (!skip(r, "?") && !numbers(r, &over, &event[last].least))
		return false;
	for (; i <= last; i++) {
		event[i] = event[last];
		*seen |= PMC_BIT(i);
	}
	return true;
}

static bool item(struct reader *r, struct pmc_row *row)
{
	const char *start = r->at;
	uint32_t i;

	for (i = 0; i < PMC_EVENTS; i++)
		if (skip(r, events[i]))
			return skip(r, ".") ? place(r, row->over[i], &r->places[i]) :
					      fail(r, r->at, "'.' is missing");
	for (i = 0; i < PMC_ITEMS && !skip(r, items[i].name);)
		i++;
	if (i == PMC_ITEMS)
		return fail(r, start, "no such item");
	if (row->items & PMC_BIT(i))
		return fail(r, start, "the item is set twice");
	row->items |= PMC_BIT(i);
	if (!skip(r, "="))
		return fail(r, r->at, "'=' is missing");
	return numbers(r, &items[i], (uint32_t *)((uint8_t *)row + items[i].offset));
}

bool pmc_row_parse(const char *text, size_t length, struct pmc_row *row, struct pmc_row_error *err)
{
	struct reader r = { .at = text, .end = text + length, .err = err };
	bool ok;

	memset(row, 0, sizeof(*row));
	for (ok = !length || item(&r, row); ok && skip(&r, ",");)
		ok = item(&r, row);
	if (ok && r.at < r.end)
		ok = fail(&r, r.at, "',' is missing");
	if (ok && !row->rate != !(row->items & PMC_BIT(PMC_LATE)))
		ok = fail(&r, r.at, row->rate ? "rate needs late" : "late needs rate");
	err->at = (size_t)(r.at - text);
	return ok;
}

struct writer {
	char *buf;
	size_t size, length;
};

static void put(struct writer *w, const char *text)
{
	for (; *text; text++, w->length++)
		if (w->length < w->size)
			w->buf[w->length] = *text;
}

static void put_numbers(struct writer *w, const uint32_t *value, uint32_t n, uint32_t base)
{
	char text[11], *at;
	uint32_t i, left;

	for (i = 0; i < n; i++) {
		at = text + sizeof(text) - 1;
		*at = 0;
		left = value[i];
		do {
			*--at = digits[left % base];
			left /= base;
		} while (left);
		put(w, i ? "/" : "");
		put(w, at);
	}
}

static void put_places(struct writer *w, const char *event, const struct pmc_over *o)
{
	uint32_t alike = 1, i;

	while (alike < PMC_EXITS && !memcmp(&o[alike], o, sizeof(*o)))
		alike++;
	for (i = 0; i < PMC_PLACES; i += i || alike < PMC_EXITS ? 1 : PMC_EXITS) {
		if (!o[i].most)
			continue;
		put(w, w->length ? "," : "");
		put(w, event);
		put(w, ".");
		put(w, places[i || alike < PMC_EXITS ? i : PMC_PLACES]);
		put(w, o[i].most == PMC_UNKNOWN ? "=?" : "=");
		if (o[i].most != PMC_UNKNOWN)
			put_numbers(w, &o[i].least, o[i].least < o[i].most ? 2 : 1, 10);
	}
}

size_t pmc_row_format(const struct pmc_row *row, char *buf, size_t size)
{
	struct writer w = { buf, size, 0 };
	uint32_t i;

	for (i = 0; i < PMC_EVENTS; i++)
		put_places(&w, events[i], row->over[i]);
	for (i = 0; i < PMC_ITEMS; i++) {
		if (!(row->items & PMC_BIT(i)))
			continue;
		put(&w, w.length ? "," : "");
		put(&w, items[i].name);
		put(&w, "=");
		put_numbers(&w, (const uint32_t *)((const uint8_t *)row + items[i].offset),
			    items[i].n, items[i].base);
	}
	if (size)
		buf[w.length < size ? w.length : size - 1] = 0;
	return w.length;
}

bool pmc_row_exact(const struct pmc_row *row, enum pmc_event event, const char **why)
{
	uint32_t i;

	for (i = 0; i < PMC_PLACES; i++)
		if (row->over[event][i].least != row->over[event][i].most) {
			*why = not_constant[event][i];
			return false;
		}
	*why = "the lateness of interrupts is not known";
	return row->rate;
}

/* AMD's manual, volume 2, appendix C */
enum pmc_place pmc_place_of_exit(uint64_t code, bool step)
{
	switch (code) {
	case 0x41: /* #DB */
		return step ? PMC_STEP : PMC_BP;
	case 0x43: /* #BP */
		return PMC_BP;
	case 0x60:
		return PMC_INTR;
	case 0x61:
		return PMC_NMI;
	case 0x78:
		return PMC_HLT;
	case 0x7b:
		return PMC_OUT;
	case 0x400:
		return PMC_NPF;
	default:
		return PMC_CPUID;
	}
}
