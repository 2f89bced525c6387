# SPDX-License-Identifier: GPL-2.0-or-later
"""The lines of a serial port on which one machine follows another."""

from lab.migrate.guest import Port


def test_a_line_ends_with_lf_and_loses_cr() -> None:
    assert Port().take(b"0.1 4 ok\r\n1.1 1 ok\n1.") == ["0.1 4 ok", "1.1 1 ok"]


def test_a_migrated_machine_ends_its_line() -> None:
    port = Port()
    assert port.take(b"0.1 4") == [] and port.take(b" ok\r\n") == ["0.1 4 ok"]


def test_what_a_machine_that_is_gone_has_begun_is_no_part_of_the_next_ones_line() -> None:
    port = Port()
    port.take(b"0.1 4 ok")
    port.booted()
    assert port.take(b"1.1 1 ok\r\n") == ["1.1 1 ok"]


def test_a_line_that_is_begun_on_one_host_ends_on_the_other() -> None:
    """Each host hears what is said there; what was begun goes with the machine."""
    here, there = Port(), Port()
    here.take(b"0.1 14")
    there.begun = here.begun
    assert there.take(b" ok\r\n1.0 9 o") == ["0.1 14 ok"]
    here.begun = there.begun
    assert here.take(b"k\r\n") == ["1.0 9 ok"]
