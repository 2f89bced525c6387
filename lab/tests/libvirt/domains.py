# SPDX-License-Identifier: GPL-2.0-or-later
"""The XML of the domains: a Linux guest that is profiled, and a small one without a system."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from lab.common import places
from lab.tests.libvirt.hosts import EMULATOR, SMALL

QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
ElementTree.register_namespace("qemu", QEMU)


def _domain(name: str, number: int, memory: int, vcpus: int) -> Element:
    """What both have, without a CPU."""
    domain = Element("domain", type="qemu")
    SubElement(domain, "name").text = name
    SubElement(domain, "uuid").text = f"33333333-0000-4000-8000-00000000000{number}"
    SubElement(domain, "memory", unit="MiB").text = str(memory)
    SubElement(domain, "vcpu").text = str(vcpus)
    system = SubElement(domain, "os")
    SubElement(system, "type", arch="x86_64", machine="q35").text = "hvm"
    features = SubElement(domain, "features")
    SubElement(features, "acpi")
    SubElement(features, "apic")
    devices = SubElement(domain, "devices")
    SubElement(devices, "emulator").text = str(EMULATOR)
    SubElement(devices, "controller", type="usb", model="none")
    SubElement(devices, "memballoon", model="none")
    return domain


def _find(domain: Element, tag: str) -> Element:
    found = domain.find(tag)
    assert found is not None
    return found


def text_of(domain: Element) -> str:
    """The XML as virsh takes it."""
    return ElementTree.tostring(domain, encoding="unicode")


def guest(fragment: str, initrd: Path, output: Path, cmdline: str) -> str:
    """A Linux guest whose CPU is what lwpctl baseline printed; the output of its serial port goes into a file."""
    domain = _domain("guest", 1, 256, 2)
    system = _find(domain, "os")
    SubElement(system, "kernel").text = f"{places.GUEST}/vmlinux"
    SubElement(system, "initrd").text = str(initrd)
    SubElement(system, "cmdline").text = cmdline
    serial = SubElement(_find(domain, "devices"), "serial", type="file")
    SubElement(serial, "source", path=str(output), append="on")
    domain.extend(ElementTree.fromstring(f"<fragment xmlns:qemu='{QEMU}'>{fragment}</fragment>"))
    return text_of(domain)


def small(
    args: Sequence[str] | None = (), *, lwp: str | None = None, check: str = "partial", mode: str = "custom",
    features: Mapping[str, str] | None = None,
) -> Element:
    """A domain without a system: QEMU's arguments; the policy of lwp, by itself "force" where QEMU has arguments, else
    "require"; how libvirt checks the CPU, its mode, and policies of more features."""
    domain = _domain(SMALL, 2, 16, 1)
    if mode == "custom":
        cpu = SubElement(domain, "cpu", mode=mode, match="exact", check=check)
        SubElement(cpu, "model", fallback="forbid").text = "qemu64"
        policies = {"lwp": lwp or ("require" if args is None else "force"), **(features or {}), "xsave": "require"}
        for name, policy in policies.items():
            SubElement(cpu, "feature", policy=policy, name=name)
    else:
        SubElement(domain, "cpu", mode=mode)
    if args is not None:
        commandline = SubElement(domain, f"{{{QEMU}}}commandline")
        for arg in args:
            SubElement(commandline, f"{{{QEMU}}}arg", value=arg)
    return domain


def override(domain: Element, name: str, value: int) -> None:
    """Add an override of a property of the first CPU."""
    place = SubElement(domain, f"{{{QEMU}}}override")
    device = SubElement(place, f"{{{QEMU}}}device", alias="cpu0")
    frontend = SubElement(device, f"{{{QEMU}}}frontend")
    SubElement(frontend, f"{{{QEMU}}}property", name=name, type="unsigned", value=str(value))


def settings(properties: Sequence[str]) -> list[str]:
    """QEMU's arguments for properties of a CPU, NAME=VALUE; a CPU that cannot be so is refused."""
    names = ("enforce=on", *properties)
    return [word for name in names for word in ("-global", f"x86_64-cpu.{name}")]
