# SPDX-License-Identifier: GPL-2.0-or-later
"""lwpctl baseline --format=host: the file from which QEMU takes a host's defaults."""

import json
from pathlib import Path

import pytest

from lab.common.places import LWPCTL
from lab.tests.conftest import good

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


def offers(place: Path, *names: str) -> list[Path]:
    """What hosts of these names can give."""
    for name in names:
        said = {"lwp_capabilities": 1, "host": name, "source": "test", "revisions": {"43724": REVISION}}
        (place / f"{name}.json").write_text(json.dumps(said), encoding="utf-8")
    return [place / f"{name}.json" for name in names]


def test_baseline_host_file(tmp_path: Path) -> None:
    """The file says from which hosts it is, that libvirt sees lwp, and each property but enforce."""
    said = good([LWPCTL, "baseline", "--format=host", *offers(tmp_path, "a", "b")])
    assert said == HEAD + NUMBERS.replace(" ", "\n")


def test_baseline_of_many_hosts(tmp_path: Path) -> None:
    """The names end where the line does."""
    names = [f"host{number:03}.example" for number in range(30)]
    first = good([LWPCTL, "baseline", "--format=host", *offers(tmp_path, *names)]).splitlines()[0]
    assert first.startswith("# LWP that 30 hosts have in common: host000.example, host001.example, ")
    assert first.endswith(".example, ...") and 230 < len(first) <= 255
