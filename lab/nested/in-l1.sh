#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# In L1 of the nested lab: load the KVM modules, run a command, show what the kernel complained about.
# in-l1.sh MODULES PARAMETERS COMMAND ARG...: MODULES is the folder of our modules, `stock` for the kernel's own, or
# `none` if KVM is in the kernel itself; PARAMETERS are those of kvm-amd.
# in-l1.sh serve: for each line NUMBER MODULES PARAMETERS of the input do that for $VLWP_SHARE/NUMBER/command, with its
# output in `log` beside it, and print "ended NUMBER STATUS". Modules are loaded again if they or the parameters differ.
set -euo pipefail
PATH=$PATH:/sbin:/usr/sbin

# load MODULES PARAMETERS
load()
{
	case $1 in
	stock)
		# shellcheck disable=SC2086 # words
		modprobe kvm-amd $2
		;;
	none) ;;
	*)
		modprobe irqbypass && modprobe ccp && insmod "$1/kvm.ko" || return 1
		# shellcheck disable=SC2086
		insmod "$1/kvm-amd.ko" $2
		;;
	esac || return 1
	[[ -c /dev/kvm ]] || {
		echo "nested lab: no /dev/kvm in L1: $(dmesg | grep -iE 'kvm|svm' | tail -n 1)"
		return 1
	}
}

# Reports of lockdep, RCU, KASAN and of sleeping where one must not are all WARNINGs or BUGs. A data race that KCSAN
# reports is ours if it names one of our functions.
quiet()
{
	local complaints

	complaints=$(dmesg | grep -E 'BUG:|WARNING:|Oops|general protection|self-detected stall|INFO: .*(stall|blocked)|UBSAN:|refcount_t:' |
		awk '!/KCSAN:/ || /lwp/' || true)
	[[ -z $complaints ]] || {
		printf "nested lab: L1's kernel complains:\n%s\n" "$complaints"
		dmesg | tail -n 60
		return 1
	}
}

serve()
{
	local number modules parameters status loaded='' share=$VLWP_SHARE

	while read -r number modules parameters; do
		export VLWP_SHARE=$share/$number
		{
			status=0
			if [[ $loaded != "$modules $parameters" ]]; then
				[[ ! -d /sys/module/kvm_amd ]] || rmmod kvm_amd kvm || status=1
				loaded=
				((status)) || { load "$modules" "$parameters" && loaded="$modules $parameters"; } || status=1
			fi
			[[ -z $loaded ]] || "$VLWP_SHARE/command" || status=$?
			quiet || status=1
		} >"$VLWP_SHARE/log" 2>&1 </dev/null
		dmesg -C
		echo "ended $number $status"
	done
}

if [[ $1 == serve ]]; then
	serve
	exit
fi
load "$1" "$2"
shift 2
status=0
"$@" || status=$?
quiet || exit 1
exit "$status"
