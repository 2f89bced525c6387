// SPDX-License-Identifier: GPL-2.0-or-later
/* The engine's set-up and reset, states from outside, and the two MSRs. */
#include "lwp_internal.h"

_Static_assert(LWP_BLOCK_BYTES_MAX == 248 + LWP_MAX_EVENT_ID * LWP_CB_SLOT_SIZE,
	       "the largest LwpEventOffset is the largest multiple of 8 in 8 bits");

void lwp_engine_init(struct lwp_engine *e, const struct lwp_caps *caps, bool auto_context,
		     enum lwp_delivery delivery, const struct lwp_vcpu_ops *ops, void *vcpu)
{
	memset(e, 0, sizeof(*e));
	e->rev = lwp_rev_get(caps->rev);
	e->caps = *caps;
	e->ops = ops;
	e->vcpu = vcpu;
	e->delivery = delivery;
	e->auto_context = auto_context;
	lwp_engine_reset(e, auto_context, 0);
}

void lwp_engine_off(struct lwp_engine *e)
{
	lwp_state_off(&e->st);
	e->ip_valid = true;
	e->base_ip = 0;
	e->limit_ip = 0;
	e->load_faulted = false;
	e->load_rip = 0;
	memset(&e->late, 0, sizeof(e->late));
	e->last_hash = 0;
	e->last_offset = 0;
	e->last_stored = false;
	memset(e->constant, 0, sizeof(e->constant));
}

void lwp_engine_reset(struct lwp_engine *e, bool preset, u32 apic_id)
{
	lwp_engine_off(e);
	e->st.cfg = lwp_cfg_reset(&e->caps, preset, apic_id);
}

void lwp_engine_load(struct lwp_engine *e, const struct lwp_state *st)
{
	struct lwp_state copy = *st;

	lwp_engine_off(e);
	e->st = copy;
	/* BaseIP and LimitIP are not part of the state: read them again before anything counts. */
	e->ip_valid = !lwp_ip_filtered(e);
}

/*
 * Bits that are cleared stop their events at once, because every use of the flags is masked with
 * the available features. Without any, LWP is suspended: nothing counts and no memory is
 * touched. The state stays until LWP_CBADDR := 0; if the bits are set again, LWP continues with it
 * (43724-202).
 */
bool lwp_engine_write_cfg(struct lwp_engine *e, u64 value)
{
	return lwp_cfg_write(&e->caps, value, &e->st.cfg);
}

/*
 * Spec 2.2: WRMSR 0 stops LWP immediately, internal state discarded, nothing flushed (43724-211,
 * 43724-212).
 */
bool lwp_engine_write_cbaddr(struct lwp_engine *e, u64 value)
{
	if (!lwp_cbaddr_write_ok(value))
		return false;
	lwp_engine_off(e);
	return true;
}

void lwp_engine_defer(struct lwp_engine *e, u64 linear)
{
	lwp_engine_off(e);
	e->st.cb_addr = linear;
}

bool lwp_access_done(struct lwp_engine *e, enum lwp_mem_result result, struct lwp_exc *exc)
{
	switch (result) {
	case LWP_MEM_OK:
		return true;
	case LWP_MEM_FAULT:
		e->stats.faults++;
		exc->kind = LWP_EXC_PF;
		return false;
	case LWP_MEM_AGAIN:
		exc->kind = LWP_EXC_AGAIN;
		return false;
	case LWP_MEM_NOT_RAM:
		break;
	}
	e->stats.turned_off++;
	lwp_engine_off(e);
	return false;
}
