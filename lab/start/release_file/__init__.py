# SPDX-License-Identifier: GPL-2.0-or-later
"""The release file: a tar file that runs where there is no Python, no compiler and no root, and its sources.

It is a tree like this repository with its build folder, of which it has what run, count, freeze and shell need. Its
libraries, C library and Python are those of this machine. Two builds give the same bytes."""

import json
import re
import shutil
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from subprocess import DEVNULL, CalledProcessError

from lab.building import deps, kernel, qemu, tools
from lab.checks import sources
from lab.common import archive, bases, places, proc
from lab.common.places import BUILD, FIRMWARE, GUEST, HOST, TOP
from lab.common.say import Died, say
from lab.common.steps import build_lock, make_dir, need_space, step
from lab.guest import count1, snapshot
from lab.start.release_file import debian

HERE = Path(__file__).parent
WORK = BUILD / "release"
VERSION = (TOP / "VERSION").read_text(encoding="ascii").strip()
NAME = f"vlwp-{VERSION}"
PACKAGE = f"vlwp_{VERSION}_amd64.deb"
LIMIT = 40_000_000  # bytes
COMPRESS = "--use-compress-program=zstd -19 --long=27 --single-thread"
PAGES = ("case-counts.md", "count-1.md", "languages.md", "process.md", "release.md")
STATIC = ("libiberty.a", "libglib-2.0.a", "libpcre2-8.a", "libz.a", "libm.a", "libc.a")  # of what is linked static
# Is in it, too.
BESIDES = ("/usr/share/seabios/bios-256k.bin", *(f"/usr/lib/x86_64-linux-gnu/{name}" for name in STATIC))
LOADER = "ld-linux-x86-64.so.2"
TOOLS = HOST / "guest-tools"
PROGRAMS = (HOST / "lab/guest/vmrun", places.LWPCTL)  # and QEMU: they have the release's libraries
GUESTS = {  # what guests run, with their own libraries or with none
    TOOLS / "lwprun-static": TOOLS / "lwprun", TOOLS / "liblwprun.so": TOOLS / "liblwprun.so",
    places.LINUX_PROGRAMS / "workload": places.LINUX_PROGRAMS / "workload",
    HOST / "lab/guest/tsc-khz": HOST / "lab/guest/tsc-khz",
}
BUILD_ID = "--remove-section=.note.gnu.build-id"  # with what is for debuggers it is of the directory of the build
# What the commands import, with all modules that these load.
IMPORTED = """
import runpy
import sys
sys.path.insert(0, sys.argv[1])
from lab import dispatch
from lab.start import count, freeze, run, shell
print(*sorted({module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)}), sep="\\n")
"""


def _copy(source: Path, to: Path) -> None:
    make_dir(to.parent)
    shutil.copyfile(source, to)
    to.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)


def _strip(source: Path, to: Path, what: str) -> None:
    make_dir(to.parent)
    proc.output(["strip", what, BUILD_ID, "-o", to, source])


def _there(tree: Path, file: Path) -> Path:
    """Where the release has a file of this tree."""
    return tree / "build" / file.relative_to(BUILD) if BUILD in file.parents else tree / file.relative_to(TOP)


def _programs(tree: Path) -> list[Path]:
    """Programs that start with the release's libraries. Result: the files themselves."""
    emulator = places.qemu()
    named = {file: _there(tree, file) for file in PROGRAMS}
    named[emulator] = tree / "build" / bases.of_qemu("qemu") / emulator.name
    for source, to in named.items():
        _strip(source, to.with_name(f"{to.name}.elf"), "--strip-all")
        _copy(HERE / "program.sh", to)
    for source, to in {**GUESTS, places.qemu_user(): BUILD / bases.of_qemu("qemu-user") / "qemu-x86_64"}.items():
        _strip(source, _there(tree, to), "--strip-debug")
    (tree / "lwpctl").symlink_to(_there(tree, places.LWPCTL).relative_to(tree))
    return [*named]


def _guest(tree: Path) -> None:
    """What guests boot from, and count-1."""
    for file in (*(FIRMWARE / name for name in count1.FIRMWARE), GUEST / "vmlinux"):
        _copy(file, _there(tree, file))
    for file in (GUEST / "initramfs").rglob("*"):
        if file.is_file():
            _copy(file, _there(tree, file))
    count1.initrd(_there(tree, GUEST / "initramfs.cpio"), GUEST / "initramfs")
    found = snapshot.ensure()
    place = tree / "build" / snapshot.PLACE.name / found.hash
    make_dir(place)
    for file in (found.memory, found.state):
        proc.output(["cp", "--sparse=always", file, place / file.name])
    (place / snapshot.NOTE).write_text(json.dumps({"hash": found.hash}), encoding="ascii")


def _python(tree: Path) -> list[Path]:
    """Python, as far as the commands need it: what they import, and of its library what lies beside that, for what is
    imported late. Result: files that have libraries."""
    python, library = Path(places.PYTHON).resolve(), Path(sysconfig.get_path("stdlib"))
    _copy(python, tree / "python/bin/python3")
    imported = [Path(name) for name in proc.output([python, "-I", "-S", "-c", IMPORTED, TOP]).splitlines()]
    ours = {file for file in imported if TOP in file.parents}
    for file in {TOP / "lab/__main__.py", *ours}:
        _copy(file, _there(tree, file))
    beside = {other for file in imported if file not in ours for other in file.parent.glob("*.py")}
    for file in {*imported, *beside} - ours:
        _copy(file, tree / "python/lib" / library.name / file.relative_to(library))
    return [python, *(file for file in imported if file.suffix == ".so")]


def _libraries(tree: Path, binaries: Iterable[Path]) -> list[Path]:
    """The libraries of programs, and what loads them. Result: their files here."""
    found = set(re.findall(r"(?:=> |^\t)(/\S+) \(", proc.output(["ldd", *binaries]), re.MULTILINE))
    for name in found:
        _copy(Path(name), tree / "lib" / Path(name).name)
    (tree / "lib" / LOADER).chmod(0o755)
    return [Path(name) for name in sorted(found)]


def _owner(file: Path) -> str:
    """The Debian package that has a file, which may have been there before /lib and /usr/lib were one."""
    for name in (file, file.resolve(), Path("/", *file.resolve().parts[2:])):
        try:
            return proc.output(["dpkg-query", "-S", name], stderr=DEVNULL).partition(": ")[0]
        except CalledProcessError:
            continue
    raise Died(f"{file}: no Debian package has this file: the release could not say where its source is")


def _kernel_source() -> str:
    """The package, NAME=VERSION, with the kernel's source, which is also that of its modules."""
    return f"{bases.linux_base().source}={proc.output(['dpkg-deb', '-f', kernel.package_file(), 'Version']).strip()}"


def _texts(tree: Path, files: Iterable[Path]) -> list[str]:
    """Licences, pages for users, and whose source the release has. Result: the source packages, NAME=VERSION."""
    packages = sorted({_owner(file) for file in files})
    query = ["dpkg-query", "-W", "-f", "${source:Package}=${source:Version}\n", *packages]
    listed = sorted({*proc.output(query).split(), f"qemu={bases.qemu_base().version}"})
    for package in packages:
        _copy(Path("/usr/share/doc", package.partition(":")[0], "copyright"), tree / "copyright" / package)
    for file in (*(TOP / "LICENSES").iterdir(), *(TOP / "docs" / name for name in PAGES)):
        _copy(file, _there(tree, file))
    chosen = {"linux": bases.linux_base().series, "qemu": bases.qemu_base().series}
    text = "".join([
        "[default]\n", *(f'{kind} = "{series}"\n' for kind, series in chosen.items()),
        f'[linux."{chosen["linux"]}"]\nsource = "{bases.linux_base().source}"\n',
        f'[qemu."{chosen["qemu"]}"]\nversion = "{bases.qemu_base().version}"\nsuite = ""\n',
    ])
    (tree / "lab/bases.toml").write_text(text, encoding="ascii")
    (tree / "RELEASE").write_text("\n".join([NAME, _kernel_source(), *listed, ""]), encoding="ascii")
    return listed


def _date() -> str:
    """Of the commit, in seconds since 1970."""
    return proc.output(["git", "-C", TOP, "log", "-1", "--format=%ct"]).strip()


def _tar() -> list[proc.Word]:
    """tar that makes the same bytes of the same files."""
    words: list[proc.Word] = ["tar", "--format=gnu", "--sort=name", f"--mtime=@{_date()}", "--owner=0", "--group=0"]
    return [*words, "--numeric-owner", "--mode=u+rw,go+r-w,a+X", "--sparse", "--hole-detection=raw"]


def pack(tree: Path, to: Path, *more: str) -> None:
    """The same bytes for the same files. more: options of tar."""
    words: list[proc.Word] = [*_tar(), *more, "-C", tree.parent, "-cf", to, tree.name]
    step(f"packing {to.name}", "release-pack", words, about=100 if more else 10)
    say(f"{to}: {to.stat().st_size / 1e6:.1f} MB")


def lay_out(tree: Path) -> list[str]:
    """Write the tree, without building. Result: the source packages of what it has besides this repository."""
    binaries = [*_programs(tree), *_python(tree)]
    _guest(tree)
    files = [*_libraries(tree, binaries), Path(places.PYTHON).resolve(), *map(Path, BESIDES)]
    _copy(HERE / "vlwp.sh", tree / "vlwp")
    return _texts(tree, files)


def _lay_out_sources(tree: Path, packages: Iterable[str]) -> None:
    """This repository, which has the recipe, and Debian's source packages; of the kernel the source and its
    configuration."""
    for name in sources.files():
        _copy(TOP / name, tree / NAME / name)
    archive.add_sources(archive.debian_codename())
    files = [archive.package(_kernel_source()), *(kernel.SYSROOT / "boot").glob("config-*")]
    try:
        files += [file for package in packages for file in archive.source_package(package)]
    except Died as err:
        raise Died(f"{err}: where the archive has a newer one, bring this Debian up to date and begin again") from err
    for file in files:
        _copy(file, tree / file.name)


def write(place: Path) -> None:
    """Build all that it takes. Write the release file into a new folder, beside it the same as a Debian package, and
    their sources."""
    deps.ensure()
    tools.build(everything=False)
    tools.build_static()
    kernel.build()
    qemu.ensure()
    qemu.ensure_user()
    file = place / f"{NAME}.tar.zst"
    with build_lock("release"):
        need_space(3000)
        shutil.rmtree(WORK, ignore_errors=True)
        make_dir(place)
        packages = lay_out(WORK / NAME)
        pack(WORK / NAME, file, COMPRESS)
        if file.stat().st_size > LIMIT:
            raise Died(f"{file}: more than {LIMIT} bytes")
        debian.write(WORK / NAME, VERSION, _date(), _tar(), place / PACKAGE)
        _lay_out_sources(WORK / f"{NAME}-sources", packages)
        pack(WORK / f"{NAME}-sources", place / f"{NAME}-sources.tar")
        shutil.rmtree(WORK)
