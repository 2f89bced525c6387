// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwp.h, the header for programs: its layout is that of vmcb/, its instructions are those of
 * 43724-601, its ring is that of 43724-801.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "lwp.h"
#include "lwp_cb.h"
#include "lwp_record.h"

_Static_assert(offsetof(struct lwp_block, flags) == LWP_CB_FLAGS, "Flags");
_Static_assert(offsetof(struct lwp_block, size_random) == LWP_CB_SIZE_RANDOM, "BufferSize, Random");
_Static_assert(offsetof(struct lwp_block, buffer_base) == LWP_CB_BASE, "BufferBase");
_Static_assert(offsetof(struct lwp_block, head_offset) == LWP_CB_HEAD, "BufferHeadOffset");
_Static_assert(offsetof(struct lwp_block, missed_events) == LWP_CB_MISSED, "MissedEvents");
_Static_assert(offsetof(struct lwp_block, threshold) == LWP_CB_THRESHOLD, "Threshold");
_Static_assert(offsetof(struct lwp_block, filters) == LWP_CB_FILTERS, "Filters");
_Static_assert(offsetof(struct lwp_block, base_ip) == LWP_CB_BASE_IP, "BaseIP");
_Static_assert(offsetof(struct lwp_block, limit_ip) == LWP_CB_LIMIT_IP, "LimitIP");
_Static_assert(offsetof(struct lwp_block, tail_offset) == LWP_CB_TAIL, "BufferTailOffset");
_Static_assert(sizeof(struct lwp_block) == LWP_CB_FIXED_SIZE, "fixed part");
_Static_assert(sizeof(struct lwp_event_slot) == LWP_CB_SLOT_SIZE, "event slot");
_Static_assert(offsetof(struct lwp_event_slot, interval) == LWP_CB_SLOT_INTERVAL, "EventInterval");
_Static_assert(offsetof(struct lwp_event_slot, counter) == LWP_CB_SLOT_COUNTER, "EventCounter");

_Static_assert(sizeof(struct lwp_event) == LWP_RECORD_SIZE, "record");
_Static_assert(offsetof(struct lwp_event, event_id) == LWP_RECORD_EVENT_ID, "EventId");
_Static_assert(offsetof(struct lwp_event, core_id) == LWP_RECORD_CORE_ID, "CoreId");
_Static_assert(offsetof(struct lwp_event, flags) == LWP_RECORD_FLAGS, "Flags");
_Static_assert(offsetof(struct lwp_event, data1) == LWP_RECORD_DATA1, "Data1");
_Static_assert(offsetof(struct lwp_event, address) == LWP_RECORD_ADDRESS, "InstructionAddress");
_Static_assert(offsetof(struct lwp_event, data2) == LWP_RECORD_DATA2, "Data2");
_Static_assert(offsetof(struct lwp_event, timestamp) == LWP_RECORD_TIMESTAMP, "time stamp");

_Static_assert(LWP_ENABLE(LWP_EVENT_VALUE) == LWP_F_VAL, "VAL");
_Static_assert(LWP_ENABLE(LWP_EVENT_INSTRUCTION) == LWP_F_IRE, "IRE");
_Static_assert(LWP_ENABLE(LWP_EVENT_BRANCH) == LWP_F_BRE, "BRE");
_Static_assert(LWP_ENABLE(LWP_EVENT_DCACHE_MISS) == LWP_F_DME, "DME");
_Static_assert(LWP_ENABLE(LWP_EVENT_CLOCK) == LWP_F_CNH, "CNH");
_Static_assert(LWP_ENABLE(LWP_EVENT_REF_CLOCK) == LWP_F_RNH, "RNH");
_Static_assert(LWP_ENABLE_CONTINUOUS == LWP_F_CONT, "CONT");
_Static_assert(LWP_ENABLE_TIMESTAMP == LWP_F_PTSC, "PTSC");
_Static_assert(LWP_ENABLE_INTERRUPT == LWP_F_INT, "INT");
_Static_assert(LWP_EVENT_INSERTED == LWP_EVENT_ID_INS, "LWPINS");

_Static_assert(LWP_EVENT_TAKEN == LWP_RECORD_TKN, "TKN");
_Static_assert(LWP_EVENT_PREDICTED == LWP_RECORD_PRD, "PRD");
_Static_assert(LWP_EVENT_PREDICTION_VALID == LWP_RECORD_PRV, "PRV");
_Static_assert(LWP_EVENT_FUSED == LWP_RECORD_FUS, "FUS");
_Static_assert(LWP_EVENT_DATA_ADDRESS_VALID == LWP_RECORD_DAV, "DAV");
_Static_assert(LWP_INTERVAL_MAX == LWP_COUNTER_MAX, "26 bits, signed");
_Static_assert(LWP_BLOCK_MAX == LWP_CB_MAX_SIZE, "255 quadwords");

/* The instructions, in a function each so that their bytes can be looked for, also at -O0. Not to be called. */
#define USE static __attribute__((noinline, flatten))

USE void use_llwpcb(struct lwp_block *block)
{
	lwp_llwpcb(block);
}

USE struct lwp_block *use_slwpcb(void)
{
	return lwp_slwpcb();
}

USE bool use_lwpins(uint64_t data2, uint32_t data1)
{
	return lwp_lwpins(data2, data1, 0x12345678);
}

USE void use_lwpval(uint64_t data2, uint32_t data1)
{
	lwp_lwpval(data2, data1, 0x12345678);
}

static bool contains(const void *function, const char *bytes, size_t size)
{
	return memmem(function, 256, bytes, size) != NULL;
}

Test(lwp_h, instructions_are_encoded_as_specified)
{
	/* 43724-601: operand 1 rAX, operand 2 ecx. */
	cr_expect(contains((void *)use_llwpcb, "\x8f\xe9\xf8\x12\xc0", 5));
	cr_expect(contains((void *)use_slwpcb, "\x8f\xe9\xf8\x12\xc8", 5));
	cr_expect(contains((void *)use_lwpins, "\x8f\xea\xf8\x12\xc1\x78\x56\x34\x12", 9));
	cr_expect(contains((void *)use_lwpval, "\x8f\xea\xf8\x12\xc9\x78\x56\x34\x12", 9));
}

/* As of the leaf EBX=80062016h ECX=00010200h. */
static const struct lwp_features features = {
	.available = 0x7f,
	.block_size = 176,
	.event_offset = 128,
	.max_event = 6,
	.ring_min = 1024,
	.version = 1,
};

static _Alignas(64) unsigned char memory[256];
static struct lwp_event ring[32];

static struct lwp_block *make_block(void)
{
	struct lwp_block *block = (struct lwp_block *)(void *)memory;

	memset(memory, 0xaa, sizeof(memory));
	lwp_block_init(block, &features, ring, sizeof(ring), 5);
	return block;
}

Test(lwp_h, a_block_decodes_to_what_was_asked_for) /* 43724-601 */
{
	static const struct lwp_caps caps = {
		.rev = LWP_REV_43724,
		.version = 1,
		.max_events = 6,
		.event_offset = 128,
		.cb_size = 176,
		.event_size = 32,
		.min_buffer = 1,
		.features = 0x7e,
	};
	struct lwp_block *block = make_block();
	struct lwp_cb cb;

	lwp_block_event(block, &features, LWP_EVENT_INSTRUCTION, 999, 500);
	lwp_block_event(block, &features, LWP_EVENT_REF_CLOCK, 77, 7);
	cr_assert(eq(int, lwp_cb_decode(&caps, 0x7f, memory, &cb), LWP_CB_OK));
	cr_expect(eq(u32, cb.flags, 1 << 2 | 1 << 6));
	cr_expect(eq(u32, cb.size, 1024));
	cr_expect(eq(u8, cb.random, 5));
	cr_expect(eq(u64, cb.base, (uintptr_t)ring));
	cr_expect(eq(i32, cb.interval[1], 999));
	cr_expect(eq(i32, cb.counter[1], 500));
	cr_expect(eq(i32, cb.interval[5], 77));
	cr_expect(eq(i32, cb.counter[5], 7));
	/* Nothing beyond LwpCbSize was touched. */
	cr_expect(eq(u8, memory[176], 0xaa));
}

Test(lwp_h, a_ring_is_empty_when_head_is_tail) /* 43724-601 */
{
	struct lwp_block *block = make_block();

	cr_expect(lwp_ring_peek(block) == NULL);
	cr_expect(eq(u32, lwp_ring_used(block), 0));
}

Test(lwp_h, a_ring_is_read_in_order_and_around_its_end) /* 43724-601 */
{
	struct lwp_block *block = make_block();

	/* The last two places and the first: 30, 31, 0. */
	block->tail_offset = 30 * 32;
	block->head_offset = 1 * 32;
	cr_expect(eq(u32, lwp_ring_used(block), 3 * 32));
	cr_expect(lwp_ring_peek(block) == &ring[30]);
	lwp_ring_pop(block);
	cr_expect(lwp_ring_peek(block) == &ring[31]);
	lwp_ring_pop(block);
	cr_expect(eq(u32, block->tail_offset, 0));
	cr_expect(lwp_ring_peek(block) == &ring[0]);
	lwp_ring_pop(block);
	cr_expect(lwp_ring_peek(block) == NULL);
}
