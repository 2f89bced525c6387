/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen, as Multiboot2 describes it (its tag 8), and where it is written next. */
#ifndef FLAT_SCREEN_H
#define FLAT_SCREEN_H

#include "lwp_types.h"

struct screen {
	u32 type, size;
	u64 address;
	u32 pitch, width, height; /* in bytes, and in points */
	u8 bits, kind;
	u32 line, column;
};
#define SCREEN_RGB 1

/* Write text, which goes on at the top when the screen is full: under the page tables of the boot, which map it. */
void screen_write(struct screen *s, const char *text, size_t n);

#endif
