/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AMD's instruction-based sampling: registers and their bits, and its entry of the APIC's extended local vector table. */
#ifndef FLAT_IBS_H
#define FLAT_IBS_H

#define MSR_FETCH_CTL 0xc0011030u
#define MSR_FETCH_LIN 0xc0011031u
#define MSR_FETCH_PHYS 0xc0011032u
#define MSR_OP_CTL 0xc0011033u
#define MSR_OP_RIP 0xc0011034u
#define MSR_OP_DATA 0xc0011035u
#define MSR_OP_DATA2 0xc0011036u
#define MSR_OP_DATA3 0xc0011037u
#define MSR_DC_LIN 0xc0011038u
#define MSR_DC_PHYS 0xc0011039u
#define MSR_IBS_CTL 0xc001103au
#define MSR_BR_TARGET 0xc001103bu

/* IBS_OP_CTL */
#define OP_EN (1ul << 17)
#define OP_VAL (1ul << 18)
#define OP_OPS (1ul << 19)
#define OP_MAX_EXT(n) ((u64)(n) << 20) /* bits 26:20 of the maximum */
#define OP_COUNT(n) ((u64)(n) << 32)
#define MAX 16u /* IbsOpMaxCnt 1 */

/* IBS_FETCH_CTL */
#define FETCH_EN (1ul << 48)
#define FETCH_VAL (1ul << 49)
#define FETCH_COMPLETE (1ul << 50)
#define FETCH_PHYSICAL (1ul << 52)
#define FETCH_RANDOM (1ul << 57)
#define FETCH_COUNT(n) ((u64)(n) << 16)

/* IBS_OP_DATA */
#define LATENCY (1ul << 16) /* tag to retire */
#define RETURN (1ul << 34)
#define TAKEN (1ul << 35)
#define BRANCH (1ul << 37)

/* IBS_OP_DATA2 */
#define FROM_CACHE 2u
#define FROM_RAM 3u

/* IBS_OP_DATA3 */
#define LOAD 1ul
#define STORE 2ul
#define MISS (1ul << 7)
#define MISALIGNED (1ul << 8)
#define LOCKED (1ul << 15)
#define LINEAR (1ul << 17)
#define PHYSICAL (1ul << 18)
#define L2_MISS (1ul << 20)
#define BYTES_4 (3ul << 22)
#define BYTES_8 (4ul << 22)
#define MISS_LATENCY(n) ((u64)(n) << 32)

#define APIC_EXT_LVT(n) (0x500u + 0x10 * (n))
#define IBS_LVT 1u

#endif
