// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The 32 bytes of each kind of record (43724-501, 43724-502, 43724-504 to 43724-514), byte by byte,
 * with a CoreId that is not 0 (43724-205, 2007-501, 2007-505).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define CORE_ID 0xa5ul

/* The code is copied to one address, so that the records can be written down. */
#define CODE_VA (DATA_VA + PAGE_SIZE)

extern char fld_ins[], fld_val[], fld_ire[], fld_bre[], fld_cnh[], fld_end[];

USER_CODE("fld_ins: llwpcb %rax\n"
	  "lwpins $0x8001, %ecx, %rdx\n"
	  "user_exit\n"
	  "fld_val: llwpcb %rax\n"
	  "lwpval $0x7ffe, %ecx, %edx\n"
	  "user_exit\n"
	  "fld_ire: llwpcb %rax\n"
	  "nop\n"
	  "user_exit\n"
	  "fld_bre: llwpcb %rax\n"
	  ".byte 0xeb, 0x00\n" /* JMP +0 */
	  "user_exit\n"
	  /* One instruction for longer than a counter's interrupt may be late. */
	  "fld_cnh: mov $20000, %ecx\n"
	  "llwpcb %rax\n"
	  "1: loop 1b\n"
	  "user_exit\n"
	  "fld_end:\n");

static void expect_bytes(struct lwp *l, const struct block *b, const char *code, const char *end,
			 const u8 want[RECORD_SIZE], const char *what)
{
	bool ok;

	lwp_prepare(l, b, (const char *)CODE_VA);
	memcpy(l->data + PAGE_SIZE, code, (size_t)(end - code));
	l->u.r.rcx = 0x99aabbccddeeff00;
	l->u.r.rdx = 0x1122334455667788;
	lwp_resume(l);
	if (want[0] == EV_BRE) {
		report_beside("43724-508 43724-510", RECALLED, l->ring[3] == want[3],
			      "flags of a branch");
		l->ring[3] = want[3];
	}
	ok = report(!memcmp(l->ring, want, RECORD_SIZE), "%s", what);
	for (u32 i = 0; !ok && i < RECORD_SIZE; i++) {
		if (l->ring[i] != want[i])
			report_note("  byte %u is %02x, should be %02x", i, l->ring[i], want[i]);
	}
}

LWP_TEST(fields)
{
	/* LLWPCB has 5 bytes, as has MOV: the recorded instruction is at 40021005h, or 4002100Ah. */
	static const u8 ins_bytes[RECORD_SIZE] = { 0xff, 0xa5, 0x01, 0x80, 0x00, 0xff, 0xee, 0xdd,
						   0x05, 0x10, 0x02, 0x40, 0,	 0,    0,    0,
						   0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11 };
	static const u8 val_bytes[RECORD_SIZE] = { 0x01, 0xa5, 0xfe, 0x7f, 0x00, 0xff, 0xee, 0xdd,
						   0x05, 0x10, 0x02, 0x40, 0,	 0,    0,    0,
						   0x88, 0x77, 0x66, 0x55, 0,	 0,    0,    0 };
	static const u8 ire_bytes[RECORD_SIZE] = { 0x02, 0xa5, 0,    0,	   0,	 0,
						   0,	 0,    0x05, 0x10, 0x02, 0x40 };
	static const u8 bre_bytes[RECORD_SIZE] = { 0x03, 0xa5, 0,    0x80, 0,	 0,   0,
						   0,	 0x05, 0x10, 0x02, 0x40, 0,   0,
						   0,	 0,    0x07, 0x10, 0x02, 0x40 };
	static const u8 cnh_bytes[RECORD_SIZE] = { 0x05, 0xa5, 0,    0,	   0,	 0,
						   0,	 0,    0x0a, 0x10, 0x02, 0x40 };

	wrmsr(LWP_MSR_CFG, (rdmsr(LWP_MSR_CFG) & 0xffffffff) | CORE_ID << LWP_CFG_COREID_SHIFT);
	rule("43724-205 43724-501 43724-502 43724-505 43724-624", CERTAIN);
	expect_bytes(l, NO_EVENT, fld_ins, fld_val, ins_bytes, "EventId 255, LWPINS");
	expect_bytes(l, EVENT(EV_VAL, 9, 0), fld_val, fld_ire, val_bytes, "EventId 1, LWPVAL");
	rule("43724-506", RECALLED);
	expect_bytes(l, EVENT(EV_IRE, 9, 0), fld_ire, fld_bre, ire_bytes,
		     "EventId 2, instructions retired");
	rule("43724-507 43724-508", RECALLED);
	expect_bytes(l, EVENT(EV_BRE, 9, 0), fld_bre, fld_cnh, bre_bytes,
		     "EventId 3, branches retired");
	rule("43724-513", RECALLED);
	if (cpuid(LWP_CPUID_LEAF, 0).a & LWP_F_CNH)
		expect_bytes(l, EVENT(EV_CNH, 9999, 0), fld_cnh, fld_end, cnh_bytes,
			     "EventId 5, core clocks");
	else
		report_skip("8000_001C EAX[5] is clear", "EventId 5, core clocks");
}
