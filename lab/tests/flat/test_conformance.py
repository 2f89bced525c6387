# SPDX-License-Identifier: GPL-2.0-or-later
"""The conformance suite as it stands alone (./vlwp install conformance), on processors with LWP and without; its serial
log is judged by the judge.py that lies beside it."""

import json
import os
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from lab.checks import coverage
from lab.checks.citations import Tree
from lab.common import c_source, places, proc
from lab.common.qmp import Monitor
from lab.guest import vm
from lab.mutants import kills
from lab.mutants.listed import applied
from lab.mutants.relinked import Relinked
from lab.start import answers, install_conformance
from lab.testing.suite import TESTS
from lab.tests.conftest import run

LIMIT = 240  # seconds: many times what it takes
END, PROBED = "# suite: end", "# probe: over"
# What another hypervisor, or a machine, would be started with: nothing of the lab's.
MACHINE = ("-machine", "q35", "-m", "64", "-nodefaults", "-no-user-config", "-display", "none", "-serial", "stdio")
EXIT = ("-device", "isa-debug-exit,iobase=0xf4,iosize=4", "-no-reboot")
UEFI, GRUB_EFI = "/usr/share/ovmf/OVMF.fd", "/usr/lib/grub/x86_64-efi"
# The machine's own time, which passes at once where its processors wait: the clock's minute is short.
FAST = ("-icount", "shift=6,sleep=off", "-rtc", "clock=vm")
STOCK, VGA_BIOS = Path("qemu-system-x86_64"), Path("/usr/share/seabios/vgabios-stdvga.bin")
# Points of a character and of a line, and a !: of the suite, and of Linux.
FONT = (8, 10, "3078783030003000")
LINUX_FONT = (16, 16, "0000183c3c3c18181800181800000000")
HANGS = "the row hangs: it has no end after 1 min"
OFF = "AMD-V (SVM) must be on in the firmware's setup: nothing was measured"
# Rows that a processor without LWP can run.
WITHOUT_LWP = {"self_user", "self_smp", "absent"}
IN_REAL_MODE = {"realmode"}  # the instructions raise #UD there, with LWP and without
COUNTERS = "+perfctr-core,+perfmon-v2,pmu=on,+monitor"
# The processors between which every row of the manifest runs.
PROCESSORS = (
    f"EPYC,check=off,lwp=on,+svm,+npt,+la57,{COUNTERS}",
    f"EPYC,check=off,lwp=on,+svm,+lbrv,+irperf,+amd-lbr-v2,+amd-lbr-pmc-freeze,+ibs,{COUNTERS}",
    "EPYC,check=off,lwp=on,lwp-context=os,lwp-vmcb=on,+svm,+npt,+v-vmsave-vmload",
    "EPYC,check=off,lwp=on,lwp-rev=2007",
    "EPYC,check=off,lwp=on,lwp-rev=2007,lwp-max-events=1",
    "EPYC,check=off,lwp=on,lwp-rev=2007,lwp-context=os,lwp-vmcb=on,+svm,+npt,+v-vmsave-vmload",
)
# Leaves of others: 43724-111; what is inferred of later models; and numbers that no known processor has.
SILICON = "EPYC,check=off,lwp=on,lwp-context=os,lwp-profile=fam15h"
LEAVES = {
    "fam15h 00h to 1Fh": SILICON,
    "fam15h 30h and later": f"{SILICON},lwp-cont=on,lwp-ptsc=on",
    "another": "EPYC,check=off,lwp=on,lwp-context=os,lwp-max-events=5,lwp-min-buffer=4,lwp-cont=off",
}
OS = "EPYC,check=off,lwp=on,lwp-context=os"
ASKING = {file.stem for file in TESTS.glob("*.c") if "\task(" in file.read_text(encoding="utf-8")}
LEAST = 38  # tests that run on each
RULE = re.compile(r"^# rule (\S+):", re.MULTILINE)
RESULT = re.compile(r"(ok|not ok) \d+ - (\w+)(?:: (.*)| # SKIP (.*))?$")

BY_BOTH = pytest.mark.parametrize("firmware", [
    (), pytest.param(("-bios", UEFI, "-m", "256"), marks=pytest.mark.skipif(
        not all(map(os.path.exists, (GRUB_EFI, UEFI))), reason="needs grub-efi-amd64-bin and ovmf"))
], ids=["bios", "uefi"])

Results = dict[str, tuple[str, str]]  # of each row "ok", "not ok" or "skip", and why


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where it is installed."""
    place = tmp_path_factory.mktemp("installed")
    install_conformance.install(place)
    return place


@pytest.fixture
def suite(installed: Path, tmp_path: Path) -> Path:
    """A copy for one test."""
    return Path(shutil.copytree(installed, tmp_path / "suite"))


def command(emulator: Path, cpu: str, boot: Iterable[str], accel: str = "tcg", last: Iterable[str] = EXIT) -> list[str]:
    """The machine."""
    own = ["-L", str(places.FIRMWARE), "-accel", accel, "-cpu", cpu, "-smp", "3"]
    return [str(emulator), *own, *MACHINE, *last, *boot]


def by_kernel(suite: Path, words: str = "") -> list[str]:
    """QEMU's options for the kernel and its rows."""
    return ["-kernel", str(suite / "flat.elf"), "-initrd", str(suite / "rows.txt"), "-append", words]


def by_cd(suite: Path) -> list[str]:
    """The same for its CD, which GRUB boots."""
    drive = f"file={suite / install_conformance.IMAGE},if=none,id=cd,media=cdrom,readonly=on"
    return ["-drive", drive, "-device", "ide-cd,drive=cd"]


def by_disk(suite: Path) -> list[str]:
    """The same for a disk, as a USB stick is one."""
    drive = f"file={suite / install_conformance.IMAGE},if=none,id=disk,format=raw,snapshot=on"
    return ["-drive", drive, "-device", "virtio-blk-pci,drive=disk"]


# Bochs knows an FX-4100, without LWP. Its debugger is told to continue; its terminal shows text only.
BOCHS = """\
display_library: term
megs: 64
cpu: model=zambezi, ips=2000000
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
vga: extension=none
boot: cdrom
"""


def by_bochs(suite: Path) -> list[str]:
    """The CD in Bochs, which wants a terminal; its serial line is the log."""
    cd = f"ata0-master: type=cdrom, path={suite / install_conformance.IMAGE}, status=inserted\n"
    line = f"com1: enabled=1, mode=file, dev={suite / 'log'}\nlog: {suite / 'bochs.log'}\n"
    (suite / "bochsrc").write_text(BOCHS + cd + line, encoding="utf-8")
    (suite / "continue").write_text("c\n", encoding="utf-8")
    bochs = proc.quoted(["bochs", "-q", "-f", suite / "bochsrc", "-rc", suite / "continue"])
    return ["sh", "-c", f'exec env TERM=vt100 script -qec "{bochs}" /dev/null >/dev/null 2>&1']


def run_until(suite: Path, argv: list[str], last: str = END, monitor: Monitor | None = None) -> None:
    """A machine that does not end by itself, until its log has a last line; a picture of its screen, if it has a
    monitor."""
    log, late = suite / "log", time.monotonic() + LIMIT
    with log.open("wb") as out:
        child = proc.start(argv, stdin=subprocess.DEVNULL, stdout=out, pass_fds=monitor.passed if monitor else ())
    try:
        while last not in log.read_text(errors="replace") and child.poll() is None and time.monotonic() < late:
            time.sleep(0.1)
        if monitor:
            monitor.accept()
            monitor.do("screendump", filename=str(suite / "screen"))
            monitor.close()
    finally:
        proc.end(child)


def judged(suite: Path, log: Path) -> tuple[int, Results]:
    """What the suite's own judge says of a log, with vlwp's choices: its exit status, and the rows."""
    ended, results = run([suite / "judge.py", "--level=choice", log]), {}
    for line in ended.out.splitlines():
        if found := RESULT.match(line):
            word, name, why, skip = found.groups()
            results[name] = ("skip", skip) if skip else (word, why or "")
    return ended.status, results


def booted(suite: Path, argv: list[str]) -> tuple[int, Results]:
    """The results of a boot."""
    log = suite / "log"
    with log.open("wb") as out:
        proc.call(argv, limit=LIMIT, stdin=subprocess.DEVNULL, stdout=out)
    return judged(suite, log)


def rows_of(suite: Path) -> dict[str, list[str]]:
    """The rows of the manifest, and what each needs."""
    rows = json.loads((suite / "manifest.json").read_text(encoding="utf-8"))["rows"]
    return {row["row"]: [need["name"] for need in row["cpuid"]] for row in rows}


def want_absence(suite: Path, results: Results, **otherwise: tuple[str, str]) -> None:
    """No row but those of absence has run, and each other says what it needs. otherwise: what is so there."""
    needs = rows_of(suite)
    assert set(results) == set(needs)
    for name, (word, why) in results.items():
        if name in otherwise:
            assert (word, why) == otherwise[name], name
        elif name in WITHOUT_LWP:
            assert word == "ok", f"{name}: {why}"
        elif "lwp" in needs[name]:
            assert (word, why) == ("skip", "needs lwp"), name
        else:
            assert word == "skip" and why.removeprefix("needs ") in needs[name], f"{name}: {word} {why}"


def plant(suite: Path, rows: Iterable[str]) -> None:
    """An image with more rows."""
    more = "".join(f"row {name} - test=planted cpus=1 how={name}\n" for name in rows)
    text = (suite / "rows.txt").read_text(encoding="utf-8").replace("row absent", f"{more}row absent")
    (suite / "rows.txt").write_text(text, encoding="utf-8")
    with (suite / "image.log").open("w", encoding="utf-8") as log:
        install_conformance.image(suite, log)


def screen_of(suite: Path, argv: list[str], last: str = END, font: tuple[int, int, str] = FONT) -> str:
    """What is on the screen of a machine that has written its last line: SeaBIOS has the font, of 8 points by so many,
    in lines of so many; what is no character is a ?."""
    monitor, (high, line, bang) = Monitor(), font
    run_until(suite, [*argv, *monitor.words], last, monitor)
    rom = VGA_BIOS.read_bytes()
    begin = rom.index(bytes(high) + bytes.fromhex(bang))
    known = {rom[begin + high * n:begin + high * (n + 1)]: chr(32 + n) for n in range(95)}
    _, width, height, _, points = (suite / "screen").read_bytes().split(maxsplit=4)
    wide, lit, text = int(width), [point > 127 for point in points[1::3]], ""
    for y in range(0, int(height) - line + 1, line):
        for at in range(y * wide, (y + 1) * wide, 8):
            rows = (enumerate(lit[at + row * wide:at + row * wide + 8]) for row in range(high))
            text += known.get(bytes(sum(point << 7 - x for x, point in row) for row in rows), "?")
    return text


@BY_BOTH
def test_conformance_stock(suite: Path, firmware: Iterable[str]) -> None:
    """In the distribution's QEMU, without LWP, all rows but those of absence are skipped. The screen has the verdicts,
    what fails, and answers, by BIOS and UEFI."""
    plant(suite, ["hang", "differ"])
    argv = command(STOCK, "EPYC,check=off", [*by_cd(suite), *firmware, *FAST, "-vga", "std"], last=())
    shown, says = screen_of(suite, argv), {"ok": "ok", "not ok": "FAILS", "skip": "skipped"}
    status, results = judged(suite, suite / "log")
    assert results.pop("differ")[0] == "not ok" and "differ differs " in shown and "another reading" not in shown
    for text in (*(f"{name} {says[word]} " for name, (word, _) in results.items()), HANGS, "# answer Q00 planted", END):
        assert text in shown
    version = re.search(r"version (\d+)\.(\d+)", run([STOCK, "--version"]).out)
    assert version and status == 1 and results.pop("hang")[0] == "not ok"
    # An older one takes LLWPCB and the others for POP.
    old = {"absent": ("not ok", "4 of 9 points")} if tuple(map(int, version.groups())) < (9, 1) else {}
    want_absence(suite, results, **old)


def test_conformance_bochs(suite: Path) -> None:
    """So in Bochs, from the CD; but it announces counters that do not count."""
    run_until(suite, by_bochs(suite))
    status, results = judged(suite, suite / "log")
    assert status == 1
    bochs = {"self_smp": ("skip", "needs more processors"), "pmu_overflow_v1": ("not ok", "10 of 15 points")}
    want_absence(suite, results, **bochs)


def test_conformance_unmasked(suite: Path) -> None:
    """Where LWP is announced and absent, as another hypervisor might, its rows fail and say so."""
    rows = suite / "rows.txt"
    need = re.compile(r"^(need (?:lwp|rev-43724|version-1|event-\d)) (\w+ \w+ \w+) .*", re.MULTILINE)
    rows.write_text(need.sub(r"\1 \2 0 0 0", rows.read_text(encoding="utf-8")), encoding="utf-8")
    status, results = booted(suite, command(places.qemu(), "EPYC,check=off", by_kernel(suite)))
    assert status == 1 and set(results) == set(rows_of(suite))
    assert {name for name, (word, _) in results.items() if word == "ok"} == WITHOUT_LWP | IN_REAL_MODE
    failed = [why for word, why in results.values() if word == "not ok"]
    assert len(failed) > 30
    for why in failed:
        assert "this processor has no LWP" in why or "kernel trap" in why


def test_conformance_lwp(suite: Path) -> None:
    """Each row passes on a processor that has what it needs, and fails on none. Together they prove every rule of
    43724 that is certain."""
    rows, ran, proved = set(rows_of(suite)), {"absent"}, set()
    for cpu in PROCESSORS:
        status, results = booted(suite, command(places.qemu(), cpu, by_kernel(suite)))
        assert status == 0 and set(results) == rows, cpu
        ran |= {name for name, (word, _) in results.items() if word == "ok"}
        proved |= set(RULE.findall(run([suite / "judge.py", "--rules", suite / "log"]).out))
    assert ran == rows
    rules = coverage.trusted(Tree(places.TOP)).items()
    lacking = {rule for rule, marks in rules if coverage.certain(rule, marks)} - proved
    assert {rule for rule in lacking if rule.startswith("43724-")} <= set(coverage.UNPROVED) <= lacking


def fails(suite: Path, emulator: Path) -> bool:
    """Does a processor fail by what is certain? The quick ones come first."""
    boots = (booted(suite, command(emulator, cpu, by_kernel(suite))) for cpu in reversed(PROCESSORS))
    return any(run([suite / "judge.py", suite / "log"]).status for _ in boots)


@pytest.mark.elsewhere
def test_conformance_certain(suite: Path) -> None:
    """By what is certain each processor passes; those that are wrong do not (./vlwp soak kills conformance)."""
    assert not fails(suite, places.qemu())


def test_conformance_wrong(suite: Path, seed: int, tmp_path: Path) -> None:
    """With one of these wrong ones, which is drawn, a row fails."""
    if os.environ.get("VLWP_QEMU"):
        pytest.skip("links the lab's own emulator")
    mutant, matrix = random.Random(seed).choice(kills.certain(kills.ENGINE.mutants(places.TOP))), Relinked(tmp_path)
    matrix.prepare()
    source, changed = applied(mutant, c_source.Tree(places.TOP, kills.ENGINE.folders))
    matrix.place(source.path).write_text(changed, encoding="utf-8")
    assert not matrix.build() and fails(suite, matrix.emulator), f"{mutant}: all rows pass"


@pytest.mark.parametrize("leaf", LEAVES)
def test_conformance_leaf(suite: Path, leaf: str) -> None:
    """On leaves that are not vlwp's every test runs whose rules they announce."""
    manifest = json.loads((suite / "manifest.json").read_text(encoding="utf-8"))["rows"]
    status, results = booted(suite, command(places.qemu(), LEAVES[leaf], by_kernel(suite)))
    tests = {row["words"].split()[0] for row in manifest if results[row["row"]][0] == "ok"}
    assert status == 0 and len(tests) >= LEAST, sorted(tests)


def test_conformance_contrary(suite: Path) -> None:
    """What differs from vlwp only where the sources allow it passes, but not with vlwp's choices, and answers a
    question otherwise: so mutants do, and neither vlwp nor what is wrong."""
    strict, _ = booted(suite, command(places.qemu(), SILICON, by_kernel(suite)))
    ended = run([suite / "judge.py", suite / "log"])
    assert strict == 0 or ended.status == 1 or " in vlwp [" not in ended.out


def test_conformance_questions(suite: Path) -> None:
    """The page has each question that is asked, no other, and how vlwp answers it."""
    rows = suite / "rows.txt"
    asking = re.compile(rf"need|row .* test=({'|'.join(ASKING)}) ")
    lines = rows.read_text(encoding="utf-8").splitlines(keepends=True)
    rows.write_text("".join(filter(asking.match, lines)), encoding="utf-8")
    status, _ = booted(suite, command(places.qemu(), OS, by_kernel(suite)))
    ended = run([suite / "judge.py", f"--answers={suite / 'answers'}", suite / "log"])
    told = re.findall(r"^# answer (Q\d\d) (.+): (.+), as vlwp \[(.+)\]$", ended.out, re.MULTILINE)
    page = answers.PAGE.read_text(encoding="utf-8")
    asked = [row[:4] for row in answers.questions(page)[2:]]
    assert status == 0 and asked == [[one, text, rules.replace(" ", ", "), said] for one, text, said, rules in told]
    assert answers.read(suite / "answers", page)[1] == {row[0]: row[3] for row in asked}


def test_conformance_cd_lwp(suite: Path) -> None:
    """From its CD rows run, too."""
    status, results = booted(suite, command(places.qemu(), "EPYC,check=off,lwp=on", by_cd(suite)))
    assert status == 0 and results["ire"][0] == "ok"


def test_conformance_memory(suite: Path) -> None:
    """A loader may put the rows above 1 GiB. Where there is not enough memory the kernel says so in one line."""
    argv = command(places.qemu(), "EPYC,check=off", [*by_kernel(suite, "only=absent"), "-m", "2G"])
    assert booted(suite, argv) == (0, {"absent": ("ok", "")})
    for boot in (by_kernel(suite), [*by_cd(suite), *FAST]):
        booted(suite, command(places.qemu(), "EPYC,check=off", [*boot, "-m", "32"]))
        said = (suite / "log").read_text(errors="replace")
        assert re.search(r"\n\s*Bail out! no memory at 1\w{6}h: .* 2 to 62 MiB\s*$", said)


def test_conformance_probe(suite: Path) -> None:
    """The image's Linux measures the counters under KVM, and its serial line has the numbers as JSON."""
    proc.output(["xorriso", "-osirrox", "on", "-indev", suite / install_conformance.IMAGE, "-extract", "/boot", suite])
    linux = ["-kernel", str(places.GUEST / "vmlinux"), "-initrd", str(suite / "probe.cpio"), "-m", "512"]
    boot = [*linux, "-append", f"{vm.kernel_args()} nmi_watchdog=0 -- --quick"]
    argv = command(places.qemu(), "EPYC,+svm,pmu=on,perfctr-core=on", boot)
    run_until(suite, argv, PROBED)
    text, numbers = (suite / "log").read_text(encoding="utf-8").split("# probe: json")
    found = json.loads(numbers.partition(PROBED)[0])
    assert found["turns"] == 64 and found["brand"] in text and f"row: {found['row']}" in text


def test_conformance_probe_off(suite: Path) -> None:
    """Where AMD-V is off the image's Linux says so in one line, on the screen, too; GRUB boots it."""
    image = suite / install_conformance.IMAGE
    menu = image.read_bytes()
    image.write_bytes(menu.replace(b"set default=0", b"set default=1").replace(b"timeout=5", b"timeout=0"))
    argv = command(STOCK, "EPYC,check=off,-svm", [*by_cd(suite), "-m", "512", "-vga", "std"])
    shown = screen_of(suite, argv, PROBED, LINUX_FONT)
    said = [line for line in (suite / "log").read_text(errors="replace").splitlines() if "AMD-V" in line]
    assert said == [f"cannot load module kvm-amd.ko: Operation not supported; {OFF}"]
    assert re.search("".join(f"[{char}?]" for char in OFF), shown)  # some of Linux's characters differ


@BY_BOTH
@pytest.mark.parametrize("boot", [by_cd, by_disk], ids=["cd", "disk"])
def test_conformance_unattended(suite: Path, boot: Callable[[Path], list[str]], firmware: Iterable[str]) -> None:
    """The image boots by BIOS and UEFI, from CD and disk. Rows that hang, also one after the other, and a row that
    resets the machine fail; those after them are run, and nobody does anything."""
    planted = {"hang": HANGS, "hang_again": HANGS, "reset": "the row has reset the machine"}
    plant(suite, planted)
    argv = command(places.qemu(), "EPYC,check=off", [*boot(suite), *firmware, *FAST, "-action", "reboot=reset"])
    status, results = booted(suite, argv)
    assert status == 1
    assert {name: results.pop(name) for name in planted} == {
        name: ("not ok", f"the test is broken: {why}") for name, why in planted.items()
    }
    want_absence(suite, results)


def test_conformance_minutes(suite: Path) -> None:
    """On a slow machine a row may have more of them."""
    plant(suite, ["hang"])
    argv = command(places.qemu(), "EPYC,check=off", [*by_kernel(suite, "only=hang minutes=2"), *FAST])
    assert booted(suite, argv) == (1, {"hang": ("not ok", f"the test is broken: {HANGS.replace('1', '2')}")})


def test_conformance_judge(suite: Path) -> None:
    """judge.py tells logs that are cut, lack lines, or are none: one line, or the row in which they end."""
    log = suite / "log"
    argv = command(places.qemu(), "EPYC,check=off,lwp=on", by_kernel(suite, "only=ire"))
    assert booted(suite, argv) == (0, {"ire": ("ok", "")})
    text = log.read_bytes()
    assert b"\n# cpuid 8000001c: " in text and b"\n# msr c0000105: 000000006000006e" in text
    for data, says in (
        (b"", "no row begins there"),
        (bytes(range(256)) * 64, "no row begins there"),
        (text[: text.index(b"\nok 2")], "not ok 1 - ire: the row has no end, after 1 points"),
        (text.replace(b"\nok 2", b"\nnot ok 2"), "not ok 1 - ire: 1 of 18 points"),
        (text.replace(b"\nok 2", b"\nok?2"), "lines are missing"),
        (text.replace(END.encode(), b""), "and not its end"),
    ):
        log.write_bytes(data)
        ended = run([suite / "judge.py", log])
        assert ended.status == 1 and says in ended.said
    ended = run([suite / "judge.py", suite])
    assert ended.status == 2 and ended.said.count("\n") == 1 and "cannot read" in ended.err
