// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instruction decoder against objdump: every instruction of the C library and the dynamic linker.
 *
 * Length, kind, condition, target and the operand of indirect branches must be what objdump prints. Each
 * file is read as what it is and, since a decoder must cope with any bytes, also as code of the smaller
 * sizes (a C library that nobody names is not: test_insn_maps has every opcode in each size); what objdump
 * takes for no instruction is left out there.
 *
 * Usage: test_insn_objdump [FILE...]     (ELF files; default: the libraries of this machine)
 * Exit: 0 all agree, 1 something differs, 77 there is no objdump.
 */
#include "objdump_compare.h"
#include <link.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_FILES 16

struct files {
	const char *name[MAX_FILES];
	unsigned int count;
};

/* 64 (x32 as well), 32, or 0 for what is no x86 ELF file. */
static int native_bits(const char *file)
{
	Elf32_Ehdr header = { .e_machine =
				      EM_NONE }; /* the fields used are common to both classes */
	FILE *f = fopen(file, "rb");

	if (!f || fread(&header, sizeof(header), 1, f) != 1)
		header.e_machine = EM_NONE;
	if (f)
		fclose(f);
	if (memcmp(header.e_ident, ELFMAG, SELFMAG))
		return 0;
	return header.e_machine == EM_X86_64 ? 64 : header.e_machine == EM_386 ? 32 : 0;
}

static int add_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	struct files *files = data;

	if (files->count < MAX_FILES &&
	    (strstr(info->dlpi_name, "/libc.so") || strstr(info->dlpi_name, "/ld-linux")))
		files->name[files->count++] = info->dlpi_name;
	return 0;
}

/* The 64-bit libraries this program runs with, and 32-bit ones where they are installed. */
static void default_files(struct files *files)
{
	static const char *const more[] = { "/lib32/libc.so.6", "/lib32/ld-linux.so.2",
					    "/lib/i386-linux-gnu/libc.so.6",
					    "/lib/i386-linux-gnu/ld-linux.so.2" };

	dl_iterate_phdr(add_loaded, files);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (!access(more[i], R_OK))
			files->name[files->count++] = more[i];
}

/* smaller: also as code of the smaller sizes. */
static bool check_file(const char *file, bool smaller)
{
	static const char *const options[] = { "-d -M i8086", "-d -M i386", "-d -M x86-64" };
	int bits = native_bits(file);
	bool same = bits;

	if (!bits)
		fprintf(stderr, "%s: not an x86 ELF file\n", file);
	for (; bits >= LWP_CODE16; bits = smaller ? bits / 2 : 0) {
		struct comparison c = { .bits = bits, .every = 1 };

		if (!objdump_compare(&c, options[bits / 32], file))
			return false;
		same &= objdump_report(&c, file);
	}
	return same;
}

int main(int argc, char **argv)
{
	struct files files = { .count = 0 };
	bool failed = false;

	if (!objdump_is_there()) {
		printf("skipped: objdump is not installed (Debian package binutils)\n");
		return 77;
	}
	for (unsigned int i = 1; i < (unsigned int)argc && files.count < MAX_FILES; i++)
		files.name[files.count++] = argv[i];
	if (argc < 2)
		default_files(&files);
	if (!files.count) {
		fprintf(stderr, "no C library found; name an ELF file\n");
		return 1;
	}
	for (unsigned int i = 0; i < files.count; i++)
		if (!check_file(files.name[i], argc > 1 || !strstr(files.name[i], "/libc.so")))
			failed = true;
	return failed;
}
