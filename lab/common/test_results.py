# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of results.py: which lines of a file of results count, and which are refused."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.common import results
from lab.common.results import HEADER, Results, code_of
from lab.common.say import Died

CODE, OTHER = "0123456789ab", "ba9876543210"
GOOD = f"{HEADER}{CODE} 1 right java smp=2\n{CODE} 2 wrong perl smp=4: status 134: 'free()'\n{OTHER} 3 wrong xz\n"
HOSTILE = (
    f"{CODE} 4 maybe java", f"{CODE} 4 right", f"{CODE} -4 right java", f"{CODE} {10**10} right java", "right", "",
    f"{CODE[1:]} 4 right java", f"{CODE} 4 right java\x1b[31m", f"{CODE} 4  right java", f"{CODE} \u0664 right java",
)


class Lines(unittest.TestCase):
    """A file of results."""

    def setUp(self) -> None:
        self.path = Path(self.enterContext(tempfile.TemporaryDirectory())) / "results/soak"

    def _results(self, text: str, resume: bool = True) -> Results:
        self.path.parent.mkdir(exist_ok=True)
        self.path.write_text(text, encoding="utf-8")
        return Results(self.path, CODE, resume)

    def test_lines_of_this_code_count(self) -> None:
        """A wrong one, too; those of other code do not."""
        results = self._results(GOOD)
        self.assertEqual(sorted(results.lines), [1, 2])
        self.assertEqual([line.split()[1] for line in results.wrong()], ["2"])

    def test_resume_keeps_the_file(self) -> None:
        """What is added comes after what is there, and is read again. A seed counts once."""
        results = self._results(GOOD)
        results.add(5, True, "node smp=2")
        results.add(5, True, "node smp=2")
        self.assertTrue(self.path.read_text(encoding="utf-8").startswith(GOOD))
        self.assertEqual(sorted(Results(self.path, CODE, True).lines), [1, 2, 5])

    def test_without_resume_it_begins_anew(self) -> None:
        """Nothing of what was there counts, and there need be neither file nor folder."""
        self.assertEqual(self._results(GOOD, resume=False).lines, {})
        self.assertEqual(self.path.read_text(encoding="utf-8"), HEADER)
        self.path.unlink()
        self.path.parent.rmdir()
        Results(self.path, CODE, True).add(7, False, "node")
        self.assertEqual(len(Results(self.path, CODE, True).wrong()), 1)

    def test_a_line_that_is_none_is_refused(self) -> None:
        """In one line that names file and line, and shows nothing that a terminal obeys."""
        for line in HOSTILE:
            with self.subTest(line=line), self.assertRaises(Died) as died:
                self._results(f"{HEADER}{line}\n")
            self.assertRegex(str(died.exception), r"/soak:3: not 'CODE SEED right\|wrong WHAT': ")
            self.assertTrue(str(died.exception).isprintable())

    def test_an_unfinished_line_is_refused(self) -> None:
        """What a write that was cut off has left: another line would become a part of it."""
        with self.assertRaises(Died):
            self._results(GOOD.rstrip("\n"))


class Code(unittest.TestCase):
    """What identifies the code that is tested."""

    def test_sources_and_choice_make_the_code(self) -> None:
        """Other folders and other bases are other code."""
        codes = {code_of(["vmcb"]), code_of(["vmcb", "kvm/engine"]), code_of(["vmcb"], "qemu-10.9")}
        self.assertEqual(len(codes), 3)
        self.assertEqual(code_of(["vmcb"]), code_of(["vmcb"]))

    def test_a_comment_is_no_code(self) -> None:
        """Nor is white space; a string is."""
        texts = ("int f; /* a */\n", "int  f;\n// it's b\n", 'char *f = "/* a */";\n', 'char *f = "/* b */";\n')
        codes = [results._code("f.c", text.encode()) for text in texts]  # pylint: disable=protected-access
        self.assertEqual(codes[0], codes[1])
        self.assertEqual(len({*codes}), 3)

    def test_what_is_around_hunks_is_no_code(self) -> None:
        """A patch that moves, is renamed, or is written by another git is the same code."""
        patch = "Subject: a\n---\n%sdiff --git a/f b/f\n%s--- a/f\n+++ b/f\n@@ -%d +%d @@%s\n-a\n+%s\n%s"
        codes = []
        for n, words in enumerate((
            ("", "", 1, 1, "", "b", ""), (" f | 2 +-\n\n", "index 12..34\n", 7, 9, " f()", "b", "-- \n2.39.5\n\n"),
            ("", "", 1, 1, "", "c", ""),
        )):
            with tempfile.TemporaryDirectory() as work:
                folder = Path(work, str(n))
                folder.mkdir()
                (folder / f"000{n}-a.patch").write_text(patch % words, encoding="utf-8")
                with mock.patch.object(results, "TOP", Path(work)):
                    codes.append(code_of([str(n)]))
        self.assertEqual(codes[0], codes[1])
        self.assertNotEqual(codes[0], codes[2])
