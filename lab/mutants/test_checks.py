# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of checks.py: what it says of lists that do not fit."""

import tempfile
import unittest
from pathlib import Path

from lab.mutants.checks import problems

FILES = {
    "vmcb/lwp_f.c": "int f(void) { return 1; }\n",
    "vmcb/tests/test_f.c": "Test(f, is_1)\n{\n}\n",
    "kvm/svm/lwp_g.c": "int g(void) { return 1; }\n",
    "lab/nested/programs.py": 'Program("kvm_test_g")\n',
    "qemu-patches/lwp/h.c": "int h(void) { return 1; }\n",
    "qemu-patches/patches/0001-f.patch": "--- a/accel/k.c\n+++ b/accel/k.c\n@@ -1 +1 @@\n-old(2);\n+new(1);\n",
    "guest-tests/flat/runner/table.py": 'Row("row", LWP),\n',
    "lab/tests/flat/test_qemu.py": 'param(id="row")\ndef test_level(vm):\n\n\n@pytest.mark.soak\ndef test_all(vm):\n',
    "host-tools/m.c": "int m(void) { return 1; }\n",
    "host-tools/tests/test_m.c": "Test(m, is_1)\n{\n}\n",
    "guest-tests/flat/runner/judge.py": "def j():\n    return 1\n",
    "guest-tests/flat/runner/test_judge.py": "def test_j():\n    assert j()\n",
    "guest-tests/mutants.list": "j: 1 => 2\nred: guest-tests/flat/runner/test_judge.py test_j\n",
    "lab/tests/libvirt/test_host.py": 'param(id="row")\ndef test_host(site):\n',
    "kvm/engine/mutants.list": "",
    "guest-tools/mutants.list": "",
    "vmcb/mutants.list": "f: 1 => 2\nred: vmcb/tests/test_f f::is_1\n",
    "kvm/svm/mutants.list": "g: 1 => 2\nred: kvm_test_g a line\n",
    "qemu-patches/mutants.list": "h: 1 => 2\nred: flat row\n",
    "host-tools/mutants.list": "m: 1 => 2\nred: host-tools/tests/test_m m::is_1\nred: libvirt host/row\n",
}


def _word(name: str) -> str:
    """A file as an argument's name."""
    folder, _, file = name.rpartition("/")
    if file == "mutants.list":
        return {"qemu-patches": "qemu_list", "host-tools": "tools_list"}.get(folder, folder)
    return file.replace(".", "_")


class Problems(unittest.TestCase):
    """A small repository with one mutant in each list."""

    def problems(self, **changed: str) -> list[str]:
        """The problems if some files, named as test_f_c for test_f.c, or qemu_list, have another text."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(changed.get(_word(name), text), encoding="utf-8")
            return problems(Path(folder))

    def test_none(self) -> None:
        self.assertEqual(self.problems(), [])

    def test_a_fault_that_does_not_fit(self) -> None:
        found = self.problems(lwp_g_c="int g(void) { return 3; }")
        self.assertEqual(found, ["kvm/svm/mutants.list:1: '1' occurs not at all in g"])

    def test_a_test_that_does_not_exist(self) -> None:
        found = self.problems(test_f_c="Test(f, is_12)", table_py='Row("other")', test_judge_py="")
        self.assertEqual(
            found,
            [
                "vmcb/mutants.list:1: there is no test 'vmcb/tests/test_f f::is_1'",
                "qemu-patches/mutants.list:1: there is no test 'flat row'",
                "guest-tests/mutants.list:1: there is no test 'guest-tests/flat/runner/test_judge.py test_j'",
            ],
        )

    def test_a_check_of_qemu(self) -> None:
        for name, exists in (("level", True), ("level/row", True), ("level/other", False), ("plug", False),
                             ("all", False)):
            found = self.problems(qemu_list=f"h: 1 => 2\nred: check {name}\n")
            wanted = [] if exists else [f"qemu-patches/mutants.list:1: there is no test 'check {name}'"]
            self.assertEqual(found, wanted)

    def test_a_test_of_a_part(self) -> None:
        for name in ("libvirt host/other", "libvirt map", "linux hook/row", "host-tools/tests/test_m m::is_2"):
            found = self.problems(tools_list=f"m: 1 => 2\nred: {name}\n")
            self.assertEqual(found, [f"host-tools/mutants.list:1: there is no test '{name}'"])

    def test_a_fault_in_what_a_patch_adds_to_upstream(self) -> None:
        mutant = "accel/k.c:k: {} => 0\nred: flat row\n"
        self.assertEqual(self.problems(qemu_list=mutant.format("new(1)")), [])
        for was in ("old(2)", "new(2)"):
            found = self.problems(qemu_list=mutant.format(was))
            self.assertEqual(found, [f"qemu-patches/mutants.list:1: no patch adds '{was}' to accel/k.c"])

    def test_a_list_that_cannot_be_read(self) -> None:
        found = self.problems(qemu_list="h: 1 => 2\n")
        self.assertEqual(found, ["qemu-patches/mutants.list:1: this mutant lacks red:"])
