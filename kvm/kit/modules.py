# SPDX-License-Identifier: GPL-2.0-or-later
"""KVM's modules: what is loaded, other ones in their place, and everything as it was."""

import subprocess
from pathlib import Path

from machine import WATCHDOG, value

MODULES = Path("/proc/modules")
SYS = Path("/sys/module")
OURS = ("kvm", "kvm_amd")  # in the order in which they are loaded
NEEDED = ("irqbypass", "ccp")  # by them
SETTINGS = (WATCHDOG, WATCHDOG.with_name("perf_event_max_sample_rate"))  # the kernel changes the second by itself
UNTOLD = ("", "(null)")  # values that cannot be given


class Refused(Exception):
    """What is in the way, in one line."""


def loaded() -> list[str]:
    """The modules that are loaded, the latest first."""
    return [line.split()[0] for line in MODULES.read_text(encoding="ascii").splitlines()]


def users(module: str) -> int:
    """How often a module is in use, but for KVM's own use of it."""
    for line in MODULES.read_text(encoding="ascii").splitlines():
        name, _, count, by, *_ = line.split()
        if name == module:
            return int(count) - ("kvm_amd," in by)
    return 0


def built_in() -> bool:
    """Is KVM a part of the kernel, which cannot be replaced?"""
    return (SYS / "kvm").exists() and "kvm" not in loaded()


def parameters(module: str) -> dict[str, str]:
    """All that can be read."""
    return {file.name: value(file) for file in (SYS / module / "parameters").glob("*")}


def _call(*words: str) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Refused(said[-1] if said else f"{' '.join(words)} failed")


def remove(names: list[str]) -> None:
    """Take these out, if they are there, in this order."""
    for name in names:
        if name in loaded():
            _call("rmmod", name)


def put(folder: Path, words: str) -> None:
    """Load the modules of a folder in place of those that are loaded, with such parameters of kvm_amd."""
    remove(["kvm_amd", "kvm"])
    for needed in NEEDED:
        _call("modprobe", needed)
    _call("insmod", str(folder / "kvm.ko"))
    _call("insmod", str(folder / "kvm-amd.ko"), *words.split())


class Before:
    """How the machine was when this was made."""

    def __init__(self) -> None:
        self.loaded = loaded()
        self.parameters = {name: parameters(name) for name in OURS}
        self.settings = {file: value(file) for file in SETTINGS}
        self.changed = self.tainted = False  # modules were loaded or taken out; ours were

    def without_watchdog(self) -> None:
        """The counter that the watchdog has becomes free."""
        if self.settings[WATCHDOG] == "1":
            WATCHDOG.write_text("0", encoding="ascii")

    def stock(self) -> None:
        """Load the kernel's own KVM, if none is loaded."""
        if "kvm_amd" not in loaded():
            self.changed = True
            _call("modprobe", "kvm_amd")

    def put(self, folder: Path, words: str) -> None:
        """Load other modules."""
        self.changed = self.tainted = True
        put(folder, words)

    def _differ(self) -> dict[str, list[str]]:
        """The parameters that are not as they were, as words for modprobe."""
        found = {}
        for name in OURS:
            now = parameters(name)
            found[name] = [
                f"{key}={was}" for key, was in self.parameters[name].items() if was not in (*UNTOLD, now.get(key))
            ]
        return found

    def restore(self) -> list[str]:
        """Make it so again. Result: what is not so, a line each."""
        wrong = []
        try:
            if self.changed:
                self._modules()
                wrong += [word for words in self._differ().values() for word in words]
        except (Refused, OSError) as err:
            wrong.append(str(err))
        for file, was in self.settings.items():
            try:
                if value(file) != was:
                    file.write_text(was, encoding="ascii")
            except OSError as err:
                wrong.append(f"{file}: {was}: {err.strerror}")
        return wrong

    def _load(self, words: dict[str, list[str]]) -> None:
        """The kernel's own, as many as there were."""
        remove(["kvm_amd", "kvm"])
        for name in OURS:
            if name in self.loaded:
                _call("modprobe", name, *words.get(name, []))

    def _modules(self) -> None:
        self._load({})
        differ = self._differ()
        if any(differ.values()):
            self._load(differ)
        remove([name for name in NEEDED if name not in self.loaded])
