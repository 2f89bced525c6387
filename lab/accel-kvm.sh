# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# --accel=kvm: whether this machine can run an LWP guest under KVM.

accel_kvm_prepare()
{
	grep -q '^flags.* svm' /proc/cpuinfo ||
		skip "--accel=kvm needs an AMD processor with SVM; --accel=tcg works on this machine"
	[[ -w /dev/kvm ]] || skip "--accel=kvm needs write access to /dev/kvm"
	skip "--accel=kvm needs kvm and kvm-amd modules with LWP, which are not loaded"
}
