# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of lwpctl html, used by a script in Chromium, where that is installed."""

import html
import json
import re

import pytest

from lab.tests.conftest import run
from sample import Sample, needs

# Behind the page's own script: it chooses, presses and looks, and leaves what it has seen on the page.
SCRIPT = """<script>{
const frames = () => [...document.querySelectorAll(".icicle button")], names = () => frames().map(f => f.textContent);
const frame = name => frames().find(f => f.textContent === name), focused = () => document.activeElement.textContent;
const table = name => document.querySelector(`[aria-label="${name}"]`), functions = table("Functions by samples");
const rows = () => [...functions.tBodies[0].rows].filter(r => !r.hidden).map(r => r.cells[0].textContent);
const press = key => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key }));
const search = document.querySelector("input"), seen = { frames: names(), rows: rows() };
const find = text => { search.value = text; search.dispatchEvent(new Event("input")); };
seen.stops = [...document.querySelectorAll("button, input")].filter(e => e.tabIndex >= 0).slice(0, 5)
    .map(e => e.textContent || e.type);
find("Cold");
seen.found = frames().filter(f => f.classList.contains("found")).map(f => f.textContent);
seen.said = document.querySelector("[role=status]").textContent.trim();
seen.foundRows = rows();
find("");
frame("sample_hot").click();
seen.zoomed = [names(), frame("sample_hot").style.width, focused()];
document.activeElement.click();
seen.back = [names(), focused()];
frames()[0].focus();
seen.keys = ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"]
    .map(key => { press(key); return focused(); });
for (let i = 0; i < 2; i++)
    functions.querySelector("th button").click();
seen.sorted = rows();
seen.lines = [...table("Source lines by samples").querySelectorAll("td.name:not(.wide) div")]
    .map(d => d.scrollHeight <= d.clientHeight && d.textContent);
element("pre", document.body, { id: "seen" }, JSON.stringify(seen));
}</script></body>"""
HOT, COLD, PROCESS = "sample_hot", "sample_cold", 'sam;ple "\\x1b[31m'
ALL = ["all samples", PROCESS, HOT, COLD]
WANTED = {
    "frames": ALL, "rows": ["68.18%", "31.82%"],
    "stops": ["instructions", "branches", "search", "all samples", "Share"],
    "found": [COLD], "said": "31.82% of the samples are in it, or in what it calls.", "foundRows": ["31.82%"],
    "zoomed": [ALL[:3], "100%", HOT], "back": [ALL, HOT], "keys": [PROCESS, HOT, COLD, COLD, HOT, PROCESS],
    "sorted": ["31.82%", "68.18%"],
}


@pytest.mark.parametrize("width, scheme", [(1280, 1), (420, 0)], ids=["wide-light", "narrow-dark"])
def test_page(sample: Sample, width: int, scheme: int) -> None:
    """The search is the stop behind the events, marks stacks and keeps rows; a frame that is chosen keeps its ancestors
    and the focus; arrow keys go from frame to frame; headings sort; a line's number is seen; nothing goes wrong."""
    browser = needs("chromium-headless-shell", "chromium")
    sample.good("html", "-o", "sample.html", sample.data())
    page = sample.place / "sample.html"
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", SCRIPT), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--enable-logging=stderr"]
    look = [f"--window-size={width},900", f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom"]
    ended = run([browser, *options, *look, f"file://{page}"])
    assert ended.status == 0 and "CONSOLE" not in ended.said
    found = re.search(r'<pre id="seen">(.*?)</pre>', ended.out, re.DOTALL)
    assert found
    seen = json.loads(html.unescape(found[1]))
    lines = seen.pop("lines")
    assert seen == WANTED and lines and all(re.fullmatch(r"tests/sample_profile\.c:\d+", line) for line in lines)
