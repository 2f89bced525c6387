// SPDX-License-Identifier: GPL-2.0-or-later
/* LWP_CFG: what may be written, its reset value and the run-time EAX that follows from it. */
#include "lwp_msr.h"

_Static_assert(LWP_MSR_CFG + 1 == LWP_MSR_CBADDR && LWP_MSR_CFG == 0xc0000105,
	       "both MSRs lie in the second range of the MSR permission map");

static u64 cfg_writable(const struct lwp_caps *caps)
{
	return lwp_rev_get(caps->rev)->cfg_fixed | caps->features;
}

bool lwp_cfg_valid(const struct lwp_caps *caps, u64 cfg)
{
	return !(cfg & ~cfg_writable(caps));
}

bool lwp_cfg_write(const struct lwp_caps *caps, u64 value, u64 *cfg)
{
	value &= ~lwp_rev_get(caps->rev)->cfg_ignored;
	if (!lwp_cfg_valid(caps, value))
		return false;
	*cfg = value;
	return true;
}

u64 lwp_cfg_reset(const struct lwp_caps *caps, bool preset, u32 apic_id)
{
	u64 cfg;

	if (!preset)
		return 0;
	cfg = caps->features & ~LWP_F_INT;
	if (lwp_rev_get(caps->rev)->cfg_has_enable)
		cfg |= LWP07_F_ENABLED;
	return cfg | (u64)(u8)apic_id << LWP_CFG_COREID_SHIFT;
}
