# SPDX-License-Identifier: GPL-2.0-or-later
"""Install lwprun, lwpctl, vlwp-probe, lwp.h, man pages and completion into PREFIX. DESTDIR is put in front of it."""

import argparse
import os
import shutil
from pathlib import Path

from lab.building import meson, tools, deps
from lab.common.places import BUILD, TOP
from lab.common.steps import build_lock, step


def installed_list() -> Path:
    """The list of what was installed from this directory with the present DESTDIR."""
    destination = os.environ.get("DESTDIR", "")
    return BUILD / ("installed" + (f"-{destination.replace('/', '-')}" if destination else ""))


def _absolute(text: str) -> str:
    if not text.startswith("/"):
        raise argparse.ArgumentTypeError(f"takes an absolute directory, got '{text}'")
    return text


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prefix", nargs="?", type=_absolute, default="/usr/local", help="default /usr/local")


def main(args: argparse.Namespace) -> None:
    deps.ensure()
    tools.build()
    out = BUILD / "install"
    with build_lock("install"):
        meson.fetch()
        if meson.configured(out):
            command = ["meson", "configure", str(out), f"-Dprefix={args.prefix}"]
        else:
            shutil.rmtree(out, ignore_errors=True)
            command = ["meson", "setup", str(out), str(TOP), f"-Dprefix={args.prefix}", "-Dtests=disabled"]
        step(f"configuring for {args.prefix}", "install-configure", command)
        place = os.environ.get("DESTDIR", "") + args.prefix
        step(f"installing into {place}", "install-tools", ["meson", "install", "-C", str(out)], about=40)
        shutil.copyfile(out / "meson-logs/install-log.txt", installed_list())
