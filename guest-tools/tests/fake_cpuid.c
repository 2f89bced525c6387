// SPDX-License-Identifier: GPL-2.0-or-later
/* For tests on machines without LWP: lwprun is told that there is one, and fake_lwp.c plays it. */
#include "processor.h"

/* LwpCbSize 22 quadwords, 32-byte records, 6 events at 128; rings of 32 records and more. */
bool leaf_query(struct leaf *leaf, const char **why)
{
	*why = "the fake leaf is not understood";
	leaf->regs = (struct lwp_leaf){
		.eax = 0x0000007f,
		.ebx = 0x80062016,
		.ecx = 0x0001020a,
		.edx = 0x0000007f,
	};
	return leaf_decode(leaf);
}
