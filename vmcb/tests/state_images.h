/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A 128-byte image of a state written by hand from the table in docs/design.md#volatile-state, and the same
 * state as a struct.
 */
#ifndef STATE_IMAGES_H
#define STATE_IMAGES_H

#include "vmcb_test.h"

/* LWP on: 43724, full profile, a branch record pending that has faulted at 401005h. */
static const u8 good_image[128] = {
	[0] = 0x40,
	0x10,
	0x60,
	0x00,
	0x00,
	0x7f,
	0x00,
	0x00, /* block 7F00_0060_1040h */
	[8] = 0x0c,
	0x00,
	0x00,
	0x98, /* INT, RELOAD, FAULTED, BRE, IRE */
	[12] = 0xe0,
	0x03,
	0x00,
	0x00, /* head 992 */
	[16] = 0x00,
	0x00,
	0x70,
	0x00,
	0x00,
	0x7f,
	0x00,
	0x00, /* ring 7F00_0070_0000h */
	[24] = 0x00,
	0x04,
	0x00,
	0xa0, /* size 1024, Random 10 */
	[28] = 0x00,
	0x00,
	0x00,
	0x18, /* NCB, NRB */
	[32] = 0x03,
	0x02,
	0x00,
	0x80, /* branch, CoreId 2, TKN */
	[40] = 0x00,
	0x10,
	0x40,
	0,
	0,
	0,
	0,
	0, /* 401000h */
	[48] = 0x00,
	0x20,
	0x40,
	0,
	0,
	0,
	0,
	0, /* 402000h */
	[68] = 0xe7,
	0x03,
	0x00,
	0x00, /* event 2: 999 */
	[72] = 0xfe,
	0xff,
	0xff,
	0xff, /* event 3: -2 */
	[84] = 0x00,
	0x00,
	0x00,
	0xfe, /* event 6: -2^25 */
	[96] = 0x0e,
	0x00,
	0x00,
	0x80,
	0x02,
	0xf0,
	0x00,
	0x00, /* INT, BRE, IRE, VAL; COREID 2, VECTOR F0h */
	[108] = 0,
	1, /* 43724, format 1 */
	[112] = 0x05,
	0x10,
	0x40,
	0,
	0,
	0,
	0,
	0, /* 401005h */
};

/* 2007: EN, BRE; nothing pending; a ring of three records; counter of event 2 frozen at 0. */
static const u8 good_image_2007[128] = {
	[0] = 0x10,  0x20, 0x00,	0x00, [8] = 0x05, 0x00,
	0x00,	     0x00, [12] = 0x40, 0x00, 0x00,	  0x00, /* head 64 */
	[16] = 0x20, 0x30, 0x00,	0x00, /* ring 3020h */
	[24] = 0x60, 0x00, 0x00,	0x00, /* size 96 */
	[28] = 0x00, 0x00, 0x00,	0x80, /* NDB */
	[96] = 0x05, 0x00, 0x00,	0x00, [108] = 1,  1,
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
	u32 i;

	cr_expect(eq(u64, a->cb_addr, b->cb_addr));
	cr_expect(eq(u32, a->flags, b->flags));
	cr_expect(eq(u32, a->head, b->head));
	cr_expect(eq(u64, a->base, b->base));
	cr_expect(eq(u32, a->size, b->size));
	cr_expect(eq(u8, a->random, b->random));
	cr_expect(eq(u32, a->filters, b->filters));
	cr_expect(eq(u8, a->pending.event_id, b->pending.event_id));
	cr_expect(eq(u8, a->pending.core_id, b->pending.core_id));
	cr_expect(eq(u16, a->pending.flags, b->pending.flags));
	cr_expect(eq(u32, a->pending.data1, b->pending.data1));
	cr_expect(eq(u64, a->pending.address, b->pending.address));
	cr_expect(eq(u64, a->pending.data2, b->pending.data2));
	cr_expect(eq(u64, a->pending.timestamp, b->pending.timestamp));
	for (i = 0; i < 8; i++)
		cr_expect(eq(i32, a->counter[i], b->counter[i]));
	cr_expect(eq(u64, a->cfg, b->cfg));
	cr_expect(eq(u64, a->retry_rip, b->retry_rip));
}

#endif
