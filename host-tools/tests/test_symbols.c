// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and lines of addresses: in an ELF file as it is mapped, and in a perf map. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "own_map.h"
#include "symbolic.h"
#include "symbols.h"

int symbolic_elsewhere(int x)
{
	return x;
}

static char library[4096];
static struct symbolic_addresses addresses;
static struct symbols *symbols;
static const struct lwpdata_bytes none;

/* File offset of an address; its file is the library. */
static uint64_t offset_of(const char *address)
{
	struct lwpdata_map map;

	cr_assert(own_map(address, &map, library));
	return (uintptr_t)address - map.start + map.offset;
}

static void set_up(void)
{
	addresses = symbolic_addresses();
	offset_of(addresses.function);
	symbols = symbols_open("", library, 0, none, none);
}

static void tear_down(void)
{
	symbols_free(symbols);
}

/* From now on in place of the library's. */
static void use(struct symbols *others)
{
	symbols_free(symbols);
	symbols = others;
}

static void use_file(const char *path)
{
	use(symbols_open("", path, 0, none, none));
}

TestSuite(symbols, .init = set_up, .fini = tear_down);

static void expect_text(const char *found, const char *wanted)
{
	cr_expect(eq(str, (char *)(found ?: "none"), (char *)wanted));
}

static void expect_name(const char *address, const char *name)
{
	expect_text(symbols_name(symbols, offset_of(address)), name);
}

Test(symbols, functions_have_their_names)
{
	cr_assert(symbols_problem(symbols) == NULL);
	expect_name(addresses.function, "symbolic_public");
	expect_name(addresses.function + 3, "symbolic_public");
	expect_name(addresses.local, "symbolic_static");
}

Test(symbols, what_has_no_size_reaches_to_the_next_symbol)
{
	expect_name(addresses.unsized, "symbolic_unsized");
	expect_name(addresses.unsized + 3, "symbolic_unsized");
	expect_name(addresses.sized, "symbolic_sized");
}

Test(symbols, what_is_beyond_a_size_has_no_name)
{
	expect_name(addresses.sized + 3, "symbolic_sized");
	expect_name(addresses.sized + 4, "none");
}

Test(symbols, stubs_are_named_after_what_they_call)
{
	/* The call in the function leads to the stub: E8 disp32. */
	const uint8_t *code = (const uint8_t *)addresses.function;
	int32_t displacement;
	size_t i = 0;

	while (code[i] != 0xe8)
		cr_assert(lt(sz, ++i, 64));
	memcpy(&displacement, code + i + 1, sizeof(displacement));
	expect_name((const char *)code + i + 5 + displacement, "symbolic_elsewhere@plt");
}

/* Of data: the name of its variable and section, and how far in the variable it is. */
static void expect_data(uint64_t offset, const char *name, const char *section, uint64_t in)
{
	uint64_t address = 0, start = 0;
	const char *found;

	cr_assert(symbols_data_address(symbols, offset, &address));
	expect_text(symbols_section(symbols, address), section);
	found = symbols_variable(symbols, address, &start);
	expect_text(found, name);
	if (found)
		cr_expect(eq(u64, address - start, in));
}

Test(symbols, variables_and_their_sections_have_names)
{
	uint64_t room = offset_of(addresses.counts) + (uint64_t)(addresses.room - addresses.counts);
	uint64_t address;

	expect_data(offset_of(addresses.constants), "symbolic_constants", ".rodata", 0);
	expect_data(offset_of(addresses.constants + 399), "symbolic_constants", ".rodata", 399);
	expect_data(offset_of(addresses.counts + 8), "symbolic_counts", ".data", 8);
	/* What the file has no bytes for, in its last page and after its mapping. */
	expect_data(room, "symbolic_room", ".bss", 0);
	expect_data(room + addresses.room_size - 1, "symbolic_room", ".bss",
		    addresses.room_size - 1);
	cr_expect(not(symbols_data_address(symbols, room + 2 * addresses.room_size, &address)));
	/* A function is no variable. */
	cr_assert(symbols_data_address(symbols, offset_of(addresses.function), &address));
	cr_expect(symbols_variable(symbols, address, &address) == NULL);
}

Test(symbols, lines_come_from_debugging_information)
{
	const char *file = "", *folder = NULL;
	int line = 0;

	cr_assert(symbols_line(symbols, offset_of(addresses.function + 1), &folder, &file, &line));
	cr_expect(file[0] == '/' || (folder && folder[0] == '/'));
	cr_expect(eq(str, (char *)strrchr(file, '/'), (char *)"/symbolic.c"));
	cr_expect(ge(int, line, 8));
	cr_expect(le(int, line, 10));
	cr_expect(not(symbols_line(symbols, offset_of(addresses.sized), &folder, &file, &line)));
}

Test(symbols, another_build_id_is_another_file)
{
	static const struct lwpdata_bytes other = { (const uint8_t *)"0123456789", 10 };

	use(symbols_open("", library, 0, other, none));
	cr_assert(symbols_problem(symbols) != NULL);
	cr_expect(strstr(symbols_problem(symbols), "another build-id") != NULL);
	expect_name(addresses.function, "none");
}

/* The library's build-id, in `id`. */
static struct lwpdata_bytes build_id(uint8_t id[64])
{
	int fd = open(library, O_RDONLY);
	const void *bytes;
	ssize_t n;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	n = dwelf_elf_gnu_build_id(elf, &bytes);
	cr_assert(gt(long, n, 2));
	memcpy(id, bytes, (size_t)n);
	elf_end(elf);
	close(fd);
	return (struct lwpdata_bytes){ id, (size_t)n };
}

Test(symbols, a_debug_file_of_the_build_id_serves_for_a_file_that_is_gone)
{
	char root[] = "/tmp/test_symbols.XXXXXX", command[16384], name[160] = "";
	uint8_t bytes[64];
	struct lwpdata_bytes id = build_id(bytes);

	for (size_t i = 0; i < id.size; i++)
		sprintf(name + strlen(name), i == 1 ? "/%02x" : "%02x", bytes[i]);
	cr_assert(mkdtemp(root) != NULL);
	snprintf(command, sizeof(command),
		 "d=%s/usr/lib/debug/.build-id; mkdir -p $d/%.2s && cp %s $d/%s.debug", root, name,
		 library, name);
	cr_assert(eq(int, system(command), 0));
	use(symbols_open(root, "/gone.so", 0, id, none));
	expect_name(addresses.function, "symbolic_public");
	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_expect(eq(int, system(command), 0));
}

Test(symbols, problems_are_said)
{
	use_file("/nonexistent");
	expect_text(symbols_problem(symbols), "No such file or directory");
	use_file("/etc/passwd");
	cr_expect(symbols_problem(symbols) != NULL);
	cr_expect(symbols_name(symbols, 0) == NULL);
	use_file("/etc");
	cr_expect(symbols_problem(symbols) != NULL);
}

Test(symbols, an_image_serves_as_a_file)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct lwpdata_bytes image = { vdso, 0 };
	struct lwpdata_map map;
	char path[4096];
	bool found = false;

	if (!vdso || !own_map(vdso, &map, path))
		cr_skip_test("no vDSO here");
	image.size = (size_t)(map.end - map.start);
	use(symbols_open("", "[vdso]", 0, none, image));
	for (uint64_t at = 0; at < image.size && !found; at += 4) {
		const char *name = symbols_name(symbols, at);

		found = name && strstr(name, "clock_gettime");
	}
	cr_expect(found);
}

/* ---- Stripped files, names of versions, inlined functions ----------------------------------- */

/* As Debian strips, and without the debug file that may lie elsewhere. */
#define STRIP "-S -R .note.gnu.build-id"

static void use_copy(const char *how, const char *file)
{
	char path[] = "/tmp/test_symbols_copy.XXXXXX", command[8192];

	close(mkstemp(path));
	snprintf(command, sizeof(command), "objcopy %s %s %s", how, file, path);
	cr_assert(eq(int, system(command), 0));
	use_file(path);
	unlink(path);
}

Test(symbols, the_default_version_names_an_address)
{
	const char *function = dlsym(dlopen("libc.so.6", RTLD_LAZY), "free");

	offset_of(function); /* `library` is the C library from now on */
	use_copy(STRIP, library);
	/* cfree@GLIBC_2.2.5 has the same address. */
	expect_name(function, "free");
}

Test(symbols, stripped_functions_have_their_ranges_from_eh_frame)
{
	uint64_t start = 0, end = 0, want, offset = offset_of(addresses.local);

	use_copy(STRIP, library);
	cr_expect(symbols_name(symbols, offset) == NULL);
	cr_assert(symbols_unnamed(symbols, offset + 2, &start, &end));
	cr_assert(symbols_address(symbols, offset, &want));
	cr_expect(eq(u64, start, want));
	cr_expect(gt(u64, end, start + 2));
	/* What no description covers stays without. */
	cr_expect(not(symbols_unnamed(symbols, offset_of(addresses.sized), &start, &end)));
}

Test(symbols, inlined_functions_are_named_the_innermost_first)
{
	const char *names[4] = { "none", "none", "none", "none" };
	uint64_t offset = offset_of(addresses.inlined);

	cr_assert(eq(uint, symbols_inlined(symbols, offset, names, 4), 2));
	expect_text(names[0], "symbolic_innermost");
	expect_text(names[1], "symbolic_inner");
	cr_expect(eq(uint, symbols_inlined(symbols, offset, names, 1), 1));
	cr_expect(eq(uint, symbols_inlined(symbols, offset_of(addresses.sized), names, 4), 0));
}

Test(symbols, code_is_that_of_the_file)
{
	uint64_t address, size = 16;
	const uint8_t *code;

	cr_assert(symbols_address(symbols, offset_of(addresses.function), &address));
	code = symbols_code(symbols, address, &size);
	cr_assert(code != NULL);
	cr_expect(eq(u64, size, 16));
	cr_expect(eq(int, memcmp(code, addresses.function, 16), 0));
	cr_expect(symbols_code(symbols, UINT64_MAX, &size) == NULL);
}

/* ---- perf maps ------------------------------------------------------------------------------ */

static void use_perf_map(const char *text)
{
	use(symbols_open_perf_map((struct lwpdata_bytes){ (const uint8_t *)text, strlen(text) }));
}

static void expect_jit(uint64_t address, const char *name)
{
	expect_text(symbols_name(symbols, address), name);
}

Test(symbols, a_perf_map_names_ranges)
{
	use_perf_map("1000 10 first\n0x2000 20 a name with blanks\n3000 1 last");
	expect_jit(0xfff, "none");
	expect_jit(0x1000, "first");
	expect_jit(0x100f, "first");
	expect_jit(0x1010, "none");
	expect_jit(0x201f, "a name with blanks");
	expect_jit(0x3000, "last");
}

Test(symbols, the_latest_line_of_a_perf_map_counts)
{
	use_perf_map("1000 100 old\n1010 10 new\n1000 8 newest\n");
	expect_jit(0x1000, "newest");
	expect_jit(0x1008, "old");
	expect_jit(0x1010, "new");
	expect_jit(0x1020, "old");
}

Test(symbols, odd_lines_of_a_perf_map_are_skipped)
{
	use_perf_map(
		"\nnonsense\n1000\n1000 10\n1000 0 empty\nffffffffffffffff 2 around\n1000 10 good\n");
	expect_jit(0x1000, "good");
	expect_jit(0, "none");
}

Test(symbols, units_are_found_without_aranges)
{
	const char *file, *folder, *name;
	int line;

	use_copy("-R .debug_aranges", library);
	cr_expect(symbols_line(symbols, offset_of(addresses.function + 1), &folder, &file, &line));
	cr_assert(eq(uint, symbols_inlined(symbols, offset_of(addresses.inlined), &name, 1), 1));
	cr_expect(eq(str, (char *)name, (char *)"symbolic_innermost"));
}
