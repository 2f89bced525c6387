/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few things on which vmcb/ and kvm/engine/ stand: fixed-width types, little-endian access,
 * a write barrier, words that are read without a lock. The same source compiles in the Linux
 * kernel, in QEMU and in user space.
 */
#ifndef LWP_TYPES_H
#define LWP_TYPES_H

#ifdef __KERNEL__
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/stddef.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>
/* A record before the head that shows it: the program may read the ring on another CPU. */
#define lwp_wmb() smp_wmb()
#define lwp_read_once(word) READ_ONCE(word)
#define lwp_write_once(word, value) WRITE_ONCE(word, value)
/* -ftrivial-auto-var-init leaves the variable alone: it is big, and written before it is read. */
#define lwp_uninitialized __uninitialized
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#define lwp_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define lwp_read_once(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define lwp_write_once(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)
#if __has_attribute(uninitialized)
#define lwp_uninitialized __attribute__((uninitialized))
#else
#define lwp_uninitialized
#endif
#endif

#define LWP_BIT(n) ((u32)1 << (n))
/* Bits hi..lo of a 32-bit word, as a mask. */
#define LWP_MASK(hi, lo) ((((u32)2 << ((hi) - (lo))) - 1) << (lo))

/* Value of the field that a contiguous, non-zero mask names. */
static inline u32 lwp_field_get(u32 mask, u32 word)
{
	return (word & mask) / (mask & -mask);
}

/* A value put into the field that a contiguous, non-zero mask names; excess bits are dropped. */
static inline u32 lwp_field_put(u32 mask, u32 value)
{
	return (value * (mask & -mask)) & mask;
}

static inline u16 lwp_get16(const void *p)
{
	const u8 *b = p;

	return (u16)(b[0] | b[1] << 8);
}

static inline u32 lwp_get32(const void *p)
{
	return lwp_get16(p) | (u32)lwp_get16((const u8 *)p + 2) << 16;
}

static inline u64 lwp_get64(const void *p)
{
	return lwp_get32(p) | (u64)lwp_get32((const u8 *)p + 4) << 32;
}

static inline void lwp_put16(void *p, u16 v)
{
	u8 *b = p;

	b[0] = (u8)v;
	b[1] = (u8)(v >> 8);
}

static inline void lwp_put32(void *p, u32 v)
{
	lwp_put16(p, (u16)v);
	lwp_put16((u8 *)p + 2, (u16)(v >> 16));
}

/* By bytes, GCC would make vectors of two words out of parts on the stack. */
static inline void lwp_put64(void *p, u64 v)
{
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		v = __builtin_bswap64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
