// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instruction decoder against objdump: every opcode of every map, in each mode, with prefixes that
 * change sizes and ModRM bytes of each sort. (test_insn_objdump.c: real code.)
 *
 * Each instruction stands in a slot of 16 bytes that NOPs fill, so that objdump finds the next one (none
 * here has more than 14 bytes). What objdump does not know is left out.
 *
 * Exit: 0 all agree, 1 something differs, 77 there is no objdump.
 */
#include "objdump_compare.h"
#include <stdio.h>

#define SLOT 16
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct bytes {
	u8 byte[4];
	u8 count;
	bool only64;
};

static const struct bytes prefixes[] = {
	{ { 0 }, 0, false },	     { { 0x66 }, 1, false }, { { 0x67 }, 1, false },
	{ { 0xf2 }, 1, false },	     { { 0xf3 }, 1, false }, { { 0x48 }, 1, true },
	{ { 0x66, 0x48 }, 2, true }, { { 0x45 }, 1, true },
};

/* Escapes of the maps; the first four take legacy prefixes and REX. */
#define LEGACY_MAPS 4

static const struct bytes maps[] = {
	{ { 0 }, 0, false },
	{ { 0x0f }, 1, false },
	{ { 0x0f, 0x38 }, 2, false },
	{ { 0x0f, 0x3a }, 2, false },
	{ { 0xc5, 0xf8 }, 2, false },
	{ { 0xc5, 0xfd }, 2, false },
	{ { 0xc5, 0xfa }, 2, false },
	{ { 0xc4, 0xe1, 0xfb }, 3, false },
	{ { 0xc4, 0xe2, 0x79 }, 3, false },
	{ { 0xc4, 0xe2, 0xfd }, 3, false },
	{ { 0xc4, 0xe3, 0x7d }, 3, false },
	{ { 0xc4, 0xe3, 0xf9 }, 3, false },
	{ { 0x8f, 0xe8, 0x78 }, 3, false },
	{ { 0x8f, 0xe9, 0x78 }, 3, false },
	{ { 0x8f, 0xea, 0x78 }, 3, false },
	{ { 0x62, 0xf1, 0x7c, 0x48 }, 4, false },
	{ { 0x62, 0xf1, 0xfd, 0x48 }, 4, false },
	{ { 0x62, 0xf2, 0x7d, 0x48 }, 4, false },
	{ { 0x62, 0xf3, 0x7d, 0x48 }, 4, false },
	{ { 0x62, 0xf5, 0x7c, 0x48 }, 4, false },
	{ { 0x62, 0xf6, 0x7d, 0x48 }, 4, false },
};

/* Each reg once; with a base, SIB, disp32 alone, disp8, disp32, and the forms of 16-bit addressing. */
static const u8 memory_modrm[] = { 0x00, 0x0c, 0x15, 0x5c, 0xa4, 0x6e, 0x36, 0xbf };

static const u8 sib[] = { 0x24, 0x90, 0x4d };

/*
 * Bytes of the first map that are prefixes are not opcodes. Before what would be a vector prefix there
 * is none allowed, and objdump makes FWAIT with a prefix and an FPU instruction one line.
 */
static bool left_out(const struct bytes *prefix, const struct bytes *map, u8 opcode)
{
	static const u8 legacy[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
				     0x66, 0x67, 0xf0, 0xf2, 0xf3 };
	static const u8 alone[] = { 0x9b, 0x62, 0x8f, 0xc4, 0xc5 };

	if (map->count)
		return false;
	if (memchr(legacy, opcode, sizeof(legacy)))
		return true;
	return prefix->count && ((opcode & 0xf0) == 0x40 || memchr(alone, opcode, sizeof(alone)));
}

static void put(FILE *file, const struct bytes *prefix, const struct bytes *map, u8 opcode,
		u8 modrm)
{
	u8 slot[SLOT];
	size_t n = 0;

	if (left_out(prefix, map, opcode))
		return;
	memset(slot, 0x90, sizeof(slot));
	memcpy(slot, prefix->byte, prefix->count);
	n += prefix->count;
	memcpy(slot + n, map->byte, map->count);
	n += map->count;
	slot[n++] = opcode;
	slot[n++] = modrm;
	slot[n] = sib[(opcode + modrm) % COUNT(sib)];
	fwrite(slot, sizeof(slot), 1, file);
}

static void put_opcode(FILE *file, const struct bytes *prefix, const struct bytes *map, u8 opcode)
{
	for (size_t i = 0; i < COUNT(memory_modrm); i++)
		put(file, prefix, map, opcode, memory_modrm[i]);
	/* ModRM as opcode: all of it where groups are, else one of each reg. */
	for (unsigned int modrm = 0xc0; modrm <= 0xff;
	     modrm += map->count == 1 && !prefix->count ? 1 : 9)
		put(file, prefix, map, opcode, (u8)modrm);
}

static bool put_all(FILE *file, enum lwp_code_bits bits)
{
	for (size_t m = 0; m < COUNT(maps); m++)
		for (size_t p = 0; p < (m < LEGACY_MAPS ? COUNT(prefixes) : 1); p++)
			for (int opcode = 0; opcode < 256; opcode++)
				if (bits == LWP_CODE64 || !prefixes[p].only64)
					put_opcode(file, &prefixes[p], &maps[m], (u8)opcode);
	return !fflush(file) && !ferror(file);
}

static bool check(enum lwp_code_bits bits)
{
	static const char *const options[] = { "-D -z -b binary -m i8086",
					       "-D -z -b binary -m i386",
					       "-D -z -b binary -m i386:x86-64" };
	struct comparison c = { .bits = bits, .every = SLOT };
	FILE *file = tmpfile();
	char name[32];
	bool same = false;

	if (!file || !put_all(file, bits)) {
		perror("test_insn_maps: temporary file");
	} else {
		/* The child of popen() has the same descriptor. */
		snprintf(name, sizeof(name), "/dev/fd/%d", fileno(file));
		same = objdump_compare(&c, options[bits / 32], name) &&
		       objdump_report(&c, "all maps");
	}
	if (file)
		fclose(file);
	return same;
}

int main(void)
{
	bool same;

	if (!objdump_is_there()) {
		printf("skipped: objdump is not installed (Debian package binutils)\n");
		return 77;
	}
	same = check(LWP_CODE64);
	same &= check(LWP_CODE32);
	same &= check(LWP_CODE16);
	return !same;
}
