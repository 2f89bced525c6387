# SPDX-License-Identifier: GPL-2.0-or-later
"""The properties in prove_*.c, and what CBMC says of one."""

import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from lab.building import cbmc
from lab.common import proc
from lab.common.places import BUILD, TOP
from lab.common.steps import make_dir

FOLDERS = ("vmcb", "kvm/engine")  # each with what it includes before it
PLACE = BUILD / "proofs"
LIMIT = 3600  # seconds for one
# What 6.6 checks by itself, and pointers that leave their object without an access.
OPTIONS = ("--unwinding-assertions", "--pointer-overflow-check", "--drop-unused-functions")


@dataclass(frozen=True)
class Split:
    """The leaves of one run: all, or those of a revision and an LwpEventOffset; or code of 16, 32 or 64 bits."""

    name: str = ""
    defines: tuple[str, ...] = ()


ALL = Split()
MODES = tuple(Split(f"{bits} bits", (f"-DMODE={bits}",)) for bits in (16, 32, 64))
LEAVES = (
    Split("2007", ("-DREV=LWP_REV_2007", "-DOFFSET=0")),
    *(Split(str(at), ("-DREV=LWP_REV_43724", f"-DOFFSET={at}")) for at in range(88, 256, 8)),
)
COMMON = ("2007", "128")  # those that vlwp offers


@dataclass(frozen=True)
class File:
    """A file of properties. Its first comment may say what is special: `Stands in for` files, `Unwind` loops so often,
    `Split` properties by leaves or by the `Modes` of code, and properties that are only `Soak`."""

    path: Path
    folders: tuple[Path, ...] = field(repr=False)
    place: Path = field(default=PLACE, repr=False)  # for what is compiled, and counterexamples

    @cached_property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")

    def says(self, key: str) -> list[str]:
        """The words of such a line."""
        found = re.search(rf"^ \* {key}: ((?:.*\n)(?: \*\t.*\n)*)", self.text, re.MULTILINE)
        return found[1].replace(" *\t", " ").split() if found else []

    @property
    def properties(self) -> list[str]:
        """Their names."""
        return re.findall(r"^PROPERTY\((\w+)\)", self.text, re.MULTILINE)

    def splits(self, name: str) -> tuple[Split, ...]:
        """The runs that prove a property."""
        if name in self.says("Modes"):
            return MODES
        return LEAVES if name in self.says("Split") else (ALL,)

    @property
    def sources(self) -> list[Path]:
        """What is proved, and the properties."""
        files = [path for folder in self.folders for path in sorted(folder.glob("lwp_*.c"))]
        return [self.path, *(path for path in files if path.name not in self.says("Stands in for"))]

    @property
    def code(self) -> str:
        """A hash of all that is compiled, and of how."""
        read = [path for folder in self.folders for path in sorted(folder.glob("*.[ch]"))]
        read += [path for folder in self.folders for path in sorted((folder / "proofs").glob("*.h"))]
        texts = [" ".join(OPTIONS).encode(), *(path.read_bytes() for path in [self.path, *read])]
        return hashlib.sha256(b"\0".join(texts)).hexdigest()[:12]

    def compiled(self, split: Split) -> Path:
        """As CBMC takes it."""
        words = [f"-I{place}" for folder in self.folders for place in (folder, folder / "proofs")]
        out = self.place / f"{self.path.stem}-{split.name}-{self.code}.goto"
        if not out.exists():
            make_dir(self.place)
            for old in self.place.glob(f"{self.path.stem}-{split.name}-*.goto"):
                old.unlink(missing_ok=True)
            part = out.with_suffix(f".{os.getpid()}")
            proc.output([*cbmc.command("goto-cc"), "-D__CPROVER__", "-o", part, *words, *split.defines, *self.sources])
            part.rename(out)
        return out


def files(top: Path = TOP, place: Path = PLACE) -> list[File]:
    """All of a tree."""
    folders = tuple(top / folder for folder in FOLDERS)
    return [
        File(path, folders[:number], place)
        for number, folder in enumerate(folders, 1) for path in sorted((folder / "proofs").glob("prove_*.c"))
    ]


def _command(file: File, name: str, split: Split, *more: str) -> list[proc.Word]:
    unwind = (file.says("Unwind") or ["10"])[0]
    words = ("--function", name, "--unwind", unwind, *OPTIONS, "--json-ui", *more)
    return [*cbmc.command("cbmc"), file.compiled(split), *words]


def _asked(file: File, name: str, split: Split, *more: str, limit: float = LIMIT) -> list[Any]:
    argv = _command(file, name, split, *more)
    child = proc.start(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        out, _ = child.communicate(timeout=limit)
    except BaseException:
        proc.end(child)
        raise
    status = proc.wait(child)
    assert status in (0, 10), f"{name}: CBMC ends with status {status}: {out[-1000:]}"  # 10: something is false
    said: list[Any] = json.loads(out)
    return said


def _results(said: list[Any]) -> list[dict[str, Any]]:
    return [one for part in said for one in part.get("result", [])]


Lines = list[dict[str, Any]]  # as CBMC tells of each assertion


def false(file: File, name: str, split: Split, limit: float = LIMIT) -> tuple[Lines, Lines]:
    """What of a property is false, and what of it nothing reaches; subprocess.TimeoutExpired after limit seconds."""
    results = _results(_asked(file, name, split, limit=limit))
    covers = {one["property"]: one for one in results if one["description"].startswith("cover: ")}
    idle = [
        one for key, one in covers.items()
        if key.partition(".")[0] in (name, f"{name}_is") and one["status"] == "SUCCESS"
    ]
    return [one for one in results if one["status"] != "SUCCESS" and one["property"] not in covers], idle


def disproved(file: File, name: str, split: Split) -> list[str]:
    """What false() says, one line each, the first with a place for its counterexample."""
    print(f"$ {proc.quoted(_command(file, name, split))}")
    wrong, idle = false(file, name, split)
    lines = [f"{one['description']}: nothing reaches it" for one in idle]
    for one in wrong[:1]:
        place = file.place / f"{file.path.stem}.{name}.input"
        place.write_bytes(counterexample(_results(_asked(file, name, split, "--trace", "--property", one["property"]))))
        at = one.get("sourceLocation", {})
        lines.append(f"{at.get('file')}:{at.get('line')}: {one['description']}; PROPERTY={name} with {place}")
    return lines


def counterexample(results: list[dict[str, Any]]) -> bytes:
    """The inputs of the first trace, as the program that libFuzzer runs takes them."""
    trace = next(one["trace"] for one in results if "trace" in one)
    return b"".join(bytes(_bytes(value)) for step in trace if step["stepType"] == "input" for value in step["values"])


def _bytes(value: dict[str, Any]) -> Iterator[int]:
    """The bytes of a value, the lowest first."""
    for part in (*value.get("members", ()), *value.get("elements", ())):
        yield from _bytes(part["value"])
    if "binary" in value:
        number = int(value["binary"], 2)
        yield from number.to_bytes(len(value["binary"]) // 8 or 1, "little")
