// SPDX-License-Identifier: GPL-2.0-or-later
/* flatrun: runs the rows of table.c, each in a QEMU of its own, and reports what came of them. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "child.h"
#include "table.h"
#include "tap.h"

#define EXIT_USAGE 2
#define EXIT_SKIPPED 77
#define MAX_JOBS 64
#define MAX_PATTERNS 32
#define MAX_ARGS 40

static struct {
	const char *qemu, *firmware, *image, *accel, *dump;
	const char *only[MAX_PATTERNS];
	unsigned int patterns, jobs, factor;
	bool list, verbose;
} opt = { .qemu = "qemu-system-x86_64", .accel = "tcg", .jobs = 2, .factor = 1 };

static struct {
	unsigned int passed, failed, skipped;
} tally;

static struct job {
	const struct run *run; /* NULL: free */
	struct child child;
	double began;
} jobs[MAX_JOBS];

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = sig;
}

static void usage(FILE *to)
{
	fprintf(to,
		"usage: flatrun [OPTION...]\n"
		"Run the bare-metal LWP conformance tests in QEMU.\n\n"
		"  --qemu PATH        emulator (default: qemu-system-x86_64 from PATH)\n"
		"  --firmware DIR     where the emulator finds its firmware (its -L)\n"
		"  --image PATH       test kernel (default: flat.elf beside flatrun)\n"
		"  --accel tcg|kvm    default: tcg\n"
		"  --jobs N           runs at a time, 1..64 (default: 2)\n"
		"  --only PATTERN     only runs whose name matches; may be given again\n"
		"  --list             show the runs and do nothing\n"
		"  --verbose          show all that the test kernel and the emulator say\n"
		"  --dump DIR         store the ring contents of each run in DIR/RUN.dump\n"
		"  --timeout-factor N stretch every time limit, 1..100 (nested machines)\n"
		"\nThe last line is \"N passed, N failed, N skipped\", test points; a run that is broken is\n"
		"called an error and counts as one failure. With VLWP_TALLY=FILE in the environment the three\n"
		"numbers are also written there. Exit status: 0, 1 failures, 2 usage, 77 nothing to run with.\n");
}

static _Noreturn void bad_usage(const char *what, const char *arg)
{
	fprintf(stderr, "flatrun: %s '%s'; try --help\n", what, arg);
	exit(EXIT_USAGE);
}

static unsigned int number(const char *name, const char *arg, unsigned long max)
{
	char *end;
	unsigned long v;

	errno = 0;
	v = strtoul(arg, &end, 10);
	if (errno || *end || end == arg || v < 1 || v > max) {
		fprintf(stderr, "flatrun: %s wants a number from 1 to %lu, not '%s'\n", name, max,
			arg);
		exit(EXIT_USAGE);
	}
	return (unsigned int)v;
}

static void parse(int argc, char **argv)
{
	enum { QEMU = 1, FIRMWARE, IMAGE, ACCEL, JOBS, ONLY, LIST, VERBOSE, DUMP, FACTOR, HELP };
	static const struct option options[] = {
		{ "qemu", required_argument, NULL, QEMU },
		{ "firmware", required_argument, NULL, FIRMWARE },
		{ "image", required_argument, NULL, IMAGE },
		{ "accel", required_argument, NULL, ACCEL },
		{ "jobs", required_argument, NULL, JOBS },
		{ "only", required_argument, NULL, ONLY },
		{ "list", no_argument, NULL, LIST },
		{ "verbose", no_argument, NULL, VERBOSE },
		{ "dump", required_argument, NULL, DUMP },
		{ "timeout-factor", required_argument, NULL, FACTOR },
		{ "help", no_argument, NULL, HELP },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case QEMU:
			opt.qemu = optarg;
			break;
		case FIRMWARE:
			opt.firmware = optarg;
			break;
		case IMAGE:
			opt.image = optarg;
			break;
		case ACCEL:
			if (!offers(optarg))
				bad_usage("--accel is tcg or kvm, not", optarg);
			opt.accel = optarg;
			break;
		case JOBS:
			opt.jobs = number("--jobs", optarg, MAX_JOBS);
			break;
		case ONLY:
			if (opt.patterns == MAX_PATTERNS)
				bad_usage("too many --only, the last is", optarg);
			opt.only[opt.patterns++] = optarg;
			break;
		case LIST:
			opt.list = true;
			break;
		case VERBOSE:
			opt.verbose = true;
			break;
		case DUMP:
			opt.dump = optarg;
			break;
		case FACTOR:
			opt.factor = number("--timeout-factor", optarg, 100);
			break;
		case HELP:
			usage(stdout);
			exit(0);
		default:
			exit(EXIT_USAGE);
		}
	}
	if (optind < argc)
		bad_usage("unknown argument", argv[optind]);
}

static bool selected(const struct run *r)
{
	unsigned int i;

	for (i = 0; i < opt.patterns; i++) {
		if (!fnmatch(opt.only[i], r->name, 0))
			return true;
	}
	return !opt.patterns;
}

/* flat.elf beside this program. */
static const char *default_image(void)
{
	static char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("flat.elf"));
	char *slash;

	if (n < 0)
		return "flat.elf";
	path[n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "flat.elf");
	return path;
}

static bool start(struct job *j, const struct run *r)
{
	char cpu[512], smp[16], append[256];
	const char *argv[MAX_ARGS];
	unsigned int cpus = r->cpus ? r->cpus : 1, n = 0;

	snprintf(cpu, sizeof(cpu), "%s%s%s", cpu_model, r->cpu ? "," : "", r->cpu ? r->cpu : "");
	snprintf(smp, sizeof(smp), "%u", cpus);
	snprintf(append, sizeof(append), "test=%s cpus=%u%s%s%s", r->test ? r->test : r->name, cpus,
		 opt.dump ? " dump=1" : "", r->args ? " " : "", r->args ? r->args : "");
	argv[n++] = opt.qemu;
	if (opt.firmware) {
		argv[n++] = "-L";
		argv[n++] = opt.firmware;
	}
	argv[n++] = "-accel";
	argv[n++] = opt.accel;
	argv[n++] = "-machine";
	argv[n++] = "q35";
	argv[n++] = "-cpu";
	argv[n++] = cpu;
	argv[n++] = "-smp";
	argv[n++] = smp;
	argv[n++] = "-m";
	argv[n++] = "64";
	argv[n++] = "-nodefaults";
	argv[n++] = "-no-user-config";
	argv[n++] = "-display";
	argv[n++] = "none";
	if (!r->resets)
		argv[n++] = "-no-reboot";
	argv[n++] = "-serial";
	argv[n++] = "stdio";
	argv[n++] = "-device";
	argv[n++] = "isa-debug-exit,iobase=0xf4,iosize=4";
	argv[n++] = "-kernel";
	argv[n++] = opt.image;
	argv[n++] = "-append";
	argv[n++] = append;
	argv[n] = NULL;
	j->run = r;
	j->began = now();
	return child_start(&j->child, (char *const *)argv,
			   opt.factor * (r->timeout ? r->timeout : DEFAULT_TIMEOUT));
}

static FILE *open_dump(const struct run *r)
{
	char path[PATH_MAX];
	FILE *f;

	if (!opt.dump)
		return NULL;
	snprintf(path, sizeof(path), "%s/%s.dump", opt.dump, r->name);
	f = fopen(path, "w");
	if (!f) {
		fprintf(stderr, "flatrun: cannot write %s: %s\n", path, strerror(errno));
		exit(1);
	}
	return f;
}

/* Lines of a run that explain its failure: points that are not ok with the notes behind them. */
static void show_failures(const char *text)
{
	bool show = false;
	const char *line, *end;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (strncmp(line, "# dump ", 7) == 0)
			continue;
		if (*line != '#')
			show = !strncmp(line, "not ok ", 7);
		if (show)
			printf("      %.*s\n", (int)(end - line), line);
	}
}

/* All lines but those that have `noise` in them. */
static void show_all(const char *text, const char *noise)
{
	const char *line, *end, *p;

	for (line = text; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		p = noise ? strstr(line, noise) : NULL;
		if (!p || p > end)
			printf("      %.*s\n", (int)(end - line), line);
	}
}

static void finish(struct job *j)
{
	static const char *const words[] = { "pass", "FAIL", "skip", "ERROR" };
	const char *text = j->child.out.text ? j->child.out.text : "";
	const char *err = j->child.err.text ? j->child.err.text : "";
	FILE *dump = open_dump(j->run);
	struct tap tap = { 0 };
	enum verdict v;
	char why[300] = "", *copy = strdup(text), *line, *rest = copy;

	while (copy && (line = strsep(&rest, "\n"))) {
		line[strcspn(line, "\r")] = '\0';
		tap_line(&tap, line, dump);
	}
	free(copy);
	if (dump && fclose(dump)) {
		fprintf(stderr, "flatrun: cannot write the dump of %s: %s\n", j->run->name,
			strerror(errno));
		exit(1);
	}
	v = tap_verdict(&tap, &j->child.end, why, sizeof(why));
	printf("%-5s %s (%u points, %.1f s)%s%s\n", words[v], j->run->name,
	       tap.passed + tap.failed + tap.skipped, now() - j->began, why[0] ? ": " : "", why);
	if (opt.verbose) {
		show_all(text, NULL);
		show_all(err, NULL);
	} else if (v == VERDICT_FAIL || v == VERDICT_ERROR) {
		show_failures(text);
		if (v == VERDICT_ERROR)
			show_all(err, "TCG doesn't support requested feature");
	}
	fflush(stdout);
	tally.passed += tap.passed;
	tally.skipped += tap.skipped;
	tally.failed += tap.failed + (why[0] != '\0');
	child_free(&j->child);
	j->run = NULL;
}

/* Next row that is to be run, from *next on; rows that this accelerator cannot run are skipped. */
static const struct run *next_run(size_t *next)
{
	unsigned int missing;

	while (*next < run_count) {
		const struct run *r = &runs[(*next)++];

		if (!selected(r))
			continue;
		missing = r->needs & ~offers(opt.accel);
		if (!missing)
			return r;
		printf("skip  %s: %s does not offer %s\n", r->name, opt.accel, need_name(missing));
		tally.skipped++;
	}
	return NULL;
}

static void wait_a_little(void)
{
	struct pollfd fds[2 * MAX_JOBS];
	nfds_t n = 0;
	unsigned int i;

	for (i = 0; i < opt.jobs; i++) {
		if (!jobs[i].run)
			continue;
		fds[n++] = (struct pollfd){ jobs[i].child.out.fd, POLLIN, 0 };
		fds[n++] = (struct pollfd){ jobs[i].child.err.fd, POLLIN, 0 };
	}
	poll(fds, n, 10);
}

static void kill_all(void)
{
	unsigned int i;

	for (i = 0; i < opt.jobs; i++) {
		if (jobs[i].run)
			child_kill(&jobs[i].child);
	}
}

static void run_all(void)
{
	bool more = true, busy = true;
	size_t next = 0;
	unsigned int i;

	while (more || busy) {
		busy = false;
		for (i = 0; i < opt.jobs; i++) {
			if (!jobs[i].run && more) {
				const struct run *r = next_run(&next);

				more = r;
				if (r && !start(&jobs[i], r)) {
					fprintf(stderr, "flatrun: cannot start %s: %s\n", opt.qemu,
						strerror(errno));
					kill_all();
					exit(1);
				}
			}
			if (jobs[i].run && child_poll(&jobs[i].child))
				finish(&jobs[i]);
			busy |= jobs[i].run != NULL;
		}
		if (interrupted) {
			kill_all();
			signal(interrupted, SIG_DFL);
			raise(interrupted);
		}
		if (busy)
			wait_a_little();
	}
}

static int list(void)
{
	size_t i;

	for (i = 0; i < run_count; i++) {
		if (selected(&runs[i]))
			printf("%-28s %s%s%s%s\n", runs[i].name, cpu_model, runs[i].cpu ? "," : "",
			       runs[i].cpu ? runs[i].cpu : "",
			       runs[i].needs & ~offers(opt.accel) ? " (skipped here)" : "");
	}
	return 0;
}

static int write_tally(void)
{
	const char *path = getenv("VLWP_TALLY");
	FILE *f;

	if (!path)
		return 0;
	f = fopen(path, "w");
	if (!f || fprintf(f, "%u %u %u\n", tally.passed, tally.failed, tally.skipped) < 0 ||
	    fclose(f)) {
		fprintf(stderr, "flatrun: cannot write VLWP_TALLY file %s: %s\n", path,
			strerror(errno));
		return 1;
	}
	return 0;
}

static bool in_path(const char *program)
{
	char *path = strdup(getenv("PATH") ? getenv("PATH") : ""), *rest = path, *dir;
	char full[PATH_MAX];
	bool found = false;

	if (strchr(program, '/'))
		found = !access(program, X_OK);
	while (!found && path && (dir = strsep(&rest, ":"))) {
		snprintf(full, sizeof(full), "%s/%s", dir, program);
		found = !access(full, X_OK);
	}
	free(path);
	return found;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };

	parse(argc, argv);
	if (opt.list)
		return list();
	if (!opt.image)
		opt.image = default_image();
	if (access(opt.image, R_OK)) {
		fprintf(stderr, "flatrun: no test kernel at %s; build it or give --image\n",
			opt.image);
		return EXIT_SKIPPED;
	}
	if (!in_path(opt.qemu)) {
		fprintf(stderr, "flatrun: no emulator %s; build it or give --qemu\n", opt.qemu);
		return EXIT_SKIPPED;
	}
	if (!strcmp(opt.accel, "kvm") && access("/dev/kvm", R_OK | W_OK)) {
		fprintf(stderr, "flatrun: /dev/kvm: %s; --accel kvm needs it\n", strerror(errno));
		return EXIT_SKIPPED;
	}
	if (opt.dump && mkdir(opt.dump, 0777) && errno != EEXIST) {
		fprintf(stderr, "flatrun: cannot make directory %s: %s\n", opt.dump,
			strerror(errno));
		return 1;
	}
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	run_all();
	if (!tally.passed && !tally.failed && !tally.skipped) {
		fprintf(stderr,
			"flatrun: no run has a name that matches --only; --list shows them\n");
		return EXIT_USAGE;
	}
	printf("%u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
	return write_tally() || tally.failed;
}
