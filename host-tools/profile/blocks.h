/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Straight runs of instructions between two taken branches, each decoded once. */
#ifndef LWPCTL_BLOCKS_H
#define LWPCTL_BLOCKS_H

#include "branch.h"
#include "keys.h"
#include "resolve.h"

struct function {
	struct place place; /* of the first address that was seen in it */
	uint64_t seen; /* that address, in the process */
	size_t map; /* and its mapping, as profile_find_map() gave it */
	double instructions; /* the user's */
};

/* What lies in one function of a block. */
struct piece {
	size_t function;
	uint32_t instructions;
};

enum block_state {
	BLOCK_DECODED,
	BLOCK_NO_CODE, /* the code is not in a file, as that of just-in-time compilers */
	BLOCK_BROKEN, /* no straight run: a signal came between */
};

struct block {
	size_t map; /* as profile_find_map() gave it */
	uint64_t begin, end; /* addresses in the process: the first instruction, the branch */
	uint64_t address, last; /* the same in the file, if it was decoded */
	uint32_t object; /* LWPDATA_NONE: none */
	enum block_state state;
	bool entry; /* a function begins at its beginning */
	enum branch_kind kind; /* of the branch */
	uint8_t length; /* of the branch, 0: not known */
	uint32_t instructions; /* with the branch */
	double number; /* how often it ran; the user's */
	size_t pieces, nr_pieces; /* at least one, unless it is broken */
};

struct blocks {
	struct resolver *resolver;
	struct keys keys, function_keys;
	struct block *list;
	struct piece *pieces;
	struct function *functions;
	size_t room, nr_pieces, piece_room, nr_functions, function_room;
};

void blocks_init(struct blocks *blocks, struct resolver *resolver);

/*
 * The block from `begin` to the branch at `end` in a process. Both are of one mapping, `map`. The pointer lives until
 * the next call.
 */
struct block *blocks_find(struct blocks *blocks, uint32_t process, size_t map, uint64_t begin,
			  uint64_t end);

/* The address in the process of each instruction of a block that was decoded. */
void blocks_instructions(const struct blocks *blocks, const struct block *block,
			 void (*see)(void *to, const struct block *block, uint64_t address),
			 void *to);

void blocks_free(struct blocks *blocks);

#endif
