#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In L1 of the nested lab: load the KVM modules, run a command, show what the kernel complained about.
# in-l1.sh MODULES PARAMETERS COMMAND ARG...: MODULES is the folder of our modules, `stock` for the kernel's own, or
# `none` if KVM is in the kernel itself; PARAMETERS are those of kvm-amd
set -euo pipefail

modules=$1 parameters=$2
shift 2
PATH=$PATH:/sbin:/usr/sbin
case $modules in
stock)
	# shellcheck disable=SC2086 # words
	modprobe kvm-amd $parameters
	;;
none) ;;
*)
	modprobe irqbypass
	modprobe ccp
	insmod "$modules/kvm.ko"
	# shellcheck disable=SC2086
	insmod "$modules/kvm-amd.ko" $parameters
	;;
esac
[[ -c /dev/kvm ]] || {
	echo "nested lab: no /dev/kvm in L1: $(dmesg | grep -iE 'kvm|svm' | tail -n 1)"
	exit 1
}
status=0
"$@" || status=$?
# Reports of lockdep, RCU, KASAN and of sleeping where one must not are all WARNINGs or BUGs. A data race that KCSAN
# reports is ours if it names one of our functions.
complaints=$(dmesg | grep -E 'BUG:|WARNING:|Oops|general protection|self-detected stall|INFO: .*(stall|blocked)|UBSAN:|refcount_t:' |
	awk '!/KCSAN:/ || /lwp/' || true)
if [[ $complaints ]]; then
	printf "nested lab: L1's kernel complains:\n%s\n" "$complaints"
	dmesg | tail -n 60
	exit 1
fi
exit "$status"
