// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Memory, permissions and invariants of the fuzzed guest.
 */
#include "fuzz_guest.h"
#include "state_ok.h"

#define SPAN_WRITE ((u64)1 << 60)

struct range {
	u64 from, len;
};

u8 mem[MEM_SIZE];
u8 perm[MEM_PAGES];
u64 current_rip;
u64 overshoots_told;
static struct range
	allowed[4]; /* block, ring, new block, and the next state's ring (deferred load) */

void guest_reset(void)
{
	memset(mem, 0, sizeof(mem));
	memset(perm, P_READ | P_WRITE, sizeof(perm));
	memset(allowed, 0, sizeof(allowed));
	overshoots_told = 0;
}

static u8 permission(u64 page)
{
	u64 first = MEM_BASE / PAGE;

	return page >= first && page < first + MEM_PAGES ? perm[page - first] : 0;
}

static bool within(const struct range *r, u64 gva, u32 len)
{
	return r->len && gva >= r->from && gva - r->from + len <= r->len;
}

static bool is_allowed(u64 gva, u32 len)
{
	u32 i;

	for (i = 0; i < 4; i++)
		if (within(&allowed[i], gva, len))
			return true;
	return false;
}

void allow_writes(const struct lwp_engine *e, u64 block)
{
	memset(allowed, 0, sizeof(allowed));
	if (lwp_engine_on(e)) {
		allowed[0] = (struct range){ e->st.cb_addr, e->caps.cb_size };
		allowed[1] = (struct range){ e->st.base, e->st.size };
	}
	if (block)
		allowed[2] = (struct range){ block, e->caps.cb_size };
	/* A deferred block names the ring that the next record goes to. */
	if (lwp_state_deferred(&e->st) && e->st.cb_addr >= MEM_BASE &&
	    e->st.cb_addr + 16 <= MEM_BASE + MEM_SIZE) {
		const u8 *image = mem + (e->st.cb_addr - MEM_BASE);

		allowed[3].from = lwp_get64(image + LWP_CB_BASE) & ~(u64)e->rev->ring_base_ignored;
		allowed[3].len = lwp_get32(image + LWP_CB_SIZE_RANDOM) & LWP_CB_BUFFER_SIZE;
	}
}

static enum lwp_mem_result map(void *vcpu, struct lwp_span *span, bool write,
			       struct lwp_fault *fault)
{
	u64 first = span->gva / PAGE, last = (span->gva + span->len - 1) / PAGE;
	u64 page;

	CHECK(span->len >= 1 && span->len <= LWP_CB_MAX_SIZE);
	CHECK(span->gva + span->len - 1 >= span->gva);
	for (page = first; page <= last; page++) {
		u8 have = permission(page);

		if (have & P_READ && (!write || have & P_WRITE))
			continue;
		fault->addr = page == first ? span->gva : page * PAGE;
		fault->error_code = 4u | (write ? 2u : 0) | (have & P_READ ? 1u : 0);
		return LWP_MEM_FAULT;
	}
	for (page = first; page <= last; page++) {
		if (permission(page) & P_ROM)
			return LWP_MEM_NOT_RAM;
		span->page[page - first] = page | (write ? SPAN_WRITE : 0);
	}
	return LWP_MEM_OK;
}

static u8 *mapped(const struct lwp_span *span, u32 offset, u32 len, bool write)
{
	u64 gva = span->gva + offset;
	u32 i;

	CHECK(len && offset + len <= span->len);
	for (i = 0; i < len; i++) {
		u64 found = span->page[(gva + i) / PAGE - span->gva / PAGE];

		CHECK((found & ~SPAN_WRITE) == (gva + i) / PAGE);
		CHECK(!write || found & SPAN_WRITE);
	}
	return mem + (gva - MEM_BASE);
}

static enum lwp_mem_result read_span(void *vcpu, const struct lwp_span *span, u32 offset, void *to,
				     u32 len)
{
	memcpy(to, mapped(span, offset, len, false), len);
	return LWP_MEM_OK;
}

static enum lwp_mem_result write_span(void *vcpu, const struct lwp_span *span, u32 offset,
				      const void *from, u32 len)
{
	CHECK(is_allowed(span->gva + offset, len));
	memcpy(mapped(span, offset, len, true), from, len);
	return LWP_MEM_OK;
}

static void interrupt(void *vcpu, u8 vector)
{
	const struct lwp_engine *e = vcpu;

	CHECK(lwp_engine_avail(e) & e->st.flags & LWP_F_INT);
	CHECK(vector == lwp_cfg_vector(e->st.cfg));
}

static u64 timestamp(void *vcpu)
{
	return current_rip;
}

/* Called after the statistic has counted it. */
static void overshoot(void *vcpu, enum lwp_kind kind, u64 address, u64 by)
{
	struct lwp_engine *e = vcpu;

	CHECK(e->delivery == LWP_DELIVERY_EXACT);
	CHECK(kind == LWP_KIND_IRE || kind == LWP_KIND_BRE);
	CHECK(lwp_event_active(e, kind));
	CHECK(!address || e->st.pending.address == address);
	overshoots_told++;
}

const struct lwp_vcpu_ops fuzz_ops = {
	.mem = { .map = map, .read = read_span, .write = write_span },
	.interrupt = interrupt,
	.timestamp = timestamp,
	.overshoot = overshoot,
};

void check_exception(const struct lwp_exc *exc, bool may_gp, bool may_ud)
{
	u8 have = permission(exc->fault.addr / PAGE);

	switch (exc->kind) {
	case LWP_EXC_NONE:
		break;
	case LWP_EXC_UD:
		CHECK(may_ud);
		break;
	case LWP_EXC_GP:
		CHECK(may_gp);
		break;
	case LWP_EXC_PF:
		CHECK(is_allowed(exc->fault.addr, 1));
		CHECK(!(have & P_READ) || !(have & P_WRITE));
		CHECK(exc->fault.error_code & 4u);
		break;
	}
}

void check_engine(const struct lwp_engine *e)
{
	u32 kind;

	CHECK(state_ok(&e->caps, &e->st));
	for (kind = 0; kind < LWP_KINDS; kind++)
		CHECK(lwp_budget(e, (enum lwp_kind)kind) >= 1);
	if (!lwp_engine_on(e) || lwp_state_deferred(&e->st))
		CHECK(!e->late.branches && !e->late.owed && !e->late.behind);
	else
		CHECK((!e->last_hash && !e->last_stored) ||
		      (e->last_offset < e->st.size && e->last_offset % LWP_RECORD_SIZE == 0));
	if (e->delivery != LWP_DELIVERY_EXACT)
		CHECK(!e->late.owed && !e->late.behind && !e->stats.overshoots);
}
