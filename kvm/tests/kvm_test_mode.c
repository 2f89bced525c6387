// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of modes at the head of svm/lwp_mode.c: each cell that can occur does, and no other change of mode. Other
 * tests, and a guest in a storm of switches and interrupts, do the work; the tracepoint kvm_lwp_mode tells of each
 * change.
 */
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <unistd.h>
#include "counted.h"
#include "hyper.h"
#include "tracing.h"

#define EVENT "events/kvm_lwp/kvm_lwp_mode/"
#define HISTOGRAM "hist:keys=event,from,to"

/*
 * A mode, and for each event the modes that may follow: the first letters of OFF, PASS, COUNT, NET, STEP, IRET,
 * VMRUN; e: OVER; A: AT_IRET; X: AT_INT. NULL: the event cannot come, lwp_mode.c says why. `?` first: it seldom comes.
 */
enum { ENTER, INJECT, NESTED, PARK, RESUME, DB, IRET, INT, INSN, EVENTS };
static const char *const events[EVENTS] = { "enter", "inject", "nested", "park", "resume",
					    "db",    "iret",   "int",	 "insn" };
#define ANY "opcnsie"
static const struct {
	char letter;
	const char *name;
	const char *to[EVENTS];
} table[] = {
	{ 'o', "off", { ANY, "pc", NULL, "o", ANY } },
	{ 'p', "pass", { ANY, "pc", "v", "op", ANY, NULL, "A" } },
	{ 'c', "count", { ANY, "pc", "v", "op", ANY, NULL, "AX", "X", "p" } },
	{ 'n', "net", { ANY, "pc", "?v", "op", ANY, "n", "AX", "X", "p" } },
	{ 's', "step", { ANY, "pc", NULL, "op", ANY, "s" } },
	{ 'e', "over", { ANY, "pc", NULL, "op", ANY, "e", "A", "X" } },
	{ 'i', "iret", { "i", "pc", NULL, "op", "opi", "p" } },
	{ 'v', "vmrun", { ANY, "pc", "?v" } },
	{ 'A', "at-iret", { "i", "pc", NULL, "op", "opi" } },
	{ 'X', "at-int", { "opsie", "pc", NULL, "op", "opsie" } },
};
#define ROWS (sizeof(table) / sizeof(*table))

static u64 seen[ROWS][EVENTS][ROWS];

static size_t row(const char *name)
{
	size_t i = 0;

	while (i < ROWS && strcmp(table[i].name, name))
		i++;
	return i;
}

static size_t event(const char *name)
{
	size_t i = 0;

	while (i < EVENTS && strcmp(events[i], name))
		i++;
	return i;
}

/* Read the histogram. */
static void look(void)
{
	char line[512], what[16], from[16], to[16];
	FILE *f = trace_open(EVENT "hist");
	unsigned int count;

	memset(seen, 0, sizeof(seen));
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "{ event: %15s , from: %15s , to: %15s } hitcount: %u", what, from,
			   to, &count) != 4)
			continue;
		if (row(from) < ROWS && row(to) < ROWS && event(what) < EVENTS)
			seen[row(from)][event(what)][row(to)] = count;
		else if (strcmp(what, "reset"))
			ok(false, "unknown: %s", line);
	}
	if (f)
		fclose(f);
}

/* How many cells of the table have not been seen; `say` which. */
static u32 unseen(bool say)
{
	size_t i, e, to;
	u32 n = 0;

	for (i = 0; i < ROWS; i++) {
		for (e = 0; e < EVENTS; e++) {
			for (to = 0; to < ROWS && !seen[i][e][to]; to++)
				;
			if (!table[i].to[e] || *table[i].to[e] == '?' || to < ROWS)
				continue;
			n++;
			if (say)
				diag("not seen: %s in %s", events[e], table[i].name);
		}
	}
	return n;
}

/* Run another test, and show what it says. */
static int run(const char *command)
{
	char self[PATH_MAX] = "", path[2 * PATH_MAX], line[256];
	FILE *f;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%s 2>&1", dirname(self), command);
	f = popen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		printf("# %s", line);
	return f ? pclose(f) : -1;
}

#define THREADS 4
#define PROFILED 3 /* of them; nothing counts in the last one of these */
#define VECTOR VM_DONE /* the one that a program may raise by INT n too */
#define NMI 2
#define TURNS 200 /* between two looks */
#define LOOKS 150

/*
 * A turn of its outer loop is shorter than the margin, so that a period's steps, which mostly begin after the INT,
 * come to the next one.
 */
PROGRAM(storm, "	syscall\n"
	       "1:	nop\n"
	       "	int $0x80\n"
	       "	mov $10, %ecx\n"
	       "2:	nop\n"
	       "	pushf\n"
	       "	popf\n"
	       "	loop 2b\n"
	       "	jmp 1b\n");

GUEST_CODE(handler, "	push %rax\n"
		    "	mov $0x3ff0b0, %eax\n" /* VM_APIC: EOI */
		    "	movl $0, (%rax)\n"
		    "	pop %rax\n"
		    "	iretq\n");

/* How long a few exits take, in microseconds: kernels that look for mistakes are slow. */
static u32 moment = 50;

/* A thread's block and ring; it is profiled from its LLWPCB on. */
static void begin_thread(u32 thread)
{
	u64 block = VM_BLOCK + 0x1000 * thread;
	double start;

	memmove(vm->mem + block, vm->mem + VM_BLOCK, 0x1000);
	lwp_put64(vm->mem + block + LWP_CB_BASE, VM_RING + 0x10000 * thread);
	if (thread == PROFILED - 1)
		lwp_put32(vm->mem + block + LWP_CB_FLAGS, LWP_F_VAL);
	vm_start(vm, v);
	vm_apic_on(v);
	vm_set_msr(v, FS_BASE, 0x1000 * (thread + 1));
	v->regs.rbx = block;
	vm_set_regs(v);
	start = now();
	is(vm_run(vm, v), VM_SYSCALL, "a thread is profiled");
	moment = (u32)((now() - start) * 1e6 / 8) % 10000 + 20;
}

/* The guest runs for a moment; then interrupts and another thread come to it. */
static bool turn(void)
{
	struct itimerval timer = {};
	int stop;

	/* The timer may go off before KVM_RUN, and then does again. As often short as long. */
	timer.it_value.tv_usec = (moment << rand() % 7) + rand() % moment;
	timer.it_interval = timer.it_value;
	setitimer(ITIMER_REAL, &timer, NULL);
	stop = vm_run_interruptible(vm, v);
	if (rand() % 2)
		vm_interrupt(vm, VECTOR);
	if (rand() % 4 == 0)
		ioctl(v->fd, KVM_NMI);
	if (rand() % 2)
		vm_set_msr(v, FS_BASE, 0x1000 * (1 + rand() % THREADS));
	return stop == VM_TIMEOUT;
}

/* Until each cell of the columns that it can drive has been seen. */
static void switches_and_interrupts_come_at_any_moment(void)
{
	u32 looks, turns = 0, thread;
	bool goes = true;

	begin_delivery(storm, storm_end, 0, LWP_F_IRE | LWP_F_CONT);
	event_each(2, 151); /* prime: an event is due at each place of the program's loop */
	vm_handler(vm, VECTOR, handler, handler_end);
	vm_handler(vm, NMI, handler, handler_end);
	for (thread = PROFILED; thread--;)
		begin_thread(thread);
	diag("a moment is %u us", moment);
	for (looks = 0; goes && looks < LOOKS && unseen(false); looks++) {
		for (turns = 0; goes && turns < TURNS; turns++)
			goes = turn();
		look();
	}
	setitimer(ITIMER_REAL, &(struct itimerval){}, NULL);
	ok(goes, "%u turns", looks * TURNS);
	vm_free(vm);
}

/* rbx: the guest's LWPCB; r8: its VMCB */
GUEST_CODE(hypervisor_again, "	mov %r8, %rax\n"
			     "	.byte 0x0f, 0x01, 0xda\n" /* vmload */
			     "	mov $3, %ecx\n"
			     "1:	mov %r8, %rax\n"
			     "	.byte 0x0f, 0x01, 0xd8\n" /* vmrun */
			     "	loop 1b\n"
			     "	out %al, $0x70\n");
GUEST_CODE(guest, "	llwpcb %rbx\n"
		  "	nop\n"
		  "	vmmcall\n");

/* It runs its guest again without VMSAVE, so the source continues. */
static void a_hypervisor_may_leave_the_state_on(void)
{
	struct hyper h = { 0 };

	hyper_init(&h, KVM_LWP_CONTEXT_OS, true);
	hyper_start(&h);
	vm_load(h.vm, guest, guest_end);
	block_init(h.vm, LWP_F_IRE, 128);
	block_event(h.vm, 2, 10000, 10000);
	hyper_guest(&h, 0, VM_CODE, false);
	hyper_lwp_off(&h, 0, LWP_F_IRE);
	memcpy(h.vm->mem + VM_DATA, hypervisor_again,
	       (size_t)(hypervisor_again_end - hypervisor_again));
	h.v->regs.rbx = VM_BLOCK;
	h.v->regs.r8 = HYPER_VMCB;
	vm_go_to(h.v, VM_DATA);
	is(vm_run(h.vm, h.v), HYPER_EXIT, "a guest is entered three times");
	vm_free(h.vm);
}

/* All changes that were seen are in the table. */
static void no_other_change(void)
{
	size_t i, e, to;

	for (i = 0; i < ROWS; i++) {
		for (e = 0; e < EVENTS; e++) {
			for (to = 0; to < ROWS; to++) {
				if (seen[i][e][to] &&
				    !(table[i].to[e] && strchr(table[i].to[e], table[to].letter)))
					ok(false, "%s: %s, %s %lu times", events[e], table[i].name,
					   table[to].name, seen[i][e][to]);
			}
		}
	}
}

int main(void)
{
	static const char *const programs[] = { "kvm_test_step", "kvm_test_tf", "kvm_test_debug",
						"kvm_test_nested", "kvm_test_net on" };
	size_t i;

	trace_write(EVENT "trigger", HISTOGRAM);
	for (i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		ok(!run(programs[i]), "%s", programs[i]);
	set_margin(60);
	a_hypervisor_may_leave_the_state_on();
	switches_and_interrupts_come_at_any_moment();
	look();
	trace_write(EVENT "trigger", "!" HISTOGRAM);
	is(unseen(true), 0, "every cell of the table has been seen");
	no_other_change();
	return done();
}
