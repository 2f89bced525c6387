# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl exports, opened in the viewers whose formats these are, where they are installed. `./vlwp deps` does not
install them."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from lab.common import proc
from lab.common.report import Check
from lab.testing.sample import BELOW, COLD, HOT, LWPCTL, PROCESS, SAMPLE, W_COLD, W_HOT, export

HOTSPOT = Path("/usr/lib/x86_64-linux-gnu/libexec/hotspot-perfparser")


def hotspot(check: Check) -> None:
    """hotspot's parser has the names, those of compiled code too, and nothing to complain of."""
    if not HOTSPOT.exists():
        check.say("no hotspot here")
        return
    data, out = check.work / "sample.data", check.work / "hotspot"
    for mode, form, names in (
        ("--jit", "perf", ("sample_hot", "sample_cold", "first one", "second")),
        ("--windows", "perfcalls", ("sample_hot", "sample_cold")),
    ):
        check.run([SAMPLE, mode, data])
        check.run([LWPCTL, "export", f"--format={form}", "-o", check.work / "perf.data", data])
        status, text = check.text([HOTSPOT, "--input", check.work / "perf.data", "--output", out], stderr=True)
        check.want(status == 0, f"{form}: status {status}")
        check.want(not text.replace("FINISHED_ROUND detected. Switching to automatic buffering", "").strip(), text)
        found = out.read_bytes()
        check.want(all(name.encode() in found for name in names), f"{form}: not all of {names}")


DIALOG = 120  # seconds: what is not recognised is a dialog, which nobody answers


def speedscope(check: Check) -> None:
    """speedscope (npm) reads it in a browser: its table has the functions and their costs."""
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    program = shutil.which("speedscope")
    if not browser or not program:
        check.say("no Chromium or no speedscope here (npm install -g speedscope)")
        return
    page = Path(program).resolve().parents[1] / "dist/release/index.html"
    for name in ("collapsed", "pprof"):
        content = base64.b64encode(export(check, name).read_bytes()).decode()
        script = check.work / "speedscope.js"
        script.write_text(f'speedscope.loadFileFromBase64("sample.{name}", "{content}")', encoding="ascii")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000", "--dump-dom"]
        address = f"file://{page}#localProfilePath={script}&view=sandwich"
        _, dom = check.text(["timeout", str(DIALOG), browser, *options, "--allow-file-access-from-files", address])
        text = re.sub(r"(<[^>]*>)+", "|", dom)
        check.want(f"|sample.{name} - speedscope|" in text, f"{name}: it was not read")
        for symbol, cost in (("sample_hot", HOT), ("sample_cold", COLD)):
            wanted = rf"\|{cost:,} \(\d+%\)\|{symbol}\|"
            check.want(re.search(wanted, text), f"{name}: {symbol} is not there with {cost}")
        check.want("NaN" not in text, f"{name}: something is no number")


# What the Firefox Profiler itself makes of a profile: its command line loads it in a process that answers others.
FIREFOX = (
    ("", False, {"sample_hot": (HOT, HOT), "sample_cold": (COLD, COLD), PROCESS: (0, HOT + COLD)}),
    (
        "--event=branches",
        True,
        {
            **{"sample_hot": (W_HOT, W_HOT + W_COLD), "sample_cold": (W_COLD, W_COLD)},
            **{name: (0, W_HOT + W_COLD) for name in (BELOW, PROCESS)},
        },
    ),
)
LOADING = 60  # seconds
POLL = 0.05  # seconds


def _firefox_loads(check: Check, server: "subprocess.Popen[Any]", log: Path) -> None:
    """Wait until it has read the profile. Who asks it earlier removes its socket."""
    began = time.monotonic()
    while "Profile loaded" not in (text := log.read_text(encoding="utf-8") if log.exists() else ""):
        check.want(server.poll() is None and time.monotonic() < began + LOADING, f"the profile is not loaded: {text}")
        time.sleep(POLL)


def _firefox_answer(check: Check, program: str, env: dict[str, str], *question: str) -> Any:
    """What it says to one question."""
    status, text = check.text([program, *question, "--session=sample", "--json"], env=env)
    check.want(status == 0, f"{' '.join(question)}: status {status}")
    return json.loads(text)


def _firefox_functions(check: Check, program: str, env: dict[str, str]) -> dict[str, tuple[int, int]]:
    """Function: its own samples, and those with it in the stack, of all threads."""
    found: dict[str, tuple[int, int]] = {}
    for thread in _firefox_answer(check, program, env, "thread", "list")["threads"]:
        handle = f"--thread={thread['threadHandle']}"
        for row in _firefox_answer(check, program, env, "thread", "functions", handle, "--limit=0")["functions"]:
            own, total = found.get(row["name"], (0, 0))
            found[row["name"]] = own + row["selfSamples"], total + row["totalSamples"]
    return found


def firefox(check: Check) -> None:
    """The Firefox Profiler (npm) has the functions of all threads, with their samples."""
    program = shutil.which("profiler-cli")
    if not program:
        check.say("no profiler-cli here (npm install -g @firefox-devtools/profiler-cli)")
        return
    for options, windows, wanted in FIREFOX:
        out = export(check, "firefox", *filter(None, [options]), windows=windows)
        with tempfile.TemporaryDirectory(prefix="vlwp-firefox.") as sessions:  # a socket's path is short
            env = {"PROFILER_CLI_SESSION_DIR": sessions, "PROFILER_CLI_NO_SYMBOLICATE": "1"}
            server = proc.start([program, "--daemon", out, "--session", "sample"], env=env, stdout=subprocess.DEVNULL)
            try:
                _firefox_loads(check, server, Path(sessions) / "sample.log")
                found = _firefox_functions(check, program, env)
            finally:
                proc.end(server)
        check.want(found == wanted, f"{options}: {found}, wanted {wanted}")
