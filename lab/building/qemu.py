# SPDX-License-Identifier: GPL-2.0-or-later
"""QEMU from Debian's source package, in eight flavours: "vlwp", with the sources and hooks of LWP; "base",
without; "full", patched and with all devices, for QEMU's own tests; "package", the same with what a host's users
want besides; "mutants", the patched one once more, for `soak mutants-qemu` to spoil; "cet", the patched one with
shadow stacks, for the nested lab; "user", the patched emulator of programs,
and "user-mutants", that for the same soak."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import IO

from lab.building import meson, qemu_pch, qemu_share, qemu_tree
from lab.common import archive, bases, proc
from lab.common.places import BUILD, FIRMWARE, PYTHON, SRC, TOP
from lab.common.say import Died
from lab.common.steps import build_lock, fresh, hash_of, jobs_count, make_dir, need_space, stamp, step

# The system emulator for x86-64 with the devices of qemu-patches/configs/vlwp.mak, and nothing that is not used here.
# The trace points of 9p say which files a program needs (lab/guest/count1.py).
CONFIGURE = (
    "--target-list=x86_64-softmmu --without-default-features --enable-system --disable-user --enable-tcg --enable-kvm "
    "--enable-plugins --enable-attr --enable-virtfs --enable-slirp --enable-trace-backends=log --enable-werror "
    "--disable-docs --disable-tools --disable-guest-agent --disable-rust --disable-download --disable-install-blobs "
    "--without-default-devices --with-devices-x86_64=vlwp"
).split()
FEW_DEVICES = CONFIGURE[-2:]
# What a package has besides: what libvirt asks of an emulator, fast disks, a remote display.
FOR_A_PACKAGE = (
    "--enable-seccomp --enable-linux-aio --enable-numa --enable-vnc --enable-vhost-net "
    "--enable-pixman --enable-vhost-user --enable-tpm --enable-zstd"
).split()
# What these need besides the packages of './vlwp deps'.
DEPENDS = ("libaio-dev", "libnuma-dev", "libpixman-1-dev", "libseccomp-dev", "libzstd-dev")

USER = ("user", "user-mutants")
# Static: the program's LD_PRELOAD and tunables of glibc would act on a dynamic one, too.
FOR_PROGRAMS = (
    "--target-list=x86_64-linux-user --without-default-features --enable-user --disable-system --enable-tcg "
    "--enable-attr --enable-werror --disable-docs --disable-tools --disable-guest-agent --disable-rust "
    "--disable-download --disable-install-blobs --static"
).split()

ROMS = "pc-bios/optionrom"  # in the build directory


def out_dir(flavour: str) -> Path:
    """The build directory of a flavour."""
    return BUILD / bases.of_qemu("qemu" if flavour == "vlwp" else f"qemu-{flavour}")


def tree_dir(flavour: str) -> Path:
    """The patched source of a flavour."""
    return SRC / bases.of_qemu(f"qemu-{flavour}")


def program(flavour: str) -> Path:
    """The emulator of a flavour."""
    return out_dir(flavour) / ("qemu-x86_64" if flavour in USER else "qemu-system-x86_64")


def _configure(flavour: str, tree: Path, out: Path) -> list[str]:
    make_dir(out)
    debug = [] if os.environ.get("VLWP_QEMU_DEBUG") else ["--disable-debug-info"]
    if flavour in USER:
        words = [word for word in FOR_PROGRAMS if flavour == "user" or word != "--enable-werror"]
        return [str(tree / "configure"), "--cc=gcc", f"--python={PYTHON}", *debug, *words]
    options = [word for word in CONFIGURE if flavour not in ("full", "package") or word not in FEW_DEVICES]
    if flavour == "package":
        options += FOR_A_PACKAGE
    trees = [tree_dir(name).name for name in qemu_share.FLAVOURS]
    flags = f"--extra-cflags={qemu_pch.FLAGS} {qemu_share.flags(SRC, trees)}"
    # A mutant may leave something unused; newer compilers and C libraries find more.
    if flavour.endswith("mutants") or not archive.is_debian():
        options.append("--disable-werror")
    return [str(tree / "configure"), "--cc=gcc", f"--python={PYTHON}", flags, *debug, *options]


def _compile(flavour: str, tree: Path, out: Path) -> None:
    """Compile what no other flavour has compiled yet. Not through ccache, which takes no precompiled headers: what it
    has never seen took three times as long."""
    ninja = ["ninja", "-C", str(out), "-j", str(jobs_count())]
    path = os.environ["PATH"]
    if flavour not in USER:
        proc.output([*ninja, "config-poison.h"])
        qemu_pch.refresh(out, tree)
    if flavour not in ("vlwp", *USER) and out_dir("vlwp").is_dir():
        # Not while it changes.
        with build_lock(tree_dir("vlwp").name):
            found = qemu_share.prepare((out_dir("vlwp"), tree_dir("vlwp")), (out, tree))
        path = f"{found}:{path}" if found else path
    command = ["env", f"PATH={path}", "nice", "-n", "10", *ninja, program(flavour).name]
    step(f"compiling QEMU ({bases.of_qemu(flavour)})", f"{tree.name}-compile", command, about=100)


def _firmware(tree: Path, out: Path, log: IO[str]) -> None:
    """SeaBIOS and iPXE from their packages, option ROMs from the build."""
    roms = out / ROMS
    if not (roms / "config.mak").is_file():
        raise Died("the option ROMs need the 32-bit libgcc: run './vlwp deps'")
    if proc.logged(["make", "-C", roms], log):
        raise Died("the option ROMs do not build")
    make_dir(FIRMWARE)
    # An upstream tarball has firmware, too.
    files = [*(tree / "pc-bios").glob("*.bin"), *roms.glob("*.bin"), *Path("/usr/share/seabios").glob("*.bin")]
    for place in ("/usr/lib/ipxe/qemu", "/usr/share/qemu"):  # Debian 12, Debian 13
        files += Path(place).glob("*.rom")
    for file in files:
        shutil.copy(file, FIRMWARE)


def bundle_firmware(out: Path) -> None:
    """QEMU's own tests look for firmware where an installed QEMU would have it, below the build directory."""
    bundle = out / "qemu-bundle/usr/local/share/qemu"
    make_dir(bundle)
    for file in FIRMWARE.iterdir():
        link = bundle / file.name
        link.unlink(missing_ok=True)
        link.symlink_to(file)


def ensure() -> None:
    """There is an emulator with LWP: the user's own (VLWP_QEMU), or ours, up to date."""
    if not os.environ.get("VLWP_QEMU"):
        build()


def ensure_user() -> None:
    """The same for the emulator of programs (VLWP_QEMU_USER)."""
    if not os.environ.get("VLWP_QEMU_USER"):
        build("user")


def build(flavour: str = "vlwp") -> None:
    """Build a flavour of QEMU, if it is out of date."""
    qemu_tree.check_given()
    out = out_dir(flavour)
    inputs = [f"lab/building/{name}.py" for name in ("qemu", "qemu_tree", "qemu_pch", "qemu_share", "patches")]
    inputs += ["lab/bases.toml", "qemu-patches/packaging", "qemu-patches/configs"]
    own = qemu_tree.own()
    inputs += [str((own / qemu_tree.PACKAGING).relative_to(TOP))] if own else []
    if flavour != "base":
        inputs += ["vmcb", "kvm/engine", "qemu-patches"]
    tree, name = tree_dir(flavour), bases.of_qemu(flavour)
    with build_lock(tree.name):
        key = f"{hash_of(*inputs)} {os.environ.get('VLWP_QEMU_TARBALL', '')}"
        key += " debug" if os.environ.get("VLWP_QEMU_DEBUG") else ""
        if fresh(tree.name, key) and program(flavour).is_file():
            return
        need_space(2500)
        meson.fetch()
        pristine = qemu_tree.fetch()
        qemu_tree.sync(flavour, pristine, tree)
        configured = hashlib.sha256(f"{pristine}\n{_configure(flavour, tree, out)}".encode()).hexdigest()
        if not fresh(f"configure-{name}", configured) or not meson.configured(out):
            command = _configure(flavour, tree, out)
            step(f"configuring QEMU ({name})", f"{tree.name}-configure", command, about=25, cwd=out)
            stamp(f"configure-{name}", configured)
        _compile(flavour, tree, out)
        if flavour not in USER:
            step("building option ROMs", f"{tree.name}-firmware", lambda log: _firmware(tree, out, log))
        stamp(tree.name, key)
