// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl annotate: the instructions of a function with their samples. */
#include <argp.h>
#include <capstone/capstone.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "lwp_rev.h"
#include "lwpctl.h"
#include "memory.h"
#include "source_text.h"
#include "view.h"

/* A function that is longer is shown up to here. */
#define CODE_MAX (1024 * 1024)
#define SOURCE_LINE_MAX 200

struct arguments {
	struct view_options view;
	const char *symbol;
};

/* What was counted at one instruction. */
struct line {
	uint64_t address;
	uint64_t samples[LWPDATA_MAX_EVENTS]; /* in the order of the columns */
	struct detail detail;
	uint64_t branches, misses;
	const char *file;
	int number;
};

struct function {
	struct view *view;
	const struct place *place;
	uint64_t start, end;
	uint32_t events[LWPDATA_MAX_EVENTS]; /* EventIds of the columns */
	uint64_t totals[LWPDATA_MAX_EVENTS]; /* samples of the function */
	size_t nr_events;
	struct line *lines;
	size_t nr, room;
	struct sources sources;
};

/* ---- Counting ------------------------------------------------------------------------------- */

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return ORDER(x->address, y->address);
}

static void choose_events(struct function *f, uint32_t kind)
{
	size_t nr = view_events(f->view, kind, f->events);

	for (size_t k = 0; k < nr; k++)
		if (f->view->samples.per_event[f->events[k]])
			f->events[f->nr_events++] = f->events[k];
}

static void add(struct function *f, const struct located *l)
{
	const struct count *count = l->count;
	uint32_t kind = profile_kind(&f->view->profile, count->event_id);
	size_t k = view_column(f->events, f->nr_events, count->event_id);
	struct line *line;

	if (k == f->nr_events)
		return;
	line = APPEND(f->lines, f->nr, f->room);
	*line = (struct line){ .address = l->place.address,
			       .detail = count->detail,
			       .file = l->place.file,
			       .number = l->place.line };
	line->samples[k] = count->samples;
	line->branches = kind == LWP_KIND_BRE ? count->samples : 0;
	line->misses = kind == LWP_KIND_DME ? count->samples : 0;
	f->totals[k] += count->samples;
}

/* One line for each address. */
static void merge(struct function *f)
{
	size_t kept = 0;

	sort_list(f->lines, f->nr, sizeof(*f->lines), compare_lines);
	for (size_t i = 0; i < f->nr; i++) {
		struct line *line = &f->lines[i], *last;

		if (!kept || f->lines[kept - 1].address != line->address) {
			f->lines[kept++] = *line;
			continue;
		}
		last = &f->lines[kept - 1];
		for (size_t k = 0; k < f->nr_events; k++)
			last->samples[k] += line->samples[k];
		last->branches += line->branches;
		last->misses += line->misses;
		detail_add(&last->detail, &line->detail);
	}
	f->nr = kept;
}

/* The object that has most samples of a symbol of this name: several may have one. */
static const struct place *choose_place(const struct samples *samples)
{
	const struct located *most = NULL;

	for (size_t i = 0; i < samples->nr; i++)
		if (!most || samples->list[i].count->samples > most->count->samples)
			most = &samples->list[i];
	return most ? &most->place : NULL;
}

static bool collect(struct function *f, const char *symbol, uint32_t kind)
{
	const struct samples *samples = &f->view->samples;

	f->place = choose_place(samples);
	if (!f->place)
		return refuse("%s: no samples of %s", f->view->profile.path, symbol);
	choose_events(f, kind);
	for (size_t i = 0; i < samples->nr; i++) {
		const struct place *place = &samples->list[i].place;

		if (place->symbol == f->place->symbol && place->object == f->place->object)
			add(f, &samples->list[i]);
	}
	merge(f);
	return true;
}

/* ---- Printing ------------------------------------------------------------------------------- */

static void print_head(const struct function *f)
{
	const struct profile *p = &f->view->profile;

	printf("%s in %s\n", f->place->symbol, f->place->object);
	for (size_t k = 0; k < f->nr_events; k++)
		printf("%s%" PRIu64 " sample%s of %s", k ? ", " : "", f->totals[k],
		       f->totals[k] == 1 ? "" : "s", profile_event_name(p, f->events[k]));
	putchar('\n');
	putchar('\n');
	for (size_t k = 0; k < f->nr_events; k++)
		printf(" %12.12s", profile_event_name(p, f->events[k]));
	puts("   taken  latency");
}

static void print_counts(const struct function *f, const struct line *line)
{
	for (size_t k = 0; k < f->nr_events; k++)
		if (line && line->samples[k])
			printf(" %11.2f%%",
			       100.0 * (double)line->samples[k] / (double)f->totals[k]);
		else
			printf(" %12s", "");
	if (line && line->branches)
		printf("  %5.1f%%", 100.0 * (double)line->detail.taken / (double)line->branches);
	else
		printf("  %6s", "");
	if (line && line->misses)
		printf("  %7.0f", (double)line->detail.latency / (double)line->misses);
	else
		printf("  %7s", "");
}

static const struct line *line_at(const struct function *f, uint64_t address)
{
	const struct line wanted = { .address = address };

	return f->nr ? bsearch(&wanted, f->lines, f->nr, sizeof(wanted), compare_lines) : NULL;
}

/* The line's place and text, where it is another than before. */
static void print_source(struct function *f, const struct line *line, const char **file,
			 int *number)
{
	const char *name;
	char *text;

	if (!line || !line->file || (*file == line->file && *number == line->number))
		return;
	name = *file == line->file ? last_part(line->file) : line->file;
	*file = line->file;
	*number = line->number;
	text = sources_line(&f->sources, line->file, line->number, SOURCE_LINE_MAX);
	printf("%s:%d%s%s\n", name, line->number, text && *text ? "  " : "", text ?: "");
	free(text);
}

static void print_code(struct function *f, csh capstone, const uint8_t *code, size_t size)
{
	cs_insn *insn = must(cs_malloc(capstone));
	uint64_t address = f->start;
	const char *file = NULL;
	int number = 0;

	while (size) {
		const struct line *line = line_at(f, address);
		uint64_t at = address;

		print_source(f, line, &file, &number);
		print_counts(f, line);
		if (cs_disasm_iter(capstone, &code, &size, &address, insn)) {
			printf("  %8" PRIx64 ":  %-8s %s\n", at, insn->mnemonic, insn->op_str);
			continue;
		}
		printf("  %8" PRIx64 ":  .byte    0x%02x\n", at, *code);
		code++;
		size--;
		address++;
	}
	cs_free(insn, 1);
}

/* Without code, the addresses that have samples. */
static void print_addresses(struct function *f)
{
	const char *file = NULL;
	int number = 0;

	for (size_t i = 0; i < f->nr; i++) {
		print_source(f, &f->lines[i], &file, &number);
		print_counts(f, &f->lines[i]);
		printf("  %8" PRIx64 ":\n", f->lines[i].address);
	}
}

static const uint8_t *find_code(struct function *f, uint64_t *size)
{
	struct symbols *symbols;

	if (f->place->object_id == LWPDATA_NONE)
		return NULL;
	symbols = resolver_object(&f->view->resolver, f->place->object_id);
	if (!symbols_range_at(symbols, f->place->address, &f->start, &f->end))
		return NULL;
	*size = f->end - f->start < CODE_MAX ? f->end - f->start : CODE_MAX;
	return symbols_code(symbols, f->start, size);
}

static bool annotate(struct function *f)
{
	uint64_t size = 0;
	const uint8_t *code = find_code(f, &size);
	csh capstone;

	print_head(f);
	if (!code) {
		print_addresses(f);
		return true;
	}
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone))
		return refuse("cannot disassemble: capstone does not start");
	cs_option(capstone, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	print_code(f, capstone, code, (size_t)size);
	cs_close(&capstone);
	return true;
}

/* ---- The command ---------------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		if (a->symbol)
			return ARGP_ERR_UNKNOWN; /* the file, which is the view's */
		a->symbol = arg;
		if (strchr(arg, '/') && !access(arg, F_OK))
			bad_usage(state,
				  "the name of a function comes first, and then the file: '%s'",
				  arg);
		return 0;
	case ARGP_KEY_END:
		if (!a->symbol)
			bad_usage(state, "it needs the name of a function");
		a->view.filter.symbol = a->symbol;
		return 0;
	default:
		return other_key(key, state);
	}
}

static bool work(void *arguments, struct view *view)
{
	const struct arguments *a = arguments;
	struct function f = { .view = view, .sources.sysroot = a->view.sysroot };
	bool good = collect(&f, a->symbol, a->view.kind) && annotate(&f);

	free(f.lines);
	sources_free(&f.sources);
	return good;
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		NULL, parse, "SYMBOL [FILE]",
		"Print the instructions of a function with their samples, how often branches were "
		"taken, and the latency of misses.\vSYMBOL may be a pattern, as 'sort<*'; of several "
		"functions that with the hottest instruction is printed. FILE is what lwprun wrote "
		"(default: lwp.data).",
		view_children
	};
	struct arguments a = { .view = VIEW_OPTIONS };

	return view_command(argc, argv, &argp, &a, &a.view, work);
}

const struct command cmd_annotate = { "annotate", run,
				      "print the instructions of a function with their samples" };
