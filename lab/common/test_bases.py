# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the choice among the bases."""

import os
import re
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from lab.building import dkms, linux
from lab.common import bases
from lab.common.say import Died, Usage
from lab.tests.soak.test_bases import combinations


def _runs(codename: str, release: str) -> "mock._patch[mock.Mock]":
    """This machine's Debian and its kernel, pretended."""
    return mock.patch.object(bases, "running_kernel", return_value=(codename, release))


# A second QEMU that is not there.
ANOTHER = mock.patch.dict(bases._read()["qemu"], {"10.9": {"version": "1:10.9.1+ds-1", "suite": "sid"}})


class Choice(unittest.TestCase):
    """--base and what it leaves open."""

    def setUp(self) -> None:
        """On Debian 13 the running kernel makes a difference."""
        self.enterContext(_runs("bookworm", "6.1.0-56-amd64"))

    def test_running_kernel(self) -> None:
        """On Debian 13 the default is the kernel that is running, if it is one of the bases; --base is stronger."""
        for codename, release, wanted in (
            ("trixie", "7.3.4+deb13-amd64", "7.3"),
            ("trixie", "6.12.90+deb13-amd64", "6.12"),
            ("trixie", "7.30.1+deb13-amd64", "6.12"),
            ("bookworm", "7.3.4+deb13-amd64", "6.12"),
        ):
            with self.subTest(release), _runs(codename, release), mock.patch.dict(os.environ):
                os.environ.pop(bases.CHOICE, None)
                self.assertEqual(bases.linux_base().series, wanted)
                self.assertEqual(bases.default_pair(), f"linux-{wanted},qemu-10.0")
                self.assertEqual(bases.of_linux("kvm"), "kvm" if wanted == "6.12" else f"kvm-{wanted}")
                os.environ[bases.CHOICE] = "linux-6.12"
                self.assertEqual(bases.linux_base().series, "6.12")

    def test_dkms(self) -> None:
        """DKMS's package is for the kernels of all bases; it derives the source's name from the kernel's."""
        with tempfile.TemporaryDirectory() as work:
            dkms.write_package(Path(work))
            conf, prepare = ((Path(work) / name).read_text(encoding="utf-8") for name in ("dkms.conf", "prepare"))
            for base in bases.linux_bases():
                self.assertEqual(base.source, f"linux-source-{base.series}")
                patches = Path(work) / "kvm/patches" / base.series
                self.assertTrue((patches / "lwp_compat.h").is_file())
                texts = {file.name: file.read_text("utf-8") for file in patches.glob("*.patch")}
                self.assertEqual(texts, linux.folders(base.series)[0].texts())
        pattern = r"^(6\.12|7\.3)\."
        self.assertIn(f'BUILD_EXCLUSIVE_KERNEL="{pattern}"', conf)
        self.assertIn(f"[[ $kernel =~ {pattern} ]] || die", prepare)
        self.assertFalse(re.findall("@[A-Z]+@", conf + prepare))

    def test_base_for(self) -> None:
        """It takes the base of the kernel, whatever --base says, and names the bases if there is none."""
        with mock.patch.dict(os.environ, {bases.CHOICE: "linux-6.12"}):
            self.assertEqual(bases.base_for("7.3.4+deb13-amd64").source, "linux-source-7.3")
            self.assertEqual(bases.base_for("6.12.90+deb13-amd64").source, "linux-source-6.12")
            for kernel in ("6.1.0-56-amd64", "7.4.1+deb13-amd64"):
                with self.assertRaisesRegex(Died, f"kernel {kernel[0]}.*Debian's 6.12 and 7.3 kernels"):
                    bases.base_for(kernel)

    def test_default(self) -> None:
        """Without a choice directories have no suffix."""
        with mock.patch.dict(os.environ):
            os.environ.pop(bases.CHOICE, None)
            self.assertEqual(bases.qemu_base().series, bases.default("qemu"))
            self.assertEqual(bases.of_qemu("qemu"), "qemu")

    def test_qemu_alone(self) -> None:
        """The kernel stays the default one."""
        with ANOTHER, mock.patch.dict(os.environ, {bases.CHOICE: "qemu-10.9"}):
            self.assertEqual(bases.qemu_base().version, "1:10.9.1+ds-1")
            self.assertEqual(bases.linux_base().series, "6.12")
            self.assertEqual(bases.of_qemu("qemu-base"), "qemu-base-10.9")
            self.assertEqual(bases.of_qemu("qemu", "10.0"), "qemu")

    def test_refused(self) -> None:
        """What is not there, and two of a kind."""
        for text in ("qemu-9", "", "10.0", "qemu-10.0,", "qemu-10.0,qemu-10.9", "linux-6.12,linux-7.3"):
            with self.subTest(text), ANOTHER, self.assertRaises(Usage):
                bases.check(text)

    def test_combinations(self) -> None:
        """The default one is not tried again."""
        wanted = ["linux-6.12,qemu-10.9", "linux-7.3,qemu-10.0", "linux-7.3,qemu-10.9"]
        with ANOTHER:
            self.assertEqual(combinations(), wanted)

    def test_words(self) -> None:
        """The command line chooses, but not after "--"; a wrong choice is left to the command to refuse."""
        for words, wanted in (
            (["test", "kvm", "--base=linux-7.3"], "7.3"),
            (["run", "--base", "qemu-10.0,linux-7.3"], "7.3"),
            (["run", "--", "--base=linux-7.3"], "6.12"),
            (["run", "--base=linux-9"], "6.12"),
        ):
            with self.subTest(words), mock.patch.dict(os.environ):
                os.environ.pop(bases.CHOICE, None)
                bases.choose(words)
                self.assertEqual(bases.linux_base().series, wanted)
        self.assertEqual(bases.WRONG, ["linux-9"])
        bases.WRONG.clear()
