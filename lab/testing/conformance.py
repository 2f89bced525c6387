# SPDX-License-Identifier: GPL-2.0-or-later
"""The conformance suite as `./vlwp install conformance` writes it, without the lab's help: booted by unpatched QEMU,
which has no LWP, and by the patched one; its serial log is judged by the judge.py that lies beside it."""

import json
import re
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from lab.building import qemu
from lab.common import places, proc
from lab.common.report import Check, Report
from lab.nested import l1
from lab.nested.l1 import L1
from lab.start import install_conformance
from lab.testing.part import Case

LIMIT = 240  # seconds: many times what it takes
END = "# suite: end"
# What another hypervisor, or a machine, would be started with: nothing of the lab's.
MACHINE = ("-machine", "q35", "-m", "64", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio")
EXIT = ("-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-no-reboot")
# Rows that a processor without LWP can run.
WITHOUT_LWP = {"self_user", "self_smp", "absent"}
IN_REAL_MODE = {"realmode"}  # the instructions raise #UD there, with LWP and without
COUNTERS = "+perfctr-core,+perfmon-v2,pmu=on,+monitor"
# The processors between which every row of the manifest runs.
PROCESSORS = (
    f"EPYC,check=off,lwp=on,+svm,+npt,+la57,{COUNTERS}",
    f"EPYC,check=off,lwp=on,+svm,+lbrv,+irperf,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs,{COUNTERS}",
    "EPYC,check=off,lwp=on,lwp-profile=fam15h",
    "EPYC,check=off,lwp=on,lwp-context=os,lwp-vmcb=on,+svm,+npt,+v-vmsave-vmload",
    "EPYC,check=off,lwp=on,lwp-min-buffer=4,lwp-max-events=2",
    "EPYC,check=off,lwp=on,lwp-rev=2007",
    "EPYC,check=off,lwp=on,lwp-rev=2007,lwp-max-events=1",
    "EPYC,check=off,lwp=on,lwp-rev=2007,lwp-context=os,lwp-vmcb=on,+svm,+npt,+v-vmsave-vmload",
)
RESULT = re.compile(r"(ok|not ok) \d+ - (\w+)(?:: (.*)| # SKIP (.*))?$")

Results = dict[str, tuple[str, str]]  # of each row "ok", "not ok" or "skip", and why


def _installed(check: Check, name: str) -> Path:
    place = check.work / name
    install_conformance.install(place)
    return place


def by_kernel(place: Path, words: str = "") -> list[str]:
    """QEMU's options for the kernel and its rows."""
    return ["-kernel", str(place / "flat.elf"), "-initrd", str(place / "rows.txt"), "-append", words]


def _by_cd(place: Path) -> list[str]:
    drive = f"file={place / install_conformance.IMAGE},if=none,id=cd,media=cdrom,readonly=on"
    return ["-drive", drive, "-device", "ide-cd,drive=cd"]


def command(emulator: Path, cpu: str, boot: Iterable[str], accel: str = "tcg") -> list[str]:
    """The machine."""
    own = ["-L", str(places.FIRMWARE), "-accel", accel, "-cpu", cpu, "-smp", "3"]
    return [str(emulator), *own, *MACHINE, *EXIT, *boot]


def judged(check: Check, place: Path, log: Path) -> tuple[int, Results]:
    """What the suite's own judge says of a log: its exit status, and the rows."""
    status, text = check.text([place / "judge.py", log])
    results = {}
    for line in text.splitlines():
        if found := RESULT.match(line):
            word, name, why, skip = found.groups()
            results[name] = ("skip", skip) if skip else (word, why or "")
    return status, results


def _boot(check: Check, place: Path, argv: Sequence[str]) -> tuple[int, Results]:
    log = place / "log"
    with log.open("wb") as out:
        proc.call(argv, limit=LIMIT, stdin=subprocess.DEVNULL, stdout=out, stderr=check.log)
    return judged(check, place, log)


def rows_of(place: Path) -> set[str]:
    """The rows of the manifest."""
    return {row["row"] for row in json.loads((place / "manifest.json").read_text(encoding="utf-8"))["rows"]}


def want_absence(check: Check, place: Path, results: Results) -> None:
    """No row but those of absence has run, and each other says what it needs."""
    manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))["rows"]
    needs = {row["row"]: [need["name"] for need in row["cpuid"]] for row in manifest}
    check.want(set(results) == set(needs), "the rows are not those of the manifest")
    for name, (word, why) in results.items():
        if name in WITHOUT_LWP:
            check.want(word == "ok", f"{name}: {word} {why}")
        elif "lwp" in needs[name]:
            check.want((word, why) == ("skip", "needs lwp"), f"{name}: {word} {why}")
        else:
            check.want(word == "skip" and why.removeprefix("needs ") in needs[name], f"{name}: {word} {why}")


def _absent(check: Check, boot: Callable[[Path], list[str]]) -> None:
    qemu.build("base")
    place = _installed(check, "conformance")
    status, results = _boot(check, place, command(places.qemu_base(), "EPYC,check=off", boot(place)))
    check.want(status == 0, f"status {status}")
    want_absence(check, place, results)


def _unmasked(check: Check) -> None:
    """What another hypervisor sees that announces LWP and lacks it."""
    qemu.build("base")
    place = _installed(check, "conformance-unmasked")
    rows = place / "rows.txt"
    need = re.compile(r"^(need lwp(?:-43724)?|need all-\w+) (\w+ \w+ \w+) .*", re.MULTILINE)
    rows.write_text(need.sub(r"\1 \2 0 0", rows.read_text(encoding="utf-8")), encoding="utf-8")
    status, results = _boot(check, place, command(places.qemu_base(), "EPYC,check=off", by_kernel(place)))
    check.want(status == 1, f"status {status}")
    check.want(set(results) == rows_of(place), "the rows are not those of the manifest")
    passed = {name for name, (word, _) in results.items() if word == "ok"}
    check.want(passed == WITHOUT_LWP | IN_REAL_MODE, f"passed: {' '.join(passed)}")
    failed = [why for word, why in results.values() if word == "not ok"]
    check.want(len(failed) > 30, f"{len(failed)} rows fail")
    for why in failed:
        check.want("this processor has no LWP" in why or "kernel trap" in why, why)


def _with_lwp(check: Check) -> None:
    """Each row runs on one of the processors at least, and none fails."""
    place = _installed(check, "conformance")
    ran: set[str] = set()
    for cpu in PROCESSORS:
        status, results = _boot(check, place, command(places.qemu(), cpu, by_kernel(place)))
        check.want(status == 0, f"{cpu}: status {status}")
        check.want(set(results) == rows_of(place), f"{cpu}: the rows are not those of the manifest")
        ran |= {name for name, (word, _) in results.items() if word == "ok"}
    check.want(ran | {"absent"} == rows_of(place), f"not run: {' '.join(rows_of(place) - ran)}")


def _cd_with_lwp(check: Check) -> None:
    place = _installed(check, "conformance")
    status, results = _boot(check, place, command(places.qemu(), "EPYC,check=off,lwp=on", _by_cd(place)))
    check.want(status == 0 and results["ire"][0] == "ok", f"status {status}, ire: {results.get('ire')}")


def _judge(check: Check) -> None:
    """Logs that are none, cut, or cannot be read: one line, or the row in which they end."""
    place = _installed(check, "conformance")
    log = place / "log"
    argv = command(places.qemu(), "EPYC,check=off,lwp=on", by_kernel(place, "only=ire"))
    status, results = _boot(check, place, argv)
    check.want((status, results) == (0, {"ire": ("ok", "")}), f"status {status}: {results}")
    text = log.read_bytes()
    for name, data, wanted, says in (
        ("empty", b"", 1, "no row begins there"),
        ("noise", bytes(range(256)) * 64, 1, "no row begins there"),
        ("cut", text[: text.index(b"\nok 2")], 1, "not ok 1 - ire: the row has no end, after 1 points"),
        ("failing", text.replace(b"\nok 2", b"\nnot ok 2"), 1, "not ok 1 - ire: 1 of 9 points"),
        ("lacking", text.replace(b"\nok 2", b"\nok?2"), 1, "lines are missing"),
        ("without an end", text.replace(END.encode(), b""), 1, "and not its end"),
    ):
        log.write_bytes(data)
        got, out = check.text([place / "judge.py", log], stderr=True)
        check.want(got == wanted and says in out, f"{name}: status {got}")
    got, out = check.text([place / "judge.py", place], stderr=True)
    check.want(got == 2 and out.count("\n") == 1 and "cannot read" in out, f"a directory: status {got}")


def stock_kvm(check: Check, lab: L1) -> None:
    """KVM with the kernel's own modules, which know nothing of LWP."""
    place = _installed(check, "conformance-kvm")
    argv = command(places.qemu(), "EPYC,check=off", by_kernel(place), accel="kvm")
    l1.boot_logged(replace(lab, stock=True), place / "l1", argv)
    status, results = judged(check, place, place / "l1/log")
    check.want(status == 0, f"status {status}")
    want_absence(check, place, results)


CHECKS: tuple[tuple[str, str, Callable[[Check], None]], ...] = (
    (
        "conformance-absent",
        "the suite that stands alone: unpatched QEMU has no LWP, and all rows but those of absence are skipped",
        partial(_absent, boot=by_kernel),
    ),
    ("conformance-cd", "the same from its CD, which GRUB boots", partial(_absent, boot=_by_cd)),
    ("conformance-unmasked", "where LWP is announced and absent, its rows fail and say so", _unmasked),
    ("conformance-lwp", "each of its rows passes on a processor that has what it needs", _with_lwp),
    ("conformance-cd-lwp", "and from its CD", _cd_with_lwp),
    ("conformance-judge", "judge.py tells logs that are cut, lack lines, or are none", _judge),
)


def _run(line: str, do: Callable[[Check], None]) -> Callable[[Report], object]:
    return lambda report: report.check(line, do)


def cases() -> list[Case]:
    """A case for each check."""
    return [Case(name, line, _run(line, do)) for name, line, do in CHECKS]
