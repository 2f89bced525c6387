/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUID leaf 8000_001C: what an LWP can do, as numbers and as register values, and the features
 * that a pool of hosts has in common. Source: 43724-101 to 43724-112, 2007-101 to 2007-110.
 */
#ifndef LWP_CPUID_H
#define LWP_CPUID_H

#include "lwp_rev.h"

#define LWP_CPUID_LEAF 0x8000001cu
/* Presence: CPUID 8000_0001 ECX[15], for both revisions. */
#define LWP_CPUID_PRESENT_LEAF 0x80000001u
#define LWP_CPUID_PRESENT_ECX LWP_BIT(15)

/*
 * EAX and EDX of 43724; the same positions in LWPCB.Flags and LWP_CFG. Bit n is EventId n, and a
 * kind's number is its EventId.
 */
#define LWP_F_AVAIL LWP_BIT(0)
#define LWP_F_VAL LWP_BIT(LWP_KIND_VAL)
#define LWP_F_IRE LWP_BIT(LWP_KIND_IRE)
#define LWP_F_BRE LWP_BIT(LWP_KIND_BRE)
#define LWP_F_DME LWP_BIT(LWP_KIND_DME)
#define LWP_F_CNH LWP_BIT(LWP_KIND_CNH)
#define LWP_F_RNH LWP_BIT(LWP_KIND_RNH)
#define LWP_F_CONT LWP_BIT(29)
#define LWP_F_PTSC LWP_BIT(30)
#define LWP_F_INT LWP_BIT(31)

/* 2007: EAX, LWPCB.Flags and LWPMSR0. EDX differs: its bit 1 is the interrupt, events follow. */
#define LWP07_F_ENABLED LWP_BIT(0)
#define LWP07_F_IRE LWP_BIT(1)
#define LWP07_F_BRE LWP_BIT(2)
#define LWP07_F_DME LWP_BIT(3)
#define LWP07_F_INT LWP_BIT(31)
#define LWP07_EDX_INT LWP_BIT(1)
#define LWP07_EDX_IRE LWP_BIT(2)
#define LWP07_EDX_BRE LWP_BIT(3)
#define LWP07_EDX_DME LWP_BIT(4)

/* EBX */
#define LWP_EBX_CB_SIZE LWP_MASK(7, 0) /* 43724: quadwords; 2007: bytes */
#define LWP_EBX_EVENT_SIZE LWP_MASK(15, 8) /* bytes */
#define LWP_EBX_MAX_EVENTS LWP_MASK(23, 16) /* 43724: highest EventId; 2007: number of slots */
#define LWP_EBX_EVENT_OFFSET LWP_MASK(31, 24) /* 43724: bytes, multiple of 8 */
#define LWP07_EBX_VERSION LWP_MASK(31, 24)

/* ECX */
#define LWP_ECX_LATENCY_MAX LWP_MASK(4, 0) /* bits */
#define LWP_ECX_DATA_ADDRESS LWP_BIT(5)
#define LWP_ECX_LATENCY_RND LWP_MASK(8, 6) /* bits */
#define LWP_ECX_VERSION LWP_MASK(15, 9)
#define LWP_ECX_MIN_BUFFER LWP_MASK(23, 16) /* units of 32 records */
/* 43724-116 */
#define LWP_ECX_VMCB_AREA LWP_BIT(24) /* ours: LWP state in the VMCB save area (docs) */
#define LWP_ECX_BRANCH_PREDICTION LWP_BIT(28)
#define LWP_ECX_IP_FILTERING LWP_BIT(29)
#define LWP_ECX_CACHE_LEVELS LWP_BIT(30)
#define LWP_ECX_CACHE_LATENCY LWP_BIT(31)
#define LWP_ECX_FEATURES                                                        \
	(LWP_ECX_DATA_ADDRESS | LWP_ECX_VMCB_AREA | LWP_ECX_BRANCH_PREDICTION | \
	 LWP_ECX_IP_FILTERING | LWP_ECX_CACHE_LEVELS | LWP_ECX_CACHE_LATENCY)

/*
 * What one LWP offers. `features` are flags in the revision's own Flags/EAX positions (bit n =
 * EventId n; INT 31, PTSC 30, CONT 29), without bit 0.
 */
struct lwp_caps {
	u8 rev; /* LWP_REV_* */
	u8 version; /* 43724: LwpVersion 0..127; 2007: LWPVersion 0..255 */
	u8 max_events; /* 43724: highest EventId 1..8; 2007: number of slots 1..8 */
	u8 event_offset; /* bytes from the block's start to EventInterval1; 43724 only */
	u16 cb_size; /* bytes, multiple of 8, <= LWP_CB_MAX_SIZE */
	u8 event_size; /* bytes, 32 */
	u8 min_buffer; /* units of 32 records, 0..255 */
	u8 latency_max; /* bits, 0 or 10..31 */
	u8 latency_rnd; /* bits, 0..4 */
	u32 features;
	u32 ecx_features; /* subset of LWP_ECX_FEATURES */
};

struct lwp_leaf {
	u32 eax, ebx, ecx, edx;
};

/* Ready-made sets of numbers. */
enum lwp_profile {
	LWP_PROFILE_FULL, /* all that this implementation can do */
	LWP_PROFILE_FAM15H, /* a real Bulldozer: EBX=80032013h ECX=00010200h EDX=8000000Fh */
};

/*
 * Numbers of a profile in a revision. The caller masks `features` with what its event source can
 * count. LWP_PROFILE_FAM15H exists for 43724 only; for 2007 the result is that of LWP_PROFILE_FULL
 * (43724-111).
 */
void lwp_caps_profile(struct lwp_caps *caps, enum lwp_profile profile, u32 rev);

/*
 * Change the highest EventId (43724) or the number of slots (2007), from 1 to the revision's
 * max_event_id: shrinks cb_size and drops the features of events that are gone. Returns false and
 * changes nothing when out of range (2007-110).
 */
bool lwp_caps_set_max_events(struct lwp_caps *caps, u32 max_events);

/* Does it have this event? */
bool lwp_caps_has(const struct lwp_caps *caps, enum lwp_kind kind);

/*
 * What the leaf announces about data cache misses depends on whether they are offered at all:
 * without them (a caller masked `features`) latency bits, rounding, data address and cache filters
 * read as zero, as on silicon. These give the numbers as announced; so do all functions below
 * (43724-107).
 */
u8 lwp_caps_latency_max(const struct lwp_caps *caps);
u8 lwp_caps_latency_rnd(const struct lwp_caps *caps);
u32 lwp_caps_ecx_features(const struct lwp_caps *caps);

/* Flag bits of EventIds 1..max_event_id (1..8). */
u32 lwp_caps_event_features(u32 max_event_id);

/*
 * Is every number in range and are they consistent with each other (block holds all slots, ...)
 * (43724-104, 43724-105, 43724-107, 2007-106)?
 */
bool lwp_caps_valid(const struct lwp_caps *caps);

/*
 * Registers of the leaf; eax as given (see lwp_avail()) (43724-103 to 43724-106, 2007-104,
 * 2007-105, 2007-108).
 */
void lwp_leaf_encode(const struct lwp_caps *caps, u32 eax, struct lwp_leaf *leaf);

/*
 * The reverse. `rev` cannot be read from the leaf and is the caller's knowledge. Returns false when
 * the leaf describes nothing that this implementation could offer (lwp_caps_valid() is false)
 * (43724-103, 43724-104, 43724-106, 2007-103 to 2007-105).
 */
bool lwp_leaf_decode(const struct lwp_leaf *leaf, u32 rev, struct lwp_caps *caps);

/* Does a guest that was started with `need` run unchanged on a host that offers `have`? */
enum lwp_caps_field {
	LWP_CAPS_OK = 0,
	LWP_CAPS_REV,
	LWP_CAPS_VERSION,
	LWP_CAPS_MAX_EVENTS,
	LWP_CAPS_EVENT_OFFSET,
	LWP_CAPS_CB_SIZE,
	LWP_CAPS_EVENT_SIZE,
	LWP_CAPS_MIN_BUFFER,
	LWP_CAPS_LATENCY_MAX,
	LWP_CAPS_LATENCY_RND,
	LWP_CAPS_FEATURES,
	LWP_CAPS_ECX_FEATURES,
};
/*
 * First field in which `have` cannot give what `need` says; LWP_CAPS_OK if none (43724-117,
 * 2007-109).
 */
enum lwp_caps_field lwp_caps_covers(const struct lwp_caps *have, const struct lwp_caps *need);
/* Name of a field as users write it (the QEMU property where there is one), for messages. */
const char *lwp_caps_field_name(enum lwp_caps_field field);

/*
 * What a migration set has in common: AND of feature bits, minimum of event count, version and
 * latency bits, maximum of minimum buffer size and latency rounding; revision, event size and
 * offset must agree. Both are valid (lwp_caps_valid). Result in *into (in/out). Returns the field
 * that makes the two irreconcilable, else LWP_CAPS_OK (43724-117, 2007-106, 2007-109).
 */
enum lwp_caps_field lwp_caps_intersect(struct lwp_caps *into, const struct lwp_caps *other);

#endif
