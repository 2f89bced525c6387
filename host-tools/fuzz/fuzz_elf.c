// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What lwpctl looks up in the files of a profile's programs. Input: a byte, then an ELF file, or, if the byte is odd, the
 * text of a just-in-time compiler's map. Nothing may crash, hang or leak; what is found is inside the file.
 */
#include <string.h>

#include "fuzz.h"
#include "symbols.h"

#define NAMES_MAX 8

const char *__lsan_default_suppressions(void);

/* dwarf_getscopes() of elfutils 0.188 forgets its array when debugging information is damaged. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libdw.so\n";
}

static uint64_t sum; /* of all that is found, so that it is read */

static void see(void *to, const char *name, uint64_t start, uint64_t size)
{
	sum += strlen(name) + start + size;
}

static void read_text(const char *text)
{
	sum += text ? strlen(text) : 0;
}

/* What is at one of the file's own addresses. */
static void look_at_address(struct symbols *s, uint64_t address, struct lwpdata_bytes image)
{
	uint64_t start, end, n = 64;
	const uint8_t *code = symbols_code(s, address, &n);
	int line;

	if (symbols_range_at(s, address, &start, &end))
		CHECK(start <= address && address < end);
	read_text(symbols_variable(s, address, &start));
	read_text(symbols_section(s, address));
	symbols_first_line(s, address, &line);
	if (code)
		CHECK(code >= image.data && n <= (uint64_t)(image.data + image.size - code));
}

/* What is at an offset in the file, or at an address of a map. */
static void look_at(struct symbols *s, uint64_t offset, struct lwpdata_bytes image)
{
	const char *names[NAMES_MAX], *folder, *file;
	uint64_t address, start, end;
	unsigned int n = symbols_inlined(s, offset, names, NAMES_MAX);
	int line;

	CHECK(n <= NAMES_MAX);
	for (unsigned int i = 0; i < n; i++)
		read_text(names[i]);
	read_text(symbols_name(s, offset));
	if (symbols_unnamed(s, offset, &start, &end))
		CHECK(start < end);
	if (symbols_line(s, offset, &folder, &file, &line)) {
		read_text(folder);
		read_text(file);
	}
	if (symbols_address(s, offset, &address) || symbols_data_address(s, offset, &address))
		look_at_address(s, address, image);
	look_at_address(s, offset, image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lwpdata_bytes none = { 0 }, image;
	struct symbols *s;

	if (size < 2)
		return 0;
	image = (struct lwpdata_bytes){ .data = data + 1, .size = size - 1 };
	s = data[0] & 1 ? symbols_open_perf_map(image) :
			  symbols_open("", "/nonexistent", 0, none, image);
	read_text(symbols_problem(s));
	symbols_each(s, see, NULL);
	for (uint64_t at = 0; at < 0x6000; at += at < 0x400 ? 0x37 : 0x2f3)
		look_at(s, at, image);
	symbols_free(s);
	return 0;
}
