// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instruction decoder against objdump: every instruction of the C library and the dynamic linker.
 *
 * Length, kind, condition, target and the operand of indirect branches must be what objdump prints. Each
 * file is read as what it is and, since a decoder must cope with any bytes, also as code of the smaller
 * sizes; what objdump takes for no instruction is left out there.
 *
 * Usage: test_insn_objdump [FILE...]     (ELF files; default: the libraries of this machine)
 * Exit: 0 all agree, 1 something differs, 77 there is no objdump.
 */
#include "objdump_text.h"
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_FILES 16
#define MAX_SHOWN 40

struct run {
	enum lwp_code_bits bits;
	unsigned long compared, branches, skipped, wrong;
};

struct files {
	const char *name[MAX_FILES];
	unsigned int count;
};

static void complain(struct run *run, const char *text, const char *what, long long have)
{
	if (run->wrong++ < MAX_SHOWN)
		printf("%d-bit: %s is %lld: %s", (int)run->bits, what, have, text);
}

/* Target: objdump prints all 64 bits of what wraps at 16 or 32. */
static bool same_target(const struct objdump_line *line, const struct lwp_insn *insn)
{
	u64 target;

	lwp_insn_target(insn, line->address, NULL, &target);
	return target == lwp_truncate(line->target, insn->op_bits);
}

static void compare(struct run *run, const char *text, const struct objdump_line *line)
{
	char operand[OBJDUMP_OPERAND_MAX];
	struct lwp_insn insn;
	enum lwp_decode result;

	result = lwp_insn_decode(line->bytes, line->length, run->bits, &insn);
	run->compared++;
	if (line->undefined) {
		if (result != LWP_DECODE_UD)
			complain(run, text, "result", result);
		return;
	}
	if (result != LWP_DECODE_OK) {
		complain(run, text, "result", result);
		return;
	}
	if (insn.length != line->length) {
		complain(run, text, "length", insn.length);
		return;
	}
	if (insn.kind != line->kind) {
		complain(run, text, "kind", insn.kind);
		return;
	}
	if (lwp_insn_is_string(&insn) && lwp_insn_is_repeated(&insn) != line->repeated)
		complain(run, text, "rep", insn.rep);
	if (!lwp_insn_is_branch(&insn))
		return;
	run->branches++;
	if (insn.kind == LWP_INSN_JCC && insn.cond != line->cond)
		complain(run, text, "condition", insn.cond);
	if (lwp_insn_is_relative(&insn) && !same_target(line, &insn))
		complain(run, text, "displacement", insn.rel);
	if (insn.kind == LWP_INSN_JMP_IND || insn.kind == LWP_INSN_CALL_IND) {
		objdump_operand(&insn.rm, insn.op_bits, operand);
		if (strcmp(operand, line->operand)) {
			complain(run, text, "operand", insn.rm.mem.disp);
			printf("\thave %s\n", operand);
		}
	}
}

/* FWAIT is an instruction of its own, objdump joins it with the FPU instruction behind it. */
static void split_fwait(struct objdump_line *line)
{
	if (line->bytes[0] != 0x9b || line->length == 1)
		return;
	line->length--;
	memmove(line->bytes, line->bytes + 1, line->length);
}

static bool run_file(struct run *run, const char *file)
{
	static const char *const mode[] = { "i8086", "i386", "x86-64" };
	char command[512], text[512];
	struct objdump_line line;
	FILE *pipe;

	snprintf(command, sizeof(command), "LC_ALL=C objdump -d -w --insn-width=15 -M %s '%s'",
		 mode[run->bits / 32], file);
	pipe = popen(command, "r");
	if (!pipe) {
		perror(command);
		return false;
	}
	while (fgets(text, sizeof(text), pipe)) {
		if (!objdump_parse(text, &line))
			continue;
		split_fwait(&line);
		if (line.valid)
			compare(run, text, &line);
		else
			run->skipped++;
	}
	if (pclose(pipe)) {
		fprintf(stderr, "%s: failed; is it an x86 ELF file that objdump can read?\n",
			command);
		return false;
	}
	return true;
}

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
	size_t i;

	dl_iterate_phdr(add_loaded, files);
	for (i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (!access(more[i], R_OK))
			files->name[files->count++] = more[i];
}

/* How many instructions differ, or -1 if the file cannot be read. */
static long check_file(const char *file)
{
	int bits = native_bits(file);
	unsigned long wrong = 0;

	if (!bits) {
		fprintf(stderr, "%s: not an x86 ELF file\n", file);
		return -1;
	}
	for (; bits >= LWP_CODE16; bits /= 2) {
		struct run run = { .bits = bits };

		if (!run_file(&run, file))
			return -1;
		printf("%s as %d-bit code: %lu instructions compared, %lu branches, %lu differ, "
		       "%lu lines are none\n",
		       file, bits, run.compared, run.branches, run.wrong, run.skipped);
		wrong += run.wrong;
	}
	return wrong;
}

int main(int argc, char **argv)
{
	struct files files = { .count = 0 };
	bool failed = false;
	unsigned int i;

	if (system("objdump --version >/dev/null 2>&1")) {
		printf("skipped: objdump is not installed (Debian package binutils)\n");
		return 77;
	}
	for (i = 1; i < (unsigned int)argc && files.count < MAX_FILES; i++)
		files.name[files.count++] = argv[i];
	if (argc < 2)
		default_files(&files);
	if (!files.count) {
		fprintf(stderr, "no C library found; name an ELF file\n");
		return 1;
	}
	for (i = 0; i < files.count; i++)
		if (check_file(files.name[i]))
			failed = true;
	return failed;
}
