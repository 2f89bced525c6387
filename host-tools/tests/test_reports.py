# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpctl's reports and pages, and what it makes of several profiles."""

import json
import re
from pathlib import Path

import pytest

from lab.common.places import TOP
from sample import BRANCHES, COLD, HOT, SAMPLE, W_CALLS, W_COLD, Sample


def _page(sample: Sample, data: Path | None = None) -> Path:
    sample.good("html", "-o", "sample.html", data or sample.data())
    return sample.place / "sample.html"


def test_html(sample: Sample) -> None:
    """The page names nothing outside of it; its data add up, and nothing of the guest ends the script."""
    text = _page(sample).read_text(encoding="utf-8")
    assert not re.search(r"<(link|img|iframe|object|embed)\b|\bsrc=|\bhref=|@import|url\(", text), "it loads something"
    assert "default-src 'none'" in text, "a policy keeps it from loading"
    script = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert script
    data = json.loads(script[1])
    assert data["command"] == r"sample a\x0ab"
    event, branches = data["events"]
    assert sum(stack[3] for stack in event["stacks"]) == 44
    assert sum(sum(thread["counts"]) for thread in event["threads"]) == 44
    assert [(row["symbol"], row["samples"]) for row in event["rows"]] == [("sample_hot", 30), ("sample_cold", 14)]
    assert [(row["samples"], row["taken"]) for row in branches["branches"]] == [(8, 6)]


def test_stamps(sample: Sample) -> None:
    """The timeline and filters go by records' time stamps, not by when rings were drained; merged ones move with their
    profile."""
    data, out = sample.data("--stamped"), sample.place / "merged.data"
    text = _page(sample, data).read_text(encoding="utf-8")
    lanes = json.loads(text.partition('id="data">')[2].partition("</script>")[0])["events"][0]["threads"]
    assert [lane["counts"][0] for lane in lanes] == [40, 4]
    report = ("report", "--json", "--event=instructions", "--until=0.0005")
    sample.good("merge", "-o", out, data, sample.data("--stamped", name="again.data"))
    for file, wanted in ((data, 44), (out, 88), (sample.data(name="plain.data"), 0)):
        assert json.loads(sample.good(*report, file))["events"][0]["samples"] == wanted


WIDE = "95% interval    Samples  Symbol       Object          Hottest line"


@pytest.mark.parametrize("columns, head", [
    (200, WIDE), (84, WIDE), (80, WIDE), (60, "95% interval    Samples  Symbol       Object"),
    (50, "Samples  Symbol       Object"),
])
def test_columns(sample: Sample, columns: int, head: str) -> None:
    """Tables fit the terminal: source lines are the first to go, then intervals; --wide leaves nothing out."""
    data, env = sample.data(), {"COLUMNS": str(columns)}
    tables = [part for part in sample.lwpctl("report", data, env=env).out.split("\n\n") if part.startswith("  Share")]
    assert len(tables) == 6 and head in tables[0]
    assert max(len(line) for table in tables for line in table.splitlines()) <= columns
    assert WIDE in sample.lwpctl("report", "--wide", data, env=env).out


def test_annotate(sample: Sample) -> None:
    """Each instruction with its share of the function's samples, and how often its branch was taken."""
    data = sample.data()
    text = sample.good("annotate", "sample_hot", data)
    rows = [line.split() for line in text.splitlines() if re.search(r"[0-9a-f]+: ", line) and line[0] != "/"]
    shown = [row[: row.index(word)] + [row[row.index(word) + 1]] for row in rows for word in row if word.endswith(":")]
    wanted = [["xorl"], ["100.00%", "incl"], ["cmpl"], ["61.54%", "75.0%", "jne"], ["38.46%", "100.0%", "callq"]]
    assert shown == [*wanted, ["retq"]]
    assert re.search(r"^/.*sample_profile\.c:\d+ .*sample_hot goes around", text, re.MULTILINE), "its source"
    sample.refuses(1, "no samples of nothing", "annotate", "nothing", data)


def test_diff(sample: Sample) -> None:
    """A profile does not differ from itself."""
    data = sample.data()
    text = sample.good("diff", data, data)
    assert "44 and 44 samples" in text and "no difference that is more than chance" in text
    text = sample.good("diff", "--all", data, data)
    rows = re.findall(r"^ *(68.18|31.82)% +\1% +\+0.00%.* (\w+)  \(sample_profile\)$", text, re.MULTILINE)
    assert sorted(rows) == [("31.82", "sample_cold"), ("68.18", "sample_hot")]


def test_merge(sample: Sample) -> None:
    """Samples, processes and windows of all files, and an object once; files of other events are refused."""
    first, windows = sample.data(), sample.data("--windows", name="windows.data")
    kept, out = sample.data("--kept", name="kept.data"), sample.place / "merged.data"
    sample.good("merge", "-o", out, first, first, first)
    report = json.loads(sample.good("report", "--json", out))
    assert [event["samples"] for event in report["events"]] == [3 * 44, 3 * 13]
    assert [event["counted"] for event in report["events"]] == [3 * (HOT + COLD), 3 * BRANCHES]
    assert (len(report["programs"]), len(report["threads"])) == (3, 6)
    assert out.read_bytes().count(bytes(SAMPLE)) == 1 + 3, "the object is there once"  # and the 3 exes
    assert out.read_bytes().count(b"[heap]") == 3, "mappings of data"
    sample.good("merge", "-o", out, windows, windows)
    assert sample.good("decode", out).count("window of 4 records for 100") == 2
    sample.good("merge", "-o", out, first, kept)
    instructions, branches = json.loads(sample.good("report", "--json", out))["events"]
    thin = abs(instructions["samples"] - (22 + 44)) <= 2 and branches["samples"] == 2 * 13
    assert thin, "as thin as the thinner one is"
    assert instructions["kept_of"] == 2 and instructions["counted"] == 200 * instructions["samples"]
    out.unlink()
    sample.refuses(1, "other events or intervals", "merge", "-o", out, first, windows)
    assert not out.exists(), "a refused merge leaves no file"


def _lines_of(*words: str) -> list[int]:
    """The lines of the sample's source with these words, counted from 1."""
    text = (TOP / "host-tools/tests/sample_profile.c").read_text(encoding="utf-8").splitlines()
    return [number + 1 for word in words for number, line in enumerate(text) if word in line]


def test_source(sample: Sample) -> None:
    """The hottest lines with their text, each once, those around them, and how many samples they have."""
    data = sample.data()
    loop, cold = _lines_of("/* sample_hot goes around", "sample_cold begins")
    second = cold + 1
    text = sample.good("report", "--source", "--event=instructions", "--wide", data)
    rows = re.findall(r"^ *(?:([0-9.]+)% +[0-9.]+ - *[0-9.]+% +(\d+) +)?(\d+)  (.*)$", text, re.MULTILINE)
    hot = [(share, int(number), int(line)) for share, number, line, _ in rows if share]
    assert hot == [("68.18", 30, loop), ("22.73", 10, cold), ("9.09", 4, second)]
    shown = [int(line) for _, _, line, _ in rows]
    assert shown == [*range(loop - 2, loop + 3), *range(cold - 2, second + 3)]
    source = {int(line): words for _, _, line, words in rows}
    assert "/* sample_hot goes around */" in source[loop]
    assert re.match(r" {16}\S", source[loop]), "two tabs are 16 columns"
    assert re.search(r"sample_profile\.c: 100\.00%$", text, re.MULTILINE), "the file's share"
    lines = json.loads(sample.good("report", "--source", "--json", "--limit=1", data))["events"][0]["lines"]
    found = [(line["source_line"], line["samples"], "goes around" in line["text"]) for line in lines]
    assert found == [(loop, 30, True)]
    sample.refuses(2, "--source is a report of its own", "report", "--source", "--by=line", data)


def test_windows(sample: Sample) -> None:
    """Callers and callees; a trace with gaps is not exact."""
    data = sample.data("--windows")
    calls = json.loads(sample.good("report", "--calls", "--json", data))["calls"]
    keys = ("caller", "callee", "calls", "instructions")
    assert [tuple(call[key] for key in keys) for call in calls] == [("sample_hot", "sample_cold", W_CALLS, W_COLD)]
    sample.refuses(1, "no complete trace: its windows do not continue", "report", "--exact", data)
    plain = sample.data(name="plain.data")
    sample.refuses(1, "it has no windows of branches; record with lwprun --windows", "report", "--loops", plain)
    sample.refuses(1, "record with lwprun --windows or --stacks", "report", "--calls", plain)


def test_stacks(sample: Sample) -> None:
    """The share of the records whose stacks a function is in, of recursion too; its own; who called it."""
    data = sample.data("--stacks")
    found = json.loads(sample.good("report", "--calls", "--json", data))
    keys = ("symbol", "share", "own_share")
    assert [tuple(row[key] for key in keys) for row in found["functions"]] == [
        ("sample_hot", 1, 0.5), ("sample_cold", 0.5, 0.5)
    ]
    cold = found["functions"][1]
    assert found["stacks"] == 3 and 0 < cold["share_low"] < 0.5 < cold["share_high"] < 1
    callers = {(pair["caller"], pair["callee"]): pair["share"] for pair in found["callers"]}
    assert callers == {("sample_hot", "sample_cold"): 0.5, ("sample_hot", "sample_hot"): 0.25}
    text = sample.good("report", "--calls", data)
    assert re.search(r"^ 50\.00% .* 50\.00%  sample_cold .*\n  called by  50\.00%  sample_hot ", text, re.MULTILINE)
    text = sample.good("report", "--calls", "--json", "--symbol=sample_cold", data)
    assert json.loads(text)["stacks"] == 2, "those that are in it"
    sample.good("export", "--format=collapsed", "-o", "out", data)
    lines = (sample.place / "out").read_text(encoding="utf-8").splitlines()
    assert sorted(line.partition(";sample")[2] for line in lines) == [
        "_hot 2000", "_hot;sample_cold 1000", "_hot;sample_hot;sample_cold 1000"
    ]
