# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of this part build, each when a test asks for it."""

import pytest

from lab.building import meson, tools
from lab.common.places import BUILD
from lab.common.steps import build_lock

FOLDERS = ("vmcb", "kvm/engine", "guest-tools", "host-tools")  # with tests and fuzzers in C
TESTS = BUILD / "host-tests"
# With clang, for libFuzzer; not optimised, which the tools are that gcc compiles: half of the time.
OPTIONS = (
    "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dtests=enabled", "-Dfuzz=true", "--werror",
    "-Doptimization=0", "-Dc_args=-g1",
)
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}


def sanitized(*targets: str) -> None:
    """Build for this machine with AddressSanitizer and UBSan."""
    with build_lock("host-tests"):
        meson.fetch()
        meson.build(TESTS, "the unit tests", OPTIONS, *targets, about=60, cc="clang")


@pytest.fixture(scope="session")
def tools_built() -> None:
    """All tools."""
    tools.build()
