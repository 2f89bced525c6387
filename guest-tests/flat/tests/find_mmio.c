// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The due instruction near one that reads a device's register: an emulator leaves its translated code there, and what
 * runs next depends on how far the due instruction is. All intervals and first counters in one guest, so that the same
 * code is used at each distance (43724-713).
 */
#include "lwp_fixture.h"
#include "test.h"
#include "x86.h"

#define IOAPIC 0xfec00000ul
#define DEVICE_VA (USER_BASE + 0x50000)
#define RING_RECORDS 512 /* RING_PAGES */
#define TURNS 40u
#define LOOP 8u

extern char fm_code[], fm_loop[];
/* rdi = the device, esi = TURNS. */
USER_CODE("fm_code: llwpcb %rax\n"
	  "fm_loop: nop\n"
	  "mov (%rdi), %eax\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "nop\n"
	  "dec %esi\n"
	  "jnz fm_loop\n"
	  "flush_exit\n");

/* Of the loop's instructions. */
static const u8 offsets[LOOP] = { 0, 1, 3, 4, 5, 6, 7, 9 };

/* Slots that do not have the instruction that was due. */
static u32 wrong_records(const struct lwp *l, u32 interval, u32 first)
{
	u32 slot = 0, wrong = 0;

	for (u32 n = first; n < TURNS * LOOP; n += interval + 1, slot++)
		wrong += ring_record(l, slot).address != (u64)fm_loop + offsets[n % LOOP];
	return wrong;
}

LWP_TEST(find_mmio)
{
	struct block b = { .size = RING_RECORDS * RECORD_SIZE };

	rule("43724-713", CHOICE);
	as_map(l->cr3, DEVICE_VA, IOAPIC, 1, PAGE_USER_RW | PTE_PCD | PTE_PWT);
	for (u32 interval = 2; interval < 20; interval++) {
		u32 wrong = 0;

		for (u32 first = 0; first < 2 * LOOP; first++) {
			b.event[0] = (struct block_event){ EV_IRE, interval, first };
			lwp_prepare(l, &b, fm_code);
			l->u.r.rdi = DEVICE_VA;
			l->u.r.rsi = TURNS;
			lwp_resume(l);
			wrong += wrong_records(l, interval, first);
		}
		report(!wrong, "interval %u: each due instruction has its record", interval);
	}
}
