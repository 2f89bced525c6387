// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code of just-in-time compilers as ELF images. A profile has its names (/tmp/perf-PID.map), not the code: an image has
 * a section .text of the mapping's size that takes no room in the file, and its symbols.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "jitted.h"
#include "lwpctl.h"
#include "memory.h"
#include "output.h"

/* The sections of an image, in order. */
enum { SECTION_NONE, SECTION_TEXT, SECTION_SYMTAB, SECTION_STRTAB, SECTION_NAMES, NR_SECTIONS };

static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
/* Where their names stand in it. */
static const Elf64_Word name_at[NR_SECTIONS] = { 0, 1, 7, 15, 23 };

struct image {
	const struct profile_map *map;
	Elf64_Sym *symbols; /* the first is none */
	size_t nr, room;
	char *names;
	size_t names_size;
	FILE *to; /* of the names */
};

/* ---- Symbols -------------------------------------------------------------------------------- */

static void add(void *to, const char *name, uint64_t start, uint64_t size)
{
	struct image *i = to;

	if (start < i->map->start || start >= i->map->end)
		return;
	fflush(i->to);
	*APPEND(i->symbols, i->nr, i->room) = (Elf64_Sym){
		.st_name = (Elf64_Word)i->names_size,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = SECTION_TEXT,
		.st_value = start - i->map->start + JITTED_OFFSET,
		.st_size = size < i->map->end - start ? size : i->map->end - start,
	};
	fputs(name, i->to);
	fputc('\0', i->to);
}

static bool collect(struct image *i, struct export *e, const struct profile_map *map)
{
	struct symbols *symbols = resolver_perf_map(&e->view->resolver, map->process);

	*i = (struct image){ .map = map };
	i->to = must(open_memstream(&i->names, &i->names_size));
	fputc('\0', i->to);
	*APPEND(i->symbols, i->nr, i->room) = (Elf64_Sym){ 0 };
	if (symbols)
		symbols_each(symbols, add, i);
	if (fclose(i->to))
		must(NULL);
	return i->nr > 1;
}

/* ---- The file ------------------------------------------------------------------------------- */

static void put(FILE *out, const struct image *i)
{
	const size_t symbols_size = i->nr * sizeof(*i->symbols);
	const Elf64_Off symbols_at = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
			strings_at = symbols_at + symbols_size,
			names_at = strings_at + i->names_size,
			sections_at = (names_at + sizeof(section_names) + 7) / 8 * 8;
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sections_at,
		.e_ehsize = sizeof(head),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = NR_SECTIONS,
		.e_shstrndx = SECTION_NAMES,
	};
	/* hotspot refuses a file without. */
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = JITTED_OFFSET,
		.p_vaddr = JITTED_OFFSET,
		.p_paddr = JITTED_OFFSET,
		.p_memsz = i->map->end - i->map->start,
		.p_align = JITTED_ALIGN,
	};
	Elf64_Shdr sections[NR_SECTIONS] = {
		[SECTION_TEXT] = { .sh_type = SHT_NOBITS,
				   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				   .sh_addr = JITTED_OFFSET,
				   .sh_offset = JITTED_OFFSET,
				   .sh_size = i->map->end - i->map->start,
				   .sh_addralign = 16 },
		[SECTION_SYMTAB] = { .sh_type = SHT_SYMTAB,
				     .sh_offset = symbols_at,
				     .sh_size = symbols_size,
				     .sh_link = SECTION_STRTAB,
				     .sh_info = 1, /* the first that is global */
				     .sh_addralign = 8,
				     .sh_entsize = sizeof(Elf64_Sym) },
		[SECTION_STRTAB] = { .sh_type = SHT_STRTAB,
				     .sh_offset = strings_at,
				     .sh_size = i->names_size,
				     .sh_addralign = 1 },
		[SECTION_NAMES] = { .sh_type = SHT_STRTAB,
				    .sh_offset = names_at,
				    .sh_size = sizeof(section_names),
				    .sh_addralign = 1 },
	};

	for (size_t k = 0; k < NR_SECTIONS; k++)
		sections[k].sh_name = name_at[k];
	fwrite(&head, sizeof(head), 1, out);
	fwrite(&segment, sizeof(segment), 1, out);
	fwrite(i->symbols, symbols_size, 1, out);
	fwrite(i->names, i->names_size, 1, out);
	fwrite(section_names, sizeof(section_names), 1, out);
	for (Elf64_Off at = names_at + sizeof(section_names); at < sections_at; at++)
		fputc(0, out);
	fwrite(sections, sizeof(sections), 1, out);
}

static bool write_image(const struct image *i, const char *path)
{
	FILE *out = output_open(path);

	if (!out)
		return false;
	put(out, i);
	return output_close(out, path, true);
}

/* ---- All of them ---------------------------------------------------------------------------- */

/* Absolute: perf may be called anywhere. NULL after one line. */
static char *folder_of(const char *output)
{
	const char *slash = strrchr(output, '/');
	char *folder = copy_string(output, slash ? (size_t)(slash - output) + 1 : 0);
	char *absolute = realpath(*folder ? folder : ".", NULL);

	if (!absolute)
		complain("%s: %s", folder, strerror(errno));
	free(folder);
	return absolute;
}

/* What an ELF file backs has symbols of its own, if it can be used. */
static bool is_jitted(struct export *e, const struct profile_map *map)
{
	if (map->data || !e->view->profile.processes[map->process].perf_map.size)
		return false;
	return map->object == LWPDATA_NONE ||
	       symbols_problem(resolver_object(&e->view->resolver, map->object));
}

bool jitted_write(struct jitted *jitted, struct export *e, const char *output)
{
	const struct profile *p = &e->view->profile;
	char *folder = output ? folder_of(output) : NULL;
	bool good = true;

	*jitted = (struct jitted){ must(calloc(p->nr_maps + 1, sizeof(char *))), p->nr_maps };
	if (!folder)
		return !output;
	for (size_t n = 0; good && n < p->nr_maps; n++) {
		const struct profile_map *map = &p->maps[n];
		struct image image = { 0 };

		if (is_jitted(e, map) && collect(&image, e, map)) {
			jitted->paths[n] = formatted("%s/jitted-%" PRIu32 "-%zu.so", folder,
						     p->processes[map->process].pid, n);
			good = write_image(&image, jitted->paths[n]);
		}
		free(image.symbols);
		free(image.names);
	}
	free(folder);
	return good;
}

void jitted_free(struct jitted *jitted)
{
	for (size_t i = 0; i < jitted->nr; i++)
		free(jitted->paths[i]);
	free(jitted->paths);
}
