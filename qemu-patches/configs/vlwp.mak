# SPDX-License-Identifier: GPL-2.0-or-later
# The devices of the QEMU that is built here: what a machine needs that runs a test, a profile or another QEMU
# (configure --without-default-devices --with-devices-x86_64=vlwp).

# The only board. It selects the interrupt controllers, the timers, ACPI, the serial port and AHCI.
CONFIG_Q35=y
# A board without HPET is another machine to Linux.
CONFIG_HPET=y
# isa-debug-exit: how the flat test kernel ends.
CONFIG_ISA_DEBUG=y
# pc-testdev: memory of a device that keeps what is written.
CONFIG_ISA_TESTDEV=y
# What each virtio device here is plugged into.
CONFIG_VIRTIO_PCI=y
# The host's files in a guest.
CONFIG_VIRTIO_9P=y
# Input, output and exit status of the command that a guest runs.
CONFIG_VIRTIO_SERIAL=y
# The link between two machines of the nested lab that migrate to each other.
CONFIG_VIRTIO_NET=y
# Guests of libvirt that have a disk, and the ports that libvirt plugs devices of a q35 machine into.
CONFIG_VIRTIO_BLK=y
CONFIG_PCIE_PORT=y
# pvpanic: how the guest of count-1 stops itself.
CONFIG_PVPANIC_ISA=y
