// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An SVM guest that writes CR8 while a virtual interrupt is pending: its own task priority changes, its hypervisor's
 * does not, and the interrupt stays pending while the guest has IF clear.
 */
#include "cpu.h"
#include "paging.h"
#include "report.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

/* VMCB_INTERRUPT: V_TPR, V_IRQ, V_INTR_PRIO, V_INTR_MASKING, V_INTR_VECTOR. */
#define V_TPR 0xfful
#define V_IRQ (1ul << 8)
#define V_PRIORITY(n) ((u64)(n) << 16)
#define V_MASKING (1ul << 24)
#define V_VECTOR(n) ((u64)(n) << 32)

extern char cr8_guest[];

USER_CODE("cr8_guest: mov %rax, %cr8\n"
	  "mov %cr8, %rbx\n"
	  "vmmcall\n");

static void write_in_guest(struct guest *g, u64 priority)
{
	guest_init(g, kernel_cr3(), (u64)cr8_guest, 0, false);
	lwp_put64(g->vmcb + VMCB_INTERRUPT, V_IRQ | V_PRIORITY(5) | V_MASKING | V_VECTOR(0x51));
	lwp_put64(g->vmcb + VMCB_RAX, priority);
	report_eq(guest_run(g), EXIT_VMMCALL, "CR8 = %lx: the guest continues", priority);
	report_eq(g->r.rbx, priority, "it reads what it has written");
	report_eq(lwp_get64(g->vmcb + VMCB_INTERRUPT) & (V_TPR | V_IRQ), V_IRQ | priority,
		  "so does V_TPR, and the interrupt is pending");
	report_eq(read_cr8(), 3, "the hypervisor's CR8 is as it was");
}

FLAT_TEST(svm_cr8)
{
	struct guest g;

	if (report_lacks(!svm_present(), "8000_0001 ECX[2] is clear", "SVM guests"))
		return;
	svm_init();
	write_cr8(3);
	write_in_guest(&g, 0);
	write_in_guest(&g, 9);
	write_cr8(0);
}
