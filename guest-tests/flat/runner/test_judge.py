# SPDX-License-Identifier: GPL-2.0-or-later
"""What judge.py says of a row's output and ending, and of serial logs, whole, cut and hostile."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from judge import FAILED, PASSED, Suite, expected, main, read, verdict

HEAD = "TAP version 13\n"


@pytest.mark.parametrize("text, status, word, why", [
    pytest.param("ok 1 - a\nok 2 - b # SKIP no c\n1..2\n", PASSED, "pass", "", id="all points ok"),
    pytest.param("ok 1 - a\r\nnot ok 2 - b\r\n#   note\r\n1..2\r\n", FAILED, "FAIL", "", id="a point not ok"),
    pytest.param("ok 1 - a # SKIP x\n1..1\n", PASSED, "skip", "", id="nothing but skipped points"),
    pytest.param("ok 1 - a\n", PASSED, "ERROR", "no plan after 1 points", id="no plan"),
    pytest.param("ok 1 - a\n1..2\n", PASSED, "ERROR", "1 points, but a plan of 2", id="another plan"),
    pytest.param("not ok 1 - a\n1..1\n", PASSED, "ERROR", "1 points failed, but status 1", id="status contradicts"),
    pytest.param("ok 1 - a\n1..1\n", FAILED, "ERROR", "0 points failed, but status 3", id="points contradict"),
    pytest.param("ok 1 - a\n\nBail out! kernel trap 14\n", 5, "ERROR", "kernel trap 14", id="it bails out"),
    pytest.param("ok 1 - a\n1..1\n", 0, "ERROR", "QEMU ended with status 0", id="an emulator that fails"),
    pytest.param("", -11, "ERROR", "QEMU was killed by signal 11", id="an emulator that is killed"),
    pytest.param("ok 1 - a\n", None, "FAIL", "no end within the time limit, after 1 points", id="it hangs"),
])
def test_verdict(text: str, status: int | None, word: str, why: str) -> None:
    assert verdict(read(HEAD + text), status) == (word, why)


@pytest.mark.parametrize("status, why", [
    (PASSED, "QEMU ended with status 1 before the kernel started"),
    (None, "the kernel did not start within the time limit"),
])
def test_a_kernel_that_never_starts(status: int | None, why: str) -> None:
    assert verdict(read("SeaBIOS\n"), status) == ("ERROR", why)


def test_points_are_counted() -> None:
    tap = read(f"{HEAD}ok 1 - a\nok 2 - b # SKIP no c\nnot ok 3 - d\n1..3\n")
    assert (tap.passed, tap.failed, tap.skipped, tap.in_order) == (1, 1, 1, True)


def row(name: str, text: str) -> str:
    """A row of a log."""
    return f"# row {name}\n{HEAD}{text}"


def suite(text: str, level: str = "certain", expect: str = "") -> Suite:
    """A log that is judged."""
    one = Suite(level, expected(expect.splitlines()))
    one.judge(text.split("\n"))
    return one


def of(text: str, level: str = "certain", expect: str = "") -> tuple[bool, str]:
    """Has a log failures, and what is said of it."""
    one = suite(text, level, expect)
    return one.sums()[1] > 0, one.tap(rules=True)


IRE = row("ire", "ok 1 - a\n1..1\n")


def test_each_row_is_a_point() -> None:
    log = "SeaBIOS\n\n# suite: 3 rows\n\n" + row("ire", "ok 1 - a\nok 2 - b\n1..2\n")
    log += row("bre", "not ok 1 - c\n#   is 1\n1..1\n") + row("ring", "ok 1 - ring # SKIP needs lwp\n1..1\n")
    text = "TAP version 13\nok 1 - ire\nnot ok 2 - bre: 1 of 1 points\n#   not ok 1 - c\nok 3 - ring # SKIP needs lwp\n"
    text += "# not run for want of lwp (LWP): ring\n"
    assert of((log + "\n# suite: end\n").replace("\n", "\r\n")) == (1, text + "1..3\n1 passed, 1 failed, 1 skipped\n")


def test_rows_of_single_boots_need_no_suite() -> None:
    assert of(IRE) == (0, "TAP version 13\nok 1 - ire\n1..1\n1 passed, 0 failed, 0 skipped\n")


def test_rows_that_have_not_run_stand_with_their_need() -> None:
    skipped = "".join(row(name, "ok 1 - a # SKIP needs event-5\n1..1\n") for name in ("clocks", "ptsc"))
    assert "# not run for want of event-5 (EventId 5): clocks ptsc\n" in of(IRE + skipped)[1]


def test_nothing_but_skipped_rows_is_a_skip() -> None:
    assert suite(row("ire", "ok 1 - a # SKIP needs lwp\n1..1\n")).sums() == (0, 0, 1)


@pytest.mark.parametrize("text", ["", "\n", f"{HEAD}ok 1 - a\n1..1\n"])
def test_what_has_no_row_is_no_log(text: str) -> None:
    assert not suite(text).results


@pytest.mark.parametrize("text, says", [
    pytest.param("# suite: 2 rows\n" + row("ire", "ok 1 - a\n"), (
        "not ok 1 - ire: the row has no end, after 1 points\n",
        "not ok 2 - the suite: 1 rows of 2 are in the log, and not its end\n"), id="cut"),
    pytest.param("# suite: 2 rows\n", ("0 rows of 2",), id="cut before the first row"),
    pytest.param(f"# suite: 2 rows\n{IRE}# suite: end\n", ("not ok 2 - the suite: 1 rows of 2 are in the log\n",),
                 id="a row is missing"),
    pytest.param("# suite: 2 rows\n" + row("ire", "ok 1 - a\n") + "# suite: 1 rows\n" + row("bre", "ok 1 - a\n1..1\n")
                 + "# suite: end\n", ("ok 3 - bre\n", "1 passed, 2 failed"), id="a second boot"),
    pytest.param(row("ire", "ok 1 - a\nok 3 - c\n1..3\n"), ("lines are missing",), id="a line is missing"),
    pytest.param(row("ire", "ok 1 - a\nok 1 - a\n1..2\n"), ("lines are missing",), id="a line comes twice"),
    pytest.param(row("ire", "1..0\n"), ("no points",), id="no points"),
    pytest.param(row("ire", "ok 1 - a\n\nBail out! kernel trap 14\n"), (
        "not ok 1 - ire: the test is broken: kernel trap 14\n",), id="it bails out"),
    pytest.param(row("\033[2J # SKIP x", "ok 1 - a\n1..1\n"), (
        "not ok 1 - ?[2J ? SKIP x: this judge has no row of this name\n",), id="an unknown row, harmlessly"),
    pytest.param(row("ire", "".join(f"not ok {n} - x\n" for n in range(1, 5001)) + "1..5000\n"), (
        "ire: 5000 of 5000 points\n", "0 passed, 1 failed, 0 skipped\n"), id="many failures"),
])
def test_fails(text: str, says: tuple[str, ...]) -> None:
    status, said = of(text)
    assert status == 1 and len(said.splitlines()) < 30
    for words in says:
        assert words in said


MARKED = row("filters", "ok 1 - a [43724-417 43724-722 recalled]\nnot ok 2 - b [43724-723 choice]\n1..2\n")


@pytest.mark.parametrize("level, failed, says", [
    ("certain", False, "ok 1 - filters\n#   observed: this processor: b: not so [43724-723 choice]\n"),
    ("recalled", False, "observed: this processor: b"),
    ("choice", True, "not ok 1 - filters: 1 of 2 points\n#   not ok 2 - b"),
])
def test_what_an_implementation_may_choose_is_observed(level: str, failed: bool, says: str) -> None:
    ended, said = of(MARKED, level)
    assert ended == failed and says in said


def test_an_observation_has_the_number_or_how_the_row_ends() -> None:
    text = MARKED.replace("1..2", "#   is 20, should be 40\n1..2")
    assert "observed: this processor: b: is 20, and 40 in vlwp [43724-723 choice]\n" in of(text)[1]
    text = row("not_ram", "ok 1 - a\n\nBail out! user code came back [43724-818 choice]\n")
    says = "the row runs to its end (user code came back): not so [43724-818 choice]"
    assert f"ok 1 - not_ram\n#   observed: this processor: {says}" in of(text)[1]
    assert of(text, "choice")[0]


def test_rules_are_counted() -> None:
    said = of(MARKED + row("bre", "ok 1 - c [43724-723 recalled]\n1..1\n"))[1]
    assert "# rule 43724-722: 1 ok, 0 not ok\n# rule 43724-723: 1 ok, 1 not ok\n" in said


WRONG = row("bre", "ok 1 - a [43724-803 certain]\nnot ok 2 - b [43724-723 certain]\n1..2\n")


@pytest.mark.parametrize("what, text, failed, says", [
    ("bre", WRONG, False, "ok 1 - bre\n#   expected: not ok 2 - b [43724-723 certain]: erratum 7\n"),
    ("bre/2", WRONG, False, "1 passed, 0 failed"),
    ("43724-723", WRONG, False, "1 passed, 0 failed"),
    ("bre", row("bre", "ok 1 - a\n"), False, "ok 1 - bre: expected: the row has no end, after 1 points: erratum 7\n"),
    ("43724-723", MARKED, False, "1 passed, 0 failed"),
    ("ring", IRE, False, "1 passed, 0 failed"),
    ("ire", row("ire", "ok 1 - a # SKIP needs lwp\n1..1\n"), False, "0 passed, 0 failed, 1 skipped"),
    ("ire", row("ire", "not ok 1 - a\n1..1\n") + IRE, False, "2 passed, 0 failed"),
    ("ire", row("ire", "ok 1 - a\nok 2 - b # SKIP c\n1..2\n"), True, "\nnot ok 2 - ire: passes, unexpectedly"),
    ("bre/1", WRONG, True, "not ok 1 - bre: 1 of 2 points\n#   not ok 2 - b"),
    ("bre/1", WRONG, True, "\nnot ok 2 - bre/1: passes, unexpectedly: erratum 7\n"),
    ("43724-803", WRONG, True, "\nnot ok 2 - 43724-803: passes, unexpectedly: erratum 7\n"),
    ("ire", WRONG, True, "not ok 1 - bre: 1 of 2 points\n#   not ok 2 - b"),
])
def test_what_is_expected_to_fail_must_do_so(what: str, text: str, failed: bool, says: str) -> None:
    """By row, point and rule; what is observed only, not in the log, or skipped is no surprise."""
    ended, said = of(text, expect=f"# comment\n\n{what} erratum 7\n")
    assert ended == failed and says in said


NASTY = row("ire", f"not ok {'9' * 500} - ]]><\033[2J&\"\ud800{'x' * 9999} \n1..{'9' * 5000}\n")


ASKED = row("bre", """\
not ok 1 - b [43724-405 choice]
# answer Q02 b: 5, and none in vlwp
# answer Q03 b: \033[2J
# answer Q04 b: a|b
ok 2 - a [43724-417 choice]
# answer Q01 a: jmp call
1..2
""")


def test_answers_stand_after_the_rows() -> None:
    """What is not an answer is none; one that differs is told once."""
    text = "TAP version 13\nok 1 - bre\n# answer Q01 a: jmp call, as vlwp [43724-417]\n"
    text += "# answer Q02 b: 5, and none in vlwp [43724-405]\n1..1\n1 passed, 0 failed, 0 skipped\n"
    assert suite(ASKED).tap(rules=False) == text
    assert "not ok 1 - bre: 1 of 2 points\n#   not ok 1 - b [" in suite(ASKED, "choice").tap(rules=False)


@pytest.mark.parametrize("version, name", [
    ("00600f20", "fam15h model 02h stepping 0"), ("00a20f12", "fam19h model 21h stepping 2"), ("00000000", "")])
def test_answers_have_a_file(version: str, name: str) -> None:
    told = json.loads(suite(f"# cpuid 00000001: {version}{' 00000000' * 3}\n{ASKED}").answers())
    assert told == {"processor": name, "answers": {"Q01": "jmp call", "Q02": "5"}}


def judged(place: Path, monkeypatch: pytest.MonkeyPatch, log: str, expect: str = "") -> int:
    """The status of the program, which has written place/json and place/junit."""
    (place / "log").write_bytes(log.encode(errors="surrogatepass"))
    (place / "expect").write_text(expect, encoding="utf-8")
    words = [f"--{name}={place / name}" for name in ("expect", "json", "junit")]
    monkeypatch.setattr(sys, "argv", ["judge.py", *words, str(place / "log")])
    return main()


def test_files_have_each_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rule, certainty and row, the leaf and the MSR; whatever the text is."""
    leaf = "# cpuid 8000001c: 00000001 20800401 07010404 c0000007\n# cpuid x: 1\n"
    msrs = "# msr c0000105: 000000000000000e\n# msr 1: 2\n"
    assert judged(tmp_path, monkeypatch, leaf + msrs + MARKED + NASTY) == 1
    told = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    assert told["level"] == "certain" and told["cpuid"] == {"8000001c": "00000001 20800401 07010404 c0000007"}
    assert told["msr"] == {"c0000105": "000000000000000e"}
    first, nasty = told["rows"]
    assert first["row"] == "filters" and first["points"][1] == {
        "point": 2, "text": "b", "verdict": "observed", "rules": ["43724-723"], "certainty": "choice", "why": "",
        "question": "", "answer": "", "vlwp": ""}
    assert nasty["verdict"] == "not ok" and nasty["points"][0]["text"].startswith("]]><?[2J&\"")
    text = (tmp_path / "junit").read_text(encoding="utf-8")
    sums = [(s.get("name"), s.get("tests"), s.get("failures"), s.get("skipped")) for s in ElementTree.fromstring(text)]
    assert sums == [("filters", "3", "0", "1"), ("ire", "2", "2", "0")] and len(text) < 3000


@pytest.mark.parametrize("line", ["bre", "bare erratum", "bre/x erratum", "bre/0 erratum", "43724- no", "\033[2J x"])
def test_a_bad_line_of_expectations_is_told(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert judged(tmp_path, monkeypatch, IRE, f"ire erratum\n{line}\n") == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / 'expect'}:2: not ROW, ROW/POINT or RULE" in said
    assert said.count("\n") == 1 and "\033" not in said


def test_what_comes_behind_the_plan_is_not_the_rows() -> None:
    assert of(row("ire", "ok 1 - a\n1..1\nnot ok 2 - firmware\nBail out! no\n"))[0] == 0
