// SPDX-License-Identifier: GPL-2.0-or-later
/* lwprun's command line: its options and their ranges. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lwp.h"
#include "lwp_names.h"
#include "lwprun_options.h"
#include "pool.h"

#define DEFAULT_RING (256 * 1024)
#define DEFAULT_THREADS 1024
/* Low bits of each reload that are drawn at random: loops cannot fall into step with the interval. */
#define DEFAULT_RANDOM 6
/* A ring for every branch: what a thread does while lwprun writes must fit. */
#define DEFAULT_RING_ALL (16 * 1024 * 1024)
#define DEFAULT_WINDOW 128 /* branches */
#define DEFAULT_EVERY 10240 /* branches */
/* A ring for sampled windows is never full either. One of the first, short interval outlasts a late look at it. */
#define DEFAULT_RING_SAMPLED (1024 * 1024)
#define DEFAULT_RING_THINNED (1024 * 1024)
/* For stacks each part of a ring is a page: 128 records. */
#define DEFAULT_RING_STACKS (POOL_GUARD_PARTS * POOL_PAGE)
#define DEFAULT_INTERVAL_STACKS 5000
#define LIVE_PERIOD 1000000000ull /* ns */
#define WINDOW_MIN 2
#define WINDOW_MAX (1 << 20)
#define EVERY_MAX (1 << 30)
#define PERIOD_MAX (3600 * 1000000000ull)
#define PID_LIMIT (1 << 22) /* of Linux */
/* Neither given nor a value. */
#define NOT_GIVEN UINT32_MAX

#define bad_usage(state, ...) argp_failure(state, LWPRUN_USAGE, 0, __VA_ARGS__)

enum {
	OPTION_SEED = 0x100,
	OPTION_MAX_THREADS,
	OPTION_WAIT,
	OPTION_WINDOWS,
	OPTION_STACKS,
	OPTION_LIVE
};

const char *argp_program_version = "lwprun (vlwp) " LWPRUN_VERSION;

/* What argp prints before and after the options; %s: the events. */
static const char description[] =
	"Run PROGRAM and profile it, its threads and the processes it starts with LWP, "
	"AMD's Lightweight Profiling."
	"\vEVENT is one of %s; a record is taken every INTERVAL + 1 of them. The processor decides "
	"which events it counts.\n"
	"\n"
	"Exit status: that of PROGRAM, 128 + N if signal N ended it; 1 if it could not be run or "
	"the profile not be written, 2 for wrong usage, 77 if the processor has no LWP.\n"
	"\n"
	"lwpctl report shows the profile.";

static const struct argp_option argp_options[] = {
	{ "event", 'e', "EVENT[:INTERVAL][,...]", 0,
	  "events to take records of (default: instructions); without INTERVAL some 10000 are kept of each",
	  0 },
	{ "windows", OPTION_WINDOWS, "N[:EVERY]|all", OPTION_ARG_OPTIONAL,
	  "record N consecutive branches of each EVERY (default: 128:10240), or all branches", 0 },
	{ "stacks", OPTION_STACKS, NULL, 0,
	  "record where threads are, with all callers, at each 128th record; without INTERVAL that is some 640000 "
	  "instructions",
	  0 },
	{ "ring-size", 'm', "BYTES", 0,
	  "ring of each thread, with suffix K or M if wanted (default: 256K; without INTERVAL and for "
	  "windows 1M, for all branches 16M)",
	  0 },
	{ "random", 'r', "BITS", 0,
	  "low bits of each interval drawn at random, 0 to 15 (default: 6)", 0 },
	{ "output", 'o', "FILE", 0, "the profile (default: lwp.data)", 0 },
	{ "live", OPTION_LIVE, "PERIOD", OPTION_ARG_OPTIONAL,
	  "put records into the file after PERIOD at the latest (default: 1s), for lwpctl top", 0 },
	{ "pid", 'p', "PID", 0,
	  "profile the process PID, which runs already, until it ends or lwprun gets a signal", 0 },
	{ "no-follow", 'n', NULL, 0,
	  "only PROGRAM and its threads, not the processes that it starts", 0 },
	{ "wait", OPTION_WAIT, NULL, 0, "profile until all processes have ended, not just PROGRAM",
	  0 },
	{ "max-threads", OPTION_MAX_THREADS, "N", 0,
	  "threads profiled at the same time, at most (default: 1024)", 0 },
	{ "seed", OPTION_SEED, "N", 0, "where in its first interval each thread starts", 0 },
	{ "quiet", 'q', NULL, 0, "no summary at the end", 0 },
	{ 0 },
};

/* The events that can be asked for: "values, instructions, ...". */
static const char *event_list(void)
{
	static char list[256];

	list[0] = '\0';
	for (const struct lwp_feature *f = lwp_features; f->property; f++) {
		size_t used = strlen(list);

		if (f->event)
			snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
				 f->event);
	}
	return list;
}

static uint32_t default_interval(uint32_t event_id)
{
	const struct lwp_feature *f = lwp_feature_by_flag(LWP_REV_43724, LWP_ENABLE(event_id));

	return f ? f->interval : 0;
}

/* A decimal or 0x number that must end where `end` says (NULL: at the text's end). */
static bool parse_number(const char *text, const char **end, uint64_t *value)
{
	char *stop;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &stop, 0);
	if (end)
		*end = stop;
	return !errno && (end || !*stop);
}

static uint64_t number_in(struct argp_state *state, const char *name, const char *text,
			  uint64_t low, uint64_t high)
{
	uint64_t value = 0;

	if (!parse_number(text, NULL, &value) || value < low || value > high)
		bad_usage(state, "%s '%s' is not a number from %llu to %llu", name, text,
			  (unsigned long long)low, (unsigned long long)high);
	return value;
}

/* EVENT[:INTERVAL] */
static void parse_event(struct argp_state *state, struct options *options, char *text)
{
	char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	uint32_t id = lwpdata_event_by_name(text, length);
	uint64_t interval;

	if (!id || id == LWP_EVENT_INSERTED)
		bad_usage(state, "unknown event '%.*s'; the events are %s", (int)length, text,
			  event_list());
	interval = default_interval(id);
	if (colon)
		interval = number_in(state, "interval", colon + 1, 0, LWP_INTERVAL_MAX);
	else if (id != LWP_EVENT_VALUE) /* each of which the program wants */
		options->thinned |= 1u << options->nr_events;
	for (uint32_t i = 0; i < options->nr_events; i++)
		if (options->events[i].event_id == id)
			bad_usage(state, "event '%.*s' is given twice", (int)length, text);
	options->events[options->nr_events].event_id = id;
	options->events[options->nr_events].interval = (uint32_t)interval;
	options->nr_events++;
}

static void parse_events(struct argp_state *state, struct options *options, char *text)
{
	char *next = text;

	while ((text = strsep(&next, ",")))
		parse_event(state, options, text);
}

static uint32_t parse_ring(struct argp_state *state, const char *text)
{
	const char *end = "";
	uint64_t value = 0;
	bool good = parse_number(text, &end, &value) && value <= LWP_RING_MAX;

	if (good && (*end == 'K' || *end == 'k'))
		value <<= 10, end++;
	else if (good && (*end == 'M' || *end == 'm'))
		value <<= 20, end++;
	if (!good || *end || !value || value > LWP_RING_MAX || value % sizeof(struct lwp_event))
		bad_usage(state, "ring size '%s' is not a multiple of %zu bytes up to %u", text,
			  sizeof(struct lwp_event), LWP_RING_MAX);
	return (uint32_t)value;
}

/* A number of us, ms (also without a unit) or s, in ns; 0 if it is none. */
static uint64_t parse_period(const char *text)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "", 1000000 }, { "s", 1000000000 } };
	const char *end;
	uint64_t value;

	if (!parse_number(text, &end, &value))
		return 0;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name) && value <= PERIOD_MAX / units[i].ns)
			return value * units[i].ns;
	return 0;
}

/* N[:EVERY], "all", or nothing (NULL) */
static void parse_windows(struct argp_state *state, struct options *options, char *text)
{
	char *colon = text ? strchr(text, ':') : NULL;
	options->windows = WINDOWS_SAMPLED;
	if (text && !strcmp(text, "all")) {
		options->windows = WINDOWS_ALL;
		return;
	}
	options->window = DEFAULT_WINDOW;
	options->window_every = DEFAULT_EVERY;
	if (colon)
		*colon = '\0';
	if (text)
		options->window = (uint32_t)number_in(state, "window of branches", text, WINDOW_MIN,
						      WINDOW_MAX);
	if (colon)
		options->window_every = (uint32_t)number_in(state, "window's share of branches",
							    colon + 1, options->window, EVERY_MAX);
	else if (options->window_every < options->window)
		options->window_every = options->window;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'e':
		parse_events(state, options, arg);
		return 0;
	case 'm':
		options->ring_size = parse_ring(state, arg);
		return 0;
	case 'r':
		options->random = (uint32_t)number_in(state, "random bits", arg, 0, LWP_RANDOM_MAX);
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case OPTION_LIVE:
		options->live = arg ? parse_period(arg) : LIVE_PERIOD;
		if (!options->live)
			bad_usage(state, "period '%s' is not a number of us, ms or s up to an hour",
				  arg);
		return 0;
	case 'p':
		options->pid = (pid_t)number_in(state, "process", arg, 1, PID_LIMIT);
		return 0;
	case 'n':
		options->follow = false;
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case OPTION_WAIT:
		options->wait = true;
		return 0;
	case OPTION_WINDOWS:
		parse_windows(state, options, arg);
		return 0;
	case OPTION_STACKS:
		options->stacks = true;
		return 0;
	case OPTION_MAX_THREADS:
		options->max_threads =
			(uint32_t)number_in(state, "max-threads", arg, 1, POOL_MAX_SLOTS);
		return 0;
	case OPTION_SEED:
		options->seed = number_in(state, "seed", arg, 0, UINT64_MAX);
		return 0;
	case ARGP_KEY_ARGS:
		/* The program and all that follows, also what looks like an option. */
		options->argv = state->argv + state->next;
		options->argc = state->argc - state->next;
		state->next = state->argc;
		return 0;
	case ARGP_KEY_NO_ARGS:
		if (options->pid)
			return 0;
		bad_usage(state, "no program to run");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void fail(const char *message)
{
	fprintf(stderr, "%s: %s\n", program_invocation_short_name, message);
	exit(LWPRUN_USAGE);
}

/* Every branch, and nothing else. */
static void choose_windows(struct options *options)
{
	bool sampled = options->windows == WINDOWS_SAMPLED;

	if (options->nr_events)
		fail("--event does not go with --windows: of two events that are due at once LWP "
		     "records one, and the window would have a hole");
	if (options->random != NOT_GIVEN && options->random)
		fail("--random does not go with --windows, which has every branch");
	if (options->ring_size % (POOL_GUARD_PARTS * POOL_PAGE))
		fail("--windows wants a --ring-size that is a multiple of 32K");
	if (!options->ring_size)
		options->ring_size = sampled ? DEFAULT_RING_SAMPLED : DEFAULT_RING_ALL;
	options->nr_events = 1;
	options->events[0].event_id = LWP_EVENT_BRANCH;
	options->events[0].interval = 0;
	options->random = 0;
}

/* One event, whose records have one interval: so each stack stands for as much as another. */
static void choose_stacks(struct options *options)
{
	if (options->windows)
		fail("--stacks does not go with --windows, which tell callers themselves");
	if (options->nr_events > 1)
		fail("--stacks wants one event, for which a stack stands");
	if (options->ring_size % DEFAULT_RING_STACKS)
		fail("--stacks wants a --ring-size that is a multiple of 32K");
	if (!options->ring_size)
		options->ring_size = DEFAULT_RING_STACKS;
	if (!options->nr_events) {
		options->nr_events = 1;
		options->events[0].event_id = LWP_EVENT_INSTRUCTION;
		options->events[0].interval = DEFAULT_INTERVAL_STACKS;
	}
	options->thinned = 0;
}

static void choose_defaults(struct options *options)
{
	if (options->stacks)
		choose_stacks(options);
	if (options->windows)
		choose_windows(options);
	if (options->random == NOT_GIVEN)
		options->random = DEFAULT_RANDOM;
	if (!options->nr_events) {
		options->nr_events = 1;
		options->thinned = 1;
		options->events[0].event_id = LWP_EVENT_INSTRUCTION;
		options->events[0].interval = default_interval(LWP_EVENT_INSTRUCTION);
	}
	if (!options->ring_size)
		options->ring_size = options->thinned ? DEFAULT_RING_THINNED : DEFAULT_RING;
}

void options_parse(struct options *options, int argc, char **argv)
{
	static char text[2048];
	static const struct argp argp = { argp_options, parse, "PROGRAM [ARG...]\n--pid=PID",
					  text };

	snprintf(text, sizeof(text), description, event_list());

	*options = (struct options){
		.random = NOT_GIVEN,
		.max_threads = DEFAULT_THREADS,
		.output = "lwp.data",
		.follow = true,
	};
	argp_err_exit_status = LWPRUN_USAGE;
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
	if (options->pid && options->argc)
		fail("--pid does not go with a program");
	if (options->pid && options->windows == WINDOWS_ALL)
		fail("--pid does not go with --windows=all: nothing makes the process wait for its "
		     "records to be written");
	if (options->pid && options->stacks)
		fail("--pid does not go with --stacks: nothing makes the process wait for them");
	choose_defaults(options);
}
