# SPDX-License-Identifier: GPL-2.0-or-later
"""The checks of layers: kvm/svm, kvm/engine, folders, the lab."""

import tempfile
from pathlib import Path

from lab.checks import layers

INSIDE = "/* lwp_low.c */\nvoid svm_lwp_low(void);\n\n/* lwp_high.c */\nvoid svm_lwp_high(int a,\n\t\t  int b);\n"


def problems_of(files: dict[str, str]) -> list[str]:
    """Of a tree with these files; those that layers reads are empty else."""
    files = {"kvm/svm/lwp_layers.h": "", "kvm/svm/lwp_svm.h": "", "kvm/engine/meson.build": "", **files}
    with tempfile.TemporaryDirectory() as place:
        for name, text in files.items():
            path = Path(place) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return layers.problems(Path(place))


def of_two(low: str, high: str, inside: str = INSIDE, hooks: str = "") -> list[str]:
    """Of the files with these functions' bodies."""
    return problems_of({
        "kvm/svm/lwp_layers.h": inside, "kvm/svm/lwp_svm.h": hooks,
        "kvm/svm/lwp_low.c": f"void svm_lwp_low(void)\n{{\n\t{low}\n}}\n",
        "kvm/svm/lwp_high.c": f"void svm_lwp_high(int a,\n\t\t  int b)\n{{\n\t{high}\n}}\n",
    })


def test_a_call_downwards_is_right() -> None:
    """The lower file's function has a caller, the higher one's none."""
    assert of_two("", "svm_lwp_low();") == ["lwp_layers.h: svm_lwp_high() is called by no other file"]


def test_a_call_upwards_is_wrong() -> None:
    """Also through a pointer; a comment calls nothing."""
    wrong = "lwp_low.c: calls svm_lwp_high() of lwp_high.c, a layer above it"
    assert wrong in of_two("svm_lwp_high(1, 2);", "")
    assert wrong in of_two("f = svm_lwp_high;", "")
    assert wrong not in of_two("/* svm_lwp_high() */", "")


def test_a_file_without_a_section_is_wrong() -> None:
    """And a section without a file."""
    found = of_two("", "", inside="/* lwp_low.c */\n/* lwp_gone.c */\n")
    assert found == ["lwp_layers.h: does not name lwp_high.c", "lwp_layers.h: there is no lwp_gone.c"]


def test_the_order_of_the_engine_is_that_of_meson() -> None:
    """A list that has them the other way round is wrong."""
    code = {"kvm/engine/lwp_a.c": "void lwp_a(void)\n{\n}\n", "kvm/engine/lwp_b.c": "int b = lwp_a();\n"}
    for order, wrong in (("ab", []), ("ba", ["lwp_b.c: calls lwp_a() of lwp_a.c, a layer above it"])):
        meson = "".join(f"  'lwp_{name}.c',\n" for name in order)
        assert problems_of({**code, "kvm/engine/meson.build": meson}) == wrong


def test_a_function_is_in_one_header() -> None:
    """The hooks, or the inside."""
    found = of_two("", "svm_lwp_low();", hooks="void svm_lwp_low(void);\n")
    assert "lwp_layers.h: svm_lwp_low() is in lwp_svm.h too" in found


def test_a_header_of_a_folder_above_is_wrong() -> None:
    """One below is right, and tests may use any."""
    up = {"vmcb/a.c": '#include "b.h"\n', "kvm/engine/b.h": ""}
    assert problems_of(up) == ["vmcb/a.c: includes b.h of a folder above its own"]
    assert problems_of({"vmcb/tests/a.c": up["vmcb/a.c"], "kvm/engine/b.h": ""}) == []
    assert problems_of({"kvm/engine/a.c": '#include "b.h"\n', "vmcb/b.h": ""}) == []


def test_the_halves_of_host_tools_are_apart() -> None:
    """Either way; and lwprun."""
    hosts, profile = "host-tools/hosts", "host-tools/profile"
    for own, other in ((f"{hosts}/caps", profile), (profile, hosts), ("guest-tools/lwprun", "host-tools")):
        found = problems_of({f"{own}/a.c": '#include "b.h"\n', f"{other}/b.h": ""})
        assert f"of {other}, which" in "\n".join(found)


def test_a_room_of_the_lab_above_is_wrong() -> None:
    """And one that has no place."""
    up = {"lab/common/a.py": "from lab.start import b\n", "lab/attic/b.py": ""}
    assert problems_of(up) == [
        "lab/attic/b.py: attic is no room: name it in layers.py",
        "lab/common/a.py: imports start, a room above its own",
    ]
