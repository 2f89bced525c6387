/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where functions begin and end by .eh_frame, which stripped programs keep. */
#ifndef LWPCTL_FRAMES_H
#define LWPCTL_FRAMES_H

#include <libelf.h>
#include <stdint.h>

/* Calls `add` with the range of each frame description of an ELF file, in its own addresses. */
void frame_ranges(Elf *elf, void (*add)(void *to, uint64_t start, uint64_t end), void *to);

#endif
