# SPDX-License-Identifier: GPL-2.0-or-later
"""The tree's own files, and the checks that only read them."""

import re
from fnmatch import fnmatchcase

from lab.common import proc
from lab.common.places import PYTHON, TOP
from lab.common.report import Check, Report

LICENCE = re.compile(r"SPDX-License-Identifier: (.*?)\s*(\*/)?$", re.MULTILINE)
DEFAULT_LICENCE = "GPL-2.0-or-later"
# Files for other people's programs, and the kernel's interface to user space.
OTHER_LICENCES = {
    "guest-tools/lwp.h": "MIT",
    "guest-tools/liblwp/*": "MIT",
    "guest-tools/examples/*": "MIT",
    "lwp_kvm.h": "GPL-2.0-or-later WITH Linux-syscall-note",
}
FLAT_RUNNER = "guest-tests/flat/runner"  # without the lab
SHELL_LINES = 150  # of a shell script, at most
SHELL_LINES_LAB = 2500  # of all shell in lab/, at most


def files(*patterns: str) -> list[str]:
    """The tree's own files that match, without what git ignores."""
    listing = proc.output(
        ["git", "-C", TOP, "-c", f"safe.directory={TOP}", "ls-files", "-co", "--exclude-standard", "--", *patterns]
    )
    return [name for name in listing.splitlines() if (TOP / name).is_file()]


def _text(name: str) -> str:
    return (TOP / name).read_text(encoding="utf-8", errors="replace")


def shell_scripts() -> list[str]:
    """All shell scripts."""
    found = []
    for name in files("vlwp", ".ci/run", "lab", "guest-tests", "host-tools", "kvm/dkms", "docs"):
        head = _text(name)[:60]
        if head.startswith(("#!/bin/bash", "#!/bin/sh", "# shellcheck shell=")) or name.endswith(".sh"):
            found.append(name)
    return found


def spdx(check: Check) -> None:
    """Every source file says its licence in its first three lines."""
    bad = []
    for name in files("*.c", "*.h", "*.S", "*.sh", "*.py", "*meson.build", "lab/*", "vlwp"):
        if name.endswith((".md", ".txt")):
            continue
        found = LICENCE.search("\n".join(_text(name).splitlines()[:3]))
        wanted = next((text for end, text in OTHER_LICENCES.items() if fnmatchcase(name, f"*{end}")), DEFAULT_LICENCE)
        if not found or found[1].strip() != wanted:
            bad.append(f"{name}: {found[1] if found else 'no SPDX line'}, wanted {wanted}")
    check.say("\n".join(bad))
    check.want(not bad, f"{len(bad)} files")


def clang_format(report: Report) -> None:
    """What clang-format 14 makes of .clang-format is the rule; other versions differ in details."""
    name = "the tree follows .clang-format"
    program = next((p for p in ("clang-format-14", "clang-format") if _is_version_14(p)), "")
    if not program:
        report.skip(f"{name}: needs clang-format 14")
        return
    # The style of what goes into other sources is judged by their checkpatch.
    sources = files("*.c", "*.h", ":!qemu-patches", ":!kvm/selftests")
    report.check(name, lambda check: check.run([program, "--dry-run", "--Werror", *sources], cwd=TOP))


def _is_version_14(program: str) -> bool:
    try:
        return "version 14." in proc.output([program, "--version"])
    except OSError:
        return False


def shell(check: Check) -> None:
    """The shell scripts are clean for bash and shellcheck, and short."""
    scripts = shell_scripts()
    for name in scripts:
        check.run(["bash", "-n", TOP / name])
    check.run(["shellcheck", "-x", "-S", "warning", "-P", "SCRIPTDIR", *scripts], cwd=TOP)
    lines = {name: len(_text(name).splitlines()) for name in scripts if name.startswith("lab/")}
    check.say(f"{sum(lines.values())} lines of shell in lab/")
    long = [name for name, count in lines.items() if count > SHELL_LINES]
    check.want(not long, f"longer than {SHELL_LINES} lines: {' '.join(long)}")
    check.want(sum(lines.values()) <= SHELL_LINES_LAB, f"more than {SHELL_LINES_LAB} lines of shell in lab/")


def python(check: Check) -> None:
    """All Python is typed and has nothing that the linter finds."""
    mypy: list[proc.Word] = ["mypy", "--strict", "--python-executable", PYTHON, "--cache-dir", check.work / "mypy"]
    runner: list[proc.Word] = sorted((TOP / FLAT_RUNNER).glob("*.py"))
    check.run([*mypy, *runner], cwd=TOP)
    check.run([*mypy, "-p", "lab"], cwd=TOP, env={"MYPYPATH": FLAT_RUNNER})
    check.run(["flake8", "--max-line-length=120", "lab", *runner], cwd=TOP)


def python_tests(check: Check) -> None:
    """The unit tests of all Python."""
    check.run([PYTHON, "-B", "-m", "pytest", "-q", "--ignore=lab/tests", "lab", FLAT_RUNNER], cwd=TOP)


def problems(check: Check, found: list[str]) -> None:
    """A check whose problems have been found by others."""
    check.say("\n".join(found))
    check.want(not found, f"{len(found)} problems")
