/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between test_symbols and the library that it looks into. */
#ifndef SYMBOLIC_H
#define SYMBOLIC_H

int symbolic_elsewhere(int x); /* in the test program: called through the procedure linkage table */
int __symbolic_public(int x);
int symbolic_public(int x);
extern const char symbolic_unsized[], symbolic_sized[], symbolic_in_innermost[];

struct symbolic_addresses {
	const char *function, *local, *unsized, *sized, *inlined;
	const char *constants, *counts, *room;
	unsigned long room_size;
};
struct symbolic_addresses symbolic_addresses(void);

#endif
