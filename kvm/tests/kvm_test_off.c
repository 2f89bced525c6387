// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * kvm_test_off WARNINGS: KVM whose LWP is off, by lwp=0 or because a parameter of kvm_amd is wrong. kvm_amd is loaded
 * all the same, guests run, and the kernel's log has so many warnings of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include "kvm_vm.h"

#define READ_ALL 3 /* SYSLOG_ACTION_READ_ALL */

/* Since kvm_amd was loaded last. */
static unsigned int warnings(void)
{
	static char log[1 << 18];
	unsigned int n = 0;
	char *at;

	if (klogctl(READ_ALL, log, sizeof(log) - 1) < 0)
		skip_all("the kernel's log cannot be read");
	for (at = log; (at = strstr(at, "kvm_amd: ")); at++) {
		if (!strncmp(at, "kvm_amd: Nested Paging ", 23))
			n = 0;
		n += !strncmp(at, "kvm_amd: LWP is off: ", 21);
	}
	return n;
}

GUEST_CODE(program, "	mov $1000, %ecx\n"
		    "1:	loop 1b\n"
		    "	.byte 0x8f, 0xe9, 0x78, 0x12, 0xc3\n"); /* LLWPCB RBX */

int main(int argc, char **argv)
{
	struct kvm_lwp_policy policy = { .delivery = 0 };
	struct vm *vm = vm_new(true);
	struct vcpu *v = vm_add_vcpu(vm);

	is(warnings(), argc > 1 ? atoi(argv[1]) : 0, "warnings");
	ok(parameter_is("lwp", "N"), "the parameter lwp is N");
	ok(!says("row", "row: "), "there are no files in debugfs");
	is(ioctl(vm->fd, KVM_CHECK_EXTENSION, KVM_CAP_X86_LWP), 0, "KVM_CAP_X86_LWP");
	is(vm_attr(vm->fd, KVM_HAS_DEVICE_ATTR, KVM_LWP_VM, KVM_LWP_VM_POLICY, NULL), -ENXIO,
	   "a VM has no policy");
	is(lwp_set(vm, VM, POLICY, &policy), -ENXIO, "and can set none");
	is(vm_lwp_status(v), KVM_LWP_REFUSED_HOST, "a vCPU has no LWP because of the host");
	vm_load(vm, program, program_end);
	vm_start(vm, v);
	is(vm_run(vm, v), 6, "a guest runs, and LLWPCB raises #UD");
	vm_free(vm);
	return done();
}
