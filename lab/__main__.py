# SPDX-License-Identifier: GPL-2.0-or-later
"""The program behind ./vlwp: finds the command and calls it."""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1])

from lab.dispatch import main  # noqa: E402  (the path must be set first)

sys.exit(main(sys.argv[1:]))
