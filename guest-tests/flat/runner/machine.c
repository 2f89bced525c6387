// SPDX-License-Identifier: GPL-2.0-or-later
/* The virtual machine in which the test kernel runs. */
#include "machine.h"

#include <stdio.h>

void machine_command(const struct machine *m, char smp[16], const char *argv[MACHINE_MAX_ARGS])
{
	const char *const machine[] = {
		m->qemu,
		"-accel",
		m->accel,
		"-machine",
		"q35",
		"-cpu",
		m->cpu,
		"-smp",
		smp,
		"-m",
		"64",
		"-nodefaults",
		"-no-user-config",
		"-display",
		"none",
		"-serial",
		"stdio",
		"-device",
		"isa-debug-exit,iobase=0xf4,iosize=4",
		"-kernel",
		m->image,
		"-append",
		m->append,
	};
	unsigned int n = 0;

	snprintf(smp, 16, "%u", m->cpus);
	for (; n < sizeof(machine) / sizeof(machine[0]); n++)
		argv[n] = machine[n];
	if (m->firmware) {
		argv[n++] = "-L";
		argv[n++] = m->firmware;
	}
	if (!m->reboots)
		argv[n++] = "-no-reboot";
	if (m->plugin) {
		argv[n++] = "-plugin";
		argv[n++] = m->plugin;
	}
	argv[n] = NULL;
}
