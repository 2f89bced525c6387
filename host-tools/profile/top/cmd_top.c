// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl top: the hottest functions of a program that runs, from the file that lwprun is writing. */
#include <argp.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "fit.h"
#include "follow.h"
#include "lwpctl.h"
#include "memory.h"
#include "view.h"

#define DEFAULT_LIMIT 20
#define HEAD_LINES 3
#define DELAY_MIN 0.05
#define DELAY_MAX 3600
/* Clear what is left of a line, and of the screen. */
#define TO_LINE_END "\x1b[K"
#define TO_SCREEN_END "\x1b[J"
#define HOME "\x1b[H"

struct arguments {
	struct view_options view;
	double delay; /* seconds */
	uint64_t frames; /* 0: until the end */
	uint64_t limit;
	bool limited; /* by the user */
};

struct top {
	const struct arguments *a;
	struct follow follow;
	struct resolver resolver;
	struct tally all;
	size_t batches, windows; /* counted so far */
	bool screen; /* the output is a terminal: a frame overwrites the one before */
};

/* A function in both. */
struct line {
	const struct row *all;
	double now; /* what its new samples stand for */
};

/* ---- The terminal --------------------------------------------------------------------------- */

static struct termios saved;
static bool changed;

static void restore(void)
{
	if (changed)
		tcsetattr(STDIN_FILENO, TCSANOW, &saved);
	changed = false;
}

static void on_signal(int signal)
{
	restore();
	_exit(128 + signal);
}

/* What was there is not: lwprun cuts a file off that does not fit on the disk. */
static void on_bus_error(int signal)
{
	static const char text[] = "lwpctl: the file was cut off\n";
	ssize_t done = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)done;
	restore();
	_exit(LWPCTL_FAILED);
}

/* Keys are read as they are pressed. */
static void prepare_keys(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct termios raw;

	signal(SIGBUS, on_bus_error);
	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &saved))
		return;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		signal(ends[i], on_signal);
	raw = saved;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	changed = !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

/* Returns true if the user has enough of it. */
static bool wait_for_key(double seconds)
{
	struct pollfd input = { .fd = changed ? STDIN_FILENO : -1, .events = POLLIN };
	char key;

	return poll(&input, 1, (int)(seconds * 1000)) > 0 &&
	       (read(STDIN_FILENO, &key, 1) != 1 || key == 'q');
}

static void screen_size(const struct top *top, size_t *rows, size_t *columns)
{
	struct winsize size;

	*rows = SIZE_MAX;
	*columns = SIZE_MAX;
	if (top->screen && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_row && size.ws_col) {
		*rows = size.ws_row;
		*columns = size.ws_col;
	}
}

/* ---- A frame -------------------------------------------------------------------------------- */

/* One line, not longer than the terminal. */
static void put_line(const struct top *top, size_t columns, const char *text)
{
	size_t n = 0;

	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) != 0x80 && n++ >= columns)
			break;
		putchar(*text);
	}
	puts(top->screen ? TO_LINE_END : "");
}

/* What the samples of the row with these labels stand for. */
static double weight_of(const struct rows *rows, const struct row *like)
{
	for (size_t i = 0; i < rows->nr; i++)
		if (rows->list[i].labels[0] == like->labels[0] &&
		    rows->list[i].labels[1] == like->labels[1])
			return rows->list[i].weight;
	return 0;
}

/* The hottest of the last while first, then the older ones. */
static int compare(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return ORDER(y->now, x->now)			     ?:
		       ORDER(y->all->weight, x->all->weight) ?:
							       ORDER(x->all, y->all);
}

static double share(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void put_head(const struct top *top, uint32_t event_id, uint64_t all, uint64_t now,
		     size_t columns)
{
	const struct profile *p = &top->follow.profile;
	uint64_t last = p->config.start_monotonic;
	size_t threads = 0;
	char *text;

	if (p->nr_batches)
		last = p->batches[p->nr_batches - 1].time;
	if (p->nr_windows && p->windows[p->nr_windows - 1].time > last)
		last = p->windows[p->nr_windows - 1].time;
	for (size_t i = 0; i < p->nr_threads; i++)
		threads += !p->threads[i].ended;
	text = formatted("%s: %.1f s%s, %" PRIu64 " samples of %s, %" PRIu64 " of them new; %zu "
			 "thread%s",
			 p->path, (double)(last - p->config.start_monotonic) / 1e9,
			 top->follow.complete ? ", at the end" : "", all,
			 profile_event_name(p, event_id), now, threads, threads == 1 ? "" : "s");
	put_line(top, columns, text);
	put_line(top, columns, "");
	put_line(top, columns, "    Now  Altogether    Samples  Symbol  (object)");
	free(text);
}

#define ROW_COLUMNS 32 /* before the symbol */

static void put_rows(const struct top *top, const struct rows *all, const struct rows *now,
		     size_t most, size_t columns)
{
	struct line *lines = must(calloc(all->nr + 1, sizeof(*lines)));

	for (size_t i = 0; i < all->nr; i++)
		lines[i] = (struct line){ &all->list[i], weight_of(now, &all->list[i]) };
	qsort(lines, all->nr, sizeof(*lines), compare);
	for (size_t i = 0; i < all->nr && i < most; i++) {
		const struct row *row = lines[i].all;
		char *name = fitted_symbol(row->labels[0], last_part(row->labels[1]), ROW_COLUMNS,
					   columns == SIZE_MAX);
		char *text = formatted("%6.2f%%     %6.2f%% %10" PRIu64 "  %s",
				       share(lines[i].now, now->weight),
				       share(row->weight, all->weight), row->samples, name);

		put_line(top, columns, text);
		free(text);
		free(name);
	}
	free(lines);
}

static void make_rows(struct top *top, const struct tally *tally, uint32_t event_id,
		      struct rows *rows)
{
	static const struct grouping by = { .keys = { KEY_SYMBOL, KEY_OBJECT }, .nr = 2 };
	struct samples samples;

	samples_locate(&samples, &top->resolver, tally, &top->a->view.filter);
	rows_make(rows, &top->resolver, &samples, &by, (uint8_t)event_id, ORDER_SAMPLES);
	samples_free(&samples);
}

/* The records that have come since the last frame. */
static void count_new(struct top *top, struct tally *now)
{
	const struct profile *p = &top->follow.profile;
	struct profile new = *p;

	new.batches = p->nr_batches ? p->batches + top->batches : NULL;
	new.nr_batches -= top->batches;
	new.windows = p->nr_windows ? p->windows + top->windows : NULL;
	new.nr_windows -= top->windows;
	top->batches = p->nr_batches;
	top->windows = p->nr_windows;
	tally_profile(now, &new, &top->a->view.filter, false, NULL);
	tally_add(&top->all, &new, &top->a->view.filter, false, NULL);
}

static void put_frame(struct top *top)
{
	uint32_t event_id = profile_event(&top->follow.profile, top->a->view.kind);
	struct rows rows_all, rows_now;
	size_t rows, columns, most;
	struct tally now;

	resolver_update(&top->resolver);
	count_new(top, &now);
	make_rows(top, &top->all, event_id, &rows_all);
	make_rows(top, &now, event_id, &rows_now);
	screen_size(top, &rows, &columns);
	most = top->a->limit ? top->a->limit : SIZE_MAX;
	if (!top->a->limited && rows != SIZE_MAX)
		most = rows > HEAD_LINES + 1 ? rows - HEAD_LINES - 1 : 1;
	if (top->screen)
		fputs(HOME, stdout);
	put_head(top, event_id, rows_all.samples, rows_now.samples, columns);
	put_rows(top, &rows_all, &rows_now, most, columns);
	fputs(top->screen ? TO_SCREEN_END : top->follow.complete ? "" : "\n", stdout);
	fflush(stdout);
	rows_free(&rows_all);
	rows_free(&rows_now);
	tally_free(&now);
}

/* ---- The command ---------------------------------------------------------------------------- */

/* Waits for a file to begin. False after one line, or if the user ends it: *good says which. */
static bool begin(struct top *top, bool *good)
{
	const char *path = top->a->view.file ?: "lwp.data";
	bool said = false;
	int found;

	for (;;) {
		found = follow_open(&top->follow, path);
		*good = found >= 0 && (!found || follow_more(&top->follow) >= 0);
		if (!*good)
			return false;
		if (top->follow.reader.sections)
			return true;
		if (!said)
			fprintf(stderr, "lwpctl: %s: waiting for lwprun --live to write it\n",
				path);
		said = true;
		follow_close(&top->follow);
		if (wait_for_key(top->a->delay))
			break;
	}
	top->follow = (struct follow){ .fd = -1 };
	return false;
}

static bool show(struct top *top)
{
	bool good;

	if (!begin(top, &good))
		return good;
	resolver_init(&top->resolver, &top->follow.profile, top->a->view.sysroot, false);
	top->resolver.inlines = top->a->view.inlines;
	top->resolver.mangled = top->a->view.mangled;
	if (!profile_event(&top->follow.profile, top->a->view.kind))
		return refuse("%s: the profile has no %s", top->follow.profile.path,
			      top->a->view.kind ? lwpdata_event_name(top->a->view.kind) : "event");
	for (uint64_t n = 1;; n++) {
		put_frame(top);
		if (top->follow.complete || n == top->a->frames)
			return true;
		if (wait_for_key(top->a->delay))
			return true;
		if (follow_more(&top->follow) < 0)
			return false;
	}
}

enum { OPTION_FRAMES = 'n', OPTION_DELAY = 'd' };

static const struct argp_option options[] = {
	{ "delay", OPTION_DELAY, "SECONDS", 0, "time between two looks (default: 1)", 0 },
	{ "frames", OPTION_FRAMES, "N", 0, "end after N looks (default: when the program ends)",
	  0 },
	{ "limit", 'l', "N", 0, "rows, 0 for all (default: what the terminal has room for, or 20)",
	  0 },
	{ 0 },
};

static double seconds(struct argp_state *state, const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= DELAY_MIN && value <= DELAY_MAX))
		bad_usage(state, "'%s' is no time from %g to %d seconds", text, DELAY_MIN,
			  DELAY_MAX);
	return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case OPTION_DELAY:
		a->delay = seconds(state, arg);
		return 0;
	case OPTION_FRAMES:
		a->frames = view_number(state, "number of frames", arg);
		return 0;
	case 'l':
		a->limit = view_number(state, "limit", arg);
		a->limited = true;
		return 0;
	default:
		return other_key(key, state);
	}
}

static int run(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse, "[FILE]",
		"Show the hottest functions of a program while it runs; 'q' ends it.\vFILE is what "
		"lwprun --live is writing (default: lwp.data).",
		view_children
	};
	struct arguments a = { .view = VIEW_OPTIONS, .limit = DEFAULT_LIMIT, .delay = 1 };
	struct top top = { .a = &a, .follow = { .fd = -1 } };
	bool good;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	top.screen = isatty(STDOUT_FILENO);
	prepare_keys();
	if (top.screen)
		fputs(HOME TO_SCREEN_END, stdout);
	good = show(&top);
	restore();
	if (top.resolver.profile)
		resolver_free(&top.resolver);
	tally_free(&top.all);
	follow_close(&top.follow);
	return good ? LWPCTL_OK : LWPCTL_FAILED;
}

const struct command cmd_top = { "top", run, "show the hottest functions while a program runs" };
