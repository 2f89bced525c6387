// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest memory for LWP: by linear address, with user rights at any CPL, through the page tables of
 * the current address space; and the instruction at rIP. Callers are in process context and hold
 * kvm->srcu for reading.
 */
#include "svm.h"
#include "lapic.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"
#include "lwp/lwp_segment.h"
#include "lwp/lwp_xop.h"
#include "lwp_trace.h"

/* How many bytes of a span are in its first page. */
static u32 svm_lwp_first_len(const struct lwp_span *span)
{
	return min_t(u32, span->len, PAGE_SIZE - offset_in_page(span->gva));
}

/* 43724-608 */
static gpa_t svm_lwp_walk(struct kvm_vcpu *vcpu, u64 gva, u64 access, struct x86_exception *e)
{
	return lwp_gva_to_gpa(vcpu, gva, access, e);
}

/* 43724-818 */
static bool svm_lwp_is_ram(struct kvm_vcpu *vcpu, gpa_t gpa, bool write)
{
	struct kvm_memory_slot *slot;

	slot = __gfn_to_memslot(kvm_vcpu_memslots(vcpu), gpa_to_gfn(gpa));
	return slot && !(slot->flags & KVM_MEMSLOT_INVALID) &&
	       !(write && (slot->flags & KVM_MEM_READONLY));
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
	u32 first = svm_lwp_first_len(span);
	struct kvm_vcpu *vcpu = v;
	struct x86_exception e = {};
	u64 gva = span->gva;
	int i;

	for (i = 0; i < 2; i++, gva += first) {
		if (i && first == span->len)
			break;
		if (is_noncanonical_address(gva, vcpu, 0))
			return LWP_MEM_NOT_RAM;
		span->page[i] = svm_lwp_walk(vcpu, gva, access, &e);
		if (span->page[i] == INVALID_GPA) {
			svm_lwp_fault(fault, &e, gva);
			return LWP_MEM_FAULT;
		}
	}
	for (i = 0; i < 2; i++) {
		if (i && first == span->len)
			break;
		if (!svm_lwp_is_ram(vcpu, span->page[i], write))
			return LWP_MEM_NOT_RAM;
	}
	return LWP_MEM_OK;
}

/* Copy a part of a mapped span; the part may lie in both pages. */
static enum lwp_mem_result svm_lwp_copy(struct kvm_vcpu *vcpu, const struct lwp_span *span,
					u32 offset, void *buf, u32 len, bool write)
{
	u32 first = svm_lwp_first_len(span);

	while (len) {
		bool second = offset >= first;
		gpa_t gpa = second ? span->page[1] + offset - first : span->page[0] + offset;
		u32 part = second ? len : min(len, first - offset);
		int err;

		if (write)
			err = kvm_vcpu_write_guest_page(vcpu, gpa_to_gfn(gpa), buf,
							offset_in_page(gpa), part);
		else
			err = kvm_vcpu_read_guest_page(vcpu, gpa_to_gfn(gpa), buf,
						       offset_in_page(gpa), part);
		if (err)
			return LWP_MEM_NOT_RAM;
		buf += part;
		offset += part;
		len -= part;
	}
	return LWP_MEM_OK;
}

static enum lwp_mem_result svm_lwp_read(void *vcpu, const struct lwp_span *span, u32 offset,
					void *to, u32 len)
{
	return svm_lwp_copy(vcpu, span, offset, to, len, false);
}

static enum lwp_mem_result svm_lwp_write(void *vcpu, const struct lwp_span *span, u32 offset,
					 const void *from, u32 len)
{
	return svm_lwp_copy(vcpu, span, offset, (void *)from, len, true);
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

/* Is the vCPU at CPL 3, where LWP counts? */
bool svm_lwp_user_mode(const struct vcpu_svm *svm)
{
	return svm->vmcb->save.cpl == 3;
}

static u64 svm_lwp_user(struct kvm_vcpu *vcpu)
{
	return svm_lwp_user_mode(to_svm(vcpu)) ? PFERR_USER_MASK : 0;
}

/*
 * Read len instruction bytes at a linear address, all in one page, with the rights of the running
 * program. False: they cannot be read; e->vector is PF_VECTOR if the guest's tables forbid it, else
 * 0.
 */
static bool svm_lwp_fetch(struct kvm_vcpu *vcpu, u64 linear, void *to, unsigned int len,
			  struct x86_exception *e)
{
	gpa_t gpa;

	e->vector = 0;
	gpa = svm_lwp_walk(vcpu, linear, PFERR_FETCH_MASK | svm_lwp_user(vcpu), e);
	return gpa != INVALID_GPA &&
	       !kvm_vcpu_read_guest_page(vcpu, gpa_to_gfn(gpa), to, offset_in_page(gpa), len);
}

/*
 * Read the bytes from rIP on, at most len. Returns how many could be read: less if the next page
 * cannot. 1 <= len <= PAGE_SIZE.
 */
unsigned int svm_lwp_code_at_rip(struct kvm_vcpu *vcpu, u8 *to, unsigned int len)
{
	u64 linear = kvm_get_linear_rip(vcpu);
	unsigned int first = min_t(unsigned int, len, PAGE_SIZE - offset_in_page(linear));
	struct x86_exception e;

	if (!svm_lwp_fetch(vcpu, linear, to, first, &e))
		return 0;
	if (first == len || !svm_lwp_fetch(vcpu, linear + first, to + first, len - first, &e))
		return first;
	return len;
}

/* 64 if EFER.LMA and CS.L are set, else 32 or 16 by CS.D. */
enum lwp_code_bits svm_lwp_code_bits(struct kvm_vcpu *vcpu)
{
	const struct vmcb_seg *cs = &to_svm(vcpu)->vmcb->save.cs;

	if (is_long_mode(vcpu) && cs->attrib & SVM_SELECTOR_L_MASK)
		return LWP_CODE64;
	return cs->attrib & SVM_SELECTOR_DB_MASK ? LWP_CODE32 : LWP_CODE16;
}

typedef enum lwp_decode (*svm_lwp_decoder)(const u8 *bytes, unsigned int count,
					   enum lwp_code_bits bits, void *to);

/*
 * Decode the instruction at rIP. Bytes of the next page are read only if the decoder asks for them.
 * False: they cannot be read, see svm_lwp_fetch() for *e.
 */
static bool svm_lwp_decode(struct kvm_vcpu *vcpu, svm_lwp_decoder decode, void *to,
			   enum lwp_decode *verdict, struct x86_exception *e)
{
	enum lwp_code_bits bits = svm_lwp_code_bits(vcpu);
	u64 linear = kvm_get_linear_rip(vcpu);
	unsigned int first =
		min_t(unsigned int, LWP_INSN_MAX_LENGTH, PAGE_SIZE - offset_in_page(linear));
	u8 bytes[LWP_INSN_MAX_LENGTH];

	if (!svm_lwp_fetch(vcpu, linear, bytes, first, e))
		return false;
	*verdict = decode(bytes, first, bits, to);
	if (*verdict != LWP_DECODE_MORE)
		return true;
	if (!svm_lwp_fetch(vcpu, linear + first, bytes + first, LWP_INSN_MAX_LENGTH - first, e))
		return false;
	*verdict = decode(bytes, LWP_INSN_MAX_LENGTH, bits, to);
	return true;
}

static enum lwp_decode svm_lwp_decode_insn(const u8 *bytes, unsigned int count,
					   enum lwp_code_bits bits, void *to)
{
	return lwp_insn_decode(bytes, count, bits, to);
}

static enum lwp_decode svm_lwp_decode_xop(const u8 *bytes, unsigned int count,
					  enum lwp_code_bits bits, void *to)
{
	return lwp_xop_decode(bytes, count, bits, to);
}

/* The instruction at rIP, whichever it is. False: it cannot be read or decoded. */
bool svm_lwp_insn_at_rip(struct kvm_vcpu *vcpu, struct lwp_insn *insn)
{
	enum lwp_decode verdict;
	struct x86_exception e;

	return svm_lwp_decode(vcpu, svm_lwp_decode_insn, insn, &verdict, &e) &&
	       verdict == LWP_DECODE_OK;
}

/*
 * The LWP instruction at rIP; see lwp_xop_decode() for *verdict. False: its bytes cannot be read;
 * e->vector is PF_VECTOR if the guest's tables forbid it, else 0.
 */
bool svm_lwp_xop_at_rip(struct kvm_vcpu *vcpu, struct lwp_xop *xop, enum lwp_decode *verdict,
			struct x86_exception *e)
{
	return svm_lwp_decode(vcpu, svm_lwp_decode_xop, xop, verdict, e);
}

/*
 * Read data with the rights of the running program, page by page. Memory that is not RAM reads as
 * ones.
 */
static int svm_lwp_read_linear(struct svm_lwp_reader *reader, u64 linear, void *buf,
			       unsigned int size)
{
	struct kvm_vcpu *vcpu = reader->vcpu;

	while (size) {
		unsigned int part = min_t(unsigned int, size, PAGE_SIZE - offset_in_page(linear));
		gpa_t gpa = svm_lwp_walk(vcpu, linear, svm_lwp_user(vcpu), &reader->e);

		if (gpa == INVALID_GPA)
			return -EFAULT;
		if (kvm_vcpu_read_guest_page(vcpu, gpa_to_gfn(gpa), buf, offset_in_page(gpa), part))
			memset(buf, 0xff, part);
		linear += part;
		buf += part;
		size -= part;
	}
	return 0;
}

static const struct vmcb_seg *svm_lwp_seg(struct vcpu_svm *svm, unsigned int seg)
{
	switch (seg) {
	case LWP_SEG_ES:
		return &svm->vmcb->save.es;
	case LWP_SEG_CS:
		return &svm->vmcb->save.cs;
	case LWP_SEG_SS:
		return &svm->vmcb->save.ss;
	case LWP_SEG_FS:
		return &svm->vmcb01.ptr->save.fs;
	case LWP_SEG_GS:
		return &svm->vmcb01.ptr->save.gs;
	default:
		return &svm->vmcb->save.ds;
	}
}

static u64 svm_lwp_seg_base(void *ctx, unsigned int seg)
{
	return svm_lwp_seg(to_svm(((struct svm_lwp_reader *)ctx)->vcpu), seg)->base;
}

static u64 svm_lwp_gpr(void *ctx, unsigned int reg)
{
	return kvm_register_read_raw(((struct svm_lwp_reader *)ctx)->vcpu, reg);
}

/* May data be read at offset..offset + size - 1 of a segment, outside 64-bit code? */
static bool svm_lwp_seg_allows(const struct vmcb_seg *s, u64 offset, unsigned int size)
{
	struct lwp_offsets offsets = lwp_seg_offsets(s->attrib, s->limit, false);

	return lwp_offsets_have(&offsets, offset, size);
}

/*
 * Read a memory operand. Returns 0, or -EFAULT with the exception in the reader.
 */
static int svm_lwp_read_ea(void *ctx, const struct lwp_ea *ea, void *buf, unsigned int size)
{
	struct svm_lwp_reader *reader = ctx;
	struct kvm_vcpu *vcpu = reader->vcpu;
	bool allowed;

	if (svm_lwp_code_bits(vcpu) == LWP_CODE64)
		allowed = !is_noncanonical_address(ea->linear, vcpu, 0) &&
			  !is_noncanonical_address(ea->linear + size - 1, vcpu, 0);
	else
		allowed = svm_lwp_seg_allows(svm_lwp_seg(to_svm(vcpu), ea->seg), ea->offset, size);
	if (!allowed) {
		reader->e.vector = ea->seg == LWP_SEG_SS ? SS_VECTOR : GP_VECTOR;
		return -EFAULT;
	}
	return svm_lwp_read_linear(reader, ea->linear, buf, size);
}

/* The callbacks of the decoders for a vCPU. `reader` must live as long as the result. */
struct lwp_access svm_lwp_access(struct svm_lwp_reader *reader, struct kvm_vcpu *vcpu)
{
	const struct vmcb_seg *ss = &to_svm(vcpu)->vmcb->save.ss;
	struct lwp_access access = {
		.ctx = reader,
		.gpr = svm_lwp_gpr,
		.seg_base = svm_lwp_seg_base,
		.read = svm_lwp_read_ea,
	};

	reader->vcpu = vcpu;
	memset(&reader->e, 0, sizeof(reader->e));
	if (svm_lwp_code_bits(vcpu) == LWP_CODE64)
		access.stack_bits = 64;
	else
		access.stack_bits = ss->attrib & SVM_SELECTOR_DB_MASK ? 32 : 16;
	return access;
}

/* The DS segment as LLWPCB and SLWPCB use it; they write to block and ring (43724-609). */
struct lwp_ds svm_lwp_ds(struct kvm_vcpu *vcpu)
{
	const struct vmcb_seg *ds = &to_svm(vcpu)->vmcb->save.ds;
	struct lwp_offsets offsets;
	struct lwp_ds r = {
		.limit = U64_MAX,
		.long_mode = true,
		.va_bits = vcpu_virt_addr_bits(vcpu),
	};

	if (svm_lwp_code_bits(vcpu) != LWP_CODE64) {
		offsets = lwp_seg_offsets(ds->attrib, ds->limit, true);
		r.base = ds->base;
		r.first = offsets.first;
		r.limit = offsets.last;
		r.long_mode = false;
	}
	return r;
}
