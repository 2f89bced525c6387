# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks (lwprun --stacks) beside callgrind: each function with all that it calls has the share of main's instructions
that callgrind counts, in C, C++ and Rust, with frame pointers and without."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest

from lab.common.places import LWPCTL
from lab.testing import callgrind
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP

C = """#include <stdio.h>
#define OWN __attribute__((noinline, noclone))
EXTERN_C
OWN unsigned leaf(unsigned n) { unsigned s = n; while (n--) s ^= s << 13, s ^= s >> 17, s ^= s << 5; return s; }
OWN unsigned one(unsigned n) { return leaf(n) + 1; }
OWN unsigned three(unsigned n) { unsigned s = 1; for (int i = 0; i < 3; i++) s += leaf(n + s % 2); return s; }
OWN unsigned both(unsigned n) { unsigned s = one(n); return s ^ three(n) ^ one(2 * n); }
END_C
int main(void)
{
    unsigned s = 0;
    for (unsigned i = 0; i < 400; i++)
        s += both(4000 + i) + one(9000 + i);
    printf("%u\\n", s);
}
"""
RUST = """
#[no_mangle] #[inline(never)]
pub fn leaf(n: u32) -> u32 { let mut s = n; for _ in 0..n { s ^= s << 13; s ^= s >> 17; s ^= s << 5; } s }
#[no_mangle] #[inline(never)]
pub fn one(n: u32) -> u32 { leaf(n).wrapping_add(1) }
#[no_mangle] #[inline(never)]
pub fn three(n: u32) -> u32 { (0..3).fold(1u32, |s, _| s.wrapping_add(leaf(n + s % 2))) }
#[no_mangle] #[inline(never)]
pub fn both(n: u32) -> u32 { let s = one(n); s ^ three(n) ^ one(2 * n) }
fn main() {
    let s = (0..400).fold(0u32, |s, i| s.wrapping_add(both(4000 + i)).wrapping_add(one(9000 + i)));
    println!("{s}");
}
"""
PLAIN, EXTERN = ("-DEXTERN_C=", "-DEND_C="), ('-DEXTERN_C=extern "C" {', "-DEND_C=}")
PROGRAMS = {
    "c-frame-pointers": (C, ".c", ("gcc", "-O2", *PLAIN, "-fno-omit-frame-pointer")),
    "c++-none": (C, ".cpp", ("g++", "-O2", *EXTERN, "-fomit-frame-pointer")),
    "rust": (RUST, ".rs", ("rustc", "-O")),
}
CALLS = {("main", "both"), ("main", "one"), ("both", "one"), ("both", "three"), ("one", "leaf"), ("three", "leaf")}
LEAST = 200  # stacks
WIDER = 2  # a 95% interval is two standard deviations to each side; one in 10,000 is outside of four


@pytest.mark.parametrize("name", PROGRAMS)
def test_stacks(name: str, tmp_path: Path) -> None:
    """Shares with callees within the interval of callgrind's, callers those that call."""
    text, suffix, compiler = PROGRAMS[name]
    if not shutil.which(compiler[0]):
        pytest.skip(f"{compiler[0]} is not installed")
    source, program, data = tmp_path / f"known{suffix}", tmp_path / "known", tmp_path / "data"
    source.write_text(text, encoding="ascii")
    good([*compiler, source, "-o", program])
    options = ["--lwprun=--stacks", "--lwprun=--event=instructions:997"]
    good([VLWP, "run", *options, f"--data={data}", "--report-file=/dev/null", "--", program])
    found = json.loads(good([LWPCTL, "report", "--calls", "--json", "--limit=0", data]))
    rows = {row["symbol"]: row for row in found["functions"] if row["object"] == str(program)}
    assert found["stacks"] >= LEAST
    callers = {(pair["caller"].removeprefix("known::"), pair["callee"]) for pair in found["callers"]}
    own = {"leaf", "one", "three", "both"}
    assert {pair for pair in callers if pair[1] in own and pair[0] in {*own, "main"}} == CALLS

    truth = callgrind.of(tmp_path, [program])
    inclusive: Counter[str] = Counter()
    for (_, callee), (_, instructions) in truth.calls.items():
        inclusive[callee] += instructions
    for function in sorted(own):
        row, right = rows[function], inclusive[function] / inclusive["main"]
        share, half = row["share"] / rows["main"]["share"], (row["share_high"] - row["share_low"]) / 2
        assert abs(share - right) <= WIDER * half, f"{function}: callgrind {right:.2%}, stacks {share:.2%} +-{half:.2%}"
