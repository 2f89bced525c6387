# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpctl host and lwpctl baseline --format=host: what a host's file must be, and where it goes."""

import json
from pathlib import Path

import pytest

from lab.common.places import LWPCTL
from lab.tests.conftest import good, run

pytestmark = pytest.mark.usefixtures("tools_built")

# As lwpctl caps says it of TCG, but for what is not of interest here: no misses, no clocks.
REVISION = {
    **{"contexts": ["auto"], "deliveries": ["exact"], "vmcb": False, "version": 1, "max_events": 4, "min_buffer": 2},
    **{"latency_max": 16, "latency_rounding": 0, "block_size": 160, "event_offset": 128, "event_size": 32},
    **{"features": ["lwp-val", "lwp-bre", "lwp-int"], "filters": ["ip-filtering"]},
}
HEAD = """\
# LWP that 2 hosts have in common: a, b
# libvirt and its managers see lwp; a guest has it only if it asks for it
announce=on
"""
NUMBERS = (
    "lwp-rev=43724 lwp-context=auto lwp-delivery=exact lwp-max-events=4 lwp-min-buffer=2 lwp-latency-max=0 lwp-val=on "
    "lwp-ire=off lwp-bre=on lwp-dme=off lwp-cnh=off lwp-rnh=off lwp-cont=off lwp-ptsc=off lwp-int=on "
)
ALL = "no host has all of it: "


def offers(place: Path, *names: str) -> list[Path]:
    """What hosts of these names can give."""
    for name in names:
        said = {"lwp_capabilities": 1, "host": name, "source": "test", "revisions": {"43724": REVISION}}
        (place / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")
    return [place / f"{name}.json" for name in names]


def test_baseline_host_file(tmp_path: Path) -> None:
    """The file says from which hosts it is, that libvirt sees lwp, and each property but enforce; it is accepted."""
    said = good([LWPCTL, "baseline", "--format=host", *offers(tmp_path, "a", "b")])
    assert said == HEAD + NUMBERS.replace(" ", "\n")
    (tmp_path / "host.conf").write_text(said, encoding="utf-8")
    assert good([LWPCTL, "host", "--check", tmp_path / "host.conf"]) == ""


def test_baseline_of_many_hosts(tmp_path: Path) -> None:
    """The names end where the line does."""
    names = [f"host{number:03}.example" for number in range(30)]
    first = good([LWPCTL, "baseline", "--format=host", *offers(tmp_path, *names)]).splitlines()[0]
    assert first.startswith("# LWP that 30 hosts have in common: host000.example, host001.example, ")
    assert first.endswith(".example, ...") and 230 < len(first) <= 255


@pytest.mark.parametrize("text, says", [
    ("#" * 256, "line 1: has more than 255 characters"),
    ("\n# a\nlwp-ptsc=on\x07\n", "line 3: has a byte 07h, which is no plain text"),
    ("lwp-ptsc", "line 1: wants NAME=VALUE, not 'lwp-ptsc'"),
    ("lwp-int=on\nannounce=on\nlwp-int=off\n", "line 3: lwp-int is set twice"),
    ("lwp=on\n", "line 1: lwp is not a name for this file"),
    ("enforce=on\n", "line 1: enforce is not a name for this file"),
    ("lwp-vmcb=on\n", "line 1: lwp-vmcb is not a name for this file"),
    ("lwp-context-age=1\n", "line 1: lwp-context-age is not a name for this file"),
    ("lwp-max-event=3\n", "line 1: there is no property 'lwp-max-event'"),
    ("announce=yes\n", "line 1: announce: expected 'on' or 'off', got 'yes'"),
    ("lwp-max-events=7\n", "line 1: lwp-max-events: expected a number from 1 to 6, got '7'"),
    ("lwp-rev=2007\nlwp-max-events=4\n", ALL + "lwp-max-events: the guest needs 4, the host offers 3"),
    ("lwp-rev=2007\nlwp-latency-rounding=1\n", ALL + "lwp-latency-rounding: revision 2007 has none"),
    ("lwp-rev=2007\nlwp-profile=fam15h\n", ALL + "lwp-profile: fam15h is of revision 43724, not 2007"),
    ("lwp-cnh=on\nlwp-max-events=4\n", ALL + "lwp-cnh: the guest needs core clock records, the host has none"),
    ("lwp-dme=on\nlwp-latency-max=0\n", "lwp-dme=on needs lwp-latency-max=10 to 31"),
    ("# " + "\n# " * 30000, "has more than 65536 bytes"),
    ("lwp-int=on\n\0", "has bytes that are zero: it is no text"),
])
def test_host_file_refused(tmp_path: Path, text: str, says: str) -> None:
    """One line, and nothing is installed."""
    path = tmp_path / "bad.conf"
    path.write_text(text, encoding="utf-8")
    ended = run([LWPCTL, "host", f"--root={tmp_path}", path])
    assert ended.status == 1 and ended.said == f"lwpctl: {path}: {says}\n"
    assert not (tmp_path / "etc").exists()


def test_host_file_installed(tmp_path: Path) -> None:
    """It takes the place of the old one, for all to read; a QEMU's file is of a later second, and else the same."""
    path, place, emulator = tmp_path / "new.conf", tmp_path / "etc/vlwp/host.conf", tmp_path / "qemu"
    path.write_text("lwp-max-events=2\n" + "#" * 255 + "\nlwp-ire=on\nannounce=off", encoding="utf-8")
    emulator.touch(0o711)
    before = emulator.stat()
    for _ in range(2):
        assert good([LWPCTL, "host", f"--root={tmp_path}", f"--emulator={emulator}", path]) == ""
        after = emulator.stat()
        assert int(after.st_ctime) > int(before.st_ctime)
        assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)
        before = after
    assert place.read_bytes() == path.read_bytes() and place.stat().st_mode & 0o777 == 0o644
    assert [one.name for one in place.parent.iterdir()] == ["host.conf"]
    missing = run([LWPCTL, "host", f"--root={tmp_path}", f"--emulator={tmp_path}/no", path])
    assert missing.status == 1 and missing.said.startswith(f"lwpctl: {tmp_path}/no: No such file")
