# SPDX-License-Identifier: GPL-2.0-or-later
"""Run one command on the machine that runs the same twice (lab/guest/count1.py): with the files of a capsule, or first
over 9p, to make one."""

import os
from collections.abc import Sequence
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from lab.common import places, proc
from lab.common.say import Died, say
from lab.guest import capsule, count1
from lab.guest.files import keep_input
from lab.guest.vm import GUEST_SHARE, HOST_ROOT, vmrun_alone


def with_tools(run: Path) -> Path:
    """An initramfs with lwprun, for a guest whose files do not have it."""
    file = run / "tools.tar"
    capsule.write(file, capsule.Head(["true"], {}, "/"), None, [], HOST_ROOT)
    with capsule.opened(file) as content:
        count1.initrd(run / "initrd", b"", content)
    return run / "initrd"


def boot(
    one: count1.Count1, run: Path, command: Sequence[str], *options: str, file: Path | None = None,
    root: Path | None = None, **stdio: Any,
) -> int:
    """With the files of the machine's capsule, or of another one and a root over 9p; more options of vmrun. Result: the
    command's exit status."""
    given = file or one.file
    assert given
    with capsule.opened(given) as content:
        variables = {**content.head.environment, "VLWP_SHARE": GUEST_SHARE, "VLWP_RUN": "1"}
        asked = count1.request(one.seed, command, variables, content.head.directory)
        count1.initrd(run / "initrd", asked, content)
    emulator = [str(places.qemu()), *count1.arguments(run, one, root)]
    return proc.call(vmrun_alone(run, emulator, *options), **stdio)


def note(one: count1.Count1, root: Path, run: Path, command: Sequence[str], program: Sequence[str]) -> Path:
    """Make the capsule of a program: run the command that profiles it over 9p, and keep the files that it asks for."""
    file, log = run / "capsule.tar", run / "walks"
    where = Path(os.getcwd()) if root == HOST_ROOT else root
    head = capsule.Head(list(program), proc.user_environment({}), f"/{where.relative_to(root)}")
    given = keep_input(run / capsule.INPUT)
    found = set(root.rglob("*")) if one.whole else set()
    if not one.whole:
        say(f"{count1.NAME}: the program runs twice, the first time over 9p, which notes its files ...")
        capsule.write(file, head, given, [], root)
        boot(one, run, command, file=file, root=root, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        found = capsule.walked(log, root).found
        if not found:
            raise Died("the run that notes files has noted none: QEMU has no trace events, or the guest did not start")
    capsule.write(file, head, given, [*found, where], root)
    return file
