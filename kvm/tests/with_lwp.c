// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * with_lwp PROGRAM [ARG...]: run a program of these tests if KVM of this machine has LWP, else skip it (77) and
 * say what is missing. `meson test --suite kvm` uses it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "lwp_kvm.h"

static int skip(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	return 77;
}

int main(int argc, char **argv)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC), vm;

	if (argc < 2) {
		fputs("with_lwp: no program\n", stderr);
		return 2;
	}
	if (kvm < 0)
		return skip("/dev/kvm cannot be opened");
	vm = ioctl(kvm, KVM_CREATE_VM, 0);
	if (vm < 0)
		return skip("/dev/kvm makes no VM");
	if (ioctl(vm, KVM_CHECK_EXTENSION, KVM_CAP_X86_LWP) <= 0)
		return skip("KVM of this machine has no LWP");
	close(vm);
	close(kvm);
	execv(argv[1], argv + 1);
	fprintf(stderr, "with_lwp: %s: %s\n", argv[1], strerror(errno));
	return 1;
}
