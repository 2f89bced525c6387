# SPDX-License-Identifier: GPL-2.0-or-later
"""What the kit knows of machines and of what tests print (kvm/kit), for the lab."""

import sys

from lab.common import places

sys.path.append(str(places.TOP / "kvm/kit"))

import machine  # noqa: E402
import tap  # noqa: E402

__all__ = ["machine", "tap"]
