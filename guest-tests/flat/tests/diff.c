// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Random programs under a small kernel: faults are skipped, mended or turned into signals, threads and
 * processes switch, interrupts come. What LWP and the program leave in memory is hashed, to be compared with
 * another accelerator: "# dump program N ..." must be the same everywhere (43724-729).
 * seed=N, first=N, count=N; spin=N, interval=N, counters=1: longer programs and intervals, for counters (diff.h);
 * process=1: programs that guest-tests/linux/diff_process.c runs in a process;
 * records=1 prints the records; show=1 prints ring, block and all stops in full (43724-709, 43724-718, 43724-821).
 */
#include "apic.h"
#include "diff.h"
#include "layout.h"
#include "test.h"
#include "x86.h"

#define MAX_STOPS 4000
#define MAX_SIGNALS 12
#define MAX_DEPTH 3
#define MAX_TRAPS 6 /* of a guest's TF before it is cleared */
#define SIGNAL_GAP 128 /* the ABI's red zone */

/* Programs with which every row of the histogram has had its turn. */
#define ALL_ROWS 50

#define RFLAGS_IOPL 0x3000ul
#define CR0_NE (1ul << 5)
#define DR6_MASK 0xe00ful
#define DR7_EXECUTE_0 0x1ul
#define DR7_WRITE_1 (0x4ul | 0x1ul << 20 | 0x3ul << 22)
#define OTHER_FS 0x7000

extern const u8 diff_handler[], diff_handler_end[];

static struct lwp l;
static struct diff_program program;
static struct diff_random choices;
static u8 *code;
static u64 other_process, log_hash;
static u32 stops, signals, depth, traps, store_faults;
static bool show, show_records;

static void write_dr(u64 at, u64 watch, u64 dr7)
{
	asm volatile("mov %0, %%dr0; mov %1, %%dr1; mov %2, %%dr6; mov %3, %%dr7"
		     :
		     : "r"(at), "r"(watch), "r"(DR6_NONE), "r"(dr7));
}

static void clear_ts(void)
{
	write_cr0(read_cr0() & ~CR0_TS);
}

/* Pages that come and go: of the ring, of the block, the second one of the data. */
static u64 changing_page(u32 n)
{
	if (n < RING_PAGES)
		return RING_VA + n * PAGE_SIZE;
	return n == RING_PAGES ? CB_VA : DATA_VA + PAGE_SIZE;
}
#define CHANGING_PAGES (RING_PAGES + 2)

static bool page_changes(u64 va)
{
	for (u32 i = 0; i < CHANGING_PAGES; i++) {
		if ((va & PAGE_MASK) == changing_page(i))
			return true;
	}
	return false;
}

static void all_pages_come(void)
{
	for (u32 i = 0; i < CHANGING_PAGES; i++)
		as_protect(l.cr3, changing_page(i), PAGE_USER_RW);
}

/* All registers go to the user stack, as an OS does it; the handler is always 64-bit code. */
static void deliver_signal(u64 resume)
{
	struct regs *r = &l.u.r;
	u64 sp = (r->rsp - SIGNAL_GAP - sizeof(*r)) & ~15ul;

	diff_rows[DIFF_ROW_SIGNAL]++;
	signals++;
	depth++;
	r->rip = resume;
	memcpy(l.stack + (sp - STACK_VA), r, sizeof(*r));
	r->rsp = sp;
	r->rip = DIFF_CODE_VA + program.length;
	r->cs = USER_CS64;
	r->rflags &= ~(RFLAGS_TF | RFLAGS_RF);
	r->rdi = DATA_VA;
}

static void signal_returns(void)
{
	if (!depth)
		return;
	depth--;
	memcpy(&l.u.r, l.stack + (l.u.r.rsp - STACK_VA), sizeof(l.u.r));
}

static bool may_signal(void)
{
	return depth < MAX_DEPTH && signals < MAX_SIGNALS;
}

static void another_thread(void)
{
	wrmsr(MSR_FS_BASE, OTHER_FS);
	lwp_touch();
	wrmsr(MSR_FS_BASE, 0);
}

static void another_process(void)
{
	write_cr3(other_process);
	lwp_touch();
	write_cr3(l.cr3);
}

static void system_call(u32 number)
{
	static const u64 rights[] = { PAGE_NONE, PAGE_USER_RO, PAGE_KERNEL_RW };

	switch (number) {
	case DIFF_SYS_DRAIN:
		cb_set_tail(&l, cb_head(&l));
		break;
	case DIFF_SYS_UNMAP:
		as_protect(l.cr3, changing_page(diff_below(&choices, CHANGING_PAGES)),
			   rights[diff_below(&choices, 3)]);
		break;
	case DIFF_SYS_THREAD:
		another_thread();
		break;
	case DIFF_SYS_PROCESS:
		another_process();
		break;
	case DIFF_SYS_SIGNAL:
		if (may_signal())
			deliver_signal(l.u.r.rip);
		break;
	case DIFF_SYS_RETURN:
		signal_returns();
		break;
	}
}

static void after_syscall(void)
{
	bool sysret = l.u.r.cs == USER_CS64 && l.u.r.rcx == l.u.r.rip &&
		      l.u.r.r11 == l.u.r.rflags && diff_below(&choices, 2);

	l.u.enter_by_sysret = sysret;
	diff_rows[sysret ? DIFF_ROW_SYSRET : DIFF_ROW_IRET]++;
}

static void debug_trap(void)
{
	u64 dr6 = take_dr6() & DR6_MASK;

	log_hash = hash(log_hash, &dr6, sizeof(dr6));
	if (show)
		report_note("  dr6 %lx", dr6);
	if (l.u.r.rip == DIFF_CODE_VA + program.break_at)
		l.u.r.rflags |= RFLAGS_RF;
	if (l.u.r.rflags & RFLAGS_TF && ++traps % MAX_TRAPS == 0)
		l.u.r.rflags &= ~RFLAGS_TF;
}

static void page_fault(void)
{
	if (page_changes(l.u.cr2)) {
		store_faults += l.u.cr2 < DATA_VA;
		if (may_signal() && !diff_below(&choices, 4))
			deliver_signal(l.u.r.rip);
		else
			as_protect(l.cr3, l.u.cr2 & PAGE_MASK, PAGE_USER_RW);
	} else if (may_signal() && !diff_below(&choices, 3)) {
		deliver_signal(l.u.r.rbx);
	} else {
		l.u.r.rip = l.u.r.rbx;
	}
}

/* What the kernel does with a stop. false: the program has ended. */
static bool handle(void)
{
	switch (l.u.r.vector) {
	case VEC_EXIT_GATE:
		return false;
	case VEC_SYSCALL:
		system_call((u32)l.u.r.rax);
		after_syscall();
		break;
	case VEC_BP:
		system_call((u32)l.u.r.rax);
		break;
	case VEC_OF:
		break;
	case VEC_DB:
		debug_trap();
		break;
	case VEC_NM:
		clear_ts();
		break;
	case VEC_PF:
		page_fault();
		break;
	default:
		if (may_signal() && !diff_below(&choices, 3))
			deliver_signal(l.u.r.rbx);
		else
			l.u.r.rip = l.u.r.rbx;
	}
	return true;
}

static void log_stop(void)
{
	const struct regs *r = &l.u.r;
	u64 cr2 = r->vector == VEC_PF ? l.u.cr2 : 0;

	log_hash = hash(log_hash, r, sizeof(*r));
	log_hash = hash(log_hash, &cr2, sizeof(cr2));
	if (show)
		report_note(
			"  stop %u: vector %u error %lx cr2 %lx cs %x rip %lx rflags %lx head %lx",
			stops, (u32)r->vector, r->error, cr2, (u32)r->cs, r->rip, r->rflags,
			cb_head(&l));
}

static void prepare(u32 seed, u32 n)
{
	choices.state = (u64)n << 32 | seed;
	program.code = code;
	program.room = DIFF_CODE_PAGES * PAGE_SIZE - 64;
	diff_generate(&program, seed, n);
	memcpy(code + program.length, diff_handler, (u64)(diff_handler_end - diff_handler));
	all_pages_come();
	memset(l.data, 0x5a, DATA_PAGES * PAGE_SIZE);
	memset(l.stack, 0, STACK_PAGES * PAGE_SIZE);
	lwp_prepare(&l, &program.block, (const char *)DIFF_CODE_VA);
	l.u.r.r13 = DIFF_APIC_VA;
	l.u.r.rflags |= (program.process ? 0 : RFLAGS_IOPL) | (program.irqs ? RFLAGS_IF : 0);
	write_cr0(read_cr0() | CR0_TS | CR0_NE);
	log_hash = HASH_START;
	stops = signals = depth = traps = 0;
	write_dr(DIFF_CODE_VA + program.break_at, DATA_VA + DIFF_WATCH,
		 (program.break_at == DIFF_NO_BREAK ? 0 : DR7_EXECUTE_0) |
			 (program.watch ? DR7_WRITE_1 : 0));
}

static void show_memory(const char *name, const u8 *from, u32 size)
{
	for (u32 i = 0; i < size; i++) {
		if (i % 32 == 0)
			print("\n# %s %03x ", name, i);
		print("%02x", from[i]);
	}
	print("\n");
}

/* Run program n; true: it came to its end. */
static bool run(u32 seed, u32 n)
{
	prepare(seed, n);
	do {
		l.u.enter_by_sysret &= l.u.r.vector == VEC_SYSCALL;
		user_run(&l.u);
		log_stop();
	} while (++stops < MAX_STOPS && handle());
	write_dr(0, 0, 0);
	clear_ts();
	all_pages_come();
	diff_rows[DIFF_ROW_MISSED] += cb_missed(&l) != 0;
	diff_dump(&l, n, log_hash, stops);
	if (show_records)
		diff_print_records(&l, &program.block);
	if (show) {
		show_memory("block", l.cb, 192);
		show_memory("ring", l.ring + (program.block.base - RING_VA), program.block.size);
		show_memory("data", l.data, 512);
		show_memory("code", code, program.length);
	}
	lwp_stop();
	return stops < MAX_STOPS;
}

/* The histogram; returns how many rows are empty. */
static u32 histogram(void)
{
	const struct snip *s;
	u32 empty = 0;

	for (s = diff_snips; s < diff_snips_end; s++) {
		report_note("%6u %s", s->count, s->name);
		empty += !s->count;
	}
	for (u32 i = 0; i < DIFF_ROWS; i++) {
		report_note("%6u %s", diff_rows[i], diff_row_names[i]);
		empty += !diff_rows[i];
	}
	return empty;
}

FLAT_TEST(diff)
{
	u32 seed = option_number("seed", 1), first = option_number("first", 0);
	u32 count = option_number("count", ALL_ROWS), ended = 0, empty;
	bool all;

	program.spin = option_number("spin", 0);
	program.interval = option_number("interval", 0);
	program.counters = option_number("counters", 0);
	program.process = option_number("process", 0);
	show = option_number("show", 0);
	show_records = option_number("records", 0);
	lwp_init(&l);
	code = as_alloc(l.cr3, DIFF_CODE_VA, DIFF_CODE_PAGES, PAGE_USER_RW);
	as_map(l.cr3, DIFF_APIC_VA, APIC_BASE, 1, PAGE_USER_RW | PTE_PCD | PTE_PWT);
	as_map(l.cr3, DIFF_ABSENT_VA, 0, 1, PAGE_NONE);
	other_process = as_new();
	seg_set(USER_FREE_CS, 0x1000, 0xfffff, SEG_USER_CODE, SEG_32BIT_PAGES);
	seg_set(USER_FREE_DS, 0, 0xfffff, SEG_USER_DATA & 0x7f, SEG_32BIT_PAGES);
	irq_set_handler(DIFF_IRQ, count_irq);
	irq_set_handler(VEC_NMI, note_nmi);
	for (u32 n = first; n < first + count; n++)
		ended += run(seed, n);
	diff_rows[DIFF_ROW_RING_FAULT] = store_faults;
	report_eq(ended, count, "every program comes to its end");
	all = count >= ALL_ROWS && !program.process;
	report(!all || (irqs && nmis), "interrupts and NMIs came");
	empty = histogram();
	/* No ring fills with long intervals. */
	report(!all || program.interval || !empty, "every row of the histogram has been used");
}
