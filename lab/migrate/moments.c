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

static void pass(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

	nanosleep(&ts, NULL);
}

void test_moments(void)
{
	static const char *const extra[] = { "-S", NULL };
	const struct program *p = &programs[0];
	char output[512], log[512], save[512];
	unsigned int i, tried = 0, same = 0;
	double start = now(), part;
	char *wanted, *text;
	struct vm vm;

	wanted = program_output(p, NULL);
	part = (now() - start) / opt.count;
	snprintf(output, sizeof(output), "%s/output", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	snprintf(save, sizeof(save), "%s/save", opt.work);
	if (!vm_start(&vm, "source", flat_machine(opt.qemu, p->cpu, p->append, extra), output, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&vm, NULL);
	vm_do(&vm, "cont", NULL);
	for (i = 0; i < opt.count; i++) {
		pass(part * (double)draw(1000) / 500);
		/* A program that has ended takes QEMU with it, also after it has been stopped. */
		if (!vm_try(&vm, "stop", NULL) || !vm_try_save(&vm, save))
			break;
		tried++;
		same += program_restored(p, save, 0, program_results(wanted));
		vm_do(&vm, "cont", NULL);
	}
	ok(tried && same == tried, "%u of %u moments end as the undisturbed run", same, tried);
	ok(vm_wait(&vm, VM_PATIENCE) == 1, "the machine that was saved ends well");
	text = read_file(output, NULL);
	ok(!strcmp(program_results(text), program_results(wanted)), "its output is the same");
	free(text);
	free(wanted);
}
