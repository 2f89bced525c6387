// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flatbench: what LWP, and the fixes of QEMU in front of it, cost under TCG. Runs the same load of the test
 * kernel in several configurations, taking turns, and prints the CPU time of each as a ratio to the unpatched
 * emulator: the median of the turns, and the least and the greatest ratio. Of loads on several vCPUs it says how often
 * all others had to wait for one, which the patched emulator tells behind one more run.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "machine.h"

static struct {
	const char *base, *patched, *firmware, *image, *plugin, *cache, *only;
	unsigned int rounds, turns;
} opt = { .rounds = 60000, .turns = 7 };

/* The configurations of unpatched QEMU, with which the others are compared, by their loads. */
enum { MIXED, STORES, THREADS_1, THREADS_100, THREADS_1000, JIT_1, JIT_2, JIT_4 };

#define LWP "EPYC,+lwp"
#define COUNTERS "EPYC,check=off,pmu=on,+perfctr-core,+perfmon-v2,+amd-lbr-v2,+ibs"
static const struct config {
	const char *name;
	bool patched;
	const char *cpu;
	const char *args; /* for the test */
	unsigned int base; /* MIXED ...: which configuration has the same load on unpatched QEMU */
	unsigned int part; /* of the rounds, 0 = 1: one in so many, because each takes long */
	const char *plugin; /* arguments of the insn plugin, NULL: none */
	bool cache; /* the cache plugin */
	unsigned int cpus; /* 0: one */
	bool alone; /* count how often one vCPU has to run alone */
} configs[] = {
	[MIXED] = { "unpatched QEMU", false, "EPYC", "", MIXED },
	[STORES] = { "stores beside code, unpatched", false, "EPYC", " beside=1", STORES,
		     .cpus = 2 },
	[THREADS_1] = { "1 thread, unpatched", false, "EPYC", " threads=1", THREADS_1 },
	[THREADS_100] = { "100 threads, unpatched", false, "EPYC", " threads=100", THREADS_100 },
	[THREADS_1000] = { "1000 threads, unpatched", false, "EPYC", " threads=1000",
			   THREADS_1000 },
	[JIT_1] = { "code written, 1 vCPU, unpatched", false, "EPYC", " jit=1", JIT_1 },
	[JIT_2] = { "code written, 2 vCPUs, unpatched", false, "EPYC", " jit=1", JIT_2, .cpus = 2 },
	[JIT_4] = { "code written, 4 vCPUs, unpatched", false, "EPYC", " jit=1", JIT_4, .cpus = 4 },
	{ "patched, without lwp", true, "EPYC", "", MIXED },
	{ "lwp present, off", true, LWP, "", MIXED },
	{ "instructions, interval 1000000", true, LWP, " interval=1000000", MIXED },
	{ "instructions, interval 10000", true, LWP, " interval=10000", MIXED },
	{ "instructions, interval 1000", true, LWP, " interval=1000", MIXED },
	{ "instructions, interval 100", true, LWP, " interval=100", MIXED, 4 },
	{ "branches, interval 1000000", true, LWP, " interval=1000000 event=3", MIXED },
	{ "branches, interval 10000", true, LWP, " interval=10000 event=3", MIXED },
	{ "branches, interval 1000", true, LWP, " interval=1000 event=3", MIXED },
	{ "branches, interval 100", true, LWP, " interval=100 event=3", MIXED, 4 },
	{ "branches, each", true, LWP, " interval=1 event=3", MIXED, 16 },
	{ "both, interval 1000000", true, LWP, " interval=1000000 event=5", MIXED },
	{ "both, interval 10000", true, LWP, " interval=10000 event=5", MIXED },
	{ "both, interval 1000", true, LWP, " interval=1000 event=5", MIXED },
	{ "unpatched, insn plugin inline", false, "EPYC", "", MIXED, 1, "inline=on" },
	{ "unpatched, insn plugin callback", false, "EPYC", "", MIXED, 16, "inline=off" },
	{ "caches present, off", true, LWP ",lwp-dme=on", "", MIXED },
	{ "data cache misses, interval 1009", true, LWP ",lwp-dme=on", " interval=1009 event=4",
	  MIXED },
	{ "unpatched, cache plugin", false, "EPYC", "", MIXED, 64, .cache = true },
	{ "counters present, off", true, COUNTERS, "", MIXED },
	{ "a counter of instructions", true, COUNTERS, " counter=192", MIXED },
	{ "a counter of branches", true, COUNTERS, " counter=194", MIXED },
	{ "last branches", true, COUNTERS, " lbr=1", MIXED },
	{ "stores beside code, patched", true, "EPYC", " beside=1", STORES, .cpus = 2 },
	{ "1 thread, profiled", true, LWP, " threads=1 interval=1000000", THREADS_1 },
	{ "100 threads, profiled", true, LWP, " threads=100 interval=1000000", THREADS_100 },
	{ "1000 threads, profiled", true, LWP, " threads=1000 interval=1000000", THREADS_1000 },
	{ "code written, 1 vCPU, patched", true, LWP, " jit=1", JIT_1 },
	{ "code written, 1 vCPU, profiled", true, LWP, " jit=1 interval=997", JIT_1 },
	{ "code written, 2 vCPUs, patched", true, LWP, " jit=1", JIT_2, .cpus = 2, .alone = true },
	{ "code written, 2 vCPUs, profiled", true, LWP, " jit=1 interval=997", JIT_2, .cpus = 2,
	  .alone = true },
	{ "code written, 4 vCPUs, patched", true, LWP, " jit=1", JIT_4, .cpus = 4, .alone = true },
	{ "code written, 4 vCPUs, profiled", true, LWP, " jit=1 interval=997", JIT_4, .cpus = 4,
	  .alone = true },
};
#define CONFIGS (sizeof(configs) / sizeof(configs[0]))
#define MAX_TURNS 1000
#define MONITOR_LINE 65536

static _Noreturn void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: flatbench --base QEMU --patched QEMU --firmware DIR --image FLAT.ELF --plugin LIBINSN.SO\n"
		"                 --cache LIBCACHE.SO [--rounds N] [--turns N] [--only TEXT]\n"
		"Compare the CPU time of one load under TCG with and without LWP.\n");
	exit(status);
}

/* Is it to be measured, because its name has the text of --only, or because others are compared with it? */
static bool wanted(size_t i)
{
	if (!opt.only || strstr(configs[i].name, opt.only))
		return true;
	for (size_t other = 0; other < CONFIGS; other++) {
		if (other != i && configs[other].base == i && strstr(configs[other].name, opt.only))
			return true;
	}
	return false;
}

/* The end of a child that has run a configuration. The kernel leaves with 0, which isa-debug-exit makes 1. */
static void ended(const struct config *c, int status, int wanted_status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == wanted_status)
		return;
	fprintf(stderr, "flatbench: '%s' does not run: it exited with %d\n", c->name,
		WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	exit(1);
}

/* Starts one configuration, with more words for the emulator (NULL: none). */
static pid_t start(const struct config *c, unsigned int rounds, const char *const *words)
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
		.plugin = c->plugin ? plugin :
			  c->cache  ? opt.cache :
				      NULL,
		.cpus = c->cpus ? c->cpus : 1,
	};
	pid_t pid;

	snprintf(append, sizeof(append), "test=bench cpus=%u rounds=%u%s", m.cpus, rounds, c->args);
	if (c->plugin)
		snprintf(plugin, sizeof(plugin), "%s,%s", opt.plugin, c->plugin);
	machine_command(&m, smp, argv);
	for (unsigned int n = 0; words && *words; n++) {
		if (!argv[n]) {
			argv[n] = *words++;
			argv[n + 1] = NULL;
		}
	}
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = 0; fd < 3; fd++)
			dup2(null, fd);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	return pid;
}

/* Runs one configuration; its CPU time (user and system) in seconds. */
static double run(const struct config *c, unsigned int rounds)
{
	pid_t pid = start(c, rounds, NULL);
	struct rusage usage;
	int status = 0;

	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		status = -1;
	ended(c, status, 1);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* The line of the monitor that has a text; NULL: the emulator has ended. */
static const char *wait_for(FILE *monitor, const char *text, char line[MONITOR_LINE])
{
	const char *found = NULL;

	while (!found && fgets(line, MONITOR_LINE, monitor))
		found = strstr(line, text);
	return found;
}

/* How often a vCPU ran alone in one run of a configuration. The machine stops where the guest ends. */
static unsigned long times_alone(const struct config *c)
{
	static const char count[] = "Instructions alone ";
	static char line[MONITOR_LINE];
	char chardev[64];
	const char *const words[] = { "-action", "shutdown=pause", "-chardev",
				      chardev,	 "-mon",	   "chardev=control,mode=control",
				      NULL };
	unsigned long times = 0;
	int status = 0, ends[2];
	const char *found;
	FILE *monitor;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || fcntl(ends[0], F_SETFD, FD_CLOEXEC)) {
		perror("flatbench: socketpair");
		exit(1);
	}
	snprintf(chardev, sizeof(chardev), "socket,id=control,fd=%d", ends[1]);
	pid = start(c, opt.rounds, words);
	close(ends[1]);
	monitor = fdopen(ends[0], "r");
	dprintf(ends[0], "{\"execute\": \"qmp_capabilities\"}\n");
	if (wait_for(monitor, "\"SHUTDOWN\"", line)) {
		dprintf(ends[0], "{\"execute\": \"x-query-jit\"}\n");
		found = wait_for(monitor, count, line);
		times = found ? strtoul(found + strlen(count), NULL, 10) : 0;
		dprintf(ends[0], "{\"execute\": \"quit\"}\n");
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		status = -1;
	fclose(monitor);
	ended(c, status, 1);
	return times;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of n values, which are sorted. */
static double median(double *values, unsigned int n)
{
	qsort(values, n, sizeof(*values), compare);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Seconds of the whole load, without the boot. */
static double measure(const struct config *c)
{
	unsigned int part = c->part ? c->part : 1;
	unsigned int rounds = opt.rounds > part ? opt.rounds / part : 1;

	return (run(c, rounds + 1) - run(c, 1)) * opt.rounds / rounds;
}

static void print(const struct config *c, double *seconds, double *ratio)
{
	double time = median(seconds, opt.turns), middle = median(ratio, opt.turns);

	printf("%-34s %9.3f %7.3f %7.3f %8.3f", c->name, time, middle, ratio[0],
	       ratio[opt.turns - 1]);
	if (c->alone)
		printf(" %12.0f", (double)times_alone(c) / time);
	putchar('\n');
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
		{ "cache", required_argument, NULL, 'c' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "turns", required_argument, NULL, 't' },
		{ "only", required_argument, NULL, 'o' },
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
		case 'c':
			opt.cache = optarg;
			break;
		case 'r':
			opt.rounds = number(optarg);
			break;
		case 't':
			opt.turns = number(optarg);
			break;
		case 'o':
			opt.only = optarg;
			break;
		case 'h':
			usage(0);
		default:
			exit(2);
		}
	}
	if (opt.turns > MAX_TURNS) {
		fprintf(stderr, "flatbench: at most %d turns\n", MAX_TURNS);
		exit(2);
	}
	if (optind < argc || !opt.base || !opt.patched || !opt.firmware || !opt.image ||
	    !opt.plugin || !opt.cache)
		usage(2);
}

int main(int argc, char **argv)
{
	static double seconds[CONFIGS][MAX_TURNS], ratio[CONFIGS][MAX_TURNS];

	parse(argc, argv);
	for (unsigned int turn = 0; turn < opt.turns; turn++) {
		/* Those of unpatched QEMU come first. */
		for (size_t i = 0; i < CONFIGS; i++) {
			if (!wanted(i))
				continue;
			seconds[i][turn] = measure(&configs[i]);
			ratio[i][turn] = seconds[i][turn] / seconds[configs[i].base][turn];
		}
	}
	printf("CPU time without the boot, median of %u turns; ratio to unpatched QEMU in the same turn\n\n",
	       opt.turns);
	printf("%-34s %9s %7s %7s %8s %12s\n", "configuration", "seconds", "ratio", "least",
	       "greatest", "alone/second");
	for (size_t i = 0; i < CONFIGS; i++) {
		if (wanted(i))
			print(&configs[i], seconds[i], ratio[i]);
	}
	return 0;
}
