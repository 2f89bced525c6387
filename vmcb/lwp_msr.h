/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LWP_CFG and LWP_CBADDR: fields, reset values and what a guest's WRMSR may do.
 * Source: 43724-201 to 43724-214; 2007-201 to 2007-209.
 */
#ifndef LWP_MSR_H
#define LWP_MSR_H

#include "lwp_cpuid.h"

#define LWP_MSR_CFG 0xc0000105u
#define LWP_MSR_CBADDR 0xc0000106u

/* LWP_CFG: 31:0 as LWPCB.Flags (see lwp_cpuid.h), above: */
#define LWP_CFG_COREID_SHIFT 32 /* 39:32, copied to CoreId of every record */
#define LWP_CFG_VECTOR_SHIFT 40 /* 47:40, APIC vector of the threshold interrupt */

/* 43724-205, 2007-204 */
static inline u8 lwp_cfg_core_id(u64 cfg)
{
	return (u8)(cfg >> LWP_CFG_COREID_SHIFT);
}

/* Lower ones are exceptions: a local APIC does not accept them. */
#define LWP_VECTOR_MIN 16

/* 43724-206, 2007-204 */
static inline u8 lwp_cfg_vector(u64 cfg)
{
	return (u8)(cfg >> LWP_CFG_VECTOR_SHIFT);
}

/*
 * WRMSR LWP_CFG. Returns false for #GP(0) (a feature bit that the leaf's EDX lacks, a reserved
 * bit); else *cfg becomes the value as stored, ignored bits kept as they were (zero) (43724-201 to
 * 43724-203, 2007-201, 2007-202).
 */
bool lwp_cfg_write(const struct lwp_caps *caps, u64 value, u64 *cfg);

/*
 * A value that came from outside (migration, KVM_SET_MSRS): would lwp_cfg_write() store it
 * unchanged (43724-209)?
 */
bool lwp_cfg_valid(const struct lwp_caps *caps, u64 cfg);

/*
 * Value at reset. With `preset`, of `auto` contexts, the firmware's part is played here: every
 * feature but INT, COREID = low byte of the initial APIC id, VECTOR 0. Otherwise 0 (43724-201,
 * 43724-207, 2007-201, 2007-205).
 */
u64 lwp_cfg_reset(const struct lwp_caps *caps, bool preset, u32 apic_id);

/*
 * Register EAX of leaf 8000_001C: what programs may use now; bit 0 clear means LWP is not available
 * (and the four instructions raise #UD).
 *   43724, os:   XCR0[62] = 0: 0; else (EDX & LWP_CFG[31:0]) | 1
 *   43724, auto: LWP_CFG[31:1] = 0: 0; else the same
 *   2007:        LWPMSR0 in EAX positions, all zero unless LWPMSR0.Enabled
 * It is asked for at each instruction that retires, so it is inline. `rev` and `features` are those
 * of lwp_caps.
 */
static inline u32 lwp_avail_of(const struct lwp_rev *rev, u32 features, u64 cfg, bool auto_context,
			       bool xcr0_lwp)
{
	u32 allowed = (u32)cfg & features;

	if (rev->cfg_has_enable)
		return cfg & LWP07_F_ENABLED ? allowed | LWP07_F_ENABLED : 0;
	if (auto_context ? !allowed : !xcr0_lwp)
		return 0;
	return allowed | LWP_F_AVAIL;
}

/* 43724-108, 43724-109, 2007-107 */
static inline u32 lwp_avail(const struct lwp_caps *caps, u64 cfg, bool auto_context, bool xcr0_lwp)
{
	return lwp_avail_of(lwp_rev_get(caps->rev), caps->features, cfg, auto_context, xcr0_lwp);
}

/*
 * WRMSR LWP_CBADDR where it executes nothing (43724): only 0 may be written; false = #GP(0)
 * (43724-211).
 */
static inline bool lwp_cbaddr_write_ok(u64 value)
{
	return value == 0;
}

#endif
