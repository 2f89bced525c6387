# SPDX-License-Identifier: GPL-2.0-or-later
"""The patched QEMU, configured in other ways: it compiles, links, and starts; KVM with clang."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from lab.building import linux, qemu, qemu_other, tools
from lab.building.qemu_other import Other
from lab.checks import kvm_warnings, qemu_warnings
from lab.common import places
from lab.common.steps import jobs_count
from lab.migrate.machines import alone
from lab.testing import seeds
from lab.testing.suite import flatrun, only
from lab.tests.conftest import good, machine, run


def _machine(program: Path, accel: str, cpu: str) -> list[str]:
    return ["timeout", "60", *machine(cpu, qemu=program, accel=accel)]


def _no_tcg(program: Path) -> None:
    """Its CPUs have the properties; without KVM there is nothing that could count."""
    ended = run(_machine(program, "tcg", "EPYC,+lwp"))
    assert ended.status == 1 and "invalid accelerator tcg" in ended.said
    ended = run(_machine(program, "qtest", "EPYC,+lwp,lwp-max-events=9"))
    assert ended.status == 1 and "lwp-max-events is at most" in ended.said


def _flatrun(program: Path, *words: str) -> list[str]:
    return [*flatrun(*words), "--qemu", str(program)]


def _flat(program: Path) -> None:
    """The flat tests of some rows."""
    good(_flatrun(program, *only(("retry", "bre", "pmu_count"))))


def _i386(program: Path) -> None:
    """A processor of 32 bits with LWP gets as far as the firmware: the machine waits until it is ended."""
    assert run(["timeout", "5", *_machine(program, "tcg", "EPYC,check=off,+lwp")[2:]]).status == 124


def _user(program: Path) -> None:
    """A program runs, and has no LWP."""
    assert good([program, "/bin/echo", "it runs"]) == "it runs\n"


SLOWER = ("--seconds", "900")
MUCH_SLOWER = ("--seconds", "2700")
# Leaks are not looked for: QEMU leaves at its end what it has allocated. test_expansions counts the blocks of LWP.
# libhold.so is loaded before the library of ASan, which replaces none of the functions that it has.
SANITIZER = {
    "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:verify_asan_link_order=0",
    "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
}
DAMAGED = 300  # streams


def _asan(program: Path) -> None:
    """All flat tests, and the fuzzer of migration. What ASan or UBSan finds ends QEMU, and so the test fails."""
    good(_flatrun(program, *SLOWER), env=SANITIZER)
    fuzz = (f"--count={DAMAGED}", f"--seed={seeds.draw()}", f"--jobs={jobs_count()}", f"--qemu={program}")
    good(alone("fuzz", *fuzz), env=SANITIZER)


# Rows with several processors.
SMP = (
    "self_smp", "code_patch", "realmode", "async", "legacy", "init", "os_init", "os_smp", "context_smp",
    "context_smp_3", "context_mmio", "pmu_modes",
)
KNOWN = places.TOP / "lab/tests/soak/tsan-known.list"
ENTRY = re.compile(r"^(access|within) (\w+): .", re.MULTILINE)


def races(text: str) -> list[str]:
    """The reports of TSan, each whole."""
    found = re.findall(r"^WARNING: ThreadSanitizer:.*?^=+$", text, re.MULTILINE | re.DOTALL)
    return [report for report in found if isinstance(report, str)]


def known(report: str, entries: Sequence[tuple[str, str]]) -> bool:
    """Does an entry of the list name a function of one of the two accesses?"""
    accesses = report[:report.find("Location is")]
    return any(
        re.search(rf"^ +#{'0' if kind == 'access' else '[0-9]+'} {name} ", accesses, re.MULTILINE)
        for kind, name in entries
    )


def _tsan(program: Path) -> None:
    """The rows with several processors, without a race but those that the list has with a reason."""
    with TemporaryDirectory() as logs:
        words = f"log_path={logs}/log:exitcode=0:history_size=7"
        good(["setarch", "-R", *_flatrun(program, *MUCH_SLOWER, *only(SMP))], env={"TSAN_OPTIONS": words})
        found = [report for log in sorted(Path(logs).iterdir()) for report in races(log.read_text(errors="replace"))]
    entries = [(match[1], match[2]) for match in ENTRY.finditer(KNOWN.read_text(encoding="ascii"))]
    new = [report for report in found if not known(report, entries)]
    print(f"{len(found)} reports, {len(new)} of them not known")
    assert not new, "the first is:\n" + "".join(new[:1])


STARTS: dict[str, Callable[[Path], None]] = {
    "no-tcg": _no_tcg, "i386": _i386, "user": _user, "clang": _flat, "asan": _asan, "tsan": _tsan,
}


@pytest.mark.soak
@pytest.mark.parametrize("other", [pytest.param(other, id=other.name) for other in qemu_other.ALL])
def test_builds(other: Other) -> None:
    """It compiles, links and starts."""
    tools.build()
    STARTS[other.name](qemu_other.link(other, good))


@pytest.mark.soak
def test_builds_32_bits(tmp_path: Path) -> None:
    """QEMU's part of LWP compiles for a host of 32 bits: QEMU 10.0 is built for such hosts, too."""
    qemu.build()
    assert qemu_warnings.problems_32(qemu.out_dir("vlwp"), tmp_path) == []


@pytest.mark.soak
def test_builds_kvm_clang() -> None:
    """KVM's part of LWP compiles with clang and warnings as errors; gcc compiles the modules so when they are built."""
    linux.build()
    assert kvm_warnings.problems(places.KVM / "tree/arch/x86/kvm", linux.fetch().headers_dir) == []
