#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What every host takes for QEMU: the program and the arguments in the lines of the host's /etc/libvirt/emulator.
mapfile -t qemu </etc/libvirt/emulator
exec "${qemu[@]}" "$@"
