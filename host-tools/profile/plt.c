// SPDX-License-Identifier: GPL-2.0-or-later
/* Names for the stubs of the procedure linkage table: .plt, .plt.sec and .plt.got of x86-64. */
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "plt.h"

#define DEFAULT_STUB 16

struct slot {
	uint64_t address; /* of the word in the global offset table */
	const char *name;
};

struct slots {
	struct slot *list;
	size_t nr, room;
};

static int compare(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;

	return ORDER(x->address, y->address);
}

static void add_relocations(Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh, struct slots *slots)
{
	Elf_Scn *symbols_scn = elf_getscn(elf, sh->sh_link);
	Elf_Data *data = elf_getdata(scn, NULL);
	Elf_Data *symbols = symbols_scn ? elf_getdata(symbols_scn, NULL) : NULL;
	GElf_Shdr symbols_sh;
	GElf_Rela rela;

	if (!data || !symbols || !gelf_getshdr(symbols_scn, &symbols_sh))
		return;
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		unsigned long type = GELF_R_TYPE(rela.r_info);
		GElf_Sym sym;
		const char *name;

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
			continue;
		if (!gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(elf, symbols_sh.sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		*APPEND(slots->list, slots->nr, slots->room) = (struct slot){ rela.r_offset, name };
	}
}

/* The word through which the stub's `jmp *disp32(%rip)` (FF 25) goes; false if it has none. */
static bool jump_through(const uint8_t *stub, size_t size, uint64_t address, uint64_t *word)
{
	for (size_t i = 0; i + 6 <= size; i++) {
		int32_t displacement;

		if (stub[i] != 0xff || stub[i + 1] != 0x25)
			continue;
		memcpy(&displacement, stub + i + 2, sizeof(displacement));
		*word = address + i + 6 + (uint64_t)(int64_t)displacement;
		return true;
	}
	return false;
}

struct adder {
	void (*add)(void *to, const char *name, uint64_t start, uint64_t size);
	void *to;
};

static void add_stub(const struct adder *adder, const struct slots *slots, const uint8_t *stub,
		     size_t size, uint64_t address)
{
	struct slot wanted, *slot = NULL;
	char *name;

	if (slots->nr && jump_through(stub, size, address, &wanted.address))
		slot = bsearch(&wanted, slots->list, slots->nr, sizeof(wanted), compare);
	/* The first stub, and those that only push a number for it, belong to the resolver. */
	name = formatted("%s@plt", slot ? slot->name : "[resolve]");
	adder->add(adder->to, name, address, size);
	free(name);
}

static void add_stubs(const struct adder *adder, const struct slots *slots, Elf_Scn *scn,
		      const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t stub = sh->sh_entsize >= 8 && sh->sh_entsize <= 64 ? sh->sh_entsize : DEFAULT_STUB;

	for (size_t at = 0; data && data->d_buf && at + stub <= data->d_size; at += stub)
		add_stub(adder, slots, (const uint8_t *)data->d_buf + at, stub, sh->sh_addr + at);
}

void plt_stubs(Elf *elf, void (*add)(void *to, const char *name, uint64_t start, uint64_t size),
	       void *to)
{
	const struct adder adder = { add, to };
	struct slots slots = { 0 };
	Elf_Scn *scn = NULL;
	GElf_Ehdr eh;
	GElf_Shdr sh;
	size_t names;

	if (!gelf_getehdr(elf, &eh) || eh.e_machine != EM_X86_64 || elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA)
			add_relocations(elf, scn, &sh, &slots);
	sort_list(slots.list, slots.nr, sizeof(*slots.list), compare);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name && (!strcmp(name, ".plt") || !strcmp(name, ".plt.sec") ||
			     !strcmp(name, ".plt.got")))
			add_stubs(&adder, &slots, scn, &sh);
	}
	free(slots.list);
}
