# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm: LWP for KVM guests, in the nested lab."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from lab.building import linux, tools
from lab.checks import kvm_warnings
from lab.checks.sources import problems
from lab.common import bases, places
from lab.common.beside import side_by_side
from lab.common.places import KVM
from lab.common.report import Check, Report
from lab.common.steps import jobs_count
from lab.nested import diff, flat, here, l1, linux_guest, lwpctl, programs, skid, tap
from lab.nested.l1 import L1
from lab.nested.programs import Run
from lab.start import install_conformance
from lab.testing import seeds
from lab.testing.part import Case, Part, apart
from lab.testing.suite import ROWS, line_of
from lab.tests.flat import test_conformance

# Many times what a machine runs: one that hangs is a failure, not the end of the test.
LAB = L1(smp=2, limit=1500)
FLAT_LAB = replace(LAB, smp=1)
CLANG = "compile-clang"
CLANG_LINE = "KVM's part of LWP compiles with clang and warnings as errors"
ROW = "flat/"  # before the name of a row of the flat suite
COUNTED = "flat-skid-0"
# How the names of cases begin that share what the first of them has written.
TOGETHER = ("export/", "guest")
# At once: each has processors and gigabytes of its own.
LABS = 2
# Rows of the flat suite that count and sample.
COUNTING = "ire ire_edges ire_special ire_sweep budget bre bre_forms filters segments simultaneous ring random".split()
# Of the other rows so many are drawn to run with counters; soak flat-kvm runs all. Not these: they have nothing to do
# with LWP and take long, or are of hosts without counters.
DRAWN = 8
NOT_DRAWN = ("code_patch", "leaf_counted", "bench", "bench_profiled", "bench_stores")
PROGRAMS = {"0": 50, "500": 15}  # random ones, for each skid
ON_OTHER_KERNEL = 3  # programs; soak bases runs all
LWPCTL_CHECKS: tuple[tuple[str, str, Callable[[Check, L1], None]], ...] = (
    ("refused-stock", "+lwp on a host without it fails with one line", lwpctl.refused),
    ("refused-misses", "lwp-dme=on fails with one line under KVM, which has LWP", lwpctl.refused_misses),
    (
        "lwpctl-caps",
        "lwpctl says the same of /dev/kvm and of QEMU with KVM, and it is what KVM announces",
        lwpctl.same_caps,
    ),
    (
        "lwpctl-without",
        "lwpctl on a host without LWP, and on one without KVM, says so in one line",
        lwpctl.without_lwp,
    ),
    ("delivery", "QEMU delivers promptly where KVM has counters", lwpctl.prompt_delivery),
)


MEMORY = re.compile(r" memory:(\d+)")
MORE_MEMORY = 4096  # bytes: of the statistics of a VM


def _exits_are_the_same(check: Check, run: Run) -> None:
    """A guest that does not use LWP exits as often, and for the same reasons, as with the kernel's own modules. KVM
    allocates no more for it than for its statistics."""
    lines: list[str] = []
    memory: list[float] = []
    for stock in (False, True):
        place = check.work / f"{run.directory}-{'stock' if stock else 'ours'}"
        status = l1.boot_logged(replace(run.lab(), stock=stock), place, run.command())
        text = (place / "log").read_text(encoding="utf-8", errors="replace")
        check.want(status == 0, f"{text}[status {status}]")
        rounds = [line for line in text.splitlines() if line.startswith("# exits")]
        lines += rounds
        # The kernel allocates more now and then, in the first round above all.
        each = [int(found[1]) for line in rounds if (found := MEMORY.search(line))]
        memory += [median(each)] if each else []
    check.say("\n".join(lines))
    check.want(len(lines) == 2 * int(run.args[0]) and all(":" in line for line in lines), "rounds are missing")
    check.want(len({MEMORY.sub("", line) for line in lines}) == 1, "they differ")
    check.want(not memory or max(memory) - min(memory) <= MORE_MEMORY, "the memory differs")


def _shown(lab: L1, command: Sequence[str]) -> Callable[[], str]:
    return lambda: l1.shown(lab, command)


def _program(run: Run) -> Case:
    shown = _shown(run.lab(), tap.command(run))
    if run.result == "exits":
        return Case(run.name, run.line, lambda report: report.check(run.line, _exits_are_the_same, run), shown)
    return Case(run.name, run.line, lambda report: tap.boot(report, run), shown)


def _programs() -> list[Case]:
    """The runs of the table; what takes its time comes last."""
    order = ("tap", "exits", "seeded-tap")
    return [_program(run) for run in sorted(programs.runs(), key=lambda run: order.index(run.result))]


def _on_other_kernel(series: str, report: Report) -> None:
    """Some of the programs with KVM of another base: by lot, and those that only it can run."""
    l1.prepare_kernel(series)
    seed, here = seeds.draw(), programs.runs()
    able = [run for run in programs.runs(series) if run.result != "exits"]
    chosen = random.Random(seed).sample([run for run in able if run in here], ON_OTHER_KERNEL)
    chosen += [run for run in able if run not in here]
    names = " ".join(run.name for run in chosen)
    again = f"again with: ./vlwp test kvm --base=linux-{series} {names}"
    report.line(f"Linux {series}: seed {seed} draws {names}; {again}")
    for run in chosen:
        tap.boot(report, run, series)


def _other_kernels() -> list[Case]:
    line = f"{ON_OTHER_KERNEL} of the programs, by lot, with KVM of Linux"
    series = bases.other_kernels()
    return [Case(f"linux-{name}", f"{line} {name}", partial(_on_other_kernel, name)) for name in series]


def _lwpctl(name: str, line: str, function: Callable[[Check, L1], None]) -> Case:
    return Case(name, line, lambda report: report.check(line, function, LAB))


def _stock_kvm(check: Check, lab: L1) -> None:
    """KVM with the kernel's own modules, which know nothing of LWP."""
    place = check.work / "conformance-kvm"
    install_conformance.install(place)
    argv = test_conformance.command(places.qemu(), "EPYC,check=off", test_conformance.by_kernel(place), accel="kvm")
    l1.boot_logged(replace(lab, stock=True), place / "l1", argv)
    status, results = test_conformance.judged(place, place / "l1/log")
    check.want(status == 0, f"status {status}")
    test_conformance.want_absence(place, results)


def _stock_suite() -> Case:
    line = "the suite that stands alone: the kernel's own KVM has no LWP, and all rows but those of absence are skipped"
    return Case("conformance-stock", line, lambda report: report.check(line, _stock_kvm, LAB))


def _compiles_with_clang(report: Report) -> None:
    """gcc compiles the modules with warnings as errors when they are built."""
    headers = linux.fetch().headers_dir
    report.check(CLANG_LINE, lambda check: problems(check, kvm_warnings.problems(KVM / "tree/arch/x86/kvm", headers)))


def _same_in_both(report: Report) -> None:
    name = "50 random programs leave the same records in TCG and KVM"
    report.check(name, diff.same_records, diff.Programs(seeds.draw(), 0, 50), LAB, report.work / "diff")
    diff.tell(report, name)


def _same_when_late(report: Report, late: str, count: int) -> None:
    name = f"skid {late}: {count} random programs leave the same records in TCG and KVM"
    report.check(name, skid.same_programs, skid.SKIDS[late], diff.Programs(seeds.draw(), 0, count), LAB)
    diff.tell(report, name)


def _here() -> list[Case]:
    rows = (
        ("here", "test kvm --here tests a machine and reports on it", here.report),
        ("here-stock", "test kvm --here says what is missing where KVM has no LWP", here.refused),
    )
    return [Case(name, line, partial(_checked, line, function)) for name, line, function in rows]


def _checked(line: str, function: Callable[[Check], None], report: Report) -> None:
    report.check(line, function)


def _diff() -> list[Case]:
    stepped = Case("diff", "50 random programs leave the same records in TCG and KVM", _same_in_both)
    line = "{} random programs leave the same records in TCG and KVM whose counters interrupt late by {} instructions"
    return [
        stepped,
        *(
            Case(f"diff/skid-{late}", line.format(count, late), partial(_same_when_late, late=late, count=count))
            for late, count in PROGRAMS.items()
        ),
    ]


class _Guest:
    """The checks in a Linux guest: three of one boot, two about one profile."""

    def __init__(self) -> None:
        self.profile: linux_guest.Profile | None = None
        self.session: linux_guest.Session | None = None

    def _booted(self, report: Report) -> linux_guest.Session:
        self.session = self.session or linux_guest.Session(report.work)
        return self.session

    def command(self, report: Report) -> None:
        """A command."""
        report.check("a command in a Linux guest under KVM", self._booted(report).a_command)

    def gs(self, report: Report) -> None:
        """GS base tells threads apart."""
        line = "threads of a Linux guest under KVM that GS base tells apart"
        report.check(line, self._booted(report).by_gs)

    def windows(self, report: Report) -> None:
        """Windows of branches."""
        line = "windows of branches in a Linux guest under KVM are paths, and all of them the whole trace"
        report.check(line, self._booted(report).windows)

    def shares(self, report: Report) -> None:
        """The profile."""
        self.profile = linux_guest.Profile(report.work)
        name = "a program in a Linux guest under KVM is profiled by the PMU, its shares are right"
        report.check(name, self.profile.take)

    def counted(self, report: Report) -> None:
        """What it took."""
        if not self.profile:
            self.shares(report)
        assert self.profile
        report.check("that took one interrupt for each record, and hardly a step", self.profile.by_the_pmu)

    def cases(self) -> list[Case]:
        """All of them."""
        return [
            Case("guest", "a command in a Linux guest under KVM", self.command),
            Case("guest/gs", "threads there that GS base tells apart, as under Wine", self.gs),
            Case("guest/windows", "windows of branches there are paths, and all of them the whole trace", self.windows),
            Case("guest/profile", "a program there is profiled by the PMU, its shares are right", self.shares),
            Case("guest/pmu", "that takes one interrupt for each record, and hardly a step", self.counted),
        ]


def _flat(names: Sequence[str], report: Report) -> None:
    """Rows of the flat suite; without names all."""
    flat.run(report.work, names, FLAT_LAB)
    flat.results(report, "flat suite", report.work / "flat/log")


def _counted_rows(seed: int) -> list[str]:
    """The rows that run with counters: those that count and sample, and others by lot."""
    others = sorted(set(flat.offered()) - {*COUNTING, *NOT_DRAWN})
    return [*COUNTING, *random.Random(seed).sample(others, DRAWN)]


def _run_counted(report: Report) -> None:
    seed = seeds.draw()
    chosen = _counted_rows(seed)
    again = " ".join(chosen[len(COUNTING):])
    report.line(f"flat suite with counters: seed {seed} draws {again}; again with: ./vlwp soak flat-kvm pmu {again}")
    skid.run_flat(report.work, skid.SKIDS["0"], chosen, FLAT_LAB)


def _flat_counted(report: Report) -> None:
    _run_counted(report)
    skid.flat_results(report, skid.SKIDS["0"])


def _flat_rows() -> list[Case]:
    stepped = [
        Case(ROW + row.name, line_of(row), partial(_flat, [row.name]), _shown(FLAT_LAB, flat.command([row.name])))
        for row in ROWS
    ]
    shown = _shown(skid.SKIDS["0"].lab(FLAT_LAB), skid.flat_command(COUNTING))
    counted = f"rows of the flat suite that count and sample, and {DRAWN} others by lot, with counters"
    return [*stepped, Case(COUNTED, counted, _flat_counted, shown)]


class _FlatSuites:
    """What runs on the other processor while the rest runs: all chosen rows of the flat suite in one L1, stepped; then
    the rows that count and some by lot, with counters."""

    def __init__(self, cases: Sequence[Case], report: Report):
        self.report = report
        self.rows = [case.name.removeprefix(ROW) for case in cases if case.name.startswith(ROW)]
        self.all = len(self.rows) == len(ROWS)
        self.counted = any(case.name == COUNTED for case in cases)

    def run(self) -> None:
        """Run them."""
        if self.rows:
            flat.run(self.report.work, [] if self.all else self.rows, FLAT_LAB)
        if self.counted:
            _run_counted(self.report)

    def results(self) -> None:
        """Report them."""
        if self.rows:
            flat.results(self.report, "flat suite", self.report.work / "flat/log")
        if self.counted:
            skid.flat_results(self.report, skid.SKIDS["0"])


class Kvm(Part):
    """The programs of kvm/tests, the series, lwpctl, random programs, a Linux guest, the flat suite."""

    name = "kvm"

    def prepare_names(self) -> None:
        tools.build()

    def prepare(self) -> None:
        l1.prepare()

    def cases(self) -> list[Case]:
        from lab.series import checks

        lwpctl_cases = [_lwpctl(*row) for row in LWPCTL_CHECKS]
        clang = Case(CLANG, CLANG_LINE, _compiles_with_clang)
        own = [clang, *_programs(), *_other_kernels(), *checks.cases(), *lwpctl_cases]
        return [*own, *_here(), _stock_suite(), *_diff(), *_Guest().cases(), *_flat_rows()]

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """On all processors; one begins with the flat suites, which take longest."""
        suites = _FlatSuites(cases, report)
        works: list[Callable[[], object]] = [partial(apart, group, report) for group in _groups(cases)]
        if suites.rows or suites.counted:
            works.insert(0, suites.run)
        if len(works) == 1 and len(cases) == 1:
            cases[0].go(report)
            return
        side_by_side(works, min(jobs_count(), LABS))
        suites.results()


def _groups(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases that are no rows of the flat suite. Those that share files come one after the other."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.name != COUNTED and not case.name.startswith(ROW):
            key = next((start for start in TOGETHER if case.name.startswith(start)), case.name)
            groups.setdefault(key, []).append(case)
    return list(groups.values())


PART = Kvm()
