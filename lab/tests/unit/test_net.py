# SPDX-License-Identifier: GPL-2.0-or-later
"""No way of real programs leads past a net of breakpoints: the processor executes them in single steps
(kvm/engine/tests/net_walk.c)."""

import pytest

from lab.common import proc
from lab.tests.conftest import good
from lab.tests.plugin import Tell
from lab.tests.unit.conftest import SANITIZERS, TESTS, sanitized

WALK = TESTS / "kvm/engine/tests/net_walk"
NETS = 2500
FREE = 300  # ms that a program runs first
# They do not end, or not soon.
PROGRAMS: dict[str, list[proc.Word]] = {
    "perl": ["perl", "-e", """while (1) {
        my %texts;
        $texts{$_ % 97} .= chr($_ & 127) for 1..300;
        my $all = join "", sort values %texts;
        $all =~ s/a(.)b/$1/g;
    }"""],
    "python3": ["/usr/bin/python3", "-S", "-c", """while True:
    texts = {}
    for i in range(300):
        texts[i % 97] = texts.get(i % 97, "") + chr(i & 127)
    "".join(sorted(texts.values())).replace("ab", "c")"""],
    "sqlite3": ["sqlite3", ":memory:", """create table t(a, b);
        with recursive c(x) as (values(1) union all select x + 1 from c limit 300000)
            insert into t select x, x * 7919 % 1000 from c;
        select count(*) from t t1, t t2 where t1.b + t2.b = 7;"""],
    "xz": ["xz", "-9", "-c", *["/usr/bin/perl"] * 100],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_net_walk(name: str, seed: int, scale: int, tell: Tell) -> None:
    """Neither the due instruction nor more than the net says passes."""
    sanitized("kvm/engine/tests/net_walk")
    done = good([WALK, str(seed), str(NETS * scale), str(FREE), *PROGRAMS[name]], env=SANITIZERS)
    tell(f"{name}: {done.strip()}, seed {seed}")
