/* SPDX-License-Identifier: MIT */
/*
 * LWP for programs that profile themselves: the control block, the event records, the four instructions and a ring
 * reader, for 64-bit and 32-bit x86. Self-contained; needs GCC or clang, but neither -mlwp nor an assembler that knows
 * LWP. This is revision 43724, which processors, compilers and hypervisors speak.
 *
 * In short: ask lwp_query(), fill a struct lwp_block (lwp_block_init(), lwp_block_event()), start with
 * lwp_llwpcb(block), read records with lwp_ring_peek() and lwp_ring_pop(), stop with lwp_llwpcb(NULL).
 * examples/selfprofile.c does all of it. LWP belongs to the thread that executes LLWPCB, and must be stopped before
 * that thread ends and before its block or ring are freed: until then the processor writes there, whoever has the
 * memory. liblwp (liblwp.h) sees to that by itself.
 */
#ifndef VLWP_LWP_H
#define VLWP_LWP_H

#include <cpuid.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* EventIds. 1..6 have an interval and a counter; 255 comes from LWPINS and needs neither. */
enum lwp_event_id {
	LWP_EVENT_VALUE = 1, /* LWPVAL, every interval + 1 executions */
	LWP_EVENT_INSTRUCTION = 2, /* instructions retired */
	LWP_EVENT_BRANCH = 3, /* branches retired */
	LWP_EVENT_DCACHE_MISS = 4, /* data cache misses */
	LWP_EVENT_CLOCK = 5, /* CPU clocks not halted */
	LWP_EVENT_REF_CLOCK = 6, /* CPU reference clocks not halted */
	LWP_EVENT_INSERTED = 255, /* LWPINS */
};

/* Bit n of the block's Flags enables EventId n, 1..6. */
#define LWP_ENABLE(event_id) (1u << (event_id))
#define LWP_ENABLE_CONTINUOUS (1u << 29) /* a full ring overwrites its oldest record */
#define LWP_ENABLE_TIMESTAMP (1u << 30) /* records carry the performance time stamp */
#define LWP_ENABLE_INTERRUPT (1u << 31) /* threshold interrupt */

/* Intervals and counters are 26 bits, signed: 0..LWP_INTERVAL_MAX can be asked for. */
#define LWP_INTERVAL_MAX 0x01ffffff
/* BufferSize has 28 bits. */
#define LWP_RING_MAX 0x0fffffe0u
#define LWP_RANDOM_MAX 15
/* The largest block that CPUID can describe. */
#define LWP_BLOCK_MAX 2040

/* What the processor and the system offer to this program. */
struct lwp_features {
	uint32_t available; /* EAX: bit 0 LWP is usable, others as in Flags */
	uint32_t block_size; /* bytes of a control block */
	uint32_t event_offset; /* bytes from the block's start to the events' slots */
	uint32_t max_event; /* highest EventId that has a slot */
	uint32_t ring_min; /* bytes of the smallest ring */
	uint32_t version;
};

/* The control block as 43724 lays it out. Event slots lie at features.event_offset. */
struct lwp_block {
	uint32_t flags; /* requested; LLWPCB writes back the granted ones */
	uint32_t size_random; /* BufferSize 27:0 in bytes, Random 31:28 */
	uint64_t buffer_base;
	uint32_t head_offset; /* written by LWP */
	uint32_t reserved0;
	/* Written by LWP; read at once in 32-bit code too. */
	__attribute__((aligned(8))) uint64_t missed_events;
	uint32_t threshold;
	uint32_t filters;
	uint64_t base_ip;
	uint64_t limit_ip;
	uint64_t reserved1;
	uint32_t tail_offset; /* written by the program */
	uint32_t reserved2;
	uint64_t software[2]; /* the program's own */
};

struct lwp_event_slot {
	uint32_t interval; /* a record every interval + 1 events */
	uint32_t counter; /* events to go; flushed by LLWPCB and SLWPCB */
};

/* One event record. */
struct lwp_event {
	uint8_t event_id;
	uint8_t core_id;
	uint16_t flags; /* LWPVAL, LWPINS: low half of the immediate; else see LWP_EVENT_* */
	uint32_t data1; /* LWPVAL, LWPINS: the 32-bit operand */
	uint64_t address; /* of the instruction */
	uint64_t data2; /* LWPVAL, LWPINS: the register; branch: target; cache miss: data address */
	uint64_t timestamp; /* 0 unless LWP_ENABLE_TIMESTAMP was granted */
};

#define LWP_EVENT_TAKEN 0x8000 /* branch was taken */
#define LWP_EVENT_PREDICTED 0x4000 /* branch was predicted correctly, if ... */
#define LWP_EVENT_PREDICTION_VALID 0x2000 /* ... this is set */
#define LWP_EVENT_FUSED 0x1000 /* branch was fused with the instruction before */
#define LWP_EVENT_DATA_ADDRESS_VALID 0x1000 /* cache miss: data2 is an address */

#ifdef __cplusplus
#define LWP_STATIC_ASSERT_ static_assert
#else
#define LWP_STATIC_ASSERT_ _Static_assert
#endif
LWP_STATIC_ASSERT_(sizeof(struct lwp_block) == 88, "LWPCB, fixed part");
LWP_STATIC_ASSERT_(offsetof(struct lwp_block, tail_offset) == 64, "BufferTailOffset");
LWP_STATIC_ASSERT_(sizeof(struct lwp_event) == 32, "event record");

/*
 * Ask CPUID. Returns false, and *features all zero, if this program cannot use LWP now (no LWP in the
 * processor, or the system has not enabled it); the four instructions raise #UD then.
 */
static inline bool lwp_query(struct lwp_features *features)
{
	uint32_t eax, ebx, ecx, edx;

	memset(features, 0, sizeof(*features));
	if ((unsigned int)__get_cpuid_max(0x80000000u, NULL) < 0x8000001cu)
		return false;
	__cpuid(0x80000001u, eax, ebx, ecx, edx);
	if (!(ecx & (1u << 15)))
		return false;
	__cpuid_count(0x8000001cu, 0, eax, ebx, ecx, edx);
	if (!(eax & 1))
		return false;
	features->available = eax;
	features->block_size = (ebx & 0xff) * 8;
	features->max_event = (ebx >> 16) & 0xff;
	features->event_offset = ebx >> 24;
	features->ring_min = ((ecx >> 16) & 0xff) * 32 * (uint32_t)sizeof(struct lwp_event);
	features->version = (ecx >> 9) & 0x7f;
	return true;
}

/* LLWPCB: start with a block, switch to it, or stop (NULL). What was pending is flushed first. */
static inline void lwp_llwpcb(struct lwp_block *block)
{
#ifdef __x86_64__
	__asm__ volatile(".byte 0x8f, 0xe9, 0xf8, 0x12, 0xc0" : : "a"(block) : "memory");
#else
	__asm__ volatile(".byte 0x8f, 0xe9, 0x78, 0x12, 0xc0" : : "a"(block) : "memory");
#endif
}

/* SLWPCB: flush counters and a pending record; the running block, NULL if LWP is off. */
static inline struct lwp_block *lwp_slwpcb(void)
{
	struct lwp_block *block;

#ifdef __x86_64__
	__asm__ volatile(".byte 0x8f, 0xe9, 0xf8, 0x12, 0xc8" : "=a"(block) : : "memory");
#else
	__asm__ volatile(".byte 0x8f, 0xe9, 0x78, 0x12, 0xc8" : "=a"(block) : : "memory");
#endif
	return block;
}

/*
 * LWPINS and LWPVAL. data2: register operand (64 bits in 64-bit code, else 32); data1: 32 bits;
 * immediate: a constant whose low 16 bits become the record's flags.
 */
#ifdef __x86_64__
#define LWP_INS_BYTES_ ".byte 0x8f, 0xea, 0xf8, 0x12, 0xc1\n\t"
#define LWP_VAL_BYTES_ ".byte 0x8f, 0xea, 0xf8, 0x12, 0xc9\n\t"
#else
#define LWP_INS_BYTES_ ".byte 0x8f, 0xea, 0x78, 0x12, 0xc1\n\t"
#define LWP_VAL_BYTES_ ".byte 0x8f, 0xea, 0x78, 0x12, 0xc9\n\t"
#endif

/* LWPINS: put a record into the ring. True if the ring was full and the newest slot was overwritten. */
#define lwp_lwpins(data2, data1, immediate)                                     \
	__extension__({                                                         \
		bool lwp_full_;                                                 \
		__asm__ volatile(LWP_INS_BYTES_ ".long %c[imm]"                 \
				 : "=@ccc"(lwp_full_)                           \
				 : "a"((uintptr_t)(data2)),                     \
				   "c"((uint32_t)(data1)), [imm] "i"(immediate) \
				 : "memory");                                   \
		lwp_full_;                                                      \
	})

/* LWPVAL: count one value sample; every interval + 1 of them puts a record into the ring. */
#define lwp_lwpval(data2, data1, immediate)                                                      \
	__asm__ volatile(LWP_VAL_BYTES_ ".long %c[imm]"                                          \
			 :                                                                       \
			 : "a"((uintptr_t)(data2)), "c"((uint32_t)(data1)), [imm] "i"(immediate) \
			 : "memory")

/*
 * Prepare a block: features->block_size bytes at `block` (64-byte aligned, not crossing a page: as
 * recommended, not checked by LWP), a ring of `size` bytes (features->ring_min..LWP_RING_MAX, a
 * multiple of 32), `random` low bits of each reload drawn at random (0..15). No event is enabled yet.
 */
static inline void lwp_block_init(struct lwp_block *block, const struct lwp_features *features,
				  void *ring, uint32_t size, unsigned int random)
{
	memset(block, 0, features->block_size);
	block->size_random = size | (uint32_t)random << 28;
	block->buffer_base = (uintptr_t)ring;
}

/* The slot of an event, 1..features->max_event. */
static inline struct lwp_event_slot *
lwp_block_slot(struct lwp_block *block, const struct lwp_features *features, unsigned int event_id)
{
	unsigned char *slots = (unsigned char *)block + features->event_offset;

	return (struct lwp_event_slot *)(void *)slots + (event_id - 1);
}

/* Enable an event: the first record after `first` + 1 events, then one every `interval` + 1. */
static inline void lwp_block_event(struct lwp_block *block, const struct lwp_features *features,
				   unsigned int event_id, uint32_t interval, uint32_t first)
{
	struct lwp_event_slot *slot = lwp_block_slot(block, features, event_id);

	slot->interval = interval;
	slot->counter = first;
	block->flags |= LWP_ENABLE(event_id);
}

/* Bytes of the ring. */
static inline uint32_t lwp_ring_size(const struct lwp_block *block)
{
	return block->size_random & 0x0fffffff;
}

/* Bytes that wait in the ring. */
static inline uint32_t lwp_ring_used(const struct lwp_block *block)
{
	uint32_t head = __atomic_load_n(&block->head_offset, __ATOMIC_ACQUIRE);
	uint32_t tail = block->tail_offset;

	return head >= tail ? head - tail : head + lwp_ring_size(block) - tail;
}

/* The oldest record, or NULL if the ring is empty. It stays valid until lwp_ring_pop(). */
static inline const struct lwp_event *lwp_ring_peek(const struct lwp_block *block)
{
	const unsigned char *ring = (const unsigned char *)(uintptr_t)block->buffer_base;

	if (lwp_ring_used(block) == 0)
		return NULL;
	return (const struct lwp_event *)(const void *)(ring + block->tail_offset);
}

/* Give the oldest record's place back to LWP. */
static inline void lwp_ring_pop(struct lwp_block *block)
{
	uint32_t tail = block->tail_offset + (uint32_t)sizeof(struct lwp_event);

	if (tail >= lwp_ring_size(block))
		tail = 0;
	__atomic_store_n(&block->tail_offset, tail, __ATOMIC_RELEASE);
}

#endif
