# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The DKMS package of the modules: what install and uninstall share.

DKMS_NAME=vlwp-kvm
DKMS_VERSION=$(sed -n "s/^ *version: '\(.*\)',\$/\1/p" "$TOP/meson.build")
DKMS_SOURCE=/usr/src/$DKMS_NAME-$DKMS_VERSION

need_root()
{
	((EUID == 0)) || die "$1 needs root: sudo ./vlwp $1"
}

# dkms_files DIR: the sources as DKMS takes them
dkms_files()
{
	mkdir -p "$1/kvm" &&
		cp -r "$TOP/kvm/svm" "$TOP/kvm/patches" "$TOP/kvm/engine" "$1/kvm/" &&
		cp -r "$TOP/vmcb" "$1/" &&
		rm -rf "$1"/kvm/engine/{tests,fuzz,bench} "$1"/vmcb/{tests,fuzz} &&
		cp "$LAB/linux-tree.sh" "$TOP/kvm/dkms/prepare" "$1/" &&
		sed "s/@VERSION@/$DKMS_VERSION/" "$TOP/kvm/dkms/dkms.conf" >"$1/dkms.conf"
}
