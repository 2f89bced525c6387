# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpctl baseline and check of many hosts: where they come from, what is said of them."""

import json
import os
from pathlib import Path

import pytest

from lab.common import proc
from sample import Sample

MANY, BAD = 1000, 100
EVENTS = {3: ("val", "ire", "bre"), 6: ("val", "ire", "bre", "cnh", "rnh")}
CPU = ("EPYC,lwp=on,lwp-rev=43724,lwp-context=auto,lwp-delivery=prompt,lwp-max-events={},lwp-min-buffer={},"
       "lwp-latency-max=0,lwp-val=on,lwp-ire=on,lwp-bre=on,lwp-dme=off,{}lwp-cont=on,lwp-ptsc=on,lwp-int=on,enforce=on")
SIX, THREE = CPU.format(6, 1, "lwp-cnh=on,lwp-rnh=on,"), CPU.format(3, 1, "lwp-cnh=off,lwp-rnh=off,")
MORE_EVENTS = "lwp-max-events 6 instead of 3, lwp-cnh on instead of off, lwp-rnh on instead of off"
GUEST = "<domain type='kvm'{}><name>g</name><cpu check='partial'><feature policy='{}' name='lwp'/></cpu>{}</domain>"
GLOBALS = "<qemu:commandline>{}</qemu:commandline>".format("".join(
    f"<qemu:arg value='-global'/><qemu:arg value='x86_64-cpu.{word}'/>"
    for word in ("enforce=on", "lwp-max-events=6", "lwp-min-buffer=4")))


def _host(path: Path, events: int = 6, ring: int = 1) -> str:
    """A file as `lwpctl caps --json` writes it; no events: without LWP. Its name without the ending."""
    rev = {
        "contexts": ["auto", "os"], "deliveries": ["exact", "prompt"], "vmcb": True, "version": 1, "max_events": events,
        "min_buffer": ring, "latency_max": 16, "latency_rounding": 0, "block_size": 128 + 8 * events,
        "event_offset": 128, "event_size": 32, "filters": ["ip-filtering"],
        "features": [f"lwp-{name}" for name in (*EVENTS.get(events, ()), "cont", "ptsc", "int")],
    }
    host = {"lwp_capabilities": 1, "host": path.stem, "source": "QEMU", "revisions": {"43724": rev} if events else {}}
    path.write_text(json.dumps(host), encoding="utf-8")
    return path.stem


@pytest.fixture
def pool(sample: Sample) -> Sample:
    """A folder with 6 hosts in three kinds, and domains."""
    folder = sample.place / "pool"
    folder.mkdir()
    for name, words in {"a": (), "b": (3,), "c": (6, 4), "d": (3,), "e": (3,), "f": (3,)}.items():
        _host(folder / f"{name}.json", *words)
    space = " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'"
    (sample.place / "said").write_text(GUEST.format(space, "force", GLOBALS), encoding="utf-8")
    unsaid = GUEST.format("", "require", "").replace("check='partial'", "check='none'")
    (sample.place / "unsaid").write_text(unsaid, encoding="utf-8")
    return sample


def _hosts(pool: Sample, *words: proc.Word, **options: object) -> list[str]:
    """Which hosts a baseline is of."""
    names: list[str] = json.loads(pool.lwpctl("baseline", "--json", *words, **options).out)["hosts"]
    return names


def test_a_directory_stands_for_its_files_in_order(pool: Sample) -> None:
    """Of *.json only, and not of directories in it; a list has a host a line."""
    for name in (".hidden.json", "note.txt", "json"):
        _host(pool.place / "pool" / name, 0)
    (pool.place / "pool/sub").mkdir()
    _host(pool.place / "pool/sub/no.json", 0)
    assert _hosts(pool, "pool") == list("abcdef")
    listed = pool.place / "list"
    listed.write_text("pool/c.json\n\npool/b.json", encoding="utf-8")
    assert _hosts(pool, "--hosts-from=list", "pool/a.json") == ["a", "c", "b"]
    with listed.open(encoding="utf-8") as file:
        assert _hosts(pool, "--hosts-from=-", stdin=file) == ["c", "b"]
    few = "no: b: lwp-max-events: the guest needs 6, the host offers 3\n"
    assert pool.lwpctl("check", "--hosts-from=list", "said", "pool/a.json").out == few


@pytest.mark.parametrize("text, says", [
    ("", "list: expected a host a line"), ("\n\n", "list: expected a host a line"),
    ("pool/a.json\nx\0y\n", "list: line 2: expected a name of less than 4096 bytes, there is a NUL"),
    ("\n" + "x" * 4096, "list: line 2: expected a name of less than 4096 bytes"),
    ("none", "none: expected files *.json in this directory"),
])
def test_a_bad_list_is_one_line(pool: Sample, text: str, says: str) -> None:
    """Nothing in it, a NUL, a line that is too long, a directory without files."""
    (pool.place / "list").write_text(text, encoding="utf-8")
    (pool.place / "none").mkdir()
    for words in (["baseline"], ["check", "said"]):
        pool.refuses(1, says, *words, "--hosts-from=list")


def test_all_bad_files_are_named(pool: Sample) -> None:
    """Each in a line, and nothing else is said."""
    many = pool.place / "many"
    many.mkdir()
    for number in range(MANY):
        _host(many / f"{number}.json")
    bad = sorted(f"many/{number}.json" for number in range(0, MANY, MANY // BAD))
    for name in bad:
        (pool.place / name).write_text("{}", encoding="utf-8")
    os.mkfifo(many / "fifo.json")
    for words in (["baseline", "--groups", "--skip-without"], ["check", "--summary", "said"]):
        ended = pool.lwpctl(*words, "nowhere", "many")
        assert ended.status == 1 and not ended.out
        assert [line.split(":")[1].strip() for line in ended.err.splitlines()] == ["many/fifo.json", "nowhere", *bad]


def test_hosts_without_lwp_are_left_out(pool: Sample) -> None:
    """One line says how many and which first; not all of them."""
    for name in "0123":
        _host(pool.place / f"pool/{name}.json", 0)
    assert pool.lwpctl("baseline", "pool").status == 1
    ended = pool.lwpctl("baseline", "--skip-without", "pool")
    assert ended == type(ended)(0, CPU.format(3, 4, "lwp-cnh=off,lwp-rnh=off,") + "\n",
                                "lwpctl: left out, without LWP: 4 hosts (0, 1, 2 and 1 more)\n")
    assert "left out" in pool.lwpctl("check", "--skip-without", "said", "pool").err
    ended = pool.lwpctl("baseline", "--skip-without", "pool/0.json")
    assert ended.status == 1 and ended.err.endswith("lwpctl: no host is left\n")


def test_groups_say_what_the_pool_gains_without_whom(pool: Sample) -> None:
    """Fewest hosts first; properties that the same hosts hold down together; nothing in a pool of equals."""
    lines = pool.good("baseline", "--groups", "pool").splitlines()
    assert lines[1:] == ["without 1 host (c): lwp-min-buffer 1 instead of 4",
                         f"without 4 hosts (b, d, e and 1 more): {MORE_EVENTS}"]
    groups = json.loads(pool.good("baseline", "--groups", "--json", "pool"))["groups"]
    assert groups[MORE_EVENTS] == {"count": 4, "hosts": list("bdef")}
    assert pool.good("baseline", "--groups", "pool/b.json", "pool/d.json") == THREE + "\n"
    _host(pool.place / "w", 0)
    ended = pool.lwpctl("baseline", "--groups", "pool", "w")
    assert ended.status == 1 and ended.out == "without 1 host (w): lwp on instead of off\n"


def test_summaries_count_hosts(pool: Sample) -> None:
    """By what they offer; by why the domain does not fit, or that it does."""
    _host(pool.place / "pool/w.json", 0)
    kinds = [f"1 host (a): {SIX}", f"4 hosts (b, d, e and 1 more): {THREE}",
             f"1 host (c): {SIX.replace('buffer=1', 'buffer=4')}", "1 host (w): no such LWP"]
    assert pool.good("baseline", "--summary", "pool").splitlines() == kinds
    assert json.loads(pool.good("baseline", "--summary", "--json", "pool"))["kinds"][THREE]["count"] == 4
    ended = pool.lwpctl("check", "--summary", "said", "pool")
    few, none = "lwp-max-events: the guest needs 6, the host offers 3", "lwp: the guest needs it, the host has none"
    assert ended == type(ended)(1, f"no: 4 hosts (b, d, e and 1 more): {few}\nno: 1 host (w): {none}\n", "")
    fits = "yes: 2 hosts (a, c): g has the same LWP\n"
    assert pool.good("check", "said", "pool/a.json", "pool/c.json") == fits
    said = json.loads(pool.lwpctl("check", "--json", "said", "pool").out)
    assert said["verdict"] == "no" and said["no"][few] == {"count": 4, "hosts": list("bdef")}
    assert said["yes"] == {"g has the same LWP": {"hosts": ["a", "c"], "count": 2}}


def test_advice_is_what_the_manager_can_do(pool: Sample) -> None:
    """Nova writes no <qemu:commandline>: it has the host file and traits."""
    domain = ("check", "unsaid", "pool/a.json", "pool/b.json")
    libvirt, nova = pool.lwpctl(*domain), pool.lwpctl(*domain, "--manager=nova")
    assert "-global x86_64-cpu.enforce=on" in libvirt.err and "policy='force' needs nothing" in libvirt.err
    assert libvirt.out.endswith("3 with this host; set it in the domain (lwpctl baseline)\n")
    assert "qemu:commandline" not in nova.said and "force" not in nova.said and "announce=on" in nova.err
    assert nova.out.endswith("; set it in /etc/vlwp/host.conf on each host (lwpctl baseline --format=host)\n")
