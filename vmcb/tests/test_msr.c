// SPDX-License-Identifier: GPL-2.0-or-later
/* LWP_CFG and LWP_CBADDR: what may be written, reset, and EAX (43724-201 to 43724-211; 2007-201 to 2007-205). */
#include "vmcb_test.h"

/* Which single bits raise #GP, which are ignored? */
static void expect_masks(const struct lwp_caps *caps, u64 gp_wanted, u64 ignored_wanted)
{
	u64 gp = 0, ignored = 0;

	for (u32 bit = 0; bit < 64; bit++) {
		u64 cfg = 0x5555;

		if (!lwp_cfg_write(caps, (u64)1 << bit, &cfg)) {
			cr_expect(eq(u64, cfg, 0x5555));
			gp |= (u64)1 << bit;
		} else if (!cfg) {
			ignored |= (u64)1 << bit;
		} else {
			cr_expect(eq(u64, cfg, (u64)1 << bit));
		}
	}
	cr_expect(eq(u64, gp, gp_wanted));
	cr_expect(eq(u64, ignored, ignored_wanted));
}

Test(msr, numbers) /* 43724-201, 43724-210 */
{
	cr_expect(eq(u32, LWP_MSR_CFG, 0xc0000105));
	cr_expect(eq(u32, LWP_MSR_CBADDR, 0xc0000106));
}

/* As probed on an FX-8150: writable 47:31 and 3:1. */
Test(msr, cfg_gp_and_ignore_masks_of_fam15h) /* 43724-202 */
{
	expect_masks(&fam15h, 0x7ffffff0, 0xffff000000000001);
}

Test(msr, cfg_gp_and_ignore_masks_of_the_full_profile) /* 43724-202 */
{
	expect_masks(&full, 0x1fffff80, 0xffff000000000001);
}

/* LWPMSR0: Enabled is real, other bits fault; COREID and VECTOR as in 43724. */
Test(msr, cfg_gp_mask_of_2007) /* 2007-201, 2007-202, 2007-204 */
{
	expect_masks(&full07, 0xffff00007ffffff0, 0);
}

Test(msr, cfg_bit_of_a_missing_feature_is_gp) /* 43724-202 */
{
	u64 cfg = 7;

	cr_expect(not(lwp_cfg_write(&fam15h, 0x8000001e, &cfg)));
	cr_expect(eq(u64, cfg, 7));
}

/* A program for silicon writes EDX as it is, with bit 0. */
Test(msr, cfg_stores_all_but_ignored_bits) /* 43724-203 */
{
	u64 cfg = 0;

	cr_assert(lwp_cfg_write(&fam15h, 0xabcdf0078000000f, &cfg));
	cr_expect(eq(u64, cfg, 0x0000f0078000000e));
}

Test(msr, core_id_and_vector) /* 43724-205, 43724-206, 2007-204 */
{
	cr_expect(eq(u8, lwp_cfg_core_id(0x0000f0078000000e), 0x07));
	cr_expect(eq(u8, lwp_cfg_vector(0x0000f0078000000e), 0xf0));
}

Test(msr, cfg_reset_in_os_contexts_is_zero) /* 43724-201, 2007-201 */
{
	cr_expect(eq(u64, lwp_cfg_reset(&full, false, 5), 0));
	cr_expect(eq(u64, lwp_cfg_reset(&full07, false, 5), 0));
}

/* All but INT; COREID is the low byte of the APIC id; no vector. */
Test(msr, cfg_reset_in_auto_contexts) /* 43724-207, 2007-205 */
{
	cr_expect(eq(u64, lwp_cfg_reset(&full, true, 0x105), 0x000000056000007e));
	cr_expect(eq(u64, lwp_cfg_reset(&fam15h, true, 255), 0x000000ff0000000e));
	cr_expect(eq(u64, lwp_cfg_reset(&full07, true, 3), 0x000000030000000f));
}

Test(msr, eax_needs_xcr0_in_os_contexts) /* 43724-108, 43724-301 */
{
	cr_expect(eq(u32, lwp_avail(&full, 0xe000007e, false, false), 0));
	cr_expect(eq(u32, lwp_avail(&full, 0xe000007e, false, true), 0xe000007f));
	cr_expect(eq(u32, lwp_avail(&fam15h, 0x8000000a, false, true), 0x8000000b));
	/* LWP_CFG = 0 leaves LWP available, without an event */
	cr_expect(eq(u32, lwp_avail(&full, 0, false, true), 1));
}

Test(msr, eax_is_edx_and_cfg_or_1) /* 43724-108 */
{
	cr_expect(eq(u32, lwp_avail(&fam15h, 0x0000ff008000007e, false, true), 0x8000000f));
}

Test(msr, eax_in_auto_contexts_needs_a_feature_in_cfg) /* 43724-109 */
{
	cr_expect(eq(u32, lwp_avail(&full, 0, true, false), 0));
	cr_expect(eq(u32, lwp_avail(&full, 0x0000ffff00000000, true, true), 0));
	cr_expect(eq(u32, lwp_avail(&full, 0x2, true, false), 3));
}

Test(msr, eax_of_2007_is_lwpmsr0) /* 2007-107 */
{
	cr_expect(eq(u32, lwp_avail(&full07, 0x8000000f, false, false), 0x8000000f));
	cr_expect(eq(u32, lwp_avail(&full07, 0x00000003, true, false), 0x00000003));
	cr_expect(eq(u32, lwp_avail(&full07, 0x00000001, false, false), 0x00000001));
	/* Enabled clear: LWP may not be used */
	cr_expect(eq(u32, lwp_avail(&full07, 0x8000000e, false, true), 0));
	cr_expect(eq(u32, lwp_avail(&full07, 0x8000000e, true, true), 0));
}

/* Every bit of a WRMSR LWP_CBADDR raises #GP on silicon. */
Test(msr, cbaddr_takes_only_zero) /* 43724-211, 43724-213 */
{
	cr_expect(lwp_cbaddr_write_ok(0));
	for (u32 bit = 0; bit < 64; bit++)
		cr_expect(not(lwp_cbaddr_write_ok((u64)1 << bit)));
}
