# SPDX-License-Identifier: GPL-2.0-or-later
"""Capsules: what is kept, and what a stranger's may not have."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.common.say import Died
from lab.guest import capsule

HEAD = json.dumps({"command": ["/p"], "environment": {}, "directory": "/"}).encode()


def member(name: str, data: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    """One of a tar file."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


FIRST, TOP = member(capsule.HEAD, HEAD), member("root", type=tarfile.DIRTYPE)
BAD: dict[str, tuple[str, list[tuple[tarfile.TarInfo, bytes]]]] = {
    "path_up": ("'root/../x': this path lies outside", [FIRST, TOP, member("root/../x")]),
    "path_absolute": ("'/etc/passwd': this path lies outside", [FIRST, member("/etc/passwd")]),
    "path_elsewhere": ("'init': this path lies outside", [FIRST, member("init")]),
    "through_a_link": ("its directory is not", [
        FIRST, TOP, member("root/a", type=tarfile.SYMTYPE, linkname="/"), member("root/a/init"),
    ]),
    "twice": ("'root': this path is there twice", [FIRST, TOP, TOP]),
    "device": ("'root/null': this is no file", [FIRST, TOP, member("root/null", type=tarfile.CHRTYPE)]),
    "fifo": ("'root/pipe': this is no file", [FIRST, TOP, member("root/pipe", type=tarfile.FIFOTYPE)]),
    "hard_link": ("this is no file", [FIRST, TOP, member("root/l", type=tarfile.LNKTYPE, linkname="/etc/passwd")]),
    "set_uid": ("'root/su': this file is set-user-ID", [FIRST, TOP, member("root/su", mode=0o4755)]),
    "set_gid": ("'root/wall': this file is set-user-ID", [FIRST, TOP, member("root/wall", mode=0o2755)]),
    "time": ("its mode, time or size", [FIRST, TOP, member("root/old", mtime=-1)]),
    "root_is_a_file": ("root are directories", [FIRST, member("root")]),
    "no_head": ("capsule.json: ", [TOP]),
    "head_is_no_json": ("capsule.json: ", [member(capsule.HEAD, b"{")]),
    "head_of_other_words": ("capsule.json: ", [member(capsule.HEAD, b'{"argv": []}')]),
    "no_command": ("capsule.json does not have", [member(capsule.HEAD, HEAD.replace(b'"/p"', b""))]),
    "command_is_numbers": ("capsule.json does not have", [member(capsule.HEAD, HEAD.replace(b'"/p"', b"7"))]),
    "zero_in_a_word": ("capsule.json does not have", [member(capsule.HEAD, HEAD.replace(b"/p", b"\\u0000"))]),
}


def tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """A tar file of them."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as out:
        for info, data in members:
            out.addfile(info, io.BytesIO(data))
    return path


def refused(path: Path, why: str) -> None:
    """It is refused, in one line that names it."""
    with pytest.raises(Died) as error, capsule.opened(path):
        pass
    text = str(error.value)
    assert why in text and text.startswith(f"{path}: ") and "\n" not in text


@pytest.mark.parametrize("name", BAD)
def test_hostile(tmp_path: Path, name: str) -> None:
    """No capsule that a stranger has made leads out of the guest's memory."""
    why, members = BAD[name]
    refused(tar(tmp_path / "capsule", members), why)


CUTS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda whole: b"",
    "half_a_header": lambda whole: whole[:700],
    "half_a_file": lambda whole: whole[:2000],
    "no_end": lambda whole: whole[:2560],
    "no_tar": lambda whole: b"#!/bin/sh\n" * 100,
    "a_bad_header": lambda whole: whole[:1024] + b"x" * 512 + whole[1536:],
}


@pytest.mark.parametrize("name", CUTS)
def test_cut_off(tmp_path: Path, name: str) -> None:
    """A file that is cut off or damaged is none."""
    path = tar(tmp_path / "capsule", [FIRST, member("input", bytes(1000))])
    path.write_bytes(CUTS[name](path.read_bytes()))
    refused(path, "no capsule of ./vlwp freeze")


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the guest's memory takes is refused before it is read."""
    path = tar(tmp_path / "capsule", [FIRST, member("input", bytes(1000))])
    monkeypatch.setattr(capsule, "MAX_BYTES", 999)
    refused(path, "more than")


def test_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files with modes and times, links, directories on the way; no set-user-ID, no pipe, nothing of /proc."""
    root, given = tmp_path / "root", tmp_path / "given"
    for name in ("usr/bin", "proc/1", "tools"):
        (root / name).mkdir(parents=True)
    for name, mode in (("usr/bin/su", 0o4711), ("proc/1/maps", 0o444), ("tools/lwprun", 0o755), ("tools/lib", 0o644)):
        (root / name).write_bytes(name.encode())
        (root / name).chmod(mode)
    (root / "bin").symlink_to("usr/bin")
    given.write_bytes(b"in")
    monkeypatch.setattr(capsule, "LWPRUN", root / "tools/lwprun")
    monkeypatch.setattr(capsule, "LIBRARY", root / "tools/lib")
    log = tmp_path / "walks"
    walks = ((1, 2, 2, "usr, bin"), (2, 3, 1, "su"), (1, 4, 1, "bin"), (1, 4, 1, "none"), (1, 5, 2, "proc, 1"),
             (5, 6, 1, "maps"))
    text = "v9fs_walk tag=0 id=110 fid={} newfid={} nwnames={} wnames={{{}}}\n"
    listed = "v9fs_readdir tag 0 id 40 fid 4 offset 0 max_count 9\n"
    log.write_text("".join(text.format(*walk) for walk in walks) + listed, encoding="ascii")
    walked = capsule.walked(log, root)
    assert walked.missing == {root / "none"} and walked.listed == {root / "none"}
    capsule.write(tmp_path / "file", capsule.Head(["su"], {"A": "b"}, "/"), given, walked.found, root)
    with capsule.opened(tmp_path / "file") as content:
        names = [info.name for info in content.members if not info.name.startswith("tools")]
        assert names == ["input", "root", "root/bin", "root/proc", "root/usr", "root/usr/bin", "root/usr/bin/su"]
        last = content.members[-1]
        assert last.mode == 0o711 and content.data(last).read() == b"usr/bin/su"
        assert content.head == capsule.Head(["su"], {"A": "b"}, "/")
