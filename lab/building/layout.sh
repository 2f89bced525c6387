#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# layout.sh SOURCES KERNEL PATCHES OUT: lay out a tree in OUT/tree in which kvm.ko and kvm-amd.ko with LWP build
# as external modules, from SOURCES (this repository or the DKMS package's copy of it), the kernel's source in
# KERNEL and the hooks in PATCHES. OUT/stage is the patched part of the kernel. Files that do not change keep
# their time stamp. The lab and DKMS both use it.
# layout.sh --parts: the parts of a kernel's source that it takes.
# layout.sh --external STAGE OUT: only OUT/tree, from a part of a kernel that is patched already.
set -euo pipefail

# What the modules need and what the patches touch.
PARTS="arch/x86/kvm arch/x86/include virt/kvm include/uapi/linux/kvm.h Documentation/virt/kvm scripts/checkpatch.pl
	scripts/spelling.txt scripts/const_structs.checkpatch"
# Headers that the patches change; they win over those of the headers' package.
HEADERS="arch/x86/include/asm/kvm_host.h arch/x86/include/asm/kvm-x86-ops.h arch/x86/include/asm/msr-index.h
	arch/x86/include/asm/svm.h arch/x86/include/uapi/asm/kvm.h arch/x86/include/uapi/asm/kvm_lwp.h
	include/uapi/linux/kvm.h"

# apply: the patched part of the kernel, from nothing, and the files of this repository at their places
apply()
{
	local part patch svm=$stage/arch/x86/kvm/svm

	rm -rf "$stage"
	for part in $PARTS; do
		mkdir -p "$stage/$(dirname -- "$part")"
		cp -r "$kernel/$part" "$stage/$part"
	done
	for patch in "$patches"/*.patch; do
		echo "${patch##*/}"
		patch -d "$stage" -p1 --fuzz=0 --force --no-backup-if-mismatch <"$patch"
	done
	mkdir -p "$svm/lwp"
	cp "$sources"/kvm/svm/lwp*.[ch] "$patches"/lwp_compat.h "$svm/"
	cp "$sources"/vmcb/*.[ch] "$sources"/kvm/engine/*.[ch] "$svm/lwp/"
	mv "$svm/lwp/lwp_kvm.h" "$stage/arch/x86/include/uapi/asm/kvm_lwp.h"
}

# external: the part that builds outside of the kernel's tree. A few lines differ from the kernel's own Makefile:
# where it lies, whose headers win, and, once Kconfig has it, that LWP is configured.
external()
{
	local header new=$out/tree.new include="-I\$(src)/../include -I\$(src)/../include/uapi"

	rm -rf "$new"
	mkdir -p "$new/arch/x86" "$new/virt" "$out/tree/include/trace"
	cp -r "$stage/arch/x86/kvm" "$new/arch/x86/"
	cp -r "$stage/virt/kvm" "$new/virt/"
	for header in $HEADERS; do
		[[ -e $stage/$header ]] || continue
		mkdir -p "$new/$(dirname -- "$header")"
		cp "$stage/$header" "$new/$header"
	done
	sed -i -e "s,\$(srctree)/arch/x86/kvm,\$(src) -I \$(src)/../../../include/trace," \
		-e "s,\$(srctree)/virt/kvm,\$(src)/../../../virt/kvm," \
		-e "1i LINUXINCLUDE := $include -I\$(src)/../../../include/uapi \$(LINUXINCLUDE)" \
		"$new/arch/x86/kvm/Makefile"
	if grep -q KVM_AMD_LWP "$stage/arch/x86/kvm/Kconfig"; then
		sed -i "1i CONFIG_KVM_AMD_LWP := y\nccflags-y += -DCONFIG_KVM_AMD_LWP=1" "$new/arch/x86/kvm/Makefile"
	fi
	(cd "$new" && find . -type f) | while read -r header; do
		cmp -s "$new/$header" "$out/tree/$header" && continue
		mkdir -p "$out/tree/$(dirname -- "$header")"
		cp "$new/$header" "$out/tree/$header"
	done
	# What there is no more would be compiled, too.
	(cd "$out/tree" && find . -name "lwp*.[ch]" -o -name "pmc_*.[ch]") | while read -r header; do
		[[ -e $new/$header ]] || rm "$out/tree/$header"
	done
	rm -rf "$new"
}

if [[ ${1-} == --parts ]]; then
	tr -s ' \t' '\n' <<<"$PARTS"
	exit 0
fi
if [[ ${1-} == --external ]]; then
	stage=$2 out=$3
else
	sources=$1 kernel=$2 patches=$3 out=$4 stage=$4/stage
	apply
fi
external
