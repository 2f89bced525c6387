# SPDX-License-Identifier: GPL-2.0-or-later
"""Remove KVM's modules with LWP; the kernel's own are in their places again."""

import argparse
import re
import shutil
import subprocess
from pathlib import Path

from lab.building import dkms
from lab.common import proc
from lab.common.say import Died, say


def main(_: argparse.Namespace) -> None:
    dkms.need_root("uninstall kvm")
    if not remove():
        raise Died("the modules are not installed")
    say("removed; modprobe -r kvm_amd kvm && modprobe kvm_amd loads the kernel's own")


def remove() -> bool:
    """Remove all versions. Result: was there one?"""
    found = False
    for source in Path("/usr/src").glob(f"{dkms.NAME}-*"):
        found = True
        version = source.name.removeprefix(f"{dkms.NAME}-")
        if shutil.which("dkms"):
            command = ["dkms", "remove", f"{dkms.NAME}/{version}", "--all"]
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        shutil.rmtree(source)
        shutil.rmtree(dkms.TREES / version, ignore_errors=True)
    return _remove_forgotten() or found


def _remove_forgotten() -> bool:
    """DKMS forgets what is installed when it could not build it again."""
    found = False
    for module in Path("/lib/modules").glob("*/updates/dkms/kvm-amd.ko*"):
        argv = ["modinfo", "-F", "parm", str(module)]
        said = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout
        if not re.search("^lwp:", said, re.MULTILINE):
            continue
        found = True
        for name in ("kvm.ko", "kvm-amd.ko"):
            for file in module.parent.glob(f"{name}*"):
                file.unlink()
        proc.output(["depmod", module.parents[2].name])
    return found
