# SPDX-License-Identifier: GPL-2.0-or-later
"""The derived events of instruction-based sampling: counts over the raw registers of samples, as profilers make them,
and what Linux and perf say of the same samples."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from lab.common.places import LINUX_PROGRAMS
from lab.tests.conftest import good
from lab.tests.linux.tools import VLWP

# IBS has a model of the caches of its own.
GUEST = ("--smp=1", "--cpu=pmu=on,+perfctr-core,+ibs,ibs-cache=on")
SCRIPT = r"""
sysctl -q -w kernel.perf_event_paranoid=-1 kernel.perf_cpu_time_max_percent=0
record() { perf record -q -B -N -R -d -W -c 10000 -o /tmp/ibs.data "$@" > /dev/null 2>&1; }
registers() { perf report -D -i /tmp/ibs.data 2> /dev/null | grep '^\.  00[0-9a-f]*:\|raw event'; }
record -e ibs_op/cnt_ctl=1/ -- sh -c '"$0/workload" 1 500; "$0/cachewalk"' "$0"
echo '# op'
registers
echo '# perf'
perf script -F event,addr,data_src,weight -i /tmp/ibs.data
rm /tmp/ibs.data
record -e ibs_fetch/rand_en=1/ -- "$0/workload" 1 1500
echo '# fetch'
registers
echo '# perf fetch'
perf script -F event,ip -i /tmp/ibs.data
"""
# Events of which there are samples.
SOME = ("branch", "return", "load", "store", "data cache miss", "L2 hit", "local DRAM", "miss load latency")
SAMPLE = 9  # PERF_RECORD_SAMPLE
RAW = 0x30  # in a sample: after header, IP, IDs, time and address
PERF = re.compile(r"(?P<addr>[0-9a-f]+) +[0-9a-f]+ \|OP (?P<op>\S+)\|LVL (?P<lvl>[^|]*)\|.*\|TLB (?P<tlb>[^|]*)"
                  r"\|LCK (?P<lck>\S+?)\|\S* *\S* +(?P<weight>\d+)")


def _registers(text: str) -> Iterator[list[int]]:
    """The registers of each sample."""
    for dump in text.split("raw event")[1:]:
        lines = re.findall(r"^\.  00[0-9a-f]*:  ((?:[0-9a-f]{2} )+)", dump, re.MULTILINE)
        data = bytes.fromhex("".join(lines))
        if data and data[0] == SAMPLE:
            size = int.from_bytes(data[RAW:RAW + 4], "little")
            raw = data[RAW + 8:RAW + 4 + size]
            yield [int.from_bytes(raw[i:i + 8], "little") for i in range(0, len(raw) - 7, 8)]


def _bit(value: int, n: int) -> int:
    return value >> n & 1


def _ops(text: str) -> Counter[str]:
    """The derived events of ops."""
    found: Counter[str] = Counter()
    for _, _, data, data2, data3, *_ in _registers(text):
        load, store, miss = _bit(data3, 0), _bit(data3, 1), _bit(data3, 7)
        found.update({
            "all": 1,
            "branch": _bit(data, 37),
            "taken branch": _bit(data, 35),
            "return": _bit(data, 34),
            "load": load,
            "store": store,
            "load and store": load & store,
            "data cache miss": miss,
            "data cache hit": (load | store) & (miss ^ 1),
            "L2 hit": miss & (_bit(data3, 20) ^ 1),
            "local L3": int(_bit(data3, 20) and data2 & 7 == 2),
            "local DRAM": int(_bit(data3, 20) and data2 & 7 == 3),
            "L1 DTLB hit": _bit(data3, 17) & (_bit(data3, 2) ^ 1),
            "locked": _bit(data3, 15),
            "miss load latency": (data3 >> 32 & 0xffff) * miss * load,
            "tag to retire": data >> 16 & 0xffff,
        })
    return found


def _perf(text: str) -> Counter[str]:
    """What perf says of the same samples; it takes an op that loads and stores for a load."""
    found: Counter[str] = Counter()
    for m in PERF.finditer(text):
        found.update({
            "all": 1,
            "load": int(m["op"] == "LOAD"),
            "only store": int(m["op"] == "STORE"),
            "data cache hit": int(m["lvl"].startswith("L1 ")),
            "L2 hit": int(m["lvl"].startswith("L2 ")),
            "local L3": int(m["lvl"].startswith("L3 ")),
            "local DRAM": int("RAM" in m["lvl"]),
            "L1 DTLB hit": int(m["tlb"].startswith("L1 hit")),
            "locked": int(m["lck"] == "Yes"),
            "miss load latency": int(m["weight"]),
        })
    return found


def _fetches(text: str) -> Counter[str]:
    """The derived events of fetches."""
    found: Counter[str] = Counter()
    for ctl, *_ in _registers(text):
        found.update({
            "all": 1,
            "completed": _bit(ctl, 50),
            "instruction cache hit": _bit(ctl, 51) ^ 1,
            "L1 ITLB hit": _bit(ctl, 55) ^ 1,
            "4K page": int(_bit(ctl, 52) and not ctl >> 53 & 3),
        })
    return found


@pytest.mark.soak
def test_ibs_derived() -> None:
    """IBS: the two counts of each derived event are equal, and there is something to count."""
    out = good([VLWP, "shell", *GUEST, "--", "/bin/sh", "-c", SCRIPT, LINUX_PROGRAMS])
    parts = re.split(r"^# (op|perf|fetch|perf fetch)\n", out, flags=re.MULTILINE)
    part = dict(zip(parts[1::2], parts[2::2]))
    ops, perf, fetches = _ops(part["op"]), _perf(part["perf"]), _fetches(part["fetch"])
    print(f"ops: {ops}\nperf: {perf}\nfetches: {fetches}")
    perf["store"] = perf.pop("only store") + ops["load and store"]
    assert {name: ops[name] for name in perf} == perf
    assert all(ops[name] for name in SOME), "there is no sample of one"
    assert ops["return"] < ops["taken branch"] < ops["branch"] < ops["all"]
    assert ops["tag to retire"] == ops["all"] + ops["miss load latency"], "tag to retire is one cycle and the miss"
    counted = part["perf fetch"].count("ibs_fetch")
    assert counted > 100 and set(fetches.values()) == {counted}
