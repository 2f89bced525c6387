// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The instruction at rIP, and its operands. See lwp_mem.c for svm_lwp_failed().
 */
#include "svm.h"
#include "x86.h"
#include "lwp_layers.h"
#include "lwp/lwp_segment.h"

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
	u64 access = PFERR_FETCH_MASK | svm_lwp_user(vcpu);
	gpa_t gpa;

	e->vector = 0;
	gpa = svm_lwp_walk(vcpu, linear, access, e);
	if (gpa != INVALID_GPA &&
	    !kvm_vcpu_read_guest_page(vcpu, gpa_to_gfn(gpa), to, offset_in_page(gpa), len))
		return true;
	svm_lwp_failed(vcpu, linear, access, gpa == INVALID_GPA ? LWP_MEM_FAULT : LWP_MEM_NOT_RAM);
	return false;
}

/*
 * Read code at a linear address, at most len bytes. Returns how many could be read: less if the
 * next page cannot. 1 <= len <= PAGE_SIZE.
 */
unsigned int svm_lwp_code_at(struct kvm_vcpu *vcpu, u64 linear, u8 *to, unsigned int len)
{
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

/* The linear address of an offset in CS. */
u64 svm_lwp_linear(struct kvm_vcpu *vcpu, u64 ip)
{
	return svm_lwp_code_bits(vcpu) == LWP_CODE64 ? ip :
						       (u32)(to_svm(vcpu)->vmcb->save.cs.base + ip);
}

typedef enum lwp_decode (*svm_lwp_decoder)(const u8 *bytes, unsigned int count,
					   enum lwp_code_bits bits, void *to);

/*
 * Decode the instruction at a linear address. Bytes of the next page are read only if the decoder
 * asks for them. False: they cannot be read, see svm_lwp_fetch() for *e.
 */
static bool svm_lwp_decode(struct kvm_vcpu *vcpu, u64 linear, svm_lwp_decoder decode, void *to,
			   enum lwp_decode *verdict, struct x86_exception *e)
{
	enum lwp_code_bits bits = svm_lwp_code_bits(vcpu);
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

/* The instruction at a linear address. False: it cannot be read or decoded. */
bool svm_lwp_insn_at(struct kvm_vcpu *vcpu, u64 linear, struct lwp_insn *insn)
{
	enum lwp_decode verdict;
	struct x86_exception e;

	return svm_lwp_decode(vcpu, linear, svm_lwp_decode_insn, insn, &verdict, &e) &&
	       verdict == LWP_DECODE_OK;
}

bool svm_lwp_insn_at_rip(struct kvm_vcpu *vcpu, struct lwp_insn *insn)
{
	return svm_lwp_insn_at(vcpu, kvm_get_linear_rip(vcpu), insn);
}

/*
 * The LWP instruction at rIP; see lwp_xop_decode() for *verdict. False: its bytes cannot be read;
 * e->vector is PF_VECTOR if the guest's tables forbid it, else 0.
 */
bool svm_lwp_xop_at_rip(struct kvm_vcpu *vcpu, struct lwp_xop *xop, enum lwp_decode *verdict,
			struct x86_exception *e)
{
	return svm_lwp_decode(vcpu, kvm_get_linear_rip(vcpu), svm_lwp_decode_xop, xop, verdict, e);
}

/*
 * Read data with the rights of the running program, page by page. Memory that is not RAM reads as
 * ones.
 */
static int svm_lwp_read_linear(struct svm_lwp_reader *reader, u64 linear, void *buf,
			       unsigned int size)
{
	struct kvm_vcpu *vcpu = reader->vcpu;
	u64 access = svm_lwp_user(vcpu);

	while (size) {
		unsigned int part = min_t(unsigned int, size, PAGE_SIZE - offset_in_page(linear));
		gpa_t gpa = svm_lwp_walk(vcpu, linear, access, &reader->e);

		if (gpa == INVALID_GPA) {
			svm_lwp_failed(vcpu, linear, access, LWP_MEM_FAULT);
			return -EFAULT;
		}
		if (kvm_vcpu_read_guest_page(vcpu, gpa_to_gfn(gpa), buf, offset_in_page(gpa),
					     part)) {
			if (svm_lwp_failed(vcpu, linear, access, LWP_MEM_NOT_RAM) == LWP_MEM_AGAIN)
				return -EFAULT;
			memset(buf, 0xff, part);
			reader->not_ram = true;
		}
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

	*reader = (struct svm_lwp_reader){ .vcpu = vcpu };
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
