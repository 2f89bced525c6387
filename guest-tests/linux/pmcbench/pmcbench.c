// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pmcbench: how many instructions, branches, ... a snippet of code takes, by the processor's own counters. See
 * pmcbench_options.c for what can be asked for.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pmcbench.h"

static void faulted(int sig)
{
	static const char text[] = "pmcbench: the snippet faulted\n";
	ssize_t written = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)written;
	_exit(STATUS_FAILED);
}

/* Code from the command line may fault, and may have spoiled the stack. */
static void watch_faults(void)
{
	static const int signals[] = { SIGILL, SIGSEGV, SIGBUS, SIGFPE, SIGTRAP };
	static uint8_t stack[65536];
	const stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = { .sa_handler = faulted, .sa_flags = SA_ONSTACK };

	sigaltstack(&other, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		sigaction(signals[i], &action, NULL);
}

static void pin(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		quit(STATUS_FAILED, "cannot run on CPU %u: %s", cpu, strerror(errno));
}

static struct samples room(const struct options *options)
{
	struct samples s = { 0 };

	for (unsigned int i = 0; i < options->nr_events; i++) {
		s.value[i] = calloc(options->runs, sizeof(*s.value[i]));
		if (!s.value[i])
			quit(STATUS_FAILED, "no memory for %u runs", options->runs);
	}
	return s;
}

static void measure(const struct options *options, const struct snippet *snippet,
		    struct samples *samples)
{
	if (options->lwp)
		records_measure(options, snippet, samples);
	else
		counters_measure(options, snippet, samples);
}

int main(int argc, char **argv)
{
	struct options options;
	struct samples floor, samples;

	options_parse(&options, argc, argv);
	pin(options.cpu);
	watch_faults();
	floor = room(&options);
	samples = room(&options);
	if (options.lwp)
		records_open(&options);
	else
		counters_open(&options);
	measure(&options, &snippet_empty, &floor);
	measure(&options, &options.snippet, &samples);
	table_print(&options, &floor, &samples);
	if (fflush(stdout) || ferror(stdout))
		quit(STATUS_FAILED, "cannot write the table: %s", strerror(errno));
	return 0;
}
