# SPDX-License-Identifier: GPL-2.0-or-later
"""A profile that is shown while the guest runs: `./vlwp run --live` and `lwpctl top` beside it."""

import json
import re
import subprocess
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from lab.common.places import LWPCTL, TOP
from lab.common.report import Check
from lab.guest.vm import GUEST_SHARE

PATIENCE = 600  # seconds until the program ends though the top has shown nothing, which fails

SHOWN = re.compile(r"in another terminal: .* top (\S+)$")
ROW = re.compile(r"^ *([0-9.]+)% +([0-9.]+)% +(\d+)  (\S+)  \((\S+)\)$", re.MULTILINE)


def _shown(lines: Iterable[str], seen: Path) -> str:
    """What top shows. Once it shows a function of the program, there is a file, for which the program waits."""
    text, found = "", False
    late = threading.Timer(PATIENCE, seen.touch)
    late.start()
    for line in lines:
        text += line
        if not found and (row := ROW.search(line)) and row[4].startswith("hot_"):
            found = True
            seen.touch()
    late.cancel()
    return text


def follow(check: Check, options: Sequence[str], words: Sequence[str]) -> None:
    """Profile a program with its rings emptied twenty times a second. The top shows functions of the program before it
    ends, and all samples at the end. The program gets the name of a file for which it waits."""
    command: list[str | Path] = [TOP / "vlwp", "run", "--live", "--lwprun=--live=50ms", "--report=--json", *options]
    command += ["--", *words, f"{GUEST_SHARE}/seen"]
    log = check.work / "live.log"
    with log.open("w", encoding="utf-8") as output:
        with subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE, text=True) as run:
            assert run.stderr
            path = next((found[1] for line in run.stderr if (found := SHOWN.search(line.strip()))), None)
            check.want(path, "run does not say which command shows the profile")
            argv = [str(LWPCTL), "top", "--delay=0.1", str(path)]
            with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as top:
                assert top.stdout
                text = _shown(top.stdout, Path(str(path)).with_name("seen"))
            check.say(run.stderr.read())
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
