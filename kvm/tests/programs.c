// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of the programs. Adding one: its file (named in meson.build) and one row here. */
#include <stdio.h>
#include <string.h>
#include "programs.h"

#define CPU "EPYC"
/* A processor with counters, whose interrupts come late by a number or a list of instructions. */
#define PMU CPU ",pmu=on"
#define SKID(by) ",pmu-skid=" by
/* Six counters: three for LWP, three for the guest. */
#define SIX ",perfctr-core=on"

/* A processor with shadow stacks; Linux takes XSAVES from older ones. */
#define CET CPU ",family=25,model=17,xsaves=on,shstk=on"

#define PERF "lwp_source=perf"
#define FAKE "lwp_source=fake"

const struct kvm_program kvm_programs[] = {
	{
		"kvm_exits",
		"a guest that does not use LWP exits, and takes memory, as with the kernel's own modules",
		.result = KVM_RESULT_EXITS,
		.runs = { { "idle", "it has LWP", CPU, NULL, { "5", "idle" } },
			  { "stranger",
			    "its VMM does not know LWP",
			    CPU,
			    NULL,
			    { "5", "stranger" } },
			  { "beside",
			    "another VM is profiled beside it",
			    CPU,
			    NULL,
			    { "5", "beside" },
			    .smp = 2 } },
	},
	{
		"kvm_hostile",
		"hostile guests and hostile user space reach no memory but their own",
		.result = KVM_RESULT_SEEDED_TAP,
		.runs = { { .cpu = CPU, .args = { "60" }, .smp = 2 } },
	},
	{
		"kvm_lateness",
		"how late the interrupts of counters come, in instructions",
		.runs = { { .cpu = PMU SKID("zen3"), .kvm_amd = PERF } },
	},
	{
		"kvm_test_abi",
		"CPUID, MSRs, capability and attributes, bad input and refusals",
		.runs = { { .cpu = CPU } },
	},
	{
		/* The emulated processor has no AVIC; KVM only has to believe that there is one. */
		"kvm_test_avic",
		"AVIC is inhibited while a vCPU may step, and only then",
		.runs = { { .cpu = CPU, .kvm_amd = "avic=1 force_avic=1" } },
	},
	{
		"kvm_test_btf",
		"steps over branches: records are those of single steps, with fewer steps",
		.runs = { { "on",
			    "an overcounting counter and BTF",
			    PMU ",pmu-overcount-ring=20,pmu-overcount-vmrun=300",
			    PERF,
			    { "on" } },
			  { "right", "a counter that is right", PMU, PERF, { "on" } },
			  { "off", "by a parameter", PMU, PERF " lwp_branch_steps=0", { "off" } },
			  /* Family 16h has no row in lwp_cpu.c. */
			  { "row",
			    "for an unknown processor",
			    PMU ",family=22",
			    PERF,
			    { "off" } } },
	},
	{
		"kvm_test_clock",
		"clock events by performance counters",
		.runs = { { "core", "only the core clock has a counter", PMU, PERF },
			  /* A processor for which perf knows reference cycles. */
			  { "rnh",
			    "the reference clock has a counter too",
			    CPU ",family=25,model=17,pmu=on" SIX,
			    PERF,
			    { "rnh" } } },
	},
	{
		"kvm_test_blocked",
		"guest memory that user space does not provide yet holds up one vCPU only",
		.runs = { { .cpu = CPU, .smp = 2 } },
	},
	{
		"kvm_test_collect",
		"a dead program costs its VM nothing soon after, a sleeping one keeps its context",
		.runs = { { .cpu = CPU, .kvm_amd = "lwp_context_age=1" } },
	},
	{
		"kvm_test_context",
		"the state follows address space and thread, and os contexts follow the MSR",
		/* A counter that `exact` stops in time must not make a difference. */
		.runs = { { "step", "every instruction is stepped", CPU },
			  { "fake", "a fake counter stops in time", CPU, FAKE " lwp_margin=1" } },
	},
	{
		"kvm_test_debug",
		"debuggers of guest and user space work while KVM steps",
		.runs = { { "step", "every instruction is stepped", CPU },
			  { "fake", "a fake counter stops in time", CPU, FAKE " lwp_margin=1" },
			  { "perf", "performance counters", PMU, PERF " lwp_margin=2" } },
	},
	{
		"kvm_test_ibs",
		"data cache misses by instruction-based sampling: the estimate, records, filters",
		.runs = { { .cpu = PMU SIX ",ibs=on,ibs-cache=on",
			    .kvm_amd = "lwp_dme=ibs lwp_ibs_period=8192",
			    .args = { "8192" } } },
	},
	{
		"kvm_test_insn",
		"LLWPCB, SLWPCB, LWPINS and LWPVAL: records, flags, rIP, faults",
		.runs = { { .cpu = CPU } },
	},
	{
		"kvm_test_mediated",
		"LWP beside mediated vPMUs: it steps while one is there, and keeps no VM from one",
		.since = "7.3",
		.runs = { { .cpu = PMU SIX ",perfmon-v2=on",
			    .kvm_amd = PERF " enable_mediated_pmu=1" } },
	},
	{
		"kvm_test_migrate",
		"saving and restoring a VM at any instruction boundary",
		.runs = { { .cpu = CPU } },
	},
	{
		"kvm_test_mode",
		"changes of a vCPU's mode are those of the table in svm/lwp_mode.c, and all of them occur",
		.runs = { { .cpu = PMU ",pmu-overcount-ring=20,pmu-overcount-vmrun=300",
			    .kvm_amd = PERF } },
	},
	{
		"kvm_test_nested",
		"LWP follows VMLOAD and VMSAVE of a hypervisor in the guest",
		.runs = { { .cpu = CPU } },
	},
	{
		"kvm_test_off",
		"KVM without LWP: a wrong parameter switches it off with one warning, and KVM works",
		.single = 1,
		.runs = { { "switched", "lwp=0", CPU, "lwp=0", { "0" } },
			  { "source", "no such source", CPU, "lwp_source=prf", { "1" } },
			  { "perf", "perf without a PMU", CPU, PERF, { "1" } },
			  { "contexts", "no contexts", CPU, "lwp_contexts=0", { "1" } },
			  { "events", "too many events", CPU, "lwp_max_events=7", { "1" } },
			  { "buffer", "a buffer too large", CPU, "lwp_min_buffer=256", { "1" } },
			  { "dme", "no such way to count misses", CPU, "lwp_dme=pmc", { "1" } },
			  { "ibs", "no IBS", PMU, "lwp_dme=ibs", { "1" } },
			  { "period",
			    "a period too short",
			    PMU SIX ",ibs=on",
			    "lwp_dme=ibs lwp_ibs_period=512",
			    { "1" } } },
	},
	{
		/* The counter overcounts at each entry of a guest and at each return to CPL 3. */
		"kvm_test_overcount",
		"KVM measures by how much a counter overcounts, and subtracts it",
		.runs = { { "insns", "of instructions, at entries and at returns",
			    PMU ",pmu-overcount-ring=20,pmu-overcount-vmrun=300", PERF },
			  { "far",
			    "of far transfers, at entries",
			    PMU ",pmu-overcount-far=5",
			    PERF,
			    { "far" } } },
	},
	{
		"kvm_test_perf",
		"records by performance counters are those of single steps",
		.single = 1,
		.runs = { { "skid-0", "interrupts on time", PMU SKID("0"), PERF, { "0" } },
			  { "skid-500",
			    "interrupts 500 instructions late",
			    PMU SKID("500"),
			    PERF,
			    { "500" } } },
	},
	{
		"kvm_test_prompt",
		"prompt delivery with late interrupts: records and missed events are the periods",
		.runs = { { .cpu = PMU SKID("zen3"), .kvm_amd = PERF } },
	},
	{
		"kvm_test_release",
		"perf events are released soon after a profile has ended",
		.runs = { { .cpu = PMU, .kvm_amd = PERF } },
	},
	{
		"kvm_test_rewrite",
		"the emulator executes no other instruction while a program's code is rewritten",
		.runs = { { .cpu = CPU, .smp = 2 } },
	},
	{
		/* The processor of a QEMU of its own has them: lab/nested/qemu-cet.patch. */
		"kvm_test_shstk",
		"programs with shadow stacks: SSP at system calls, records, #CP",
		.since = "7.3",
		.runs = { { "step", "every instruction is stepped", CET },
			  { "perf", "performance counters", CET ",pmu=on", PERF } },
	},
	{
		"kvm_test_source",
		"exact and prompt delivery with the fake source, which interrupts late",
		.runs = { { .cpu = CPU, .kvm_amd = FAKE } },
	},
	{
		"kvm_test_step",
		"counting by single steps is exact",
		/* A counter that `exact` stops in time must not make a difference. */
		.runs = { { "step", "every instruction is stepped", CPU },
			  { "fake", "a fake counter stops in time", CPU, FAKE " lwp_margin=1" } },
	},
	{
		"kvm_test_tf",
		"the guest never sees the RFLAGS.TF with which KVM steps",
		.runs = { { "step", "every instruction is stepped", CPU },
			  { "fake", "a fake counter stops in time", CPU, FAKE " lwp_margin=1" },
			  { "perf", "performance counters", PMU, PERF " lwp_margin=2" } },
	},
	{
		"kvm_test_threshold",
		"the threshold interrupt",
		.runs = { { .cpu = CPU } },
	},
	{
		"kvm_test_unused",
		"where no VM has LWP nothing of it runs at a VM-Entry",
		.runs = { { .cpu = CPU } },
	},
	{
		"kvm_test_vpmu",
		"the guest's own performance counters and LWP count at the same time",
		.runs = { { "skid-0", "interrupts on time", PMU SIX SKID("0"), PERF, { "0" } },
			  { "skid-500",
			    "interrupts 500 instructions late",
			    PMU SIX SKID("500"),
			    PERF,
			    { "500" } } },
	},
};

const size_t kvm_program_count = sizeof(kvm_programs) / sizeof(*kvm_programs);

unsigned int kvm_run_count(const struct kvm_program *p)
{
	unsigned int n = 0;

	while (n < KVM_MAX_RUNS && p->runs[n].cpu)
		n++;
	return n;
}

void kvm_run_name(const struct kvm_program *p, const struct kvm_run *r, char *to, size_t size)
{
	snprintf(to, size, "%s%s%s", p->name + strlen(KVM_PROGRAM_PREFIX), r->name ? "/" : "",
		 r->name ? r->name : "");
}

const char *kvm_result_word(enum kvm_result result)
{
	switch (result) {
	case KVM_RESULT_TAP:
		return "tap";
	case KVM_RESULT_SEEDED_TAP:
		return "seeded-tap";
	case KVM_RESULT_EXITS:
		return "exits";
	}
	return NULL;
}
