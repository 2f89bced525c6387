# SPDX-License-Identifier: GPL-2.0-or-later
"""count gives one number: 60 programs, a reference and five runs each, under unlike load and affinity, for unlike
callers, from another translator's blocks. The list stood here before the first run; what is missing is skipped."""

import hashlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.common.places import qemu
from lab.common.say import Skip
from lab.guest import frozen
from lab.guest.count1 import Count1
from lab.guest.vm import HOST_ROOT
from lab.testing import arm64, suites
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP
from lab.tests.plugin import Tell
from lab.tests.soak.test_bases import emulator as of_base
from lab.tests.soak.test_same_twice import NOBODY, PROGRAMS, RUNS, Kept, kept, loaded  # noqa: F401

pytestmark = pytest.mark.soak
EVENTS = ("instructions", "branches", "taken-branches")
THREADS = "import concurrent.futures as c; p = c.{}(4); print(sum(p.map(pow, range(999), [3] * 999)))"
JAVA = "class M { public static void main(String[] a) throws Exception { long[] s = new long[1]; Thread[] t = new " \
    "Thread[4]; for (int i = 0; i < 4; i++) (t[i] = new Thread(() -> { for (int j = 0; j < 200000; j++) synchronized " \
    "(s) { s[0] += j; } })).start(); for (Thread u : t) u.join(); System.out.println(s[0]); } }"
# javac looks at each file of its directory, and count keeps them all: /tmp may have gigabytes of others'.
COMPILED = f"mkdir m; cd m; echo '{JAVA}' >M.java; java -XX:-UsePerfData"
WORKER = 'const { Worker, isMainThread } = require("worker_threads"); if (isMainThread) for (let i = 0; i < 3; i++) ' \
    'new Worker(__filename); else { let s = 0; for (let i = 0; i < 3e6; i++) s += i; console.log(s); }'
C = "#include <stdio.h>\\nint main(void) { long s = 0; for (long i = 0; i < 60000000; i++) s += i ^ (s >> 3); " \
    "printf(\"%%ld\", s); }"
CXX = "#include <map>\\n#include <string>\\n#include <cstdio>\\nint main() { std::map<std::string, int> m; " \
    "for (int i = 0; i < 99999; i++) m[std::to_string(i %% 997)]++; printf(\"%%zu\", m.size()); }"
RUST = "use std::thread; fn main() { let t: Vec<_> = (0..4u64).map(|n| thread::spawn(move || (0..999999u64).fold(n, " \
    "|s, i| s ^ i * 31))).collect(); for h in t { println!(\"{}\", h.join().unwrap()); } }"
MORE: dict[str, tuple[str, str]] = {
    # threads, and children at once
    "py-threads": ("python3", f"/usr/bin/python3 -S -c '{THREADS.format('ThreadPoolExecutor')}'"),
    "py-processes": ("python3", f"/usr/bin/python3 -S -c '{THREADS.format('ProcessPoolExecutor')}'"),
    "java-threads": ("javac", f"{COMPILED} M.java"),
    "java-int": ("javac", f"{COMPILED} -Xint M.java"),
    "node-workers": ("node", f"echo '{WORKER}' >w.js; node w.js | sort"),
    "rust-threads": ("rustc", f"echo '{RUST}' >m.rs; rustc -O m.rs && ./m"),
    "xz-threads": ("xz", "xz -T2 --block-size=100KiB -c /bin/bash | sha256sum"),
    "zstd-threads": ("zstd", "zstd -T2 -9 -qc /bin/bash | sha256sum"),
    "sort-parallel": ("sort", "seq 40000 | shuf --random-source=/bin/bash | sort --parallel=4 -S1M | md5sum"),
    "perl-forks": ("perl", "perl -e 'for (1 .. 6) { next if fork; "
                   "$x += $_ for 1 .. 50000; print qq($$ $x\\n); exit } 1 while wait > 0'"),
    "xargs": ("xargs", "seq 24 | xargs -P4 -n3 sh -c 'echo $$ $@' sh"),
    "pipes": ("bash", "seq 5000 | tee >(md5sum >a) | sed s/1/2/ | tr 2 3 | sort -n | uniq | wc; cat a"),
    "make-clang": ("clang", f"for n in a b c d; do printf '{C}' >$n.c; done; "
                   "printf '%s\\n' 'all: a.o b.o c.o d.o' 'CC=clang' >Makefile; make -j4"),
    # more than 100 million instructions
    "c-loop": ("gcc", f"printf '{C}' >m.c; gcc -O1 m.c && ./a.out"),
    "cxx-map": ("g++", f"printf '{CXX}' >m.cc; g++ -O2 m.cc && ./a.out"),
    "perl-long": ("perl", "perl -e '$x += $_ * $_ for 1 .. 3000000; print $x'"),
    "py-long": ("python3", "/usr/bin/python3 -c 'print(sum(i * i for i in range(1500000)))'"),
    "node-long": ("node", "node -e 'let s = 0; for (let i = 0; i < 2e7; i++) s += i % 7; console.log(s)'"),
    "awk-long": ("awk", "awk 'BEGIN { for (n = 0; n < 900000; n++) s += n % 7; print s }'"),
    "xz-long": ("xz", "xz -6c /bin/bash | sha256sum"),
    "bc-long": ("bc", "echo 'scale=700; 4*a(1)' | bc -l | md5sum"),
    "sqlite-long": ("sqlite3", "sqlite3 :memory: 'with recursive c(n) as (select 1 union all select n + 1 from c "
                    "where n < 300000) select sum(n * n) from c'"),
    "luajit-int": ("luajit", "luajit -joff -e 'local s = 0 for i = 1, 2e7 do s = s + i % 7 end print(s)'"),
    "tcl": ("tclsh", "echo 'for {set i 0} {$i < 300000} {incr i} {incr s $i}; puts $s' | tclsh"),
    "openssl": ("openssl", "head -c 2000000 /bin/bash | openssl enc -aes-256-cbc -K 00 -iv 00 | openssl sha3-256"),
    "clang": ("clang", f"printf '{CXX}' >m.cc; clang -O2 -std=c++17 -S -o - m.cc | md5sum"),
    "bison": ("bison", "printf '%s\\n' '%token A B' %% 'e: e A e | B;' >g.y; bison g.y && md5sum g.tab.c"),
    # small ones
    "git": ("git", "git init -q r; cd r; git config user.email a; git config user.name a; cp /etc/services .; "
            "git add .; git commit -qm x; git log"),
    "jq": ("jq", "seq 2000 | jq -s 'map(. * 3) | add'"),
    "xmllint": ("xmllint", "printf '<a><b>1</b></a>' | xmllint --format -"),
    "tar": ("tar", "tar c -C /usr/share/common-licenses . | sha256sum"),
    "cpio": ("cpio", "cd /usr/share/common-licenses; ls | cpio -oc --quiet | wc -c"),
    "objdump": ("objdump", "objdump -d /bin/true | tail -3"),
    "ld": ("ld", "echo 'int main() { return 0; }' >m.c; gcc -static m.c && ./a.out && size a.out"),
    "diff": ("diff", "diff /usr/share/common-licenses/GPL-2 /usr/share/common-licenses/GPL-3 | md5sum"),
    "factor": ("factor", "factor 1000000007000000049 999999999999999989"),
    "b2sum": ("b2sum", "b2sum /bin/bash; sha512sum /bin/bash; md5sum /bin/bash"),
    "grep": ("grep", "grep -Eoc '(the|of) [a-z]+' /usr/share/common-licenses/GPL-3"),
    "m4": ("m4", "echo 'define(`f'\"'\"', `ifelse($1, 0, 0, `eval($1 + f(decr($1)))'\"'\"')'\"'\"')f(99)' | m4"),
    "perf-stat": ("perf", "perf stat -x, -e instructions:u,branches:u true 2>&1 | cut -d, -f1-3"),
}
ALL = {**PROGRAMS, **MORE}
assert len(ALL) == 60


def counted(one: Count1, place: Path, words: list[str], **caller: Any) -> dict[str, str]:
    """The counts of all and of each thread, the output and the status."""
    (place / "share").mkdir(parents=True)
    for folder in (place, place / "share"):
        folder.chmod(0o777)
    with (place / "out").open("wb") as out:
        status, _ = frozen.boot(one, place, words, events=EVENTS, stdout=out, stderr=out, **caller)
    output = hashlib.sha256((place / "out").read_bytes()).hexdigest()
    return {"counts": (place / "share/counts").read_text(encoding="utf-8"), "output": output, "status": str(status)}


def five_runs(root: Path, words: list[str], tmp_path: Path) -> tuple[dict[str, str], set[str]]:
    """A reference, and what of it is not the same in each of five runs."""
    (tmp_path / "note").mkdir()
    one = Count1()
    one.program = frozen.program(one, root, tmp_path / "note", words, words)
    reference = counted(one, tmp_path / "reference", words)
    wrong = set()
    for number in range(RUNS):
        caller: dict[str, Any] = {"env": {"HOME": f"/{number}", "N": "x" * 99 * number}, "cwd": "/usr"}
        if os.geteuid() == 0 and number == 2:
            for folder in (tmp_path, *list(tmp_path.parents)[:2]):
                folder.chmod(0o711)
            caller |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        with loaded(number):
            other = replace(one, translator=",tb-size=8" if number == RUNS - 1 else "")
            got = counted(other, tmp_path / str(number), words, **caller)
        wrong |= {key for key, text in reference.items() if got[key] != text}
    return reference, wrong


@pytest.mark.parametrize("name", ALL)
def test_same(name: str, tmp_path: Path, kept: Kept, tell: Tell) -> None:  # noqa: F811
    """Each thread's counts, the output and the status of five runs are those of a reference."""
    if kept.stands(name):
        return
    if not shutil.which(ALL[name][0]):
        pytest.skip(f"{ALL[name][0]} is not installed")
    reference, wrong = five_runs(HOST_ROOT, ["bash", "-c", f"cd /tmp; {ALL[name][1]}"], tmp_path)
    total = reference["counts"].splitlines()[0]
    kept.add(name, " ".join(sorted(wrong)))
    tell(f"{name}: status {reference['status']}, {reference['counts'].count('thread ')} threads, {total}")


# Users of perf_event_open: the suite that builds each, what it runs, and what it prints of what it has counted.
COUNTERS = {
    "google-benchmark": ("google-benchmark", "out/test/perf_counters_test --benchmark_min_time=0.01s "
                         "--benchmark_perf_counters=CYCLES,INSTRUCTIONS", r'"INSTRUCTIONS": [1-9]'),
    "papi": ("papi", "echo 1 >/proc/sys/kernel/perf_event_paranoid; "
             "src/utils/papi_command_line PAPI_TOT_INS PAPI_BR_INS", r"PAPI_BR_INS : *\t[1-9]"),
    "py-perf": ("perf", "cd tools/perf; PYTHONPATH=python python3 python/counting.py -e instructions:u", r"val: [1-9]"),
}


@pytest.mark.parametrize("name", COUNTERS)
def test_same_counters(name: str, tmp_path: Path, kept: Kept, tell: Tell) -> None:  # noqa: F811
    """Programs that count themselves, as they are: their output and counts are the same in each run."""
    if kept.stands(f"{name} counts itself"):
        return
    suite, command, prints = COUNTERS[name]
    row = suites.table()[suite]
    try:
        root = suites.built(row)
    except Skip as err:
        pytest.skip(str(err))
    reference, wrong = five_runs(root, ["sh", "-c", f"cd {row.folder}; {command}"], tmp_path)
    said = (tmp_path / "reference/out").read_text(encoding="utf-8", errors="replace")
    wrong |= set() if re.search(prints, said) else {f"no {prints}"}
    kept.add(f"{name} counts itself", " ".join(sorted(wrong)))
    tell(f"{name}: status {reference['status']}, {reference['counts'].splitlines()[0]}")


SMALL = ("trap", "awk", "bc", "factor", "cpio", "m4", "xmllint", "perl-forks", "shuf", "sort")
HOSTS = {"qemu64": "--model=qemu64", "Skylake-Client": "--model=Skylake-Client", "Linux 7.3": "--base=linux-7.3"}
# The counts of each capsule of a folder; what was chosen for the host is not its guests'.
EACH = """
unset VLWP_BASE; cd "$1"
for name in *; do echo "$name $("$0" count --json --capsule="$name" | sha256sum)"; done
"""


def hashes(words: list[str | Path]) -> dict[str, str]:
    """Of each capsule, what a command has printed of it."""
    return {line.split()[0]: line.split()[1] for line in good(words).splitlines() if line}


@pytest.mark.parametrize("host", HOSTS)
def test_same_on(host: str, tmp_path: Path, kept: Kept) -> None:  # noqa: F811
    """Ten programs count on an emulated host as on this one: of an older processor, of Intel, with another kernel."""
    if kept.stands(f"on {host}"):
        return
    for name in SMALL:
        good([VLWP, "freeze", "-o", tmp_path / name, "--", "bash", "-c", f"cd /tmp; {ALL[name][1]}"])
    each: list[str | Path] = ["sh", "-c", EACH, VLWP, tmp_path]
    here, there = hashes(each), hashes([VLWP, "shell", "--memory=6144", HOSTS[host], "--", *each])
    assert here.keys() == set(SMALL)
    kept.add(f"on {host}", " ".join(name for name in SMALL if here[name] != there.get(name)))


EMULATORS: dict[str, Callable[[Path], Path]] = {"arm64": arm64.emulator, "QEMU 11.1": lambda _: of_base("11.1")}
OWN = ("QEMU 11.1",)  # whose snapshot both take up: 10.0.13's has virtio queues of 1,024 entries, which 11.1.1 refuses


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("emulator", EMULATORS)
def test_same_with(
    emulator: str, name: str, tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch  # noqa: F811
) -> None:
    """They count with QEMU as a program for arm64, and with another version of it, and leave the same output."""
    if kept.stands(f"{name} on {emulator}"):
        return
    words = ["bash", "-c", f"cd /tmp; {ALL[name][1]}"]
    (tmp_path / "note").mkdir()
    ours, theirs = qemu(), EMULATORS[emulator](tmp_path)
    if emulator in OWN:
        monkeypatch.setenv("VLWP_QEMU", str(theirs))
    one = Count1()
    one.program = frozen.program(one, HOST_ROOT, tmp_path / "note", words, words)
    here = counted(replace(one, emulator=ours), tmp_path / "here", words)
    assert here["status"] == "0"
    there = counted(replace(one, emulator=theirs), tmp_path / "there", words)
    kept.add(f"{name} on {emulator}", " ".join(key for key, text in here.items() if there[key] != text))
