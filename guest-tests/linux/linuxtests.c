// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * linuxtests: runs the test programs beside it, in the guest, one after the other, and reports what came of
 * them. Adding a test: one file test_NAME.c, its name in meson.build and in the table here.
 *
 * linuxtests [--list | NAME...]: without names, all
 */
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#define TIME_LIMIT 120 /* seconds a test may take */

static const struct test {
	const char *name, *about;
} tests[] = {
	{ "mlwp", "records of a program that the compiler's intrinsics wrote, gcc -mlwp" },
	{ "sample", "the documented example of the intrinsics: its records, in order" },
	{ "sample_32", "the same in 32 bits" },
	{ "moves", "a thread that moves between two CPUs, of which the other is idle" },
	{ "moves_32", "the same in 32 bits, where no register names the thread" },
	{ "known", "known code in one thread, through faults and signals" },
	{ "segv", "a ring that is taken away while records are due" },
	{ "fork", "the child of a fork has no LWP, the parent's profile is whole" },
	{ "two", "two programs on one CPU, each with a complete profile" },
	{ "threads", "eight threads that move between two CPUs, each with a profile of its own" },
	{ "gs", "threads with GS bases of their own, and one that changes it, as under Wine" },
	{ "liblwp", "the library: errors, counts, marks, windows, ends of threads and children" },
	{ "liblwp_32", "the same in 32 bits" },
	{ "perf", "Linux's perf on the processor's performance counters" },
	{ "ibs",
	  "perf's samples of ops in a known loop are even, and say what each instruction is" },
	{ "lbr", "perf's branch stacks are stretches of LWP's trace of all branches" },
};

static struct {
	unsigned int passed, failed, skipped;
} tally;

/* Starts a test with its standard output in *out. */
static pid_t start(const char *dir, const char *name, FILE **out)
{
	char path[PATH_MAX];
	int pipes[2];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/test_%s", dir, name);
	if (pipe(pipes)) {
		perror("linuxtests: pipe");
		exit(1);
	}
	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(pipes[1], STDOUT_FILENO);
		close(pipes[0]);
		close(pipes[1]);
		alarm(TIME_LIMIT);
		execl(path, path, NULL);
		perror(path);
		_exit(127);
	}
	close(pipes[1]);
	*out = fdopen(pipes[0], "r");
	if (pid < 0 || !*out) {
		perror("linuxtests: cannot start a test");
		exit(1);
	}
	return pid;
}

/* What makes a run an error, not a verdict on LWP; NULL if nothing does. */
static const char *broken(const struct tap_sums *t, int status)
{
	if (t->bail[0])
		return t->bail;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? "no end within the time limit" :
						     strsignal(WTERMSIG(status));
	if (!t->planned || t->plan != t->passed + t->failed + t->skipped)
		return "plan and points do not agree";
	if ((WEXITSTATUS(status) != 0) != (t->failed != 0))
		return "points and exit status do not agree";
	return NULL;
}

static void run(const char *dir, const char *name)
{
	struct tap_sums t = { 0 };
	char line[1024];
	const char *why;
	int status;
	FILE *out;
	pid_t pid = start(dir, name, &out);

	while (fgets(line, sizeof(line), out)) {
		line[strcspn(line, "\n")] = 0;
		tap_line(&t, line);
		if (!strncmp(line, "not ok", 6))
			printf("      %s\n", line);
	}
	fclose(out);
	if (waitpid(pid, &status, 0) != pid) {
		perror("linuxtests: waitpid");
		exit(1);
	}
	why = broken(&t, status);
	printf("%-5s %s (%u points)%s%s\n",
	       why	? "ERROR" :
	       t.failed ? "FAIL" :
			  "pass",
	       name, t.passed + t.failed + t.skipped, why ? ": " : "", why ? why : "");
	tally.passed += t.passed;
	tally.skipped += t.skipped;
	tally.failed += t.failed + (why != NULL);
}

static bool wanted(const struct test *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], t->name))
			return true;
	}
	return argc < 2;
}

int main(int argc, char **argv)
{
	char *dir = dirname(strdup(argv[0]));
	bool list = argc == 2 && !strcmp(argv[1], "--list");

	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (list)
			printf("%s %s\n", tests[i].name, tests[i].about);
		else if (wanted(&tests[i], argc, argv))
			run(dir, tests[i].name);
	}
	if (list)
		return 0;
	printf("%u passed, %u failed, %u skipped\n", tally.passed, tally.failed, tally.skipped);
	return tally.failed != 0;
}
