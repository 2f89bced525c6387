// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errata of the performance counters of each AMD family, and nothing that somebody has to measure:
 * that is a row, see lwp_row.c. All families have the events C0h, C2h and C6h.
 *
 * Of AMD's revision guides for family 17h: 990 and 1291, counters of retire events may overcount;
 * 1023, overflow interrupts may be lost if two or more counters are enabled, which is why the count
 * is looked at before every entry at CPL 3.
 *
 * SpecLockMap: locked instructions that are speculated and rolled back stay counted unless
 * MSRC001_1020[54] is set (rr's scripts/zen_workaround.py). KVM only warns: the bit costs speed,
 * and the administrator decides.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <asm/cpufeature.h>
#include <asm/msr.h>

#include "svm.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

#define LS_CFG_SPEC_LOCK_MAP_DISABLE BIT_ULL(54)

/* Warn of counts that may be wrong. Counters that a hypervisor emulates have no errata. */
void svm_lwp_cpu_warn(void)
{
	u32 family = boot_cpu_data.x86;
	u64 ls_cfg;

	if (boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return;
	if (family == 0x17)
		pr_info("LWP: this processor may count too many retired instructions (errata 990, 1291)\n");
	if (family >= 0x17 &&
	    (rdmsrq_safe(MSR_AMD64_LS_CFG, &ls_cfg) || !(ls_cfg & LS_CFG_SPEC_LOCK_MAP_DISABLE)))
		pr_warn("LWP: locked instructions may count more than once, as MSR C001_1020 bit 54 is clear\n");
}
