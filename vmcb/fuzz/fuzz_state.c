// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary saved states. Input: byte 0 (1:0 whose numbers, 3:2 wire / XSAVE / context entry), then
 * for XSAVE 4 bytes EAX, then the image or the entry.
 *
 * Whatever is not refused must be a state that the engine can run on without looking again, and
 * encoding it must give the same bytes.
 */
#include "fuzz.h"

static bool canonical(u64 addr)
{
	return addr <= 0x00ffffffffffffff || addr >= 0xff00000000000000;
}

static void check_off(const struct lwp_state *st)
{
	struct lwp_state off;

	memset(&off, 0, sizeof(off));
	off.cfg = st->cfg;
	CHECK(!memcmp(st, &off, sizeof(off)));
}

static void check_pending(const struct lwp_caps *caps, const struct lwp_state *st)
{
	u8 id = st->pending.event_id;

	if (!id) {
		CHECK(!(st->flags & LWP_STATE_BITS));
		CHECK(!st->retry_rip);
		return;
	}
	CHECK(id <= LWP_MAX_EVENT_ID);
	CHECK(caps->features & LWP_BIT(id));
	CHECK(lwp_rev_get(caps->rev)->kind[id] != LWP_KIND_VAL);
	CHECK(st->flags & LWP_STATE_FAULTED || !st->retry_rip);
}

static void check_state(const struct lwp_caps *caps, const struct lwp_state *st)
{
	u32 i;

	if (!lwp_state_on(st)) {
		check_off(st);
		return;
	}
	CHECK(canonical(st->cb_addr) && canonical(st->cb_addr + caps->cb_size - 1));
	CHECK(st->cb_addr + caps->cb_size - 1 >= st->cb_addr);
	if (lwp_state_deferred(st)) {
		struct lwp_state expected = { .cb_addr = st->cb_addr, .cfg = st->cfg };

		CHECK(!memcmp(st, &expected, sizeof(expected)));
		return;
	}
	CHECK(canonical(st->base) && canonical(st->base + st->size - 1));
	CHECK(st->base + st->size - 1 >= st->base);
	CHECK(caps->rev != LWP_REV_2007 || st->base % 32 == 0);
	CHECK(st->size % 32 == 0 && st->size < 0x10000000);
	CHECK(st->size >= 1024 || (caps->rev == LWP_REV_2007 && st->size >= 32));
	CHECK(st->head < st->size && st->head % 32 == 0);
	CHECK(st->random <= 15);
	CHECK(!(st->filters & ~lwp_cb_filters(caps)));
	CHECK(!(st->flags & ~(caps->features | 1 | LWP_STATE_BITS)));
	for (i = 0; i < LWP_MAX_EVENT_ID; i++)
		CHECK(st->counter[i] >= -33554432 && st->counter[i] <= 33554431);
	check_pending(caps, st);
}

static void fuzz_wire(const struct lwp_caps *caps, struct fuzz_input *in)
{
	u8 image[LWP_IMAGE_SIZE], again[LWP_IMAGE_SIZE];
	struct lwp_state st;

	fuzz_bytes(in, image, sizeof(image));
	if (lwp_state_decode(image, caps, &st)) {
		CHECK(!st.cfg);
		check_off(&st);
		return;
	}
	CHECK(lwp_cfg_valid(caps, st.cfg));
	check_state(caps, &st);
	lwp_state_encode(&st, caps, again);
	CHECK(!memcmp(image, again, sizeof(image)));
}

static void fuzz_xsave(const struct lwp_caps *caps, struct fuzz_input *in)
{
	u32 avail = fuzz_u32(in) & (caps->features | LWP_F_AVAIL);
	u8 image[LWP_IMAGE_SIZE], again[LWP_IMAGE_SIZE];
	struct lwp_state st = { .cfg = 0x1122 }, second = { .cfg = 0x1122 };

	fuzz_bytes(in, image, sizeof(image));
	lwp_state_decode_xsave(image, caps, avail, &st);
	CHECK(st.cfg == 0x1122);
	CHECK(!st.retry_rip);
	CHECK(!lwp_state_on(&st) || avail & LWP_F_AVAIL);
	CHECK(!(st.flags & ~(avail | LWP_STATE_BITS)));
	check_state(caps, &st);
	lwp_state_encode_xsave(&st, again);
	CHECK(!lwp_state_decode_xsave(again, caps, avail, &second));
	CHECK(lwp_state_on(&second) == lwp_state_on(&st));
	CHECK(!memcmp(&st.pending, &second.pending, sizeof(st.pending)));
	CHECK(!memcmp(st.counter, second.counter, sizeof(st.counter)));
	CHECK(st.flags == second.flags && st.head == second.head && st.base == second.base &&
	      st.size == second.size && st.random == second.random && st.filters == second.filters);
}

static void fuzz_entry(const struct lwp_caps *caps, struct fuzz_input *in)
{
	u8 entry[LWP_CTX_ENTRY_SIZE], again[LWP_CTX_ENTRY_SIZE];
	struct lwp_ctx_saved ctx;

	fuzz_bytes(in, entry, sizeof(entry));
	if (lwp_ctx_decode(entry, caps, &ctx)) {
		CHECK(!lwp_state_on(&ctx.state));
		return;
	}
	CHECK(lwp_state_on(&ctx.state));
	check_state(caps, &ctx.state);
	CHECK(!ctx.last_offset || ctx.last_offset < ctx.state.size);
	CHECK(ctx.last_offset % 32 == 0);
	lwp_ctx_encode(&ctx, caps, again);
	CHECK(!memcmp(entry, again, sizeof(entry)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	u8 choice = fuzz_u8(&in);
	struct lwp_caps caps;

	fuzz_caps(choice, &caps);
	switch (choice >> 2 & 3) {
	case 0:
		fuzz_wire(&caps, &in);
		break;
	case 1:
		fuzz_xsave(&caps, &in);
		break;
	default:
		fuzz_entry(&caps, &in);
	}
	return 0;
}
