# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl exports, opened in the viewers whose formats these are, where they are installed."""

import base64
import json
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from lab.common import proc
from lab.tests.conftest import good, run
from sample import BELOW, COLD, HOT, PROCESS, W_COLD, W_HOT, Sample, needs

HOTSPOT = "/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser"
NOTHING = "FINISHED_ROUND detected. Switching to automatic buffering"  # is no complaint
DIALOG = 120  # seconds: what is not recognised is a dialog, which nobody answers


@pytest.mark.parametrize("mode, form, names", [
    ("--jit", "perf", ("sample_hot", "sample_cold", "first one", "second")),
    ("--windows", "perfcalls", ("sample_hot", "sample_cold")),
], ids=["perf", "perfcalls"])
def test_hotspot(sample: Sample, mode: str, form: str, names: tuple[str, ...]) -> None:
    """hotspot's parser has the names, those of compiled code too, and nothing to complain of."""
    parser, file, out = needs(HOTSPOT), sample.place / "perf.data", sample.place / "hotspot"
    sample.good("export", f"--format={form}", "-o", file, sample.data(mode))
    ended = run([parser, "--input", file, "--output", out])
    assert ended.status == 0 and not ended.said.replace(NOTHING, "").strip()
    found = out.read_bytes()
    assert all(name.encode() in found for name in names)


@pytest.mark.parametrize("form", ["collapsed", "pprof"])
def test_speedscope(sample: Sample, form: str) -> None:
    """speedscope (npm) reads it in a browser: its table has the functions and their costs."""
    browser = needs("chromium-headless-shell", "chromium")
    page = Path(needs("speedscope")).resolve().parents[1] / "dist/release/index.html"
    content = base64.b64encode(sample.export(form).read_bytes()).decode()
    script = sample.place / "speedscope.js"
    script.write_text(f'speedscope.loadFileFromBase64("sample.{form}", "{content}")', encoding="ascii")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
    address = f"file://{page}#localProfilePath={script}&view=sandwich"
    dom = run([browser, *options, "--allow-file-access-from-files", address], limit=DIALOG).out
    text = re.sub(r"(<[^>]*>)+", "|", dom)
    assert f"|sample.{form} - speedscope|" in text, "it was not read"
    for symbol, cost in (("sample_hot", HOT), ("sample_cold", COLD)):
        assert re.search(rf"\|{cost:,} \(\d+%\)\|{symbol}\|", text), f"{symbol} has {cost}"
    assert "NaN" not in text


LOADING = 60  # seconds
POLL = 0.05  # seconds
WINDOWS = W_HOT + W_COLD


class Firefox:
    """The Firefox Profiler's command line, which loads a profile in a process that answers others."""

    def __init__(self, program: str, sessions: Path):
        self.program, self.sessions = program, sessions
        self.env = {"PROFILER_CLI_SESSION_DIR": str(sessions), "PROFILER_CLI_NO_SYMBOLICATE": "1"}

    def load(self, profile: Path) -> "subprocess.Popen[Any]":
        """Start it and wait until it has read the profile. Who asks it earlier removes its socket."""
        command: list[proc.Word] = [self.program, "--daemon", profile, "--session", "sample"]
        server = proc.start(command, env=self.env, stdout=subprocess.DEVNULL)
        began, log = time.monotonic(), self.sessions / "sample.log"
        while "Profile loaded" not in (text := log.read_text(encoding="utf-8") if log.exists() else ""):
            assert server.poll() is None and time.monotonic() < began + LOADING, text
            time.sleep(POLL)
        return server

    def answer(self, *question: str) -> Any:
        """What it says to one question."""
        words = [self.program, *question, "--session=sample", "--json"]
        return json.loads(good(words, env=self.env))

    def functions(self) -> dict[str, tuple[int, int]]:
        """Function: its own samples, and those with it in the stack, of all threads."""
        found: dict[str, tuple[int, int]] = {}
        for thread in self.answer("thread", "list")["threads"]:
            handle = f"--thread={thread['threadHandle']}"
            for row in self.answer("thread", "functions", handle, "--limit=0")["functions"]:
                own, total = found.get(row["name"], (0, 0))
                found[row["name"]] = own + row["selfSamples"], total + row["totalSamples"]
        return found


@pytest.mark.parametrize("options, windows, wanted", [
    ([], False, {"sample_hot": (HOT, HOT), "sample_cold": (COLD, COLD), PROCESS: (0, HOT + COLD)}),
    (["--event=branches"], True, {
        "sample_hot": (W_HOT, WINDOWS), "sample_cold": (W_COLD, W_COLD), BELOW: (0, WINDOWS), PROCESS: (0, WINDOWS),
    }),
], ids=["samples", "windows"])
def test_firefox_profiler(
    sample: Sample, options: list[str], windows: bool, wanted: dict[str, tuple[int, int]],
) -> None:
    """The Firefox Profiler (npm) has the functions of all threads, with their samples."""
    program = needs("profiler-cli")
    with tempfile.TemporaryDirectory(prefix="vlwp-firefox.") as sessions:  # a socket's path is short
        firefox = Firefox(program, Path(sessions))
        server = firefox.load(sample.export("firefox", *options, windows=windows))
        try:
            assert firefox.functions() == wanted
        finally:
            proc.end(server)
