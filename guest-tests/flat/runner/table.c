// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of runs. Adding a test: one file in ../tests (named in meson.build) and one row here. */
#include <string.h>
#include "table.h"

const char cpu_model[] = "EPYC";

#define EXACT ",lwp-delivery=exact"
#define LWP "+lwp" EXACT
#define FAM15H "+lwp,lwp-profile=fam15h" EXACT
#define OS "+lwp,lwp-context=os" EXACT
#define VMCB "+lwp,lwp-context=os,lwp-vmcb=on,+svm,+npt,+v-vmsave-vmload" EXACT
#define PMU "pmu=on,+perfctr-core,+perfmon-v2"
#define LBR PMU ",+amd-lbr-v2,+amd-lbr-pmc-freeze"
#define PMU_INTEL "check=off,pmu=on"
#define NO_CLOCKS LWP ",lwp-cnh=off,lwp-rnh=off"
#define SMALL ",lwp-cache-l1d=512/2/4,lwp-cache-l2=2K/4/12,lwp-cache-l3=8K/8/39,lwp-cache-ram=200"
#define CACHES ",lwp-dme=on" SMALL
#define LATENCY ",lwp-dme=on,lwp-latency-max=10,lwp-latency-rounding=4,lwp-cache-ram=5000"
#define LATENCY_2007 ",lwp-dme=on,lwp-latency-max=10,lwp-cache-ram=5000"
#define REV07 "+lwp,lwp-rev=2007" EXACT

/* Why a row is not in the suite without the lab. */
#define OF_QEMU .lab = "QEMU itself"
#define OF_SETTING .lab = "a setting of QEMU that CPUID does not tell"
#define OF_MACHINE .lab = "a device or the chipset of QEMU's machine"
#define OF_RESET .lab = "it resets the machine"
#define OF_TOOL .lab = "a load for other programs of the lab"

const struct run runs[] = {
	/* The test kernel itself. */
	{ "self_user" },
	{ "self_smp", .cpus = 3 },
	/* The emulator itself: code that another processor changes. */
	{ "code_patch", .cpus = 2, OF_QEMU },
	{ "code_held", .cpus = 2, .hold = true, .needs = NEED_TCG, OF_QEMU },
	{ "code_apart", .cpu = LWP, .cpus = 2, .hold = true, .needs = NEED_TCG, OF_QEMU },
	/* Instructions that it executes while all other processors wait. */
	{ "lock_split", .cpus = 2, OF_QEMU },
	{ "alone", .cpu = LWP, .cpus = 2, OF_QEMU },
	{ "bench", OF_TOOL },
	{ "bench_profiled", "bench", LWP, "interval=100", OF_TOOL },
	{ "bench_stores", "bench", .args = "beside=1 rounds=1000", OF_TOOL },
	/* CPUID and MSRs. */
	{ "absent", .absence = true },
	{ "leaf", .cpu = LWP, .args = "want=full", .needs = NEED_CLOCKS, OF_QEMU },
	{ "leaf_no_clocks", "leaf", NO_CLOCKS, "want=noclocks", OF_QEMU },
	{ "leaf_counted", "leaf", LWP, "want=noclocks", .needs = NEED_KVM, OF_QEMU },
	{ "leaf_fam15h", "leaf", FAM15H, "want=fam15h", OF_QEMU },
	{ "leaf_max_events", "leaf", LWP ",lwp-max-events=2", "want=events2", OF_QEMU },
	{ "leaf_min_buffer", "leaf", NO_CLOCKS ",lwp-min-buffer=4", "want=minbuffer4", OF_QEMU },
	{ "leaf_bits", "leaf", NO_CLOCKS ",lwp-bre=off,lwp-cont=off,lwp-ptsc=off", "want=bits",
	  OF_QEMU },
	{ "leaf_2007", "leaf", REV07, "want=2007", OF_QEMU },
	{ "leaf_2007_slots", "leaf", REV07 ",lwp-max-events=1", "want=2007slots", OF_QEMU },
	{ "leaf_dcache", "leaf", LWP CACHES ",lwp-latency-max=12,lwp-latency-rounding=2",
	  "want=dcache", .needs = NEED_DCACHE, OF_QEMU },
	{ "leaf_2007_dcache", "leaf", REV07 CACHES, "want=2007dcache", .needs = NEED_DCACHE,
	  OF_QEMU },
	{ "msr", .cpu = FAM15H, .hidden = true },
	/* The four instructions. */
	{ "ud", .cpu = LWP },
	{ "legacy", .cpu = LWP, .cpus = 2, .hidden = true },
	{ "xop_forms", .cpu = LWP },
	{ "realmode", .cpu = LWP, .cpus = 2 },
	{ "llwpcb", .cpu = LWP },
	{ "slwpcb", .cpu = LWP },
	{ "lwpins", .cpu = LWP },
	{ "lwpval", .cpu = LWP },
	{ "limits", .cpu = LWP ",lwp-min-buffer=4,lwp-max-events=2" },
	{ "cpl0", .cpu = LWP },
	/* Counting and records. */
	{ "fields", .cpu = LWP },
	{ "fields_fam15h", "fields", FAM15H },
	{ "ire", .cpu = LWP },
	{ "ire_edges", .cpu = LWP },
	{ "ire_special", .cpu = LWP },
	{ "io_break", .cpu = LWP, .needs = NEED_IO_BREAK },
	{ "ire_sweep", .cpu = LWP },
	{ "budget", .cpu = LWP },
	{ "find_mmio", .cpu = LWP },
	{ "async", .cpu = LWP, .cpus = 2, .needs = NEED_SPEED },
	{ "async_short", "async", LWP, "turns=600", .cpus = 2, .needs = NEED_KVM, OF_SETTING },
	{ "bre", .cpu = LWP },
	{ "bre_forms", .cpu = LWP },
	{ "filters", .cpu = LWP },
	{ "filters_fam15h", "filters", FAM15H },
	{ "segments", .cpu = LWP },
	{ "smm", .cpu = LWP, OF_MACHINE },
	{ "simultaneous", .cpu = LWP },
	{ "ptsc", .cpu = LWP },
	{ "clocks", .cpu = LWP, .needs = NEED_CLOCKS },
	{ "dcache", .cpu = LWP CACHES, .needs = NEED_DCACHE, OF_SETTING },
	{ "dcache_latency", "dcache", LWP LATENCY, "want=latency", .needs = NEED_DCACHE,
	  OF_SETTING },
	/* The ring. */
	{ "ring", .cpu = LWP },
	{ "ring_code", .cpu = LWP },
	{ "ring_fam15h", "ring", FAM15H },
	{ "random", .cpu = LWP },
	{ "retry", .cpu = LWP },
	{ "order", .cpu = LWP },
	{ "not_ram", .cpu = LWP },
	{ "no_apic", .cpu = LWP ",-apic," PMU, .needs = NEED_TCG, OF_SETTING },
	{ "threshold", .cpu = LWP },
	{ "threshold_fam15h", "threshold", FAM15H },
	{ "os_threshold", "threshold", OS, "context=os", .needs = NEED_OS_CONTEXT },
	/* Random programs: `./vlwp soak diff` compares accelerators. */
	{ "diff", .cpu = NO_CLOCKS ",lwp-ptsc=off", OF_TOOL },
	/* Contexts found by the hypervisor. */
	{ "context_auto", .cpu = LWP, .hidden = true },
	{ "context_verify", .cpu = LWP, .hidden = true },
	{ "context_windows", .cpu = LWP, .hidden = true },
	{ "context_many", .cpu = LWP, .hidden = true },
	{ "context_collect", .cpu = LWP ",lwp-context-age=1", .needs = NEED_TCG, OF_SETTING },
	{ "context_reset", .cpu = LWP, .resets = true, OF_RESET },
	{ "init", .cpu = LWP, .cpus = 2 },
	{ "os_init", "init", OS, "context=os", .cpus = 2, .needs = NEED_OS_CONTEXT },
	/* Five-level paging, which the processors that KVM is tested on lack. */
	{ "la57", .cpu = LWP ",+la57", .needs = NEED_TCG },
	{ "la57_collect", "context_collect", LWP ",+la57,lwp-context-age=1", .needs = NEED_TCG,
	  OF_SETTING },
	{ "cpu_unplug", .cpu = LWP, .cpus = 2, .needs = NEED_TCG, OF_MACHINE },
	/* The program that `./vlwp test migrate` moves. */
	{ "migrate", .cpu = LWP, OF_TOOL },
	{ "migrate_dcache", "migrate",
	  LWP ",lwp-dme=on,lwp-cache-l1d=4K/1/4,lwp-cache-l2=none,lwp-cache-l3=none", "dcache=1",
	  .needs = NEED_DCACHE, OF_TOOL },
	{ "context_smp", .cpu = LWP, .cpus = 2, .hidden = true },
	{ "context_smp_3", "context_smp", LWP, .cpus = 3, .hidden = true },
	/* A page table in a device, which KVM does not walk. */
	{ "context_mmio", "mmio_tables", LWP, .cpus = 2, .needs = NEED_TCG, OF_MACHINE },
	{ "context_mmio_svm", "mmio_tables", LWP ",+svm", .cpus = 2, .needs = NEED_TCG,
	  OF_MACHINE },
	{ "find_mmio_table", "mmio_tables", LWP, "what=ring", .needs = NEED_TCG, OF_MACHINE },
	/* Contexts switched by the guest's OS; and what was above, under such an OS. */
	{ "os_xcr0", .cpu = OS, .needs = NEED_OS_CONTEXT },
	{ "os_xsave", .cpu = OS, .args = "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_forms", .cpu = OS, .args = "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_smp", .cpu = OS, .args = "context=os", .cpus = 2, .needs = NEED_OS_CONTEXT },
	{ "os_reset", "context_reset", OS, "context=os", .resets = true, .needs = NEED_OS_CONTEXT,
	  OF_RESET },
	{ "os_hostile", .cpu = OS, .args = "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_llwpcb", "llwpcb", OS, "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_lwpins", "lwpins", OS, "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_lwpval", "lwpval", OS, "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_ire", "ire", OS, "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_bre", "bre", OS, "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_retry", "retry", OS, "context=os", .needs = NEED_OS_CONTEXT },
	{ "os_smm", "smm", OS, "context=os", .needs = NEED_OS_CONTEXT, OF_MACHINE },
	/* SVM guests: none with auto contexts; with LWP in the VMCB VMLOAD and VMSAVE switch it. */
	{ "svm_auto", .cpu = LWP ",+svm,+npt", .hidden = true },
	{ "svm_cr8", .cpu = "+svm", OF_QEMU },
	{ "svm_mmio", .cpu = VMCB, .needs = NEED_TCG, OF_QEMU },
	{ "svm_switch", .cpu = VMCB, .args = "context=os", .needs = NEED_VMCB_AREA },
	{ "svm_hostile", .cpu = VMCB, .args = "context=os", .needs = NEED_VMCB_AREA },
	/* Performance counters, which only TCG models. */
	{ "pmu_count", .cpu = PMU, .needs = NEED_TCG },
	{ "pmu_modes", .cpu = PMU ",+monitor", .cpus = 2, .needs = NEED_TCG },
	{ "pmu_trace", .cpu = PMU ",+lwp", .needs = NEED_TCG },
	{ "pmu_overflow", .cpu = PMU, .needs = NEED_TCG },
	{ "pmu_overflow_v1", "pmu_overflow", "pmu=on,+perfctr-core", .needs = NEED_TCG },
	{ "pmu_overflow_lwp", "pmu_overflow", PMU ",+lwp", .needs = NEED_TCG },
	{ "pmu_overflow_skid", "pmu_overflow", PMU ",pmu-skid=13", "skid=13", .needs = NEED_TCG,
	  OF_SETTING },
	{ "pmu_skid_zen2", "pmu_skid", PMU ",pmu-skid=zen2", "min=800 max=5043", .needs = NEED_TCG,
	  OF_SETTING },
	{ "pmu_skid_zen3", "pmu_skid", PMU ",pmu-skid=zen3", "min=1202 max=86738",
	  .needs = NEED_TCG, OF_SETTING },
	{ "pmu_skid_zen3_16", "pmu_skid", PMU ",pmu-skid=zen3/16", "min=75 max=5421",
	  .needs = NEED_TCG, OF_SETTING },
	{ "pmu_skid_adversarial", "pmu_skid", PMU ",pmu-skid=adversarial", .needs = NEED_TCG,
	  OF_SETTING },
	{ "pmu_svm", .cpu = PMU ",+svm", .needs = NEED_TCG },
	{ "pmu_svm_overcount", "pmu_svm", PMU ",+svm,pmu-overcount-ring=20,pmu-overcount-vmrun=300",
	  "overcount=1", .needs = NEED_TCG, OF_SETTING },
	{ "pmu_smi", "smm", LWP "," PMU, .needs = NEED_TCG, OF_MACHINE },
	{ "pmu_events", .cpu = PMU, .needs = NEED_TCG },
	{ "pmu_events_ipc", "pmu_events", PMU ",pmu-ipc=4", "ipc=4", .needs = NEED_TCG,
	  OF_SETTING },
	{ "pmu_predictor", .cpu = PMU ",pmu-predictor=2bit", .needs = NEED_TCG, OF_SETTING },
	{ "pmu_irperf", .cpu = PMU ",+irperf", .needs = NEED_TCG },
	{ "pmu_lbr", .cpu = LBR, .needs = NEED_TCG },
	{ "pmu_lbr_lwp", "pmu_lbr", LBR ",+lwp", .needs = NEED_TCG },
	{ "pmu_lbr_svm", .cpu = LBR ",+svm,+lbrv", .needs = NEED_TCG },
	{ "pmu_ibs", .cpu = PMU ",+ibs", .needs = NEED_TCG },
	{ "pmu_ibs_cache", .cpu = PMU ",+ibs,ibs-cache=on" SMALL, .needs = NEED_TCG, OF_SETTING },
	{ "pmu_ibs_dcache", "pmu_ibs_cache", PMU ",+ibs," LWP CACHES, "model=lwp",
	  .needs = NEED_TCG, OF_SETTING },
	{ "pmu_ibs_dcache_own", "pmu_ibs_cache", PMU ",+ibs,ibs-cache=on," LWP CACHES, "model=both",
	  .needs = NEED_TCG, OF_SETTING },
	{ "pmu_ibs_dcache_paused", "pmu_ibs_cache", PMU ",+ibs,ibs-cache=on," LWP ",lwp-dme=on",
	  "model=paused", .needs = NEED_TCG, OF_SETTING },
	{ "pmu_ibs_lwp", "pmu_ibs", PMU ",+ibs,+lwp,lwp-dme=on", .needs = NEED_TCG, OF_SETTING },
	/* Intel's, by version. */
	{ "pmu_intel_v1", "pmu_intel", PMU_INTEL ",pmu-version=1", "version=1 gp=4 width=48",
	  .model = "Nehalem", .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_v2", "pmu_intel", PMU_INTEL, "version=2 gp=2 width=40", .model = "Penryn",
	  .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_v3", "pmu_intel", PMU_INTEL ",pmu-version=3", "version=3 gp=4 width=48",
	  .model = "Haswell", .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_v4", "pmu_intel", PMU_INTEL, "version=4 gp=4 width=48",
	  .model = "Skylake-Client", .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_v5", "pmu_intel", PMU_INTEL, "version=5 gp=8 width=48",
	  .model = "SapphireRapids", .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_count", .cpu = PMU_INTEL, .model = "Skylake-Client", .needs = NEED_TCG,
	  OF_QEMU },
	{ "pmu_intel_count_v1", "pmu_intel_count", PMU_INTEL ",pmu-version=1", .model = "Nehalem",
	  .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_count_v5", "pmu_intel_count", PMU_INTEL, .model = "SapphireRapids",
	  .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_overflow", .cpu = PMU_INTEL, .model = "Skylake-Client", .needs = NEED_TCG,
	  OF_QEMU },
	{ "pmu_intel_overflow_v1", "pmu_intel_overflow", PMU_INTEL ",pmu-version=1",
	  .model = "Nehalem", .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_overflow_v2", "pmu_intel_overflow", PMU_INTEL, .model = "Nehalem",
	  .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_overflow_skid", "pmu_intel_overflow", PMU_INTEL ",pmu-skid=13", "skid=13",
	  .model = "Skylake-Client", .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_init", .cpu = PMU_INTEL, .cpus = 2, .model = "Skylake-Client",
	  .needs = NEED_TCG, OF_QEMU },
	{ "pmu_intel_off", .model = "Skylake-Client", .needs = NEED_TCG, OF_QEMU },
	/* Stepping by taken branches, of which KVM keeps the bit from its guests. */
	{ "btf", .cpu = "+svm", .needs = NEED_TCG, OF_QEMU },
	/* The 2007 proposal. */
	{ "rev07_msr", .cpu = REV07, .args = "rev=2007", .hidden = true },
	{ "rev07_msr_mmio", "mmio_tables", REV07, "rev=2007", .needs = NEED_TCG, OF_MACHINE },
	{ "rev07_llwpcb", .cpu = REV07, .args = "rev=2007" },
	{ "rev07_threshold", .cpu = REV07, .args = "rev=2007" },
	{ "rev07_events", .cpu = REV07, .args = "rev=2007" },
	{ "rev07_context", .cpu = REV07, .args = "rev=2007", .hidden = true },
	{ "rev07_slots", .cpu = REV07 ",lwp-max-events=1", .args = "rev=2007" },
	{ "rev07_store", .cpu = REV07, .args = "rev=2007" },
	{ "os_rev07", .cpu = VMCB ",lwp-rev=2007", .args = "rev=2007 context=os",
	  .needs = NEED_VMCB_AREA },
	{ "rev07_dcache", "dcache", REV07 CACHES, "rev=2007", .needs = NEED_DCACHE, OF_SETTING },
	{ "rev07_dcache_latency", "dcache", REV07 LATENCY_2007, "rev=2007 want=latency",
	  .needs = NEED_DCACHE, OF_SETTING },
};
const size_t run_count = sizeof(runs) / sizeof(runs[0]);

unsigned int offers(const char *accel)
{
	if (!strcmp(accel, "tcg"))
		return NEED_TCG | NEED_OS_CONTEXT | NEED_CLOCKS | NEED_DCACHE | NEED_VMCB_AREA |
		       NEED_SPEED | NEED_IO_BREAK;
	if (!strcmp(accel, "kvm"))
		return NEED_KVM | NEED_VMCB_AREA;
	return 0;
}

const char *need_name(unsigned int needs)
{
	static const char *const names[] = {
		"tcg",		 "kvm",	      "os-context", "clocks",	"dcache",
		"threshold-int", "vmcb-area", "speed",	    "io-break",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (needs & 1u << i)
			return names[i];
	}
	return "nothing";
}
