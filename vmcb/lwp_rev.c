// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The descriptors of the two revisions, and every choice that this project makes where no source
 * settles what LWP does. To correct one, change it here (bit positions: where it says).
 *
 *  1. Filters (lwp_cb.h, 43724-417): 25 NMB, 26 NPB, 27 NRB, 28 NCB, 29 NAB, 30 IPI, 31 IPF. Only
 *     27..29 as a set, and 28 alone, are known from programs; names 27/29 and the order of 30/31
 *     are not. Pinned below.
 *  2. Near JMP rel and CALL rel are relative (NRB); RET and indirect JMP and CALL are absolute
 *     (NAB), 43724-723. The decoder carries it out (enum lwp_branch_class).
 *  3. cb_alignment: 43724 recommends 64 bytes and no #GP for less is known, so none is raised
 *     (43724-416). 2007 requires 16 bytes without naming the exception: #GP(0) (2007-611).
 *  4. threshold_equals: 43724 interrupts while used >= Threshold, so 0 means after every record
 *     (programs for silicon rely on it), 43724-808. 2007 says == and that 0 means never (2007-803).
 *  5. off_without_events: in 43724 LWP stays on when no event is left after masking, because LWPINS
 *     has no event bit (43724-618). 2007 says that it goes off with Flags 0 (2007-406).
 *  6. LWPCB.Flags[0] of 43724 after LLWPCB: Flags AND EAX like the other bits, so it stays as
 *     software wrote it (43724-405).
 *  7. min_interval: 0 in 43724 (known for LWPVAL, seen for branches), 1 in 2007, where 0 would make
 *     a counter that is due before anything has been counted (43724-410, 2007-716).
 *  8. ring_base_ignored, ring without a single record: 43724 rejects a ring below the leaf's
 *     minimum with #GP(0); 2007 has no minimum, and a ring that cannot hold one record leaves LWP
 *     off with Flags 0 (43724-407, 2007-409).
 *  9. cfg_ignored: as probed on an FX-8150 for 43724; 2007 says that all other bits raise #GP
 *     (43724-203, 2007-202).
 * 10. cfg_fixed: 2007 has no CoreId and no vector in LWPMSR0, though its records have a CoreId and
 *     its interrupt needs a vector: they lie where 43724 has them (2007-204).
 * 11. ring_base_linear: 2007 says that BufferBase is a linear address, so neither DS.Base nor the
 *     limit apply (2007-408).
 * 12. 2007 names long jumps among the branches. Far transfers are none in either revision
 *     (2007-708).
 *
 * How the engine counts and stores has choices of its own, beside the code that carries them out:
 * filters in kvm/engine/lwp_filter.c, the ring in lwp_store.c, pending events in lwp_count.c.
 */
#include "lwp_cb.h"

_Static_assert(LWP_FILTER_NMB == 0x02000000 && LWP_FILTER_NPB == 0x04000000 &&
		       LWP_FILTER_NRB == 0x08000000 && LWP_FILTER_NCB == 0x10000000 &&
		       LWP_FILTER_NAB == 0x20000000 && LWP_FILTER_IPI == 0x40000000 &&
		       LWP_FILTER_IPF == 0x80000000,
	       "choice 1: the filters of 43724");
_Static_assert(LWP07_FILTER_NDB == 0x80000000, "2007: NDB is bit 63 of the quadword at 32");

#define CFG_CORE_ID_AND_VECTOR 0x0000ffff00000000ull

#define FILTERS_CACHE                                                                \
	(LWP_FILTER_MIN_LATENCY | LWP_FILTER_CLF | LWP_FILTER_NBC | LWP_FILTER_RDC | \
	 LWP_FILTER_RAM | LWP_FILTER_OTH)

_Static_assert(LWP_LAST_EVENT_ID <= LWP_MAX_EVENT_ID, "the state has a counter for every event");

const struct lwp_rev lwp_revs[LWP_REVS] = {
	[LWP_REV_43724] = {
		.name = "43724",
		.id = LWP_REV_43724,
		.max_event_id = LWP_LAST_EVENT_ID,
		/* clang-format off */
		.event_id = {
#define LWP_EVENT(name, id, ...) \
			[LWP_KIND_##name] = (id),
#include "lwp_events.h"
		},
		.kind = {
#define LWP_EVENT(name, id, ...) \
			[id] = LWP_KIND_##name,
#include "lwp_events.h"
		},
		/* clang-format on */
		.cb_fixed_size = LWP_CB_FIXED_SIZE,
		.cb_tail_offset = LWP_CB_TAIL,
		.cb_alignment = 1,
		.ring_base_ignored = 0,
		.ring_base_linear = false,
		.slot_selects_event = false,
		.flags_are_input = true,
		.has_ip_filter = true,
		.filters_valid = FILTERS_CACHE | LWP_FILTER_NMB | LWP_FILTER_NPB | LWP_FILTER_NRB |
				 LWP_FILTER_NCB | LWP_FILTER_NAB | LWP_FILTER_IPI | LWP_FILTER_IPF,
		.freezes_at_zero = false,
		.min_interval = 0,
		.latency_gap = 1,
		.off_without_events = false,
		.threshold_equals = false,
		.llwpcb_returns_old = false,
		.llwpcb_deferred = false,
		.cbaddr_executes = false,
		.cfg_has_enable = false,
		.cfg_ignored = 0xffff000000000001ull,
		.cfg_fixed = CFG_CORE_ID_AND_VECTOR,
	},
	[LWP_REV_2007] = {
		.name = "2007",
		.id = LWP_REV_2007,
		.max_event_id = LWP07_LAST_EVENT_ID,
		.event_id = {
			[LWP_KIND_IRE] = 1, [LWP_KIND_BRE] = 2, [LWP_KIND_DME] = 3,
		},
		.kind = {
			[1] = LWP_KIND_IRE, [2] = LWP_KIND_BRE, [3] = LWP_KIND_DME,
		},
		.cb_fixed_size = LWP07_CB_FIXED_SIZE,
		.cb_tail_offset = LWP07_CB_TAIL,
		.cb_alignment = 16,
		.ring_base_ignored = 31,
		.ring_base_linear = true,
		.slot_selects_event = true,
		.flags_are_input = false,
		.has_ip_filter = false,
		.filters_valid = FILTERS_CACHE | LWP07_FILTER_NDB,
		.freezes_at_zero = true,
		.min_interval = 1,
		.latency_gap = 16,
		.off_without_events = true,
		.threshold_equals = true,
		.llwpcb_returns_old = true,
		.llwpcb_deferred = true,
		.cbaddr_executes = true,
		.cfg_has_enable = true,
		.cfg_ignored = 0,
		.cfg_fixed = CFG_CORE_ID_AND_VECTOR | LWP07_F_ENABLED,
	},
};

const struct lwp_rev *lwp_rev_by_name(const char *name)
{
	u32 id;

	for (id = 0; id < LWP_REVS; id++)
		if (!strcmp(name, lwp_revs[id].name))
			return &lwp_revs[id];
	return NULL;
}
