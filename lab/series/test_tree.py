# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of whom a series is from."""

import pytest

from lab.common.say import Usage
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
