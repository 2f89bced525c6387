# SPDX-License-Identifier: GPL-2.0-or-later
"""The layers of kvm/svm: a file calls only functions of files that stand above it in lwp_inside.h."""

import re
from pathlib import Path

INSIDE = "lwp_inside.h"
HOOKS = "lwp_svm.h"
SECTION = re.compile(r"^/\* (lwp\w*\.c)\b", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(r"^(?!static\b)[a-z][\w *]*?\b(svm_lwp_\w+)\([^;{}]*\)\n\{", re.MULTILINE)
OBJECT = re.compile(r"^const struct \w+ (svm_lwp_\w+) = \{", re.MULTILINE)
PROTOTYPE = re.compile(r"\b(svm_lwp_\w+)\([^;{}]*\);")
NAME = re.compile(r"(?<!struct )(?<!enum )\bsvm_lwp_\w+\b")


def _calls(code: dict[str, str], home: dict[str, str]) -> set[tuple[str, str]]:
    """Which file uses which function or object of another one."""
    return {
        (file, name)
        for file, text in code.items()
        for name in NAME.findall(text)
        if name in home and home[name] != file
    }


def problems(top: Path) -> list[str]:
    """What is wrong, a line each."""
    svm = top / "kvm/svm"
    inside = (svm / INSIDE).read_text(encoding="utf-8")
    code = {path.name: COMMENT.sub("", path.read_text(encoding="utf-8")) for path in sorted(svm.glob("lwp*.c"))}
    home = {name: file for file, text in code.items() for name in DEFINITION.findall(text) + OBJECT.findall(text)}
    layers = SECTION.findall(inside)
    wrong = [f"{INSIDE}: no section of {file}" for file in code if file not in layers]
    wrong += [f"{INSIDE}: there is no {file}" for file in layers if file not in code]
    for file, name in sorted(_calls(code, home)):
        if {file, home[name]} <= set(layers) and layers.index(home[name]) > layers.index(file):
            wrong.append(f"{file}: calls {name}() of {home[name]}, a layer above it")
    used = {name for _, name in _calls(code, home)}
    hooks = set(PROTOTYPE.findall((svm / HOOKS).read_text(encoding="utf-8")))
    for name in PROTOTYPE.findall(inside):
        if name not in used:
            wrong.append(f"{INSIDE}: {name}() is called by no other file")
        if name in hooks:
            wrong.append(f"{INSIDE}: {name}() is in {HOOKS} too")
    return wrong
