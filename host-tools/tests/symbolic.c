// SPDX-License-Identifier: GPL-2.0-or-later
/* Code whose symbols are looked up by test_symbols. The line numbers below are part of the test. */
#include "symbolic.h"

/* Two names for one address: the one with fewer underscores is shown. */
__attribute__((noinline)) int __symbolic_public(int x)
{
	return symbolic_elsewhere(x) + 1; /* line 10 */
}
int symbolic_public(int x) __attribute__((alias("__symbolic_public")));

static __attribute__((noinline, used)) int symbolic_static(int x)
{
	return symbolic_public(x) * 3;
}

/* Variables of three sections, the last with more than the last page of the file holds. */
const int symbolic_constants[100] = { 1 };
static int symbolic_counts[100] __attribute__((used)) = { 1 };
char symbolic_room[1 << 20];

/* Two functions that are inlined into one another, and a label in the inner one. */
static inline __attribute__((always_inline)) int symbolic_innermost(int x)
{
	__asm__ volatile(".globl symbolic_in_innermost\nsymbolic_in_innermost: nop" : "+r"(x));
	return x * 5;
}

static inline __attribute__((always_inline)) int symbolic_inner(int x)
{
	return symbolic_innermost(x + 1) + 2;
}

__attribute__((noinline, used)) static int symbolic_outer(int x)
{
	return symbolic_inner(x);
}

/* A label without a size, and one of 4 bytes within 8 that belong to no symbol. */
__asm__(".pushsection .text.unsized, \"ax\", @progbits\n"
	".globl symbolic_unsized\n"
	"symbolic_unsized: nop; nop; nop; nop\n"
	".globl symbolic_sized\n"
	".type symbolic_sized, @function\n"
	"symbolic_sized: nop; nop; nop; nop\n"
	".size symbolic_sized, 4\n"
	"nop; nop; nop; nop\n"
	".popsection\n");

struct symbolic_addresses symbolic_addresses(void)
{
	return (struct symbolic_addresses){
		.function = (const char *)__symbolic_public,
		.local = (const char *)symbolic_static,
		.unsized = symbolic_unsized,
		.sized = symbolic_sized,
		.inlined = symbolic_in_innermost,
		.constants = (const char *)symbolic_constants,
		.counts = (const char *)symbolic_counts,
		.room = symbolic_room,
		.room_size = sizeof(symbolic_room),
	};
}
