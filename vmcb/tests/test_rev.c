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

Test(rev, control_block_layout_differs) /* 2007-401, 2007-402 */
{
	const struct lwp_rev *shipped = lwp_rev_get(0), *proposal = lwp_rev_get(1);

	cr_expect(eq(u8, shipped->cb_fixed_size, 88));
	cr_expect(eq(u8, proposal->cb_fixed_size, 40));
	cr_expect(eq(u8, shipped->cb_tail_offset, 64));
	cr_expect(eq(u8, proposal->cb_tail_offset, 20));
	cr_expect(eq(u8, shipped->cb_alignment, 1));
	cr_expect(eq(u8, proposal->cb_alignment, 16));
	cr_expect(eq(u8, shipped->ring_base_ignored, 0));
	cr_expect(eq(u8, proposal->ring_base_ignored, 31));
	cr_expect(not(shipped->ring_base_linear));
	cr_expect(proposal->ring_base_linear);
	cr_expect(not(shipped->slot_selects_event));
	cr_expect(proposal->slot_selects_event);
	cr_expect(shipped->flags_are_input);
	cr_expect(not(proposal->flags_are_input));
	cr_expect(shipped->has_ip_filter);
	cr_expect(not(proposal->has_ip_filter));
}

Test(rev, counting_rules_differ) /* 2007-702 */
{
	const struct lwp_rev *shipped = lwp_rev_get(0), *proposal = lwp_rev_get(1);

	cr_expect(not(shipped->freezes_at_zero));
	cr_expect(proposal->freezes_at_zero);
	cr_expect(eq(i32, shipped->min_interval, 0));
	cr_expect(eq(i32, proposal->min_interval, 1));
	cr_expect(eq(i32, shipped->latency_gap, 1));
	cr_expect(eq(i32, proposal->latency_gap, 16));
	cr_expect(not(shipped->off_without_events));
	cr_expect(proposal->off_without_events);
	cr_expect(not(shipped->threshold_equals));
	cr_expect(proposal->threshold_equals);
}

Test(rev, instructions_and_msrs_differ) /* 2007-206 */
{
	const struct lwp_rev *shipped = lwp_rev_get(0), *proposal = lwp_rev_get(1);

	cr_expect(not(shipped->llwpcb_returns_old));
	cr_expect(proposal->llwpcb_returns_old);
	cr_expect(not(shipped->llwpcb_deferred));
	cr_expect(proposal->llwpcb_deferred);
	cr_expect(not(shipped->cbaddr_executes));
	cr_expect(proposal->cbaddr_executes);
	cr_expect(not(shipped->cfg_has_enable));
	cr_expect(proposal->cfg_has_enable);
}

/* 43724: latency 7:0, levels 12:8, branches 29:25, IP 31:30. 2007: the first two and bit 31. */
Test(rev, filters_defined) /* 43724-417, 43724-418 */
{
	cr_expect(eq(u32, lwp_rev_get(0)->filters_valid, 0xfe001fff));
	cr_expect(eq(u32, lwp_rev_get(1)->filters_valid, 0x80001fff));
}
