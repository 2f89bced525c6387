# SPDX-License-Identifier: GPL-2.0-or-later
"""Build kvm.ko and kvm-amd.ko with LWP for the running kernel (or KERNEL, as by uname -r) through DKMS; they take the
place of the kernel's own."""

import argparse
import os
import re
from pathlib import Path

from lab.building import dkms
from lab.common import bases, proc
from lab.common.places import LOG
from lab.common.say import Died, say
from lab.common.steps import make_dir
from lab.start import uninstall_kvm


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", nargs="?", default=os.uname().release, help="default: the running kernel")


def _headers_version(kernel: str) -> str:
    """The version of the headers' package that is installed, else of the one that can be."""
    policy = proc.output(["apt-cache", "policy", f"linux-headers-{kernel}"], env={"LC_ALL": "C"})
    for word in ("Installed", "Candidate"):
        match = re.search(rf"^ *{word}: (?!\(none\))(\S+)", policy, re.MULTILINE)
        if match:
            return match[1]
    raise Died(f"there is no package linux-headers-{kernel} in this machine's apt sources")


def _first(pattern: str, *files: Path) -> str:
    for file in files:
        if file.is_file():
            match = re.search(pattern, file.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
            if match:
                return match[0]
    return ""


def main(args: argparse.Namespace) -> None:
    kernel = args.kernel
    base = bases.base_for(kernel)
    dkms.need_root("install kvm")
    make_dir(LOG)
    path = LOG / "install-kvm"
    version = _headers_version(kernel)
    with path.open("w", encoding="utf-8") as log:
        say(f"installing dkms, linux-headers-{kernel} and {base.source} {version} ...")
        apt = ["apt-get", "-y", "-q", "install", "--no-install-recommends", "dkms"]
        packages = [f"linux-headers-{kernel}={version}", f"{base.source}={version}"]
        if proc.logged([*apt, *packages], log, env={"DEBIAN_FRONTEND": "noninteractive"}):
            raise Died(f"{_first('^E:.*', path) or 'apt-get failed'} (details in {path})")
        uninstall_kvm.remove()
        dkms.write_package(dkms.source())
        name = f"{dkms.NAME}/{dkms.version()}"
        if proc.logged(["dkms", "add", name], log):
            raise Died(f"dkms add failed: details in {path}")
        say(f"building kvm.ko and kvm-amd.ko for {kernel} (about 3 min) ...")
        if proc.logged(["dkms", "install", "--force", name, "-k", kernel], log):
            make_log = dkms.TREES / dkms.version() / "build/make.log"
            said = _first("^vlwp-kvm: .*", path, make_log)
            raise Died(said or f"dkms failed: details in {path} and {make_log}")
    say(f"installed for {kernel}; to use them: stop all guests, modprobe -r kvm_amd kvm && modprobe kvm_amd")
