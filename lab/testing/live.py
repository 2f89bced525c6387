# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile that is shown while the guest runs: `./vlwp run --live` and `lwpctl top` beside it."""

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lab.common.places import LWPCTL, TOP
from lab.common.report import Check

SHOWN = re.compile(r"in another terminal: .* top (\S+)$")
ROW = re.compile(r"^ *([0-9.]+)% +([0-9.]+)% +(\d+)  (\S+)  \((\S+)\)$", re.MULTILINE)


def follow(check: Check, options: Sequence[str], words: Sequence[str]) -> None:
    """Profile a program with its rings emptied twenty times a second. The top shows functions of the program before it
    ends, and all samples at the end."""
    command: list[str | Path] = [TOP / "vlwp", "run", "--live", "--lwprun=--live=50ms", "--report=--json", *options]
    command += ["--", *words]
    log = check.work / "live.log"
    with log.open("w", encoding="utf-8") as output:
        with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr
            path = next((found[1] for line in run.stderr if (found := SHOWN.search(line.strip()))), None)
            check.want(path, "run does not say which command shows the profile")
            top = subprocess.Popen(
                [LWPCTL, "top", "--delay=0.1", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            check.say(run.stderr.read())
    text, _ = top.communicate()
    frames = text.split("Symbol  (object)")
    check.say(frames[-2][-300:], frames[-1])
    check.want(run.returncode == 0 and top.returncode == 0, f"status {run.returncode} of run, {top.returncode} of top")
    early = [row for frame in frames[1:-1] for row in ROW.findall(frame) if row[3].startswith("hot_")]
    check.want(early, "no frame before the last has a function of the program")
    shown = re.findall(r"at the end, (\d+) samples of instructions", text)
    report = re.search(r"^\{.*", log.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    check.want(report, "run prints no report")
    samples = json.loads(report[0] if report else "")["events"][0]["samples"]
    check.want(shown == [str(samples)], f"top ends with {shown} samples, the report has {samples}")
