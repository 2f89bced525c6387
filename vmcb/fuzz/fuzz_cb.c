// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary control blocks. Input: byte 0 (1:0 whose numbers), LwpEventOffset, extra bytes of the block,
 * LwpMinBufferSize (bytes 1..3; taken if the result is a leaf that can be), 4 bytes EAX, the block.
 *
 * Decoding must give numbers in range for any bytes, write-back may touch only what LLWPCB makes
 * visible, and a block that was written back must decode to the same once more.
 */
#include "fuzz.h"

static void choose_numbers(struct fuzz_input *in, struct lwp_caps *caps)
{
	struct lwp_caps chosen;
	u8 offset, extra, minimum;

	fuzz_caps(fuzz_u8(in), caps);
	offset = fuzz_u8(in);
	extra = fuzz_u8(in);
	minimum = fuzz_u8(in);
	chosen = *caps;
	if (chosen.rev == LWP_REV_43724) {
		chosen.event_offset = offset;
		chosen.min_buffer = minimum;
	}
	chosen.cb_size = (u16)(lwp_cb_slot_offset(&chosen, chosen.max_events) + 8u * extra);
	if (lwp_caps_valid(&chosen))
		*caps = chosen;
}

static void check_cb(const struct lwp_caps *caps, u32 avail, const struct lwp_cb *cb)
{
	s32 minimum = caps->rev == LWP_REV_2007 ? 1 : 0;
	u32 i, used = 0;

	CHECK(cb->size % 32 == 0 && cb->size < 0x10000000);
	CHECK(cb->head % 32 == 0 && (cb->head < cb->size || !cb->head));
	CHECK(cb->random <= 15);
	CHECK(!(cb->filters & ~lwp_cb_filters(caps)));
	CHECK(!(cb->flags & ~avail));
	for (i = 0; i < LWP_MAX_EVENT_ID; i++) {
		if (!cb->enabled[i])
			continue;
		CHECK(avail & LWP_BIT(i + 1));
		CHECK(cb->slot[i] < caps->max_events);
		CHECK(!(used & LWP_BIT(cb->slot[i])));
		used |= LWP_BIT(cb->slot[i]);
		CHECK(cb->interval[i] >= minimum && cb->interval[i] <= 33554431);
		CHECK(cb->counter[i] >= 0 && cb->counter[i] <= 33554431);
	}
}

/* 2007: Flags. 43724: also size, head, threshold, and interval and counter bits of enabled slots. */
static bool may_change(const struct lwp_caps *caps, const struct lwp_cb *cb, u32 byte)
{
	u32 i;

	if (byte < 4)
		return true;
	if (caps->rev == LWP_REV_2007)
		return false;
	if (byte < 8 || (byte >= 16 && byte < 20) || (byte >= 32 && byte < 36))
		return true;
	for (i = 0; i < LWP_MAX_EVENT_ID; i++) {
		u32 slot = caps->event_offset + 8u * cb->slot[i];

		if (cb->enabled[i] && byte >= slot && byte < slot + 8)
			return true;
	}
	return false;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	enum lwp_cb_verdict verdict;
	struct lwp_cb cb, second;
	struct lwp_caps caps;
	u8 *block, *before;
	u32 avail, i;

	choose_numbers(&in, &caps);
	avail = (fuzz_u32(&in) & caps.features) | LWP_F_AVAIL;
	block = malloc(caps.cb_size);
	before = malloc(caps.cb_size);
	CHECK(block && before);
	fuzz_bytes(&in, block, caps.cb_size);
	memcpy(before, block, caps.cb_size);

	verdict = lwp_cb_decode(&caps, avail, block, &cb);
	check_cb(&caps, avail, &cb);
	CHECK(!memcmp(before, block, caps.cb_size));
	CHECK((verdict == LWP_CB_RING_TOO_SMALL) == (cb.size < lwp_cb_min_ring(&caps)));

	lwp_cb_write_back(&caps, &cb, block);
	for (i = 0; i < caps.cb_size; i++)
		CHECK(block[i] == before[i] || may_change(&caps, &cb, i));
	CHECK(lwp_cb_decode(&caps, avail, block, &second) == verdict);
	CHECK(!memcmp(&cb, &second, sizeof(cb)));

	free(block);
	free(before);
	return 0;
}
