# SPDX-License-Identifier: GPL-2.0-or-later
"""Programs of Debian that do the same in every run: what counting is tried with. Not Python: it reads the clock when it
starts, and the vDSO's loops turn as often as the time has it."""

TEXT = "/usr/share/common-licenses/GPL-3"

DETERMINISTIC: tuple[tuple[str, ...], ...] = (
    ("sha256sum", "/bin/ls"),
    ("sort", TEXT),
    ("gzip", "-c9", "-n", TEXT),
    ("xz", "-c", TEXT),
    ("bzip2", "-c", TEXT),
    ("grep", "-c", "the", TEXT),
    ("sed", "s/the/a/g", TEXT),
    ("awk", "{ n += NF } END { print n }", TEXT),
    ("wc", TEXT),
    ("md5sum", TEXT),
    ("od", "-x", TEXT),
    ("base64", TEXT),
    ("tr", "a-z", "A-Z"),
    ("seq", "20000"),
    ("factor", "1000000007000000049"),
    ("expr", "12345678901", "*", "98765432109"),
    ("fold", "-w", "20", TEXT),
    ("diff", TEXT, "/usr/share/common-licenses/GPL-2"),
    ("env", "PERL_HASH_SEED=0", "perl", "-e", "$x += $_ * $_ for 1 .. 20000; print $x"),
    ("tac", TEXT),
)
