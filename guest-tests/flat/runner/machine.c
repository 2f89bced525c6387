// SPDX-License-Identifier: GPL-2.0-or-later
/* The virtual machine in which the test kernel runs. */
#include "machine.h"

#include <stdio.h>

void machine_command(const struct machine *m, char smp[16], const char *argv[MACHINE_MAX_ARGS])
{
	const char *const preload[] = { "env", m->hold };
	const char *const machine[] = {
		m->qemu,
		"-accel",
		m->accel,
		"-machine",
		m->hold ? "q35,memory-backend=ram" : "q35",
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
	unsigned int i, n = 0;

	snprintf(smp, 16, "%u", m->cpus);
	for (i = 0; m->hold && i < sizeof(preload) / sizeof(preload[0]); i++)
		argv[n++] = preload[i];
	for (i = 0; i < sizeof(machine) / sizeof(machine[0]); i++)
		argv[n++] = machine[i];
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
	if (m->hold) {
		argv[n++] = "-object";
		argv[n++] = "memory-backend-memfd,id=ram,size=64M";
	}
	argv[n] = NULL;
}
