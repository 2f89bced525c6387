# SPDX-License-Identifier: GPL-2.0-or-later
"""20 programs of Debian count the same instructions and branches in each of 5 runs."""

import argparse
import json
import shlex
import subprocess

from lab.common import proc
from lab.common.places import TOP
from lab.common.programs import DETERMINISTIC
from lab.common.say import Died

RUNS = 5


def add_options(_parser: argparse.ArgumentParser) -> None:
    """It takes none."""


def main(_args: argparse.Namespace) -> None:
    """The command."""
    differ = []
    for words in DETERMINISTIC:
        # diff(1) ends with 1 if files differ.
        line = f"{shlex.join(words)} || :"
        command: list[proc.Word] = [TOP / "vlwp", "count", "--json", f"--repeat={RUNS}", "--", "/bin/sh", "-c", line]
        # A program's own output comes first, and may be binary.
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if run.returncode:
            said = run.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise Died(f"{line}: count ends with status {run.returncode}: {said}")
        text = run.stdout.decode(errors="replace")
        result = json.loads(text[text.rindex('{\n  "command"'):])
        for event in ("instructions", "branches"):
            numbers = [run[event] for run in result["runs"]]
            print(f"{'same' if result['same'][event] else 'DIFFERS':8}{event:14}{numbers[0]:12}  {shlex.join(words)}")
            if not result["same"][event]:
                differ.append(f"{event} of {words[0]}: {numbers}")
    if differ:
        raise Died("not the same in all runs: " + "; ".join(differ))
