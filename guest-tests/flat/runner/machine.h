/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtual machine in which the test kernel runs, as a QEMU command line. */
#ifndef FLATRUN_MACHINE_H
#define FLATRUN_MACHINE_H

#include <stdbool.h>

#define MACHINE_MAX_ARGS 40

struct machine {
	const char *qemu, *firmware; /* firmware: its -L, NULL: its own */
	const char *accel, *cpu, *image, *append;
	const char *plugin; /* argument of -plugin, NULL: none */
	unsigned int cpus;
	bool reboots; /* a reset of the guest is not the end */
	const char *
		hold; /* "LD_PRELOAD=" and the path of the library that holds accesses, NULL: none */
};

/* Command line for m; strings belong to m and to *smp. */
void machine_command(const struct machine *m, char smp[16], const char *argv[MACHINE_MAX_ARGS]);

#endif
