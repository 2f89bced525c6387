# SPDX-License-Identifier: GPL-2.0-or-later
"""The programs of kvm/tests: the machine, the modules and the arguments of each run. Adding one: its file (named in
kvm/tests/meson.build) and one row here."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from lab.building import qemu_tree
from lab.common import bases
from lab.common.places import KVM_PROGRAMS
from lab.common.rows import EXACT, late, perf, planted
from lab.nested.l1 import L1

CPU = "EPYC"
PMU = f"{CPU},pmu=on"  # a processor with counters
SIX = ",perfctr-core=on"  # six of them: three for LWP, three for the guest
# What is planted in its counters: interrupts that come late, and counts that are too high.
LATE_500, ZEN3 = late("500"), late("zen3")
OVER = f"{EXACT},insns.entry=300,insns.iret=20,branches.entry=1"
PLACES = (
    f"{EXACT},insns.cpuid=3,insns.npf=11,insns.intr=13,insns.nmi=17,insns.step=7,insns.inject=19,branches.cpuid=1,"
    "branches.step=2,branches.intr=3,far.cpuid=4"
)
SHADOW_STACKS = "shstk=on"  # what QEMU without our patch for the lab does not have
CET = f"{CPU},family=25,model=17,xsaves=on,{SHADOW_STACKS}"  # Linux takes XSAVES from older ones
PERF = "lwp_source=perf"
PREFIX = "kvm_"
# Seconds, many times what any run takes: a machine that hangs is a failure, not the end of the test.
LIMIT = 1500


class Need(Enum):
    """What a run needs of the processor, beside parameters of kvm-amd: `cpu` has it in the lab."""

    PMU = "performance counters"
    NO_PMU = "a processor without performance counters"
    # Its thread runs several vCPUs, which a perf event of the thread counts all.
    STEPS = "lwp_source=step, or a processor without performance counters"
    SIX = "six performance counters, and kernel.nmi_watchdog=0"
    RIGHT = "a row with which all counts are right, and root to see it"
    IBS = "instruction-based sampling"
    SHADOW_STACKS = "shadow stacks"
    # What the test expects holds only where the lab has made it so.
    LATENESS = "counters that interrupt late by a known number of instructions"
    OVERCOUNT = "counters that overcount by known numbers"
    CLOCKS = "a processor that takes one clock for each instruction"
    CACHES = "the caches of the lab's model"
    FORCED_AVIC = "a processor that KVM may take for one with AVIC"


COUNTERS, STEPS, LATENESS, OVERCOUNT, CLOCKS = (
    (need,) for need in (Need.PMU, Need.STEPS, Need.LATENESS, Need.OVERCOUNT, Need.CLOCKS))


@dataclass(frozen=True)
class Run:
    """A run of a program in L1, the machine that QEMU in TCG emulates. Rows below have it without what Program adds."""

    variant: str = ""  # unique in the program; "": its only run
    line: str = ""  # what differs from the program's other runs
    cpu: str = CPU  # of L1's machine, without its "-lwp"
    kvm_amd: str = ""  # parameters of kvm-amd
    row: str = ""  # planted in the counters
    args: tuple[str, ...] = ()
    smp: int = 1
    single: bool = False  # the run for those who run each program once
    program: str = ""
    since: str = ""
    result: str = "tap"
    needs: tuple[Need, ...] = ()
    told: str = ""  # the row of which KVM is told, if that is another one

    @property
    def name(self) -> str:
        """Unique: as "test_perf/skid-500"."""
        return self.title.removeprefix(PREFIX)

    @property
    def title(self) -> str:
        """The program and, if there are several, which run of it: as "kvm_test_perf/skid-500"."""
        return "/".join(filter(None, [self.program, self.variant]))

    def lab(self) -> L1:
        """The machine."""
        flavour = qemu_tree.CET if SHADOW_STACKS in self.cpu else "vlwp"
        told = self.told or self.row or EXACT
        kvm_amd = self.kvm_amd.replace(PERF, perf(told))
        return L1(
            smp=self.smp, cpu=self.cpu, kvm_amd=kvm_amd, limit=LIMIT, flavour=flavour, devices=planted(self.row)
        )

    def command(self) -> list[str]:
        """The command line in L1."""
        return [str(KVM_PROGRAMS / self.program), *self.args]

    def lacking(self) -> list[tuple[str, str]]:
        """Its needs as the kit takes them."""
        return [(need.name, need.value) for need in self.needs]

    def for_kit(self) -> dict[str, Any]:
        """The row of the kit, which knows a processor's row when it runs, and loads what is needed for STEPS."""
        source = "lwp_source=step" if Need.STEPS in self.needs and not self.kvm_amd else self.kvm_amd
        return {
            "name": self.name, "command": [self.program, *self.args], "smp": self.smp, "needs": self.lacking(),
            "kvm_amd": source.replace(PERF, perf("ROW")), "seeded": self.result == "seeded-tap",
        }


@dataclass(frozen=True)
class Program:
    """A program. result: "tap"; "seeded-tap": a seed may follow the arguments, else it draws one; "exits": the lines
    "# exits", the same with the kernel's own modules. since: the first kernel that has what it tests; "": all have."""

    name: str
    line: str
    runs: tuple[Run, ...] = (Run(),)
    result: str = "tap"
    since: str = ""


STEP = Run("step", "every instruction is stepped")
PERF_RUN = Run("perf", "performance counters, which `exact` stops in time", PMU, PERF, args=("2",), needs=COUNTERS)


def _skids(cpu: str, needs: Need, second: bool = False) -> tuple[Run, ...]:
    """needs: of all. second: the second is the run for those who run each program once."""
    known = (needs, Need.LATENESS)
    return (
        Run("skid-0", "interrupts on time", cpu, PERF, args=("0",), needs=known),
        Run("skid-500", "interrupts 500 instructions late", cpu, PERF, LATE_500, ("500",), single=second, needs=known),
        Run("unknown", "how late interrupts come varies", cpu, PERF, ZEN3, needs=(needs,)),
    )


def _off(variant: str, line: str, kvm_amd: str, cpu: str = CPU, needs: tuple[Need, ...] = ()) -> Run:
    return Run(variant, line, cpu, kvm_amd, args=("1",), single=variant == "source", needs=needs)


TABLE = (
    Program("kvm_exits", "a guest that does not use LWP exits, and takes memory, as with the kernel's own modules", (
        Run("idle", "it has LWP", args=("3", "idle")),
        Run("stranger", "its VMM does not know LWP", args=("3", "stranger")),
        Run("beside", "another VM is profiled beside it", args=("3", "beside"), smp=2),
    ), result="exits"),
    Program("kvm_hostile", "hostile guests and hostile user space reach no memory but their own",
            (Run(args=("20",), smp=2),), result="seeded-tap"),
    Program("kvm_test_abi", "CPUID, MSRs, capability and attributes, bad input and refusals"),
    # The emulated processor has no AVIC; KVM only has to believe that there is one.
    Program("kvm_test_avic", "AVIC is inhibited while a vCPU steps, and only then",
            (Run(cpu=PMU, kvm_amd=f"{PERF} avic=1 force_avic=1", needs=(*COUNTERS, Need.FORCED_AVIC)),)),
    Program("kvm_test_net", "nets of breakpoints: records are those of single steps, with fewer exits", (
        Run("on", "an overcounting counter", PMU, PERF, OVER, ("on", "over"), needs=LATENESS + OVERCOUNT),
        Run("right", "a counter that is right", PMU, PERF, args=("on",), needs=LATENESS),
        Run("off", "the VM's policy has none", PMU, PERF, args=("off",), needs=LATENESS),
    )),
    Program("kvm_test_clock", "clock events by performance counters", (
        Run("core", "only the core clock has a counter", PMU, PERF, needs=CLOCKS),
        # A processor for which perf knows reference cycles.
        Run("rnh", "the reference clock has a counter too", f"{CPU},family=25,model=17,pmu=on{SIX}", PERF,
            args=("rnh",), needs=CLOCKS),
    )),
    Program("kvm_test_blocked", "guest memory that user space does not provide yet holds up one vCPU only", (
        Run("few", "one or two vCPUs wait", cpu=PMU, kvm_amd=PERF, smp=2, needs=COUNTERS),
        Run("crowd", "300 vCPUs wait at once", cpu=PMU, kvm_amd=PERF, args=("300",), needs=COUNTERS),
    )),
    Program("kvm_test_collect", "a dead program costs its VM nothing soon after, a sleeping one keeps its context"),
    Program("kvm_test_context", "the state follows address space and thread, and os contexts follow the MSR",
            (replace(STEP, needs=STEPS),)),
    Program("kvm_test_debug", "debuggers of guest and user space work while KVM steps", (STEP, PERF_RUN)),
    Program("kvm_test_flush", "a page that a guest takes away by Hyper-V's flush gets no record",
            (Run(args=("5",), smp=4),)),
    Program("kvm_test_ibs", "data cache misses by instruction-based sampling: the estimate, records, filters",
            (Run(cpu=f"{PMU}{SIX},ibs=on,ibs-cache=on", needs=(Need.IBS, Need.CACHES)),)),
    Program("kvm_test_insn", "LLWPCB, SLWPCB, LWPINS and LWPVAL: records, flags, rIP, faults"),
    Program("kvm_test_mediated", "LWP beside mediated vPMUs: it steps while one is there, and keeps no VM from one",
            (Run(cpu=f"{PMU}{SIX},perfmon-v2=on", kvm_amd=f"{PERF} enable_mediated_pmu=1", needs=COUNTERS),),
            since="7.3"),
    Program("kvm_test_migrate", "saving and restoring a VM at any instruction boundary", (
        Run("rounds", "at every one", needs=STEPS),
        Run("modes", "and in each mode", PMU, PERF, OVER, ("modes",), needs=OVERCOUNT),
    )),
    Program("kvm_test_mode", "changes of a vCPU's mode are those of the table in svm/lwp_mode.c, and all of them occur",
            (Run(cpu=PMU, kvm_amd=PERF, row=OVER, needs=OVERCOUNT),)),
    Program("kvm_test_nested", "LWP follows VMLOAD and VMSAVE of a hypervisor in the guest"),
    Program("kvm_test_off", "KVM without LWP: a wrong parameter switches it off with one warning, and KVM works", (
        Run("switched", "lwp=0", kvm_amd="lwp=0", args=("0",)),
        _off("source", "no such source", "lwp_source=prf"),
        _off("perf", "perf without a PMU", PERF, needs=(Need.NO_PMU,)),
        _off("contexts", "no contexts", "lwp_contexts=0"),
    )),
    Program("kvm_test_row", "KVM subtracts what a row says, and steps where it does not say enough", (
        Run("known", "instructions and branches too many", PMU, PERF, OVER, needs=OVERCOUNT),
        Run("places", "other numbers at each place", PMU, PERF, PLACES, needs=OVERCOUNT),
        Run("far", "far transfers too many, of which it is not told", PMU, PERF, f"{EXACT},far.entry=5", ("far",),
            needs=OVERCOUNT, told=EXACT),
    )),
    Program("kvm_test_perf", "records by performance counters are those of single steps", _skids(PMU, Need.PMU, True)),
    Program("kvm_test_prompt", "prompt delivery with late interrupts: records and missed events are the periods",
            (Run(cpu=PMU, kvm_amd=PERF, row=ZEN3, needs=(*COUNTERS, Need.RIGHT)),)),
    Program("kvm_test_release", "perf events are released soon after a profile has ended",
            (Run(cpu=PMU, kvm_amd=PERF, needs=(*COUNTERS, Need.RIGHT)),)),
    Program("kvm_test_rewrite", "nothing runs twice, or is lost, while a program's code is rewritten",
            (replace(STEP, smp=2), Run("net", "nets of breakpoints", PMU, PERF, smp=2, needs=COUNTERS))),
    # The processor of a QEMU of its own has them.
    Program("kvm_test_shstk", "programs with shadow stacks: SSP at system calls, records, #CP", (
        Run("step", STEP.line, CET, needs=(Need.SHADOW_STACKS,)),
        Run("perf", "performance counters", f"{CET},pmu=on", PERF, needs=(Need.SHADOW_STACKS, Need.PMU)),
    ), since="7.3"),
    Program("kvm_test_source", "exact and prompt delivery with interrupts that are all 40 instructions late",
            (Run(cpu=PMU, kvm_amd=PERF, row=late("40"), needs=(Need.PMU, Need.LATENESS)),)),
    Program("kvm_test_step", "counting by single steps is exact", (STEP, PERF_RUN)),
    Program("kvm_test_tf", "the guest never sees the RFLAGS.TF with which KVM steps", (STEP, PERF_RUN)),
    Program("kvm_test_threshold", "the threshold interrupt"),
    Program("kvm_test_unused", "where no VM has LWP nothing of it runs at a VM-Entry"),
    Program("kvm_test_vpmu", "the guest's own performance counters and LWP count at the same time",
            _skids(PMU + SIX, Need.SIX)),
)


def _whole(program: Program) -> list[Run]:
    marked = any(run.single for run in program.runs)
    return [
        replace(
            run, program=program.name, line="; ".join(filter(None, [program.line, run.line])), since=program.since,
            result=program.result, single=run.single if marked else run is program.runs[0],
        )
        for run in program.runs
    ]


def _number(series: str) -> list[int]:
    return [int(part) for part in series.split(".")]


def runs(kernel: str = "") -> list[Run]:
    """All runs that a kernel can have, the chosen one or that of a base, in the order of the table. Those with shadow
    stacks want a QEMU that has patches for them."""
    series = kernel or bases.linux_base().series
    every = [run for program in TABLE for run in _whole(program)]
    if not qemu_tree.folder(qemu_tree.LAB).texts():
        every = [run for run in every if Need.SHADOW_STACKS not in run.needs]
    return [run for run in every if not run.since or _number(run.since) <= _number(series)]


def run_of(program: str) -> Run:
    """The run of a program for those who run each once."""
    return next(run for run in runs() if run.program == program and run.single)
