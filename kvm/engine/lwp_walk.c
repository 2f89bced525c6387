// SPDX-License-Identifier: GPL-2.0-or-later
/* See lwp_walk.h. */
#include "lwp_walk.h"

#define PTE_P ((u64)1 << 0)
#define PTE_U ((u64)1 << 2)
#define PTE_PS ((u64)1 << 7)
#define PTE_PAT_LARGE ((u64)1 << 12)
#define PTE_ADDRESS 0x000ffffffffff000ull
#define PDPE_PAE_RESERVED 0x1e6ull /* of legacy PAE: bits 8:5 and 2:1 */
/* Large pages of 2 levels: bits 20:13 are address bits 39:32. */
#define PDE32_HIGH_SHIFT 13
#define PDE32_HIGH_MASK 0xff
#define PDE32_BASE 0xffc00000ull
#define PDE32_RESERVED ((u64)1 << 21)

#define PAGE_BITS 12
/*
 * Guests keep the place of what is swapped out in entries of the last two levels: of a page and of
 * a large page. Higher up, bytes that are no entry say that the table is used for something else.
 */
#define LAST_SWAPPED 1

/* The tables of a paging mode, from the last level (0) to the first one. */
struct tables {
	u8 levels;
	u8 index_bits; /* of a table's index */
	u8 top_bits; /* of the first level's index */
	u8 entry_size;
	u8 linear_bits; /* width of linear addresses; they are sign-extended above */
	u8 large; /* highest level that may map a page itself */
};

static const struct tables modes[] = {
	[LWP_PAGING_LONG] = { 4, 9, 9, 8, 48, 2 },
	[LWP_PAGING_LONG5] = { 5, 9, 9, 8, 57, 2 },
	[LWP_PAGING_PAE] = { 3, 9, 2, 8, 32, 1 },
	[LWP_PAGING_LEGACY] = { 2, 10, 10, 4, 32, 1 },
};

static enum lwp_walk_result failed(enum lwp_phys_result result)
{
	return result == LWP_PHYS_AWAY ? LWP_WALK_AWAY : LWP_WALK_NONE;
}

/* Is the address one that this mode can translate? */
static bool reachable(const struct tables *m, u64 linear)
{
	u64 high = linear >> (m->linear_bits - 1);

	if (m->linear_bits == 32)
		return !(linear >> 32);
	return !high || high == ~(u64)0 >> (m->linear_bits - 1);
}

/* Physical address bits that a guest of this width does not have. */
static u64 reserved_address(const struct lwp_phys *phys)
{
	return PTE_ADDRESS & ~(((u64)1 << phys->bits) - 1);
}

/* The page that an entry above the last level maps itself: *base. False: a reserved bit is set. */
static bool large_page(const struct lwp_phys *phys, const struct tables *m, u64 pte, u32 shift,
		       u64 *base)
{
	if (m->entry_size == 4) {
		*base = (pte & PDE32_BASE) | (pte >> PDE32_HIGH_SHIFT & PDE32_HIGH_MASK) << 32;
		return !(pte & PDE32_RESERVED) && !(*base >> phys->bits);
	}
	*base = pte & PTE_ADDRESS & ~(((u64)1 << shift) - 1);
	return !(pte & (((u64)1 << shift) - 1) & PTE_ADDRESS & ~PTE_PAT_LARGE);
}

/* May an entry of level `level` look like this? Bit 63 (NX) is not looked at. */
static bool valid(const struct lwp_phys *phys, const struct tables *m, u32 level, u64 pte)
{
	if (m->entry_size == 8 && pte & reserved_address(phys))
		return false;
	/* The four entries that legacy PAE begins with have no rights and no large pages. */
	if (m->top_bits != m->index_bits && level == m->levels - 1u)
		return !(pte & PDPE_PAE_RESERVED);
	return pte & PTE_U && !(level > m->large && pte & PTE_PS);
}

enum lwp_walk_result lwp_walk(const struct lwp_phys *phys, enum lwp_paging paging, u64 cr3,
			      u64 linear, u64 *gpa)
{
	const struct tables *m;
	u64 table = cr3, pte;
	u32 level, shift = 0, index;
	u8 bytes[8] = { 0 };

	*gpa = linear;
	if (paging >= LWP_PAGING_OFF)
		return linear >> 32 ? LWP_WALK_NONE : LWP_WALK_OK;
	m = &modes[paging];
	if (!reachable(m, linear))
		return LWP_WALK_NONE;
	for (level = m->levels; level--;) {
		enum lwp_phys_result result;

		shift = PAGE_BITS + level * m->index_bits;
		index = (u32)(linear >> shift) &
			(((u32)1 << (level == m->levels - 1u ? m->top_bits : m->index_bits)) - 1);
		result = phys->read(phys->ctx, table + (u64)index * m->entry_size, bytes,
				    m->entry_size);
		if (result != LWP_PHYS_OK)
			return failed(result);
		pte = lwp_get64(bytes);
		if (!(pte & PTE_P))
			return pte && level <= LAST_SWAPPED ? LWP_WALK_AWAY : LWP_WALK_NONE;
		if (!valid(phys, m, level, pte))
			return LWP_WALK_NONE;
		if (level && level <= m->large && pte & PTE_PS) {
			if (!large_page(phys, m, pte, shift, &table))
				return LWP_WALK_NONE;
			break;
		}
		table = pte & PTE_ADDRESS;
		if (!level)
			break;
	}
	*gpa = table | (linear & (((u64)1 << shift) - 1));
	return LWP_WALK_OK;
}
