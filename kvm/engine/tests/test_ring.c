// SPDX-License-Identifier: GPL-2.0-or-later
/* Ring arithmetic, full ring, continuous mode, threshold (43724-801 to 43724-812). */
#include "fake_guest.h"

/* Every instruction makes a record. */
static void every_instruction(u32 flags)
{
	start(LWP_REV_43724);
	lwp_engine_write_cfg(&eng, 0x00004200e0000004ull); /* vector 42h, all modes */
	put32(BLOCK, flags);
	set_event(BLOCK, 2, 0, 0);
}

/* n more records; there have been so many interrupts then. */
static void expect_interrupts(u32 n, u32 wanted)
{
	steps(0x400000, n);
	cr_expect(eq(u32, guest.interrupts, wanted));
}

Test(ring, records_fill_it_in_order_and_wrap) /* 43724-801 */
{
	every_instruction(0);
	put32(BLOCK + 16, 960);
	put32(BLOCK + 64, 960); /* empty: head == tail */
	enable(BLOCK);
	steps(0x400000, 4);
	cr_expect(eq(u64, record(30).address, 0x400000));
	cr_expect(eq(u64, record(31).address, 0x400004));
	cr_expect(eq(u64, record(0).address, 0x400008));
	cr_expect(eq(u64, record(1).address, 0x40000c));
	expect_ring(64, 0);
}

Test(ring, holds_one_record_less_than_its_size) /* 43724-802, 43724-803, 2007-801, 2007-802 */
{
	every_instruction(0);
	enable(BLOCK);
	steps(0x400000, 31);
	expect_ring(992, 0);
	step(0x500000);
	expect_ring(992, 1);
	cr_expect(eq(u64, record(31).address, 0x500000));
	/* Each further one overwrites the slot at the head; the counter reloads all the same. */
	step(0x500004);
	expect_missed(2);
	cr_expect(eq(u64, record(31).address, 0x500004));
	cr_expect(eq(u64, record(30).address, 0x400078));
	cr_expect(eq(u64, record(0).address, 0x400000));
	cr_expect(eq(u64, eng.stats.missed, 2));
	cr_expect(eq(u64, eng.stats.records, 33));
}

Test(ring, the_tail_is_read_again_by_each_store) /* 43724-420, 43724-805, 2007-418 */
{
	every_instruction(0);
	enable(BLOCK);
	steps(0x400000, 32);
	expect_missed(1);
	put32(BLOCK + 64, 32); /* the program has taken one record */
	step(0x500000);
	expect_ring(0, 1);
	cr_expect(eq(u64, record(31).address, 0x500000));
	step(0x500004);
	expect_missed(2);
	cr_expect(eq(u64, record(0).address, 0x500004));
}

Test(ring, missed_events_count_64_bits) /* 43724-807 */
{
	every_instruction(0);
	put32(BLOCK + 64, 32);
	put64(BLOCK + 24, 0xffffffff);
	enable(BLOCK);
	step(0x400000);
	expect_missed(0x100000000ull);
}

Test(ring, continuous_mode_always_advances) /* 43724-804 */
{
	every_instruction(F_CONT);
	put32(BLOCK + 64, 32);
	enable(BLOCK);
	steps(0x400000, 33);
	expect_ring(32, 0);
	cr_expect(eq(u64, record(0).address, 0x400080));
	cr_expect(eq(u64, record(1).address, 0x400004));
	/* No longer allowed by LWP_CFG: synchronised at once. */
	lwp_engine_write_cfg(&eng, F_IRE);
	put32(BLOCK + 64, 64);
	step(0x500000);
	expect_ring(32, 1);
}

Test(ring, lwpins_in_continuous_mode_clears_cf) /* 43724-625 */
{
	every_instruction(F_CONT);
	put32(BLOCK + 64, 32);
	enable(BLOCK);
	expect_exc(lwpins(0x400000, 1, 2, 3), NONE);
	cr_expect(not(cf));
	expect_head(32);
}

Test(ring, a_tail_that_breaks_the_protocol_is_read_like_a_bad_head) /* 43724-806 */
{
	every_instruction(0);
	put32(BLOCK + 16, 32);
	put32(BLOCK + 64, 95); /* rounded down: 64, next to the head */
	enable(BLOCK);
	step(0x400000);
	expect_ring(32, 1);
	put32(BLOCK + 64, 96);
	step(0x400000);
	expect_head(64);
	put32(BLOCK + 16, 0); /* has no effect, the head is LWP's */
	put32(BLOCK + 64, 1024); /* outside: 0 */
	steps(0x400000, 29);
	expect_head(992);
	step(0x400000);
	expect_missed(2);
	put32(BLOCK + 64, 0xffffffff);
	step(0x400000);
	expect_ring(992, 3);
}

Test(ring, a_record_may_cross_a_page) /* 43724-814 */
{
	every_instruction(0);
	put64(BLOCK + 8, RING + 0xff0);
	enable(BLOCK);
	step(0x400000);
	cr_expect(eq(u32, get32(RING + 0xff0), 2));
	cr_expect(eq(u64, get64(RING + 0xff8), 0x400000));
	set_permission(RING + PAGE, P_READ);
	eng.st.head = 0;
	expect_pf(try_step(0x400004), RING + PAGE);
	cr_expect(eq(u64, get64(RING + 0xff8), 0x400000));
}

Test(ring, threshold_of_43724_interrupts_from_there_on) /* 43724-808 */
{
	every_instruction(F_INT);
	put32(BLOCK + 32, 96);
	enable(BLOCK);
	expect_interrupts(2, 0);
	expect_interrupts(1, 1);
	cr_expect(eq(u8, guest.vector, 0x42));
	expect_interrupts(1, 2);
	put32(BLOCK + 64, 96); /* one record is left */
	expect_interrupts(1, 2);
	expect_interrupts(1, 3);
	cr_expect(eq(u64, eng.stats.interrupts, 3));
}

Test(ring, threshold_0_of_43724_interrupts_after_every_record) /* 43724-809 */
{
	every_instruction(F_INT);
	enable(BLOCK);
	expect_interrupts(5, 5);
}

Test(ring, threshold_counts_across_the_wrap) /* 43724-801 */
{
	every_instruction(F_INT);
	put32(BLOCK + 16, 960);
	put32(BLOCK + 64, 960);
	put32(BLOCK + 32, 96);
	enable(BLOCK);
	expect_interrupts(2, 0);
	expect_interrupts(1, 1); /* head 32, tail 960: 3 records */
}

Test(ring, a_threshold_above_the_size_never_interrupts) /* 43724-809 */
{
	every_instruction(F_INT);
	put32(BLOCK + 32, 2048);
	enable(BLOCK);
	expect_interrupts(40, 0);
}

Test(ring, a_threshold_that_the_program_changed_is_rounded_again) /* 43724-409 */
{
	every_instruction(F_INT);
	put32(BLOCK + 32, 2048);
	enable(BLOCK);
	put32(BLOCK + 32, 63);
	expect_interrupts(1, 1);
}

Test(ring, a_full_ring_does_not_interrupt) /* 43724-810 */
{
	every_instruction(F_INT);
	put32(BLOCK + 64, 32);
	enable(BLOCK);
	step(0x400000);
	expect_missed(1);
	cr_expect(eq(u32, guest.interrupts, 0));
}

Test(ring, no_interrupt_without_flag_cfg_or_vector_source) /* 43724-808 */
{
	struct lwp_vcpu_ops none = guest_ops;

	every_instruction(0); /* flag clear */
	enable(BLOCK);
	step(0x400000);
	put32(BLOCK, F_INT | F_IRE);
	enable(BLOCK);
	lwp_engine_write_cfg(&eng, F_IRE);
	step(0x400000);
	lwp_engine_write_cfg(&eng, F_INT | F_IRE);
	none.interrupt = NULL;
	eng.ops = &none;
	step(0x400000);
	expect_head(96);
	cr_expect(eq(u32, guest.interrupts, 0));
	cr_expect(eq(u64, eng.stats.interrupts, 0));
}

Test(ring, a_vector_below_16_never_interrupts) /* 43724-812 */
{
	every_instruction(F_INT);
	lwp_engine_write_cfg(&eng, 0x00000f00e0000004ull);
	enable(BLOCK);
	expect_interrupts(1, 0);
	lwp_engine_write_cfg(&eng, 0x00001000e0000004ull);
	expect_interrupts(1, 1);
	cr_expect(eq(u8, guest.vector, 0x10));
}

static void every_instruction_2007(u32 limit)
{
	start(LWP_REV_2007);
	lwp_engine_write_cfg(&eng, 0x0000420080000003ull);
	set_event(BLOCK, 1, 1, 1);
	put32(BLOCK + 32, limit);
	enable(BLOCK);
}

Test(ring, threshold_of_2007_interrupts_once_when_crossed) /* 2007-803 */
{
	every_instruction_2007(96);
	expect_interrupts(2, 0);
	expect_interrupts(1, 1);
	expect_interrupts(10, 1);
}

Test(ring, threshold_0_of_2007_never_interrupts) /* 2007-803 */
{
	every_instruction_2007(0);
	expect_interrupts(40, 0);
}

Test(ring, the_tail_of_2007_lies_beside_the_head) /* 2007-410, 2007-801, 2007-802, 2007-809 */
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 1, 1);
	put32(BLOCK + 20, 32);
	enable(BLOCK);
	step(0x400000);
	expect_ring(0, 1);
	put32(BLOCK + 20, 64);
	step(0x400004);
	expect_head(32);
	cr_expect(eq(u32, get32(BLOCK + 20), 64));
}

Test(ring, a_ring_of_one_record_only_misses) /* 43724-802 */
{
	start(LWP_REV_2007);
	set_event(BLOCK, 1, 1, 1);
	put32(BLOCK + 4, 32);
	enable(BLOCK);
	steps(0x400000, 3);
	expect_ring(0, 3);
	cr_expect(eq(u64, record(0).address, 0x400008));
	cr_expect(eq(u64, guest.highest_write, RING + 31));
}
