# SPDX-License-Identifier: GPL-2.0-or-later
"""Which properties reach a mutant, and what is said of those that none notices (proofs.py)."""

from pathlib import Path

import pytest

from lab.common.c_source import Tree
from lab.common.say import Died
from lab.mutants import proofs
from lab.mutants.listed import Mutant
from lab.testing.proofs import files


def _file(top: Path, name: str, text: str) -> None:
    (top / name).parent.mkdir(parents=True, exist_ok=True)
    (top / name).write_text(text, encoding="utf-8")


def test_distances(tmp_path: Path) -> None:
    """By calls and macros; a static function of another file is another one; what is replaced is not there."""
    _file(tmp_path, "vmcb/lwp_a.h", "#define TWICE(x) (far(x) + far(x))\n")
    _file(tmp_path, "vmcb/lwp_a.c", "static int near(int x) { return TWICE(x); }\nint one(int x) { return near(x); }\n")
    _file(tmp_path, "vmcb/lwp_b.c", "static int near(int x) { return x; }\nint far(int x) { return near(x); }\n")
    _file(tmp_path, "vmcb/lwp_c.c", "int replaced(void) { return 1; }\n")
    _file(tmp_path, "vmcb/proofs/prove_a.c", "/*\n * Stands in for: lwp_c.c\n */\n"
          "PROPERTY(first)\n{\n\tone(replaced());\n}\n\nPROPERTY(second)\n{\n\tfar(1);\n}\n")
    file, = files(tmp_path, tmp_path)
    uses = proofs._uses(file, tmp_path)
    first, second = (proofs._distances(uses, ("vmcb/proofs/prove_a.c", name)) for name in file.properties)
    a, b = "vmcb/lwp_a.c", "vmcb/lwp_b.c"
    assert first == {
        ("vmcb/proofs/prove_a.c", "first"): 0, (a, "one"): 1, (a, "near"): 2, ("vmcb/lwp_a.h", "TWICE"): 3,
        (b, "far"): 4, (b, "near"): 5
    }
    assert second == {("vmcb/proofs/prove_a.c", "second"): 0, (b, "far"): 1, (b, "near"): 2}
    judge = proofs.Proofs(tmp_path)
    judge.reached = [(file, "first", first), (file, "second", second)]
    assert [name for _, name, _ in judge.asked(b, "far")] == ["second", "first"]
    assert [name for _, name, _ in judge.asked(a, "near")] == ["first"]
    assert not judge.asked("vmcb/lwp_c.c", "replaced")


def test_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no proof notices is on the page, with a reason."""
    _file(tmp_path, "proofs.md", "| `one`, `two` | because |\n")
    monkeypatch.setattr(proofs, "PAGE", tmp_path / "proofs.md")
    lines = ["0123456789ab 1 wrong two unnoticed", "0123456789ab 2 right three reset"]
    assert not proofs._sums(lines)
    with pytest.raises(Died, match="no reason for lwp_a.c:three"):
        proofs._sums([*lines, "0123456789ab 3 wrong lwp_a.c:three unnoticed"])


def test_enumerated(tmp_path: Path) -> None:
    """Of the table of contexts its enumeration is asked."""
    judge = proofs.Proofs(tmp_path)
    for name, text in zip(proofs.ENUMERATED, (
        "int size(void);\nint main(void) { return size() != 3; }\n", "\n", "int size(void) { return 2 + 1; }\n"
    )):
        _file(judge.tree, name, text)
    tree = Tree(judge.tree, ["kvm/engine"])
    for now, name in ("4", "all_tables"), ("2 + 1", ""):
        mutant = Mutant("", "", "size", "2 + 1", 0, now)
        assert judge.reach(tree, mutant)
        assert judge.noticed(tree, mutant) == name
