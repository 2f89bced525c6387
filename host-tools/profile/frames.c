// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where functions begin and end by .eh_frame. libdw splits the section into entries; the pointers in them are read
 * here, in the encodings that compilers use: absolute or relative to the pointer, of 2, 4 or 8 bytes.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#include "frames.h"

#define FORMAT_MASK 0x0f
#define APPLICATION_MASK 0x70

struct frames {
	const unsigned char *ident;
	Elf_Data *data;
	uint64_t address; /* of the section */
	/* The common entry that was looked up last, and its encoding of pointers. */
	Dwarf_Off common;
	bool known;
	uint8_t encoding;
};

static size_t size_of(uint8_t encoding)
{
	switch (encoding & FORMAT_MASK) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	default:
		return 0;
	}
}

/* `extend`: signed formats are extended, for addresses; a length has no sign. */
static uint64_t read_value(const uint8_t *at, uint8_t encoding, bool extend)
{
	bool negative = extend && (encoding & FORMAT_MASK) > DW_EH_PE_udata8;
	uint64_t value = 0;
	size_t size = size_of(encoding);

	memcpy(&value, at, size);
	if (negative && size < sizeof(value) && value >> (8 * size - 1))
		value |= UINT64_MAX << (8 * size);
	return value;
}

/* The encoding of pointers in the descriptions that name this common entry; false if it cannot be read. */
static bool find_encoding(struct frames *f, Dwarf_Off offset)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	const char *letter;
	const uint8_t *data, *end;

	if (f->known && f->common == offset)
		return true;
	f->known = false;
	if (dwarf_next_cfi(f->ident, f->data, true, offset, &next, &entry) ||
	    !dwarf_cfi_cie_p(&entry))
		return false;
	f->encoding = DW_EH_PE_absptr;
	letter = entry.cie.augmentation;
	data = entry.cie.augmentation_data;
	end = data + entry.cie.augmentation_data_size;
	if (*letter == 'z')
		letter++;
	else if (*letter)
		return false;
	for (; *letter && data < end; letter++) {
		if (*letter == 'R')
			f->encoding = *data;
		if (*letter == 'R' || *letter == 'L')
			data++;
		else if (*letter == 'P')
			data += 1 + size_of(*data);
	}
	f->common = offset;
	f->known = true;
	return true;
}

static bool range_of(struct frames *f, const Dwarf_FDE *description, uint64_t *start, uint64_t *end)
{
	const uint8_t *at = description->start;
	size_t size;

	if (!find_encoding(f, description->CIE_pointer))
		return false;
	size = size_of(f->encoding);
	if (!size || (size_t)(description->end - at) < 2 * size)
		return false;
	*start = read_value(at, f->encoding, true);
	if ((f->encoding & APPLICATION_MASK) == DW_EH_PE_pcrel)
		*start += f->address + (uint64_t)(at - (const uint8_t *)f->data->d_buf);
	else if (f->encoding & APPLICATION_MASK)
		return false;
	*end = *start + read_value(at + size, f->encoding, false);
	return *end > *start;
}

static void add_section(struct frames *f, void (*add)(void *to, uint64_t start, uint64_t end),
			void *to)
{
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	uint64_t start, end;

	while (!dwarf_next_cfi(f->ident, f->data, true, offset, &next, &entry) && next > offset) {
		if (!dwarf_cfi_cie_p(&entry) && range_of(f, &entry.fde, &start, &end))
			add(to, start, end);
		offset = next;
	}
}

void frame_ranges(Elf *elf, void (*add)(void *to, uint64_t start, uint64_t end), void *to)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		struct frames f = { .ident = (const unsigned char *)elf_getident(elf, NULL) };
		const char *name;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (!name || strcmp(name, ".eh_frame") || !f.ident)
			continue;
		f.data = elf_getdata(scn, NULL);
		f.address = sh.sh_addr;
		if (f.data && f.data->d_buf)
			add_section(&f, add, to);
	}
}
