// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe's command line. */
#include <getopt.h>

#include "lwpctl.h"
#include "probe.h"

static const char usage[] =
	"Usage: vlwp-probe [--quick] [--json=FILE]\n"
	"Measure how the performance counters of this processor count KVM's guests.\n\n"
	"  --json=FILE           write everything there, too\n"
	"  --quick               64 turns of each measurement instead of 4,096\n"
	"  --help, --version\n\n"
	"It needs root, /dev/kvm and perf, and takes a minute. Running VMs are not touched. The last line is\n"
	"the row of the processor. Exit status: 0 done, 1 failed, 2 wrong usage.";

int options_read(int argc, char **argv, const char **json, u32 *turns)
{
	static const struct option known[] = {
		{ "json", required_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	int c;

	*json = NULL;
	*turns = TURNS;
	optind = 0; /* a test reads several */
	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'j':
			*json = optarg;
			break;
		case 'q':
			*turns = QUICK;
			break;
		case 'h':
		case 'v':
			puts(c == 'h' ? usage : "vlwp-probe (vlwp) " LWPCTL_VERSION);
			return LWPCTL_OK;
		default:
			return LWPCTL_USAGE; /* getopt_long() has said it */
		}
	}
	if (optind == argc)
		return -1;
	return misused("unknown argument '%s'; `vlwp-probe --help' lists the options",
		       argv[optind]);
}
