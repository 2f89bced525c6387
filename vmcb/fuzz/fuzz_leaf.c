// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Arbitrary leaves of two hosts and an arbitrary LWP_CFG. Input: byte 0 (bits 1:0 revision), EBX, ECX, EDX of
 * both, 8 bytes LWP_CFG.
 *
 * What decodes must be consistent and encode to the same registers; what two hosts have in common must
 * be consistent and covered by both; a stored LWP_CFG must be one that may be stored.
 */
#include "fuzz.h"

static bool read_leaf(struct fuzz_input *in, u32 rev, struct lwp_caps *caps)
{
	struct lwp_leaf leaf = { .eax = 1 }, again;
	struct lwp_caps second;

	leaf.ebx = fuzz_u32(in);
	leaf.ecx = fuzz_u32(in);
	leaf.edx = fuzz_u32(in);
	if (!lwp_leaf_decode(&leaf, rev, caps))
		return false;
	CHECK(lwp_caps_valid(caps));
	CHECK(caps->cb_size >= lwp_cb_slot_offset(caps, caps->max_events));
	lwp_leaf_encode(caps, 1, &again);
	CHECK(again.ebx == leaf.ebx && again.edx == leaf.edx);
	CHECK(again.ecx == leaf.ecx || !lwp_caps_has(caps, LWP_KIND_DME));
	CHECK(lwp_leaf_decode(&again, rev, &second));
	CHECK(lwp_caps_covers(&second, caps) == LWP_CAPS_OK);
	CHECK(lwp_caps_covers(caps, &second) == LWP_CAPS_OK);
	return true;
}

static void check_set(const struct lwp_caps *a, const struct lwp_caps *b)
{
	struct lwp_caps ab = *a, ba = *b;
	enum lwp_caps_field field = lwp_caps_intersect(&ab, b);

	CHECK(lwp_caps_intersect(&ba, a) == field);
	CHECK(*lwp_caps_field_name(field));
	CHECK(lwp_caps_covers(a, a) == LWP_CAPS_OK);
	if (field != LWP_CAPS_OK) {
		CHECK(!memcmp(&ab, a, sizeof(ab)));
		CHECK(lwp_caps_covers(a, b) != LWP_CAPS_OK);
		return;
	}
	CHECK(!memcmp(&ab, &ba, sizeof(ab)));
	CHECK(lwp_caps_valid(&ab));
	CHECK(lwp_caps_covers(a, &ab) == LWP_CAPS_OK);
	CHECK(lwp_caps_covers(b, &ab) == LWP_CAPS_OK);
}

static void check_cfg(const struct lwp_caps *caps, u64 value)
{
	u64 cfg = 0;
	u32 avail;

	if (lwp_cfg_write(caps, value, &cfg)) {
		CHECK(lwp_cfg_valid(caps, cfg));
		CHECK(!(cfg & ~value));
	}
	CHECK(lwp_cfg_valid(caps, lwp_cfg_reset(caps, true, (u32)value)));
	avail = lwp_avail(caps, value, value & 1, value & 2);
	CHECK(!(avail & ~(caps->features | 1)));
	CHECK(avail & 1 || !avail);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct fuzz_input in = { data, size };
	u32 rev = fuzz_u8(&in) % 3;
	struct lwp_caps a, b;
	bool first, second;

	first = read_leaf(&in, rev, &a);
	second = read_leaf(&in, rev, &b);
	if (first)
		check_cfg(&a, fuzz_u64(&in));
	if (first && second)
		check_set(&a, &b);
	return 0;
}
