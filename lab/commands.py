# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands of ./vlwp. A command is a module with main(args), and add_options(parser) if it has some, or a
name for parts that are such modules. Adding one: a row here and the module."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command, or a part of one."""

    name: str
    summary: str
    module: str = ""
    parts: tuple["Command", ...] = ()
    words: str = ""  # what follows the name in the overview

    def part(self, name: str) -> "Command | None":
        """The part of this name."""
        return next((part for part in self.parts if part.name == name), None)


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
    Command("fuzz", "fuzz each target for 100 minutes", "lab.soaks.by_pytest"),
    Command("prove", "all properties of the core, for all inputs", "lab.soaks.by_pytest"),
    Command("coverage", "branch coverage of vmcb/ and kvm/engine/", "lab.soaks.coverage"),
    Command("mutants", "mutants of the shared code that unit tests must notice", "lab.mutants.unit"),
    Command("mutants-proofs", "the same mutants, that proofs must notice", "lab.mutants.proofs"),
    Command("mutants-tools", "mutants of the tools that their tests must notice", "lab.mutants.tools"),
    Command("mutants-qemu", "mutants of QEMU's glue that tests in guests must notice", "lab.mutants.qemu"),
    Command("mutants-kvm", "mutants of KVM's glue that kvm/tests must notice", "lab.mutants.kvm"),
    Command("kills", "which tests each mutant kills, and which are never alone", "lab.mutants.kills"),
    Command("migrate", "what test migrate does, ten times as much", "lab.soaks.by_pytest"),
    Command("count", "20 programs count the same in 5 runs each", "lab.soaks.by_pytest"),
    Command("results", "programs compute the same under lwprun, 1,000 times", "lab.soaks.results"),
    Command("judged", "profiles of perl, sqlite3, xz, python3, gcc beside callgrind", "lab.soaks.by_pytest"),
    Command("diff", "random programs leave the same records in TCG and KVM", "lab.soaks.by_pytest"),
    Command("places", "the flat tests with their memory in devices and other odd places", "lab.soaks.by_pytest"),
    Command("skid", "the same, and the flat suite, with counters that interrupt late", "lab.soaks.by_pytest"),
    Command("same-twice", "20 programs on count-1 leave the same records, samples, memory", "lab.soaks.by_pytest"),
    Command("rr", "rr replays twenty programs in guests with counters, perf reads IBS", "lab.soaks.by_pytest"),
    Command("flat", "all rows of the flat suite under TCG", "lab.soaks.by_pytest"),
    Command("icount", "all rows of the flat suite under -icount, and replayed", "lab.soaks.by_pytest"),
    Command("flat-kvm", "all rows of the flat suite under KVM", "lab.soaks.by_pytest"),
    Command("pgo", "Lua rebuilt by gcc, clang and BOLT with a profile of a guest", "lab.soaks.by_pytest"),
    Command("hostile", "guests that try to make LWP write where it must not", "lab.soaks.by_pytest"),
    Command("here", "all of test kvm --here, on a machine whose counters are unknown", "lab.soaks.by_pytest"),
    Command("kit", "what a stranger tries, on three machines, and ended by each signal", "lab.soaks.by_pytest"),
    Command("probe", "vlwp-probe finds 200 rows that are planted in the counters", "lab.soaks.by_pytest"),
    Command("kvm-linux", "threads, windows, profiles and 32 bits in Linux guests under KVM", "lab.soaks.by_pytest"),
    Command("kvm-debug", "kvm/tests on kernels with KASAN, with PREEMPT_RT, with KCSAN", "lab.soaks.by_pytest"),
    Command("selftests", "the kernel's KVM selftests, stock modules beside ours", "lab.soaks.by_pytest"),
    Command("qemu", "QEMU's own tests on the patched QEMU", "lab.soaks.by_pytest"),
    Command("kvm-unit-tests", "kvm-unit-tests under TCG, beside unpatched QEMU", "lab.soaks.by_pytest"),
    Command("states", "what one kernel's KVM saves in each mode records under the other's", "lab.soaks.by_pytest"),
    Command("unpatched", "the same translated code as QEMU without LWP, guests and hosts of it", "lab.soaks.by_pytest"),
    Command("libvirt", "the patched libvirt, and that of newer Debian suites", "lab.soaks.by_pytest"),
    Command("builds", "QEMU without TCG, for 32 bits, for programs, by clang, with ASan, TSan", "lab.soaks.by_pytest"),
    Command("bases", "the tests with other kernels and QEMUs, and migration between them", "lab.soaks.by_pytest"),
    Command("series", "the series on Debian's and upstream's sources", "lab.soaks.by_pytest"),
    Command("dkms", "install kvm in fresh Debian systems", "lab.soaks.by_pytest"),
    Command("packages", "the Debian packages, built and installed in fresh systems", "lab.soaks.by_pytest"),
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
    Command("shell", "a shell, or one command, in such a guest", "lab.start.shell", words="[-- COMMAND ARG...]"),
    Command("test", "run the tests; --list names them", "lab.start.test", words="[PART [NAME...]]"),
    Command("deps", "install the Debian packages that are missing", "lab.building.deps"),
    Command("build", "build what is out of date", "lab.start.build", words="[PART]"),
    Command("install", "install the tools, KVM's modules, or the suite", parts=INSTALL),
    Command("uninstall", "remove them", parts=UNINSTALL),
    Command("patch", "edit patches as commits: edit, save, rebase", parts=PATCH),
    Command("export", "write the patch series", "lab.series.export", words="DIR"),
    Command("package", "build the Debian packages", "lab.start.package", words="DIR"),
    Command("bench", "measure speed and cost", parts=BENCHES),
    Command("soak", "tests that take hours", parts=SOAKS),
    Command("release", "run what must pass before a release", "lab.start.release"),
)


def find(name: str) -> Command | None:
    """The command of this name."""
    return next((command for command in COMMANDS if command.name == name), None)
