// SPDX-License-Identifier: GPL-2.0-or-later
/* LLWPCB of 43724: enable, disable, switch (43724-609 to 43724-619, 43724-404 to 43724-412). */
#include "fake_guest.h"

TestSuite(llwpcb, .init = start_43724);

Test(llwpcb, undefined_while_lwp_is_not_available) /* 43724-110, 43724-606 */
{
	lwp_engine_write_cfg(&eng, 0);
	expect_exc(llwpcb(BLOCK), UD);
	cr_expect(eq(int, guest.maps, 0));
}

Test(llwpcb, counters_start_from_event_counter_not_from_the_interval) /* 43724-616, 2007-416 */
{
	set_event(BLOCK, 2, 1000, 2);
	profile(3, 500, 0);
	cr_expect(eq(i32, eng.st.counter[1], 2));
	cr_expect(eq(i32, eng.st.counter[2], 0));
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	cr_expect(eq(u64, eng.st.base, RING));
	cr_expect(eq(u32, eng.st.size, 1024));
}

Test(llwpcb, a_counter_of_zero_makes_the_next_event_a_record) /* 43724-411 */
{
	start_profile(LWP_REV_43724, 2, 99, 0);
	step(0x400010);
	cr_expect(eq(u64, record(0).address, 0x400010));
	cr_expect(eq(i32, eng.st.counter[1], 99));
}

Test(llwpcb, flags_are_masked_with_what_is_available_and_written_back) /* 43724-403, 43724-404 */
{
	lwp_engine_write_cfg(&eng, F_IRE | F_VAL);
	put32(BLOCK, 0xf00000ff);
	enable(BLOCK);
	/* EAX = IRE, VAL and bit 0 */
	cr_expect(eq(u32, get32(BLOCK), 0x00000007));
	cr_expect(eq(u32, eng.st.flags, 0x00000007));
}

Test(llwpcb, fields_are_normalised_where_the_program_sees_it) /* 43724-410 */
{
	put32(BLOCK, F_IRE | F_BRE);
	put32(BLOCK + 4, 0x30000000 | (1024 + 31)); /* Random 3 */
	put32(BLOCK + 16, 70); /* head */
	put64(BLOCK + 24, 5); /* MissedEvents */
	put32(BLOCK + 32, 100); /* threshold */
	put32(BLOCK + 64, 33); /* tail: not altered */
	put64(BLOCK + 72, 0x1122334455667788ull); /* software's own */
	put32(BLOCK + 136, 0x03ffffff); /* interval 2: -1 */
	put32(BLOCK + 140, 0x02000000); /* counter 2: negative */
	put32(BLOCK + 152, 0x03ffffff); /* interval 4: not enabled, stays */
	enable(BLOCK);
	cr_expect(eq(u32, get32(BLOCK + 4), 0x30000400));
	cr_expect(eq(u32, get32(BLOCK + 16), 64));
	cr_expect(eq(u64, get64(BLOCK + 24), 5));
	cr_expect(eq(u32, get32(BLOCK + 32), 96));
	cr_expect(eq(u32, get32(BLOCK + 64), 33));
	cr_expect(eq(u64, get64(BLOCK + 72), 0x1122334455667788ull));
	cr_expect(eq(u32, get32(BLOCK + 136), 0));
	cr_expect(eq(u32, get32(BLOCK + 140), 0));
	cr_expect(eq(u32, get32(BLOCK + 152), 0x03ffffff));
	cr_expect(eq(u8, eng.st.random, 3));
	cr_expect(eq(u32, eng.st.head, 64));
}

Test(llwpcb, a_head_outside_the_ring_becomes_zero) /* 43724-408 */
{
	put32(BLOCK + 16, 1024);
	enable(BLOCK);
	cr_expect(eq(u32, eng.st.head, 0));
	expect_head(0);
}

Test(llwpcb, zero_flushes_and_switches_off) /* 43724-611 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	steps(0x400000, 4);
	expect_exc(llwpcb(0), NONE);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u32, get32(BLOCK + 140), 5));
	/* 43724 has no result. */
	cr_expect(eq(u64, result, 0));
}

Test(llwpcb, the_old_block_is_flushed_as_by_slwpcb) /* 43724-610 */
{
	set_event(BLOCK, 2, 9, 0);
	set_event(BLOCK, 3, 9, 7);
	set_event(BLOCK2, 2, 50, 40);
	enable(BLOCK);
	cr_expect(retire_at(0x400020)); /* pending */
	enable(BLOCK2);
	expect_head(32);
	cr_expect(eq(u64, record(0).address, 0x400020));
	cr_expect(eq(u32, get32(BLOCK + 140), 9));
	cr_expect(eq(u32, get32(BLOCK + 148), 7));
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK2));
	cr_expect(eq(u64, eng.st.base, RING2));
	cr_expect(eq(i32, eng.st.counter[1], 40));
	cr_expect(eq(i32, eng.st.counter[2], 0));
}

Test(llwpcb, the_active_block_again_goes_on_from_what_was_flushed) /* 43724-619 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	steps(0x400000, 4);
	put32(BLOCK + 140, 2); /* prepared by a mistaken program */
	enable(BLOCK);
	cr_expect(eq(i32, eng.st.counter[1], 5));
}

Test(llwpcb, a_fault_in_the_old_block_leaves_lwp_on) /* 43724-610, 43724-638 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	steps(0x400000, 2);
	set_permission(BLOCK, P_READ);
	expect_pf(llwpcb(BLOCK2), BLOCK);
	cr_expect(eq(u32, exc.fault.error_code, 7)); /* user, write, present */
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	cr_expect(eq(i32, eng.st.counter[1], 7));
	/* restartable */
	set_permission(BLOCK, P_READ | P_WRITE);
	enable(BLOCK2);
	cr_expect(eq(u32, get32(BLOCK + 140), 7));
}

Test(llwpcb, a_pending_record_that_cannot_be_stored_leaves_lwp_on) /* 43724-610, 43724-638 */
{
	start_profile(LWP_REV_43724, 2, 9, 0);
	cr_expect(retire_at(0x400020));
	set_permission(RING, 0);
	expect_pf(llwpcb(0), RING);
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	set_permission(RING, P_READ | P_WRITE);
	expect_exc(llwpcb(0), NONE);
	cr_expect(eq(u64, record(0).address, 0x400020));
	expect_head(32);
}

Test(llwpcb, a_fault_in_the_new_block_leaves_lwp_off) /* 43724-614 */
{
	start_profile(LWP_REV_43724, 2, 9, 9);
	steps(0x400000, 2);
	set_permission(BLOCK2, 0);
	expect_pf(llwpcb(BLOCK2 + 8), BLOCK2 + 8);
	cr_expect(eq(u32, exc.fault.error_code, 6)); /* user, write, not present */
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u32, get32(BLOCK + 140), 7));
}

Test(llwpcb, write_access_to_the_whole_block_is_exercised) /* 43724-613 */
{
	make_block(BLOCK2 + 0xf80, RING2);
	set_permission(BLOCK2 + PAGE, P_READ);
	/* The last 48 of its 176 bytes, where no event is enabled, lie in the read-only page. */
	expect_pf(llwpcb(BLOCK2 + 0xf80), BLOCK2 + PAGE);
	cr_expect(eq(u32, exc.fault.error_code, 7));
}

Test(llwpcb, the_ring_is_not_touched) /* 43724-613 */
{
	set_permission(RING, 0);
	enable(BLOCK);
	cr_expect(lwp_engine_on(&eng));
}

Test(llwpcb, a_ring_below_the_minimum_is_gp) /* 43724-407 */
{
	put32(BLOCK + 4, 1023); /* rounded down: 31 records */
	set_event(BLOCK2, 2, 9, 9);
	enable(BLOCK2);
	expect_exc(llwpcb(BLOCK), GP);
	cr_expect(not(lwp_engine_on(&eng)));
	cr_expect(eq(u32, get32(BLOCK + 4), 1023));
	put32(BLOCK + 4, 1024);
	enable(BLOCK);
}

Test(llwpcb, addresses_that_are_not_canonical_are_gp) /* 43724-612, 2007-610 */
{
	expect_exc(llwpcb(0x0000800000000000ull), GP);
	/* The last byte crosses into the hole. */
	expect_exc(llwpcb(0x00007fffffffff51ull), GP);
	expect_exc(llwpcb(0x00007fffffffff50ull), PF);
	expect_exc(llwpcb(0xffff7fffffffffffull), GP);
	expect_exc(llwpcb(0xffffffffffffff51ull), GP); /* wraps round */
	expect_exc(llwpcb(0xffffffffffffff50ull), PF);
	put64(BLOCK + 8, 0x00007ffffffffc01ull); /* ring: one byte too far */
	expect_exc(llwpcb(BLOCK), GP);
	put64(BLOCK + 8, 0x00007ffffffffc00ull);
	expect_exc(llwpcb(BLOCK), NONE);
	cr_expect(eq(u64, eng.st.base, 0x00007ffffffffc00ull));
}

Test(llwpcb, five_level_paging_has_57_bits) /* 43724-612, 2007-610 */
{
	struct lwp_ds wide = { .limit = ~(u64)0, .long_mode = true, .va_bits = 57 };

	expect_exc(llwpcb_in(&wide, 0x0000800000000000ull), PF);
	expect_exc(llwpcb_in(&wide, 0x0100000000000000ull), GP);
}

/* DS of 32-bit code: base 500000h, 64 KiB. The block's addresses are relative to it. */
static const struct lwp_ds ds32 = { .base = 0x500000, .limit = 0xffff };

/* 43724-414, 43724-415, 43724-609, 43724-615, 43724-617 */
Test(llwpcb, ds_base_is_added_to_block_and_ring)
{
	make_block(BLOCK, 0x4000);
	set_event(BLOCK, 2, 9, 0);
	expect_exc(llwpcb_in(&ds32, 0x2000), NONE);
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK));
	cr_expect(eq(u64, eng.st.base, RING));
	/* BufferBase itself is not rewritten. */
	cr_expect(eq(u64, get64(BLOCK + 8), 0x4000));
	step(0x400000);
	cr_expect(eq(u64, record(0).address, 0x400000));
	lwp_slwpcb(&eng, &ds32, &result, &exc);
	cr_expect(eq(u64, result, 0x2000));
	/* Another DS since: linear addresses are kept, SLWPCB subtracts the present base. */
	lwp_slwpcb(&eng, &flat, &result, &exc);
	cr_expect(eq(u64, result, BLOCK));
}

Test(llwpcb, outside_the_ds_limit_is_gp) /* 43724-612, 2007-610 */
{
	struct lwp_ds ds = { .base = 0x500000, .limit = 0x20af };

	make_block(BLOCK, 0x1000);
	/* The block's last byte is at 20AFh. */
	expect_exc(llwpcb_in(&ds, 0x2000), NONE);
	expect_exc(llwpcb_in(&ds, 0x2001), GP);
	cr_expect(not(lwp_engine_on(&eng)));
	/* The ring: 1CB0h is the last place where 1024 bytes fit. */
	make_block(BLOCK, 0x1cb0);
	expect_exc(llwpcb_in(&ds, 0x2000), NONE);
	make_block(BLOCK, 0x1cb1);
	expect_exc(llwpcb_in(&ds, 0x2000), GP);
}

/* An expand-down DS: the offsets above its limit are valid. */
Test(llwpcb, below_the_first_offset_of_ds_is_gp) /* 43724-612, 2007-610 */
{
	struct lwp_ds ds = { .base = 0x500000, .first = 0x2000, .limit = 0xffff };

	make_block(BLOCK, 0x4000);
	expect_exc(llwpcb_in(&ds, 0x2000), NONE);
	ds.first = 0x2001;
	expect_exc(llwpcb_in(&ds, 0x2000), GP);
	cr_expect(not(lwp_engine_on(&eng)));
	/* The ring. */
	ds.first = 0x2000;
	make_block(BLOCK, 0x1fff);
	expect_exc(llwpcb_in(&ds, 0x2000), GP);
	make_block(BLOCK, 0x2000);
	expect_exc(llwpcb_in(&ds, 0x2000), NONE);
}

/* Null, not present, or not writable. */
Test(llwpcb, a_ds_without_offsets_is_gp) /* 43724-612, 2007-610 */
{
	struct lwp_ds ds = { .base = 0, .first = 1, .limit = 0 };

	make_block(BLOCK, 0x1000);
	expect_exc(llwpcb_in(&ds, BLOCK), GP);
	/* Address 0 turns LWP off whatever DS is. */
	expect_exc(llwpcb_in(&ds, 0), NONE);
}

Test(llwpcb, what_wraps_round_a_32_bit_address_space_is_gp) /* 43724-612, 2007-610 */
{
	struct lwp_ds ds = { .base = 0xfffff000, .limit = 0xffffffff };

	expect_exc(llwpcb_in(&ds, 0xf51), GP);
	expect_pf(llwpcb_in(&ds, 0xf50), 0xffffff50);
	/* Linear 0 would read as off. */
	expect_exc(llwpcb_in(&ds, 0x1000), GP);
	/* A block after the wrap is a plain address; its ring ends where the space does. */
	make_block(BLOCK, 0xc00);
	expect_exc(llwpcb_in(&ds, BLOCK + 0x1000), NONE);
	cr_expect(eq(u64, eng.st.base, 0xfffffc00));
	make_block(BLOCK, 0xc01);
	expect_exc(llwpcb_in(&ds, BLOCK + 0x1000), GP);
}

/* A 32-bit program that widens its pointer as a signed number, as compilers do. */
Test(llwpcb, the_high_half_of_buffer_base_is_ignored_outside_64_bit_code) /* 43724-423 */
{
	struct lwp_ds ds = { .base = 0x500000, .limit = 0xffffffff };

	make_block(BLOCK, 0xfffffffff0001000);
	expect_exc(llwpcb_in(&ds, BLOCK - ds.base), NONE);
	cr_expect(eq(u64, eng.st.base, 0xf0501000));
	ds.limit = 0xf0001000;
	expect_exc(llwpcb_in(&ds, BLOCK - ds.base), GP);
}

Test(llwpcb, no_alignment_is_checked) /* 43724-416 */
{
	make_block(BLOCK + 1, RING + 3);
	set_event(BLOCK + 1, 2, 9, 0);
	enable(BLOCK + 1);
	step(0x400000);
	cr_expect(eq(u32, get32(RING + 3), 2));
}

Test(llwpcb, without_events_lwp_stays_on) /* 43724-618 */
{
	enable(BLOCK);
	cr_expect(eq(u32, eng.st.flags, 0));
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	expect_head(32);
}

Test(llwpcb, a_block_that_is_not_ram_switches_off_without_an_exception) /* 43724-818 */
{
	enable(BLOCK);
	set_permission(BLOCK2, P_READ | P_WRITE | P_ROM);
	expect_exc(llwpcb(BLOCK2), NONE);
	expect_turned_off(1);
}

Test(llwpcb, an_old_block_that_is_not_ram_does_not_keep_the_new_one_away) /* 43724-818 */
{
	enable(BLOCK);
	set_permission(BLOCK, P_READ | P_WRITE | P_ROM);
	enable(BLOCK2);
	cr_expect(eq(u64, eng.st.cb_addr, BLOCK2));
	cr_expect(eq(u64, eng.stats.turned_off, 1));
}
