// SPDX-License-Identifier: GPL-2.0-or-later
/* Straight runs of instructions. */
#include "blocks.h"
#include "lwp_insn.h"
#include "memory.h"

/* No run without a taken branch is longer, in bytes. */
#define BLOCK_MAX 65536

void blocks_init(struct blocks *b, struct resolver *resolver)
{
	*b = (struct blocks){ .resolver = resolver };
}

static size_t add_function(struct blocks *b, const struct block *block, uint32_t process,
			   uint64_t address)
{
	struct place place;
	size_t number;

	resolve(b->resolver, process, block->map, address, &place);
	number =
		keys_number_of(&b->function_keys, (uintptr_t)place.symbol, (uintptr_t)place.object);
	if (number == b->nr_functions) {
		*APPEND(b->functions, b->nr_functions, b->function_room) =
			(struct function){ .place = place, .seen = address, .map = block->map };
	}
	return number;
}

static struct piece *add_piece(struct blocks *b, struct block *block, size_t function)
{
	if (!block->nr_pieces)
		block->pieces = b->nr_pieces;
	block->nr_pieces++;
	b->pieces = grow(b->pieces, b->nr_pieces, &b->piece_room, sizeof(*b->pieces));
	b->pieces[b->nr_pieces] = (struct piece){ .function = function };
	return &b->pieces[b->nr_pieces++];
}

/* Code from the block's beginning to the end of its branch, as far as the file has it. */
static const uint8_t *find_code(struct blocks *b, struct block *block, uint64_t *size)
{
	const struct profile *p = b->resolver->profile;
	const struct profile_map *map = block->map == SIZE_MAX ? NULL : &p->maps[block->map];
	struct symbols *symbols;

	if (!map || map->object == LWPDATA_NONE)
		return NULL;
	block->object = map->object;
	symbols = resolver_object(b->resolver, map->object);
	if (!symbols_address(symbols, block->begin - map->start + map->offset, &block->address))
		return NULL;
	block->last = block->address + (block->end - block->begin);
	*size = block->end - block->begin + LWP_INSN_MAX_LENGTH;
	return symbols_code(symbols, block->address, size);
}

/* Begin a piece if another function begins here; `*until` is the end of the one that it is in. */
static void split(struct blocks *b, struct block *block, uint32_t process, uint64_t offset,
		  uint64_t *until)
{
	const struct symbols *symbols = resolver_object(b->resolver, block->object);
	uint64_t address = block->address + offset, start, end;
	size_t function;

	if (block->nr_pieces && address < *until)
		return;
	if (symbols_range_at(symbols, address, &start, &end)) {
		*until = end;
		if (!offset)
			block->entry = start == address;
	} else if (block->nr_pieces) {
		return;
	}
	function = add_function(b, block, process, block->begin + offset);
	if (!block->nr_pieces || b->pieces[b->nr_pieces - 1].function != function)
		add_piece(b, block, function);
}

/* Does LWP count it? Those here end at another CPL; a program continues after them without a branch. */
static bool counts(const struct lwp_insn *insn)
{
	switch (insn->kind) {
	case LWP_INSN_SYSCALL:
	case LWP_INSN_SYSENTER:
	case LWP_INSN_INT:
	case LWP_INSN_INT3:
	case LWP_INSN_ICEBP:
	case LWP_INSN_LLWPCB: /* by definition */
		return false;
	default:
		return true;
	}
}

/* False if no straight run leads from the beginning to the branch. */
static bool decode(struct blocks *b, struct block *block, uint32_t process, const uint8_t *code,
		   uint64_t size)
{
	uint64_t at = 0, length = block->end - block->begin, until = 0;
	struct lwp_insn insn;

	for (;; at += insn.length) {
		uint64_t left = at < size ? size - at : 0;

		if (left > LWP_INSN_MAX_LENGTH)
			left = LWP_INSN_MAX_LENGTH;
		if (lwp_insn_decode(code + at, (unsigned int)left, LWP_CODE64, &insn) !=
		    LWP_DECODE_OK)
			return false;
		split(b, block, process, at, &until);
		b->pieces[b->nr_pieces - 1].instructions += counts(&insn);
		block->instructions += counts(&insn);
		if (at >= length)
			break;
		if (lwp_insn_is_branch(&insn) && !lwp_insn_is_conditional(&insn))
			return false;
	}
	block->kind = branch_kind_of(&insn);
	block->length = insn.length;
	return at == length && block->kind != BRANCH_UNKNOWN;
}

static void fill(struct blocks *b, struct block *block, uint32_t process)
{
	uint64_t size;
	const uint8_t *code;

	if (block->end < block->begin || block->end - block->begin > BLOCK_MAX) {
		block->state = BLOCK_BROKEN;
		return;
	}
	code = find_code(b, block, &size);
	if (!code) {
		block->state = BLOCK_NO_CODE;
		add_piece(b, block, add_function(b, block, process, block->begin));
	} else if (!decode(b, block, process, code, size)) {
		block->state = BLOCK_BROKEN;
		b->nr_pieces -= block->nr_pieces;
		block->nr_pieces = 0;
	}
}

struct block *blocks_find(struct blocks *b, uint32_t process, size_t map, uint64_t begin,
			  uint64_t end)
{
	uint64_t where = map == SIZE_MAX ? ~(uint64_t)process : map;
	size_t nr = b->keys.nr, number = keys_number_of(&b->keys, begin, end, where);
	struct block block = { .map = map, .begin = begin, .end = end, .object = LWPDATA_NONE };

	if (number < nr)
		return &b->list[number];
	fill(b, &block, process);
	b->list = grow(b->list, number, &b->room, sizeof(*b->list));
	b->list[number] = block;
	return &b->list[number];
}

void blocks_instructions(const struct blocks *b, const struct block *block,
			 void (*see)(void *to, const struct block *block, uint64_t address),
			 void *to)
{
	uint64_t size = block->end - block->begin + LWP_INSN_MAX_LENGTH;
	const uint8_t *code;
	struct lwp_insn insn;

	if (block->state != BLOCK_DECODED)
		return;
	code = symbols_code(resolver_object(b->resolver, block->object), block->address, &size);
	for (uint64_t at = 0; code && at <= block->end - block->begin; at += insn.length) {
		uint64_t left = size - at < LWP_INSN_MAX_LENGTH ? size - at : LWP_INSN_MAX_LENGTH;

		if (lwp_insn_decode(code + at, (unsigned int)left, LWP_CODE64, &insn) !=
		    LWP_DECODE_OK)
			return;
		if (counts(&insn))
			see(to, block, block->begin + at);
	}
}

void blocks_free(struct blocks *b)
{
	keys_free(&b->keys);
	keys_free(&b->function_keys);
	free(b->list);
	free(b->pieces);
	free(b->functions);
}
