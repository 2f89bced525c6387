#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In a fresh Debian with the packages: run /home/domain.xml under a user's libvirt, and see in its serial port that all
# points of the test pass. The guest ends by itself.
set -euo pipefail

log=/home/tester/serial.log
useradd --create-home tester
as_tester=(setpriv --reuid=tester --regid=tester --init-groups env HOME=/home/tester)
virsh=("${as_tester[@]}" virsh -c qemu:///session)
"${virsh[@]}" create /home/domain.xml
for ((i = 0; i < 120; i++)); do
	[[ $("${virsh[@]}" list --name) ]] || break
	sleep 0.5
done
cat "$log" /home/tester/.cache/libvirt/qemu/log/flat.log
grep -q '^1\.\.' "$log"
grep -q '^ok 1 ' "$log"
! grep '^not ok' "$log"
