// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of a switch between threads: a program makes SWITCHES of them in turn, by INT n, WRMSR of FS base and IRET,
 * with 1 to CONTEXTS threads, profiled or not. kvm_bench_switch [SWITCHES [CONTEXTS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include "counted.h"

#define VECTOR VM_DONE
#define MOST 1000 /* threads: what fits into the machine's memory */
#define BLOCK(thread) (VM_BLOCK + 0x10000 + (thread)*0x100ul)
#define RECORDS 32
#define RING(thread) (VM_DATA + (thread) * (u64)RECORDS * LWP_RECORD_SIZE)
#define TURN \
	0x2f0000 /* in guest memory: FS base of the running thread, and after it the last one's */
#define TURNS 5

/* The program's rounds are in r8d, and one more. */
PROGRAM(switching, "	syscall\n"
		   "1:	int $0x80\n"
		   "	mov $30, %ecx\n"
		   "2:	loop 2b\n"
		   "	dec %r8d\n"
		   "	jnz 1b\n"
		   "	syscall\n");

/* The thread with the next FS base, of 0x1000, 0x2000, ... */
GUEST_CODE(next_thread, "	push %rax\n"
			"	push %rcx\n"
			"	push %rdx\n"
			"	mov 0x2f0000, %eax\n"
			"	cmp 0x2f0004, %eax\n"
			"	jne 1f\n"
			"	xor %eax, %eax\n"
			"1:	add $0x1000, %eax\n"
			"	mov %eax, 0x2f0000\n"
			"	mov $0xc0000100, %ecx\n"
			"	xor %edx, %edx\n"
			"	wrmsr\n"
			"	pop %rdx\n"
			"	pop %rcx\n"
			"	pop %rax\n"
			"	iretq\n");

struct cost {
	double seconds, exits; /* a switch */
};

static u32 switches = 5000, contexts = MOST;

/* Up to the first SYSCALL of a thread, after its LLWPCB; block 0: it is not profiled. */
static void begin_thread(u32 thread, u64 block)
{
	vm_start(vm, v);
	vm_set_msr(v, FS_BASE, 0x1000ul * (thread + 1));
	v->regs.rbx = block;
	vm_set_regs(v);
	if (vm_run(vm, v) != VM_SYSCALL)
		ok(false, "thread %u begins", thread);
}

static struct cost measure(u32 threads, bool profiled)
{
	struct cost c;
	u64 exits;

	begin_delivery(switching, switching_end, KVM_LWP_DELIVERY_PROMPT, LWP_F_IRE | LWP_F_CONT);
	event_each(2, 10000);
	lwp_put32(vm->mem + VM_BLOCK + LWP_CB_SIZE_RANDOM, RECORDS * LWP_RECORD_SIZE);
	vm_handler(vm, VECTOR, next_thread, next_thread_end);
	for (u32 i = threads; i--;) {
		memcpy(vm->mem + BLOCK(i), vm->mem + VM_BLOCK,
		       LWP_CB_EVENT_OFFSET + 8 * LWP_CB_SLOT_SIZE);
		lwp_put64(vm->mem + BLOCK(i) + LWP_CB_BASE, RING(i));
		begin_thread(i, profiled ? BLOCK(i) : 0);
	}
	lwp_put32(vm->mem + TURN, 0x1000);
	lwp_put32(vm->mem + TURN + 4, 0x1000 * threads);
	v->regs.r8 = switches;
	vm_set_regs(v);
	exits = vm_stat(v, "exits");
	c.seconds = now();
	if (vm_run(vm, v) != VM_SYSCALL)
		ok(false, "all switches");
	c.seconds = (now() - c.seconds) / switches;
	c.exits = (double)(vm_stat(v, "exits") - exits) / switches;
	return c;
}

static int by_time(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return x->seconds < y->seconds ? -1 : x->seconds > y->seconds;
}

int main(int argc, char **argv)
{
	struct {
		const char *name;
		u32 threads;
		bool profiled;
		struct cost turn[TURNS];
	} way[] = { { "two", 2, false }, { "two profiled", 2, true }, { "all profiled", 0, true } };
	size_t turn;

	if (argc > 1)
		switches = (u32)strtoul(argv[1], NULL, 10);
	if (argc > 2)
		contexts = (u32)strtoul(argv[2], NULL, 10);
	if (contexts < 1 || contexts > MOST || !switches) {
		fprintf(stderr, "kvm_bench_switch: 1 or more switches, 1 to %u contexts\n", MOST);
		return 2;
	}
	way[2].threads = contexts;
	for (turn = 0; turn < TURNS; turn++) {
		for (size_t i = 0; i < 3; i++)
			way[i].turn[turn] = measure(way[i].threads, way[i].profiled);
	}
	printf("switches between threads: %u in each of %u turns, the median turn\n", switches,
	       TURNS);
	printf("%-14s %8s %13s %8s\n", "", "threads", "exits/switch", "slowdown");
	for (size_t i = 0; i < 3; i++) {
		qsort(way[i].turn, TURNS, sizeof(struct cost), by_time);
		printf("%-14s %8u %13.2f %8.1f\n", way[i].name, way[i].threads,
		       way[i].turn[TURNS / 2].exits,
		       way[i].turn[TURNS / 2].seconds / way[0].turn[TURNS / 2].seconds);
	}
	return 0;
}
