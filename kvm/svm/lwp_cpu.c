// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The properties of the performance counters of each AMD family: how late their interrupts come,
 * and which errata make their counts wrong. All families have the events C0h, C2h and C6h.
 *
 * Lateness: the harmony project measured interrupts of guest-only counters under KVM on Zen 2 (mean
 * 1,496, maximum 5,043) and Zen 3 (median 2,915, 99% 3,251, maximum 86,738). The debugger rr
 * assumes 10,000 for all Zen generations, calls it unbounded, and assumes 250 for family 15h.
 * `start` is only the first value of the margin, see lwp_margin.h.
 *
 * Errata, of AMD's revision guides for family 17h: 990 and 1291, counters of retire events may
 * overcount; 1023, overflow interrupts may be lost if two or more counters are enabled, which is
 * why the count is looked at before every entry at CPL 3.
 *
 * `branch_steps`: all these families have DEBUGCTL.BTF. No erratum of it is known. lwp_btf.c checks
 * at load that the bit is kept, and watches each step.
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

static const struct svm_lwp_cpu cpus[] = {
	{ 0x15, 0x00, 0xff, "family 15h", .start = 512, .most = 4096, .branch_steps = true },
	{ 0x17, 0x00, 0x2f, "Zen", .start = 4096, .most = 32768, .branch_steps = true,
	  .overcounts = true, .spec_lock_map = true },
	{ 0x17, 0x30, 0xff, "Zen 2", .start = 2048, .most = 16384, .branch_steps = true,
	  .overcounts = true, .spec_lock_map = true },
	{ 0x19, 0x10, 0x1f, "Zen 4", .start = 4096, .most = 32768, .branch_steps = true,
	  .spec_lock_map = true },
	{ 0x19, 0x60, 0x7f, "Zen 4", .start = 4096, .most = 32768, .branch_steps = true,
	  .spec_lock_map = true },
	{ 0x19, 0xa0, 0xaf, "Zen 4", .start = 4096, .most = 32768, .branch_steps = true,
	  .spec_lock_map = true },
	{ 0x19, 0x00, 0xff, "Zen 3", .start = 4096, .most = 32768, .branch_steps = true,
	  .spec_lock_map = true },
	{ 0x1a, 0x00, 0xff, "Zen 5", .start = 4096, .most = 32768, .branch_steps = true,
	  .spec_lock_map = true },
};

/* A processor without a row: the widest margin, no known errata. */
static const struct svm_lwp_cpu other = { .name = "other", .start = 8192, .most = 32768 };

/* The row of the processor that runs this. */
const struct svm_lwp_cpu *svm_lwp_cpu(void)
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
 * Say which row it is, and warn of counts that may be wrong. Counters that a hypervisor emulates
 * have no errata.
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
