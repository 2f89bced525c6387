// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What comes from outside (a stream, the VMCB, an XSAVE area, the array of contexts): any bytes are
 * refused, or are a legal state that encodes to the same bytes. Every legal state survives.
 * Unwind: 102
 */
#include "any_caps.h"
#include "lwp_msr.h"
#include "state_ok.h"

PROPERTY(any_image_is_refused_or_legal)
{
	struct lwp_caps caps = any_caps();
	ANY_BYTES(image, LWP_IMAGE_SIZE, LWP_IMAGE_SIZE);
	ANY(u32, at);
	u8 again[LWP_IMAGE_SIZE];
	struct lwp_state st;

	if (lwp_state_decode(image, &caps, &st)) {
		check("43724-913", !st.cb_addr && !st.cfg && state_ok(&caps, &st));
		return;
	}
	check("43724-209", lwp_cfg_valid(&caps, st.cfg));
	check("43724-912", state_ok(&caps, &st));
	lwp_state_encode(&st, &caps, again);
	assume(at < LWP_IMAGE_SIZE);
	check("43724-912", image[at] == again[at]);
	cover(st.size && st.pending.event_id && st.retry_rip);
	cover(st.cb_addr && !st.size);
}

/* Migration loses nothing. */
PROPERTY(every_legal_state_survives_its_image)
{
	struct lwp_caps caps = any_caps();
	ANY(struct lwp_state, st);
	u8 image[LWP_IMAGE_SIZE];
	struct lwp_state got;

	assume(state_ok(&caps, &st) && lwp_cfg_valid(&caps, st.cfg));
	lwp_state_encode(&st, &caps, image);
	check("43724-912", !lwp_state_decode(image, &caps, &got));
	check("43724-912", got.cb_addr == st.cb_addr && got.flags == st.flags &&
				   got.head == st.head && got.base == st.base &&
				   got.size == st.size && got.random == st.random &&
				   got.filters == st.filters);
	check("43724-912", got.cfg == st.cfg && got.retry_rip == st.retry_rip);
	check("43724-912", same_record(&got.pending, &st.pending));
	for (u32 i = 0; i < LWP_MAX_EVENT_ID; i++)
		check("43724-912", got.counter[i] == st.counter[i]);
	cover(st.size && st.pending.event_id && st.counter[5] < 0);
}

PROPERTY(any_xsave_component_is_off_or_legal)
{
	struct lwp_caps caps = any_caps();
	u32 avail = any_avail(&caps);
	ANY(u64, cfg);
	ANY_BYTES(image, LWP_IMAGE_SIZE, LWP_IMAGE_SIZE);
	struct lwp_state st = { .cfg = cfg }, second = { .cfg = cfg };
	u8 again[LWP_IMAGE_SIZE];

	lwp_state_decode_xsave(image, &caps, avail, &st);
	check("43724-305", st.cfg == cfg);
	check("43724-825", !st.retry_rip);
	check("43724-312", state_ok(&caps, &st) && (!st.cb_addr || avail & LWP_F_AVAIL));
	check("43724-309", !(st.flags & ~(avail | LWP_STATE_BITS)));
	lwp_state_encode_xsave(&st, again);
	check("43724-302", !lwp_state_decode_xsave(again, &caps, avail, &second));
	check("43724-302", second.cb_addr == st.cb_addr && second.flags == st.flags &&
				   second.head == st.head && second.base == st.base &&
				   second.size == st.size && second.filters == st.filters);
	cover(st.pending.event_id && !(avail & LWP_F_INT));
}

PROPERTY(any_context_entry_is_refused_or_legal)
{
	struct lwp_caps caps = any_caps();
	ANY_BYTES(entry, LWP_CTX_ENTRY_SIZE, LWP_CTX_ENTRY_SIZE);
	ANY(u32, at);
	u8 again[LWP_CTX_ENTRY_SIZE];
	struct lwp_ctx_saved ctx;

	if (lwp_ctx_decode(entry, &caps, &ctx)) {
		check("43724-904", !lwp_state_on(&ctx.state));
		return;
	}
	check("43724-902", lwp_state_on(&ctx.state) && state_ok(&caps, &ctx.state));
	check("43724-902", !(ctx.key.cr3 & ~0x000fffffffffffe0ull));
	check("43724-902", !lwp_get32(ctx.constant + LWP_CTX_CONST_END) &&
				   !lwp_get64(ctx.constant + LWP_CTX_CONST_END + 4) &&
				   !lwp_get64(ctx.constant + LWP_CTX_CONST_END + 12));
	check("43724-904",
	      ctx.last_offset % 32 == 0 && (!ctx.last_offset || ctx.last_offset < ctx.state.size));
	lwp_ctx_encode(&ctx, &caps, again);
	assume(at < LWP_CTX_ENTRY_SIZE);
	check("43724-902", entry[at] == again[at]);
	cover(ctx.last_offset && ctx.key.thread);
}

/* What verification compares: the constants of the block, and the head. */
PROPERTY(constants_are_the_block_s)
{
	struct lwp_caps caps = any_caps();
	ANY_BYTES(block, LWP_CB_TAIL, LWP_CB_TAIL);
	ANY(u32, at);
	u8 out[LWP_CTX_CONST_SIZE];

	lwp_ctx_constants(&caps, block, out);
	assume(at < 8);
	check("43724-904", out[LWP_CTX_CONST_BASE + at] == block[LWP_CB_BASE + at]);
	check("43724-904", out[LWP_CTX_CONST_BASE_IP + at] ==
				   (caps.rev == LWP_REV_2007 ? 0 : block[LWP_CB_BASE_IP + at]));
	check("43724-904", out[LWP_CTX_CONST_LIMIT_IP + at] ==
				   (caps.rev == LWP_REV_2007 ? 0 : block[LWP_CB_LIMIT_IP + at]));
	at %= 4;
	check("43724-904", out[LWP_CTX_CONST_FLAGS + at] == block[LWP_CB_FLAGS + at]);
	check("43724-904", out[LWP_CTX_CONST_SIZE_RANDOM + at] == block[LWP_CB_SIZE_RANDOM + at]);
	check("43724-904", out[LWP_CTX_CONST_THRESHOLD + at] == block[LWP_CB_THRESHOLD + at]);
	check("43724-904", out[LWP_CTX_CONST_FILTERS + at] == block[LWP_CB_FILTERS + at]);
	check("43724-904", out[LWP_CTX_CONST_HEAD + at] == block[LWP_CB_HEAD + at]);
}

PROPERTY(records_survive_both_ways)
{
	ANY(struct lwp_record, r);
	ANY_BYTES(bytes, LWP_RECORD_SIZE, LWP_RECORD_SIZE);
	ANY(u32, at);
	u8 out[LWP_RECORD_SIZE];
	struct lwp_record got;

	lwp_record_encode(&r, out);
	lwp_record_decode(out, &got);
	check("43724-501", same_record(&r, &got));
	lwp_record_decode(bytes, &got);
	lwp_record_encode(&got, out);
	assume(at < LWP_RECORD_SIZE);
	check("43724-501", bytes[at] == out[at]);
}
