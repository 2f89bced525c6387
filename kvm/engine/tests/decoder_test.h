/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the tests of the two decoders: Criterion, bytes written as literals, and a virtual CPU whose
 * registers, segment bases and memory are easy to compute with.
 */
#ifndef DECODER_TEST_H
#define DECODER_TEST_H

#include "lwp_insn.h"
#include "lwp_xop.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdlib.h>

/* A literal and its size, as two arguments. */
#define BYTES(...) (const u8[]){ __VA_ARGS__ }, sizeof((const u8[]){ __VA_ARGS__ })

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const enum lwp_code_bits all_modes[] = { LWP_CODE16, LWP_CODE32, LWP_CODE64 };

/* One instruction of a table. */
struct code {
	u8 byte[20];
	u8 count;
};

#define CODE(...)                                              \
	{                                                      \
		{ __VA_ARGS__ }, sizeof((u8[]){ __VA_ARGS__ }) \
	}

/* What was decoded last: a field that the decoder does not set is all ones. */
static struct lwp_xop x;
static struct lwp_insn insn;

/* The decoders read from a buffer of exactly this size, so that a sanitizer sees a byte too many. */
#define DECODES(name, decode, found)                                                               \
	static inline enum lwp_decode name(enum lwp_code_bits bits, const u8 *bytes, size_t count) \
	{                                                                                          \
		u8 *copy = malloc(count + !count);                                                 \
		enum lwp_decode result;                                                            \
                                                                                                   \
		memcpy(copy, bytes, count);                                                        \
		memset(&(found), 0xff, sizeof(found));                                             \
		result = decode(copy, (unsigned int)count, bits, &(found));                        \
		free(copy);                                                                        \
		return result;                                                                     \
	}
DECODES(xop_of, lwp_xop_decode, x)
DECODES(insn_of, lwp_insn_decode, insn)

/* A CPU: register n holds 1111111111111111h * n, segment n is based at (n + 1) << 20. */
struct cpu {
	u64 gpr[16];
	struct lwp_ea last; /* of the last read */
	unsigned int size; /* of the last read, 0 = none yet */
	int error; /* what reads return */
	u8 memory[8]; /* what they give, at any address */
	struct lwp_access access;
};

static inline u64 cpu_gpr(void *ctx, unsigned int reg)
{
	const struct cpu *cpu = ctx;

	return cpu->gpr[reg];
}

static inline u64 cpu_seg_base(void *ctx, unsigned int seg)
{
	return (u64)(seg + 1) << 20;
}

static inline int cpu_read(void *ctx, const struct lwp_ea *ea, void *buf, unsigned int size)
{
	struct cpu *cpu = ctx;

	cpu->last = *ea;
	cpu->size = size;
	memcpy(buf, cpu->memory, size);
	return cpu->error;
}

static inline void cpu_init(struct cpu *cpu, u8 stack_bits)
{
	*cpu = (struct cpu){ .memory = { 0xf8, 0xe7, 0xd6, 0xc5, 0xb4, 0xa3, 0x92, 0x81 } };
	for (unsigned int i = 0; i < 16; i++)
		cpu->gpr[i] = 0x1111111111111111ull * i;
	cpu->access = (struct lwp_access){ cpu, cpu_gpr, cpu_seg_base, cpu_read, stack_bits };
}

#endif
