# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl exports, read by the tools whose formats they are where Debian has those, else by the formats' rules."""

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

from lab.common.places import TOP
from lab.tests.conftest import good
from sample import BELOW, BRANCHES, COLD, HOT, PROCESS, W_BRANCHES, W_CALLS, W_COLD, W_HOT, Sample

SCHEMA = TOP / "host-tools/profile/export/profile.proto"
DEEPEST = 100  # stack: a cycle ends there


def test_perf(sample: Sample) -> None:
    """perf report and script have the samples, symbols and threads."""
    out = sample.export("perf")
    report = good(["perf", "report", "--stdio", "--no-children", "-g", "none", "--sort=symbol", "-i", out])
    first = report.partition("of event 'branches'")[0]
    shares = re.findall(r"^ +([0-9.]+)% .*\[\.\] (\w+)", first, re.MULTILINE)
    assert sorted(shares) == [("31.82", "sample_cold"), ("68.18", "sample_hot")]
    script = good(["perf", "script", "-F", "comm,tid,event,period,ip,sym", "-i", out])
    assert len(re.findall(r" 100 +instructions", script)) == 44, "44 samples of 100 instructions"
    assert len(re.findall(r" 10 +branches", script)) == 13, "13 samples of 10 branches"
    assert r"thr\xffead" in script and "\x1b" not in script, "the thread's name is printable"


def test_perf_windows(sample: Sample) -> None:
    """perf report has the branches of windows, with their two ends."""
    out = sample.export("perf", windows=True)
    report = good(["perf", "report", "--stdio", "--sort=symbol_from,symbol_to", "-i", out])
    ends = re.findall(r"% +\[\.\] (\w+) +\[\.\] (\w+)", report)
    wanted = [("sample_cold", "sample_hot"), ("sample_hot", "sample_cold"), ("sample_hot", "sample_hot")]
    assert sorted(ends) == wanted
    script = good(["perf", "script", "-F", "period,brstack", "-i", out])
    stacks = [line for line in script.splitlines() if line.count("0x") == 6]
    assert sorted(line.split()[0] for line in stacks) == ["100", "300"], "two stacks of 3 taken branches"


def test_perf_complete(sample: Sample) -> None:
    """perf script has the branch stacks of a complete trace."""
    data, out = sample.data("--complete"), sample.place / "perf.data"
    sample.good("export", "--format=perf", "-o", out, data)
    stacks = good(["perf", "script", "-F", "brstack", "-i", out]).splitlines()
    assert [line.count("0x") for line in stacks if "0x" in line] == [6, 6], "two stacks of 3 taken branches"


def test_perf_jitted(sample: Sample) -> None:
    """perf finds the names of compiled code in ELF images beside the file, wherever that is read."""
    data, folder = sample.data("--jit"), sample.place / "folder"
    folder.mkdir()
    sample.good("export", "--format=perf", "--event=instructions", "-o", "folder/perf.data", data)
    images = [path.name for path in folder.glob("jitted-*")]
    assert len(images) == 1 and re.fullmatch(r"jitted-4242-\d+\.so", images[0]), images
    script = good(["perf", "script", "-F", "ip,sym,dso", "-i", folder / "perf.data"])
    found = re.findall(rf"^\s*\w+ (.*) \({re.escape(str(folder / images[0]))}\)$", script, re.MULTILINE)
    assert found == ["first one"] * 3 + ["second"] * 2
    symbols = good(["readelf", "-sW", folder / images[0]])
    assert "elsewhere" not in symbols and "first of all" not in symbols, "names of no code of the mapping"
    sample.refuses(1, "", "export", "--format=perf", "-o", "no/perf.data", data)


def test_perfcalls(sample: Sample) -> None:
    """perf report has the call stacks of windows: instructions with those that were called."""
    out = sample.export("perfcalls", windows=True)
    options = ["--children", "-g", "none", "--sort=symbol", "--fields=overhead_children,overhead,symbol"]
    report = good(["perf", "report", "--stdio", *options, "-i", out])
    shares = re.findall(r"^ +([0-9.]+)% +([0-9.]+)% +\[\.\] (\w+)", report, re.MULTILINE)
    hot, cold = (f"{100 * part / (W_HOT + W_COLD):.2f}" for part in (W_HOT, W_COLD))
    assert sorted(shares) == [("100.00", hot, "sample_hot"), (cold, cold, "sample_cold")]
    assert "of event 'instructions'" in report
    event = good(["perf", "evlist", "-v", "-i", out])
    assert re.search(r"config: 0x1\b", event) and re.search(r"sample_period, sample_freq }: 1,", event), "each counts"
    sample.refuses(1, "lwprun --windows", "export", "--format=perfcalls", "-o", "none", sample.data())
    assert not (sample.place / "none").exists()


def test_callgrind(sample: Sample) -> None:
    """callgrind_annotate has the totals; jumps and calls have their counts."""
    out = sample.export("callgrind")
    text = out.read_text(encoding="utf-8")
    assert re.search(r"^jcnd=60/80 ", text, re.MULTILINE), "a jump that was taken 60 of 80 times"
    assert re.search(r"^cfn=sample_cold\ncalls=50 ", text, re.MULTILINE), "50 calls of sample_cold"
    report = good(["callgrind_annotate", "--auto=no", "--threshold=100", out])
    total = re.search(r"^ *([0-9,]+) .* ([0-9,]+) \(.*PROGRAM TOTALS", report, re.MULTILINE)
    assert total and total.groups() == (f"{HOT + COLD:,}", str(BRANCHES))
    for name, cost in (("sample_hot", HOT), ("sample_cold", COLD)):
        assert re.search(rf"^ *{cost:,} .*:{name} ", report, re.MULTILINE), f"{name} has {cost}"


def test_callgrind_windows(sample: Sample) -> None:
    """Windows tell the instructions of each address, and what a call cost until it returned."""
    out = sample.export("callgrind", "--event=branches", windows=True)
    report = good(["callgrind_annotate", "--auto=no", "--tree=calling", "--threshold=100", out])
    total = re.search(r"^ *([0-9,]+) .* ([0-9,]+) \(.*PROGRAM TOTALS", report, re.MULTILINE)
    assert total and total.groups() == (str(W_HOT + W_COLD), str(W_BRANCHES))
    assert re.search(rf"^ *{W_HOT} .*\* .*:sample_hot ", report, re.MULTILINE)
    assert re.search(rf"^ *{W_COLD} .*> .*:sample_cold \({W_CALLS}x\)", report, re.MULTILINE)


def _decoded(out: Path) -> str:
    """A profile of pprof, by protoc."""
    raw = out.with_suffix(".pb")
    raw.write_bytes(gzip.decompress(out.read_bytes()))
    message = "--decode=Profile"
    with raw.open("rb") as file:
        return good(["protoc", f"--proto_path={SCHEMA.parent}", message, SCHEMA], stdin=file)


def test_pprof(sample: Sample) -> None:
    """protoc decodes it by the schema; values and names are the profile's."""
    text = _decoded(sample.export("pprof"))
    assert not re.search(r"^ *\d+:", text, re.MULTILINE), "fields that the schema has not"
    values = [int(value) for value in re.findall(r"^  value: (\d+)", text, re.MULTILINE)]
    assert (sum(values[::2]), sum(values[1::2])) == (44, HOT + COLD)
    table = re.findall(r'^string_table: "(.*)"', text, re.MULTILINE)
    assert table[:3] == ["", "samples", "count"] and {"sample_hot", "sample_cold", "instructions"} < set(table)
    locations = re.findall(r"^  location_id: (\d+)", text, re.MULTILINE)
    known = re.findall(r"^location \{\n  id: (\d+)", text, re.MULTILINE)
    assert locations and set(locations) <= set(known)


def test_collapsed(sample: Sample) -> None:
    """A line for each stack, as FlameGraph and speedscope split it."""
    process = PROCESS.replace(";", ":")
    lines = sample.export("collapsed").read_text(encoding="utf-8").splitlines()
    assert lines == [f"{process};sample_cold {COLD}", f"{process};sample_hot {HOT}"]


def test_stacks_of_windows(sample: Sample) -> None:
    """Windows tell stacks: sample_hot calls sample_cold, and nobody saw what calls sample_hot."""
    options = "--event=branches"
    lines = sample.export("collapsed", options, windows=True).read_text(encoding="utf-8").splitlines()
    hot = f"{PROCESS.replace(';', ':')};{BELOW};sample_hot"
    assert lines == [f"{hot} {W_HOT}", f"{hot};sample_cold {W_COLD}"]

    profile = json.loads(sample.export("firefox", options, windows=True).read_text(encoding="utf-8"))
    found: dict[tuple[str, ...], int] = {}
    for thread in profile["threads"]:
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            names = tuple(_frames(thread, stack))
            found[names] = found.get(names, 0) + weight
    stacks = {("sample_hot", BELOW, PROCESS): W_HOT, ("sample_cold", "sample_hot", BELOW, PROCESS): W_COLD}
    assert {names: n for names, n in found.items() if n} == stacks

    text = _decoded(sample.export("pprof", options, windows=True))
    samples = re.findall(r"^sample \{\n((?:  location_id: \d+\n)+)  value: (\d+)", text, re.MULTILINE)
    depths = sorted((where.count("location_id"), int(value)) for where, value in samples)
    assert depths == [(2, W_HOT), (3, W_COLD)]


def _frames(thread: dict[str, Any], stack: int | None) -> list[str]:
    """The names of a stack in the Firefox Profiler's tables, the innermost first."""
    names: list[str] = []
    while stack is not None and len(names) < DEEPEST:
        frame = thread["stackTable"]["frame"][stack]
        function = thread["frameTable"]["func"][frame]
        names.append(thread["stringArray"][thread["funcTable"]["name"][function]])
        stack = thread["stackTable"]["prefix"][stack]
    return names


# The columns of version 47 of the processed format: src/types/profile.js in the Firefox Profiler's sources.
FIREFOX_TABLES = {
    "samples": "stack time weight",
    "stackTable": "frame category subcategory prefix",
    "frameTable": "address inlineDepth category subcategory func nativeSymbol innerWindowID implementation line column",
    "funcTable": "name isJS relevantForJS resource fileName lineNumber columnNumber",
    "resourceTable": "lib name host type",
    "nativeSymbols": "libIndex address name functionSize",
    "markers": "data name startTime endTime phase category",
}


def test_firefox(sample: Sample) -> None:
    """Every table has its columns, and the rows that it says, and samples lead to their stacks."""
    profile = json.loads(sample.export("firefox").read_text(encoding="utf-8"))
    counts: dict[str, int] = {}
    for thread in profile["threads"]:
        for name, columns in FIREFOX_TABLES.items():
            table = thread[name]
            found = {column for column, rows in table.items() if isinstance(rows, list)}
            assert found == set(columns.split()), name
            assert {len(table[column]) for column in found} == {table["length"]}, name
        assert thread["samples"]["time"] == sorted(thread["samples"]["time"])
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            names = _frames(thread, stack)
            assert names[1:] == [PROCESS]
            counts[names[0]] = counts.get(names[0], 0) + weight
    assert counts == {"sample_hot": HOT, "sample_cold": COLD}


def test_csv(sample: Sample) -> None:
    """Rows add up."""
    with sample.export("csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    sums: dict[str, int] = {}
    for row in rows:
        key = row["event"] if row["event"] == "branches" else row["symbol"]
        sums[key] = sums.get(key, 0) + int(row["events"])
    assert sums == {"sample_hot": HOT, "sample_cold": COLD, "branches": BRANCHES}
    assert sum(int(row["taken"]) for row in rows) == 11
    assert {row["process"] for row in rows} == {PROCESS}


def test_refused(sample: Sample) -> None:
    """What cannot be exported is refused in one line, and leaves no file."""
    data = sample.data()
    for options, text in (
        (["--format=perf", "--event=cycles"], "the profile has no cycles; it has instructions, branches"),
    ):
        sample.refuses(1, text, "export", *options, "-o", "none", data)
        assert not (sample.place / "none").exists(), options
