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

struct svm_lwp_cpu {
	u8 family, model_first, model_last;
	const char *name;
	bool overcounts; /* errata: the counter of retired instructions may overcount */
	bool spec_lock_map; /* rolled-back locked instructions count unless MSRC001_1020[54] = 1 */
};

static const struct svm_lwp_cpu cpus[] = {
	{ 0x15, 0x00, 0xff, "family 15h" },
	{ 0x17, 0x00, 0x2f, "Zen", .overcounts = true, .spec_lock_map = true },
	{ 0x17, 0x30, 0xff, "Zen 2", .overcounts = true, .spec_lock_map = true },
	{ 0x19, 0x10, 0x1f, "Zen 4", .spec_lock_map = true },
	{ 0x19, 0x60, 0x7f, "Zen 4", .spec_lock_map = true },
	{ 0x19, 0xa0, 0xaf, "Zen 4", .spec_lock_map = true },
	{ 0x19, 0x00, 0xff, "Zen 3", .spec_lock_map = true },
	{ 0x1a, 0x00, 0xff, "Zen 5", .spec_lock_map = true },
};

static const struct svm_lwp_cpu other = { .name = "other" };

/* The processor that runs this. */
static const struct svm_lwp_cpu *svm_lwp_cpu(void)
{
	const struct cpuinfo_x86 *c = &boot_cpu_data;
	int i;

	for (i = 0; i < ARRAY_SIZE(cpus); i++) {
		if (c->x86 == cpus[i].family && c->x86_model >= cpus[i].model_first &&
		    c->x86_model <= cpus[i].model_last)
			return &cpus[i];
	}
	return &other;
}

/*
 * Say which processor it is, and warn of counts that may be wrong. Counters that a hypervisor
 * emulates have no errata.
 */
void svm_lwp_cpu_warn(void)
{
	const struct svm_lwp_cpu *cpu = svm_lwp_cpu();
	u64 ls_cfg;

	pr_info("LWP: counters are treated as those of: %s\n", cpu->name);
	if (boot_cpu_has(X86_FEATURE_HYPERVISOR))
		return;
	if (cpu->overcounts)
		pr_info("LWP: %s may count too many retired instructions (errata 990, 1291)\n",
			cpu->name);
	if (cpu->spec_lock_map &&
	    (rdmsrq_safe(MSR_AMD64_LS_CFG, &ls_cfg) || !(ls_cfg & LS_CFG_SPEC_LOCK_MAP_DISABLE)))
		pr_warn("LWP: locked instructions may count more than once, as MSR C001_1020 bit 54 is clear\n");
}
