// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AMD's core performance counters with SVM: GuestOnly, HostOnly; the interrupt of an overflow in a guest is
 * intercepted there.
 */
#include "apic.h"
#include "lwp_fixture.h"
#include "pmu.h"
#include "svm.h"
#include "test.h"

extern char pms_guest[];

USER_CODE(/* Ten instructions; VMMCALL does not retire, it exits. */
	  "pms_guest: .fill 10, 1, 0x90\n"
	  "vmmcall\n");

static u64 counted(struct guest *g, u64 ctl)
{
	lwp_put64(g->vmcb + VMCB_RIP, (u64)pms_guest);
	pmu_start(0, ctl, 0);
	if (guest_vmrun(g) != EXIT_VMMCALL)
		bail("guest exit %lx", lwp_get64(g->vmcb + VMCB_EXIT_CODE));
	return pmu_stop(0);
}

static void test_exact(struct guest *g)
{
	u64 insns = PERF_INSNS | PERF_USR;

	report_eq(counted(g, insns), 10, "USR: the guest's ten");
	report_eq(counted(g, insns | PERF_GUEST_ONLY), 10, "GuestOnly: the same");
	report_eq(counted(g, insns | PERF_HOST_ONLY), 0, "HostOnly: none");
	report_eq(counted(g, insns | PERF_GUEST_ONLY | PERF_HOST_ONLY), 10, "both: as neither");
	report_eq(counted(g, PERF_INSNS | PERF_OS | PERF_GUEST_ONLY), 0, "GuestOnly OS: none");

	apic_set_lvtpc(LVT_NMI);
	lwp_put64(g->vmcb + VMCB_RIP, (u64)pms_guest);
	pmu_start(0, insns | PERF_GUEST_ONLY | PERF_INT, -4ul);
	report_eq(guest_vmrun(g), EXIT_NMI, "overflow in the guest: #VMEXIT(NMI)");
	report_eq(lwp_get64(g->vmcb + VMCB_RIP), (u64)pms_guest + 4,
		  "after the fourth instruction");
	report_eq(nmis, 1, "and the hypervisor has its NMI");
	report_eq(guest_vmrun(g), EXIT_VMMCALL, "the guest continues");
	report_eq(pmu_stop(0), 6, "and counts on");
}

USER_TEST(pmu_svm)
{
	struct guest g;

	irq_set_handler(VEC_NMI, note_nmi);
	svm_init();
	guest_init(&g, l->cr3, (u64)pms_guest, STACK_TOP, true);
	test_exact(&g);
}
