# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of what unit.py, tools.py, kvm.py and qemu.py do without a compiler: where a file lies in a
copy, what a copy keeps, and what the output of a program says."""

import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from lab.common.say import Died
from lab.mutants import kvm, qemu, soak, tools, unit
from lab.mutants.listed import Mutant, Test
from lab.nested.programs import Run

PASSES = "TAP version 13\nok 1 - CR2 is right\nok 2 - CF is clear\n1..2\n"
FAILS = PASSES.replace("ok 2", "not ok 2")
RUN = Run("late", "", "EPYC,pmu=on", "lwp_source=perf", "", ("500",), 2, True, "kvm_test_tf")


class Work(unittest.TestCase):
    """Tests that need a folder."""

    def setUp(self) -> None:
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))


class Places(Work):
    """Where files of this repository lie in the copies."""

    def test_the_shared_code_keeps_its_folders(self) -> None:
        place = unit.Unit(self.work).place("kvm/engine/lwp_store.c")
        self.assertEqual(place, self.work / "tree/kvm/engine/lwp_store.c")

    def test_kvm_has_the_shared_code_in_a_folder_of_its_own(self) -> None:
        builder, svm = pretended_kvm(self.work), self.work / "tree/arch/x86/kvm/svm"
        self.assertEqual(builder.place("kvm/svm/lwp_step.c"), svm / "lwp_step.c")
        self.assertEqual(builder.place("vmcb/lwp_cb.c"), svm / "lwp/lwp_cb.c")

    def test_qemu_has_the_shared_code_in_a_subproject(self) -> None:
        builder = qemu.Qemu(self.work)
        self.assertEqual(builder.place("qemu-patches/lwp/tcg-lwp.c"), builder.tree / "target/i386/lwp/tcg-lwp.c")
        self.assertEqual(builder.place("vmcb/lwp_cb.c"), builder.tree / "subprojects/lwpcore/lwp_cb.c")

    def test_qemu_has_the_files_of_upstream_where_upstream_has_them(self) -> None:
        builder = qemu.Qemu(self.work)
        self.assertEqual(builder.place("accel/tcg/cputlb.c"), builder.tree / "accel/tcg/cputlb.c")


def pretended_kvm(work: Path) -> kvm.Kvm:
    """The builder of KVM, without a kernel."""
    with mock.patch("lab.building.linux.fetch"), mock.patch("lab.nested.programs.runs") as runs:
        runs.return_value = [RUN]
        return kvm.Kvm(work)


class KvmPrograms(Work):
    """What the TAP of a program in L1 says."""

    def red(self, output: str, name: str = "") -> bool:
        """Is the test red if the program prints this?"""
        builder = pretended_kvm(self.work)

        def boot(lab: Any, _run: Path, command: list[Any], **stdio: Any) -> int:
            self.assertEqual((lab.smp, lab.cpu, lab.modules), (2, "EPYC,pmu=on", self.work))
            self.assertEqual([Path(command[0]).name, *command[1:]], ["kvm_test_tf", "500"])
            stdio["stdout"].write(output.encode())
            return 0

        with mock.patch("lab.nested.l1.boot", boot):
            return builder.red(Test("kvm_test_tf", name))

    def test_all_lines_ok_is_green(self) -> None:
        self.assertFalse(self.red(PASSES))

    def test_a_line_not_ok_is_red(self) -> None:
        self.assertTrue(self.red(FAILS))

    def test_a_named_line_must_be_the_red_one(self) -> None:
        self.assertTrue(self.red(FAILS, "CF is clear"))
        self.assertFalse(self.red(FAILS, "CR2 is right"))

    def test_a_program_that_does_not_reach_its_end_is_red(self) -> None:
        self.assertTrue(self.red(PASSES.replace("1..2", "")))


class Parts(Work):
    """Tests of ./vlwp test."""

    def red(self, status: int, said: str) -> bool:
        """Is `linux programs/known` red if it ends like this?"""
        def logged(command: list[Any], log: Any, env: dict[str, str]) -> int:
            self.assertEqual(command[1:], ["test", "linux", "programs/known"])
            self.assertEqual(env["VLWP_BUILD_DIR"], str(self.work / "build"))
            log.write(said)
            return status

        with mock.patch("lab.common.proc.logged", logged):
            return tools.Tools(self.work).red(Test("linux", "programs/known"))

    def test_the_exit_status_decides(self) -> None:
        self.assertFalse(self.red(0, "1 passed, 0 failed, 0 skipped\n"))
        self.assertTrue(self.red(1, "0 passed, 1 failed, 0 skipped\n"))

    def test_one_that_is_skipped_proves_nothing(self) -> None:
        with self.assertRaises(Died):
            self.red(0, "0 passed, 0 failed, 1 skipped\n")


class Copies(Work):
    """The copy of a folder."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.copy = self.work / "source", self.work / "copy"
        (self.source / "deep").mkdir(parents=True)
        (self.source / "deep/a.c").write_text("a", encoding="utf-8")
        soak.mirror(self.source, self.copy)

    def test_a_file_that_is_the_same_keeps_its_time_stamp(self) -> None:
        before = (self.copy / "deep/a.c").stat().st_mtime_ns
        soak.mirror(self.source, self.copy)
        self.assertEqual((self.copy / "deep/a.c").stat().st_mtime_ns, before)

    def test_a_fault_that_was_left_behind_goes(self) -> None:
        (self.copy / "deep/a.c").write_text("b", encoding="utf-8")
        (self.copy / "b.c").write_text("b", encoding="utf-8")
        soak.mirror(self.source, self.copy)
        self.assertEqual((self.copy / "deep/a.c").read_text(encoding="utf-8"), "a")
        self.assertFalse((self.copy / "b.c").exists())


class Words(Work):
    """Small things that the soaks share."""

    def test_the_first_error_of_a_log(self) -> None:
        log = self.work / "log"
        log.write_text("a.c:1: warning: w\na.c:2:3: error: e\na.c:4: error: f\n", encoding="utf-8")
        self.assertEqual(soak.first_error(log), "a.c:2:3: error: e")
        log.write_text("ninja: stopped\n", encoding="utf-8")
        self.assertEqual(soak.first_error(log), "ninja: stopped")

    def test_programs_and_their_tests(self) -> None:
        mutants = [Mutant("", tests=[Test("p", "b"), Test("q", "")])]
        mutants += [Mutant("", tests=[Test("p", "a")])]
        self.assertEqual(soak.programs(mutants), ["p", "q"])
        self.assertEqual(soak.names(mutants, "p"), ["a", "b"])
        self.assertEqual(soak.names(mutants, "q"), [])
