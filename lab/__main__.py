# SPDX-License-Identifier: GPL-2.0-or-later
"""The program that ./vlwp starts: finds the command and calls it."""

import sys
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit(f"vlwp: this is Python {sys.version.split()[0]}; 3.11 or later is needed")
sys.path[0] = str(Path(__file__).resolve().parents[1])

from lab.common import bases  # noqa: E402  (the path must be set first)

bases.choose(sys.argv[1:])  # the modules below have directories of the chosen bases

from lab.dispatch import main  # noqa: E402

sys.exit(main(sys.argv[1:]))
