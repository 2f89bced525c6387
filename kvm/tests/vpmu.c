// SPDX-License-Identifier: GPL-2.0-or-later
/* See vpmu.h. */
#include "vpmu.h"

#define APIC_LVTPC 0x340
#define APIC_DM_NMI 0x400
#define NMI_VECTOR 2
#define COUNTER_MASK 0xffffffffffff

/* In VM_DATA: the number of samples, -period, the samples. */
#define COUNT 0x800
#define RESTART 0x808
#define SAMPLES 0x1000

GUEST_CODE(handler,
	   "	push %rax\n"
	   "	push %rcx\n"
	   "	push %rdx\n"
	   "	movl $0x400, 0x3ff340\n" /* VM_APIC + APIC_LVTPC */
	   "	xor %ecx, %ecx\n"
	   "	rdpmc\n"
	   "	mov $0xc0010004, %ecx\n"
	   "	mov $0xffff, %edx\n"
	   "	add 0x808(%rdi), %eax\n" /* a late interrupt takes its lag from the next period, */
	   "	jnc 1f\n" /* unless the lag is longer */
	   "	mov 0x808(%rdi), %eax\n"
	   "1:	wrmsr\n"
	   "	mov 0x800(%rdi), %rcx\n"
	   "	mov 24(%rsp), %rax\n"
	   "	mov %rax, 0x1000(%rdi,%rcx,8)\n"
	   "	incq 0x800(%rdi)\n"
	   "	pop %rdx\n"
	   "	pop %rcx\n"
	   "	pop %rax\n"
	   "	iretq\n");

void vpmu_count(struct vcpu *v, unsigned int n, u32 event)
{
	vm_set_msr(v, PERF_CTR(n), 0);
	vm_set_msr(v, PERF_CTL(n), PERF_CTL_EN | PERF_CTL_USR | event);
}

u64 vpmu_counted(struct vcpu *v, unsigned int n)
{
	return vm_get_msr(v, PERF_CTR(n));
}

void vpmu_sample(struct vm *vm, struct vcpu *v, u32 period)
{
	vm_handler(vm, NMI_VECTOR, handler, handler_end);
	vm_apic_on(v);
	vm_apic_set(v, APIC_LVTPC, APIC_DM_NMI);
	lwp_put32(vm->mem + VM_DATA + RESTART, -period);
	lwp_put64(vm->mem + VM_DATA + COUNT, 0);
	vm_set_msr(v, PERF_CTR(0), -(u64)period & COUNTER_MASK);
	vm_set_msr(v, PERF_CTL(0), PERF_CTL_EN | PERF_CTL_INT | PERF_CTL_USR | PERF_INSTRUCTIONS);
}

u64 vpmu_samples(const struct vm *vm)
{
	return lwp_get64(vm->mem + VM_DATA + COUNT);
}

u64 vpmu_sampled_rip(const struct vm *vm, u64 index)
{
	return lwp_get64(vm->mem + VM_DATA + SAMPLES + index * 8);
}
