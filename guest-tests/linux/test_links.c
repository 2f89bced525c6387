// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Code that calls a function of another page, directly and by a register, while that page changes: another one is mapped
 * there, it is written to by another address, taken away, has another content in another process, gets a breakpoint. An
 * emulator that remembers where a jump leads must look again each time.
 */
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lwptest.h"

#define PAGE 4096
#define CALLS 1000 /* of each kind */
#define TURNS 20
#define LAST (3 + TURNS) /* value of the first function in the end */
#define CALLER ((uint8_t *)0x10000000)
#define CALLED (CALLER + PAGE) /* two pages */

static int pages; /* a file of four: two contents of the two pages */
static sigjmp_buf before;

/* "add $value, %ebx; ret", in a content of the pages */
static void put(unsigned int content, unsigned int at, uint32_t value)
{
	uint8_t code[] = { 0x81, 0xc3, 0, 0, 0, 0, 0xc3 };

	memcpy(code + 2, &value, sizeof(value));
	if (pwrite(pages, code, sizeof(code), (off_t)content * 2 * PAGE + at) != sizeof(code))
		tap_error("the code cannot be written");
}

/* The page shows that of a content from now on. */
static void show(unsigned int page, unsigned int content)
{
	if (mmap(CALLED + page * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED, pages,
		 (off_t)(content * 2 + page) * PAGE) == MAP_FAILED)
		tap_error("the page cannot be mapped");
}

/* What the function at an offset adds, called CALLS times directly and as often by a register. */
static unsigned int sum(unsigned int at)
{
	uint8_t code[] = {
		0x53, 0x31, 0xdb, 0x89, 0xf9, /* push %rbx; xor %ebx, %ebx; mov %edi, %ecx */
		0xe8, 0,    0,	  0,	0,    0xff, 0xd6, /* call; call *%rsi */
		0xff, 0xc9, 0x75, 0xf5, 0x89, 0xd8, 0x5b,
		0xc3, /* dec %ecx; jnz; mov %ebx, %eax; pop %rbx; ret */
	};
	int32_t distance = (int32_t)(CALLED + at - (CALLER + 10));

	memcpy(code + 6, &distance, sizeof(distance));
	if (memcmp(CALLER, code, sizeof(code)) != 0)
		memcpy(CALLER, code, sizeof(code));
	return ((unsigned int (*)(unsigned int, void *))(void *)CALLER)(CALLS, CALLED + at);
}

/* The same for a value. */
static bool adds(unsigned int at, unsigned int value)
{
	return sum(at) == 2 * CALLS * value;
}

static void caught(int number)
{
	siglongjmp(before, number);
}

static bool faults(unsigned int at)
{
	volatile bool found = true;

	signal(SIGSEGV, caught);
	if (!sigsetjmp(before, 1)) {
		sum(at);
		found = false;
	}
	signal(SIGSEGV, SIG_DFL);
	return found;
}

/* The parent's page has content 0, the child's content 1; they take turns on one processor. */
static bool apart(unsigned int ours, unsigned int childs)
{
	int to[2], from[2], status;
	bool right = true;
	char byte = 0;

	if (pipe(to) || pipe(from))
		tap_error("no pipes");
	if (fork() == 0) {
		show(0, 1);
		close(to[1]);
		while (right && read(to[0], &byte, 1) == 1)
			right = adds(0, childs) && write(from[1], &byte, 1) == 1;
		_exit(!right);
	}
	close(from[1]);
	for (unsigned int i = 0; right && i < TURNS; i++)
		right = adds(0, ours) && write(to[1], &byte, 1) == 1 &&
			read(from[0], &byte, 1) == 1;
	close(to[1]);
	return wait(&status) > 0 && status == 0 && right;
}

static int event(struct perf_event_attr *attr)
{
	int fd;

	attr->size = sizeof(*attr);
	attr->exclude_kernel = 1;
	fd = (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, 0);
	if (fd < 0)
		tap_error("there are no events");
	return fd;
}

/*
 * How often a breakpoint at the function was hit by its calls. The way there is known before; with its first event Linux
 * changes its own code, after which an emulator may look at all ways again.
 */
static uint64_t hits(unsigned int at)
{
	struct perf_event_attr none = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY };
	struct perf_event_attr point = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)CALLED + at,
		.bp_len = sizeof(long),
	};
	int first = event(&none), second;
	uint64_t count = 0;

	sum(at);
	second = event(&point);
	sum(at);
	if (read(second, &count, sizeof(count)) != sizeof(count))
		tap_error("the breakpoint has no count");
	close(second);
	close(first);
	return count;
}

int main(void)
{
	const unsigned int across = PAGE - 3; /* an instruction that lies in both pages */
	int prot = PROT_READ | PROT_WRITE | PROT_EXEC;
	bool right = true;

	pages = memfd_create("pages", 0);
	if (pages < 0 || ftruncate(pages, 4 * PAGE) ||
	    mmap(CALLER, PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		tap_error("there is no memory");
	for (unsigned int content = 0; content < 2; content++) {
		put(content, 0, content + 1);
		put(content, across, 0x1000000u * (content + 1));
	}
	for (unsigned int i = 0; right && i < TURNS; i++) {
		show(0, i & 1);
		show(1, i & 1);
		right = adds(0, (i & 1) + 1) && adds(across, 0x1000000u * ((i & 1) + 1));
	}
	tap(right, "another page is mapped where a function was");
	show(0, 0);
	show(1, 0);
	sum(across);
	show(1, 1);
	tap(adds(across, 0x2000000u),
	    "another page is mapped where the rest of an instruction was");
	for (unsigned int value = 3; right && value < LAST; value++) {
		sum(0);
		put(0, 0, value);
		right = adds(0, value);
	}
	put(0, 0, LAST);
	tap(right && adds(0, LAST), "a function is written to by another address");
	tap(apart(LAST, 2), "two processes have different functions at one address");
	tap(hits(0) == 2 * CALLS, "each call hits a breakpoint");
	tap(adds(0, LAST), "the function is the same without it");
	munmap(CALLED, PAGE);
	tap(faults(0), "the page is gone");
	show(0, 1);
	tap(adds(0, 2), "a page is there again");
	mprotect(CALLED, PAGE, PROT_READ);
	tap(faults(0), "the page is no code");
	return tap_done();
}
