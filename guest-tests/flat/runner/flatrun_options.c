// SPDX-License-Identifier: GPL-2.0-or-later
/* What the user asked flatrun for. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "flatrun_options.h"

struct options opt = { .qemu = "qemu-system-x86_64", .accel = "tcg", .jobs = 2, .factor = 1 };

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
		"  --print            show each run's name, test and command line, separated by tabs\n"
		"  --verbose          show all that the test kernel and the emulator say\n"
		"  --dump DIR         store the ring contents of each run in DIR/RUN.dump\n"
		"  --args WORDS       more words for the test, as 'seed=7 count=1000'\n"
		"  --timeout-factor N stretch every time limit, 1..100 (nested machines)\n"
		"  --judge LOG        judge a serial log of the suite that stands alone, and run nothing\n"
		"  --rows             print the rows that the suite's kernel takes as a file\n"
		"  --manifest         print them as JSON, with the CPUID that each needs\n"
		"\nThe last line is \"N passed, N failed, N skipped\", test points; a run that is broken is\n"
		"called an error and counts as one failure. Exit status: 0, 1 failures, 2 usage, 77 nothing to\n"
		"run with.\n");
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

/* Path of a file beside this program. */
static void beside(char path[PATH_MAX], const char *file)
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - strlen(file) - 1);
	char *slash;

	path[n < 0 ? 0 : n] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, file);
}

static void set_paths(void)
{
	static char image[PATH_MAX], library[PATH_MAX];

	beside(image, "flat.elf");
	beside(library, "libhold.so");
	snprintf(opt.preload, sizeof(opt.preload), "LD_PRELOAD=%s", library);
	if (!opt.image)
		opt.image = image;
}

void options_parse(int argc, char **argv)
{
	enum {
		QEMU = 1,
		FIRMWARE,
		IMAGE,
		ACCEL,
		JOBS,
		ONLY,
		LIST,
		PRINT,
		VERBOSE,
		DUMP,
		ARGS,
		FACTOR,
		JUDGE,
		ROWS,
		MANIFEST,
		HELP
	};
	static const struct option options[] = {
		{ "qemu", required_argument, NULL, QEMU },
		{ "firmware", required_argument, NULL, FIRMWARE },
		{ "image", required_argument, NULL, IMAGE },
		{ "accel", required_argument, NULL, ACCEL },
		{ "jobs", required_argument, NULL, JOBS },
		{ "only", required_argument, NULL, ONLY },
		{ "list", no_argument, NULL, LIST },
		{ "print", no_argument, NULL, PRINT },
		{ "verbose", no_argument, NULL, VERBOSE },
		{ "dump", required_argument, NULL, DUMP },
		{ "args", required_argument, NULL, ARGS },
		{ "timeout-factor", required_argument, NULL, FACTOR },
		{ "judge", required_argument, NULL, JUDGE },
		{ "rows", no_argument, NULL, ROWS },
		{ "manifest", no_argument, NULL, MANIFEST },
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
		case PRINT:
			opt.print = true;
			break;
		case VERBOSE:
			opt.verbose = true;
			break;
		case DUMP:
			opt.dump = optarg;
			break;
		case ARGS:
			opt.args = optarg;
			break;
		case FACTOR:
			opt.factor = number("--timeout-factor", optarg, 100);
			break;
		case JUDGE:
			opt.judge = optarg;
			break;
		case ROWS:
			opt.rows = true;
			break;
		case MANIFEST:
			opt.manifest = true;
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
	set_paths();
}

bool options_select(const struct run *r)
{
	unsigned int i;

	for (i = 0; i < opt.patterns; i++) {
		if (!fnmatch(opt.only[i], r->name, 0))
			return true;
	}
	return !opt.patterns;
}
