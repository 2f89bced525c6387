# SPDX-License-Identifier: GPL-2.0-or-later
"""Write the conformance suite into DIR, for another hypervisor or a real machine: a kernel, its rows, an image for a
CD or a USB stick, a manifest of what each row needs, what judges a log, and a page that says how to do it."""

import argparse
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from lab.building import deps, kernel, tools
from lab.common import proc
from lab.common.places import HOST, TOP
from lab.common.say import Died, say
from lab.common.steps import step
from lab.testing.suite import RUNNER

KERNEL = HOST / "guest-tests/flat/flat.elf"
JUDGE = ("judge.py", "manifest.py", "planted.py", "table.py")
PAGE, FX = (TOP / f"guest-tests/flat/{name}.md" for name in ("conformance", "fx"))
IMAGE = "conformance.iso"
# What the image's Linux boots into.
INIT, PROBE = HOST / "lab/guest/probe-init", HOST / "host-tools/vlwp-probe"
HEAD = """\
serial --unit=0 --speed=115200
terminal_input console serial
terminal_output console serial
insmod all_video
set timeout=5
set default=0
"""
WORDS = "console=ttyS0,115200 console=tty0 loglevel=4 nmi_watchdog=0"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="is made if it is not there")


def _entry(title: str, *lines: str) -> str:
    return f'menuentry "{title}" {{\n' + "".join(f"\t{line}\n" for line in lines) + "}\n"


def _rows(title: str, words: str = "") -> str:
    return _entry(title, f"multiboot2 /boot/flat.elf {words}".rstrip(), "module2 /boot/rows.txt rows.txt")


def menu(manifest: dict[str, Any], linux: str) -> str:
    """GRUB's menu: all rows, the probe, one row, the rows from one on."""
    names = [row["row"] for row in manifest["rows"]]
    begins = "".join(_rows(f"from {name} on", f"from={name}") for name in names)
    single = "".join(_rows(name, f"only={name}") for name in names)
    submenus = f'submenu "one row" {{\n{single}}}\nsubmenu "continue" {{\n{begins}}}\n'
    return f"{HEAD}{_rows('all rows')}{linux}{submenus}"


def _linux(boot: Path, init: Path, log: IO[str]) -> str:
    """Linux, which runs vlwp-probe. Result: its entry; none where the kernel was not fetched, as for a package."""
    if not kernel.SYSROOT.is_dir():
        return ""
    kernel.collect_modules(init / "modules", kernel.SYSROOT, ["kvm_amd"])
    shutil.copy(INIT, init / "init")
    shutil.copy(PROBE, init)
    kernel.pack(init, boot / "probe.cpio", log)
    shutil.copy(kernel.image_file(kernel.SYSROOT), boot / "vmlinuz")
    boots = (f"linux /boot/vmlinuz {WORDS}", "initrd /boot/probe.cpio")
    return _entry("vlwp-probe: performance counters", "set gfxpayload=1280x1024,1024x768,auto", *boots)


def image(place: Path, log: IO[str]) -> None:
    """Write the image of the files in a directory."""
    with TemporaryDirectory(dir=place) as made:
        tree, init = Path(made, "iso"), Path(made, "init")
        (tree / "boot/grub").mkdir(parents=True)
        for name in ("flat.elf", "rows.txt"):
            shutil.copy(place / name, tree / "boot" / name)
        manifest = json.loads((place / "manifest.json").read_text(encoding="utf-8"))
        linux = _linux(tree / "boot", init, log)
        (tree / "boot/grub/grub.cfg").write_text(menu(manifest, linux), encoding="utf-8")
        # For BIOS and UEFI: whatever of GRUB is installed.
        command = ["grub-mkrescue", "-o", str(place / IMAGE), str(tree)]
        if proc.logged(command, log):
            raise Died(f"grub-mkrescue cannot write {place / IMAGE}")


def install(place: Path) -> None:
    """Write it; what it takes is built."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        for file in (KERNEL, FX, *(RUNNER / name for name in JUDGE)):
            shutil.copy(file, place)
        shutil.copyfile(PAGE, place / "README.md")
        for name, form in (("rows.txt", "rows"), ("manifest.json", "json")):
            (place / name).write_text(proc.output([RUNNER / "manifest.py", form]), encoding="utf-8")
    except OSError as err:
        raise Died(f"{err.filename or place}: cannot write this file: {err.strerror}") from err
    step(f"writing {place / IMAGE}", "conformance-iso", lambda log: image(place, log))


def main(args: argparse.Namespace) -> None:
    deps.ensure()
    tools.build()
    kernel.fetch()
    install(args.directory)
    say(f"the suite is in {args.directory}; start with README.md there")
