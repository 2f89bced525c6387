# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of layers: kvm/svm, folders, the lab."""

import tempfile
import unittest
from pathlib import Path

from lab.checks import layers

INSIDE = """
/* lwp_low.c */
void svm_lwp_low(void);

/* lwp_high.c */
void svm_lwp_high(int a,
\t\t  int b);
"""


def problems_of(files: dict[str, str]) -> list[str]:
    """Of a tree with these files."""
    with tempfile.TemporaryDirectory() as place:
        for name, text in files.items():
            path = Path(place) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return layers.problems(Path(place))


class Layers(unittest.TestCase):
    """A tree of two files."""

    def problems(self, low: str, high: str, inside: str = INSIDE, hooks: str = "") -> list[str]:
        """Of the files with these functions' bodies."""
        return problems_of({
            "kvm/svm/lwp_layers.h": inside,
            "kvm/svm/lwp_svm.h": hooks,
            "kvm/svm/lwp_low.c": f"void svm_lwp_low(void)\n{{\n\t{low}\n}}\n",
            "kvm/svm/lwp_high.c": f"void svm_lwp_high(int a,\n\t\t  int b)\n{{\n\t{high}\n}}\n",
        })

    def test_a_call_downwards_is_right(self) -> None:
        """The lower file's function has a caller, the higher one's none."""
        self.assertEqual(
            self.problems("", "svm_lwp_low();"), ["lwp_layers.h: svm_lwp_high() is called by no other file"]
        )

    def test_a_call_upwards_is_wrong(self) -> None:
        """Also through a pointer; a comment calls nothing."""
        wrong = "lwp_low.c: calls svm_lwp_high() of lwp_high.c, a layer above it"
        self.assertIn(wrong, self.problems("svm_lwp_high(1, 2);", ""))
        self.assertIn(wrong, self.problems("f = svm_lwp_high;", ""))
        self.assertNotIn(wrong, self.problems("/* svm_lwp_high() */", ""))

    def test_a_file_without_a_section_is_wrong(self) -> None:
        """And a section without a file."""
        found = self.problems("", "", inside="/* lwp_low.c */\n/* lwp_gone.c */\n")
        self.assertEqual(found, ["lwp_layers.h: no section of lwp_high.c", "lwp_layers.h: there is no lwp_gone.c"])

    def test_a_function_is_in_one_header(self) -> None:
        """The hooks, or the inside."""
        found = self.problems("", "svm_lwp_low();", hooks="void svm_lwp_low(void);\n")
        self.assertIn("lwp_layers.h: svm_lwp_low() is in lwp_svm.h too", found)


class Folders(unittest.TestCase):
    """Trees of two files each."""

    def problems(self, **files: str) -> list[str]:
        """Of files by their names; kvm/svm is empty."""
        return problems_of({"kvm/svm/lwp_layers.h": "", "kvm/svm/lwp_svm.h": "", **files})

    def test_a_header_of_a_folder_above_is_wrong(self) -> None:
        """One below is right, and tests may use any."""
        up = {"vmcb/a.c": '#include "b.h"\n', "kvm/engine/b.h": ""}
        self.assertEqual(self.problems(**up), ["vmcb/a.c: includes b.h of a folder above its own"])
        self.assertEqual(self.problems(**{"vmcb/tests/a.c": up["vmcb/a.c"], "kvm/engine/b.h": ""}), [])
        self.assertEqual(self.problems(**{"kvm/engine/a.c": '#include "b.h"\n', "vmcb/b.h": ""}), [])

    def test_the_halves_of_host_tools_are_apart(self) -> None:
        """Either way; and lwprun."""
        hosts, profile = "host-tools/hosts", "host-tools/profile"
        for own, other in ((f"{hosts}/caps", profile), (profile, hosts), ("guest-tools/lwprun", "host-tools")):
            found = self.problems(**{f"{own}/a.c": '#include "b.h"\n', f"{other}/b.h": ""})
            self.assertIn(f"of {other}, which", "\n".join(found))

    def test_a_room_of_the_lab_above_is_wrong(self) -> None:
        """And one that has no place."""
        up = {"lab/common/a.py": "from lab.start import b\n", "lab/attic/b.py": ""}
        self.assertEqual(self.problems(**up), [
            "lab/attic/b.py: attic is no room: name it in layers.py",
            "lab/common/a.py: imports start, a room above its own",
        ])
