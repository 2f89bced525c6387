# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of ./vlwp. A command is a module with main(args), and add_options(parser) if it has some, or a
name for parts that are such modules. Adding one: a row here and the module; a soak of tests has lab/soaks/by_pytest.py
for its module."""

from dataclasses import dataclass
from typing import Any

from lab.common.places import RELEASE

ALL = "soak or not soak"


@dataclass(frozen=True)
class Tests:
    """Tests of a part. fits: an expression for -k; marked: one for -m; scale: how many times as much as in the test."""

    part: str
    fits: str
    marked: str = "soak"
    scale: int = 1
    resumes: bool = False  # each test keeps its result in lab/results
    parted: bool = False  # it takes --part
    at_once: bool = False  # tests of the part "soak" that do not take the whole machine


@dataclass(frozen=True)
class Command:
    """A command, or a part of one."""

    name: str
    summary: str
    module: str = ""
    parts: tuple["Command", ...] = ()
    words: str = ""  # what follows the name in the overview
    tests: Tests | None = None  # of a soak

    def part(self, name: str) -> "Command | None":
        """The part of this name."""
        return next((part for part in self.parts if part.name == name), None)


def _soak(
    name: str, summary: str, part: str = "soak", fits: str | None = None, *more: Any, **named: Any
) -> Command:
    """A soak that pytest runs; without fits the tests of the file of its name."""
    file = f"test_{name.replace('-', '_')}.py"
    tests = Tests(part, file if fits is None else fits, *more, **named)
    return Command(name, summary, "lab.soaks.by_pytest", tests=tests)


BENCHES = (
    Command("tcg", "what LWP costs under TCG, beside unpatched QEMU", "lab.benches.tcg"),
    Command("kvm", "what a record costs under KVM, in the nested lab", "lab.benches.kvm"),
    Command("engine", "what counting and storing cost in the engine, in ns", "lab.benches.core"),
    Command("contexts", "what a switch of contexts costs, against their number, in ns", "lab.benches.core"),
    Command("count", "exact counts and their time, beside callgrind", "lab.benches.count"),
    Command("fleet", "lwpctl merge of 1,000 profiles, lwpctl baseline over 100,000 hosts", "lab.benches.fleet"),
    Command("migrate", "downtime and total time of a live migration", "lab.benches.migrate"),
)

SOAKS = (
    Command("fresh", "run and test on a minimal Debian, as root and as a user", "lab.soaks.fresh"),
    _soak("fuzz", "fuzz each target for 100 minutes", "unit", "test_fuzz", ALL, 6000),
    _soak("prove", "all properties of the core, for all inputs", "prove", "", ALL, resumes=True),
    Command("coverage", "branch coverage of vmcb/ and kvm/engine/", "lab.soaks.coverage"),
    Command("mutants", "mutants of the shared code that unit tests must notice", "lab.mutants.unit"),
    Command("mutants-proofs", "the same mutants, that proofs must notice", "lab.mutants.proofs"),
    Command("mutants-tools", "mutants of the tools that their tests must notice", "lab.mutants.tools"),
    Command("mutants-qemu", "mutants of QEMU's glue that tests in guests must notice", "lab.mutants.qemu"),
    Command("mutants-kvm", "mutants of KVM's glue that kvm/tests must notice", "lab.mutants.kvm"),
    Command("kills", "which tests each mutant kills, and which are never alone", "lab.mutants.kills"),
    _soak("migrate", "what test migrate does, ten times as much", "migrate", "", ALL, 10),
    _soak("same", "60 programs count the same in 5 unlike runs each", resumes=True),
    _soak("stepped", "count counts what ptrace steps: 20 programs, 62 kinds of code", "linux", "test_stepped", ALL, 62),
    Command("results", "programs compute the same under lwprun, 1,000 times", "lab.soaks.results"),
    _soak("judged", "profiles of perl, sqlite3, xz, python3, gcc beside callgrind", "linux", marked=ALL),
    _soak("diff", "random programs leave the same records in TCG, KVM and a process",
          "kvm", "test_diff and not late and not skid", ALL, 40),
    _soak("places", "the flat tests with their memory in devices and other odd places", "flat", "test_place"),
    _soak("skid", "the same, and the flat suite, with counters that interrupt late",
          "kvm", "skid and not late", scale=40),
    _soak("same-twice", "20 programs on count-1 leave the same records, samples, memory", resumes=True),
    _soak("rr", "rr replays twenty programs in guests with counters, perf reads IBS", "linux", "test_rr or test_ibs"),
    _soak("flat", "all rows of the flat suite under TCG", "flat", "test_row", ALL),
    _soak("goto", "count-1 comes again to 100 samples of user code, a JIT, the kernel", "linux",
          "test_goto_samples or test_goto_reverse", marked=ALL, scale=25),
    _soak("icount", "all rows of the flat suite under -icount, and replayed", "flat", "test_counted or test_replayed"),
    _soak("flat-kvm", "all rows of the flat suite under KVM",
          "kvm", "conformance or test_flat and not test_flat_counted and not test_flat_skid", ALL),
    _soak("pgo", "programs and Linux rebuilt with profiles of guests", "linux",
          "test_pgo or test_kernel_pgo", resumes=True),
    _soak("net", "100,000 nets of breakpoints over programs that run", "unit", "test_net_walk", ALL, scale=10),
    _soak("hostile", "guests that try to make LWP write where it must not", "kvm", "test_hostile", scale=10),
    _soak("here", "all of test kvm --here, on a machine whose counters are unknown", "kvm", "test_here_whole"),
    _soak("kit", "what a stranger tries, on three machines, and ended by each signal", "kvm"),
    _soak("probe", "vlwp-probe finds 200 rows that are planted in the counters", "kvm", "test_planted"),
    _soak("kvm-linux", "threads, windows, profiles and 32 bits in Linux guests under KVM",
          "kvm", "TestGuest or test_i386"),
    _soak("kvm-debug", "kvm/tests on kernels with KASAN, with PREEMPT_RT, with KCSAN"),
    _soak("selftests", "the kernel's KVM selftests, stock modules beside ours"),
    _soak("qemu", "QEMU's own tests on the patched QEMU"),
    _soak("suites", "other people's suites that use counters, and on Debian's QEMU", resumes=True, parted=True),
    _soak("kvm-unit-tests", "kvm-unit-tests under TCG, beside unpatched QEMU", at_once=True),
    _soak("states", "what one kernel's KVM saves in each mode records under the other's",
          "kvm", "test_states_across_kernels"),
    _soak("unpatched", "the same translated code as QEMU without LWP, guests and hosts of it",
          "unpatched", "", "unpatched"),
    _soak("libvirt", "the patched libvirt, and that of newer Debian suites"),
    _soak("managers", "managers start, move and refuse guests with LWP, in fresh Debian systems", fits="test_managers"),
    _soak("builds", "QEMU without TCG, for 32 bits, for programs, by clang, with ASan, TSan"),
    _soak("bases", "the tests with other kernels and QEMUs, and migration between them"),
    _soak("series", "the series on Debian's and upstream's sources"),
    _soak("dkms", "install kvm in fresh Debian systems"),
    _soak("release", "the release file as three users of bare Debian systems, and built twice"),
    _soak("packages", "the Debian packages, built and installed in fresh systems"),
)

INSTALL = (
    Command("tools", "lwprun, lwpctl, lwp.h, man pages, completion", "lab.start.install_tools"),
    Command("kvm", "KVM's modules, through DKMS", "lab.start.install_kvm"),
    Command("conformance", "the conformance suite, for another machine", "lab.start.install_conformance"),
)

UNINSTALL = (
    Command("tools", "what the last 'install tools' put there", "lab.start.uninstall_tools"),
    Command("kvm", "the modules; the kernel's own are used again", "lab.start.uninstall_kvm"),
)

PATCH = (
    Command("edit", "a git repository with a commit for each patch", "lab.patch.edit"),
    Command("save", "write it back to the patch files", "lab.patch.save"),
    Command("rebase", "move the patches to another release", "lab.patch.rebase"),
)

COMMANDS = (
    Command("run", "profile PROGRAM in a guest that has LWP", "lab.start.run", words="[-- PROGRAM ARG...]"),
    Command("count", "count what PROGRAM executes, exactly", "lab.start.count", words="-- PROGRAM ARG..."),
    Command("freeze", "keep a program and its files in one file", "lab.start.freeze", words="-o FILE -- PROGRAM"),
    Command("goto", "run to a sample's instruction, and open gdb there", "lab.start.goto",
            words="PROFILE [SAMPLE]"),
    Command("shell", "a shell, or one command, in such a guest", "lab.start.shell", words="[-- COMMAND ARG...]"),
    Command("test", "run the tests; --list names them", "lab.start.test", words="[PART [NAME...]]"),
    Command("deps", "install the Debian packages that are missing", "lab.building.deps"),
    Command("build", "build what is out of date", "lab.start.build", words="[PART]"),
    Command("install", "install the tools, KVM's modules, or the suite", parts=INSTALL),
    Command("uninstall", "remove them", parts=UNINSTALL),
    Command("patch", "edit patches as commits: edit, save, rebase", parts=PATCH),
    Command("export", "write the patch series", "lab.series.export", words="DIR"),
    Command("package", "build the Debian packages", "lab.start.package", words="DIR"),
    Command("answers", "add a processor's answers to the open questions", "lab.start.answers", words="FILE"),
    Command("bench", "measure speed and cost", parts=BENCHES),
    Command("soak", "tests that take hours", parts=SOAKS),
    Command("release", "run what must pass before a release", "lab.start.release"),
)


RELEASED = ("run", "count", "freeze", "shell")  # what needs no source tree
OFFERED = tuple(command for command in COMMANDS if not RELEASE or command.name in RELEASED)


def find(name: str) -> Command | None:
    """The command of this name."""
    return next((command for command in OFFERED if command.name == name), None)
