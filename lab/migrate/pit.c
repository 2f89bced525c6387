// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A machine whose PIT was loaded before the virtual clock's zero, as one that comes from KVM of a busy host may
 * say: it runs, and QEMU answers. Edited into a save of TCG's: a hundred seconds before, and a period that lasts
 * until long after.
 */
#include "migrate.h"
#include "vm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Behind the section's name in a stream: instance and version, irq_disabled, three channels, and the time again. */
#define SECTION "\5i8254"
#define CHANNEL 12
#define CHANNEL_BYTES 32
#define COUNT CHANNEL
#define LOAD_TIME (CHANNEL + 16)
#define NEXT_TIME (CHANNEL + 24)
#define NEXT_TIME_AGAIN (CHANNEL + 3 * CHANNEL_BYTES)
#define BEFORE_NS 100000000000ull
#define LONG_COUNT 0x7fffffffu /* of 1193182 Hz: half an hour */

static void put(char *to, uint64_t value, int bytes)
{
	int i;

	for (i = 0; i < bytes; i++)
		to[i] = (char)(value >> (8 * (bytes - 1 - i)));
}

/* The first channel was loaded before zero, and that is when it looks at its output next. */
static void age(const char *path)
{
	size_t size;
	char *bytes = read_file(path, &size), *pit;
	FILE *f;

	pit = memmem(bytes, size, SECTION, strlen(SECTION));
	if (!pit || pit + strlen(SECTION) + NEXT_TIME_AGAIN + 8 > bytes + size)
		broken("no PIT in %s", path);
	pit += strlen(SECTION);
	put(pit + COUNT, LONG_COUNT, 4);
	put(pit + LOAD_TIME, -BEFORE_NS, 8);
	put(pit + NEXT_TIME, -BEFORE_NS, 8);
	put(pit + NEXT_TIME_AGAIN, -BEFORE_NS, 8);
	f = fopen(path, "we");
	if (!f || fwrite(bytes, 1, size, f) != size || fclose(f))
		broken("%s: %s", path, strerror(errno));
	free(bytes);
}

void test_pit(void)
{
	static const char *const stopped[] = { "-S", NULL };
	static const char *const incoming[] = { "-incoming", "defer", NULL };
	static const char append[] = "test=bench cpus=1 rounds=1000000";
	char save[512], log[512];
	struct vm vm;

	snprintf(save, sizeof(save), "%s/save", opt.work);
	snprintf(log, sizeof(log), "%s/log", opt.work);
	if (!vm_start(&vm, "source", flat_machine(opt.qemu, "+lwp", append, stopped), NULL, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	vm_capability(&vm, NULL);
	vm_save(&vm, save);
	vm_kill(&vm);
	age(save);
	if (!vm_start(&vm, "destination", flat_destination("+lwp", append, incoming), NULL, log))
		broken("QEMU does not start: %s", read_file(log, NULL));
	ok(vm_load(&vm, save) && vm_try(&vm, "cont", NULL) && vm_is(&vm, "running"),
	   "a machine whose PIT was loaded before zero runs, and QEMU answers");
	vm_kill(&vm);
}
