# SPDX-License-Identifier: GPL-2.0-or-later
"""A file system image of Linux' erofs, not compressed: the same bytes for the same files, whoever makes it. A guest
that has it in persistent memory uses the files where they lie.

The layout is that of fs/erofs/erofs_fs.h: a superblock, 64 bytes for each inode, then the blocks of each of them."""

import io
import os
import shutil
import stat
import struct
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

BLOCK_BITS = 12
BLOCK = 1 << BLOCK_BITS
SUPER_AT, MAGIC = 1024, 0xE0F5E1E2
SUPER = struct.Struct("<IIIBBHQQIIII80x")
INODE = struct.Struct("<HHHHQIIIIQII16x")
INODE_SLOT = 32  # bytes that a node id counts
EXTENDED_PLAIN = 1  # i_format: an inode of 64 bytes, whose blocks lie one after the other
DIRENT = struct.Struct("<QHBB")
REGULAR, DIRECTORY, SYMLINK = 1, 2, 7  # of a directory's entry
KINDS = {stat.S_IFREG: REGULAR, stat.S_IFDIR: DIRECTORY, stat.S_IFLNK: SYMLINK}

Opener = Callable[[], IO[bytes]]


@dataclass
class _Node:
    """A file, directory or symbolic link; index: its place among all inodes."""

    mode: int
    mtime: int = 0
    size: int = 0
    opened: Opener = io.BytesIO
    index: int = 0
    children: dict[bytes, "_Node"] = field(default_factory=dict)

    @property
    def nid(self) -> int:
        return self.index * INODE.size // INODE_SLOT


def _directory(node: _Node, parent: _Node) -> bytes:
    """Its blocks. Names are sorted; those of a block follow its entries."""
    entries = sorted([(b".", node), (b"..", parent), *node.children.items()])
    blocks: list[list[tuple[bytes, _Node]]] = [[]]
    room = BLOCK
    for entry in entries:
        need = DIRENT.size + len(entry[0])
        if need > room:
            blocks.append([])
            room = BLOCK
        blocks[-1].append(entry)
        room -= need
    texts = []
    for block in blocks:
        at, head, names = len(block) * DIRENT.size, b"", b""
        for name, child in block:
            head += DIRENT.pack(child.nid, at + len(names), KINDS[stat.S_IFMT(child.mode)], 0)
            names += name
        texts.append(head + names)
    return b"".join([*(text.ljust(BLOCK, b"\0") for text in texts[:-1]), texts[-1]])


class Image:
    """Add all, then write."""

    def __init__(self) -> None:
        self.root = _Node(stat.S_IFDIR | 0o755)

    def add(self, info: tarfile.TarInfo, opened: Opener) -> None:
        """A member of a tar file, whose directory is there; opened gives the content of a file."""
        *parents, name = os.fsencode(info.name).split(b"/")
        place = self.root
        for parent in parents:
            place = place.children[parent]
        if info.isdir():
            place.children[name] = _Node(stat.S_IFDIR | info.mode)
        elif info.issym():
            target = os.fsencode(info.linkname)
            place.children[name] = _Node(stat.S_IFLNK | 0o777, 0, len(target), lambda: io.BytesIO(target))
        else:
            place.children[name] = _Node(stat.S_IFREG | info.mode, int(info.mtime), info.size, opened)

    def add_bytes(self, name: str, data: bytes) -> None:
        """A file whose content is here."""
        info = tarfile.TarInfo(name)
        info.size = len(data)
        self.add(info, lambda: io.BytesIO(data))

    def _all(self) -> Iterator[tuple[_Node, _Node]]:
        """Each with its directory, the root first."""
        todo = [(self.root, self.root)]
        for node, parent in todo:
            yield node, parent
            todo += [(child, node) for _, child in sorted(node.children.items())]

    def write(self, out: IO[bytes]) -> None:
        """Write it to an empty file."""
        nodes = list(self._all())
        for index, (node, _) in enumerate(nodes, 1):
            node.index = index
        used = 1 + -(-(len(nodes) + 1) * INODE.size // BLOCK)
        inodes = [bytes(INODE.size)]
        for node, parent in nodes:
            directory, links = stat.S_ISDIR(node.mode), 1
            if directory:
                data = _directory(node, parent)
                node.size, source = len(data), io.BytesIO(data)
                links = 2 + sum(stat.S_ISDIR(child.mode) for child in node.children.values())
            inodes.append(INODE.pack(
                EXTENDED_PLAIN, 0, node.mode, 0, node.size, used, node.index, 0, 0, node.mtime, 0, links
            ))
            out.seek(used * BLOCK)
            with source if directory else node.opened() as content:
                shutil.copyfileobj(content, out, 1 << 20)
            used += -(-node.size // BLOCK)
        out.seek(BLOCK)
        out.write(b"".join(inodes))
        out.seek(SUPER_AT)
        out.write(SUPER.pack(MAGIC, 0, 0, BLOCK_BITS, 0, self.root.nid, len(nodes), 0, 0, used, 1, 0))
        out.truncate(used * BLOCK)
