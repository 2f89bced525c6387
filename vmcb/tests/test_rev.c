// SPDX-License-Identifier: GPL-2.0-or-later
/* The revision table: what differs between 43724 and the 2007 proposal (docs/design.md#two-revisions). */
#include "vmcb_test.h"

Test(rev, numbers_on_the_wire_are_0_and_1)
{
	cr_expect(eq(str, text(lwp_rev_get(0)->name), text("43724")));
	cr_expect(eq(u8, lwp_rev_get(0)->id, 0));
	cr_expect(eq(str, text(lwp_rev_get(1)->name), text("2007")));
	cr_expect(eq(u8, lwp_rev_get(1)->id, 1));
	cr_expect(eq(ptr, (void *)lwp_rev_get(2), NULL));
	cr_expect(eq(ptr, (void *)lwp_rev_get(~0u), NULL));
}

Test(rev, found_by_the_name_users_write)
{
	cr_expect(eq(ptr, (void *)lwp_rev_by_name("43724"), (void *)lwp_rev_get(0)));
	cr_expect(eq(ptr, (void *)lwp_rev_by_name("2007"), (void *)lwp_rev_get(1)));
	cr_expect(eq(ptr, (void *)lwp_rev_by_name("2010"), NULL));
	cr_expect(eq(ptr, (void *)lwp_rev_by_name(""), NULL));
}

Test(rev, event_ids_of_43724) /* 43724-502 */
{
	static const u8 expected[LWP_KINDS] = { 0, 1, 2, 3, 4, 5, 6 };
	const struct lwp_rev *rev = lwp_rev_get(0);

	cr_expect(eq(u8, rev->max_event_id, 6));
	for (u32 kind = 0; kind < LWP_KINDS; kind++) {
		cr_expect(eq(u8, rev->event_id[kind], expected[kind]));
		cr_expect(eq(u8, rev->kind[kind], expected[kind]));
	}
	cr_expect(eq(u8, rev->kind[7], 0));
	cr_expect(eq(u8, rev->kind[8], 0));
}

Test(rev, event_ids_of_2007) /* 2007-502 */
{
	const struct lwp_rev *rev = lwp_rev_get(1);
	static const u8 ids[LWP_KINDS] = { 0, 0, 1, 2, 3, 0, 0 };
	static const u8 kinds[LWP_MAX_EVENT_ID + 1] = { 0, 2, 3, 4, 0, 0, 0, 0, 0 };

	cr_expect(eq(u8, rev->max_event_id, 3));
	cr_expect(eq(int, memcmp(rev->event_id, ids, sizeof(ids)), 0));
	cr_expect(eq(int, memcmp(rev->kind, kinds, sizeof(kinds)), 0));
}

/* A field of both revisions. */
#define expect_both(field, of_43724, of_2007)                        \
	do {                                                         \
		cr_expect(eq(i32, lwp_rev_get(0)->field, of_43724)); \
		cr_expect(eq(i32, lwp_rev_get(1)->field, of_2007));  \
	} while (0)

Test(rev, control_block_layout_differs) /* 2007-401, 2007-402 */
{
	expect_both(cb_fixed_size, 88, 40);
	expect_both(cb_tail_offset, 64, 20);
	expect_both(cb_alignment, 1, 16);
	expect_both(ring_base_ignored, 0, 31);
	expect_both(ring_base_linear, false, true);
	expect_both(slot_selects_event, false, true);
	expect_both(flags_are_input, true, false);
	expect_both(has_ip_filter, true, false);
}

Test(rev, counting_rules_differ) /* 2007-702 */
{
	expect_both(freezes_at_zero, false, true);
	expect_both(min_interval, 0, 1);
	expect_both(latency_gap, 1, 16);
	expect_both(off_without_events, false, true);
	expect_both(threshold_equals, false, true);
}

Test(rev, instructions_and_msrs_differ) /* 2007-206 */
{
	expect_both(llwpcb_returns_old, false, true);
	expect_both(llwpcb_deferred, false, true);
	expect_both(cbaddr_executes, false, true);
	expect_both(cfg_has_enable, false, true);
}

/* 43724: latency 7:0, levels 12:8, branches 29:25, IP 31:30. 2007: the first two and bit 31. */
Test(rev, filters_defined) /* 43724-417, 43724-418 */
{
	cr_expect(eq(u32, lwp_rev_get(0)->filters_valid, 0xfe001fff));
	cr_expect(eq(u32, lwp_rev_get(1)->filters_valid, 0x80001fff));
}
