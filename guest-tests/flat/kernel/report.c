// SPDX-License-Identifier: GPL-2.0-or-later
/* The reporter: formatting, the serial line, TAP, and the exit device. */
#include "place.h"
#include "report.h"
#include "suite.h"
#include "x86.h"

#define SERIAL_PORT 0x3f8
#define SERIAL_FIFO (SERIAL_PORT + 2)
#define SERIAL_HAS_FIFO 0xc0
#define SERIAL_FIFO_SIZE 16
#define SERIAL_LSR (SERIAL_PORT + 5)
#define SERIAL_LSR_THRE 0x20
#define EXIT_PORT 0xf4

#define PREFIX_DEPTH 6
#define PREFIX_SIZE 48
#define ANSWER_SIZE 61

static char prefix[PREFIX_DEPTH][PREFIX_SIZE];
static int prefix_depth;
static unsigned int points, failures, fifo_size = 1;
static const char *rules; /* NULL: none is said */
static enum certainty certainty;

void report_init(void)
{
	/* 115200 baud, 8 bits, no parity; where there is firmware, it may have left the line as it likes. */
	outb(SERIAL_PORT + 3, 0x80);
	outb(SERIAL_PORT, 1);
	outb(SERIAL_PORT + 1, 0);
	outb(SERIAL_PORT + 3, 3);
	outb(SERIAL_FIFO, 1);
	fifo_size = (inb(SERIAL_FIFO) & SERIAL_HAS_FIFO) == SERIAL_HAS_FIFO ? SERIAL_FIFO_SIZE : 1;
}

/* Where formatted text goes: to a buffer, or to the serial line when there is none. */
struct out {
	char *buf;
	size_t left;
	char line[SERIAL_FIFO_SIZE]; /* on the stack: contained.c writes nothing else */
	unsigned int n;
};

/* Each access is an exit of a guest: the line is asked once for all that its FIFO takes. */
static void flush(struct out *o)
{
	while (o->n && !(inb(SERIAL_LSR) & SERIAL_LSR_THRE))
		pause();
	for (unsigned int i = 0; i < o->n; i++)
		outb(SERIAL_PORT, (u8)o->line[i]);
	suite_keep(o->line, o->n);
	o->n = 0;
}

static void put(struct out *o, char c)
{
	if (!o->buf) {
		o->line[o->n++] = c;
		if (o->n >= fifo_size)
			flush(o);
	} else if (o->left > 1) {
		*o->buf++ = c;
		o->left--;
	}
}

static void put_number(struct out *o, u64 v, unsigned int base, bool negative, int width, char pad)
{
	char digits[24];
	int n = 0;

	do {
		digits[n++] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	if (negative)
		digits[n++] = '-';
	for (; width > n; width--)
		put(o, pad);
	while (n)
		put(o, digits[--n]);
}

static void format(struct out *o, const char *fmt, va_list ap)
{
	for (; *fmt; fmt++) {
		char pad = ' ';
		int width = 0;
		bool is_long = false;
		const char *s;
		s64 d;

		if (*fmt != '%') {
			put(o, *fmt);
			continue;
		}
		if (*++fmt == '0')
			pad = *fmt++;
		while (*fmt >= '0' && *fmt <= '9')
			width = 10 * width + *fmt++ - '0';
		for (; *fmt == 'l'; fmt++)
			is_long = true;
		switch (*fmt) {
		case 's':
			for (s = va_arg(ap, const char *); *s; s++)
				put(o, *s);
			break;
		case 'c':
			put(o, (char)va_arg(ap, int));
			break;
		case 'd':
			d = is_long ? va_arg(ap, s64) : va_arg(ap, int);
			put_number(o, (u64)(d < 0 ? -d : d), 10, d < 0, width, pad);
			break;
		case 'u':
		case 'x':
			put_number(o, is_long ? va_arg(ap, u64) : va_arg(ap, u32),
				   *fmt == 'u' ? 10 : 16, false, width, pad);
			break;
		default:
			put(o, *fmt);
		}
	}
	if (o->buf)
		*o->buf = '\0';
}

static void vprint(const char *fmt, va_list ap)
{
	struct out o = { .buf = NULL };

	format(&o, fmt, ap);
	flush(&o);
}

void print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprint(fmt, ap);
	va_end(ap);
}

void report_push(const char *fmt, ...)
{
	struct out o;
	va_list ap;

	if (prefix_depth == PREFIX_DEPTH)
		bail("more than %d report prefixes", PREFIX_DEPTH);
	o.buf = prefix[prefix_depth++];
	o.left = PREFIX_SIZE;
	va_start(ap, fmt);
	format(&o, fmt, ap);
	va_end(ap);
}

void report_pop(void)
{
	prefix_depth--;
}

void rule(const char *numbers, enum certainty how)
{
	rules = numbers;
	certainty = how;
}

static void print_rule(void)
{
	static const char *const names[] = { "certain", "recalled", "choice" };

	if (rules)
		print(" [%s %s]", rules, names[certainty]);
}

static void print_point(bool ok, const char *fmt, va_list ap)
{
	if (!ok)
		failures++;
	print("%s %u - ", ok ? "ok" : "not ok", ++points);
	for (int i = 0; i < prefix_depth; i++)
		print("%s: ", prefix[i]);
	vprint(fmt, ap);
	print_rule();
}

void report_beside(const char *numbers, enum certainty how, bool cond, const char *what)
{
	const char *before = rules;
	enum certainty was = certainty;

	rule(numbers, how);
	report(cond, "%s", what);
	rule(before, was);
}

bool report_va(bool cond, const char *fmt, va_list ap)
{
	print_point(cond, fmt, ap);
	print("\n");
	return cond;
}

bool report(bool cond, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_va(cond, fmt, ap);
	va_end(ap);
	return cond;
}

bool report_eq(u64 got, u64 want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_point(got == want, fmt, ap);
	va_end(ap);
	print("\n");
	if (got != want)
		report_note("  is %lx, should be %lx", got, want);
	return got == want;
}

void report_skip(const char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_point(true, fmt, ap);
	va_end(ap);
	print(" # SKIP %s\n", why);
}

bool report_lacks(bool lacks, const char *why, const char *what)
{
	if (lacks)
		report_skip(why, "%s", what);
	return lacks;
}

static bool same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

const char *text(const char *fmt, ...)
{
	static char buf[ANSWER_SIZE];
	struct out o = { .buf = buf, .left = sizeof(buf) };
	va_list ap;

	va_start(ap, fmt);
	format(&o, fmt, ap);
	va_end(ap);
	return buf;
}

void ask(const char *id, const char *numbers, const char *what, const char *vlwp,
	 const char *answer)
{
	bool as_vlwp = same(answer, vlwp);

	report_beside(numbers, CHOICE, as_vlwp, what);
	print("# answer %s %s: %s", id, what, answer);
	print(as_vlwp ? "\n" : ", and %s in vlwp\n", vlwp);
}

void report_leave(enum flat_exit value)
{
	place_end();
	if (suite_is_on())
		suite_next(value == FLAT_EXIT_PASS ? "ok" : "differs");
	for (;;) {
		outb(EXIT_PORT, (u8)value);
		asm volatile("cli; hlt");
	}
}

void bail(const char *fmt, ...)
{
	va_list ap;

	print("\nBail out! ");
	va_start(ap, fmt);
	vprint(fmt, ap);
	va_end(ap);
	print_rule();
	print("\n");
	report_leave(FLAT_EXIT_BROKEN);
}

void report_end(void)
{
	print("1..%u\n", points);
	report_leave(failures ? FLAT_EXIT_FAIL : FLAT_EXIT_PASS);
}
