# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpctl report --open: who gets the profile, and who does not."""

import os
import re
import signal
import subprocess
import urllib.parse
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from lab.common import proc
from lab.common.places import PYTHON
from sample import LWPCTL, Sample

ORIGIN = "http://profiler.example"
MASK = "import os, signal\nprint([*signal.pthread_sigmask(signal.SIG_BLOCK, [])], os.getpgid(0))\n"


@pytest.fixture
def address(sample: Sample) -> Iterator[str]:
    """Of the profile, as the browser was told it. In the end Ctrl-C ends lwpctl, whose status is 0."""
    words: list[proc.Word] = [LWPCTL, "report", f"--open={ORIGIN}", sample.data()]
    child = proc.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"BROWSER": "/bin/echo"}, text=True)
    assert child.stdout and child.stderr
    told, browser = child.stdout.readline(), child.stdout.readline()
    assert told == browser and told.startswith(f"{ORIGIN}/from-url/http%3A%2F%2F127.0.0.1%3A")
    assert child.stderr.readline() == "lwpctl: Ctrl-C ends it\n"
    yield urllib.parse.unquote(told.strip().removeprefix(f"{ORIGIN}/from-url/"))
    child.send_signal(signal.SIGINT)
    assert proc.wait(child) == 0 and not child.stderr.read()


def _asked(address: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    """What an address says."""
    parts = urllib.parse.urlsplit(address)
    connection = HTTPConnection(parts.netloc)
    connection.request(method, parts.path)
    response = connection.getresponse()
    return response, response.read()


def test_open(sample: Sample, address: str) -> None:
    """The application gets what export writes; a page of another origin may not read it."""
    response, content = _asked(address)
    assert (response.status, response.headers["Access-Control-Allow-Origin"]) == (200, ORIGIN)
    assert content == sample.export("firefox").read_bytes()
    asked, nothing = _asked(address, "OPTIONS")
    assert (asked.status, asked.headers["Access-Control-Allow-Private-Network"], nothing) == (204, "true", b"")


def test_open_to_nobody_else(address: str) -> None:
    """Without the random name there is nothing, nothing can be sent, and other machines do not reach it."""
    port = urllib.parse.urlsplit(address).port
    name = re.search(r"/([0-9a-f]{32})/profile\.json$", address)
    assert port and name and len(set(name[1])) > 4
    for url in (f"http://127.0.0.1:{port}/profile.json", address + "x", f"http://127.0.0.1:{port}/"):
        response, content = _asked(url)
        assert (response.status, content) == (404, b"") and "Access-Control-Allow-Origin" not in response.headers
    assert _asked(address, "POST")[0].status == 405
    places = re.findall(rf" ([0-9A-F]+):{port:04X} 0+:0000 0A ", Path("/proc/net/tcp").read_text(encoding="ascii"))
    assert places == ["0100007F"]


def test_open_leaves_the_browser_its_signals(sample: Sample) -> None:
    """It can be ended, and is not by the Ctrl-C that ends lwpctl."""
    browser = sample.place / "browser"
    browser.write_text(f"#!{PYTHON}\n{MASK}", encoding="ascii")
    browser.chmod(0o755)
    words: list[proc.Word] = [LWPCTL, "report", "--open", sample.data()]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    child = proc.start(words, env={"BROWSER": str(browser)}, **pipes)
    assert child.stdout
    said = [child.stdout.readline() for _ in range(2)][1]
    child.send_signal(signal.SIGTERM)
    assert proc.wait(child) == 0
    assert said != f"[] {os.getpgid(0)}\n" and said.startswith("[] ")


def test_open_without_a_browser(sample: Sample) -> None:
    """The address is printed all the same."""
    words: list[proc.Word] = [LWPCTL, "report", "--open", sample.data()]
    env = {"BROWSER": "/nowhere/browser"}
    child = proc.start(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True)
    assert child.stdout and child.stderr
    assert child.stdout.readline().startswith("https://profiler.firefox.com/from-url/")
    assert child.stderr.readline() == "lwpctl: no /nowhere/browser: open this address in a browser\n"
    child.send_signal(signal.SIGTERM)
    assert proc.wait(child) == 0
