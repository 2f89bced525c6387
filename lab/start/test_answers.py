# SPDX-License-Identifier: GPL-2.0-or-later
"""What becomes of a file of answers, good or hostile."""

import json
from pathlib import Path

import pytest

from lab.common.say import Died
from lab.start.answers import added, read

PAGE = "a\n\n| asked | about | vlwp |\n| --- | --- | --- |\n| Q01 | a | none |\n| Q02 | b | 5 |\n\n| Q1 | c |\n"
NAME = "fam15h model 02h stepping 0"


def test_a_processor_has_one_column() -> None:
    page = added(PAGE, NAME, {"Q01": "jmp call"})
    rows = ("| Q01 | a | none | jmp call |", "| Q02 | b | 5 | not asked |")
    head = f"| asked | about | vlwp | {NAME} |\n| --- | --- | --- | --- |"
    assert page == "\n".join(["a", "", head, *rows, "", "| Q1 | c |", ""])
    assert added(page, NAME, {"Q02": "0"}) == page.replace("jmp call", "not asked").replace("5 | not asked", "5 | 0")


def _answers(text: str) -> str:
    return json.dumps({"processor": NAME, "answers": {"Q02": text}})


@pytest.mark.parametrize("text, says", [
    ("", "not what judge.py"), ("[1]", "not what judge.py"), ("[" * 60000, "not what judge.py"),
    (_answers("0").replace("{", "{" + " " * 70000), "not what judge.py"),
    (_answers("0").replace("{\"Q02", "5, \"Q\": {\"Q02"), "not what judge.py"),
    (_answers("0").replace("02h", "0|h"), "whose"), (_answers("0").replace("Q02", "Q03"), "other questions"),
    *((_answers(answer), "an answer is not") for answer in ("", "<b>", "a | b", "a\n", "[a](b)", "a" * 61, "a  b")),
])
def test_a_bad_file_is_told_in_a_line(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "answers"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(Died, match=says) as died:
        read(file, PAGE)
    assert "\n" not in str(died.value)
    file.write_text(_answers("10 a-b"), encoding="utf-8")
    assert read(file, PAGE) == (NAME, {"Q02": "10 a-b"})
    with pytest.raises(Died, match="cannot read"):
        read(tmp_path, PAGE)
