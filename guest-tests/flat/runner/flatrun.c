// SPDX-License-Identifier: GPL-2.0-or-later
/* flatrun: runs the rows of table.c, each in a QEMU of its own, and reports what came of them. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "child.h"
#include "judge.h"
#include "machine.h"
#include "manifest.h"
#include "flatrun_options.h"
#include "table.h"
#include "tap.h"

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

/* The command line of a run; its strings lie in here and in opt. */
struct command {
	char cpu[512], smp[16], append[256];
	const char *argv[MACHINE_MAX_ARGS];
};

static const char *model_of(const struct run *r)
{
	return r->model ? r->model : cpu_model;
}

static const char *test_of(const struct run *r)
{
	return r->test ? r->test : r->name;
}

static void command_of(const struct run *r, struct command *c)
{
	const struct machine m = {
		.qemu = opt.qemu,
		.firmware = opt.firmware,
		.accel = opt.accel,
		.cpu = c->cpu,
		.image = opt.image,
		.append = c->append,
		.cpus = r->cpus ? r->cpus : 1,
		.reboots = r->resets,
		.hold = r->hold ? opt.preload : NULL,
	};

	snprintf(c->cpu, sizeof(c->cpu), "%s%s%s", model_of(r), r->cpu ? "," : "",
		 r->cpu ? r->cpu : "");
	snprintf(c->append, sizeof(c->append), "test=%s cpus=%u%s%s%s%s%s", test_of(r), m.cpus,
		 opt.dump ? " dump=1" : "", r->args ? " " : "", r->args ? r->args : "",
		 opt.args ? " " : "", opt.args ? opt.args : "");
	machine_command(&m, c->smp, c->argv);
}

static bool start(struct job *j, const struct run *r)
{
	struct command c;

	command_of(r, &c);
	j->run = r;
	j->began = now();
	return child_start(&j->child, (char *const *)c.argv,
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
			show_all(err, " doesn't support requested feature: ");
	}
	fflush(stdout);
	tally.passed += tap.passed;
	tally.skipped += tap.skipped;
	tally.failed += tap.failed + (why[0] != '\0');
	child_free(&j->child);
	j->run = NULL;
}

/* Next row to run, from *next on; rows that this accelerator cannot run are skipped. */
static const struct run *next_run(size_t *next)
{
	unsigned int missing;

	while (*next < run_count) {
		const struct run *r = &runs[(*next)++];

		if (!options_select(r))
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
		if (options_select(&runs[i]))
			printf("%-28s %s%s%s%s\n", runs[i].name, model_of(&runs[i]),
			       runs[i].cpu ? "," : "", runs[i].cpu ? runs[i].cpu : "",
			       runs[i].needs & ~offers(opt.accel) ? " (skipped here)" : "");
	}
	return 0;
}

/* What --print shows: a line for each run, for programs to read. */
static int print(void)
{
	struct command c;
	size_t i, n;

	for (i = 0; i < run_count; i++) {
		if (!options_select(&runs[i]))
			continue;
		command_of(&runs[i], &c);
		printf("%s\t%s", runs[i].name, test_of(&runs[i]));
		for (n = 0; c.argv[n]; n++)
			printf("\t%s", c.argv[n]);
		putchar('\n');
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

/* --judge: the exit status. */
static int judge_log(const char *path)
{
	FILE *log = fopen(path, "r");
	enum judgement result;

	/* A directory opens, and cannot be read. */
	if (!log || (fgetc(log) == EOF && ferror(log))) {
		fprintf(stderr, "flatrun: cannot read %s: %s\n", path, strerror(errno));
		return EXIT_USAGE;
	}
	rewind(log);
	result = judge(log, stdout);
	fclose(log);
	if (result == JUDGED_NO_LOG)
		fprintf(stderr,
			"flatrun: %s: no row begins there; it should be the serial log of the suite\n",
			path);
	return result == JUDGED_PASS ? 0 : result == JUDGED_SKIP ? EXIT_SKIPPED : 1;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };

	options_parse(argc, argv);
	if (opt.judge)
		return judge_log(opt.judge);
	if (opt.rows || opt.manifest) {
		(opt.rows ? manifest_rows : manifest_json)(stdout);
		return 0;
	}
	if (opt.list)
		return list();
	if (opt.print)
		return print();
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
	return tally.failed > 0;
}
