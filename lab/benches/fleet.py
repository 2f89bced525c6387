# SPDX-License-Identifier: GPL-2.0-or-later
"""Many machines: `lwpctl merge` of up to 1,000 profiles, and `lwpctl baseline` over 100,000 hosts. Time on the clock,
time of the processor, and the most memory that was used."""

import argparse
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from lab.benches.output import Value, add_json_option, print_json
from lab.building import qemu, tools, deps
from lab.common import proc
from lab.common.places import LWPCTL, TOP, qemu as emulator

FILES = (250, 500, 1000)
HOSTS = 100_000
MIB = 1 << 20


def add_options(parser: argparse.ArgumentParser) -> None:
    add_json_option(parser)
    parser.add_argument("--size", type=int, default=1, metavar="MIB", help="of a profile (default 1; 10: 10 GB)")


def _measure(words: Sequence[proc.Word], folder: Path) -> tuple[float, float, int]:
    """Seconds, those of the processor, and MiB of memory. A child that is waited for tells its own memory."""
    began = time.monotonic()
    with subprocess.Popen([str(word) for word in words], cwd=folder, stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, str(words[0]))
    return time.monotonic() - began, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def _profile(folder: Path, size: int) -> Path:
    """A profile of about so many MiB: that of the bundled program, several times."""
    one, many = folder / "one.data", folder / "many.data"
    proc.output([TOP / "vlwp", "run", f"--data={one}", "--report-file=/dev/null"], stderr=subprocess.DEVNULL)
    times = max(1, round(size * MIB / one.stat().st_size))
    proc.output([LWPCTL, "merge", "-o", many, *[one] * times])
    return many


def _merge(folder: Path, size: int) -> list[dict[str, Value]]:
    profile, rows = _profile(folder, size), []
    for number in FILES:
        used = _measure([LWPCTL, "merge", "-o", "merged", *[profile] * number], folder)
        written = (folder / "merged").stat().st_size / MIB
        rows.append(_row("merge", number, written, used))
        (folder / "merged").unlink()
    return rows


def _baseline(folder: Path, *options: str) -> dict[str, Value]:
    """They are listed in a file: there is a limit to the length of a command."""
    host = proc.output([LWPCTL, "caps", f"--qemu={emulator()}", "--json"])
    names = [f"h{number:x}" for number in range(HOSTS)]
    for name in names:
        (folder / name).write_text(host, encoding="utf-8")
    (folder / "list").write_text("\n".join(names), encoding="utf-8")
    used = _measure([LWPCTL, "baseline", "--hosts-from=list", *options], folder)
    return _row(" ".join(["baseline", *options]), HOSTS, HOSTS * len(host) / MIB, used)


def _row(what: str, files: int, mib: float, used: tuple[float, float, int]) -> dict[str, Value]:
    seconds, cpu, memory = used
    numbers = {"seconds": round(seconds, 2), "cpu_seconds": round(cpu, 2), "memory_mib": memory}
    return {"what": what, "files": files, "mib": round(mib), **numbers}


def main(args: argparse.Namespace) -> int:
    deps.ensure()
    tools.build()
    qemu.ensure()
    folder = Path(tempfile.mkdtemp(prefix="vlwp-fleet."))
    try:
        rows = [*_merge(folder, args.size), _baseline(folder), _baseline(folder, "--groups")]
    finally:
        shutil.rmtree(folder)
    if args.json:
        print_json("fleet", rows)
        return 0
    print(f"{'':18}{'files':>8}{'MiB':>8}{'seconds':>9}{'CPU':>8}{'memory MiB':>12}")
    for row in rows:
        line = f"{row['what']:18}{row['files']:8}{row['mib']:8}{row['seconds']:9}"
        print(f"{line}{row['cpu_seconds']:8}{row['memory_mib']:12}")
    return 0
