// SPDX-License-Identifier: GPL-2.0-or-later
/* pmcbench's command line. */
#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcbench.h"

#define MOST_RUNS 10000000
#define MOST_CODE 4096

#define bad_usage(state, ...) argp_failure(state, STATUS_USAGE, 0, __VA_ARGS__)

enum { OPTION_CPU = 0x100, OPTION_CODE, OPTION_LWP, OPTION_LIST, OPTION_FLUSH };

static const struct event events[] = {
	{ "instructions", 0xc0 }, { "branches", 0xc2 },	    { "taken", 0xc4 },
	{ "conditional", 0xd1 },  { "mispredicted", 0xc3 }, { "far", 0xc6 },
	{ "cycles", 0x76 },	  { "ops", 0xc1 },	    { "dispatched", 0x3aa },
	{ "interrupts", 0x2c },	  { "smis", 0x2b },	    { "loads", 0x129 },
	{ "stores", 0x229 },	  { "load-stores", 0x429 },
};
#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

static const char description[] =
	"Measure a snippet of code: its events at CPL 3, by RDPMC before and after it, with LFENCE on both sides, over "
	"many runs that are pinned to one CPU. The table shows the least, the most frequent and the largest value, beside "
	"those of an empty snippet (the floor), and how the snippet's values are distributed."
	"\vEVENT is one of instructions, branches, taken, conditional, mispredicted, far, cycles, ops, dispatched (ops), "
	"interrupts, smis, loads, stores, load-stores, which are AMD's C0h, C2h, C4h, D1h, C3h, C6h, 76h, C1h, 03AAh, 2Ch, 2Bh, 0129h, 0229h and 0429h, or rXXXX, UnitMask and EventSelect in hexadecimal; far transfers (interrupts "
	"too) count as branches. A machine has four or six counters, and a group takes all that it needs at once.\n"
	"\n"
	"With --lwp the table is filled from the records of Lightweight Profiling: of instructions, branches, taken.\n"
	"\n"
	"Exit status: 0; 1 if something failed, 2 for wrong usage, 77 if the machine has no counters or no LWP, or they "
	"are not allowed to you.";

static const struct argp_option argp_options[] = {
	{ "event", 'e', "EVENT[,...]", 0, "up to six (default: instructions,branches)", 0 },
	{ "snippet", 's', "NAME", 0, "what to measure (default: nop4)", 0 },
	{ "code", OPTION_CODE, "HEX", 0,
	  "bytes of machine code instead; may change what a C function may change", 0 },
	{ "list", OPTION_LIST, NULL, 0, "the snippets that there are", 0 },
	{ "runs", 'n', "N", 0, "number of runs (default: 10000)", 0 },
	{ "cpu", OPTION_CPU, "N", 0, "on this CPU (default: 0)", 0 },
	{ "flush", OPTION_FLUSH, NULL, 0, "CLFLUSH the measured code before each run", 0 },
	{ "lwp", OPTION_LWP, NULL, 0, "count LWP's records", 0 },
	{ 0 },
};

bool event_is_known(unsigned int select)
{
	for (size_t i = 0; i < NR_EVENTS; i++) {
		unsigned int unit_mask = events[i].select & 0xff00;

		if (!((events[i].select ^ select) & 0xff) && (!unit_mask || select & unit_mask))
			return true;
	}
	return false;
}

static unsigned int number_in(struct argp_state *state, const char *name, const char *text,
			      unsigned long low, unsigned long high)
{
	char *end = NULL;
	unsigned long value = 0;

	errno = 0;
	if (*text >= '0' && *text <= '9')
		value = strtoul(text, &end, 10);
	if (!end || *end || errno || value < low || value > high)
		bad_usage(state, "%s '%s' is not a number from %lu to %lu", name, text, low, high);
	return (unsigned int)value;
}

/* A name, or r and up to four hexadecimal digits. */
static bool find_event(const char *text, struct event *e)
{
	char *end;

	for (size_t i = 0; i < NR_EVENTS; i++) {
		if (!strcmp(text, events[i].name)) {
			*e = events[i];
			return true;
		}
	}
	if (text[0] != 'r' || !text[1] || strspn(text + 1, "0123456789abcdefABCDEF") > 4)
		return false;
	*e = (struct event){ text, (unsigned int)strtoul(text + 1, &end, 16) };
	return !*end;
}

static void parse_events(struct argp_state *state, struct options *options, char *text)
{
	char *name;

	options->nr_events = 0;
	while ((name = strsep(&text, ","))) {
		if (options->nr_events == MAX_EVENTS)
			bad_usage(state, "more than %d events", MAX_EVENTS);
		if (!find_event(name, &options->events[options->nr_events++]))
			bad_usage(state, "unknown event '%s'; see --help for those that there are",
				  name);
	}
}

static void parse_code(struct argp_state *state, struct options *options, const char *text)
{
	static uint8_t code[MOST_CODE];
	size_t digits = strlen(text);

	if (!digits || digits % 2 || digits / 2 > MOST_CODE ||
	    strspn(text, "0123456789abcdefABCDEF") != digits)
		bad_usage(state, "code '%s' is not 1 to %d bytes of two hexadecimal digits", text,
			  MOST_CODE);
	for (size_t i = 0; i < digits / 2; i++) {
		const char byte[] = { text[2 * i], text[2 * i + 1], 0 };

		code[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	options->snippet = (struct snippet){ "code", text, code, code + digits / 2 };
}

static _Noreturn void list_snippets(void)
{
	const struct snippet *s;

	for (size_t i = 0; (s = snippet_at(i)); i++)
		printf("%-10s %s\n", s->name, s->text);
	exit(0);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	const struct snippet *s;

	switch (key) {
	case 'e':
		parse_events(state, options, arg);
		return 0;
	case 's':
		s = snippet_find(arg);
		if (!s)
			bad_usage(state, "no snippet '%s'; --list names those that there are", arg);
		else
			options->snippet = *s;
		return 0;
	case OPTION_CODE:
		parse_code(state, options, arg);
		return 0;
	case OPTION_LIST:
		list_snippets();
	case 'n':
		options->runs = number_in(state, "number of runs", arg, 1, MOST_RUNS);
		return 0;
	case OPTION_CPU:
		options->cpu = number_in(state, "CPU", arg, 0, CPU_SETSIZE - 1);
		return 0;
	case OPTION_FLUSH:
		options->flush = true;
		return 0;
	case OPTION_LWP:
		options->lwp = true;
		return 0;
	case ARGP_KEY_ARG:
		bad_usage(state, "takes options only, not '%s'", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

void options_parse(struct options *options, int argc, char **argv)
{
	static const struct argp argp = {
		.options = argp_options,
		.parser = parse,
		.doc = description,
	};

	*options = (struct options){
		.events = { events[0], events[1] },
		.nr_events = 2,
		.snippet = *snippet_find("nop4"),
		.runs = 10000,
	};
	argp_err_exit_status = STATUS_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, options);
}
