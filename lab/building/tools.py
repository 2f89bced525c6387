# SPDX-License-Identifier: GPL-2.0-or-later
"""What Meson builds, but for the unit tests: the tools of host and guest, the programs that run in
guests. Ninja knows what is out of date."""

from lab.building import meson
from lab.common.places import HOST
from lab.common.steps import build_lock

# What `run` and `shell` need of it; everything else is compiled when something asks for it.
TO_RUN = (
    "lab/guest/tsc-khz", "lab/guest/vmrun",
    "lab/guest/guest-init",
    "guest-tools/lwprun",
    "guest-tools/liblwprun.so",
    "host-tools/lwpctl",
    "guest-tests/linux/workload",
)


NAME, OPTIONS = "the tools", ("-Dtests=disabled",)


def configure() -> None:
    """Let Meson know what there is; nothing is compiled."""
    with build_lock("tools"):
        meson.fetch()
        meson.configure(HOST, NAME, OPTIONS)


def build(everything: bool = True) -> None:
    """Build the tools; not everything: what it takes to run a program in a guest."""
    with build_lock("tools"):
        meson.fetch()
        targets = () if everything else TO_RUN
        meson.build(HOST, NAME, OPTIONS, *targets, about=40 if everything else 20)


def build_static() -> None:
    """lwprun for guests that have none of its libraries."""
    with build_lock("tools"):
        meson.fetch()
        meson.build(HOST, NAME, OPTIONS, "guest-tools/lwprun-static", about=5)
