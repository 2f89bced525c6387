# SPDX-License-Identifier: GPL-2.0-or-later
"""The headers of the guests' kernel; how the modules' tree is laid out."""

from pathlib import Path

import pytest

from lab.building import linux
from lab.common import proc


@pytest.mark.parametrize("old", ["", "/home/ann/build/src/headers-6.12.1-amd64"], ids=["package", "named"])
def test_headers_that_were_moved_build(tmp_path: Path, old: str) -> None:
    """Both those of the package and those that name the old place."""
    named = f"OUT={old}/usr/src/amd64\ninclude {old}/usr/src/common/Makefile\n"
    files = {"amd64": named, "common": "it:\n\t@echo $(X) $(notdir $(OUT)) $(wildcard $(OUT)/Makefile)\n"}
    for name, text in files.items():
        (tmp_path / "first/usr/src" / name).mkdir(parents=True)
        (tmp_path / "first/usr/src" / name / "Makefile").write_text(text, encoding="ascii")
    for _ in range(2):
        linux.make_movable(tmp_path / "first/usr/src/amd64/Makefile")
    (tmp_path / "first").rename(tmp_path / "second")
    built = proc.output(["make", "-s", "-C", tmp_path / "second/usr/src/amd64", "X=yes"])
    assert built == f"yes amd64 {tmp_path}/second/usr/src/amd64/Makefile\n"


def test_a_source_that_is_gone_is_not_compiled(tmp_path: Path) -> None:
    """One with a new name would be twice there: the Makefile takes every svm/lwp*.c."""
    stage, out = tmp_path / "stage", tmp_path / "out"
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
        assert found == sorted(names)
