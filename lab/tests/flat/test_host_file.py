# SPDX-License-Identifier: GPL-2.0-or-later
"""/etc/vlwp/host.conf, with the defaults of a host: in name spaces, an overlay puts it over this machine's /etc."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from lab.common import places
from lab.common.qmp import PATIENCE, Vm
from lab.tests.conftest import Start, good, machine, run
from lab.tests.flat.kernel import LWP, PLAIN, STOPPED

Host = Callable[[dict[str, Any], str], Vm]
PREFIX = "qemu-system-x86_64: /etc/vlwp/host.conf: "
# QEMU has none of root's capabilities, with which it could read what its user may not.
ENTER = 'mount -t overlay overlay -o lowerdir="$0":/etc /etc && exec setpriv --bounding-set=-all "$@"'
SETTINGS = {
    "lwp-rev": "43724", "lwp-context": "os", "lwp-delivery": "prompt", "lwp-preset": False, "lwp-max-events": 5,
    "lwp-min-buffer": 4, "lwp-latency-max": 20, "lwp-latency-rounding": 2, "lwp-dme": True, "lwp-int": False,
}
BUILT_IN = {
    "lwp-context": "auto", "lwp-delivery": "exact", "lwp-preset": True, "lwp-max-events": 6, "lwp-min-buffer": 1,
    "lwp-latency-max": 16, "lwp-latency-rounding": 0, "lwp-dme": False, "lwp-int": True,
}


def lines(settings: dict[str, Any]) -> list[str]:
    """As in the file, and as QEMU's options have them."""
    words = {True: "on", False: "off"}
    return [f"{name}={words[value] if isinstance(value, bool) else value}" for name, value in settings.items()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the host's file goes."""
    if run(["unshare", "-rm", "true"]).status:
        pytest.skip("needs user name spaces")
    (tmp_path / "etc/vlwp").mkdir(parents=True)
    return tmp_path / "etc/vlwp/host.conf"


def on_host(file: Path, argv: Sequence[str]) -> list[str]:
    """A command on the host."""
    return ["unshare", "-rm", "sh", "-c", ENTER, str(file.parents[1]), *argv]


@pytest.fixture
def host(vm: Start, file: Path) -> Host:
    """Starts a machine on a host with these settings."""
    def start(settings: dict[str, Any], cpu: str) -> Vm:
        file.write_text("\n".join(["# a host", "", *lines(settings)]), encoding="utf-8")
        return vm(argv=on_host(file, machine(cpu, STOPPED)))

    return start


def of_cpu(it: Vm, names: dict[str, Any] = SETTINGS) -> dict[str, Any]:
    """What a CPU has."""
    return {name: it.cpu(name) for name in names}


@pytest.mark.parametrize("settings", [
    SETTINGS, {"lwp-rev": "2007", "lwp-max-events": 2}, {"lwp-profile": "fam15h", "lwp-cont": False},
], ids=["43724", "2007", "fam15h"])
def test_defaults(host: Host, settings: dict[str, Any]) -> None:
    """A CPU with no more than lwp=on has what the file says, and says so."""
    assert of_cpu(host(settings, LWP), settings) == settings


@pytest.mark.parametrize("first", [0, 1], ids=["even", "odd"])
def test_explicit_wins(host: Host, first: int) -> None:
    """A property that the user gives wins over the file, one by one, also with the value that it would have anyway."""
    given = dict(list(BUILT_IN.items())[first::2])
    assert of_cpu(host(SETTINGS, ",".join([LWP, *lines(given)]))) == {**SETTINGS, **given}


def test_other_revision(vm: Start, host: Host) -> None:
    """A CPU with another revision than the file's, or without the file, takes nothing of it; one with the same takes
    the rest."""
    for other in (f"{LWP},lwp-rev=2007", f"{LWP},lwp-host-file=off"):
        assert of_cpu(host(SETTINGS, other)) == of_cpu(vm(other, STOPPED))
    assert host({"lwp-max-events": 3}, f"{LWP},lwp-rev=43724").cpu("lwp-max-events") == 3


def test_counts_as_given(host: Host) -> None:
    """A CPU that cannot have what the file says is refused."""
    with pytest.raises(EOFError, match="lwp-cnh=on needs lwp-max-events=5 or more"):
        host({"lwp-cnh": True}, f"{LWP},lwp-max-events=3")


def test_host_file_lwpctl(file: Path) -> None:
    """The file changes a host's class, and nothing of what lwpctl says that the host can give: the baseline of hosts
    with files can rise."""
    file.write_text("lwp-max-events=3", encoding="utf-8")
    argv = [str(places.LWPCTL), "caps", "--json", f"--qemu={places.qemu()}"]
    plain, has_file = (json.loads(good(words)) for words in (argv, on_host(file, argv)))
    assert has_file["revisions"] == plain["revisions"]
    assert has_file["class"] != plain["class"]


def expanded(it: Vm, model: str, how: str = "full", /, **props: object) -> dict[str, Any]:
    """A model's properties."""
    answer = it.do("query-cpu-model-expansion", type=how, model={"name": model, "props": props})
    return dict(answer["model"]["props"])


@pytest.mark.parametrize("said", [{"announce": True}, {"announce": False}, {}], ids=["on", "off", "unsaid"])
def test_announce(vm: Start, host: Host, said: dict[str, bool]) -> None:
    """announce=on shows lwp in max and host, unless the query names it, or they cannot have it; no machine's CPU and no
    other model has it."""
    it, plain = host({**said, "lwp-max-events": 3, "lwp-context": "os"}, "max"), vm("max", STOPPED)
    on = said.get("announce", False)
    assert not it.cpu("lwp")
    again = expanded(it, "base", **expanded(it, "max", "static"))  # as libvirt asks
    assert again["lwp"] == on and again["lwp-max-events"] == (3 if on else 0)
    for model in ("max", "host"):
        assert expanded(it, model)["lwp"] == on
        for without in ("lwp", "xsave"):
            assert expanded(it, model, **{without: False}) == expanded(plain, model, **{without: False})
    assert expanded(it, "EPYC") == expanded(plain, "EPYC")


def refused(file: Path) -> str:
    """What QEMU says of the file in one line of plain text, instead of a start; libvirt asks a machine "none"."""
    ended = run(on_host(file, machine(PLAIN, STOPPED, kind="none")), PATIENCE)
    assert ended.status == 1 and ended.said.isascii() and ended.said[:-1].isprintable() and ended.said[-1] == "\n"
    assert ended.said.startswith(PREFIX)
    return ended.said.removeprefix(PREFIX).strip()


HOSTILE = {
    "line": ("#" * 256, "line 1: more than 255 characters"), "file": ("\n" * 65537, "has more than 65536 bytes"),
    "zero": ("# \0", "has bytes that are zero: no text"), "escape": ("=o\33[31m", "line 1: byte 1bh is no plain text"),
    "no-value": ("\nlwp-int", "line 2: NAME=VALUE is wanted, not 'lwp-int'"),
    "name": ("lwp-vmcb=on", "line 1: 'lwp-vmcb' is not a name for this file"),
    "twice": ("announce=on\nannounce=on", "line 2: 'announce' is there twice"),
    "range": ("lwp-min-buffer=256", "line 1: lwp-min-buffer is at most 255, not 256"),
    "word": ("lwp-rev=2008", "line 1: Parameter 'lwp-rev' does not accept value '2008'"),
    "together": ("lwp-cnh=on\nlwp-max-events=3", "lwp-cnh=on needs lwp-max-events=5 or more"),
    "revision": ("lwp-rev=2007\nlwp-max-events=4", "lwp-max-events is 1 to 3 for revision 2007, not 4"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_text(file: Path, what: str) -> None:
    """A file that is not right in every line is refused."""
    file.write_text(HOSTILE[what][0], encoding="utf-8")
    assert refused(file) == HOSTILE[what][1]


def test_hostile_file(file: Path) -> None:
    """What others can write, or is no file to read, is refused, at once; a link is what it leads to."""
    file.mkdir()
    assert refused(file) == "is not a regular file"
    file.rmdir()
    os.mkfifo(file)
    assert refused(file) == "is not a regular file"
    real = file.with_name("real")
    real.write_text("lwp-int=maybe", encoding="utf-8")
    for target, says in (("/dev/zero", "is not a regular"), ("nothing", "No such file"), ("real", "line 1: ")):
        file.unlink()
        file.symlink_to(target)
        assert refused(file).startswith(says)
    for mode, says in ((0o664, "can be written by"), (0o646, "can be written by"), (0, "Permission denied")):
        real.chmod(mode)
        assert refused(file).startswith(says)
    if os.geteuid():
        file.unlink()
        file.symlink_to("/usr/bin/env")  # of root, who is nobody there
    else:
        real.chmod(0o644)
        os.chown(real, 65534, -1)
    assert refused(file).startswith("must belong to root, or to the user")
