// SPDX-License-Identifier: GPL-2.0-or-later
/* Fetching operands: effective addresses, and values through the caller's callbacks. */
#include "lwp_operand.h"

static u64 linear_address(enum lwp_code_bits code_bits, unsigned int seg, u64 offset,
			  const struct lwp_access *access)
{
	if (code_bits != LWP_CODE64)
		return lwp_truncate(access->seg_base(access->ctx, seg) + offset, 32);
	if (seg < LWP_SEG_FS)
		return offset;
	return access->seg_base(access->ctx, seg) + offset;
}

void lwp_mem_ea(const struct lwp_mem *mem, u64 next_ip, const struct lwp_access *access,
		struct lwp_ea *ea)
{
	u64 offset = (u64)(s64)mem->disp;

	if (mem->base == LWP_GPR_IP)
		offset += next_ip;
	else if (mem->base != LWP_GPR_NONE)
		offset += access->gpr(access->ctx, mem->base);
	if (mem->index != LWP_GPR_NONE)
		offset += access->gpr(access->ctx, mem->index) << mem->scale;

	ea->seg = mem->seg;
	ea->offset = lwp_truncate(offset, mem->addr_bits);
	ea->linear = linear_address(mem->code_bits, mem->seg, ea->offset, access);
}

static int read_mem(const struct lwp_ea *ea, unsigned int size, const struct lwp_access *access,
		    u64 *value)
{
	u8 bytes[8] = { 0 };
	int ret = access->read(access->ctx, ea, bytes, size);

	*value = ret ? 0 : lwp_get64(bytes);
	return ret;
}

int lwp_operand_read(const struct lwp_operand *operand, unsigned int size, u64 next_ip,
		     const struct lwp_access *access, u64 *value)
{
	struct lwp_ea ea;

	if (!operand->is_mem) {
		*value = lwp_truncate(access->gpr(access->ctx, operand->reg), 8 * size);
		return 0;
	}
	lwp_mem_ea(&operand->mem, next_ip, access, &ea);
	return read_mem(&ea, size, access, value);
}

int lwp_stack_read(enum lwp_code_bits code_bits, unsigned int size, const struct lwp_access *access,
		   u64 *value)
{
	struct lwp_ea ea = { .seg = LWP_SEG_SS };

	ea.offset = lwp_truncate(access->gpr(access->ctx, LWP_GPR_RSP), access->stack_bits);
	ea.linear = linear_address(code_bits, LWP_SEG_SS, ea.offset, access);
	return read_mem(&ea, size, access, value);
}
