/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `os` contexts: a test's XSAVE area, and LWP's component 62 in it. */
#ifndef FLAT_XSAVE_H
#define FLAT_XSAVE_H

#include "lwp_fixture.h"

#define AREA_SIZE 960
#define COMPONENT 832 /* 340h */
#define XSTATE_BV 512
#define BV_LWP 0x4000000000000000ul
#define FILL 0x5a

static u8 area[AREA_SIZE] __attribute__((aligned(64)));
static u8 *const lwp = area + COMPONENT;

static inline void xsave_of(u8 *to, u64 mask)
{
	asm volatile("xsave64 (%0)" : : "r"(to), "a"((u32)mask), "d"((u32)(mask >> 32)) : "memory");
}

static inline void xrstor_of(const u8 *from, u64 mask)
{
	asm volatile("xrstor64 (%0)"
		     :
		     : "r"(from), "a"((u32)mask), "d"((u32)(mask >> 32))
		     : "memory");
}
/* Of LWP's component only. */
#define xsave_lwp() xsave_of(area, BV_LWP)
#define xrstor_lwp() xrstor_of(area, BV_LWP)

static inline void clear_area(void)
{
	memset(area, FILL, sizeof(area));
	memset(area + XSTATE_BV, 0, 64);
}

static inline void go(struct lwp *l, const struct block *b)
{
	clear_area();
	lwp_go(l, b, lwp_start);
}

static inline bool all(const u8 *p, u32 count, u8 value)
{
	while (count && *p == value) {
		p++;
		count--;
	}
	return !count;
}

#endif
