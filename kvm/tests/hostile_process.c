// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Hostile programs at CPL 3, on two vCPUs in turns. Three of them: two threads of one address space and one of
 * another, which use the same linear addresses and the same FS bases. Their blocks are random and change while
 * they are in use, and a third vCPU unmaps and maps their rings all the time. In every second round a fourth
 * rewrites their code. Now and then the first address space ends, and another program gets its CR3 that knows
 * nothing of LWP.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "hostile.h"

#define PROGRAMS 3
#define STOPS 400 /* of each vCPU in a round */
#define POINTERS 256
#define CODE(n) (VM_CODE + (n)*0x4000)
#define TABLE(n) (VM_DATA + (n)*0x1000)
#define UNMAP_CODE (VM_CODE + 0x20000)
#define IDLE_CODE (VM_CODE + 0x24000)
#define REWRITER_CODE (VM_CODE + 0x28000)
#define CR4_FSGSBASE 0x10000

/* rsi: table of pointers, r12: seed, r13: signature in the program's records */
extern const u8 rewritten[];
GUEST_CODE(attack, "	imul $0x41c64e6d, %r12d, %r12d\n"
		   "	add $12345, %r12d\n"
		   "	mov %r12d, %eax\n"
		   "	shr $24, %eax\n"
		   "	mov (%rsi,%rax,8), %rbx\n"
		   "	llwpcb %rbx\n"
		   "	mov %r13, %rdx\n"
		   "	mov %r12d, %ecx\n"
		   "	and $31, %ecx\n"
		   "	inc %ecx\n"
		   "1:	lwpins $1, %ecx, %rdx\n"
		   "	lwpval $2, (%rsi), %rdx\n"
		   "rewritten:\n"
		   "	pushf\n"
		   "	popf\n"
		   "	loop 1b\n"
		   "	slwpcb %rax\n"
		   "	syscall\n"
		   "	jmp attack\n");

GUEST_CODE(idle, "	nop\n"
		 "	nop\n"
		 "	syscall\n"
		 "	jmp idle\n");

/* rsi: page table entries, r8d: mask of their number; at CPL 0 */
GUEST_CODE(unmap, "	imul $0x41c64e6d, %r12d, %r12d\n"
		  "	add $12345, %r12d\n"
		  "	mov %r12d, %ecx\n"
		  "	shr $16, %ecx\n"
		  "	and %r8d, %ecx\n"
		  "	mov %r12d, %edx\n"
		  "	shr $28, %edx\n"
		  "	and $3, %edx\n"
		  "	lock btcq %rdx, (%rsi,%rcx,8)\n"
		  "	jmp unmap\n");

/* rsi: `rewritten` of program 0; at CPL 3. Each program's turn comes, and that of memory without a program. */
GUEST_CODE(
	rewriter,
	"	lea 2f(%rip), %rdi\n"
	"1:	imul $0x41c64e6d, %r12d, %r12d\n"
	"	add $12345, %r12d\n"
	"	mov %r12d, %eax\n"
	"	shr $28, %eax\n"
	"	movzbl (%rdi,%rax), %eax\n"
	"	mov %r12d, %ecx\n"
	"	shr $20, %ecx\n"
	"	and $0xc001, %ecx\n" /* a distance of CODE(), or two; the first byte or the second */
	"	mov %al, (%rsi,%rcx)\n"
	"	mov $100, %ecx\n"
	"3:	loop 3b\n"
	"	jmp 1b\n"
	/* PUSHF, POPF; FWAIT, NOP, HLT, INT3, ICEBP, prefixes, MOV to a segment, SAHF, OUT */
	"2:	.byte 0x9c, 0x9c, 0x9d, 0x9d, 0x9c, 0x9d, 0x9b, 0x90, 0xf4, 0xcc, 0xf1, 0x0f, 0xf3, 0x8e, 0x9e, 0xee\n");

/* A program between two turns. */
struct program {
	pthread_mutex_t lock;
	struct kvm_regs regs;
	u64 cr3, fs, signature;
};

struct attack {
	struct vm *vm;
	struct program program[PROGRAMS];
	bool os; /* KVM_LWP_CONTEXT_OS: the kernel, which is us, turns LWP off when it switches */
	bool bad;
};

struct attacker {
	struct attack *a;
	struct vcpu *v;
	u64 state;
	u32 stops, kicked;
};

static u64 *entry(struct vm *vm, u64 cr3, u64 addr)
{
	return (u64 *)(vm->mem + cr3 + 0x3000) + (addr >> 12);
}

static void map_pages(struct vm *vm, u64 cr3, u64 addr, u64 physical, u64 bits)
{
	for (u32 i = 0; i < HOSTILE_PAGES; i++)
		*entry(vm, cr3, addr + i * 0x1000) = (physical + i * 0x1000) | bits;
}

static void prepare_memory(struct vm *vm)
{
	static const u64 patterns[] = { HOSTILE_READONLY, HOSTILE_KERNEL, HOSTILE_NEXT };
	u64 cr3s[] = { VM_CR3, VM_CR3_OTHER };

	for (u32 i = 0; i < 3; i++)
		fill_pattern(vm->mem + patterns[i], HOSTILE_PAGES, patterns[i]);
	for (u32 i = 0; i < 2; i++) {
		protect_kernel(vm, cr3s[i]);
		map_pages(vm, cr3s[i], HOSTILE_READONLY, HOSTILE_READONLY, 5);
		map_pages(vm, cr3s[i], HOSTILE_KERNEL, HOSTILE_KERNEL, 3);
		map_pages(vm, cr3s[i], HOSTILE_NEXT, HOSTILE_NEXT, 2);
		map_pages(vm, cr3s[i], HOSTILE_PRIVATE_OTHER, HOSTILE_PRIVATE_OTHER, 2);
	}
	map_pages(vm, VM_CR3_OTHER, HOSTILE_PRIVATE, HOSTILE_PRIVATE_OTHER, 7);
	vm_load(vm, unmap, unmap_end);
	memcpy(vm->mem + UNMAP_CODE, unmap, (size_t)(unmap_end - unmap));
	memcpy(vm->mem + REWRITER_CODE, rewriter, (size_t)(rewriter_end - rewriter));
	memcpy(vm->mem + IDLE_CODE, idle, (size_t)(idle_end - idle));
}

static void prepare_program(struct attack *a, u32 n, u64 *state)
{
	struct program *p = &a->program[n];

	pthread_mutex_init(&p->lock, NULL);
	memcpy(a->vm->mem + CODE(n), attack, (size_t)(attack_end - attack));
	for (u32 i = 0; i < POINTERS; i++)
		lwp_put64(a->vm->mem + TABLE(n) + i * 8, random_pointer(state));
	p->cr3 = n == 2 ? VM_CR3_OTHER : VM_CR3;
	p->fs = 0x1000 * (n & 1);
	/* No two programs have a byte in common: overlapping records cannot look like a third program's. */
	p->signature = 0x1112131415161718ull + n * 0x1010101010101010ull;
	p->regs.rip = CODE(n);
	p->regs.rsp = VM_STACK_TOP - n * 0x4000;
	p->regs.rflags = 0x202;
	p->regs.rsi = TABLE(n);
	p->regs.r12 = rnd(state);
	p->regs.r13 = p->signature;
}

/* Save where a stopped program continues at CPL 3. */
static void save_program(struct attack *a, struct vcpu *v, struct program *p, u32 n, int stop,
			 u64 *state)
{
	struct vm_frame f;

	p->regs = v->regs;
	if (stop == VM_SYSCALL) {
		p->regs.rip = v->regs.rcx;
		p->regs.rflags = v->regs.r11;
		p->regs.rsp = VM_STACK_TOP - n * 0x4000;
		return;
	}
	f = vm_frame(a->vm, v, stop);
	p->regs.rip = below(state, 3) ? CODE(n) : f.rip;
	p->regs.rsp = f.rsp;
	p->regs.rflags = 0x202;
	if (f.cs == 0x23)
		return;
	/* It was not at CPL 3. */
	p->regs.rip = CODE(n);
	p->regs.rsp = VM_STACK_TOP - n * 0x4000;
}

/* The kernel also changes what LWP must not depend on. */
static void enter_program(struct attacker *t, const struct kvm_regs *regs, u64 cr3, u64 fs)
{
	struct attack *a = t->a;
	struct vcpu *v = t->v;
	struct kvm_sregs s;

	vm_start(a->vm, v);
	s = vm_sregs(v);
	s.cr3 = cr3;
	s.gs.base = 0x1000 * below(&t->state, 3);
	if (below(&t->state, 2))
		s.cr4 ^= CR4_FSGSBASE;
	if (ioctl(v->fd, KVM_SET_SREGS, &s))
		a->bad = true;
	vm_set_msr(v, FS_BASE, fs);
	if (a->os)
		vm_set_msr(v, LWP_MSR_CBADDR, 0);
	v->regs = *regs;
	vm_set_regs(v);
}

static bool run(struct attacker *t, int *stop)
{
	struct kvm_run *run = t->v->run;

	*stop = vm_run_interruptible(t->a->vm, t->v);
	if (*stop < 256 || *stop == VM_SYSCALL || run->exit_reason == KVM_EXIT_INTR ||
	    run->exit_reason == KVM_EXIT_MMIO)
		return true;
	diag("a program ended the VM: exit reason %u, 0x%llx", run->exit_reason,
	     run->fail_entry.hardware_entry_failure_reason);
	t->a->bad = true;
	return false;
}

/* Map the blocks and rings of the first address space: its own, or those of the later program. */
static void map_lwp_memory(struct vm *vm, bool later)
{
	static const u64 places[] = { VM_BLOCK, VM_RING, HOSTILE_PRIVATE };

	for (u32 i = 0; i < 3; i++)
		map_pages(vm, VM_CR3, places[i], later ? HOSTILE_NEXT : places[i], 7);
}

/* Programs 0 and 1 have ended. A later program gets their CR3, and LWP must not touch its memory. */
static void reuse_cr3(struct attacker *t)
{
	struct kvm_regs regs = { .rip = IDLE_CODE, .rsp = VM_STACK_TOP, .rflags = 0x202 };
	struct attack *a = t->a;
	int stop;

	pthread_mutex_lock(&a->program[0].lock);
	pthread_mutex_lock(&a->program[1].lock);
	/* A kernel loads another CR3 before it gives the CR3 of an ended program to a new one. */
	enter_program(t, &regs, VM_CR3_OTHER, 0);
	run(t, &stop);
	map_lwp_memory(a->vm, true);
	enter_program(t, &regs, VM_CR3, 0x1000 * below(&t->state, 2));
	for (int i = 0; i < 3 && run(t, &stop); i++)
		;
	map_lwp_memory(a->vm, false);
	pthread_mutex_unlock(&a->program[1].lock);
	pthread_mutex_unlock(&a->program[0].lock);
}

/* Random changes to a program's state, by itself or by its kernel. */
static void mischief(struct attacker *t, u32 n)
{
	struct attack *a = t->a;
	u8 *mem = a->vm->mem;

	switch (below(&t->state, 6)) {
	case 0:
		random_block(&t->state, mem + VM_BLOCK + below(&t->state, HOSTILE_PAGES) * 0x1000);
		break;
	case 1:
		random_block(&t->state, mem + (n == 2 ? HOSTILE_PRIVATE_OTHER : HOSTILE_PRIVATE) +
						below(&t->state, HOSTILE_PAGES) * 0x1000);
		break;
	case 2:
		lwp_put64(mem + TABLE(n) + below(&t->state, POINTERS) * 8,
			  random_pointer(&t->state));
		break;
	case 3:
		a->program[n].fs = 0x1000 * below(&t->state, 3);
		break;
	case 4:
		lwp_put64(mem + VM_BLOCK + below(&t->state, 16) * 0x1000 + below(&t->state, 32) * 8,
			  rnd(&t->state));
		break;
	}
}

static void turn(struct attacker *t, u32 n)
{
	struct program *p = &t->a->program[n];
	u32 i, stops = 1 + below(&t->state, 8);
	int stop;

	if (pthread_mutex_trylock(&p->lock))
		return;
	enter_program(t, &p->regs, p->cr3, p->fs);
	for (i = 0; i < stops && !t->a->bad; i++) {
		t->stops++;
		if (!run(t, &stop))
			break;
		/* Interrupted: the program is still at CPL 3, or its kernel runs. */
		if (stop == VM_TIMEOUT || stop == VM_MMIO)
			continue;
		save_program(t->a, t->v, p, n, stop, &t->state);
		mischief(t, n);
		if (stop != VM_SYSCALL || below(&t->state, 2))
			enter_program(t, &p->regs, p->cr3, p->fs);
	}
	pthread_mutex_unlock(&p->lock);
}

static void *attacker_thread(void *arg)
{
	struct attacker *t = arg;

	while (t->stops < STOPS && !t->a->bad) {
		if (below(&t->state, 32))
			turn(t, below(&t->state, PROGRAMS));
		else
			reuse_cr3(t);
	}
	return NULL;
}

/* Interrupt the thread every second: a program may hang itself and its kernel. */
static void join_kicking(pthread_t thread, struct attacker *t)
{
	struct timespec until;

	do {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec++;
		pthread_kill(thread, SIGALRM);
		t->kicked++;
	} while (pthread_timedjoin_np(thread, NULL, &until));
}

static void unmap_all_the_time(struct attacker *t)
{
	vm_start_kernel(t->a->vm, t->v, UNMAP_CODE);
	t->v->regs.rsi = VM_CR3 + 0x3000 + (VM_BLOCK >> 12) * 8;
	t->v->regs.r8 = 0x1f; /* blocks and rings */
	t->v->regs.r12 = t->state;
	vm_set_regs(t->v);
	vm_run_beside(t->v);
}

/* Rewrites the programs' code, a byte at a time. */
static void rewrite_all_the_time(struct attacker *t)
{
	vm_start(t->a->vm, t->v);
	t->v->regs.rsi = CODE(0) + (u64)(rewritten - attack);
	t->v->regs.r12 = t->state;
	vm_go_to(t->v, REWRITER_CODE);
	vm_run_beside(t->v);
}

/* No program's records are in memory that it cannot reach. */
static bool signatures_are_apart(const struct attack *a)
{
	struct {
		u64 at;
		u32 program;
	} never[] = {
		{ HOSTILE_PRIVATE, 2 }, { HOSTILE_PRIVATE_OTHER, 0 }, { HOSTILE_PRIVATE_OTHER, 1 },
		{ HOSTILE_NEXT, 0 },	{ HOSTILE_NEXT, 1 },	      { HOSTILE_NEXT, 2 },
	};
	bool good = true;

	for (u32 i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		u64 signature = a->program[never[i].program].signature;

		for (u32 k = 0; k + 8 <= HOSTILE_PAGES * 0x1000; k++) {
			if (lwp_get64(a->vm->mem + never[i].at + k) != signature)
				continue;
			diag("a record of program %u is at physical address 0x%lx",
			     never[i].program, never[i].at + k);
			good = false;
			break;
		}
	}
	return good;
}

bool hostile_processes(u64 *state)
{
	struct attacker t[4] = { 0 };
	struct attack a = { .vm = vm_new_unasked(true), .os = !below(state, 4) };
	u32 i, threads = 3 + below(state, 2); /* some rounds without the rewriter */
	pthread_t thread[2];
	bool good;

	vm_ask_for_lwp(a.vm, (struct kvm_lwp_policy){ .context = a.os });
	for (i = 0; i < threads; i++) {
		t[i].a = &a;
		t[i].v = vm_add_vcpu(a.vm);
		t[i].state = rnd(state);
		if (a.os)
			vm_set_msr(t[i].v, LWP_MSR_CFG, LWP_F_IRE | LWP_F_BRE | LWP_F_VAL);
	}
	prepare_memory(a.vm);
	for (i = 0; i < PROGRAMS; i++)
		prepare_program(&a, i, state);
	for (i = 0; i < HOSTILE_PAGES; i++)
		random_block(state, a.vm->mem + VM_BLOCK + i * 0x1000);
	for (i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, attacker_thread, &t[i]);
	unmap_all_the_time(&t[2]);
	if (threads > 3)
		rewrite_all_the_time(&t[3]);
	for (i = 0; i < 2; i++)
		join_kicking(thread[i], &t[i]);
	for (i = 2; i < threads; i++)
		vm_stop(t[i].v);

	good = !a.bad && signatures_are_apart(&a);
	good &= check_pattern(a.vm, HOSTILE_READONLY, "memory that is mapped read-only");
	good &= check_pattern(a.vm, HOSTILE_KERNEL, "memory of the kernel");
	good &= check_pattern(a.vm, HOSTILE_NEXT, "memory of a later program");
	if (!good)
		diag("with %s contexts", a.os ? "os" : "auto");
	tally(a.vm);
	vm_free(a.vm);
	return good;
}
