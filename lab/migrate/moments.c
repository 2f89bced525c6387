// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Saving and restoring where the clock happens to stop the program of points.c: for KVM, which cannot be told a
 * step to stop at. Moments are spread over the time that the undisturbed run takes.
 */
#include "migrate.h"
#include "vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The time of the undisturbed run is divided by that; a machine that is over is followed by another. */
#define MOMENTS_EACH 20

static void pass(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&ts, NULL);
}

/* One machine, stopped up to `most` times; adds to *tried and *same. Does it itself end as it should? */
static bool one_machine(const struct program *p, double part, unsigned int most, const char *wanted,
			unsigned int *tried, unsigned int *same)
{
	static const char *const extra[] = { "-S", NULL };
	char output[512], log[512], save[512], *text;
	unsigned int i;
	struct vm vm;
	bool good;

	snprintf(output, sizeof(output), "%s/output", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	snprintf(save, sizeof(save), "%s/save", opt.work);
	if (!vm_start(&vm, "source", flat_machine(opt.qemu, p->cpu, p->append, extra), output, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&vm, NULL);
	vm_do(&vm, "cont", NULL);
	for (i = 0; i < most; i++) {
		pass(part * (double)draw(1000) / 500);
		/* A program that has ended takes QEMU with it, also after it has been stopped. */
		if (!vm_try(&vm, "stop", NULL) || !vm_try_save(&vm, save))
			break;
		*tried += 1;
		*same += program_restored(p, save, 0, wanted);
		vm_do(&vm, "cont", NULL);
	}
	good = vm_wait(&vm, VM_PATIENCE) == 1;
	text = read_file(output, NULL);
	good = good && !strcmp(program_results(text), wanted);
	free(text);
	return good;
}

void test_moments(void)
{
	const struct program *p = &programs[0];
	unsigned int tried = 0, same = 0, machines = 0, good = 0;
	double start = now(), part;
	char *wanted;

	wanted = program_output(p, NULL);
	part = (now() - start) / MOMENTS_EACH;
	while (tried < opt.count && machines < opt.count) {
		good += one_machine(p, part, opt.count - tried, program_results(wanted), &tried,
				    &same);
		machines++;
	}
	ok(tried == opt.count && same == tried, "%u of %u moments end as the undisturbed run", same,
	   tried);
	ok(good == machines, "%u of %u machines that were saved end so, too", good, machines);
	free(wanted);
}
