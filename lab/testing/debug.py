# SPDX-License-Identifier: GPL-2.0-or-later
"""--gdb: a machine that waits for gdb, and the command that attaches the right one to it."""

import re
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.common import proc
from lab.common.say import say
from lab.guest import vm
from lab.nested import machine

PIE_BASE = 0x555555554000  # where Linux loads a program when it does not randomise

# A command of gdb's own, for a kernel image whose LLWPCB instructions are known.
LLWPCB = """define llwpcb
{breaks}
continue
end
document llwpcb
Run until an LLWPCB instruction is about to execute.
end
"""


def free_port() -> int:
    """A TCP port that nobody uses."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def gdb_stub(port: int) -> list[str]:
    """QEMU's arguments: stopped, with gdb's port."""
    return ["-S", "-gdb", f"tcp:127.0.0.1:{port}"]


def instructions(image: Path, mnemonic: str) -> list[str]:
    """The addresses of an instruction in an image, as objdump disassembles it."""
    text = proc.output(["objdump", "-d", "--no-show-raw-insn", image])
    return re.findall(rf"^\s*([0-9a-f]+):\s+{mnemonic}\b", text, re.MULTILINE)


def announce(script: Path, port: int, lines: Sequence[str], hint: str) -> None:
    """Write the script for gdb and print the command line that uses it."""
    text = "\n".join(["set pagination off", f"target remote 127.0.0.1:{port}", *lines])
    script.write_text(text + "\n", encoding="utf-8")
    say("the machine is stopped; in another terminal:")
    print(f"    {proc.quoted(['gdb', '-x', script])}", file=sys.stderr)
    say(hint)


def flat(command: Sequence[str], image: Path, work: Path) -> int:
    """Start a flat test stopped. Result: the emulator's exit status."""
    port, script = free_port(), work / "gdb-commands"
    breaks = "\n".join(f"tbreak *0x{address}" for address in instructions(image, "llwpcb"))
    lines = [f"file {image}", "set architecture i386:x86-64", LLWPCB.format(breaks=breaks)]
    announce(script, port, lines, "then 'llwpcb' runs to the first LLWPCB; 'break FUNCTION' works as usual")
    return proc.call(proc.with_us([*command, *gdb_stub(port)]))


def linux(guest: machine.Machine, program: Path, run: Path) -> int:
    """Start a program of a Linux guest, whose machine is stopped and has its files in a folder. The guest does not
    randomise addresses, so the program's symbols are known before it is loaded. Result: its exit status."""
    port, script = free_port(), run / "gdb-commands"
    emulator = [*machine.qemu_command(guest, run, "nokaslr norandmaps"), *gdb_stub(port)]
    lines = [f"add-symbol-file {program} -o {PIE_BASE:#x}", "hbreak main"]
    announce(script, port, lines, "'continue' boots the guest and stops in main() of the program")
    command = vm.vmrun(run, emulator, [str(program)], "--no-boot-limit")
    return proc.call(command, env={"VLWP_SHARE": vm.GUEST_SHARE}, as_user=True)
