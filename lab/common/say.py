# SPDX-License-Identifier: GPL-2.0-or-later
"""Messages to the user, and the ways in which a command ends early. Exit status: 0 done, 1 failed,
2 usage, 77 skipped because this machine lacks something."""

import sys

SKIPPED = 77


class Stop(Exception):
    """A command ends now, with one line for the user."""

    status = 1


class Died(Stop):
    """What was asked for failed: the text says what, where, and what to do."""


class Usage(Stop):
    """The user's words are wrong."""

    status = 2


class Skip(Stop):
    """This machine lacks something, which the text names."""

    status = SKIPPED


def say(text: str) -> None:
    """One line for the user, on standard error."""
    print(f"vlwp: {text}", file=sys.stderr, flush=True)
