# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl makes of a profile: exports, read by the tools whose formats they are where Debian has those, else by
the formats' rules; the page; and its other commands. The profile is that of sample.py."""

import csv
import gzip
import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lab.building import meson
from lab.common.places import TOP
from lab.common.report import Check, Report
from lab.testing import bad_input, growing, viewers
from lab.testing.sample import (
    BELOW, BRANCHES, COLD, HOT, LWPCTL, OUT, PROCESS, SAMPLE, W_BRANCHES, W_CALLS, W_COLD, W_HOT, export,
)

SCHEMA = TOP / "lab/testing/profile.proto"


def _tool(check: Check, argv: Sequence[str | Path]) -> str:
    """The output of somebody else's tool, which `./vlwp deps` installs."""
    check.want(shutil.which(str(argv[0])), f"there is no {argv[0]} on this machine: ./vlwp deps installs it")
    status, text = check.text(argv)
    check.want(status == 0, f"{argv[0]} ends with status {status}")
    return text


def _shares(text: str) -> dict[str, float]:
    """Symbol: percent, from perf report."""
    found = re.findall(r"^ +([0-9.]+)% .*\[\.\] (\w+)", text, re.MULTILINE)
    return {symbol: float(share) for share, symbol in found}


def _perf(check: Check) -> None:
    """perf report has the samples, symbols and threads."""
    out = export(check, "perf")
    options = ["--no-children", "-g", "none", "--sort=symbol"]
    command: list[str | Path] = ["perf", "report", "--stdio", *options, "-i", out]
    shares = _shares(_tool(check, command).partition("of event 'branches'")[0])
    check.want(shares == {"sample_hot": 68.18, "sample_cold": 31.82}, f"shares {shares}")
    script = _tool(check, ["perf", "script", "-F", "comm,tid,event,period,ip,sym", "-i", out])
    check.want(len(re.findall(r" 100 +instructions", script)) == 44, "not 44 samples of 100 instructions")
    check.want(len(re.findall(r" 10 +branches", script)) == 13, "not 13 samples of 10 branches")
    check.want(r"thr\xffead" in script and "\x1b" not in script, "the thread's name is not printable")


def _perf_windows(check: Check) -> None:
    """perf report has the branches of windows, with their two ends."""
    out = export(check, "perf", windows=True)
    report = _tool(check, ["perf", "report", "--stdio", "--sort=symbol_from,symbol_to", "-i", out])
    ends = re.findall(r"% +\[\.\] (\w+) +\[\.\] (\w+)", report)
    wanted = [("sample_cold", "sample_hot"), ("sample_hot", "sample_cold"), ("sample_hot", "sample_hot")]
    check.want(sorted(ends) == wanted, f"branches {ends}")
    script = _tool(check, ["perf", "script", "-F", "period,brstack", "-i", out])
    stacks = [line for line in script.splitlines() if line.count("0x") == 6]
    check.want(sorted(line.split()[0] for line in stacks) == ["100", "300"], "not two stacks of 3 taken branches")


def _perf_jitted(check: Check) -> None:
    """perf finds the names of compiled code in ELF images beside the file, wherever that is read."""
    data, folder = check.work / "jit.data", check.work / "folder"
    folder.mkdir()
    check.run([SAMPLE, "--jit", data])
    options = ["--format=perf", "--event=instructions", "-o", "folder/perf.data"]
    check.run([LWPCTL, "export", *options, data], cwd=check.work)
    images = [path.name for path in folder.glob("jitted-*")]
    check.want(len(images) == 1 and re.fullmatch(r"jitted-4242-\d+\.so", images[0]), f"images {images}")
    script = _tool(check, ["perf", "script", "-F", "ip,sym,dso", "-i", folder / "perf.data"])
    found = re.findall(rf"^\s*\w+ (.*) \({re.escape(str(folder / images[0]))}\)$", script, re.MULTILINE)
    check.want(found == ["first one"] * 3 + ["second"] * 2, f"samples {found}")
    symbols = _tool(check, ["readelf", "-sW", folder / images[0]])
    check.want("elsewhere" not in symbols and "first of all" not in symbols, "names of no code of the mapping")
    status, text = check.text([LWPCTL, "export", "--format=perf", "-o", check.work / "no/perf.data", data], stderr=True)
    check.want(status == 1 and text.count("\n") == 1, f"a folder that is not there: {text!r}")


def _perf_calls(check: Check) -> None:
    """perf report has the call stacks of windows: instructions with those that were called."""
    out = export(check, "perfcalls", windows=True)
    options = ["--children", "-g", "none", "--sort=symbol", "--fields=overhead_children,overhead,symbol"]
    report = _tool(check, ["perf", "report", "--stdio", *options, "-i", out])
    shares = re.findall(r"^ +([0-9.]+)% +([0-9.]+)% +\[\.\] (\w+)", report, re.MULTILINE)
    all_of = W_HOT + W_COLD
    hot, cold = f"{100 * W_HOT / all_of:.2f}", f"{100 * W_COLD / all_of:.2f}"
    check.want(sorted(shares) == [("100.00", hot, "sample_hot"), (cold, cold, "sample_cold")], f"shares {shares}")
    check.want("of event 'instructions'" in report, "another event")
    event = _tool(check, ["perf", "evlist", "-v", "-i", out])
    good = re.search(r"config: 0x1\b", event) and re.search(r"sample_period, sample_freq }: 1,", event)
    check.want(good, "not instructions, each of which counts")
    data, none = check.work / "plain.data", check.work / "none"
    check.run([SAMPLE, data])
    status, text = check.text([LWPCTL, "export", "--format=perfcalls", "-o", none, data], stderr=True)
    check.want(status == 1 and "lwprun --windows" in text and not none.exists(), "no windows: not refused")


def _callgrind(check: Check) -> None:
    """callgrind_annotate has the totals; jumps and calls have their counts."""
    out = export(check, "callgrind")
    text = out.read_text(encoding="utf-8")
    check.want(re.search(r"^jcnd=60/80 ", text, re.MULTILINE), "no jump that was taken 60 of 80 times")
    check.want(re.search(r"^cfn=sample_cold\ncalls=50 ", text, re.MULTILINE), "no 50 calls of sample_cold")
    report = _tool(check, ["callgrind_annotate", "--auto=no", "--threshold=100", out])
    total = re.search(r"^ *([0-9,]+) .* ([0-9,]+) \(.*PROGRAM TOTALS", report, re.MULTILINE)
    check.want(total and total.groups() == (f"{HOT + COLD:,}", str(BRANCHES)), "the totals are others")
    for name, cost in (("sample_hot", HOT), ("sample_cold", COLD)):
        check.want(re.search(rf"^ *{cost:,} .*:{name} ", report, re.MULTILINE), f"{name} has not {cost}")


def _pprof(check: Check) -> None:
    """protoc decodes it by the schema; values and names are the profile's."""
    out = export(check, "pprof")
    raw = check.work / "sample.pb"
    raw.write_bytes(gzip.decompress(out.read_bytes()))
    check.want(shutil.which("protoc"), "there is no protoc on this machine: ./vlwp deps installs it")
    message = "--decode=perftools.profiles.Profile"
    command: list[str | Path] = ["protoc", f"--proto_path={SCHEMA.parent}", message, SCHEMA]
    with raw.open("rb") as file:
        status, text = check.text(command, stdin=file)
    check.want(status == 0, f"protoc ends with status {status}")
    check.want(not re.search(r"^ *\d+:", text, re.MULTILINE), "there are fields that the schema has not")
    values = [int(value) for value in re.findall(r"^  value: (\d+)", text, re.MULTILINE)]
    check.want(sum(values[::2]) == 44 and sum(values[1::2]) == HOT + COLD, f"values {values}")
    table = re.findall(r'^string_table: "(.*)"', text, re.MULTILINE)
    check.want(table[:3] == ["", "samples", "count"], f"the string table begins {table[:3]}")
    check.want({"sample_hot", "sample_cold", "instructions"} < set(table), f"strings {table}")
    locations = re.findall(r"^  location_id: (\d+)", text, re.MULTILINE)
    known = re.findall(r"^location \{\n  id: (\d+)", text, re.MULTILINE)
    check.want(locations and set(locations) <= set(known), "a sample has a location that is not there")


def _collapsed(check: Check) -> None:
    """A line for each stack, as FlameGraph and speedscope split it."""
    lines = export(check, "collapsed").read_text(encoding="utf-8").splitlines()
    process = PROCESS.replace(";", ":")
    wanted = [f"{process};sample_cold {COLD}", f"{process};sample_hot {HOT}"]
    check.want(lines == wanted, f"lines {lines}")


def _callgrind_windows(check: Check) -> None:
    """Windows tell the instructions of each address, and what a call cost until it returned."""
    out = export(check, "callgrind", "--event=branches", windows=True)
    report = _tool(check, ["callgrind_annotate", "--auto=no", "--tree=calling", "--threshold=100", out])
    total = re.search(r"^ *([0-9,]+) .* ([0-9,]+) \(.*PROGRAM TOTALS", report, re.MULTILINE)
    check.want(total and total.groups() == (str(W_HOT + W_COLD), str(W_BRANCHES)), "the totals are others")
    check.want(re.search(rf"^ *{W_HOT} .*\* .*:sample_hot ", report, re.MULTILINE), f"sample_hot has not {W_HOT}")
    call = re.search(rf"^ *{W_COLD} .*> .*:sample_cold \({W_CALLS}x\)", report, re.MULTILINE)
    check.want(call, f"sample_cold is not called {W_CALLS} times for {W_COLD} instructions")


def _stacks_windows(check: Check) -> None:
    """Windows tell stacks: sample_hot calls sample_cold, and nobody saw what calls sample_hot."""
    options = "--event=branches"
    process = PROCESS.replace(";", ":")
    lines = export(check, "collapsed", options, windows=True).read_text(encoding="utf-8").splitlines()
    hot = f"{process};{BELOW};sample_hot"
    check.want(lines == [f"{hot} {W_HOT}", f"{hot};sample_cold {W_COLD}"], f"lines {lines}")
    stacks = {("sample_hot", BELOW, PROCESS): W_HOT, ("sample_cold", "sample_hot", BELOW, PROCESS): W_COLD}

    profile = json.loads(export(check, "firefox", options, windows=True).read_text(encoding="utf-8"))
    found: dict[tuple[str, ...], int] = {}
    for thread in profile["threads"]:
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            names = tuple(_frames(thread, stack))
            found[names] = found.get(names, 0) + weight
    check.want({names: n for names, n in found.items() if n} == stacks, f"firefox: {found}")

    raw = check.work / "windows.pb"
    raw.write_bytes(gzip.decompress(export(check, "pprof", options, windows=True).read_bytes()))
    message = "--decode=perftools.profiles.Profile"
    command: list[str | Path] = ["protoc", f"--proto_path={SCHEMA.parent}", message, SCHEMA]
    with raw.open("rb") as file:
        _, text = check.text(command, stdin=file)
    samples = re.findall(r"^sample \{\n((?:  location_id: \d+\n)+)  value: (\d+)", text, re.MULTILINE)
    depths = sorted((where.count("location_id"), int(value)) for where, value in samples)
    check.want(depths == [(2, W_HOT), (3, W_COLD)], f"pprof: {depths}")


def _windows_report(check: Check) -> None:
    """Callers and callees; a trace with gaps is not exact."""
    data = check.work / "sample.data"
    check.run([SAMPLE, "--windows", data])
    status, text = check.text([LWPCTL, "report", "--calls", "--json", data])
    keys = ("caller", "callee", "calls", "instructions")
    calls = [tuple(call[key] for key in keys) for call in json.loads(text)["calls"]]
    check.want(status == 0 and calls == [("sample_hot", "sample_cold", W_CALLS, W_COLD)], f"calls {calls}")
    status, text = check.text([LWPCTL, "report", "--exact", data], stderr=True)
    check.want(status == 1 and "no complete trace: its windows do not continue" in text, f"status {status}: {text!r}")
    check.run([SAMPLE, data])
    status, text = check.text([LWPCTL, "report", "--loops", data], stderr=True)
    check.want(status == 1 and "it has no windows of branches; record with lwprun --windows" in text, text)


DEEPEST = 100  # stack: a cycle ends there


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


def _firefox(check: Check) -> None:
    """Every table has its columns, and the rows that it says, and samples lead to their stacks."""
    profile = json.loads(export(check, "firefox").read_text(encoding="utf-8"))
    counts: dict[str, int] = {}
    for thread in profile["threads"]:
        for name, columns in FIREFOX_TABLES.items():
            table = thread[name]
            found = {column for column, rows in table.items() if isinstance(rows, list)}
            check.want(found == set(columns.split()), f"{name} has the columns {found}")
            lengths = {len(table[column]) for column in found}
            check.want(lengths == {table["length"]}, f"{name} has columns of {lengths} rows")
        check.want(thread["samples"]["time"] == sorted(thread["samples"]["time"]), "times go back")
        for stack, weight in zip(thread["samples"]["stack"], thread["samples"]["weight"]):
            names = _frames(thread, stack)
            check.want(names[1:] == [PROCESS], f"a stack of {names}")
            counts[names[0]] = counts.get(names[0], 0) + weight
    check.want(counts == {"sample_hot": HOT, "sample_cold": COLD}, f"samples {counts}")


def _csv(check: Check) -> None:
    """Rows add up."""
    with export(check, "csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    sums: dict[str, int] = {}
    for row in rows:
        key = row["event"] if row["event"] == "branches" else row["symbol"]
        sums[key] = sums.get(key, 0) + int(row["events"])
    check.want(sums == {"sample_hot": HOT, "sample_cold": COLD, "branches": BRANCHES}, f"sums {sums}")
    check.want(sum(int(row["taken"]) for row in rows) == 11, "not 11 taken branches")
    check.want({row["process"] for row in rows} == {PROCESS}, "the process has another name")


def _offsets(check: Check) -> list[int]:
    """Addresses of the labels of the sample: .Lloop, .Ljump, .Lcall, .Lafter, sample_cold, .Lreturn."""
    _, text = check.text(["nm", SAMPLE])
    names = {name: int(address, 16) for address, name in re.findall(r"^(\w+) . (sample_\w+)$", text, re.MULTILINE)}
    hot, cold = names["sample_hot"], names["sample_cold"]
    return [hot + 2, hot + 7, hot + 9, hot + 14, cold, cold + 2]


def _compilers(check: Check) -> None:
    """Ranges and branches of windows: 8 records stand for 400 branches, so that each was executed 100 times."""
    loop, jump, call, after, cold, back = _offsets(check)
    runs, taken = [(loop, call), (cold, back)], [(jump, loop), (call, cold), (back, after)]
    bolt = export(check, "bolt", windows=True).read_text(encoding="utf-8").splitlines()
    # sample_cold's run is entered by a call from another function.
    wanted = [f"B {a:x} {b:x} 100 0" for a, b in taken] + [f"{k} {a:x} {b:x} 100" for k, (a, b) in zip("Ff", runs)]
    check.want(bolt == wanted, f"bolt: {bolt}")
    ranges = ["2"] + [f"{a:x}-{b:x}:100" for a, b in runs]
    branches = ["3"] + [f"{a:x}->{b:x}:100" for a, b in taken]
    llvm = export(check, "llvm", windows=True).read_text(encoding="utf-8").splitlines()
    check.want(llvm == ranges + branches, f"llvm: {llvm}")
    afdo = export(check, "afdo", windows=True).read_text(encoding="utf-8").splitlines()
    check.want(afdo == ranges + ["0"] + branches, f"afdo: {afdo}")


def _page(check: Check) -> tuple[Path, str]:
    data, out = check.work / "sample.data", check.work / "sample.html"
    check.run([SAMPLE, data])
    check.run([LWPCTL, "html", "-o", out, data])
    return out, out.read_text(encoding="utf-8")


def _html(check: Check) -> None:
    """The page names nothing outside of it; its data add up, and nothing of the guest ends the script."""
    _, text = _page(check)
    loading = re.search(r"<(link|img|iframe|object|embed)\b|\bsrc=|\bhref=|@import|url\(", text)
    check.want(not loading, f"it loads something: {loading}")
    check.want("default-src 'none'" in text, "it has no policy that keeps it from loading")
    script = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    check.want(script, "it has no data")
    data = json.loads(script.group(1) if script else "")
    check.want(data["command"] == r"sample a\x0ab", f"the command is {data['command']}")
    event, branches = data["events"]
    check.want(sum(stack[3] for stack in event["stacks"]) == 44, "stacks do not add up")
    check.want(sum(sum(thread["counts"]) for thread in event["threads"]) == 44, "times do not add up")
    rows = [(row["symbol"], row["samples"]) for row in event["rows"]]
    check.want(rows == [("sample_hot", 30), ("sample_cold", 14)], f"rows {rows}")
    biased = [(row["samples"], row["taken"]) for row in branches["branches"]]
    check.want(biased == [(8, 6)], f"branches {biased}")


def _html_drawn(check: Check) -> None:
    """A browser draws it, in both schemes and at two widths, without an error."""
    out, _ = _page(check)
    browser = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if not browser:
        check.say("no Chromium here: the page is not drawn")
        return
    for width in (1280, 420):
        for scheme in ("0", "1"):  # dark, light
            status, dom = check.text(
                [
                    *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000"),
                    *("--enable-logging=stderr", f"--window-size={width},900"),
                    *(f"--blink-settings=preferredColorScheme={scheme}", "--dump-dom", f"file://{out}"),
                ],
                stderr=True,
            )
            check.want(status == 0 and "CONSOLE" not in dom, f"{width} columns: status {status}, or an error")
            body = dom.partition("<main")[2].partition("</main>")[0]
            for text in ("68.18%", "31.82%", "sample_hot", "44 samples of instructions", "<rect"):
                check.want(text in body, f"{width} columns: no {text}")


def _annotate(check: Check) -> None:
    """Each instruction with its share of the function's samples, and how often its branch was taken."""
    data = check.work / "sample.data"
    check.run([SAMPLE, data])
    status, text = check.text([LWPCTL, "annotate", "sample_hot", data])
    check.want(status == 0, f"lwpctl ends with status {status}")
    rows = [line.split() for line in text.splitlines() if re.search(r"[0-9a-f]+: ", line) and line[0] != "/"]
    shown = [row[: row.index(word)] + [row[row.index(word) + 1]] for row in rows for word in row if word.endswith(":")]
    wanted = [["xorl"], ["100.00%", "incl"], ["cmpl"], ["61.54%", "75.0%", "jne"], ["38.46%", "100.0%", "callq"]]
    check.want(shown == [*wanted, ["retq"]], f"rows {shown}")
    check.want(re.search(r"^/.*sample_profile\.c:\d+ .*sample_hot goes around", text, re.MULTILINE), "no source")
    status, text = check.text([LWPCTL, "annotate", "nothing", data], stderr=True)
    check.want(status == 1 and "no samples of nothing" in text, "a function without samples is not refused")


def _diff(check: Check) -> None:
    """A profile does not differ from itself; against one thread of it the other's function has another share."""
    data = check.work / "sample.data"
    check.run([SAMPLE, data])
    _, text = check.text([LWPCTL, "diff", data, data])
    same = "44 and 44 samples" in text and "no difference that is more than chance" in text
    check.want(same, "it differs from itself")
    _, text = check.text([LWPCTL, "diff", "--all", data, data])
    rows = re.findall(r"^ *(68.18|31.82)% +\1% +\+0.00%.* (\w+)  \(sample_profile\)$", text, re.MULTILINE)
    check.want(sorted(rows) == [("31.82", "sample_cold"), ("68.18", "sample_hot")], f"rows {rows}")


def _merge(check: Check) -> None:
    """Samples, processes and windows of all files, and an object once; files of other events are refused."""
    first, windows, out = (check.work / name for name in ("sample.data", "windows.data", "merged.data"))
    check.run([SAMPLE, first])
    check.run([SAMPLE, "--windows", windows])
    check.run([LWPCTL, "merge", "-o", out, first, first, first])
    status, text = check.text([LWPCTL, "report", "--json", out])
    report = json.loads(text)
    check.want([event["samples"] for event in report["events"]] == [3 * 44, 3 * 13], "samples")
    check.want([event["counted"] for event in report["events"]] == [3 * (HOT + COLD), 3 * BRANCHES], "counts")
    check.want(len(report["programs"]) == 3 and len(report["threads"]) == 6, "programs and threads")
    check.want(out.read_bytes().count(bytes(SAMPLE)) == 1 + 3, "the object is there more than once")  # and the 3 exes
    check.want(out.read_bytes().count(b"[heap]") == 3, "mappings of data are lost")
    check.run([LWPCTL, "merge", "-o", out, windows, windows])
    status, text = check.text([LWPCTL, "decode", out])
    check.want(text.count("window of 4 records for 100") == 2, "windows are lost")
    kept = check.work / "kept.data"
    check.run([SAMPLE, "--kept", kept])
    check.run([LWPCTL, "merge", "-o", out, first, kept])
    status, text = check.text([LWPCTL, "report", "--json", out])
    instructions, branches = json.loads(text)["events"]
    check.want(abs(instructions["samples"] - (22 + 44)) <= 2 and branches["samples"] == 2 * 13, "not as thin as one is")
    check.want(instructions["kept_of"] == 2 and instructions["counted"] == 200 * instructions["samples"], "thin counts")
    out.unlink()
    status, text = check.text([LWPCTL, "merge", "-o", out, first, windows], stderr=True)
    check.want(status == 1 and "other events or intervals" in text, "another interval is not refused")
    check.want(not out.exists(), "a refused merge leaves a file")


def _lines_of(words: Sequence[str]) -> list[int]:
    """The lines of the sample's source with these words, counted from 1."""
    text = (TOP / "host-tools/tests/sample_profile.c").read_text(encoding="utf-8").splitlines()
    return [number + 1 for word in words for number, line in enumerate(text) if word in line]


def _source(check: Check) -> None:
    """The hottest lines with their text, each once, those around them, and how many samples they have."""
    data = check.work / "sample.data"
    check.run([SAMPLE, data])
    loop, cold = _lines_of(("/* sample_hot goes around", "sample_cold begins"))
    second = cold + 1
    status, text = check.text([LWPCTL, "report", "--source", "--event=instructions", "--wide", data])
    rows = re.findall(r"^ *(?:([0-9.]+)% +[0-9.]+ - *[0-9.]+% +(\d+) +)?(\d+)  (.*)$", text, re.MULTILINE)
    hot = [(share, int(number), int(line)) for share, number, line, _ in rows if share]
    check.want(status == 0 and hot == [("68.18", 30, loop), ("22.73", 10, cold), ("9.09", 4, second)], f"hot {hot}")
    shown = [int(line) for _, _, line, _ in rows]
    check.want(shown == [*range(loop - 2, loop + 3), *range(cold - 2, second + 3)], f"lines {shown}")
    source = {int(line): words for _, _, line, words in rows}
    check.want("/* sample_hot goes around */" in source[loop], "the text")
    check.want(re.match(r" {16}\S", source[loop]), "two tabs are not 16 columns")
    check.want(re.search(r"sample_profile\.c: 100\.00%$", text, re.MULTILINE), "the file's share")
    status, text = check.text([LWPCTL, "report", "--source", "--json", "--limit=1", data])
    lines = json.loads(text)["events"][0]["lines"]
    found = [(line["source_line"], line["samples"], "goes around" in line["text"]) for line in lines]
    check.want(status == 0 and found == [(loop, 30, True)], f"JSON: {found}")
    status, text = check.text([LWPCTL, "report", "--source", "--by=line", data], stderr=True)
    check.want(status == 2 and "--source is a report of its own" in text, "--by is not refused")


def _refused(check: Check) -> None:
    """What cannot be exported is refused in one line, and leaves no file."""
    data, out = check.work / "sample.data", check.work / "none"
    check.run([SAMPLE, data])
    for options, text in (
        (["--format=llvm"], "record windows"),
        (["--format=bolt", "--object=nothing"], "--object names"),
        (["--format=perf", "--event=cycles"], "the profile has no cycles; it has instructions, branches"),
    ):
        status, said = check.text([LWPCTL, "export", *options, "-o", out, data], stderr=True)
        check.want(status == 1 and said.count("\n") == 1 and text in said, f"{options}: status {status}, {said!r}")
        check.want(not out.exists(), f"{options} leaves a file")


CHECKS: tuple[tuple[str, Callable[[Check], None]], ...] = (
    ("perf: report and script have the samples", _perf),
    ("perf: windows are branch stacks", _perf_windows),
    ("perf: compiled code has its names in ELF images", _perf_jitted),
    ("perfcalls: perf report has the call stacks", _perf_calls),
    ("perf, perfcalls: hotspot reads them", viewers.hotspot),
    ("callgrind: callgrind_annotate has the totals", _callgrind),
    ("callgrind: windows tell instructions and the cost of calls", _callgrind_windows),
    ("collapsed, firefox, pprof: windows tell stacks", _stacks_windows),
    ("report: windows tell callers and callees", _windows_report),
    ("pprof: protoc decodes it by the schema", _pprof),
    ("collapsed: a line for each stack", _collapsed),
    ("firefox: the tables fit together", _firefox),
    ("firefox: the Firefox Profiler reads it", viewers.firefox),
    ("collapsed, pprof: speedscope reads them", viewers.speedscope),
    ("csv: rows add up", _csv),
    ("bolt, llvm, afdo: ranges and branches of windows", _compilers),
    ("html: the page has all it needs, and the numbers", _html),
    ("html: Chromium draws it", _html_drawn),
    ("annotate: instructions have their samples", _annotate),
    ("diff: a profile does not differ from itself", _diff),
    ("merge: files add up", _merge),
    ("report --source: lines have their text", _source),
    *growing.CHECKS,
    ("what cannot be exported is refused", _refused),
    *bad_input.CHECKS,
)


def _build(check: Check) -> None:
    check.run(meson.ninja(OUT, *(str(path.relative_to(OUT)) for path in (LWPCTL, SAMPLE))))


def run(report: Report) -> None:
    """All of them."""
    if report.check("lwpctl and the sample build", _build):
        for name, function in CHECKS:
            report.check(f"lwpctl {name}", function)
