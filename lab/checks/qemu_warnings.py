# SPDX-License-Identifier: GPL-2.0-or-later
"""What gcc says of QEMU's part of LWP, and of the files of target/i386 that the patches change, for a host of 32 bits.

The flags are those of a configured QEMU, so nothing is linked or installed."""

import json
import os
import re
import subprocess
from pathlib import Path

from lab.common.beside import refused
from lab.common import steps

# Sources of ours, and upstream's that the patches change, as they stand in compile_commands.json. The *.c.inc files of
# both are compiled with tcg/translate.c.
OURS = re.compile(
    r"/subprojects/lwpcore/|/target/i386/(lwp|pmu)/"
    r"|/target/i386/(cpu|helper|machine)\.c$"
    r"|/target/i386/kvm/kvm(-cpu)?\.c$"
    r"|/target/i386/tcg/(translate|access|excp_helper|fpu_helper|misc_helper|tcg-cpu|seg_helper)\.c$"
    r"|/target/i386/tcg/system/\w+\.c$"
    r"|/hw/intc/apic(_common)?\.c$"
    r"|/hw/timer/i8254\w*\.c$"
)

TARGETS = re.compile(r"(lib(common|qemu-x86_64-softmmu)|.*/lwpcore)\.a\.p/")

# The driver's share of a command line of ninja's: outputs, and precompiled headers, which are one compiler's.
WITH_VALUE = ("-o", "-MF", "-MQ")
ALONE = ("-c", "-MD", "-Winvalid-pch", "-fpch-deps")  # gcc 12 dies of -fpch-deps without -MD


# What ties a command line to a host of 64 bits.
BITS_64 = ("-m64", "-mcx16", "-msse2")


def command(entry: dict[str, str]) -> list[str]:
    """gcc's command line that only reads the source and takes a warning for an error."""
    words, result = iter(steps.arguments(entry["command"])), ["gcc"]
    for word in words:
        if word in WITH_VALUE:
            next(words)
        elif word not in ALONE:
            result.append(word)
    # It finds some mistakes only when it optimises.
    return [*result, "-Werror", "-S", "-o", os.devnull]


def command_32(entry: dict[str, str], headers: Path) -> list[str]:
    """gcc's command line for a host of 32 bits, with the headers that configured_32() has made. GLib's are those of a
    host of 64 bits, so warnings say nothing."""
    words = [word for word in command(entry) if word not in BITS_64]
    multiarch = subprocess.run(["gcc", "-print-multiarch"], text=True, capture_output=True, check=True).stdout.strip()
    system = ["-isystem", f"/usr/include/{multiarch}"]  # after QEMU's own headers of Linux
    return [words[0], "-iquote", str(headers), *words[1:], *system, "-m32", "-Wno-error"]


def configured_32(build: Path, headers: Path) -> None:
    """What configure would have found on a host of 32 bits: it has no integers of 128."""
    lines = (build / "config-host.h").read_text().splitlines(keepends=True)
    text = "".join(line for line in lines if not re.search("INT128|ATOMIC128|CMPXCHG128", line))
    (headers / "config-host.h").write_text(text)


def problems_32(build: Path, headers: Path) -> list[str]:
    """What it says for a host of 32 bits, one string for each source that it refuses. Generated headers of the build
    must be there; headers is a directory of the caller's."""
    configured_32(build, headers)
    commands = json.loads((build / "compile_commands.json").read_text())
    entries = [
        entry
        for entry in commands
        if OURS.search(entry["file"]) and TARGETS.match(entry["output"])
    ]

    if not any("/lwp/" in entry["file"] for entry in entries):
        return [f"{build}: no source of LWP is compiled here"]
    return refused((command_32(entry, headers), Path(entry["directory"])) for entry in entries)
