# SPDX-License-Identifier: GPL-2.0-or-later
"""Which properties reach a mutant, and what is said of those that none notices (proofs.py)."""

from pathlib import Path

import pytest

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
    assert first == {"first": 0, "one": 1, "near": 2, "TWICE": 3, "far": 4}
    assert second == {"second": 0, "far": 1, "near": 2}
    judge = proofs.Proofs(tmp_path)
    judge.reached = [(file, "first", first), (file, "second", second)]
    assert [name for _, name, _ in judge.asked(Mutant("", "", "far"))] == ["second", "first"]
    assert [name for _, name, _ in judge.asked(Mutant("", "", "near"))] == ["first", "second"]
    assert not judge.asked(Mutant("", "", "replaced"))


def test_reasons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no proof notices is on the page, with a reason."""
    _file(tmp_path, "proofs.md", "| `one`, `two` | because |\n")
    monkeypatch.setattr(proofs, "PAGE", tmp_path / "proofs.md")
    lines = ["0123456789ab 1 wrong two unnoticed", "0123456789ab 2 right three reset"]
    assert not proofs._sums(lines)
    with pytest.raises(Died, match="no reason for lwp_a.c:three"):
        proofs._sums([*lines, "0123456789ab 3 wrong lwp_a.c:three unnoticed"])
