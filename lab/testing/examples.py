# SPDX-License-Identifier: GPL-2.0-or-later
"""The example that compiles what LWP finds hot: guest-tools/examples/tracejit."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree

from lab.common import proc
from lab.common.places import HOST, TOP
from lab.common.report import Check, Report

VLWP = TOP / "vlwp"
TRACEJIT = HOST / "guest-tools/examples/tracejit/tracejit"
PICTURE = TOP / "guest-tools/examples/tracejit/picture.py"
LINE = "tracejit compiles what LWP finds hot, drops a trace whose bias has turned, and interprets without LWP"
FASTER = 1.5  # in phases with a bias, at least; on a quiet machine it is 5 and more


def _run(check: Check, *options: str) -> str:
    status, text = check.text([VLWP, "shell", "--smp=1", *options, "--", TRACEJIT])
    check.want(status == 0, f"status {status}")
    return text


def _result(check: Check, text: str) -> str:
    match = re.search(r"^result (-?\d+)", text, re.MULTILINE)
    check.want(match is not None, "no result")
    return match[1] if match else ""


def _compiles(check: Check) -> None:
    """It is faster where the loop has a bias, and each way has the result that this machine interprets."""
    text = _run(check)
    check.want(_result(check, text) == _result(check, proc.output([TRACEJIT])), "another result than without LWP")
    compiled, dropped = (sum(map(int, re.findall(rf" {word} (\d+)", text))) for word in ("compiled", "dropped"))
    check.say(f"compiled {compiled}, dropped {dropped}")
    check.want(compiled >= 3 and dropped >= 2, "a phase without a trace of its own")
    times = [float(number) for number in re.findall(r"^phase .* ([\d.]+) times as fast", text, re.MULTILINE)]
    check.say(f"times as fast, by phase: {times}")
    check.want(len(times) == 4 and min(times[0], times[1], times[3]) > FASTER, f"not {FASTER} times as fast")
    _picture_shows(check, text)


def _picture_shows(check: Check, text: str) -> None:
    """Two bars for each slice, a sign for each change."""
    svg = subprocess.run([PICTURE], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout
    drawn = [element.get("class") for element in ElementTree.fromstring(svg).iter()]
    slices = len(re.findall(r"^slice ", text, re.MULTILINE))
    changes = len(re.findall(r"^slice .* compiled [1-9]", text, re.MULTILINE))
    # One more of each in the legend.
    check.want(slices > 0 and drawn.count("i") == slices + 1 == drawn.count("t"), "not two bars for each slice")
    check.want(changes == len(re.findall('class="k">&#9650;</text>', svg)), "not a sign for each trace")


def _interprets(check: Check) -> None:
    text = _run(check, "--cpu=-lwp")
    check.want("everything is interpreted" in text, "it does not say that there is no LWP")
    check.want(_result(check, text) == _result(check, proc.output([TRACEJIT])), "another result")


def run(report: Report) -> None:
    """Both."""
    report.check("tracejit is faster with LWP, and drops what has turned", _compiles)
    report.check("tracejit without LWP says so and has the same result", _interprets)
