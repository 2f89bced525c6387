// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The machine of vm.h. Every exception, INT 80h and SYSCALL have a handler that does OUT to a port of
 * its own. vm_run() recognises them by the port. Then the handler returns to the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "kvm_vm.h"

#define GDT 0x1000
#define IDT 0x2000
#define TSS 0x3000
#define ENTRIES 0x8000
#define ENTRY_SIZE 16
#define SYSCALL_ENTRY (ENTRIES + 256 * ENTRY_SIZE)
#define SYSCALL_PORT 0xff
#define SYSENTER_ENTRY (SYSCALL_ENTRY + ENTRY_SIZE)
#define SYSENTER_PORT 0xfe
#define IDT32 0x4000
#define ENTRIES32 0xa000
#define HANDLER 0x20000 /* of vm_handler() */

#define KCS 0x08
#define KSS 0x10
#define USS 0x1b /* SYSRET: STAR[63:48] + 8 */
#define UCS 0x23 /* STAR[63:48] + 16 */
#define TR 0x28
#define KCS32 0x30 /* SYSENTER_CS: + 8, + 16 and + 24 are what SYSENTER and SYSEXIT load */
#define KSS32 0x38
#define UCS32 0x43
#define USS32 0x4b

#define RUN_SECONDS 300 /* a run that takes longer hangs, even on a slow machine */
#define MAX_CPUID 256 /* and one more that is added */

static unsigned int tests, failures;

static _Noreturn void broken(const char *what)
{
	printf("Bail out! %s: %m\n", what);
	exit(1);
}

void ok(bool good, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	printf("%sok %u - ", good ? "" : "not ", ++tests);
	vprintf(format, ap);
	printf("\n");
	va_end(ap);
	failures += !good;
	fflush(stdout);
}

int done(void)
{
	printf("1..%u\n", tests);
	return failures ? 1 : 0;
}

static void (*to_run[20])(void);
static size_t n_to_run;

void add_test(void (*test)(void))
{
	to_run[n_to_run++] = test;
}

void run_tests(void)
{
	for (size_t i = 0; i < n_to_run; i++)
		to_run[i]();
}

static void alarm_handler(int sig)
{
	(void)sig;
}

/* ---- guest tables ---- */

static void map_space(struct vm *vm, u64 cr3)
{
	u64 *pml4 = (u64 *)(vm->mem + cr3), *pdpt = pml4 + 512, *pd = pdpt + 512, *pt = pd + 512;

	pml4[0] = (cr3 + 0x1000) | 7;
	pdpt[0] = (cr3 + 0x2000) | 7;
	for (unsigned int i = 0; i < 2; i++)
		pd[i] = (cr3 + 0x3000 + i * 0x1000) | 7;
	for (unsigned int i = 0; i < VM_SIZE >> 12; i++)
		pt[i] = (u64)i << 12 | 7;
}

void vm_map(struct vm *vm, u64 addr, bool present)
{
	u64 spaces[] = { VM_CR3, VM_CR3_OTHER };

	for (unsigned int i = 0; i < 2; i++) {
		u64 *pte = (u64 *)(vm->mem + spaces[i] + 0x3000) + (addr >> 12);

		*pte = present ? *pte | 1 : *pte & ~(u64)1;
	}
	/* The vCPU does not know that the tables have changed: have its TLB flushed. */
	for (unsigned int i = 0; i < vm->vcpus; i++) {
		struct kvm_sregs s = vm_sregs(&vm->vcpu[i]);

		s.cr4 ^= 0x80;
		vm_set_sregs(&vm->vcpu[i], &s);
	}
}

void vm_remap(struct vm *vm, u64 addr, u64 physical)
{
	lwp_put64(vm->mem + VM_CR3 + 0x3000 + (addr >> 12) * 8, physical | 7);
}

static bool has_error_code(int vector)
{
	return vector == 8 || (vector >= 10 && vector <= 14) || vector == 17 || vector == 21;
}

static void write_entry(struct vm *vm, int vector)
{
	u8 *p = vm->mem + ENTRIES + vector * ENTRY_SIZE;

	*p++ = 0xe6; /* out %al, $vector */
	*p++ = (u8)vector;
	if (vector == VM_EOI_VECTOR) {
		memcpy(p, "\xc7\x04\x25\xb0\xf0\x3f\x00\x00\x00\x00\x00",
		       11); /* movl $0, VM_APIC + b0h */
		p += 11;
	}
	if (has_error_code(vector)) {
		memcpy(p, "\x48\x83\xc4\x08", 4); /* add $8, %rsp */
		p += 4;
	}
	memcpy(p, "\x48\xcf", 2); /* iretq */
}

/* The same for 32-bit code, with interrupt gates of its own. */
static void write_entry32(struct vm *vm, int vector)
{
	u8 *p = vm->mem + ENTRIES32 + vector * ENTRY_SIZE;
	u64 target = ENTRIES32 + (u64)vector * ENTRY_SIZE;
	u64 dpl = vector == 3 || vector == 4 || vector == VM_DONE ? 3 : 0;

	lwp_put64(vm->mem + IDT32 + vector * 8, (target & 0xffff) | KCS32 << 16 |
							(0x8e00 | dpl << 13) << 32 |
							(target >> 16) << 48);
	*p++ = 0xe6;
	*p++ = (u8)vector;
	if (has_error_code(vector)) {
		memcpy(p, "\x83\xc4\x04", 3); /* add $4, %esp */
		p += 3;
	}
	*p = 0xcf; /* iret */
}

static void write_tables(struct vm *vm)
{
	u64 *gdt = (u64 *)(vm->mem + GDT);

	map_space(vm, VM_CR3);
	map_space(vm, VM_CR3_OTHER);
	vm_remap(vm, VM_APIC, 0xfee00000);
	gdt[KCS / 8] = 0x00af9b000000ffff;
	gdt[KSS / 8] = 0x00cf93000000ffff;
	gdt[USS / 8] = 0x00cff3000000ffff;
	gdt[UCS / 8] = 0x00affb000000ffff;
	gdt[KCS32 / 8] = 0x00cf9b000000ffff;
	gdt[KSS32 / 8] = 0x00cf93000000ffff;
	gdt[UCS32 / 8] = 0x00cffb000000ffff;
	gdt[USS32 / 8] = 0x00cff3000000ffff;
	for (int i = 0; i < 256; i++) {
		u64 target = ENTRIES + (u64)i * ENTRY_SIZE;
		u64 *gate = (u64 *)(vm->mem + IDT + i * 16);
		/* The program may use INT n. */
		u64 dpl = i == 1 || i == 3 || i == 4 || i == VM_DONE ? 3 : 0;

		gate[0] = (target & 0xffff) | KCS << 16 | (0x8e00 | dpl << 13) << 32 |
			  (target >> 16 & 0xffff) << 48;
		gate[1] = target >> 32;
		write_entry(vm, i);
		write_entry32(vm, i);
	}
	memcpy(vm->mem + SYSENTER_ENTRY, "\xe6\xfe\x0f\x35", 4); /* out %al, $0xfe; sysexit */
	memcpy(vm->mem + SYSCALL_ENTRY, "\xe6\xff\x48\x0f\x07", 5); /* out %al, $0xff; sysretq */
}

/* ---- set-up ---- */

struct kvm_cpuid_entry2 *vm_leaf(struct vm *vm, u32 function)
{
	struct kvm_cpuid_entry2 *e = vm->cpuid->entries;

	for (; e < vm->cpuid->entries + vm->cpuid->nent; e++)
		if (e->function == function)
			return e;
	return NULL;
}

/* Write what the host offers into the CPUID of the vCPUs to come. */
static void announce(struct vm *vm, const struct kvm_lwp_leaf *leaf)
{
	struct kvm_cpuid_entry2 *e = vm_leaf(vm, LWP_CPUID_LEAF);

	if (!e)
		e = &vm->cpuid->entries[vm->cpuid->nent++];
	*e = (struct kvm_cpuid_entry2){ LWP_CPUID_LEAF, .eax = leaf->eax, leaf->ebx, leaf->ecx,
					leaf->edx };
	e = vm_leaf(vm, LWP_CPUID_PRESENT_LEAF);
	e->ecx |= LWP_CPUID_PRESENT_ECX;
	e = vm_leaf(vm, 0x80000000);
	if (e->eax < LWP_CPUID_LEAF)
		e->eax = LWP_CPUID_LEAF;
}

int vm_ask_for_lwp(struct vm *vm, struct kvm_lwp_policy policy)
{
	struct kvm_lwp_leaf leaf;
	int r = lwp_set(vm, VM, POLICY, &policy);

	if (r)
		return r;
	if (lwp_get(vm, VM, LEAF, &leaf))
		broken("KVM_LWP_VM_LEAF");
	announce(vm, &leaf);
	return 0;
}

struct vm *vm_new(bool apic)
{
	struct vm *vm = vm_new_unasked(apic);

	/* Records name the instruction of the event. Without LWP it does nothing. */
	vm_ask_for_lwp(vm, (struct kvm_lwp_policy){ .delivery = KVM_LWP_DELIVERY_EXACT });
	return vm;
}

struct vm *vm_new_unasked(bool apic)
{
	struct sigaction sa = { .sa_handler = alarm_handler };
	struct kvm_userspace_memory_region region = { .memory_size = VM_SIZE };
	struct vm *vm = calloc(1, sizeof(*vm));

	sigaction(SIGALRM, &sa, NULL);
	vm->kvm = open("/dev/kvm", O_RDWR);
	if (vm->kvm < 0)
		skip_all("no /dev/kvm");
	vm->fd = ioctl(vm->kvm, KVM_CREATE_VM, 0);
	if (vm->fd < 0)
		broken("KVM_CREATE_VM");
	vm->mem = mmap(NULL, VM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	/* How often a vCPU exits must not depend on whether the host finds huge pages. */
	madvise(vm->mem, VM_SIZE, MADV_NOHUGEPAGE);
	region.userspace_addr = (u64)vm->mem;
	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region))
		broken("KVM_SET_USER_MEMORY_REGION");
	region.slot = 1 << 16; /* the same for SMM */
	if (ioctl(vm->fd, KVM_SET_USER_MEMORY_REGION, &region))
		broken("KVM_SET_USER_MEMORY_REGION for SMM");
	if (apic && ioctl(vm->fd, KVM_CREATE_IRQCHIP))
		broken("KVM_CREATE_IRQCHIP");
	vm->cpuid = calloc(1, sizeof(*vm->cpuid) + (MAX_CPUID + 1) * sizeof(vm->cpuid->entries[0]));
	vm->cpuid->nent = MAX_CPUID;
	if (ioctl(vm->kvm, KVM_GET_SUPPORTED_CPUID, vm->cpuid))
		broken("KVM_GET_SUPPORTED_CPUID");
	write_tables(vm);
	return vm;
}

void vm_free(struct vm *vm)
{
	if (!vm)
		return;
	for (unsigned int i = 0; i < vm->vcpus; i++) {
		munmap(vm->vcpu[i].run, (size_t)ioctl(vm->kvm, KVM_GET_VCPU_MMAP_SIZE, 0));
		close(vm->vcpu[i].fd);
	}
	close(vm->fd);
	close(vm->kvm);
	munmap(vm->mem, VM_SIZE);
	free(vm->cpuid);
	free(vm);
}

static struct kvm_segment segment(u16 selector, u8 type, u8 s, u8 dpl, bool code)
{
	struct kvm_segment seg = {
		.limit = 0xffffffff,
		.selector = selector,
		.type = type,
		.present = 1,
		.dpl = dpl,
		.db = !code,
		.s = s,
		.l = code,
		.g = 1,
	};

	return seg;
}

void vm_start(struct vm *vm, struct vcpu *v)
{
	unsigned int index = (unsigned int)(v - vm->vcpu);
	u64 tss = TSS + index * 0x80;
	struct kvm_sregs s;

	memset(vm->mem + tss, 0, 0x68);
	lwp_put64(vm->mem + tss + 4, VM_KSTACK_TOP - index * 0x1000);
	s = vm_sregs(v);
	s.cs = segment(UCS, 11, 1, 3, true);
	s.ss = s.ds = s.es = s.fs = s.gs = segment(USS, 3, 1, 3, false);
	s.tr = segment(TR, 11, 0, 0, false);
	s.tr.base = tss;
	s.tr.limit = 0x67;
	s.tr.g = 0;
	s.gdt.base = GDT;
	s.gdt.limit = 0xff;
	s.idt.base = IDT;
	s.idt.limit = 0xfff;
	s.cr0 = 0x80050033;
	s.cr3 = VM_CR3;
	s.cr4 = 0x106a0; /* PAE, PGE, OSFXSR, OSXMMEXCPT, FSGSBASE */
	s.efer = 0xd01; /* SCE, LME, LMA, NX */
	vm_set_sregs(v, &s);
	vm_set_msr(v, 0xc0000081, (u64)(USS - 8) << 48 | (u64)KCS << 32); /* STAR */
	vm_set_msr(v, 0xc0000082, SYSCALL_ENTRY); /* LSTAR */
	vm_set_msr(v, 0xc0000084, 0x47700); /* SFMASK: TF, IF, DF ... */

	memset(&v->regs, 0, sizeof(v->regs));
	v->regs.rip = VM_CODE;
	v->regs.rsp = VM_STACK_TOP - index * 0x4000;
	v->regs.rflags = 0x202;
	v->regs.rbx = VM_BLOCK;
	v->regs.rdi = VM_DATA;
	vm_set_regs(v);
}

void vm_start_kernel(struct vm *vm, struct vcpu *v, u64 rip)
{
	struct kvm_sregs s;

	vm_start(vm, v);
	s = vm_sregs(v);
	s.cs = segment(KCS, 11, 1, 0, true);
	s.ss = segment(KSS, 3, 1, 0, false);
	s.efer |= 0x1000;
	vm_set_sregs(v, &s);
	v->regs.rsp = VM_KSTACK_TOP;
	vm_go_to(v, rip);
}

/*
 * Deliver one exception. The first delivery touches pages that are not mapped yet. That is a nested
 * page fault, and KVM then injects the exception itself, with RFLAGS without TF: a test with the
 * first exception would not see the image that the processor pushes.
 */
static void take_exception(struct vm *vm, struct vcpu *v)
{
	u8 first = vm->mem[VM_CODE];

	vm->mem[VM_CODE] = 0xcc; /* INT3 */
	if (vm_run(vm, v) != 3)
		broken("the first exception");
	vm->mem[VM_CODE] = first;
}

static void set_32bit(struct vm *vm, struct vcpu *v)
{
	struct kvm_sregs s;

	vm_start(vm, v);
	s = vm_sregs(v);
	s.cs = segment(UCS32, 11, 1, 3, true);
	s.cs.l = 0;
	s.cs.db = 1;
	s.ss = s.ds = s.es = s.fs = s.gs = segment(USS32, 3, 1, 3, false);
	memset(vm->mem + s.tr.base, 0, 0x68);
	lwp_put32(vm->mem + s.tr.base + 4, VM_KSTACK_TOP);
	lwp_put32(vm->mem + s.tr.base + 8, KSS32);
	s.idt.base = IDT32;
	s.idt.limit = 0x7ff;
	s.cr0 = 0x33; /* NE, ET, MP, PE */
	s.cr3 = 0;
	s.cr4 = 0x600;
	s.efer = 0;
	vm_set_sregs(v, &s);
	vm_set_msr(v, 0x174, KCS32); /* SYSENTER_CS, _ESP, _EIP */
	vm_set_msr(v, 0x175, VM_KSTACK_TOP);
	vm_set_msr(v, 0x176, SYSENTER_ENTRY);
}

void vm_start32(struct vm *vm, struct vcpu *v)
{
	set_32bit(vm, v);
	take_exception(vm, v);
	set_32bit(vm, v);
}

struct vcpu *vm_add_vcpu(struct vm *vm)
{
	struct vcpu *v = &vm->vcpu[vm->vcpus];
	struct kvm_mp_state mp = { .mp_state = KVM_MP_STATE_RUNNABLE };
	int size = ioctl(vm->kvm, KVM_GET_VCPU_MMAP_SIZE, 0);

	v->fd = ioctl(vm->fd, KVM_CREATE_VCPU, vm->vcpus);
	if (v->fd < 0)
		broken("KVM_CREATE_VCPU");
	v->run = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, v->fd, 0);
	if (ioctl(v->fd, KVM_SET_CPUID2, vm->cpuid))
		broken("KVM_SET_CPUID2");
	vm->vcpus++;
	ioctl(v->fd, KVM_SET_MP_STATE, &mp);
	vm_start(vm, v);
	take_exception(vm, v);
	vm_start(vm, v);
	return v;
}

void vm_load(struct vm *vm, const void *from, const void *to)
{
	memset(vm->mem + VM_CODE, 0xcc, 0x4000);
	memcpy(vm->mem + VM_CODE, from, (size_t)((const u8 *)to - (const u8 *)from));
}

void vm_set_regs(struct vcpu *v)
{
	if (ioctl(v->fd, KVM_SET_REGS, &v->regs))
		broken("KVM_SET_REGS");
}

void vm_go_to(struct vcpu *v, u64 rip)
{
	v->regs.rip = rip;
	vm_set_regs(v);
}

struct kvm_sregs vm_sregs(struct vcpu *v)
{
	struct kvm_sregs s;

	if (ioctl(v->fd, KVM_GET_SREGS, &s))
		broken("KVM_GET_SREGS");
	return s;
}

void vm_set_sregs(struct vcpu *v, const struct kvm_sregs *s)
{
	if (ioctl(v->fd, KVM_SET_SREGS, s))
		broken("KVM_SET_SREGS");
}

void vm_set_cr3(struct vcpu *v, u64 cr3)
{
	struct kvm_sregs s = vm_sregs(v);

	s.cr3 = cr3;
	vm_set_sregs(v, &s);
}

void vm_debug(struct vcpu *v, u32 control, u64 at)
{
	struct kvm_guest_debug dbg = {
		.control = control ? control | KVM_GUESTDBG_ENABLE : 0,
		.arch.debugreg = { [0] = at, [7] = 0x402 },
	};

	if (ioctl(v->fd, KVM_SET_GUEST_DEBUG, &dbg))
		broken("KVM_SET_GUEST_DEBUG");
}

u32 vm_lwp_status(struct vcpu *v)
{
	u32 status = ~0u;

	lwp_get(v, VCPU, STATUS, &status);
	return status;
}

int vm_attr(int fd, unsigned long request, u32 group, u64 number, void *addr)
{
	struct kvm_device_attr a = { .group = group, .attr = number, .addr = (u64)addr };

	return ioctl(fd, request, &a) ? -errno : 0;
}

u64 vm_get_msr(struct vcpu *v, u32 msr)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} m = { .head.nmsrs = 1, .entry.index = msr };

	if (ioctl(v->fd, KVM_GET_MSRS, &m) != 1)
		return ~(u64)0;
	return m.entry.data;
}

int vm_set_msr(struct vcpu *v, u32 msr, u64 value)
{
	struct {
		struct kvm_msrs head;
		struct kvm_msr_entry entry;
	} m = { .head.nmsrs = 1, .entry.index = msr, .entry.data = value };

	return ioctl(v->fd, KVM_SET_MSRS, &m) == 1 ? 0 : -1;
}

/* ---- running ---- */

int vm_run(struct vm *vm, struct vcpu *v)
{
	int result;

	alarm(RUN_SECONDS);
	result = vm_run_interruptible(vm, v);
	alarm(0);
	return result;
}

int vm_run_interruptible(struct vm *vm, struct vcpu *v)
{
	struct kvm_run *run = v->run;
	int r, result;

	(void)vm;
	r = ioctl(v->fd, KVM_RUN, 0);
	if (r && errno == EINTR)
		result = VM_TIMEOUT;
	else if (r)
		broken("KVM_RUN");
	else if (run->exit_reason == KVM_EXIT_IO && run->io.port == SYSCALL_PORT)
		result = VM_SYSCALL;
	else if (run->exit_reason == KVM_EXIT_IO && run->io.port == SYSENTER_PORT)
		result = VM_SYSENTER;
	else if (run->exit_reason == KVM_EXIT_MMIO)
		result = VM_MMIO;
	else if (run->exit_reason == KVM_EXIT_IO)
		result = run->io.port;
	else if (run->exit_reason == KVM_EXIT_DEBUG)
		result = VM_DEBUG;
	else if (run->exit_reason == KVM_EXIT_HLT)
		result = VM_HALT;
	else {
		diag("exit reason %u", run->exit_reason);
		result = VM_TIMEOUT;
	}
	/* OUT is complete only when KVM_RUN is called again. */
	if (!r && run->exit_reason == KVM_EXIT_IO) {
		run->immediate_exit = 1;
		ioctl(v->fd, KVM_RUN, 0);
		run->immediate_exit = 0;
	}
	if (ioctl(v->fd, KVM_GET_REGS, &v->regs))
		broken("KVM_GET_REGS");
	return result;
}

static void *run_beside(void *arg)
{
	struct vcpu *v = arg;

	while (!__atomic_load_n(&v->over, __ATOMIC_RELAXED))
		vm_run_interruptible(NULL, v);
	return NULL;
}

void vm_run_beside(struct vcpu *v)
{
	v->over = false;
	pthread_create(&v->thread, NULL, run_beside, v);
}

void vm_stop(struct vcpu *v)
{
	__atomic_store_n(&v->over, true, __ATOMIC_RELAXED);
	v->run->immediate_exit = 1;
	pthread_kill(v->thread, SIGALRM);
	pthread_join(v->thread, NULL);
}

bool vm_finish(struct vm *vm, struct vcpu *v)
{
	int stop = vm_run(vm, v);
	struct vm_frame f;

	if (stop == VM_DONE)
		return true;
	f = vm_frame(vm, v, stop);
	diag("stopped with 0x%x, rip 0x%llx, frame rip 0x%lx error 0x%lx", stop, v->regs.rip, f.rip,
	     f.error);
	return false;
}

/* The handler's OUT has been executed, nothing after it. */
struct vm_frame vm_frame(const struct vm *vm, const struct vcpu *v, int vector)
{
	bool in32 = v->regs.rip >= ENTRIES32 && v->regs.rip < ENTRIES32 + 256 * ENTRY_SIZE;
	const u8 *p = vm->mem + v->regs.rsp % VM_SIZE;
	u64 word[6] = { 0 };
	u32 i;

	for (i = vector >= 256 || !has_error_code(vector); i < 6; i++, p += in32 ? 4 : 8)
		word[i] = in32 ? lwp_get32(p) : lwp_get64(p);
	return (struct vm_frame){ .error = word[0],
				  .rip = word[1],
				  .cs = word[2],
				  .rflags = word[3],
				  .rsp = word[4],
				  .ss = word[5] };
}

/* ---- interrupts ---- */

#define APIC_SVR 0xf0
#define APIC_SVR_ON 0x1ff
#define APIC_IRR 0x200

void vm_handler(struct vm *vm, int vector, const void *from, const void *to)
{
	u8 *entry = vm->mem + ENTRIES + vector * ENTRY_SIZE;

	memcpy(vm->mem + HANDLER, from, (size_t)((const u8 *)to - (const u8 *)from));
	*entry = 0xe9; /* jmp rel32 */
	lwp_put32(entry + 1, (u32)(HANDLER - (ENTRIES + vector * ENTRY_SIZE + 5)));
}

void vm_apic_set(struct vcpu *v, u32 reg, u32 value)
{
	struct kvm_lapic_state apic;

	if (ioctl(v->fd, KVM_GET_LAPIC, &apic))
		broken("KVM_GET_LAPIC");
	lwp_put32(apic.regs + reg, value);
	if (ioctl(v->fd, KVM_SET_LAPIC, &apic))
		broken("KVM_SET_LAPIC");
}

void vm_apic_on(struct vcpu *v)
{
	vm_apic_set(v, APIC_SVR, APIC_SVR_ON);
}

bool vm_apic_pending(struct vcpu *v, u8 vector)
{
	struct kvm_lapic_state apic;

	if (ioctl(v->fd, KVM_GET_LAPIC, &apic))
		broken("KVM_GET_LAPIC");
	return lwp_get32(apic.regs + APIC_IRR + vector / 32 * 0x10) & LWP_BIT(vector % 32);
}

void vm_interrupt(struct vm *vm, u8 vector)
{
	struct kvm_msi msi = { .address_lo = 0xfee00000, .data = vector };

	if (ioctl(vm->fd, KVM_SIGNAL_MSI, &msi) != 1)
		broken("KVM_SIGNAL_MSI");
}

/* ---- LWP ---- */

static u8 *slot(const struct vm *vm, u32 id)
{
	return vm->mem + VM_BLOCK + LWP_CB_EVENT_OFFSET + (id - 1) * LWP_CB_SLOT_SIZE;
}

void block_init(struct vm *vm, u32 flags, u32 records)
{
	u8 *b = vm->mem + VM_BLOCK;

	memset(b, 0, 0x1000);
	memset(vm->mem + VM_RING, 0xee, 0x10000);
	lwp_put32(b + LWP_CB_FLAGS, flags);
	lwp_put32(b + LWP_CB_SIZE_RANDOM, records * LWP_RECORD_SIZE);
	lwp_put64(b + LWP_CB_BASE, VM_RING);
	lwp_put32(b + LWP_CB_THRESHOLD, 0x0fffffe0);
}

void block_event(struct vm *vm, u32 id, u32 interval, u32 counter)
{
	lwp_put32(slot(vm, id) + LWP_CB_SLOT_INTERVAL, interval);
	lwp_put32(slot(vm, id) + LWP_CB_SLOT_COUNTER, counter);
}

u32 block_counter(const struct vm *vm, u32 id)
{
	return lwp_get32(slot(vm, id) + LWP_CB_SLOT_COUNTER);
}

u32 block_head(const struct vm *vm)
{
	return lwp_get32(vm->mem + VM_BLOCK + LWP_CB_HEAD) / LWP_RECORD_SIZE;
}

struct lwp_record ring_record(const struct vm *vm, u32 index)
{
	struct lwp_record r;

	lwp_record_decode(vm->mem + VM_RING + index * LWP_RECORD_SIZE, &r);
	return r;
}
