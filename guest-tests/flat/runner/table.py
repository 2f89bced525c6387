# SPDX-License-Identifier: GPL-2.0-or-later
"""The table of rows: which test, on which virtual processor, and what the host must offer for it; and the virtual
machine of a row. Adding a test: one file in ../tests (named in ../meson.build), one row here, and a fault."""

from dataclasses import dataclass
from pathlib import Path

from planted import late, planted

EXACT = ",lwp-delivery=exact"
LWP = f"+lwp{EXACT}"
FAM15H = f"+lwp,lwp-profile=fam15h{EXACT}"
OS = f"+lwp,lwp-context=os{EXACT}"
VMCB = f"+lwp,lwp-context=os,lwp-vmcb=on,+svm,+npt,+v-vmsave-vmload{EXACT}"
PMU = "pmu=on,+perfctr-core,+perfmon-v2"
LBR = f"{PMU},+amd-lbr-v2,+amd-lbr-pmc-freeze"
PMU_INTEL = "check=off,pmu=on"
NO_CLOCKS = f"{LWP},lwp-cnh=off,lwp-rnh=off"
SMALL = ",{0}-cache-l1d=512/2/4,{0}-cache-l2=2K/4/12,{0}-cache-l3=8K/8/39,{0}-cache-ram=200"
CACHES = f",lwp-dme=on{SMALL.format('lwp')}"
IBS_CACHE = f"ibs-cache=on{SMALL.format('ibs')}"
LATENCY = ",lwp-dme=on,lwp-latency-max=10,lwp-latency-rounding=4,lwp-cache-ram=5000"
LATENCY_2007 = ",lwp-dme=on,lwp-latency-max=10,lwp-cache-ram=5000"
REV07 = f"+lwp,lwp-rev=2007{EXACT}"

# guest-tests/flat/tests/pmu_row.c knows these numbers.
PLACES = (
    "insns.cpuid=3,insns.step=50,insns.bp=70,insns.pf=110,insns.intn=130,insns.iret=170,insns.syscall=190,"
    "insns.sysret=230,branches.cpuid=5,far.cpuid=7"
)

# Why a row is not in the suite without the lab.
OF_QEMU = "QEMU itself"
OF_SETTING = "a setting of QEMU that CPUID does not tell"
OF_MACHINE = "a device or the chipset of QEMU's machine"
OF_RESET = "it resets the machine"
OF_ROW = "the suite runs its test on every processor, by another row"
OF_TOOL = "a load for other programs of the lab"

# What a row may need of the accelerator on which it runs, and who offers it. os-context: XCR0[62] and XSAVE component
# 62; clocks: events 5 and 6; dcache: event 4; speed: millions of profiled instructions in a few seconds; io-break:
# breakpoints on I/O, also where the hypervisor completes it.
OFFERS = {
    "tcg": ("tcg", "os-context", "clocks", "dcache", "vmcb-area", "speed", "io-break"),
    "kvm": ("kvm", "vmcb-area"),
}
SECONDS = 90  # after which a row is given up


@dataclass(frozen=True)
class Row:
    """A row. What is empty or 0 takes the default."""

    name: str  # unique
    cpu: str = ""  # properties of QEMU's CPU after the model
    args: str = ""  # more words for the test
    test: str = ""  # FLAT_TEST() in the image, if that has not the row's name
    model: str = "EPYC"
    cpus: int = 1
    resets: bool = False  # the test resets the machine
    hold: bool = False  # accesses of the guest are held: kernel/hold.h
    needs: str = ""  # of the accelerator
    row: str = ""  # planted in the counters (planted.py)
    counters: str = ""  # more properties of that object
    # The suite without the lab (manifest.py):
    absence: bool = False  # it is about processors without LWP
    asks: str = "event-2"  # of LWP's leaf
    hidden: bool = False  # it is about state of LWP that the guest's system does not switch
    lab: str = ""  # why the row is not in it

    def words(self, more: str = "") -> str:
        """What the kernel is told."""
        return " ".join(filter(None, [f"test={self.test or self.name} cpus={self.cpus}", self.args, more]))

    def offered(self, accel: str) -> bool:
        """Can this accelerator run it?"""
        return not self.needs or self.needs in OFFERS[accel]

    def command(
        self, qemu: str | Path, image: Path, accel: str, firmware: str | Path = "", more: str = ""
    ) -> list[str]:
        """The emulator's command line."""
        held = ["env", f"LD_PRELOAD={image.parent}/libhold.so"] if self.hold else []
        cpu = ",".join(filter(None, [self.model, self.cpu]))
        return [
            *held, str(qemu), "-accel", accel, "-machine", "q35,memory-backend=ram" if self.hold else "q35",
            *("-cpu", cpu, "-smp", str(self.cpus), "-m", "64", "-nodefaults", "-no-user-config", "-display", "none"),
            *("-serial", "stdio", "-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
            *("-kernel", str(image), "-append", self.words(more)),
            *planted(self.row, self.counters),
            *(("-L", str(firmware)) if firmware else ()),
            *(() if self.resets else ("-no-reboot",)),
            *(("-object", "memory-backend-memfd,id=ram,size=64M") if self.hold else ()),
        ]


ROWS = (
    # The test kernel itself.
    Row("self_user"),
    Row("self_smp", cpus=3),
    # The emulator itself: code that another processor changes.
    Row("code_patch", cpus=2, needs="tcg", lab=OF_QEMU),
    Row("code_held", cpus=2, hold=True, needs="tcg", lab=OF_QEMU),
    Row("code_apart", LWP, cpus=2, hold=True, needs="tcg", lab=OF_QEMU),
    # Instructions that it executes while all other processors wait.
    Row("lock_split", cpus=2, needs="tcg", lab=OF_QEMU),
    Row("alone", LWP, cpus=2, needs="tcg", lab=OF_QEMU),
    Row("bench", lab=OF_TOOL),
    Row("bench_profiled", LWP, "interval=100", test="bench", lab=OF_TOOL),
    Row("bench_stores", args="beside=1 rounds=1000", test="bench", lab=OF_TOOL),
    # CPUID and MSRs.
    Row("absent", absence=True),
    Row("leaf", LWP, "want=full", needs="clocks", lab=OF_QEMU),
    Row("leaf_no_clocks", NO_CLOCKS, "want=noclocks", test="leaf", lab=OF_QEMU),
    Row("leaf_counted", LWP, "want=noclocks", test="leaf", needs="kvm", lab=OF_QEMU),  # 43724-721
    Row("leaf_fam15h", FAM15H, "want=fam15h", test="leaf", lab=OF_QEMU),  # 43724-111
    Row("leaf_max_events", f"{LWP},lwp-max-events=2", "want=events2", test="leaf", lab=OF_QEMU),
    Row("leaf_min_buffer", f"{NO_CLOCKS},lwp-min-buffer=4", "want=minbuffer4", test="leaf", lab=OF_QEMU),
    Row("leaf_bits", f"{NO_CLOCKS},lwp-bre=off,lwp-cont=off,lwp-ptsc=off", "want=bits", test="leaf", lab=OF_QEMU),
    Row("leaf_2007", REV07, "want=2007", test="leaf", lab=OF_QEMU),  # 2007-102, 2007-104, 2007-105, 2007-108
    Row("leaf_2007_slots", f"{REV07},lwp-max-events=1", "want=2007slots", test="leaf", lab=OF_QEMU),  # 2007-110
    Row("leaf_dcache", f"{LWP}{CACHES},lwp-latency-max=12,lwp-latency-rounding=2", "want=dcache", test="leaf",
        needs="dcache", lab=OF_QEMU),
    # 2007-106
    Row("leaf_2007_dcache", f"{REV07}{CACHES}", "want=2007dcache", test="leaf", needs="dcache", lab=OF_QEMU),
    Row("msr", FAM15H, asks="event-2 event-3"),
    # The four instructions.
    Row("ud", LWP, asks=""),
    Row("legacy", LWP, cpus=2, hidden=True),
    Row("xop_forms", LWP, asks=""),
    Row("realmode", LWP, cpus=2, asks=""),
    Row("llwpcb", LWP, asks="event-2 event-3"),
    Row("slwpcb", LWP),
    Row("lwpins", LWP),
    Row("lwpval", LWP, asks="event-1 event-2"),
    Row("limits", f"{LWP},lwp-min-buffer=4,lwp-max-events=2"),
    Row("cpl0", LWP, asks="event-1 event-2"),
    # Counting and records.
    Row("fields", LWP, asks="event-1 event-2 event-3"),
    Row("ire", LWP),
    Row("ire_edges", LWP),
    Row("ire_special", LWP),
    Row("io_break", LWP, needs="io-break"),
    Row("ire_sweep", LWP),
    Row("budget", LWP, asks="event-1 event-2 event-3"),
    Row("find_mmio", LWP),
    Row("async", LWP, cpus=2, needs="speed", asks="event-2 event-3"),
    Row("async_short", LWP, "turns=600", test="async", cpus=2, needs="kvm", lab=OF_SETTING),  # 43724-701, 2007-701
    Row("bre", LWP, asks="event-2 event-3"),
    Row("bre_forms", LWP, asks="event-2 event-3"),
    Row("filters", LWP, asks="event-2 event-3"),
    Row("segments", LWP, asks="event-2 event-3"),
    Row("smm", LWP, lab=OF_MACHINE),
    Row("simultaneous", LWP, asks="event-2 event-3"),
    Row("ptsc", LWP, asks="time-stamp"),
    Row("clocks", LWP, needs="clocks", asks="event-5 event-6"),
    Row("dcache", f"{LWP}{CACHES}", needs="dcache", lab=OF_SETTING),
    Row("dcache_latency", f"{LWP}{LATENCY}", "want=latency", test="dcache", needs="dcache", lab=OF_SETTING),  # 2007-712
    # The ring.
    Row("ring", LWP),
    Row("ring_code", LWP),
    Row("random", LWP),
    Row("retry", LWP, asks="event-1 event-2"),
    Row("order", LWP),
    Row("not_ram", LWP),
    Row("no_apic", f"{LWP},-apic,{PMU}", needs="tcg", lab=OF_SETTING),
    Row("threshold", LWP, asks="event-2 interrupt"),
    Row("threshold_fam15h", FAM15H, test="threshold", lab=OF_ROW),  # 43724-111, 43724-811
    # Random programs: `./vlwp soak diff` compares accelerators.
    Row("diff", f"{NO_CLOCKS},lwp-ptsc=off", lab=OF_TOOL),
    # Contexts found by the hypervisor.
    Row("context_auto", LWP, hidden=True),
    Row("context_segments", LWP, "segments=1", test="context_auto", needs="tcg", hidden=True),
    Row("context_verify", LWP, hidden=True),
    Row("context_windows", LWP, hidden=True, asks="event-2 smallest-ring"),
    Row("context_many", LWP, hidden=True, asks="event-2 smallest-ring"),
    Row("context_collect", f"{LWP},lwp-context-age=1", needs="tcg", lab=OF_SETTING),
    Row("context_reset", LWP, resets=True, lab=OF_RESET),
    Row("init", LWP, cpus=2),
    Row("preset_off", f"{LWP},lwp-preset=off", cpus=2, lab=OF_SETTING),
    Row("os_init", OS, "context=os", test="init", cpus=2, needs="os-context", lab=OF_ROW),
    # Five-level paging, which the processors that KVM is tested on lack.
    Row("la57", f"{LWP},+la57", needs="tcg"),
    Row("la57_collect", f"{LWP},+la57,lwp-context-age=1", test="context_collect", needs="tcg", lab=OF_SETTING),
    Row("cpu_unplug", LWP, cpus=2, needs="tcg", lab=OF_MACHINE),
    # The program that `./vlwp test migrate` moves.
    Row("migrate", LWP, lab=OF_TOOL),
    Row("migrate_dcache", f"{LWP},lwp-dme=on,lwp-cache-l1d=4K/1/4,lwp-cache-l2=none,lwp-cache-l3=none", "dcache=1",
        test="migrate", needs="dcache", lab=OF_TOOL),
    Row("context_smp", LWP, cpus=2, hidden=True),
    Row("context_smp_3", LWP, test="context_smp", cpus=3, hidden=True),
    # A page table in a device, which KVM does not walk.
    Row("context_mmio", LWP, test="mmio_tables", cpus=2, needs="tcg", lab=OF_MACHINE),  # 43724-904
    Row("context_mmio_svm", f"{LWP},+svm", test="mmio_tables", cpus=2, needs="tcg", lab=OF_MACHINE),  # 43724-904
    Row("find_mmio_table", LWP, "what=ring", test="mmio_tables", needs="tcg", lab=OF_MACHINE),  # 43724-710
    # Contexts switched by the guest's OS. What was above runs under such an OS in the suite (lab/tests/flat).
    Row("os_xcr0", OS, needs="os-context", asks="event-2 event-3"),
    Row("os_xsave", OS, "context=os", needs="os-context", asks="event-2 event-3"),
    Row("os_forms", OS, "context=os", needs="os-context", asks="event-2 event-3"),
    Row("os_nt", OS, needs="os-context", asks="event-1"),
    Row("os_smp", OS, "context=os", cpus=2, needs="os-context"),
    Row("os_reset", OS, "context=os", test="context_reset", resets=True, needs="os-context", lab=OF_RESET),
    Row("os_hostile", OS, "context=os", needs="os-context"),
    Row("os_smm", OS, "context=os", test="smm", needs="os-context", lab=OF_MACHINE),
    # SVM guests: none with auto contexts; with LWP in the VMCB VMLOAD and VMSAVE switch it.
    Row("svm_auto", f"{LWP},+svm,+npt", hidden=True),
    Row("svm_cr8", "+svm", lab=OF_QEMU),
    Row("svm_mmio", VMCB, needs="tcg", lab=OF_QEMU),
    Row("svm_switch", VMCB, "context=os", needs="vmcb-area", asks="event-2 event-3"),
    Row("svm_npt", VMCB, "context=os", needs="vmcb-area", asks="event-2"),
    Row("svm_hostile", VMCB, "context=os", needs="vmcb-area", asks="event-2 event-3"),
    # Performance counters, which only TCG models.
    Row("pmu_count", PMU, needs="tcg"),
    Row("pmu_modes", f"{PMU},+monitor", cpus=2, needs="tcg"),
    Row("pmu_trace", f"{PMU},+lwp", needs="tcg"),
    Row("pmu_overflow", PMU, needs="tcg"),
    Row("pmu_overflow_v1", "pmu=on,+perfctr-core", test="pmu_overflow", needs="tcg"),
    Row("pmu_overflow_lwp", f"{PMU},+lwp", test="pmu_overflow", needs="tcg"),  # 2007-715
    Row("pmu_overflow_skid", PMU, "skid=13", test="pmu_overflow", row=late("13"), needs="tcg", lab=OF_SETTING),
    Row("pmu_skid_zen2", PMU, "min=800 max=5043", test="pmu_skid", row=late("zen2"), needs="tcg", lab=OF_SETTING),
    Row("pmu_skid_zen3", PMU, "min=1202 max=86738", test="pmu_skid", row=late("zen3"), needs="tcg", lab=OF_SETTING),
    # A cycle is four instructions.
    Row("pmu_skid_ipc", PMU, "min=300 max=21684", test="pmu_skid", row=late("zen3/16"), counters="ipc=4", needs="tcg",
        lab=OF_SETTING),
    Row("pmu_skid_adversarial", PMU, test="pmu_skid", row=late("zen3"), counters="adversarial=on",
        needs="tcg", lab=OF_SETTING),
    Row("pmu_lost", PMU, "lost=4", test="pmu_skid", row=f"{late('0')},lost=4", needs="tcg", lab=OF_SETTING),
    Row("pmu_svm", f"{PMU},+svm", needs="tcg"),
    Row("pmu_row", f"{PMU},+svm,+npt", row=PLACES, needs="tcg", lab=OF_SETTING),
    Row("pmu_smi", f"{LWP},{PMU}", test="smm", needs="tcg", lab=OF_MACHINE),
    Row("pmu_events", PMU, needs="tcg"),
    Row("pmu_events_15h", PMU, "family=15h", test="pmu_events", model="Opteron_G5", needs="tcg", lab=OF_SETTING),
    Row("pmu_events_ipc", PMU, "ipc=4", test="pmu_events", counters="ipc=4", needs="tcg", lab=OF_SETTING),
    Row("pmu_predictor", PMU, counters="predictor=2bit", needs="tcg", lab=OF_SETTING),
    Row("pmu_irperf", f"{PMU},+irperf", needs="tcg"),
    Row("pmu_lbr", LBR, needs="tcg"),
    Row("pmu_lbr_stepped", LBR, "edge=1", test="pmu_lbr", needs="tcg"),
    Row("pmu_lbr_lwp", f"{LBR},+lwp", test="pmu_lbr", needs="tcg"),
    Row("pmu_lbr_svm", f"{LBR},+svm,+lbrv", needs="tcg"),
    Row("pmu_ibs", f"{PMU},+ibs", needs="tcg"),
    Row("pmu_ibs_npt", f"{PMU},+ibs,+svm,+npt", needs="tcg"),
    Row("pmu_ibs_cache", f"{PMU},+ibs,{IBS_CACHE}", needs="tcg", lab=OF_SETTING),
    Row("pmu_ibs_dcache", f"{PMU},+ibs,{LWP}{CACHES}", "model=lwp", test="pmu_ibs_cache", needs="tcg", lab=OF_SETTING),
    Row("pmu_ibs_dcache_own", f"{PMU},+ibs,{IBS_CACHE},{LWP}{CACHES}", "model=both", test="pmu_ibs_cache",
        needs="tcg", lab=OF_SETTING),
    Row("pmu_ibs_dcache_paused", f"{PMU},+ibs,ibs-cache=on,{LWP},lwp-dme=on", "model=paused", test="pmu_ibs_cache",
        needs="tcg", lab=OF_SETTING),
    Row("pmu_ibs_lwp", f"{PMU},+ibs,+lwp,lwp-dme=on", test="pmu_ibs", needs="tcg", lab=OF_SETTING),
    # Intel's, by version.
    Row("pmu_intel_v1", f"{PMU_INTEL},pmu-version=1", "version=1 gp=4 width=48", test="pmu_intel", model="Nehalem",
        needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_v2", PMU_INTEL, "version=2 gp=2 width=40", test="pmu_intel", model="Penryn", needs="tcg",
        lab=OF_QEMU),
    Row("pmu_intel_v3", f"{PMU_INTEL},pmu-version=3", "version=3 gp=4 width=48", test="pmu_intel", model="Haswell",
        needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_v4", PMU_INTEL, "version=4 gp=4 width=48", test="pmu_intel", model="Skylake-Client", needs="tcg",
        lab=OF_QEMU),
    Row("pmu_intel_v5", PMU_INTEL, "version=5 gp=8 width=48", test="pmu_intel", model="SapphireRapids", needs="tcg",
        lab=OF_QEMU),
    Row("pmu_intel_count", PMU_INTEL, model="Skylake-Client", needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_count_v1", f"{PMU_INTEL},pmu-version=1", test="pmu_intel_count", model="Nehalem", needs="tcg",
        lab=OF_QEMU),
    Row("pmu_intel_count_v5", PMU_INTEL, "predictor=2bit", test="pmu_intel_count", counters="predictor=2bit",
        model="SapphireRapids", needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_overflow", PMU_INTEL, model="Skylake-Client", needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_overflow_v1", f"{PMU_INTEL},pmu-version=1", test="pmu_intel_overflow", model="Nehalem",
        needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_overflow_v2", PMU_INTEL, test="pmu_intel_overflow", model="Nehalem", needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_overflow_skid", PMU_INTEL, "skid=13", test="pmu_intel_overflow", model="Skylake-Client",
        row=late("13"), needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_init", PMU_INTEL, model="Skylake-Client", cpus=2, needs="tcg", lab=OF_QEMU),
    Row("pmu_intel_off", model="Skylake-Client", needs="tcg", lab=OF_QEMU),
    # The 2007 proposal.
    Row("rev07_msr", REV07, "rev=2007", hidden=True, asks="3-slots"),
    Row("rev07_msr_mmio", REV07, "rev=2007", test="mmio_tables", needs="tcg", lab=OF_MACHINE),  # 2007-206
    Row("rev07_llwpcb", REV07, "rev=2007", asks="3-slots"),
    # 2007-204, 2007-405, 2007-801 to 2007-806, 2007-809
    Row("rev07_threshold", REV07, "rev=2007", test="threshold", asks="3-slots"),
    Row("rev07_events", REV07, "rev=2007", asks="3-slots"),
    # 2007-305, 2007-808, 2007-901, 2007-902
    Row("rev07_context", REV07, "rev=2007", test="context_auto", hidden=True, asks="3-slots"),
    Row("rev07_slots", f"{REV07},lwp-max-events=1", "rev=2007", asks="1-slot"),
    Row("rev07_store", REV07, "rev=2007", asks="3-slots"),
    Row("os_rev07", f"{VMCB},lwp-rev=2007", "rev=2007 context=os", needs="vmcb-area", asks="3-slots"),
    # 2007-412, 2007-413, 2007-507, 2007-710, 2007-711
    Row("rev07_dcache", f"{REV07}{CACHES}", "rev=2007", test="dcache", needs="dcache", lab=OF_SETTING),
    Row("rev07_dcache_latency", f"{REV07}{LATENCY_2007}", "rev=2007 want=latency", test="dcache", needs="dcache",
        lab=OF_SETTING),  # 2007-712
)
