// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * migratetest: tests of migration from QEMU to QEMU. The last line is
 * "N passed, N failed, N skipped".
 */
#include "migrate.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "machine.h"

struct options opt = { .accel = "tcg", .count = 100, .jobs = 2 };

static unsigned int passed, failed, skips;
static uint64_t random_state;

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "points", test_points },   { "snapshot", test_snapshot }, { "mismatch", test_mismatch },
	{ "fuzz", test_fuzz },	     { "live", test_live },	    { "bench", bench },
	{ "moments", test_moments }, { "pair", test_pair },	    { "pit", test_pit },
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

bool ok(bool cond, const char *format, ...)
{
	va_list args;

	printf("%s ", cond ? "ok     " : "FAILED ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	passed += cond;
	failed += !cond;
	return cond;
}

void skipped(const char *what)
{
	printf("skipped %s\n", what);
	fflush(stdout);
	skips++;
}

/* splitmix64 */
uint64_t draw(uint64_t below)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % below;
}

void draw_from(uint64_t seed)
{
	random_state = seed;
}

static const char *const *machine_of(const char *qemu, const char *accel, const char *cpu,
				     const char *append, const char *const *extra)
{
	static const char *argv[MACHINE_MAX_ARGS + MAX_QEMU_ARGS];
	static char smp[16], model[256];
	const struct machine m = {
		.qemu = qemu,
		.firmware = opt.firmware,
		.accel = accel,
		.cpu = model,
		.image = opt.flat,
		.append = append,
		.cpus = 1,
	};
	int n = 0;

	snprintf(model, sizeof(model), "EPYC%s%s%s%s", cpu ? "," : "", cpu ? cpu : "",
		 cpu && opt.properties ? "," : "", cpu && opt.properties ? opt.properties : "");
	machine_command(&m, smp, argv);
	while (argv[n])
		n++;
	if (opt.machine) {
		argv[n++] = "-machine";
		argv[n++] = opt.machine;
	}
	while (extra && *extra)
		argv[n++] = *extra++;
	argv[n] = NULL;
	return argv;
}

const char *const *flat_machine(const char *qemu, const char *cpu, const char *append,
				const char *const *extra)
{
	return machine_of(qemu, opt.accel, cpu, append, extra);
}

const char *const *flat_destination(const char *cpu, const char *append, const char *const *extra)
{
	return machine_of(opt.into_qemu, opt.into ? opt.into : opt.accel, cpu, append, extra);
}

static _Noreturn void usage(int status)
{
	fprintf(status ? stderr : stdout,
		"usage: migratetest --qemu=QEMU --base=QEMU --firmware=DIR --flat=FLAT.ELF --work=DIR\n"
		"                   --kernel=VMLINUX --initrd=CPIO [--accel=tcg|kvm] [--into=tcg|kvm] [--into-qemu=QEMU] [--role=first|second] [--machine=TYPE] [--cpu=PROPERTIES] [--seed=N] [--count=N] [--jobs=N] points|moments|snapshot|mismatch|fuzz|live|pair|pit|bench\n"
		"Test migration of machines with LWP; --base is an unpatched QEMU.\n");
	exit(status);
}

static uint64_t number(const char *name, const char *text, uint64_t most)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || value > most) {
		fprintf(stderr, "migratetest: --%s=%s: not a number from 0 to %llu\n", name, text,
			(unsigned long long)most);
		exit(2);
	}
	return value;
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "qemu", required_argument, NULL, 'q' },
		{ "base", required_argument, NULL, 'b' },
		{ "firmware", required_argument, NULL, 'L' },
		{ "flat", required_argument, NULL, 'f' },
		{ "kernel", required_argument, NULL, 'k' },
		{ "initrd", required_argument, NULL, 'i' },
		{ "accel", required_argument, NULL, 'a' },
		{ "role", required_argument, NULL, 'r' },
		{ "into", required_argument, NULL, 't' },
		{ "into-qemu", required_argument, NULL, 'n' },
		{ "machine", required_argument, NULL, 'm' },
		{ "cpu", required_argument, NULL, 'p' },
		{ "work", required_argument, NULL, 'w' },
		{ "seed", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'c' },
		{ "jobs", required_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	bool seeded = false;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		switch (option) {
		case 'q':
			opt.qemu = optarg;
			break;
		case 'b':
			opt.base = optarg;
			break;
		case 'L':
			opt.firmware = optarg;
			break;
		case 'f':
			opt.flat = optarg;
			break;
		case 'k':
			opt.kernel = optarg;
			break;
		case 'i':
			opt.initrd = optarg;
			break;
		case 'a':
			opt.accel = optarg;
			break;
		case 'r':
			opt.role = optarg;
			break;
		case 't':
			opt.into = optarg;
			break;
		case 'n':
			opt.into_qemu = optarg;
			break;
		case 'm':
			opt.machine = optarg;
			break;
		case 'p':
			opt.properties = optarg;
			break;
		case 'w':
			opt.work = optarg;
			break;
		case 's':
			opt.seed = number("seed", optarg, UINT64_MAX);
			seeded = true;
			break;
		case 'c':
			opt.count = (unsigned int)number("count", optarg, 1000000);
			break;
		case 'j':
			opt.jobs = (unsigned int)number("jobs", optarg, 64);
			break;
		case 'h':
			usage(0);
		default:
			exit(2);
		}
	}
	if (!opt.qemu || !opt.base || !opt.firmware || !opt.flat || !opt.kernel || !opt.initrd ||
	    !opt.work || !opt.jobs)
		usage(2);
	if (!opt.into_qemu)
		opt.into_qemu = opt.qemu;
	if (!seeded && getrandom(&opt.seed, sizeof(opt.seed), 0) != sizeof(opt.seed)) {
		perror("migratetest: getrandom");
		exit(1);
	}
	random_state = opt.seed;
}

int main(int argc, char **argv)
{
	size_t i;

	signal(SIGPIPE, SIG_IGN);
	parse(argc, argv);
	if (optind + 1 != argc)
		usage(2);
	for (i = 0; i < PARTS && strcmp(argv[optind], parts[i].name); i++)
		;
	if (i == PARTS)
		usage(2);
	printf("%s: seed %llu\n", parts[i].name, (unsigned long long)opt.seed);
	parts[i].run();
	printf("%u passed, %u failed, %u skipped\n", passed, failed, skips);
	return failed != 0;
}
