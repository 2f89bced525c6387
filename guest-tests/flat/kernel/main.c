// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From start.S to the test that the command line names ("test=NAME cpus=N dump=1"), or to the rows of the file that
 * the loader has brought ("only=NAME", "from=NAME", or nothing).
 */
#include "cpu.h"
#include "layout.h"
#include "paging.h"
#include "place.h"
#include "report.h"
#include "smp.h"
#include "suite.h"
#include "test.h"

#define PVH_MAGIC 0x336ec578

struct pvh_start_info {
	u32 magic, version, flags, modules;
	u64 module_list, command_line, rsdp, memory; /* the last is there since version 1 */
	u32 memory_parts, reserved;
};

struct pvh_module {
	u64 start, size, command_line, reserved;
};

struct multiboot_tag {
	u32 type, size;
	u32 value[]; /* a string; of a module its start and end, and a string */
};
#define MULTIBOOT_TAG_END 0
#define MULTIBOOT_TAG_COMMAND_LINE 1
#define MULTIBOOT_TAG_MODULE 3
#define MULTIBOOT_TAG_MEMORY 6
#define MULTIBOOT_TAG_SCREEN 8

/* A part of memory, as both say it. */
struct memory {
	u64 start, size;
	u32 type, reserved;
};
/* Free; firmware's tables; what firmware needs after sleep. Nobody goes back to firmware. */
#define MEMORY_TYPES (1u << 1 | 1u << 3 | 1u << 4)

#define MAPPED_AT_BOOT (1ul << 32)
#define MEMORY_END (PHYS_END + (2ul << 20))

extern const struct flat_test flat_tests_start[], flat_tests_end[];
_Noreturn void kernel_main(const void *info, u32 magic);

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

bool option_given(const char *name)
{
	return option(name);
}

bool option_is(const char *name, const char *word)
{
	const char *p = option(name);

	return p && word_is(p, word);
}

static void copy_command_line(const char *p)
{
	size_t i;

	for (i = 0; p && p[i] && i < sizeof(command_line) - 1; i++)
		command_line[i] = p[i];
	command_line[i] = '\0';
}

/* A suite wants memory for the kernel, its pages, and what it keeps; without a map nothing is known. */
static void check_memory(const struct memory *map, u32 parts)
{
	u64 at = 2ul << 20; /* where the image is */

	for (u32 i = 0; i < parts && at < MEMORY_END; i++) {
		const struct memory *m = &map[i];

		if ((1ul << m->type % 64 & MEMORY_TYPES) && m->start <= at &&
		    at < m->start + m->size) {
			at = m->start + m->size;
			i = ~0u; /* they are in no order */
		}
	}
	if (parts && at < MEMORY_END)
		bail("no memory at %lxh: the suite needs that from 2 to 62 MiB", at);
}

/* A file that the loader has brought: the rows of a suite. */
static _Noreturn void take_file(u64 start, u64 size, const void *screen)
{
	if (start + size > MAPPED_AT_BOOT)
		bail("the loader has put the rows above 4 GiB: give the machine less memory");
	suite_take((const char *)start, size, option("only"), option("from"), screen);
}

static void read_pvh(const struct pvh_start_info *info)
{
	const struct pvh_module *file = (const struct pvh_module *)info->module_list;

	if (info->magic != PVH_MAGIC)
		bail("started by neither PVH nor Multiboot2: magic %x", info->magic);
	copy_command_line((const char *)info->command_line);
	if (info->modules && file) {
		if (info->version)
			check_memory((const struct memory *)info->memory, info->memory_parts);
		take_file(file->start, file->size, NULL);
	}
}

static void read_multiboot(const char *info)
{
	const char *end = info + *(const u32 *)info, *p;
	const struct multiboot_tag *file = NULL, *screen = NULL, *map = NULL, *tag;

	for (p = info + 8; p < end; p += (tag->size + 7) & ~7u) {
		tag = (const struct multiboot_tag *)p;
		if (tag->type == MULTIBOOT_TAG_END)
			break;
		if (tag->type == MULTIBOOT_TAG_COMMAND_LINE)
			copy_command_line((const char *)tag->value);
		if (tag->type == MULTIBOOT_TAG_MEMORY && tag->value[0] == sizeof(struct memory))
			map = tag;
		if (tag->type == MULTIBOOT_TAG_SCREEN)
			screen = tag;
		if (tag->type == MULTIBOOT_TAG_MODULE && !file)
			file = tag;
	}
	if (file && map)
		check_memory((const struct memory *)&map->value[2],
			     (map->size - 16) / sizeof(struct memory));
	if (file)
		take_file(file->value[0], file->value[1] - file->value[0], screen);
}

void kernel_main(const void *info, u32 magic)
{
	const struct flat_test *t;

	report_init();
	if (magic == MULTIBOOT2_MAGIC)
		read_multiboot(info);
	else if (magic != SUITE_MAGIC)
		read_pvh(info);
	if (suite_is_on())
		suite_show();
	paging_init();
	cpu_init(0);
	if (suite_is_on())
		suite_begin_row(command_line, sizeof(command_line));
	smp_set_count(option_number("cpus", 1));
	for (t = flat_tests_start; t < flat_tests_end; t++) {
		if (option_is("test", t->name)) {
			print("\nTAP version 13\n");
			place_begin();
			t->run();
			report_end();
		}
	}
	bail("no such test on the command line: %s", command_line);
}
