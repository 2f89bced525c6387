# SPDX-License-Identifier: GPL-2.0-or-later
"""The name spaces in which a host lives, and whether this machine can have such hosts."""

import os
import shutil
import subprocess
from pathlib import Path

from lab.common import proc

UNSHARE = ("unshare", "-rmupf", "--mount-proc", "--kill-child")


def missing() -> str:
    """What this machine lacks, "" if nothing."""
    path = os.environ["PATH"] + ":/usr/sbin"
    for program in ("libvirtd", "virsh"):
        if not shutil.which(program, path=path):
            return f"test libvirt needs {program}: run './vlwp deps'"
    if not Path("/etc/libvirt").is_dir():
        return "test libvirt needs the directory /etc/libvirt of Debian's package libvirt0"
    if proc.call([*UNSHARE, "true"], stderr=subprocess.DEVNULL):
        return "test libvirt needs user name spaces, or root with the right to mount /proc"
    return ""
