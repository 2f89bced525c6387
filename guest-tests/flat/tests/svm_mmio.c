// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * VMSAVE and VMLOAD whose VMCB is no RAM: they are executed like any access to a device, also among other
 * instructions, with the state of LWP in the VMCB.
 */
#include "paging.h"
#include "place.h"
#include "report.h"
#include "svm.h"
#include "test.h"
#include "x86.h"

FLAT_TEST(svm_mmio)
{
	u64 before = rdmsr(MSR_STAR), between;
	void *saved;

	svm_init();
	saved = (void *)phys_alloc(1, PAGE_SIZE);
	vmsave(saved);
	asm volatile("nop; nop; vmsave %%rax; nop; vmload %%rax; nop; nop"
		     :
		     : "a"(HOLE)
		     : "memory");
	between = rdmsr(MSR_STAR);
	vmload(saved);
	report_eq(between, 0, "VMLOAD has read the registers there");
	report_eq(rdmsr(MSR_STAR), before, "they come back from RAM");
}
