# SPDX-License-Identifier: GPL-2.0-or-later
"""The check of the layers of kvm/svm."""

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


class Layers(unittest.TestCase):
    """A tree of two files."""

    def problems(self, low: str, high: str, inside: str = INSIDE, hooks: str = "") -> list[str]:
        """Of the files with these functions' bodies."""
        with tempfile.TemporaryDirectory() as place:
            svm = Path(place) / "kvm/svm"
            svm.mkdir(parents=True)
            (svm / "lwp_inside.h").write_text(inside, encoding="utf-8")
            (svm / "lwp_svm.h").write_text(hooks, encoding="utf-8")
            (svm / "lwp_low.c").write_text(f"void svm_lwp_low(void)\n{{\n\t{low}\n}}\n", encoding="utf-8")
            (svm / "lwp_high.c").write_text(
                f"void svm_lwp_high(int a,\n\t\t  int b)\n{{\n\t{high}\n}}\n", encoding="utf-8"
            )
            return layers.problems(Path(place))

    def test_a_call_downwards_is_right(self) -> None:
        """The lower file's function has a caller, the higher one's none."""
        self.assertEqual(
            self.problems("", "svm_lwp_low();"), ["lwp_inside.h: svm_lwp_high() is called by no other file"]
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
        self.assertEqual(found, ["lwp_inside.h: no section of lwp_high.c", "lwp_inside.h: there is no lwp_gone.c"])

    def test_a_function_is_in_one_header(self) -> None:
        """The hooks, or the inside."""
        found = self.problems("", "svm_lwp_low();", hooks="void svm_lwp_low(void);\n")
        self.assertIn("lwp_inside.h: svm_lwp_low() is in lwp_svm.h too", found)
