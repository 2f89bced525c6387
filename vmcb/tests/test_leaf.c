// SPDX-License-Identifier: GPL-2.0-or-later
/* CPUID leaf 8000_001C: registers of each profile and back (43724-103 to 43724-111; 2007-102 to 2007-105). */
#include "vmcb_test.h"

static void expect_leaf(const struct lwp_caps *caps, u32 ebx, u32 ecx, u32 edx)
{
	struct lwp_leaf leaf;

	lwp_leaf_encode(caps, 0x12345678, &leaf);
	cr_expect(eq(u32, leaf.eax, 0x12345678));
	cr_expect(eq(u32, leaf.ebx, ebx));
	cr_expect(eq(u32, leaf.ecx, ecx));
	cr_expect(eq(u32, leaf.edx, edx));
}

static void expect_profile(enum lwp_profile profile, u32 rev, u32 ebx, u32 ecx, u32 edx)
{
	struct lwp_caps caps;

	lwp_caps_profile(&caps, profile, rev);
	expect_leaf(&caps, ebx, ecx, edx);
}

static bool decodes(u32 rev, u32 ebx, u32 ecx, u32 edx, struct lwp_caps *caps)
{
	struct lwp_leaf leaf = { 0, ebx, ecx, edx };

	return lwp_leaf_decode(&leaf, rev, caps);
}

static bool known(u32 rev, u32 ebx, u32 ecx, u32 edx)
{
	struct lwp_caps caps;

	return decodes(rev, ebx, ecx, edx, &caps);
}

Test(leaf, presence_is_8000_0001_ecx_15) /* 43724-101, 43724-102, 2007-101 */
{
	cr_expect(eq(u32, LWP_CPUID_PRESENT_LEAF, 0x80000001));
	cr_expect(eq(u32, LWP_CPUID_PRESENT_ECX, 0x8000));
	cr_expect(eq(u32, LWP_CPUID_LEAF, 0x8000001c));
}

Test(leaf, fam15h_profile_has_the_registers_of_an_fx_8150) /* 43724-111 */
{
	expect_profile(LWP_PROFILE_FAM15H, LWP_REV_43724, 0x80032013, 0x00010200, 0x8000000f);
}

Test(leaf, full_profile) /* 43724-103 to 43724-106 */
{
	expect_profile(LWP_PROFILE_FULL, LWP_REV_43724, 0x80062016, 0xe0010230, 0xe000007f);
}

/* 2007: size in bytes (64 = 40 + 3 * 8), version in EBX, EDX[1] is the interrupt. */
Test(leaf, full_profile_of_2007) /* 2007-104, 2007-105, 2007-108 */
{
	expect_profile(LWP_PROFILE_FULL, LWP_REV_2007, 0x01032040, 0xc0000030, 0x0000001f);
	expect_profile(LWP_PROFILE_FAM15H, LWP_REV_2007, 0x01032040, 0xc0000030, 0x0000001f);
}

Test(leaf, decode_fam15h) /* 43724-111 */
{
	struct lwp_caps caps;

	cr_assert(decodes(0, 0x80032013, 0x00010200, 0x8000000f, &caps));
	cr_expect(eq(int, memcmp(&caps, &fam15h, sizeof(caps)), 0));
}

/* Every field at a value of its own: 255 quadwords, offset 88, version 127, minimum 255, rounding 4. */
Test(leaf, decode_every_field) /* 43724-103 to 43724-106 */
{
	struct lwp_caps caps;

	cr_assert(decodes(0, 0x580820ff, 0xf1ffff3f, 0xe000007f, &caps));
	cr_expect(eq(u8, caps.version, 127));
	cr_expect(eq(u8, caps.max_events, 8));
	cr_expect(eq(u8, caps.event_offset, 88));
	cr_expect(eq(u16, caps.cb_size, 2040));
	cr_expect(eq(u8, caps.min_buffer, 255));
	cr_expect(eq(u8, caps.latency_max, 31));
	cr_expect(eq(u8, caps.latency_rnd, 4));
	cr_expect(eq(u32, caps.features, 0xe000007e));
	cr_expect(eq(u32, caps.ecx_features, 0xf1000020));
	expect_leaf(&caps, 0x580820ff, 0xf1ffff3f, 0xe000007f);
}

Test(leaf, decode_2007) /* 2007-102, 2007-104, 2007-105 */
{
	struct lwp_caps caps;

	cr_assert(decodes(1, 0xff0220a8, 0x8000000a, 0x00000017, &caps));
	cr_expect(eq(u8, caps.rev, 1));
	cr_expect(eq(u8, caps.version, 255));
	cr_expect(eq(u8, caps.max_events, 2));
	cr_expect(eq(u8, caps.event_offset, 0));
	cr_expect(eq(u16, caps.cb_size, 168));
	cr_expect(eq(u8, caps.min_buffer, 0));
	cr_expect(eq(u8, caps.latency_max, 10));
	cr_expect(eq(u32, caps.features, 0x8000000a)); /* INT, DME, IRE */
	cr_expect(eq(u32, caps.ecx_features, 0x80000000));
	expect_leaf(&caps, 0xff0220a8, 0x8000000a, 0x00000017);
}

/* EDX of 2007 in EAX positions, bit by bit. */
Test(leaf, edx_of_2007_is_shifted) /* 2007-102 */
{
	static const struct {
		u32 edx, features;
	} bit[] = {
		{ 0x03, 0x80000000 }, /* Interrupt */
		{ 0x05, 0x00000002 }, /* IRE */
		{ 0x09, 0x00000004 }, /* BRE */
		{ 0x11, 0x00000008 }, /* DME */
	};
	struct lwp_caps caps;

	for (u32 i = 0; i < 4; i++) {
		cr_assert(decodes(1, 0x01032040, 0xc0000030, bit[i].edx, &caps));
		cr_expect(eq(u32, caps.features, bit[i].features));
		expect_leaf(&caps, 0x01032040, i == 3 ? 0xc0000030 : 0, bit[i].edx);
	}
}

Test(leaf, without_avail_bit_nothing_is_described) /* 43724-103, 2007-103 */
{
	cr_expect(not(known(0, 0x80032013, 0x00010200, 0x8000000e)));
	cr_expect(not(known(1, 0x01032040, 0xc0000030, 0x0000001e)));
	cr_expect(not(known(0, 0, 0, 0)));
}

Test(leaf, reserved_bits_are_not_known) /* 43724-103 */
{
	for (u32 bit = 7; bit <= 28; bit++)
		cr_expect(not(known(0, 0x80062016, 0xe0010230, 0xe000007f | 1u << bit)));
	for (u32 bit = 25; bit <= 27; bit++)
		cr_expect(not(known(0, 0x80062016, 0xe0010230 | 1u << bit, 0xe000007f)));
	for (u32 bit = 5; bit <= 31; bit++)
		cr_expect(not(known(1, 0x01032040, 0xc0000030, 0x1f | 1u << bit)));
	for (u32 bit = 6; bit <= 29; bit++)
		cr_expect(eq(int, known(1, 0x01032040, 0xc0000030 | 1u << bit, 0x1f), bit == 24));
}

Test(leaf, unknown_revision_is_refused)
{
	cr_expect(not(known(2, 0x80062016, 0xe0010230, 0xe000007f)));
}

/* A number that is a revision's in its low byte only; found by the property of the same name. */
Test(leaf, decodes_or_is_refused) /* 43724-103 */
{
	cr_expect(not(known(65536, 3087212588, 14763520, 3221225485)));
}

/* A source that cannot count data cache misses masks the feature: nothing about them is announced. */
Test(leaf, without_cache_misses_their_numbers_read_as_zero) /* 43724-107 */
{
	struct lwp_caps caps = full;

	caps.latency_rnd = 2;
	expect_leaf(&caps, 0x80062016, 0xe00102b0, 0xe000007f);
	caps.features &= ~0x10u;
	expect_leaf(&caps, 0x80062016, 0x20010200, 0xe000006f);
	cr_expect(eq(u8, lwp_caps_latency_max(&caps), 0));
	cr_expect(eq(u8, lwp_caps_latency_rnd(&caps), 0));
	caps = full07;
	caps.features &= ~0x08u;
	expect_leaf(&caps, 0x01032040, 0, 0x0000000f);
}
