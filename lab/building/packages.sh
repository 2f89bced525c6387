# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What has to be installed, for deps.sh.

# to_run CODENAME: what fetching, building and running a guest need
to_run()
{
	local gcc=14

	if [[ $1 == bookworm ]]; then
		gcc=12
	else
		echo meson python3-pycotap
	fi
	# fetch and unpack
	echo ca-certificates patch cpio kmod xz-utils zstd
	# compilers; the 32-bit libraries are for QEMU's option ROMs and for 32-bit tests
	echo gcc libc6-dev "lib32gcc-$gcc-dev" libc6-dev-i386 make ninja-build pkg-config
	echo python3 python3-pip python3-setuptools python3-venv python3-wheel
	# QEMU and its firmware
	echo libglib2.0-dev libfdt-dev zlib1g-dev libattr1-dev libcap-ng-dev libslirp-dev seabios
	# the recording and the report
	echo libdw-dev libelf-dev libjson-c-dev libiberty-dev libcapstone-dev libprotobuf-c-dev protobuf-c-compiler uthash-dev
	echo libmicrohttpd-dev libxml2-dev
}

# to_test: what everything else needs besides: the nested lab, packages, series
to_test()
{
	echo git g++
	# kbuild's programs, for headers of a newer Debian's kernel
	echo bison flex bc libssl-dev
	echo ipxe-qemu ovmf
	# two libvirts for the test of migration (no service is started)
	echo libvirt-clients libvirt-daemon libvirt-daemon-driver-qemu
	# the image from which the conformance suite boots, and emulators without LWP that boot it
	echo bochs bochs-term bochsbios grub-common grub-efi-amd64-bin grub-pc-bin mtools qemu-system-x86 vgabios xorriso
	# tests, and the programs that they profile
	echo libcriterion-dev clang clang-format libclang-rt-dev llvm binutils gdb perl procps rr
	echo default-jdk-headless luajit nodejs
	# what reads profiles in the formats of others
	echo linux-perf valgrind protobuf-compiler autofdo
	# what decodes instructions beside LWP's decoder
	echo python3-capstone
	# the kernel's selftest; what the series are checked with
	echo uuid-dev sparse python3-sphinx python3-yaml
	# what the lab itself is checked with
	echo shellcheck mypy flake8 universal-ctags
	# what runs the tests
	echo python3-pytest python3-pytest-xdist python3-pytest-timeout
}

# lacking_elsewhere: what is not there of what to_run's packages have, for a machine without these packages
lacking_elsewhere()
{
	local name

	for name in gcc make ninja meson pkg-config python3 patch cpio modprobe depmod strip xz zstd protoc-c; do
		command -v "$name" >/dev/null || echo "$name"
	done
	for name in glib-2.0 slirp libcap-ng zlib libdw libelf json-c capstone libprotobuf-c libmicrohttpd libxml-2.0; do
		pkg-config --exists "$name" 2>/dev/null || echo "$name"
	done
}
