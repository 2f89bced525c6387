# SPDX-License-Identifier: GPL-2.0-or-later
"""No way of programs that run leads past a net of breakpoints (kvm/engine/tests/net_walk.c)."""

import pytest

from lab.tests.conftest import good
from lab.tests.plugin import Tell
from lab.tests.unit.conftest import SANITIZERS, TESTS, sanitized

WALK = "kvm/engine/tests/net_walk"
NETS = 2500
# They do not end, or not soon.
PROGRAMS = {
    "perl": ["perl", "-e",
             "while (1) { my %h; $h{$_ % 97} .= chr($_ & 127) for 1..300; s/a(.)b/$1/g for sort values %h }"],
    "python3": ["/usr/bin/python3", "-c",
                "while 1: sorted(str(i * 7919 % 997).replace('1', 'ab') for i in range(300))"],
    "sqlite3": ["sqlite3", "",
                "with recursive c(x) as (values(1) union select x * 7919 % 1000003 from c) select sum(x) from c"],
    "xz": ["xz", "-9", "-c", *["/usr/bin/perl"] * 100],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_net_walk(name: str, seed: int, scale: int, tell: Tell) -> None:
    """The processor executes it in single steps: neither what is due nor more than a net says passes."""
    sanitized(WALK)
    done = good([TESTS / WALK, str(seed), str(NETS * scale), "300", *PROGRAMS[name]], env=SANITIZERS)
    tell(f"{name}: {done.strip()}, seed {seed}")
