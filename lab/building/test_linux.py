# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of the guests' kernel; how the modules' tree is laid out."""

import tempfile
import unittest
from pathlib import Path

from lab.building import linux
from lab.common import proc


class Headers(unittest.TestCase):
    """Their makefile includes that of the common headers, and that of Linux 7.3 names its own folder."""

    def test_headers_that_were_moved_build(self) -> None:
        """Both that of the package and one that names the old place."""
        for old in ("", "/home/ann/build/src/headers-6.12.1-amd64"):
            with tempfile.TemporaryDirectory() as work:
                named = f"OUT={old}/usr/src/amd64\ninclude {old}/usr/src/common/Makefile\n"
                files = {"amd64": named, "common": "it:\n\t@echo $(X) $(notdir $(OUT)) $(wildcard $(OUT)/Makefile)\n"}
                for name, text in files.items():
                    (Path(work) / "first/usr/src" / name).mkdir(parents=True)
                    (Path(work) / "first/usr/src" / name / "Makefile").write_text(text, encoding="ascii")
                linux.make_movable(Path(work) / "first/usr/src/amd64/Makefile")
                linux.make_movable(Path(work) / "first/usr/src/amd64/Makefile")
                (Path(work) / "first").rename(Path(work) / "second")
                built = proc.output(["make", "-s", "-C", f"{work}/second/usr/src/amd64", "X=yes"])
                self.assertEqual(built, f"yes amd64 {work}/second/usr/src/amd64/Makefile\n")


class Layout(unittest.TestCase):
    """The tree in which the modules are built."""

    def test_a_source_that_is_gone_is_not_compiled(self) -> None:
        """One with a new name would be twice there: the Makefile takes every svm/lwp*.c."""
        with tempfile.TemporaryDirectory() as work:
            stage, out = Path(work, "stage"), Path(work, "out")
            svm = stage / "arch/x86/kvm/svm"
            for folder in (svm, stage / "virt/kvm"):
                folder.mkdir(parents=True)
            for name in ("arch/x86/kvm/Makefile", "arch/x86/kvm/Kconfig"):
                (stage / name).touch()
            for names in (("lwp_old.c", "lwp_same.c"), ("lwp_new.c", "lwp_same.c")):
                for file in [*svm.iterdir()]:
                    file.unlink()
                for name in names:
                    (svm / name).touch()
                proc.output([linux.LAYOUT, "--external", stage, out])
                found = sorted(file.name for file in (out / "tree/arch/x86/kvm/svm").iterdir())
                self.assertEqual(found, sorted(names))
