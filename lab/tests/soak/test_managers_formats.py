# SPDX-License-Identifier: GPL-2.0-or-later
"""What lwpctl caps writes for managers, judged by their own programs: Nova's loader of provider.yaml, promtool, and
Ganeti's check of tags. What it writes is what test_class.py says."""

from pathlib import Path

import pytest

from lab.common import archive
from lab.testing import fresh_root
from lab.tests.conftest import run
from lab.tests.migrate.test_class import FORMATS

pytestmark = pytest.mark.soak

PACKAGES = ("python3-nova", "prometheus", "ganeti")
# For a shell in a folder with the file "text". Each says what it takes.
JUDGES = {
    "nova": "mkdir -p all; cp text all/provider.yaml; "
            "python3 -c 'from nova.compute import provider_config as it; print(it.get_provider_configs(\"all\"))'",
    "prometheus": "promtool check metrics <text",
    "tags": "cd /usr/share/ganeti/3.*; "
            "python3 -c 'import sys; from ganeti import objects; "
            "[objects.TaggableObject.ValidateTag(line.rstrip()) for line in sys.stdin]' </judged/text",
}
# A mistake that each must find, as one that finds none judges nothing.
WRONG = {"nova": ("CUSTOM_LWP_CLASS", "custom_lwp_class"), "prometheus": ("} 1", "} one"), "tags": (":", ": ")}


def _judged(root: Path, name: str, text: str) -> bool:
    place = root / "judged"
    place.mkdir(exist_ok=True)
    (place / "text").write_text(text, encoding="utf-8")
    return run(fresh_root.enter(root, f"cd /judged; {JUDGES[name]}")).status == 0


def test_managers_formats() -> None:
    """Each takes the text of a host with LWP and that of one without, and finds a mistake."""
    fresh_root.require("soak managers")
    with fresh_root.fresh_root(archive.debian_codename(), PACKAGES) as root:
        for name in JUDGES:
            for text in FORMATS[name]:
                assert _judged(root, name, text), f"{name} does not take: {text}"
            assert not _judged(root, name, FORMATS[name][0].replace(*WRONG[name])), f"{name} takes anything"
