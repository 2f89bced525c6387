# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test unit: warnings, unit tests under sanitizers, fuzzers, style, citations, the lab itself."""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from lab.building import meson, tools
from lab.checks import cli, sources
from lab.common import proc
from lab.common.beside import side_by_side
from lab.common.places import BUILD, HOST, TOP
from lab.common.report import Check, Report, log_of, tail
from lab.common.steps import jobs_count, step
from lab.testing import completions, exports, fuzz, seeds
from lab.testing.junit import tally
from lab.testing.part import Case, Part, quoted

ASAN = BUILD / "host-asan"
ASAN_SETUP = meson.setup(ASAN, ["-Db_sanitize=address,undefined", "-Dtests=enabled"])
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
}
NO_KVM = ("--no-suite", "kvm")  # these programs need /dev/kvm with LWP: `test kvm` has them
FUZZ = "fuzz"
FUZZ_SECONDS = 20
SHARE = 10  # of the faults that `soak mutants` has


def _clean_build(check: Check, cc: str) -> None:
    """Everything from scratch with warnings as errors."""
    out = BUILD / f"host-clean-{cc}"
    shutil.rmtree(out, ignore_errors=True)
    check.run(meson.setup(out, ["--werror"], cc))
    check.run(meson.ninja(out))


HEADER_USER = TOP / "guest-tools/tests/liblwp_user.c"
HEADER_COMPILERS = (
    ("gcc", "c", "-std=c11"),
    ("clang", "c", "-std=c11"),
    ("g++", "c++", "-std=c++11"),
    ("clang++", "c++", "-std=c++11"),
    ("g++", "c++", "-std=c++20"),
)


def _headers(report: Report) -> None:
    """liblwp as its users build with it. This machine has no LWP, and the program must notice."""
    for cc, language, standard in HEADER_COMPILERS:
        report.check(f"lwp.h and liblwp.h: {cc} {standard}", _header_user, cc, language, standard)


def _header_user(check: Check, cc: str, language: str, standard: str) -> None:
    program, library = check.work / f"user-{cc}{standard}", HOST / "guest-tools/liblwp"
    folders = [f"-I{TOP / name}" for name in ("guest-tools", "guest-tools/liblwp")]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers"]
    sources: list[proc.Word] = ["-x", language, standard, HEADER_USER, "-x", "none", library / "liblwp.a"]
    check.run([cc, "-O2", *warnings, *folders, *sources, "-lpthread", "-o", program])
    check.run([program])


def multiplier(load: float, processors: int) -> int:
    """Of Meson's timeouts, which are for an idle machine: a test's share of a processor shrinks as the load grows."""
    return 1 + int(load / processors)


def _sanitizer_build(check: Check) -> None:
    check.run(meson.ninja(ASAN, "meson-test-prereq"))


def _unit_tests(report: Report, names: Sequence[str] = ()) -> None:
    """Every Criterion test is one test."""
    if not report.check("the unit tests build with AddressSanitizer and UBSan", _sanitizer_build):
        return
    log = log_of("unit-tests")
    with log.open("w", encoding="utf-8") as out:
        command = ["meson", "test", "-C", str(ASAN), "--no-rebuild", "--print-errorlogs", *NO_KVM, *names]
        command += ["-t", str(multiplier(os.getloadavg()[0], len(os.sched_getaffinity(0))))]
        status = proc.logged(command, out, env=SANITIZERS)
    try:
        passed, failed, skipped = tally(ASAN / "meson-logs/testlog.junit.xml")
    except (OSError, ElementTree.ParseError) as err:
        report.not_ok(f"the unit tests leave no result: {err} ({log})", tail(log))
        return
    report.add(passed, failed, skipped)
    report.line(f"unit tests under sanitizers: {passed} passed, {failed} failed, {skipped} skipped", 8)
    if status:
        lines = [line for line in tail(log, 60) if " OK  " not in line]
        if failed:
            for line in lines:
                report.line(line, 8)
        else:
            report.not_ok("a unit test program ended badly", lines)


def _side_by_side(report: Report, fuzzers: Sequence[Case]) -> None:
    if not report.check("the fuzzers build with clang", fuzz.compile_all):
        return
    side_by_side([partial(case.go, report) for case in fuzzers], jobs_count())


def _mutants(check: Check) -> None:
    """A share of `soak mutants`, drawn with a seed that the log tells."""
    check.run([TOP / "vlwp", "soak", "mutants", f"--share={SHARE}"])


def _fuzz(report: Report, target: str) -> None:
    seed = seeds.draw()
    report.check(f"fuzz: {target} on its corpus", fuzz.corpus, target)
    report.check(
        f"fuzz: {target} on fresh input for {FUZZ_SECONDS} s, seed {seed}", fuzz.fresh, target, FUZZ_SECONDS, seed
    )


def _test_programs() -> list[str]:
    """The unit test programs that Meson knows, as "PROJECT:SUITE / NAME"."""
    listing = proc.output(["meson", "test", "-C", ASAN, "--list", *NO_KVM], stderr=subprocess.DEVNULL)
    return sorted(line for line in set(listing.splitlines()) if " / " in line)


def _problems(name: str, find: Callable[[Path], list[str]]) -> Callable[[Report], object]:
    return lambda report: report.check(name, lambda check: sources.problems(check, find(TOP)))


class Unit(Part):
    """What needs no guest."""

    name = "unit"

    def prepare_names(self) -> None:
        tools.build()
        meson.fetch()
        for name, out, command in (("unit tests", ASAN, ASAN_SETUP), ("fuzzers", fuzz.OUT, fuzz.SETUP)):
            if not meson.configured(out):
                step(f"configuring the {name}", f"{name.replace(' ', '-')}-configure", command, about=15)

    def cases(self) -> list[Case]:
        static = [
            _case("build-gcc", "everything builds from scratch with warnings as errors", _clean_build, "gcc"),
            _case("build-clang", "everything builds with clang and warnings as errors", _clean_build, "clang"),
        ]
        tests = [Case("tests", "all unit tests under AddressSanitizer and UBSan", _unit_tests)]
        style = [
            Case("headers", "lwp.h and liblwp.h as C and C++, by gcc and clang", _headers),
            Case("style", "the tree follows .clang-format", sources.clang_format),
            _case("licences", "every source file has its SPDX line", sources.spdx),
            _case("shell", "the scripts are clean for bash and shellcheck, and short", sources.shell),
            _case("python", "the lab's Python is typed and clean for the linter", sources.python),
            _case("python-tests", "the unit tests of the lab's Python", sources.python_tests),
            *_own_checks(),
        ]
        fuzzers = [_fuzz_case(target) for target in fuzz.targets()]
        last = [
            Case("completion", completions.LINE, lambda report: report.check(completions.LINE, completions.check)),
            Case("exports", "profiles in other tools' formats, read by those tools", exports.run),
            _case("mutants", f"one of {SHARE} faults in the shared code turns its test red", _mutants),
            Case("cli", "what ./vlwp says to bad input", cli.run),
        ]
        return [*static, *tests, *style, *fuzzers, *last, *self._programs()]

    @staticmethod
    def _programs() -> list[Case]:
        """One case for each unit test program; `tests` runs them all."""
        found = []
        for line in _test_programs():
            name = line.rpartition(" / ")[2]
            command = quoted([*(f"{k}={v}" for k, v in SANITIZERS.items()), "meson", "test", "-C", ASAN, name])
            found.append(Case(f"tests/{name}", line, _one_program(name), command))
        return found

    def run(self, cases: Sequence[Case], report: Report) -> None:
        """A program that `tests` runs is not run again. Fuzzers run side by side."""
        chosen = {case.name for case in cases}
        fuzzers = [case for case in cases if case.name.startswith(f"{FUZZ}/")]
        for case in cases:
            if case in fuzzers:
                if case is fuzzers[0]:
                    _side_by_side(report, fuzzers)
            elif not ("tests" in chosen and case.name.startswith("tests/")):
                case.go(report)


def _one_program(name: str) -> Callable[[Report], object]:
    return lambda report: _unit_tests(report, [name])


def _case(name: str, line: str, function: Callable[..., object], *args: object) -> Case:
    return Case(name, line, lambda report: report.check(line, function, *args))


def _fuzz_case(target: str) -> Case:
    return Case(f"{FUZZ}/{fuzz.name_of(target)}", "its corpus, and fresh input", lambda report: _fuzz(report, target))


def _own_checks() -> list[Case]:
    """Checks that other rooms bring: functions that list problems."""
    from lab.checks import citations, layers  # pylint: disable=import-outside-toplevel
    from lab.mutants import checks  # pylint: disable=import-outside-toplevel

    name, again = "every citation and every test name in docs/ exists", "every fault of lab/mutants/ still applies"
    below = "the files of kvm/svm call downwards only"
    return [
        Case("citations", name, _problems(name, citations.problems)),
        Case("layers", below, _problems(below, layers.problems)),
        Case("faults", again, _problems(again, checks.problems)),
    ]


PART = Unit()
