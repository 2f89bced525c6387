/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guest memory of tests and fuzzers: MEM_PAGES pages from MEM_BASE on, with permissions. CHECK() ends the run; an
 * access to what was not mapped, or not for writing, ends it.
 */
#ifndef GUEST_PAGES_H
#define GUEST_PAGES_H

#include "lwp_engine.h"

#define PAGE 0x1000u

/* Permissions of a page */
#define P_READ 1 /* present, user */
#define P_WRITE 2
#define P_ROM 4 /* not RAM */

/* span.page[]: the page's number, and whether it may be written */
#define SPAN_WRITE ((u64)1 << 60)

static inline u8 page_permission(const u8 perm[MEM_PAGES], u64 gva)
{
	return gva < MEM_BASE || gva >= MEM_BASE + MEM_PAGES * PAGE ? 0 :
								      perm[(gva - MEM_BASE) / PAGE];
}

static inline enum lwp_mem_result pages_map(const u8 perm[MEM_PAGES], struct lwp_span *span,
					    bool write, struct lwp_fault *fault)
{
	u64 first = span->gva / PAGE, last = (span->gva + span->len - 1) / PAGE, page;

	CHECK(span->len >= 1 && span->len <= LWP_CB_MAX_SIZE && first <= last);
	for (page = first; page <= last; page++) {
		u8 have = page_permission(perm, page * PAGE);

		if (have & P_READ && (!write || have & P_WRITE))
			continue;
		fault->addr = page == first ? span->gva : page * PAGE;
		fault->error_code = 4u | (write ? 2u : 0) | (have & P_READ ? 1u : 0);
		return LWP_MEM_FAULT;
	}
	for (page = first; page <= last; page++) {
		if (page_permission(perm, page * PAGE) & P_ROM)
			return LWP_MEM_NOT_RAM;
		span->page[page - first] = page | (write ? SPAN_WRITE : 0);
	}
	return LWP_MEM_OK;
}

/* Where the bytes of a span are in `mem`. */
static inline u8 *pages_mapped(u8 *mem, const struct lwp_span *span, u32 offset, u32 len,
			       bool write)
{
	u64 gva = span->gva + offset;

	CHECK(len && offset + len <= span->len);
	for (u32 i = 0; i < len; i++) {
		u64 found = span->page[(gva + i) / PAGE - span->gva / PAGE];

		CHECK((found & ~SPAN_WRITE) == (gva + i) / PAGE && (!write || found & SPAN_WRITE));
	}
	return mem + (gva - MEM_BASE);
}

#endif
