# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What ./vlwp says to bad input: one clear line, and the right exit status. Sourced by test-unit.

# refuses STATUS TEXT ARG...: ./vlwp ARG... ends with STATUS and its only line contains TEXT
refuses()
{
	local want=$1 text=$2 status=0 out
	shift 2

	out=$("$TOP/vlwp" "$@" 2>&1 </dev/null) || status=$?
	echo "status $status: $out"
	((status == want)) && [[ $out == *"$text"* && $out != *$'\n'* ]]
}

# refuses_with VARIABLE=VALUE STATUS TEXT ARG...: the same with something in the environment
refuses_with()
{
	local setting=$1
	shift
	(
		export "${setting?}"
		refuses "$@"
	)
}

# without_network: deps and the archive when nothing can be reached, in a network namespace without
# interfaces; the missing package does not exist, so that deps has something to install
build_without_network()
{
	local dir out status=0

	dir=$(mktemp -d)
	out=$(VLWP_BUILD_DIR=$dir unshare -rn "$TOP/vlwp" build qemu 2>&1) || status=$?
	rm -rf "$dir"
	echo "status $status: $out"
	((status == 1)) && [[ $out == *"check the network"* ]]
}

# full_disk: a build directory on a file system without room
full_disk()
{
	local out status=0

	out=$(unshare -rm bash -c 'mount -t tmpfs -o size=1M none /mnt && VLWP_BUILD_DIR=/mnt "$0" build qemu' \
		"$TOP/vlwp" 2>&1) || status=$?
	echo "status $status: $out"
	((status == 1)) && [[ $out == *"this step needs"* && $out != *$'\n'* ]]
}

nothing_missing_is_quick()
{
	local start=${EPOCHREALTIME//[^0-9]/} end

	"$TOP/vlwp" deps || return 1
	end=${EPOCHREALTIME//[^0-9]/}
	echo "$((end - start)) us"
	((end - start < 1000000))
}

check "cli: an unknown command" refuses 2 "no command 'frobnicate'" frobnicate
check "cli: deps with an argument" refuses 2 "takes no argument" deps now
check "cli: an unknown part of build" refuses 2 "no part 'linux'" build linux
check "cli: two parts of build" refuses 2 "takes one name" build qemu guest
check "cli: an unknown part of test" refuses 2 "no part 'nothing'" test nothing
check "cli: a skid that is none" refuses 2 "the skid is a number" bench kvm --exits soon
check "cli: an unknown option of run" refuses 2 "no option '--frob'" run --frob
check "cli: a program without --" refuses 2 "goes after --" run /bin/true
check "cli: nothing after --" refuses 2 "no command after --" shell --
check "cli: an unknown accelerator" refuses 2 "--accel=tcg or --accel=kvm" shell --accel=xen
check "cli: no processors" refuses 2 "number of processors" shell --smp=0
check "cli: too little memory" refuses 2 "memory is 256" shell --memory=1
check "cli: a build directory that cannot be" \
	refuses_with VLWP_BUILD_DIR=/proc/nowhere 1 "cannot create a directory" build qemu
check "cli: a tarball that is not there" \
	refuses_with VLWP_QEMU_TARBALL=/nowhere/qemu-10.0.1.tar.xz 1 "cannot read this tarball" build qemu
check "cli: an emulator that is not there" \
	refuses_with VLWP_QEMU=/nowhere/qemu 1 "no program there" shell -- true
check "cli: deps is quick when nothing is missing" nothing_missing_is_quick
if unshare -rn true 2>/dev/null; then
	check "cli: a build without network" build_without_network
	check "cli: a full disk" full_disk
else
	skipped "cli: no network, full disk: this machine allows no user namespaces"
fi
