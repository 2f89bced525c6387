// SPDX-License-Identifier: GPL-2.0-or-later
/* What kind of branch an instruction of x86-64 is. */
#include <stdbool.h>
#include <string.h>

#include "branch.h"

#define PREFIXES_MAX 14

struct code {
	const uint8_t *bytes;
	size_t size, at;
	uint64_t address;
};

static bool is_prefix(uint8_t byte)
{
	switch (byte) {
	case 0x26:
	case 0x2e:
	case 0x36:
	case 0x3e:
	case 0x64 ... 0x67:
	case 0xf0:
	case 0xf2:
	case 0xf3:
		return true;
	default:
		return (byte & 0xf0) == 0x40; /* REX */
	}
}

/* A displacement of 1 or 4 bytes, from the end of the instruction. */
static enum branch_kind relative(const struct code *c, size_t size, uint64_t *target,
				 enum branch_kind kind)
{
	int32_t displacement = 0;
	int8_t small;

	if (c->size - c->at < size)
		return BRANCH_UNKNOWN;
	if (size == 1) {
		memcpy(&small, c->bytes + c->at, 1);
		displacement = small;
	} else {
		memcpy(&displacement, c->bytes + c->at, 4);
	}
	*target = c->address + c->at + size + (uint64_t)(int64_t)displacement;
	return kind;
}

/* FF /2 and /3 are calls, /4 and /5 jumps. */
static enum branch_kind indirect(const struct code *c)
{
	unsigned int reg = c->at < c->size ? c->bytes[c->at] >> 3 & 7 : 0;

	return reg == 2 || reg == 3 ? BRANCH_CALL :
	       reg == 4 || reg == 5 ? BRANCH_JUMP :
				      BRANCH_UNKNOWN;
}

enum branch_kind branch_kind(const uint8_t *code, size_t size, uint64_t address, uint64_t *target)
{
	struct code c = { code, size, 0, address };
	uint8_t opcode;

	*target = 0;
	while (c.at < size && c.at < PREFIXES_MAX && is_prefix(code[c.at]))
		c.at++;
	if (c.at >= size)
		return BRANCH_UNKNOWN;
	opcode = code[c.at++];
	switch (opcode) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
		return relative(&c, 1, target, BRANCH_CONDITIONAL);
	case 0x0f:
		if (c.at >= size || (code[c.at] & 0xf0) != 0x80)
			return BRANCH_UNKNOWN;
		c.at++;
		return relative(&c, 4, target, BRANCH_CONDITIONAL);
	case 0xe8:
		return relative(&c, 4, target, BRANCH_CALL);
	case 0xe9:
		return relative(&c, 4, target, BRANCH_JUMP);
	case 0xeb:
		return relative(&c, 1, target, BRANCH_JUMP);
	case 0xc2:
	case 0xc3:
		return BRANCH_RETURN;
	case 0xff:
		return indirect(&c);
	default:
		return BRANCH_UNKNOWN;
	}
}
