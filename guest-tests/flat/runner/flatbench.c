// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flatbench: what LWP, and the fixes of QEMU in front of it, cost under TCG. Runs the same load of the test
 * kernel in several configurations, taking turns, and prints the CPU time of each as a ratio to the unpatched
 * emulator.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"

static struct {
	const char *base, *patched, *firmware, *image, *plugin;
	unsigned int rounds, turns;
} opt = { .rounds = 60000, .turns = 3 };

static const struct config {
	const char *name;
	bool patched;
	const char *cpu;
	const char *args; /* for the test */
	const char *plugin; /* arguments of the insn plugin, NULL: none */
	unsigned int cpus; /* 0: one */
	unsigned int
		base; /* number of the configuration of unpatched QEMU that has the same load */
} configs[] = {
	{ "unpatched QEMU", false, "EPYC", "", NULL },
	{ "patched, without lwp", true, "EPYC", "", NULL },
	{ "lwp present, off", true, "EPYC,+lwp", "", NULL },
	{ "instructions, interval 1000000", true, "EPYC,+lwp", " interval=1000000", NULL },
	{ "instructions, interval 10000", true, "EPYC,+lwp", " interval=10000", NULL },
	{ "branches, interval 1000000", true, "EPYC,+lwp", " interval=1000000 event=3", NULL },
	{ "branches, interval 10000", true, "EPYC,+lwp", " interval=10000 event=3", NULL },
	{ "unpatched, insn plugin inline", false, "EPYC", "", "inline=on" },
	{ "unpatched, insn plugin callback", false, "EPYC", "", "inline=off" },
#define STORES 9
	[STORES] = { "stores beside code, unpatched", false, "EPYC", " beside=1", NULL, 2, STORES },
	{ "stores beside code, patched", true, "EPYC", " beside=1", NULL, 2, STORES },
};
#define CONFIGS (sizeof(configs) / sizeof(configs[0]))

static _Noreturn void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: flatbench --base QEMU --patched QEMU --firmware DIR --image FLAT.ELF --plugin LIBINSN.SO\n"
		"                 [--rounds N] [--turns N]\n"
		"Compare the CPU time of one load under TCG with and without LWP.\n");
	exit(status);
}

/* Runs one configuration; its CPU time (user and system) in seconds. */
static double run(const struct config *c, unsigned int rounds)
{
	char append[128], plugin[4096], smp[16];
	const char *argv[MACHINE_MAX_ARGS];
	const struct machine m = {
		.qemu = c->patched ? opt.patched : opt.base,
		.firmware = opt.firmware,
		.accel = "tcg",
		.cpu = c->cpu,
		.image = opt.image,
		.append = append,
		.plugin = c->plugin ? plugin : NULL,
		.cpus = c->cpus ? c->cpus : 1,
	};
	struct rusage usage;
	int status = 0;
	pid_t pid;

	snprintf(append, sizeof(append), "test=bench cpus=%u rounds=%u%s", m.cpus, rounds, c->args);
	if (c->plugin)
		snprintf(plugin, sizeof(plugin), "%s,%s", opt.plugin, c->plugin);
	machine_command(&m, smp, argv);
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	/* The kernel leaves with 0, which isa-debug-exit makes 1. */
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 1) {
		fprintf(stderr, "flatbench: '%s' does not run: %s exited with %d\n", c->name,
			argv[0], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
		exit(1);
	}
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static unsigned int number(const char *arg)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(arg, &end, 10);
	if (errno || end == arg || *end || !value || value > 1000000) {
		fprintf(stderr, "flatbench: '%s' is not a number from 1 to 1000000\n", arg);
		exit(2);
	}
	return (unsigned int)value;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "base", required_argument, NULL, 'b' },
		{ "patched", required_argument, NULL, 'p' },
		{ "firmware", required_argument, NULL, 'f' },
		{ "image", required_argument, NULL, 'i' },
		{ "plugin", required_argument, NULL, 'g' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "turns", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'b':
			opt.base = optarg;
			break;
		case 'p':
			opt.patched = optarg;
			break;
		case 'f':
			opt.firmware = optarg;
			break;
		case 'i':
			opt.image = optarg;
			break;
		case 'g':
			opt.plugin = optarg;
			break;
		case 'r':
			opt.rounds = number(optarg);
			break;
		case 't':
			opt.turns = number(optarg);
			break;
		case 'h':
			usage(0);
		default:
			exit(2);
		}
	}
	if (optind < argc || !opt.base || !opt.patched || !opt.firmware || !opt.image ||
	    !opt.plugin)
		usage(2);
}

int main(int argc, char **argv)
{
	double boot[CONFIGS], load[CONFIGS];

	parse(argc, argv);
	for (unsigned int turn = 0; turn < opt.turns; turn++) {
		for (size_t i = 0; i < CONFIGS; i++) {
			double b = run(&configs[i], 1), l = run(&configs[i], opt.rounds);

			boot[i] = turn ? least(boot[i], b) : b;
			load[i] = turn ? least(load[i], l) : l;
		}
	}
	printf("CPU time of the same load, least of %u turns, boot taken off\n\n", opt.turns);
	printf("%-34s %9s %7s\n", "configuration", "seconds", "ratio");
	for (size_t i = 0; i < CONFIGS; i++) {
		unsigned int base = configs[i].base;

		printf("%-34s %9.3f %7.3f\n", configs[i].name, load[i] - boot[i],
		       (load[i] - boot[i]) / (load[base] - boot[base]));
	}
	return 0;
}
