# SPDX-License-Identifier: GPL-2.0-or-later
"""Build what is out of date; without a name, everything that 'run' needs.

  VLWP_QEMU_TARBALL=FILE: take an upstream tarball of QEMU's base instead of Debian's source
  VLWP_KERNEL=FILE: guests boot this bzImage (with the modules of its version), not Debian's kernel
  VLWP_LINUX_TARBALL=FILE: take KVM from an upstream tarball of the kernel's base
  VLWP_BUILD_DIR=DIR: build there instead of in ./build
  VLWP_JOBS=N: the number of compilers at once instead of one a processor"""

import argparse
from collections.abc import Callable

from lab.building import kernel, libvirt, linux, qemu, tools, deps
from lab.checks import coverage

PARTS: dict[str, tuple[Callable[[], None], str]] = {
    "qemu": (qemu.build, "QEMU with LWP"),
    "qemu-user": (lambda: qemu.build("user"), "the same for programs, without a guest"),
    "qemu-base": (lambda: qemu.build("base"), "the same QEMU without LWP, for comparisons"),
    "guest": (kernel.build, "the guest's kernel and initramfs"),
    "tools": (tools.build, "lwprun, lwpctl, the programs that run in guests"),
    "probe": (tools.build, "vlwp-probe, which says what a processor's counters do, with the other tools"),
    "libvirt": (lambda: libvirt.build(libvirt.own()), "libvirt with LWP, that of this Debian release"),
    "coverage": (coverage.write, "docs/spec-coverage.md, of what code and tests cite"),
    "kvm": (linux.build, "kvm.ko and kvm-amd.ko with LWP for the guests' stock kernel, in build/kvm"),
}
TO_RUN = ("tools", "qemu", "qemu-user", "guest")
TAKES_BASE = True


def add_options(parser: argparse.ArgumentParser) -> None:
    parts = "; ".join(f"{name}: {text}" for name, (_, text) in PARTS.items())
    parser.add_argument("part", nargs="?", choices=tuple(PARTS), metavar="PART", help=parts)


def main(args: argparse.Namespace) -> None:
    deps.ensure(tests=args.part not in (None, *TO_RUN))
    for name in [args.part] if args.part else TO_RUN:
        PARTS[name][0]()
