# SPDX-License-Identifier: GPL-2.0-or-later
"""KVM whose counters interrupt late, with `exact` delivery: how it is tested with each value of pmu-skid."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lab.common.report import Check, Report
from lab.nested import diff, flat, l1
from lab.nested.l1 import L1
from lab.testing.suite import flatrun, only


@dataclass(frozen=True)
class Skid:
    """A value of pmu-skid and the settings with which the counter is used."""

    name: str
    margin: str  # parameters of kvm-amd
    words: tuple[str, ...]  # for programs and intervals that are long beside the margin
    permille: int  # records that may be late

    def lab(self, lab: L1) -> L1:
        """The machine with it."""
        return replace(lab, cpu=f"EPYC,pmu=on,pmu-skid={self.name}", kvm_amd=f"lwp_source=perf {self.margin}".strip())

    @property
    def directory(self) -> str:
        """A name for files."""
        return "skid-" + self.name.replace("/", "-")


# In the order of the soak, the longest last.
SKIDS = {
    skid.name: skid
    for skid in (
        # A fixed skid: a margin that is just enough, see kvm/tests/kvm_test_perf.c.
        Skid("0", "lwp_margin=2", (), 0),
        Skid("500", "lwp_margin=502", ("spin=100", "interval=700"), 0),
        Skid("zen2/16", "lwp_margin_start=256", ("spin=100", "interval=400"), 10),
        Skid("zen3/16", "lwp_margin_start=256", ("spin=100", "interval=400"), 10),
        Skid("adversarial", "lwp_margin_start=256", ("spin=300", "interval=2000"), 1000),
        Skid("zen2", "", ("spin=600", "interval=6000"), 10),
        Skid("zen3", "", ("spin=600", "interval=6000"), 10),
    )
}


def same_programs(check: Check, skid: Skid, programs: diff.Programs, lab: L1) -> None:
    """The random programs in TCG and with this skid."""
    place = check.work / skid.directory
    diff.late_records(check, replace(programs, words=skid.words), skid.lab(lab), place, skid.permille)


def flat_command(rows: Sequence[str]) -> list[str]:
    """The command line of the flat suite, or of rows of it, in L1."""
    return [str(diff.TRACE), *flatrun("--jobs", 1, "--seconds", 720, *only(rows), accel="kvm")]


def run_flat(work: Path, skid: Skid, rows: Sequence[str], lab: L1) -> None:
    """Run the flat suite, or rows of it, for flat_results()."""
    l1.boot_logged(skid.lab(lab), work / f"{skid.directory}-flat", flat_command(rows))


def flat_results(report: Report, skid: Skid) -> None:
    """Report what run_flat() has found. Where records may be late, as many rows may fail as are."""
    place, name = report.work / f"{skid.directory}-flat", f"flat suite, skid {skid.name}"
    late, reads = len(_lines(place / "share/overshoots")), " ".join(_lines(place / "share/reads"))
    report.line(f"{name}: {late} overshoots, the counter was read {reads} times")
    if not late or not skid.permille:
        flat.results(report, name, place / "log")
        if late:
            report.not_ok(f"{name}: {late} overshoots")
        return
    output = _lines(place / "log")
    failing = sum(line.startswith(("FAIL", "ERROR")) for line in output)
    if flat.COMPLAINT in "\n".join(output):
        report.not_ok(f"{name}: the kernel of L1 complains")
    elif any(" passed, " in line for line in output) and failing <= late:
        report.ok(f"{name}: {failing} rows have seen a late record")
    else:
        report.not_ok(f"{name}: {failing} rows fail")
    for line in output:
        if not line.startswith(("pass", "skip")):
            report.line(line, 8)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
