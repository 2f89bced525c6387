# SPDX-License-Identifier: GPL-2.0-or-later
"""Calls go down. A file of kvm/svm calls only functions of files that stand above it in lwp_layers.h, one of kvm/engine
only those of files before it in meson.build. What a file of another folder includes or imports is in its own folder, or
in one that stands before that in FOLDERS or ROOMS."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

# From the ground up. A folder stands for those below it that are not named. Tests may use anything.
FOLDERS = (
    "vmcb", "kvm/engine", "kvm/engine/tcg", "guest-tools/lwpdata", "host-tools/common", "host-tools/hosts",
    "host-tools/hosts/*", "host-tools/profile", "host-tools/profile/report", "host-tools/profile/diff",
    "host-tools/profile/export", "host-tools/profile/*", "host-tools", "guest-tools", "guest-tools/lwprun",
    "guest-tools/preload", "guest-tests/flat", "guest-tests/linux", "guest-tests/migrate",
)
APART = (("host-tools/hosts", "host-tools/profile"), ("host-tools", "guest-tools/lwprun"))  # neither uses the other
ROOMS = (
    "common", "building", "guest", "nested", "checks", "testing", "migrate", "series", "patch", "mutants", "tests",
    "soaks", "benches", "start",
)
TESTS = re.compile(r"/(?:tests|fuzz|proofs|bench)/|/test_\w+\.py$")
INCLUDE = re.compile(r'^#include "(?:.*/)?([^"/]+)"', re.MULTILINE)
IMPORT = re.compile(r"^from lab\.(\w+)[. ]", re.MULTILINE)

INSIDE = "lwp_layers.h"
HOOKS = "lwp_svm.h"
SECTION = re.compile(r"^/\* (lwp\w*\.c)\b", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(r"^(?!static\b)[a-z][\w *]*?\b((?:svm_)?lwp_\w+)\([^;{}]*\)\n\{", re.MULTILINE)
OBJECT = re.compile(r"^const struct \w+ (svm_lwp_\w+) = \{", re.MULTILINE)
PROTOTYPE = re.compile(r"\b(svm_lwp_\w+)\([^;{}]*\);")
NAME = re.compile(r"(?<!struct )(?<!enum )\b(?:svm_)?lwp_\w+\b")
ENGINE = "kvm/engine"
SOURCE = re.compile(r"'(lwp_\w+\.c)'")


def _order(folder: Path, where: str, layers: Sequence[str]) -> tuple[set[str], list[str]]:
    """What a file has that another file of its folder uses; and what is wrong with the layers, which stand in WHERE."""
    code = {path.name: COMMENT.sub("", path.read_text(encoding="utf-8")) for path in sorted(folder.glob("lwp*.c"))}
    home = {name: file for file, text in code.items() for name in DEFINITION.findall(text) + OBJECT.findall(text)}
    wrong = [f"{where}: does not name {file}" for file in code if file not in layers]
    wrong += [f"{where}: there is no {file}" for file in layers if file not in code]
    calls = {(file, name) for file, text in code.items() for name in NAME.findall(text) if home.get(name, file) != file}
    for file, name in sorted(calls):
        if {file, home[name]} <= set(layers) and layers.index(home[name]) > layers.index(file):
            wrong.append(f"{file}: calls {name}() of {home[name]}, a layer above it")
    return {name for _, name in calls}, wrong


def _room(folder: str, rooms: Sequence[str]) -> int:
    """Where a folder stands among rooms; -1: nowhere."""
    names = [folder, *(name for parent in Path(folder).parents for name in (f"{parent}/*", str(parent)))]
    return next((rooms.index(name) for name in names if name in rooms), -1)


def _c_problems(top: Path) -> Iterator[str]:
    """Headers of folders that stand above."""
    paths = sorted(path for room in FOLDERS if "*" not in room for path in (top / room).rglob("*.[ch]"))
    names = {str(path.relative_to(top)) for path in paths}
    headers: dict[str, set[str]] = {}
    for name in names:
        headers.setdefault(Path(name).name, set()).add(str(Path(name).parent))
    for name in sorted(name for name in names if not TESTS.search(name)):
        own = str(Path(name).parent)
        for header in INCLUDE.findall((top / name).read_text(encoding="utf-8")):
            found = headers.get(header, {own})
            if own in found:
                continue
            if min(_room(folder, FOLDERS) for folder in found) > _room(own, FOLDERS):
                yield f"{name}: includes {header} of a folder above its own"
            for half, other in (*APART, *(pair[::-1] for pair in APART)):
                if own.startswith(half) and any(folder.startswith(other) for folder in found):
                    yield f"{name}: includes {header} of {other}, which {half} does not use"


def _python_problems(top: Path) -> Iterator[str]:
    """Modules of rooms of the lab that stand above."""
    for path in sorted((top / "lab").glob("*/**/*.py")):
        name = str(path.relative_to(top))
        room = path.relative_to(top / "lab").parts[0]
        if room not in ROOMS:
            yield f"{name}: {room} is no room: name it in {Path(__file__).name}"
        elif not TESTS.search(name):
            for other in IMPORT.findall(path.read_text(encoding="utf-8")):
                if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                    yield f"{name}: imports {other}, a room above its own"


def problems(top: Path) -> list[str]:
    """What is wrong, a line each."""
    return [*_svm_problems(top), *_engine_problems(top), *_c_problems(top), *_python_problems(top)]


def _engine_problems(top: Path) -> list[str]:
    files = SOURCE.findall((top / ENGINE / "meson.build").read_text(encoding="utf-8"))
    return _order(top / ENGINE, f"{ENGINE}/meson.build", files)[1]


def _svm_problems(top: Path) -> list[str]:
    svm = top / "kvm/svm"
    inside = (svm / INSIDE).read_text(encoding="utf-8")
    used, wrong = _order(svm, INSIDE, SECTION.findall(inside))
    hooks, names = PROTOTYPE.findall((svm / HOOKS).read_text(encoding="utf-8")), PROTOTYPE.findall(inside)
    wrong += [f"{INSIDE}: {name}() is called by no other file" for name in names if name not in used]
    return wrong + [f"{INSIDE}: {name}() is in {HOOKS} too" for name in names if name in hooks]
