# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU's own tests on the patched QEMU: unit, CPUID, TCG system tests."""

import argparse
from pathlib import Path

from lab.building import meson, qemu, tools
from lab.common.places import temporary
from lab.common.report import Check, Report
from lab.common.steps import build_lock, jobs_count
from lab.start import deps
from lab.testing.junit import tally


def add_options(parser: argparse.ArgumentParser) -> None:
    """It has none."""
    del parser


def _meson_test(report: Report, out: Path, title: str, *words: str) -> None:
    """meson test with these words; each test program counts."""
    log = f"soak-{title.replace(' ', '-')}"
    command = ["nice", "-n", "10", "pyvenv/bin/meson", "test", "--num-processes", str(jobs_count()), "--logbase", log]

    def run(check: Check) -> None:
        check.run([*command, *words], cwd=out)

    report.check(f"QEMU: {title}", run)
    results = out / f"meson-logs/{log}.junit.xml"
    if results.is_file():
        report.line("passed, failed, skipped: {} {} {}".format(*tally(results)), 8)


def main(args: argparse.Namespace) -> int:
    """The command."""
    del args
    deps.ensure()
    tools.build()
    qemu.build("full")
    out, report = qemu.out_dir("full"), Report(temporary())
    with build_lock("qemu-full"):
        meson.fetch()
        qemu.bundle_firmware(out)
        _meson_test(report, out, "unit tests", "--suite", "unit")
        _meson_test(report, out, "CPUID compatibility", "qtest-x86_64/test-x86-cpuid-compat")
        _meson_test(report, out, "LWP", "qtest-x86_64/lwp-test")
        make = ["nice", "-n", "10", "make", "run-tcg-tests-x86_64-softmmu"]
        report.check("QEMU: TCG system tests", lambda check: check.run(make, cwd=out))
    return report.end()
