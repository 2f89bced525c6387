// SPDX-License-Identifier: GPL-2.0-or-later
/* The forms of the four instructions that exist, and those that raise #UD (43724-603). */
#include "cpu.h"
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

struct form {
	const char *name;
	u8 length;
	u8 bytes[13];
};

/* vvvv = 1111, W = 0, L = 0, pp = 00 unless the name says otherwise. */
static const struct form good[] = {
	{ "LLWPCB eax", 5, { 0x8f, 0xe9, 0x78, 0x12, 0xc0 } },
	{ "SLWPCB ecx", 5, { 0x8f, 0xe9, 0x78, 0x12, 0xc9 } },
	{ "LWPINS eax, ecx", 9, { 0x8f, 0xea, 0x78, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "LWPVAL eax, ecx", 9, { 0x8f, 0xea, 0x78, 0x12, 0xc9, 1, 0, 0, 0 } },
	{ "LWPINS edx, ecx (vvvv)", 9, { 0x8f, 0xea, 0x68, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "LWPINS eax, [rdi]", 9, { 0x8f, 0xea, 0x78, 0x12, 0x07, 1, 0, 0, 0 } },
	{ "a segment prefix", 6, { 0x3e, 0x8f, 0xe9, 0x78, 0x12, 0xc0 } },
	{ "an address-size prefix", 6, { 0x67, 0x8f, 0xe9, 0x78, 0x12, 0xc0 } },
};

static const struct form good64[] = {
	{ "LLWPCB rax", 5, { 0x8f, 0xe9, 0xf8, 0x12, 0xc0 } },
	{ "LLWPCB r9", 5, { 0x8f, 0xc9, 0xf8, 0x12, 0xc1 } },
	{ "SLWPCB r9", 5, { 0x8f, 0xc9, 0xf8, 0x12, 0xc9 } },
	{ "LWPINS r9, r10d", 9, { 0x8f, 0xca, 0xb0, 0x12, 0xc2, 1, 0, 0, 0 } },
	{ "LWPVAL r9, r10d", 9, { 0x8f, 0xca, 0xb0, 0x12, 0xca, 1, 0, 0, 0 } },
};

static const struct form bad[] = {
	{ "LLWPCB of memory", 5, { 0x8f, 0xe9, 0x78, 0x12, 0x07 } },
	{ "SLWPCB to memory", 5, { 0x8f, 0xe9, 0x78, 0x12, 0x0f } },
	{ "LLWPCB with vvvv 1110", 5, { 0x8f, 0xe9, 0x70, 0x12, 0xc0 } },
	{ "SLWPCB with vvvv 1110", 5, { 0x8f, 0xe9, 0x70, 0x12, 0xc8 } },
	{ "LLWPCB with L", 5, { 0x8f, 0xe9, 0x7c, 0x12, 0xc0 } },
	{ "SLWPCB with L", 5, { 0x8f, 0xe9, 0x7c, 0x12, 0xc8 } },
	{ "LWPINS with L", 9, { 0x8f, 0xea, 0x7c, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "LWPVAL with L", 9, { 0x8f, 0xea, 0x7c, 0x12, 0xc9, 1, 0, 0, 0 } },
	{ "LLWPCB with pp 01", 5, { 0x8f, 0xe9, 0x79, 0x12, 0xc0 } },
	{ "SLWPCB with pp 10", 5, { 0x8f, 0xe9, 0x7a, 0x12, 0xc8 } },
	{ "LWPINS with pp 11", 9, { 0x8f, 0xea, 0x7b, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "LWPVAL with pp 01", 9, { 0x8f, 0xea, 0x79, 0x12, 0xc9, 1, 0, 0, 0 } },
	{ "map 9 /2", 5, { 0x8f, 0xe9, 0x78, 0x12, 0xd0 } },
	{ "map 9 /7", 5, { 0x8f, 0xe9, 0x78, 0x12, 0xf8 } },
	{ "map A /2", 9, { 0x8f, 0xea, 0x78, 0x12, 0xd1, 1, 0, 0, 0 } },
	{ "map A /7", 9, { 0x8f, 0xea, 0x78, 0x12, 0xf9, 1, 0, 0, 0 } },
	{ "map 8", 9, { 0x8f, 0xe8, 0x78, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "map 31", 9, { 0x8f, 0xff, 0x78, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "map 9 opcode 13h", 5, { 0x8f, 0xe9, 0x78, 0x13, 0xc0 } },
	{ "map A opcode 11h", 9, { 0x8f, 0xea, 0x78, 0x11, 0xc1, 1, 0, 0, 0 } },
	{ "LLWPCB with prefix 66", 6, { 0x66, 0x8f, 0xe9, 0x78, 0x12, 0xc0 } },
	{ "SLWPCB with prefix F2", 6, { 0xf2, 0x8f, 0xe9, 0x78, 0x12, 0xc8 } },
	{ "LWPINS with prefix F3", 10, { 0xf3, 0x8f, 0xea, 0x78, 0x12, 0xc1, 1, 0, 0, 0 } },
	{ "LWPINS [rdi] with LOCK", 10, { 0xf0, 0x8f, 0xea, 0x78, 0x12, 0x07, 1, 0, 0, 0 } },
	{ "LWPVAL with prefix 66", 10, { 0x66, 0x8f, 0xea, 0x78, 0x12, 0xc9, 1, 0, 0, 0 } },
};

static const struct form bad64[] = {
	{ "LLWPCB with REX", 6, { 0x40, 0x8f, 0xe9, 0x78, 0x12, 0xc0 } },
	{ "SLWPCB with REX.W", 6, { 0x48, 0x8f, 0xe9, 0x78, 0x12, 0xc8 } },
	{ "LWPVAL with REX", 10, { 0x40, 0x8f, 0xea, 0x78, 0x12, 0xc9, 1, 0, 0, 0 } },
};

static const u8 exit_gate[] = { 0xcd, 0x80 };

/* Run a form from the data page with eax = 0 and rdi readable; true when it came back by #UD on it. */
static void try_form(struct lwp *l, const struct form *f, bool code32, bool is_good)
{
	struct user *u = &l->u;

	memcpy(l->data, f->bytes, f->length);
	memcpy(l->data + f->length, exit_gate, sizeof(exit_gate));
	if (code32)
		user_init32(u, DATA_VA, STACK_TOP);
	else
		user_init64(u, DATA_VA, STACK_TOP);
	u->r.rdi = DATA_VA + PAGE_SIZE;
	user_run(u);
	if (is_good)
		report(user_exited(u), "%s runs", f->name);
	else
		report(u->r.vector == VEC_UD && u->r.rip == DATA_VA, "%s raises #UD", f->name);
}

static void try_forms(struct lwp *l, const struct form *f, size_t size, bool code32, bool is_good)
{
	report_push(code32 ? "32-bit code" : "64-bit code");
	for (size_t i = 0; i < size / sizeof(*f); i++)
		try_form(l, &f[i], code32, is_good);
	report_pop();
}

LWP_TEST(ud)
{
	rule("43724-601 43724-602", CERTAIN);
	try_forms(l, good, sizeof(good), false, true);
	try_forms(l, good64, sizeof(good64), false, true);
	rule("43724-607", RECALLED);
	try_forms(l, bad, sizeof(bad), false, false);
	try_forms(l, bad64, sizeof(bad64), false, false);
	rule("43724-601 43724-604", CERTAIN);
	try_forms(l, good, sizeof(good), true, true);
	rule("43724-607", RECALLED);
	try_forms(l, bad, sizeof(bad), true, false);
}
