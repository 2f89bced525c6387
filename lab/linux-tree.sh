# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# KVM's sources from Debian's linux-source package, the stock kernel headers, and a tree in which kvm.ko
# and kvm-amd.ko build against them as external modules (docs: kvm/README.md).

# What of the kernel source is unpacked: what the modules need and what the patches touch.
LINUX_PARTS="arch/x86/kvm arch/x86/include virt/kvm include/uapi/linux/kvm.h Documentation/virt/kvm scripts/checkpatch.pl
	scripts/spelling.txt scripts/const_structs.checkpatch"
# Headers that the patches change; they win over those of the headers' package.
LINUX_HEADERS="arch/x86/include/asm/kvm_host.h arch/x86/include/asm/kvm-x86-ops.h arch/x86/include/asm/msr-index.h
	arch/x86/include/asm/svm.h arch/x86/include/uapi/asm/kvm.h include/uapi/linux/kvm.h"

# debian_version DEB: the version of a package file
debian_version()
{
	dpkg-deb -f "$1" Version
}

# fetch_linux ABI VERSION: source and headers of exactly that package version; set PRISTINE, HEADERS
fetch_linux()
{
	local abi=$1 version=$2 base=${1%-amd64} package dir

	PRISTINE=$BUILD/src/linux-$version
	HEADERS=$BUILD/src/headers-$abi
	make_dir "$BUILD/src"
	if [[ ! -d $HEADERS ]]; then
		rm -rf "$HEADERS.new"
		for package in "linux-headers-$abi" "linux-headers-$base-common" "linux-kbuild-$base"; do
			say "downloading $package ..."
			archive_deb "$package=$version"
			dpkg -x "$FETCHED" "$HEADERS.new"
		done
		sed -i "s,/usr/src/,$HEADERS/usr/src/," "$HEADERS.new/usr/src/linux-headers-$abi/Makefile"
		mv "$HEADERS.new" "$HEADERS"
	fi
	if [[ ! -d $PRISTINE ]]; then
		say "downloading linux-source-6.12 (153 MB) ..."
		archive_deb "linux-source-6.12=$version"
		step "unpacking the source of KVM $version" linux-unpack unpack_linux "$FETCHED" "$PRISTINE"
	fi
}

# unpack_linux DEB DIR
unpack_linux()
{
	local dir=$2.new part parts=()

	for part in $LINUX_PARTS; do
		parts+=("linux-source-6.12/$part")
	done
	rm -rf "$dir"
	mkdir -p "$dir" &&
		dpkg --fsys-tarfile "$1" | tar -xf - -O ./usr/src/linux-source-6.12.tar.xz |
		tar -xJf - -C "$dir" --strip-components=1 "${parts[@]}" &&
		mv "$dir" "$2"
}

# unpack_all DEB DIR: the whole kernel source
unpack_all()
{
	rm -rf "$2.new"
	mkdir -p "$2.new" &&
		dpkg --fsys-tarfile "$1" | tar -xf - -O ./usr/src/linux-source-6.12.tar.xz |
		tar -xJf - -C "$2.new" --strip-components=1 &&
		mv "$2.new" "$2"
}

# fetch_linux_all VERSION: after fetch_linux(); set LINUX_ALL to the whole source, unpacked
fetch_linux_all()
{
	LINUX_ALL=$BUILD/src/linux-all-$1
	[[ -d $LINUX_ALL ]] || step "unpacking all of linux-source-6.12 $1" linux-all unpack_all \
		"$DL/linux-source-6.12_$1_all.deb" "$LINUX_ALL"
}

# kvm_sources TREE: the files of this repository, at their places in a kernel tree
kvm_sources()
{
	local svm=$1/arch/x86/kvm/svm

	mkdir -p "$svm/lwp" &&
		cp "$TOP"/kvm/svm/lwp*.[ch] "$svm/" &&
		cp "$TOP"/vmcb/lwp_*.[ch] "$TOP"/kvm/engine/lwp_*.[ch] "$svm/lwp/"
}

# stage_kvm PRISTINE TREE: the patched tree, from nothing
stage_kvm()
{
	local patch part

	rm -rf "$2"
	mkdir -p "$2"
	for part in $LINUX_PARTS; do
		mkdir -p "$2/$(dirname -- "$part")"
		cp -r "$1/$part" "$2/$part" || return 1
	done
	for patch in "$TOP"/kvm/patches/6.12/*.patch; do
		echo "${patch##*/}"
		patch -d "$2" -p1 --fuzz=0 --force --no-backup-if-mismatch <"$patch" || return 1
	done
	kvm_sources "$2"
}

# external_kvm STAGE TREE: the part of a patched tree that builds outside of the kernel's; files that have
# not changed keep their time
external_kvm()
{
	local header

	mkdir -p "$2/include/trace"
	rm -rf "$2.new"
	mkdir -p "$2.new/arch/x86" "$2.new/virt"
	cp -r "$1/arch/x86/kvm" "$2.new/arch/x86/" && cp -r "$1/virt/kvm" "$2.new/virt/" || return 1
	for header in $LINUX_HEADERS; do
		mkdir -p "$2.new/$(dirname -- "$header")"
		cp "$1/$header" "$2.new/$header" || return 1
	done
	# Three lines differ from the kernel's own Makefile: where it lies, and whose headers win.
	sed -i -e "s,\$(srctree)/arch/x86/kvm,\$(src) -I \$(src)/../../../include/trace," \
		-e "s,\$(srctree)/virt/kvm,\$(src)/../../../virt/kvm," \
		-e "1i LINUXINCLUDE := -I\$(src)/../include -I\$(src)/../include/uapi -I\$(src)/../../../include/uapi \$(LINUXINCLUDE)" \
		"$2.new/arch/x86/kvm/Makefile"
	(cd "$2.new" && find . -type f) | while read -r header; do
		cmp -s "$2.new/$header" "$2/$header" && continue
		mkdir -p "$2/$(dirname -- "$header")"
		cp "$2.new/$header" "$2/$header"
	done
	rm -rf "$2.new"
}

# make_kvm HEADERS ABI TREE
make_kvm()
{
	local cc

	cc=$(make -s -C "$1/usr/src/linux-headers-$2" -f - print <<<$'include .kernelvariables\nprint:\n\t@echo $(CC)') ||
		return 1
	command -v ccache >/dev/null && cc="ccache $cc"
	make -C "$1/usr/src/linux-headers-$2" M="$3/arch/x86/kvm" CC="$cc" CONFIG_KVM_INTEL=n \
		CONFIG_DEBUG_INFO_BTF_MODULES= -j "$(jobs_count)" modules
}
