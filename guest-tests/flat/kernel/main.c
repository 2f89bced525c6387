// SPDX-License-Identifier: GPL-2.0-or-later
/* From start.S to the test that the command line names ("test=NAME cpus=N dump=1"). */
#include "cpu.h"
#include "paging.h"
#include "report.h"
#include "smp.h"
#include "test.h"

#define PVH_MAGIC 0x336ec578

struct pvh_start_info {
	u32 magic, version, flags, modules;
	u64 module_list, command_line, rsdp;
};

extern const struct flat_test flat_tests_start[], flat_tests_end[];
_Noreturn void kernel_main(const struct pvh_start_info *info);

static char command_line[256];

/* Text after "name=" on the command line, or NULL. */
static const char *option(const char *name)
{
	const char *p = command_line;
	size_t n = 0;

	while (name[n])
		n++;
	for (; *p; p++) {
		if ((p == command_line || p[-1] == ' ') && !memcmp(p, name, n) && p[n] == '=')
			return p + n + 1;
	}
	return NULL;
}

static bool word_is(const char *text, const char *word)
{
	while (*word && *text == *word) {
		text++;
		word++;
	}
	return !*word && (*text == '\0' || *text == ' ');
}

u32 option_number(const char *name, u32 otherwise)
{
	const char *p = option(name);
	u32 v = 0;

	if (!p)
		return otherwise;
	for (; *p >= '0' && *p <= '9'; p++)
		v = 10 * v + (u32)(*p - '0');
	return v;
}

bool option_is(const char *name, const char *word)
{
	const char *p = option(name);

	return p && word_is(p, word);
}

static void copy_command_line(const struct pvh_start_info *info)
{
	const char *p = (const char *)info->command_line;
	size_t i;

	if (info->magic != PVH_MAGIC)
		bail("not started by the PVH entry: magic %x", info->magic);
	for (i = 0; p && p[i] && i < sizeof(command_line) - 1; i++)
		command_line[i] = p[i];
}

void kernel_main(const struct pvh_start_info *info)
{
	const struct flat_test *t;

	copy_command_line(info);
	paging_init();
	cpu_init(0);
	smp_set_count(option_number("cpus", 1));
	for (t = flat_tests_start; t < flat_tests_end; t++) {
		if (option_is("test", t->name)) {
			print("\nTAP version 13\n");
			t->run();
			report_end();
		}
	}
	bail("no such test on the command line: %s", command_line);
}
