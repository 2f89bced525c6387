# SPDX-License-Identifier: GPL-2.0-or-later
"""Unit tests of patched.py: what patches add, and the files of a copy."""

import tempfile
import unittest
from pathlib import Path

from lab.common.c_source import words
from lab.mutants import patched

PATCH = """Subject: [PATCH] a subject

+not a line of the file
---
--- a/dir/f.c
+++ b/dir/f.c
@@ -1,3 +1,3 @@ int f(void)
 before();
-old();
+first(1,
+      2);
@@ -9 +9 @@
+second();
--- a/g.c
+++ b/g.c
@@ -1 +1 @@
+third();
"""


class Patched(unittest.TestCase):
    """A folder with a patch, and a copy of upstream."""

    def setUp(self) -> None:
        self.top = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_what_patches_add_by_files_and_hunks(self) -> None:
        (self.top / "0001-a.patch").write_text(PATCH, encoding="utf-8")
        (self.top / "0002-b.patch").write_text("+++ b/g.c\n@@ -1 +1 @@\n+fourth();\n", encoding="utf-8")
        found = patched.added(self.top)
        self.assertEqual(
            found,
            {
                "dir/f.c": [words("first(1, 2);"), words("second();")],
                "g.c": [words("third();"), words("fourth();")],
            },
        )

    def test_a_run_of_tokens_lies_in_one_hunk(self) -> None:
        hunks = [words("first(1, 2);"), words("second();")]
        self.assertTrue(patched.adds(hunks, words("( 1,2 )")))
        self.assertFalse(patched.adds(hunks, words("; second")))
        self.assertFalse(patched.adds(hunks, words("irst(1")))

    def test_the_files_that_a_copy_has(self) -> None:
        (self.top / "f.c").write_text("int f(void) { return 1; }\n", encoding="utf-8")
        found = patched.sources(self.top, ["f.c", "g.c", ""])
        self.assertEqual([(source.path, list(source.definitions)) for source in found], [("f.c", ["f"])])
