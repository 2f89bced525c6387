# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of whom a series is from, and of its cover letter."""

import pytest

from lab.common.say import Died, Usage
from lab.series.qemu import shown
from lab.series.tree import HOOKS, author


def test_a_series_is_from_the_author_of_its_hooks() -> None:
    """Where nothing else is said."""
    first = next(HOOKS.glob("0001-*.patch")).read_text(encoding="utf-8")
    who = author()
    assert f"\nFrom: {who.name} <{who.email}>\n" in f"\n{first}"


@pytest.mark.parametrize("text", ["A. Tester", "<tester@example.org>", "A <tester>", "A <a@b> <c@d>"])
def test_an_author_without_name_or_address_is_refused(text: str) -> None:
    """Before anything is written."""
    with pytest.raises(Usage, match="is not like"):
        author(text)


COVER = "tcg: fixes\n\nWhy.\n\nWhat shows each patch:\n\ntcg: one\n  By a test.\ntcg: two\n  By another\n  test.\n"


def test_a_cover_letter_says_what_shows_each_patch_of_this_qemu() -> None:
    """And nothing of those that it does not need."""
    assert shown(COVER, ["tcg: one", "tcg: two"]) == COVER
    assert shown(COVER, ["tcg: two"]) == COVER.replace("tcg: one\n  By a test.\n", "")


def test_a_patch_without_what_shows_it_is_refused() -> None:
    """Whoever adds a fix says what shows it."""
    with pytest.raises(Died, match="does not say what shows 'tcg: three'"):
        shown(COVER, ["tcg: two", "tcg: three"])
