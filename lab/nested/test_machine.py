# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of guests: what is made of options."""

from lab.nested.machine import Machine, deliver_windows


def _cpu(accel: str, cpu: str, *options: str) -> str:
    guest = Machine(accel, cpu=cpu)
    deliver_windows(guest, options)
    return guest.cpu


def test_they_are_delivered_exactly() -> None:
    """Beside other properties, too."""
    for option in ("--windows", "--windows=all", "--windows=31:1000"):
        assert _cpu("kvm", "", "-q", option) == "lwp-delivery=exact"
    assert _cpu("kvm", "lwp-rev=2007", "--windows") == "lwp-rev=2007,lwp-delivery=exact"


def test_the_users_choice_stays() -> None:
    """He may know what he does."""
    assert _cpu("kvm", "lwp-delivery=prompt", "--windows") == "lwp-delivery=prompt"


def test_nothing_else_is_changed() -> None:
    """TCG is always exact, and single events may be prompt."""
    assert _cpu("tcg", "", "--windows") == ""
    assert _cpu("kvm", "", "--event=branches:7") == ""
