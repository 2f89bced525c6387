// SPDX-License-Identifier: GPL-2.0-or-later
/* Many rows in one boot. */
#include "suite.h"
#include "apic.h"
#include "cpu.h"
#include "layout.h"
#include "lwp_cpuid.h"
#include "lwp_msr.h"
#include "lwp_state.h"
#include "paging.h"
#include "pmu.h"
#include "report.h"
#include "smp.h"
#include "test.h"
#include "x86.h"

#define TEXT_MAX (256u << 10)
#define OUTPUT_MAX (512u << 10)
#define BEGINS(line, with) (!memcmp(line, with, sizeof(with) - 1))
#define KEPT_AT PHYS_END /* the allocator ends there, and what is kept begins */
#define IMAGE_AT (KEPT_AT + (1ul << 20))
#define EDX_APIC (1u << 9)
#define EDX_HTT (1u << 28)
#define XCR0_X87 1

/* The clock: the alarm comes when the seconds are those of ALARM_SECONDS, as the others do not care. */
#define RTC_SECONDS 0
#define RTC_ALARM_SECONDS 1
#define RTC_ALARM_MINUTES 3
#define RTC_ALARM_HOURS 5
#define RTC_DO_NOT_CARE 0xc0
#define RTC_A 0xa
#define RTC_A_UPDATING 0x80
#define RTC_B 0xb
#define RTC_B_MODE 0x7
#define RTC_ALARM 0x20 /* of B: it interrupts; of C: it was it */
#define RTC_C 0xc
#define RTC_SPINS 1000000
#define RTC_IRQ 8
#define IOAPIC 0xfec00000ul
#define IOAPIC_DATA 4 /* u32 from the index */
#define IOAPIC_ENTRY(n) (0x10 + 2 * (n))
/* In CMOS RAM, above what firmware is known to use: note(). */
#define NOTE_AT 0x70

/* What outlives a row. */
struct kept {
	u32 next, end; /* numbers of rows */
	u32 minutes; /* for a row */
	u64 cfg; /* LWP_CFG as the machine had it */
	struct screen screen;
	const char *verdict; /* of the row that is over; NULL: none is */
	u32 size, printed;
	char text[TEXT_MAX + 1], output[OUTPUT_MAX + 1];
};
_Static_assert(sizeof(struct kept) <= IMAGE_AT - KEPT_AT, "the copy of the image lies after it");

static struct kept *const kept = (struct kept *)KEPT_AT;
/* In .data, so that it is put back for each row. */
static volatile bool taken __attribute__((section(".data")));
/* Another processor has ended the row; the first is told by NMI. */
static volatile bool abandoned;

extern char user_text_start[], image_loaded_end[];
extern u32 boot_la57;
_Noreturn void suite_restart(u64 image);

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of a line: *p is moved past it. 0: there is none. */
static size_t word(const char **p, const char **start)
{
	while (is_space(**p))
		++*p;
	*start = *p;
	while (**p && **p != '\n' && !is_space(**p))
		++*p;
	return (size_t)(*p - *start);
}

static bool same(const char *a, size_t n, const char *b, size_t m)
{
	return n == m && !memcmp(a, b, n);
}

static size_t length(const char *text)
{
	size_t n = 0;

	while (text[n] && text[n] != ' ')
		n++;
	return n;
}

static const char *next_line(const char *p)
{
	while (*p && *p != '\n')
		p++;
	return *p ? p + 1 : p;
}

/* After the word `kind` of the nth line that begins with it, or NULL. */
static const char *find(const char *kind, u32 n)
{
	const char *p, *start;
	u32 i = 0;

	for (p = kept->text; *p; p = next_line(p)) {
		const char *rest = p;
		size_t len = word(&rest, &start);

		if (same(start, len, kind, length(kind)) && i++ == n)
			return rest;
	}
	return NULL;
}

/* The number of the row of this name; `otherwise` if there is no name. */
static u32 row_of(const char *name, u32 otherwise)
{
	const char *p, *start;

	if (!name)
		return otherwise;
	for (u32 i = 0; (p = find("row", i)); i++) {
		size_t len = word(&p, &start);

		if (same(start, len, name, length(name)))
			return i;
	}
	bail("no row of this name: %s", name);
}

static u32 hex(const char **p)
{
	const char *start;
	size_t n = word(p, &start);
	u32 v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 4 | (u32)(start[i] <= '9' ? start[i] - '0' : (start[i] | 0x20) - 'a' + 10);
	return v;
}

static u32 cpuid_register(u32 leaf, u32 subleaf, char name)
{
	struct cpuid id;

	/* A leaf beyond the last is nothing, whatever the processor says then. */
	if (leaf > cpuid(leaf & 0x80000000u, 0).a)
		return 0;
	id = cpuid(leaf, subleaf);
	return name == 'a' ? id.a : name == 'b' ? id.b : name == 'c' ? id.c : id.d;
}

/* Does the processor have what the need's line, after its name, asks for? */
static bool meets(const char *p)
{
	u32 leaf = hex(&p), subleaf = hex(&p), mask, least, has;
	const char *name;

	/* "ecx" */
	if (word(&p, &name) != 3)
		bail("a need without a register");
	mask = hex(&p);
	least = hex(&p);
	has = cpuid_register(leaf, subleaf, name[1]) & mask;
	return has >= least && has <= hex(&p);
}

/* The first of the needs "a,b,c" that the processor does not meet: its length; 0: it meets all. */
static size_t lacks(const char *needs, size_t len, const char **which)
{
	const char *end = needs + len, *p, *start;
	size_t n;

	for (; needs < end; needs += n + 1) {
		bool met = false;

		for (n = 0; needs + n < end && needs[n] != ','; n++)
			;
		for (u32 i = 0; !met && (p = find("need", i)); i++) {
			size_t named = word(&p, &start);

			met = same(start, named, needs, n) && meets(p);
		}
		*which = needs;
		if (!met)
			return n;
	}
	return 0;
}

/* Logical processors of the package, by CPUID. */
static u32 processors(void)
{
	struct cpuid id = cpuid(1, 0);

	return id.d & EDX_HTT ? id.b >> 16 & 0xff : 1;
}

static u32 cpus_wanted(const char *words)
{
	const char *start;
	size_t n;

	while ((n = word(&words, &start))) {
		if (n > 5 && !memcmp(start, "cpus=", 5))
			return (u32)(start[5] - '0');
	}
	return 1;
}

static void print_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		print("%c", text[i]);
}

static _Noreturn void skip(const char *name, size_t name_len, const char *why, size_t why_len)
{
	print("TAP version 13\nok 1 - ");
	print_text(name, name_len);
	print(" # SKIP needs ");
	print_text(why, why_len);
	print("\n1..1\n");
	suite_next("skipped");
}

/* Does the row that is next have this need? */
static bool next_needs(const char *need)
{
	const char *p = find("row", kept->next), *start;
	size_t len;

	if (!p || !word(&p, &start))
		return false;
	len = word(&p, &start);
	for (; len >= length(need); start++, len--) {
		if (same(start, length(need), need, length(need)) &&
		    (len == length(need) || start[length(need)] == ','))
			return true;
	}
	return false;
}

static _Noreturn void restart(void)
{
	u64 offset = (u64)&boot_la57 - (u64)user_text_start;

	*(u32 *)(IMAGE_AT + offset) = next_needs("la57") ? BOOT_LA57 : 0;
	suite_restart(IMAGE_AT);
}

/* For the report: which processor it is, and what it announces. */
static void print_leaf(u32 leaf)
{
	print("# cpuid %08x:", leaf);
	for (const char *name = "abcd"; *name; name++)
		print(" %08x", cpuid_register(leaf, 0, *name));
	print("\n");
}

/* For the boot after a reset: a sum of the file of rows, the row in progress and the end, and a sum of these. */
static u32 note(void)
{
	u32 n = 0;

	for (const char *p = kept->text; *p; p++)
		n += (u8)*p;
	n = (n & 0xff) | (kept->next & 0xff) << 8 | (kept->end & 0xff) << 16;
	return n | ~(n + 3 * (n >> 8) + 5 * (n >> 16)) << 24;
}

static void write_note(void)
{
	for (u32 i = 0; i < sizeof(u32); i++)
		cmos_write((u8)(NOTE_AT + i), (u8)(note() >> 8 * i));
}

/* Begin where a reset has ended the suite. False: it has not. */
static bool read_note(u32 rows)
{
	u32 n = 0;

	for (u32 i = 0; i < sizeof(n); i++)
		n |= (u32)cmos_read((u8)(NOTE_AT + i)) << 8 * i;
	kept->next = n >> 8 & 0xff;
	kept->end = n >> 16 & 0xff;
	return n == note() && kept->next <= kept->end && kept->end <= rows;
}

/* The clock's alarm is an NMI of this processor. */
static void route_alarm(void)
{
	volatile u32 *index = (u32 *)IOAPIC;

	if (!(cpuid_register(1, 0, 'd') & EDX_APIC))
		return;
	*index = IOAPIC_ENTRY(RTC_IRQ) + 1;
	index[IOAPIC_DATA] = (u32)apic_id() << 24;
	*index = IOAPIC_ENTRY(RTC_IRQ);
	index[IOAPIC_DATA] = ICR_NMI;
}

/* Let the alarm come in each minute from now. */
static void set_alarm(void)
{
	for (u32 i = 0; i < RTC_SPINS && cmos_read(RTC_A) & RTC_A_UPDATING; i++)
		pause();
	cmos_write(RTC_ALARM_SECONDS, cmos_read(RTC_SECONDS));
	cmos_write(RTC_ALARM_MINUTES, RTC_DO_NOT_CARE);
	cmos_write(RTC_ALARM_HOURS, RTC_DO_NOT_CARE);
	cmos_write(RTC_B, (cmos_read(RTC_B) & RTC_B_MODE) | RTC_ALARM);
	cmos_read(RTC_C);
}

bool suite_alarm(void)
{
	static u32 alarms;

	if (!taken || !(cmos_read(RTC_C) & RTC_ALARM))
		return false;
	if (++alarms >= kept->minutes)
		bail("the row hangs: it has no end after %u min", alarms);
	return true;
}

void suite_take(const char *text, size_t size, const char *only, const char *from,
		const struct screen *screen)
{
	bool lwp = cpuid_register(0x80000001, 0, 'c') & LWP_CPUID_PRESENT_ECX;
	u32 rows;

	if (size > TEXT_MAX)
		bail("the file of rows has more than %u bytes", TEXT_MAX);
	for (size_t i = 0; i < size; i++)
		kept->text[i] = text[i];
	kept->text[size] = '\0';
	kept->size = (u32)size;
	kept->minutes = option_number("minutes", 1);
	kept->screen = screen ? *screen : (struct screen){ 0 };
	kept->screen.line = kept->screen.column = kept->printed = 0;
	for (rows = 0; find("row", rows); rows++)
		;
	kept->verdict = NULL;
	kept->cfg = lwp ? rdmsr(LWP_MSR_CFG) : 0;
	if (!only && !from && read_note(rows)) {
		taken = true;
		kept->verdict = "reset";
		print("\nBail out! the row has reset the machine\n# suite: continues\n");
	} else {
		kept->next = row_of(only ? only : from, 0);
		kept->end = only ? kept->next + 1 : rows;
		taken = true;
		print("\n# suite: %u rows\n", kept->end - kept->next);
		print_leaf(1);
		print_leaf(LWP_CPUID_LEAF);
		if (lwp)
			print("# msr %08x: %016lx\n", LWP_MSR_CFG, kept->cfg);
	}
	memcpy((void *)IMAGE_AT, user_text_start, (size_t)(image_loaded_end - user_text_start));
	route_alarm();
	restart();
}

bool suite_is_on(void)
{
	return taken;
}

bool suite_is_abandoned(void)
{
	return abandoned;
}

void suite_begin_row(char *line, size_t size)
{
	const char *p, *name, *needs, *which;
	size_t name_len, needs_len, n, i;
	static const char os[] = " context=os";

	if (kept->next == kept->end) {
		print("\n# suite: end\n");
		taken = false;
		kept->end = 0;
		write_note();
		cmos_write(RTC_B, cmos_read(RTC_B) & RTC_B_MODE);
		report_leave(FLAT_EXIT_PASS);
	}
	p = find("row", kept->next++);
	write_note();
	set_alarm();
	name_len = word(&p, &name);
	needs_len = word(&p, &needs);
	print("\n# row ");
	print_text(name, name_len);
	print("\n");
	n = same(needs, needs_len, "-", 1) ? 0 : lacks(needs, needs_len, &which);
	if (n)
		skip(name, name_len, which, n);
	if (processors() < cpus_wanted(p))
		skip(name, name_len, "more processors", 15);
	for (i = 0; p[i] && p[i] != '\n' && i < size - sizeof(os); i++)
		line[i] = p[i];
	line[i] = '\0';
	/* Where LWP is a component of XSAVE, the system switches it on. */
	if (cpuid_register(0xd, 0, 'd') & D0_EDX_LWP)
		memcpy(line + i, os, sizeof(os));
}

/* What a row may have left, beside memory. */
static void quiet(void)
{
	if (!smp_park()) {
		taken = false;
		bail("another processor does not answer: the suite ends here");
	}
	if (cpuid_register(0x80000001, 0, 'c') & LWP_CPUID_PRESENT_ECX) {
		try_wrmsr(LWP_MSR_CBADDR, 0);
		try_wrmsr(LWP_MSR_CFG, kept->cfg);
	}
	if (read_cr4() & CR4_OSXSAVE)
		try_xsetbv(0, XCR0_X87);
	for (u32 i = 0; pmu_present() && i < PERF_COUNTERS; i++)
		try_wrmsr(MSR_PERF_CTL(i), 0);
	write_cr8(0);
	wrmsr(MSR_FS_BASE, 0);
	wrmsr(MSR_GS_BASE, 0);
	asm volatile("mov %0, %%dr7" : : "r"(DR7_NONE));
	if (cpuid_register(1, 0, 'd') & EDX_APIC)
		apic_set_lvtpc(LVT_MASKED);
}

void suite_keep(const char *text, size_t n)
{
	for (; taken && n && kept->printed < OUTPUT_MAX; n--)
		kept->output[kept->printed++] = *text++;
}

static void show(const char *text, size_t n)
{
	screen_write(&kept->screen, text, n);
}

/* A line that fails at judge.py's level `certain`; other points tell what the sources leave open. */
static bool fails(const char *p, const char *end)
{
	return BEGINS(p, "Bail out!") ||
	       (BEGINS(p, "not ok ") && (end[-2] != ']' || BEGINS(end - 9, "certain]")));
}

void suite_show(void)
{
	const char *p, *name, *end, *verdict = kept->verdict;
	size_t n;

	kept->output[kept->printed] = '\0';
	for (p = kept->output; *p; p = end) {
		end = next_line(p);
		if (fails(p, end))
			verdict = "FAILS";
	}
	if (kept->verdict && (p = find("row", kept->next - 1))) {
		n = word(&p, &name);
		show(name, n);
		show(" ", 1);
		show(verdict, length(verdict));
		show("  ", 2);
	}
	for (p = kept->output; *p; p = end) {
		end = next_line(p);
		if (fails(p, end) || BEGINS(p, "# answer") || BEGINS(p, "# suite") ||
		    BEGINS(p, "# cpuid") || BEGINS(p, "# msr"))
			show(p, (size_t)(end - p));
	}
	kept->printed = 0;
	if (kept->next == kept->end)
		show("\n# suite: end\n", 14);
}

void suite_next(const char *verdict)
{
	if (verdict)
		kept->verdict = verdict;
	if (cpu_index()) {
		abandoned = true;
		apic_send_nmi(0);
		for (;;)
			asm volatile("cli; hlt");
	}
	write_cr3(kernel_cr3());
	quiet();
	restart();
}
