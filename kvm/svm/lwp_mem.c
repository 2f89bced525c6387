// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest memory for LWP: by linear address, with user rights at any CPL, through the page tables of
 * the current address space. Callers are in process context and hold kvm->srcu for reading.
 *
 * Nobody sleeps in guest memory with svm_lwp.lock. With it page faults are disabled: what the host
 * would have to fetch first is noted, LWP_MEM_AGAIN goes up to svm_lwp_memory_unlock(), which waits
 * without the lock, and the guest's instruction or the VM-Entry begins again.
 *
 * What the engine stores, it stores with IRQs off, from the walk of the guest's tables to the last
 * write. So no vCPU of the guest can take a page away between the two. A flush of other vCPUs' TLBs
 * waits for this one, which is not outside of the guest then (KVM_REQUEST_WAIT). One that does not
 * wait for a preempted vCPU (KVM_FEATURE_PV_TLB_FLUSH) finds none: IRQs are off. Nor does it while
 * KVM waits here: a vCPU that sleeps is not told to be preempted, and at_instruction_boundary is
 * false for one that is.
 */
#include "svm.h"
#include "lapic.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"
#include "lwp/lwp_walk.h"
#include "lwp_trace.h"

enum lwp_paging svm_lwp_paging(struct kvm_vcpu *vcpu)
{
	if (!is_paging(vcpu))
		return LWP_PAGING_OFF;
	if (is_long_mode(vcpu))
		return kvm_is_cr4_bit_set(vcpu, X86_CR4_LA57) ? LWP_PAGING_LONG5 : LWP_PAGING_LONG;
	return is_pae_paging(vcpu) ? LWP_PAGING_PAE : LWP_PAGING_LEGACY;
}

/* 43724-608 */
gpa_t svm_lwp_walk(struct kvm_vcpu *vcpu, u64 gva, u64 access, struct x86_exception *e)
{
	return lwp_gva_to_gpa(vcpu, gva, access, e);
}

/*
 * An access to the page at gva has failed, because `otherwise` or because the page, or one of the
 * tables, is not in the host's memory. svm_lwp_wait() finds out; until then it is LWP_MEM_AGAIN.
 */
enum lwp_mem_result svm_lwp_failed(struct kvm_vcpu *vcpu, u64 gva, u64 access,
				   enum lwp_mem_result otherwise)
{
	struct svm_lwp_memory *m = &to_svm(vcpu)->lwp.memory;
	int i;

	if (!pagefault_disabled())
		return otherwise;
	gva &= PAGE_MASK;
	for (i = 0; i < ARRAY_SIZE(m->found); i++) {
		if (m->found[i].gva == gva && m->found[i].access == access &&
		    m->found[i].result == otherwise)
			return otherwise;
	}
	m->waits = true;
	m->wanted = (struct svm_lwp_want){ gva, access };
	return LWP_MEM_AGAIN;
}

/*
 * Bring a page of the guest into the host's memory. It may be long until user space provides it,
 * and a signal ends that. Memory without a struct page cannot be had. Result: 0 or -errno.
 */
static long svm_lwp_fault_in(struct kvm_vcpu *vcpu, gfn_t gfn, bool write)
{
	unsigned int flags = FOLL_INTERRUPTIBLE | FOLL_HONOR_NUMA_FAULT | (write ? FOLL_WRITE : 0);
	unsigned long hva = kvm_vcpu_gfn_to_hva(vcpu, gfn);
	struct page *page;
	long r;

	if (kvm_is_error_hva(hva))
		return -EFAULT;
	r = get_user_pages_unlocked(hva, 1, &page, flags);
	if (r != 1)
		return r ?: -EAGAIN;
	put_page(page);
	return 0;
}

static enum lwp_phys_result svm_lwp_read_table(void *ctx, u64 gpa, void *to, u32 len)
{
	struct kvm_vcpu *vcpu = ctx;

	if (svm_lwp_fault_in(vcpu, gpa_to_gfn(gpa), false) ||
	    kvm_vcpu_read_guest_atomic(vcpu, gpa, to, len))
		return LWP_PHYS_AWAY;
	return LWP_PHYS_OK;
}

/*
 * Wait for what an access wanted, without locks: for the tables (of a nested guest uninterruptibly,
 * as KVM's own walks do), then for the page.
 */
static void svm_lwp_wait(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_memory *m = &to_svm(vcpu)->lwp.memory;
	struct lwp_phys phys = {
		.read = svm_lwp_read_table,
		.ctx = vcpu,
		.bits = cpuid_maxphyaddr(vcpu),
	};
	struct svm_lwp_want found = m->wanted;
	struct x86_exception e;
	gpa_t gpa;
	long r;

	if (!is_guest_mode(vcpu))
		lwp_walk(&phys, svm_lwp_paging(vcpu), kvm_read_cr3(vcpu), found.gva, &gpa);
	if (signal_pending(current))
		return;
	gpa = svm_lwp_walk(vcpu, found.gva, found.access, &e);
	if (gpa == INVALID_GPA) {
		found.result = LWP_MEM_FAULT;
	} else {
		r = svm_lwp_fault_in(vcpu, gpa_to_gfn(gpa), found.access & PFERR_WRITE_MASK);
		if (!r || r == -EINTR || r == -EAGAIN)
			return;
		found.result = LWP_MEM_NOT_RAM;
	}
	m->found[m->founds++ % ARRAY_SIZE(m->found)] = found;
}

/* Take the vCPU's lock for work in which guest memory is accessed. */
void svm_lwp_memory_lock(struct kvm_vcpu *vcpu)
{
	if (is_pae_paging(vcpu))
		kvm_pdptr_read(vcpu, 0);
	mutex_lock(&to_svm(vcpu)->lwp.lock);
	pagefault_disable();
}

/* Did an access since then want memory that is not there? Then the work is to be left. */
bool svm_lwp_memory_waits(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->lwp.memory.waits;
}

/*
 * Release the lock. True: memory was not there and has been waited for, or there is a signal. The
 * work is to be done once more.
 */
bool svm_lwp_memory_unlock(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_memory *m = &to_svm(vcpu)->lwp.memory;
	bool waits = m->waits;

	m->waits = false;
	pagefault_enable();
	mutex_unlock(&to_svm(vcpu)->lwp.lock);
	if (waits)
		svm_lwp_wait(vcpu);
	else if (m->founds)
		memset(m, 0, sizeof(*m));
	return waits;
}

/* 43724-818 */
static struct kvm_memory_slot *svm_lwp_slot(struct kvm_vcpu *vcpu, gpa_t gpa, bool write)
{
	struct kvm_memory_slot *slot;

	slot = __gfn_to_memslot(kvm_vcpu_memslots(vcpu), gpa_to_gfn(gpa));
	if (slot &&
	    (slot->flags & KVM_MEMSLOT_INVALID || (write && slot->flags & KVM_MEM_READONLY)))
		slot = NULL;
	return slot;
}

/* Have a page at hand for writing until svm_lwp_store_end(). */
static enum lwp_mem_result svm_lwp_pin(struct kvm_vcpu *vcpu, u64 gva, gpa_t gpa, u64 access)
{
	struct kvm_memory_slot *slot = svm_lwp_slot(vcpu, gpa, true);
	struct svm_lwp_memory *m = &to_svm(vcpu)->lwp.memory;
	struct svm_lwp_pin *pin = &m->pin[m->pins];

	if (!slot || WARN_ON_ONCE(m->pins == SVM_LWP_PINS))
		return LWP_MEM_NOT_RAM;
	pin->gfn = gpa_to_gfn(gpa);
	if (!get_user_page_fast_only(gfn_to_hva_memslot(slot, pin->gfn), FOLL_WRITE, &pin->page))
		return svm_lwp_failed(vcpu, gva, access, LWP_MEM_NOT_RAM);
	m->pins++;
	return LWP_MEM_OK;
}

/* The address of a byte in the page that was pinned for it. */
static u8 *svm_lwp_pinned(struct kvm_vcpu *vcpu, gpa_t gpa)
{
	const struct svm_lwp_memory *m = &to_svm(vcpu)->lwp.memory;
	const struct svm_lwp_pin *pin = m->pin;

	while (pin->gfn != gpa_to_gfn(gpa))
		pin++;
	return (u8 *)page_address(pin->page) + offset_in_page(gpa);
}

/* The engine is going to store: see above. Called with svm_lwp_memory_lock(). */
void svm_lwp_store_begin(struct kvm_vcpu *vcpu)
{
	lwp_keep_pdptrs(vcpu, true);
	local_irq_disable();
	/* Who changes the tables has asked for a flush before he looks at the mode. */
	smp_store_mb(vcpu->mode, READING_SHADOW_PAGE_TABLES);
}

void svm_lwp_store_end(struct kvm_vcpu *vcpu)
{
	struct svm_lwp_memory *m = &to_svm(vcpu)->lwp.memory;

	/* After all writes. */
	smp_store_release(&vcpu->mode, OUTSIDE_GUEST_MODE);
	local_irq_enable();
	lwp_keep_pdptrs(vcpu, false);
	while (m->pins) {
		const struct svm_lwp_pin *pin = &m->pin[--m->pins];

		kvm_vcpu_mark_page_dirty(vcpu, pin->gfn);
		kvm_release_page_dirty(pin->page);
	}
}

/*
 * The engine's fault by the one of a page walk. A nested guest's may be one in the tables of its
 * hypervisor; its guest-physical address and whole error code go through the engine as opaques.
 */
static void svm_lwp_fault(struct lwp_fault *fault, const struct x86_exception *e, u64 gva)
{
	fault->addr = gva;
	fault->error_code = e->error_code;
	fault->opaque[0] = e->nested_page_fault;
	fault->opaque[1] = e->address;
	fault->opaque[2] = e->error_code;
}

/* The reverse. */
struct x86_exception svm_lwp_page_fault(const struct lwp_fault *fault)
{
	struct x86_exception e = {
		.vector = PF_VECTOR,
		.error_code_valid = true,
		.error_code = fault->opaque[0] ? fault->opaque[2] : fault->error_code,
		.nested_page_fault = fault->opaque[0],
		.address = fault->opaque[0] ? fault->opaque[1] : fault->addr,
	};

	return e;
}

/* 43724-608 */
static enum lwp_mem_result svm_lwp_map(void *v, struct lwp_span *span, bool write,
				       struct lwp_fault *fault)
{
	u64 access = PFERR_USER_MASK | (write ? PFERR_WRITE_MASK : 0);
	u32 first = lwp_span_first(span);
	int i, pages = first == span->len ? 1 : 2;
	enum lwp_mem_result r = LWP_MEM_OK;
	struct kvm_vcpu *vcpu = v;
	struct x86_exception e = {};
	u64 gva = span->gva;

	for (i = 0; i < pages; i++, gva += first) {
		if (is_noncanonical_address(gva, vcpu, 0))
			return LWP_MEM_NOT_RAM;
		span->page[i] = svm_lwp_walk(vcpu, gva, access, &e);
		if (span->page[i] == INVALID_GPA) {
			svm_lwp_fault(fault, &e, gva);
			return svm_lwp_failed(vcpu, gva, access, LWP_MEM_FAULT);
		}
	}
	for (i = 0; i < pages && r == LWP_MEM_OK; i++) {
		if (write)
			r = svm_lwp_pin(vcpu, span->gva + i * first, span->page[i], access);
		else if (!svm_lwp_slot(vcpu, span->page[i], false))
			r = LWP_MEM_NOT_RAM;
	}
	if (write && r == LWP_MEM_OK && pages == 1)
		span->direct = svm_lwp_pinned(vcpu, span->page[0]);
	return r;
}

static enum lwp_mem_result svm_lwp_read(void *vcpu, const struct lwp_span *span, u32 offset,
					void *to, u32 len)
{
	gpa_t gpa;
	u32 part;

	for (; len; offset += part, to += part, len -= part) {
		part = lwp_span_part(span, offset, len, &gpa);
		if (kvm_vcpu_read_guest_page(vcpu, gpa_to_gfn(gpa), to, offset_in_page(gpa), part))
			return svm_lwp_failed(vcpu, span->gva + offset, PFERR_USER_MASK,
					      LWP_MEM_NOT_RAM);
	}
	return LWP_MEM_OK;
}

static void svm_lwp_write(void *vcpu, const struct lwp_span *span, u32 offset, const void *from,
			  u32 len)
{
	gpa_t gpa;
	u32 part;

	for (; len; offset += part, from += part, len -= part) {
		part = lwp_span_part(span, offset, len, &gpa);
		lwp_write_direct(svm_lwp_pinned(vcpu, gpa), from, part);
	}
}

/*
 * The threshold interrupt: fixed, edge, to this vCPU's local APIC. Vectors below 16 do not exist
 * (43724-206, 43724-811, 2007-805).
 */
static void svm_lwp_interrupt(void *vcpu, u8 vector)
{
	struct kvm_lapic_irq irq = {
		.vector = vector,
		.delivery_mode = APIC_DM_FIXED,
		.level = 1,
	};

	if (vector >= 16)
		kvm_apic_set_irq(vcpu, &irq, NULL);
}

/* What RDTSC reads in the guest that runs, nested or not (43724-217). */
static u64 svm_lwp_timestamp(void *opaque)
{
	struct kvm_vcpu *vcpu = opaque;
	u64 tsc = rdtsc(), ratio = vcpu->arch.tsc_scaling_ratio;

	if (ratio != kvm_caps.default_tsc_scaling_ratio)
		tsc = mul_u64_u64_shr(tsc, ratio, kvm_caps.tsc_scaling_ratio_frac_bits);
	return tsc + vcpu->arch.tsc_offset;
}

/* The engine's callback, for the trace. */
static void svm_lwp_overshoot(void *vcpu, enum lwp_kind kind, u64 address, u64 by)
{
	struct kvm_vcpu *v = vcpu;

	trace_kvm_lwp_overshoot(v->vcpu_id, to_svm(v)->lwp.engine.rev->event_id[kind], address, by);
}

const struct lwp_vcpu_ops svm_lwp_ops = {
	.mem = {
		.map = svm_lwp_map,
		.read = svm_lwp_read,
		.write = svm_lwp_write,
	},
	.interrupt = svm_lwp_interrupt,
	.timestamp = svm_lwp_timestamp,
	.overshoot = svm_lwp_overshoot,
};
