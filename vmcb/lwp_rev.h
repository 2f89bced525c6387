/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two revisions of LWP. One descriptor per revision holds what differs between them; code asks
 * the descriptor and is otherwise shared.
 *
 * 43724: what shipped (AMD publication 43724): family 15h, compilers, existing programs.
 * 2007:  the public "Lightweight Profiling Proposal" of 2007-07. Where it leaves a number open it
 *        takes 43724's: CPUID 8000_0001 ECX[15], the MSRs, COREID and VECTOR in LWP_CFG, the XOP
 *        encodings.
 */
#ifndef LWP_REV_H
#define LWP_REV_H

#include "lwp_types.h"

/*
 * What can be counted, independent of the EventId that a revision gives it: LWP_KIND_VAL,
 * LWP_KIND_IRE and so on, one for each row of lwp_events.h. A kind's number is its EventId in
 * 43724.
 */
enum lwp_kind {
	LWP_KIND_NONE,
#define LWP_EVENT(name, ...) LWP_KIND_##name,
#define LWP_NO_EVENT(id) LWP_KIND_OPEN_##id,
#include "lwp_events.h"
	LWP_KINDS,
};
/* The highest EventId of 43724. */
#define LWP_LAST_EVENT_ID (LWP_KINDS - 1)
/* The highest EventId of 2007. */
#define LWP07_LAST_EVENT_ID 3

#define LWP_REV_43724 0
#define LWP_REV_2007 1
#define LWP_REVS 2

/* EventIds that the volatile state has counters for (1..LWP_MAX_EVENT_ID). */
#define LWP_MAX_EVENT_ID 8
/* EventId of an LWPINS record; it has no counter and no enable bit. */
#define LWP_EVENT_ID_INS 255

/* Counters and intervals are signed 26-bit numbers. */
#define LWP_COUNTER_MASK 0x03ffffffu
#define LWP_COUNTER_MAX 0x01ffffff
#define LWP_COUNTER_MIN (-0x02000000)

struct lwp_rev {
	const char *name; /* as users write it: "43724", "2007" */
	u8 id; /* LWP_REV_*: also the number on the wire */
	u8 max_event_id; /* highest EventId with a counter that the revision defines */
	u8 event_id[LWP_KINDS]; /* EventId of each kind, 0 = the revision has no such event */
	u8 kind[LWP_MAX_EVENT_ID + 1]; /* kind of each EventId, LWP_KIND_NONE = undefined */

	/* control block */
	u8 cb_fixed_size; /* bytes before anything optional */
	u8 cb_tail_offset; /* where BufferTailOffset lies */
	u8 cb_alignment; /* bytes; LLWPCB raises #GP(0) below it; 1 = not checked */
	u8 ring_base_ignored; /* mask of BufferBase's low bits that are ignored */
	bool ring_base_linear; /* BufferBase is a linear address (2007); else relative to DS */
	/* an event slot names its EventId (2007); else slot n is EventId n */
	bool slot_selects_event;
	bool flags_are_input; /* LWPCB.Flags selects events (43724); else output only */
	bool has_ip_filter; /* BaseIP, LimitIP exist */
	u32 filters_valid; /* bits of Filters that the revision defines */

	/* counting */
	/* due at 0 and stays there (2007); else due below 0, keeps counting */
	bool freezes_at_zero;
	s32 min_interval;
	u8 latency_gap; /* a latency of n bits is at most 2^n - latency_gap */
	bool off_without_events; /* no event left after masking: LWP goes off (2007) */

	/* ring */
	/* interrupt when used == Threshold, 0 = never; else >=, 0 = always */
	bool threshold_equals;

	/* instructions and MSRs */
	bool llwpcb_returns_old; /* previous pointer to rAX */
	bool llwpcb_deferred; /* at CPL != 3 only the pointer is loaded, the rest at CPL 3 */
	bool cbaddr_executes; /* RDMSR LWP_CBADDR is SLWPCB, WRMSR is LLWPCB */
	bool cfg_has_enable; /* LWP_CFG[0] is a real enable bit; else written and ignored */
	u64 cfg_ignored; /* bits of LWP_CFG whose write is ignored */
	u64 cfg_fixed; /* bits of LWP_CFG that need no feature bit */
};

extern const struct lwp_rev lwp_revs[LWP_REVS];

/* Descriptor of LWP_REV_*; NULL for another number (43724-502, 2007-502). */
static inline const struct lwp_rev *lwp_rev_get(u32 id)
{
	return id < LWP_REVS ? &lwp_revs[id] : NULL;
}

/* Descriptor by the name users write ("43724", "2007"); NULL if there is none. */
const struct lwp_rev *lwp_rev_by_name(const char *name);

#endif
