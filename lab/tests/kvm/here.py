# SPDX-License-Identifier: GPL-2.0-or-later
"""./vlwp test kvm --here: the programs of kvm/tests on this machine's own /dev/kvm."""

import os
from pathlib import Path

from lab.common.kit import machine
from lab.common.say import Died
from lab.nested.programs import Run

KVM = Path("/dev/kvm")
INSTALL = "'./vlwp install kvm' installs the modules, and 'modprobe -r kvm_amd kvm; modprobe kvm_amd' loads them"
TRUTH = {"1": "Y", "0": "N"}


def require() -> None:
    """This machine's KVM has LWP, and we may use it."""
    if not KVM.exists():
        raise Died(f"there is no {KVM}: load kvm_amd, on a machine with SVM")
    if not (machine.PARAMETERS / "lwp").exists():
        raise Died(f"this machine's kvm_amd has no LWP: {INSTALL}")
    if not os.access(KVM, os.R_OK | os.W_OK):
        raise Died(f"{KVM}: no permission; run it as root, or as a user of the group kvm")


def lacks(run: Run) -> str:
    """What this machine lacks for a run; "": nothing."""
    if lack := machine.lacks(run.lacking(), run.smp):
        return lack
    for word in run.kvm_amd.split():
        name, _, value = word.partition("=")
        if machine.value(machine.PARAMETERS / name) not in (value, TRUTH.get(value)):
            return f"kvm_amd loaded with {word}"
    return ""
