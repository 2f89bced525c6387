/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 128-byte image of a state written by hand from the table in docs/design.md#volatile-state, and the same
 * state as a struct.
 */
#ifndef STATE_IMAGES_H
#define STATE_IMAGES_H

#include "vmcb_test.h"

#define LE32(n) (u8)(n), (u8)((u64)(n) >> 8), (u8)((u64)(n) >> 16), (u8)((u64)(n) >> 24)
#define LE64(n) LE32(n), LE32((u64)(n) >> 32)

/* LWP on: 43724, full profile, a branch record pending that has faulted at 401005h. */
static const u8 good_image[128] = {
	[0] = LE64(0x7f0000601040), /* block */
	[8] = LE32(0x9800000c), /* INT, RELOAD, FAULTED, BRE, IRE */
	[12] = LE32(992), /* head */
	[16] = LE64(0x7f0000700000), /* ring */
	[24] = LE32(0xa0000400), /* size 1024, Random 10 */
	[28] = LE32(0x18000000), /* NCB, NRB */
	[32] = LE32(0x80000203), /* branch, CoreId 2, TKN */
	[40] = LE64(0x401000),
	[48] = LE64(0x402000),
	[68] = LE32(999), /* event 2 */
	[72] = LE32(-2), /* event 3 */
	[84] = LE32(-0x2000000), /* event 6 */
	[96] = LE64(0x0000f0028000000e), /* INT, BRE, IRE, VAL; COREID 2, VECTOR F0h */
	[108] = 0, /* 43724 */
	[109] = 1, /* format */
	[112] = LE64(0x401005),
};

/* 2007: EN, BRE; nothing pending; a ring of three records; counter of event 2 frozen at 0. */
static const u8 good_image_2007[128] = {
	[0] = LE32(0x2010), /* block */
	[8] = LE32(5), /* EN, BRE */
	[12] = LE32(64), /* head */
	[16] = LE32(0x3020), /* ring */
	[24] = LE32(96), /* size */
	[28] = LE32(0x80000000), /* NDB */
	[96] = LE32(5), /* LWP_CFG */
	[108] = 1, /* 2007 */
	[109] = 1, /* format */
};

static const struct lwp_state good_state = {
	.cb_addr = 0x7f0000601040,
	.flags = 0x9800000c,
	.head = 992,
	.base = 0x7f0000700000,
	.size = 1024,
	.random = 10,
	.filters = 0x18000000,
	.pending = {
		.event_id = 3,
		.core_id = 2,
		.flags = 0x8000,
		.address = 0x401000,
		.data2 = 0x402000,
	},
	.counter = { 0, 999, -2, 0, 0, -33554432, 0, 0 },
	.cfg = 0x0000f0028000000e,
	.retry_rip = 0x401005,
};

static inline void expect_same_state(const struct lwp_state *a, const struct lwp_state *b)
{
	cr_expect(eq(u64, a->cb_addr, b->cb_addr));
	cr_expect(eq(u32, a->flags, b->flags));
	cr_expect(eq(u32, a->head, b->head));
	cr_expect(eq(u64, a->base, b->base));
	cr_expect(eq(u32, a->size, b->size));
	cr_expect(eq(u8, a->random, b->random));
	cr_expect(eq(u32, a->filters, b->filters));
	expect_same_record(&a->pending, &b->pending);
	for (u32 i = 0; i < 8; i++)
		cr_expect(eq(i32, a->counter[i], b->counter[i]));
	cr_expect(eq(u64, a->cfg, b->cfg));
	cr_expect(eq(u64, a->retry_rip, b->retry_rip));
}

#endif
