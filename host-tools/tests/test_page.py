# SPDX-License-Identifier: GPL-2.0-or-later
"""The page of lwpctl html, used in Chromium with mouse and keys, where that is installed."""

from collections.abc import Iterator

import pytest

from chromium import Chromium
from sample import Sample, needs

FRAMES = "[...document.querySelectorAll('.icicle button')]"
ROWS = "[...document.querySelectorAll('[aria-label=\"Functions by samples\"] tbody tr')].filter(r => !r.hidden)"
FOCUSED = "document.activeElement.textContent"
NAMES = f"{FRAMES}.map(f => f.textContent)"
EVENTS = 2
HOT, COLD, PROCESS = "sample_hot", "sample_cold", 'sam;ple "\\x1b[31m'


def frame(name: str) -> str:
    """The frame of this name."""
    return f"{FRAMES}.find(f => f.textContent === {name!r})"


@pytest.fixture(params=[(1280, "light"), (420, "dark")], ids=["wide", "narrow"])
def page(sample: Sample, request: pytest.FixtureRequest) -> Iterator[Chromium]:
    """The page of the sample, in two widths and both schemes; nothing goes wrong in it."""
    browser, (width, scheme) = needs("chromium-headless-shell", "chromium"), request.param
    sample.good("html", "-o", "sample.html", sample.data())
    with Chromium(browser, sample.place / "sample.html", width, scheme, sample.place / "profile") as one:
        yield one
        assert not one.faults


def test_page_search(page: Chromium) -> None:
    """Tab leads to the events, then to the search, which marks stacks, says their share, and keeps functions that it
    finds."""
    for _ in range(EVENTS + 1):
        page.key("Tab")
    assert page.value("document.activeElement.type") == "search"
    for letter in "Cold":
        page.key(letter)
    assert page.value(f"{FRAMES}.filter(f => f.classList.contains('found')).map(f => f.textContent)") == [COLD]
    assert page.value("document.querySelector('[role=status]').textContent").strip().startswith("31.82% of the samples")
    assert page.value(f"{ROWS}.length") == 1 and COLD in page.value(f"{ROWS}[0].textContent")


def test_page_zoom(page: Chromium) -> None:
    """A frame that is chosen is as wide as the page, below its ancestors, and has the focus; again: as before."""
    page.click(frame(HOT))
    assert page.value(NAMES) == ["all samples", PROCESS, HOT]
    assert page.value(f"{frame(HOT)}.style.width") == "100%" and page.value(FOCUSED) == HOT
    page.key("Enter")
    assert page.value(NAMES) == ["all samples", PROCESS, HOT, COLD] and page.value(FOCUSED) == HOT
    page.click(frame(HOT))
    page.click(frame("all samples"))
    assert page.value(NAMES) == ["all samples", PROCESS, HOT, COLD]


def test_page_keys(page: Chromium) -> None:
    """The stacks are one stop of Tab; arrow keys go from frame to frame."""
    for _ in range(EVENTS + 2):
        page.key("Tab")
    seen = [page.value(FOCUSED)]
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft", "ArrowUp"):
        page.key(key)
        seen.append(page.value(FOCUSED))
    assert seen == ["all samples", PROCESS, HOT, COLD, COLD, HOT, PROCESS]
    page.key("Tab")
    assert page.value("document.activeElement.closest('th') !== null"), "behind the stacks are the tables"


def test_page_sorts(page: Chromium) -> None:
    """A heading sorts the rows, and again the other way round; a line's number is seen."""
    heading = "document.querySelectorAll('[aria-label=\"Functions by samples\"] th button')"
    shares = f"{ROWS}.map(r => r.cells[0].textContent)"
    assert page.value(shares) == ["68.18%", "31.82%"]
    page.click(f"{heading}[0]")
    page.click(f"{heading}[0]")
    assert page.value(shares) == ["31.82%", "68.18%"]
    lines = "[...document.querySelectorAll('[aria-label=\"Source lines by samples\"] td.name:not(.wide) div')]"
    assert page.value(f"{lines}.every(d => /^tests\\/sample_profile.c:\\d+$/.test(d.textContent))")
    assert page.value(f"{lines}.every(d => d.scrollHeight <= d.clientHeight)"), "nothing is cut off"
