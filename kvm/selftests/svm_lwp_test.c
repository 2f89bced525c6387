// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lightweight Profiling (LWP) of SVM guests: who has it, the four instructions,
 * records, faults, the state for userspace, and nested guests.
 *
 * LWP counts at CPL 3 only, so what is profiled runs there.  RFLAGS.IOPL is 3:
 * it talks to userspace by I/O instructions as the tests' kernel code does.
 */
#include <asm/kvm_lwp.h>

#include "kvm_util.h"
#include "svm_util.h"
#include "kselftest.h"
#include "kvm_test_harness.h"
#include "test_util.h"

/* The machine may be emulated: 30 s are not enough. */
#define TEST_SECONDS		300

#define LWP_TEST(name)							\
static void test_##name(struct lwp_vm *self);				\
									\
TEST_F_TIMEOUT(lwp, name, TEST_SECONDS)					\
{									\
	test_##name(&self->vm);						\
}									\
									\
static void test_##name(struct lwp_vm *self)

#define X86_FEATURE_LWP		KVM_X86_CPU_FEATURE(0x80000001, 0, ECX, 15)
#define LWP_LEAF		0x8000001c
#define LWP_LEAF_VMCB_AREA	BIT(24)
#define XFEATURE_MASK_LWP	BIT_ULL(62)

#define MSR_LWP_CFG		0xc0000105
#define MSR_LWP_CBADDR		0xc0000106

#define LWP_AVAIL		BIT(0)
#define LWP_VAL			BIT(1)
#define LWP_IRE			BIT(2)
#define LWP_BRE			BIT(3)
#define LWP_DME			BIT(4)
#define LWP_CNH			BIT(5)

#define EVENT_VAL		1
#define EVENT_IRE		2
#define EVENT_BRE		3
#define EVENT_INS		255

#define BRANCH_TAKEN		0x8000

/* The control block, with the events at LwpEventOffset 80h. */
struct lwpcb {
	u32 flags;
	u32 buffer_size;
	u64 buffer_base;
	u32 buffer_head;
	u32 reserved1;
	u64 missed_events;
	u32 threshold;
	u32 filters;
	u64 base_ip;
	u64 limit_ip;
	u64 reserved2;
	u32 buffer_tail;
	u32 reserved3[15];
	struct {
		u32 interval;
		u32 counter;
	} event[6];		/* of EventId 1 and up */
} __packed;

struct lwp_record {
	u8 event_id;
	u8 core_id;
	u16 flags;
	u32 data1;
	u64 address;
	u64 data2;
	u64 timestamp;
} __packed;

#define LWP_IMAGE_HEAD		12	/* in the part that is XSAVE's */
#define LWP_VMCB_OFFSET		0xf80	/* of struct kvm_lwp_image */

#define RECORDS			64
#define PORT_STOP		0x80	/* stops in userspace */
#define PORT_DONE		0x81

#define IOPL_3			GENMASK(13, 12)

#define USER_CS			0x43
#define USER_DS			0x4b

static u8 block_page[PAGE_SIZE] __aligned(PAGE_SIZE);
static struct lwp_record ring[RECORDS] __aligned(PAGE_SIZE);
static u8 l1_vmcb[PAGE_SIZE] __aligned(PAGE_SIZE);
static u8 exception_stack[PAGE_SIZE] __aligned(PAGE_SIZE);

/*
 * Programs.  %rdi is the address of the control block.  OUT stops in userspace,
 * and retires when the vCPU runs again.
 */
extern u8 inserts[], inserts_ins[], inserts_mem[];
extern u8 values[];
extern u8 counted[], counted_nop[], counted_mov[], counted_dec[], counted_jnz[];
extern u8 counted_xor[];
extern u8 rounds[], handled[], handled_nop[], handled_xor[], many[], many_dec[];
extern u8 query[], query_end[];
extern u8 l2_counted[], l2_llwpcb[], l2_nop[], l2_out[], l2_mov[], l2_query[];

asm(".pushsection .text\n"
	"inserts:\n"
	"	slwpcb %r8\n"
	"	llwpcb %rdi\n"
	"	slwpcb %r9\n"
	"	mov $0x55667788, %ecx\n"
	"	mov $0x1122334455667788, %rdx\n"
	"inserts_ins:\n"
	"	lwpins $0x700d1234, %ecx, %rdx\n"
	"	setc %r10b\n"
	"	movl $0xcafe0001, -8(%rsp)\n"
	"inserts_mem:\n"
	"	lwpins $0x5678, -8(%rsp), %edx\n"
	"	xor %r11d, %r11d\n"
	"	llwpcb %r11\n"
	"	slwpcb %r11\n"
	"	out %al, $0x81\n"

	"values:\n"
	"	llwpcb %rdi\n"
	"	mov $10, %esi\n"
	"1:	lwpval $7, %esi, %rsi\n"
	"	dec %esi\n"
	"	jnz 1b\n"
	"	slwpcb %rax\n"
	"	out %al, $0x81\n"

	"counted:\n"
	"	llwpcb %rdi\n"
	"counted_nop:\n"
	"	nop\n"
	"counted_mov:\n"
	"	mov $3, %ecx\n"
	"counted_dec:\n"
	"	dec %ecx\n"
	"counted_jnz:\n"
	"	jnz counted_dec\n"
	"counted_xor:\n"
	"	xor %eax, %eax\n"
	"	llwpcb %rax\n"
	"	out %al, $0x81\n"

	"rounds:\n"
	"	llwpcb %rdi\n"
	"	mov $9, %ecx\n"
	"1:	nop\n"
	"	out %al, $0x80\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	slwpcb %rax\n"
	"	out %al, $0x81\n"

	"handled:\n"
	"	llwpcb %rdi\n"
	"	ud2\n"
	"	.fill 3, 1, 0x90\n"
	"handled_nop:\n"
	"	nop\n"
	"handled_xor:\n"
	"	xor %eax, %eax\n"
	"	llwpcb %rax\n"
	"	out %al, $0x81\n"

	"many:\n"
	"	llwpcb %rdi\n"
	"	mov %esi, %ecx\n"
	"many_dec:\n"
	"	dec %ecx\n"
	"	jnz many_dec\n"
	"	xor %eax, %eax\n"
	"	llwpcb %rax\n"
	"	out %al, $0x81\n"

	"query:\n"
	"	slwpcb %rax\n"
	"query_end:\n"
	"	out %al, $0x81\n"

	"l2_counted:\n"
	"	mov $block_page, %edi\n"
	"l2_llwpcb:\n"
	"	llwpcb %rdi\n"
	"l2_nop:\n"
	"	nop\n"
	"	vmmcall\n"
	"l2_out:\n"
	"	out %al, $0x80\n"
	"l2_mov:\n"
	"	mov $1, %ecx\n"
	"l2_query:\n"
	"	slwpcb %rax\n"
	"	vmmcall\n"
	".popsection\n");

struct lwp_vm {
	struct kvm_vm *vm;
	struct kvm_vcpu *vcpu;
	struct kvm_lwp_policy policy;
	struct kvm_lwp_leaf leaf;
	u32 area;	/* LWP_LEAF_VMCB_AREA, or 0 */
};

FIXTURE(lwp)
{
	struct lwp_vm vm;
};

FIXTURE_SETUP(lwp)
{
	self->vm.vm = vm_create(1);
	self->vm.policy.delivery = KVM_LWP_DELIVERY_EXACT;
}

FIXTURE_TEARDOWN(lwp)
{
	kvm_vm_free(self->vm.vm);
}

static int vm_lwp_set(struct kvm_vm *vm, u64 attr, void *value)
{
	return __kvm_device_attr_set(vm->fd, KVM_LWP_VM, attr, value);
}

static int vm_lwp_get(struct kvm_vm *vm, u64 attr, void *value)
{
	return __kvm_device_attr_get(vm->fd, KVM_LWP_VM, attr, value);
}

static u32 lwp_status(struct kvm_vcpu *vcpu)
{
	u32 status;

	vcpu_device_attr_get(vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_STATUS, &status);
	return status;
}

/* Have the VM ask for LWP, and read what the host offers it. */
static void ask(struct lwp_vm *self)
{
	TEST_ASSERT_EQ(vm_lwp_set(self->vm, KVM_LWP_VM_POLICY, &self->policy), 0);
	TEST_ASSERT_EQ(vm_lwp_get(self->vm, KVM_LWP_VM_LEAF, &self->leaf), 0);
	self->leaf.ecx |= self->area;
}

static struct kvm_cpuid_entry2 *find(struct kvm_cpuid2 *cpuid, u32 function)
{
	return (struct kvm_cpuid_entry2 *)get_cpuid_entry(cpuid, function, 0);
}

/* The CPUID of a vCPU announces LWP. */
static void announce(struct kvm_vcpu *vcpu, const struct kvm_lwp_leaf *leaf)
{
	const struct kvm_cpuid2 *supported = kvm_get_supported_cpuid();
	struct kvm_cpuid2 *cpuid = allocate_kvm_cpuid2(supported->nent + 1);
	struct kvm_cpuid_entry2 *e;
	int i;

	memcpy(cpuid, supported, kvm_cpuid2_size(supported->nent));
	e = &cpuid->entries[supported->nent];
	for (i = 0; i < supported->nent; i++) {
		if (cpuid->entries[i].function == LWP_LEAF)
			e = &cpuid->entries[i];
	}
	if (e == &cpuid->entries[supported->nent])
		cpuid->nent = supported->nent + 1;
	*e = (struct kvm_cpuid_entry2) {
		.function = LWP_LEAF,
		.eax = leaf->eax, .ebx = leaf->ebx,
		.ecx = leaf->ecx, .edx = leaf->edx,
	};
	find(cpuid, 0x80000001)->ecx |= BIT(X86_FEATURE_LWP.bit);
	e = find(cpuid, 0x80000000);
	e->eax = max_t(u32, e->eax, LWP_LEAF);
	vcpu_init_cpuid(vcpu, cpuid);
	free(cpuid);
}

/* A vCPU that has LWP. */
static void add_vcpu(struct lwp_vm *self, void *guest_code)
{
	ask(self);
	self->vcpu = vm_vcpu_add(self->vm, 0, guest_code);
	announce(self->vcpu, &self->leaf);
	TEST_ASSERT_EQ(lwp_status(self->vcpu), KVM_LWP_REFUSED_NOT);
}

#define PTE_P			BIT_ULL(0)
#define PTE_USER		BIT_ULL(2)
#define PTE_PS			BIT_ULL(7)
#define PTE_ADDRESS		GENMASK_ULL(51, 12)

/* Let CPL 3 have all that a page table and those below it map. */
static void map_user(struct kvm_vm *vm, u64 table, int level)
{
	u64 *pte = addr_gpa2hva(vm, table & PTE_ADDRESS);
	int i;

	for (i = 0; i < 512; i++) {
		if (!(pte[i] & PTE_P))
			continue;
		pte[i] |= PTE_USER;
		if (level > 1 && !(pte[i] & PTE_PS))
			map_user(vm, pte[i], level - 1);
	}
}

static int paging_levels(struct kvm_sregs *sregs)
{
	return sregs->cr4 & X86_CR4_LA57 ? 5 : 4;
}

static u64 *pte_of(struct kvm_vcpu *vcpu, void *address)
{
	struct kvm_sregs sregs;
	u64 *pte = NULL, table;
	int level;

	vcpu_sregs_get(vcpu, &sregs);
	table = sregs.cr3;
	for (level = paging_levels(&sregs); level > 0; level--) {
		pte = addr_gpa2hva(vcpu->vm, table & PTE_ADDRESS);
		pte += (u64)address >> (3 + 9 * level) & 511;
		table = *pte;
	}
	return pte;
}

static void set_user_segment(struct kvm_vm *vm, struct kvm_sregs *sregs,
			     struct kvm_segment *seg, u16 selector)
{
	u64 *gdt = addr_gva2hva(vm, sregs->gdt.base);

	seg->selector = selector;
	seg->dpl = 3;
	seg->base = 0;
	seg->limit = ~0u;
	seg->present = 1;
	seg->s = 1;
	seg->g = 1;
	seg->l = selector == USER_CS;
	seg->db = !seg->l;
	seg->type = seg->l ? 0xb : 0x3;
	seg->unusable = 0;
	gdt[selector / 8] = seg->l ? 0x00affb000000ffff : 0x00cff3000000ffff;
}

/* CPL 3 has all pages, a code and a data segment, and a stack for exceptions. */
static void prepare_user(struct kvm_vcpu *vcpu, struct kvm_sregs *sregs)
{
	struct kvm_vm *vm = vcpu->vm;
	struct kvm_segment seg = { 0 };
	u64 *rsp0;

	vcpu_sregs_get(vcpu, sregs);
	map_user(vm, sregs->cr3, paging_levels(sregs));
	set_user_segment(vm, sregs, &seg, USER_CS);
	set_user_segment(vm, sregs, &seg, USER_DS);
	rsp0 = addr_gva2hva(vm, sregs->tr.base) + 4;
	*rsp0 = (u64)exception_stack + sizeof(exception_stack);
}

/* The vCPU is about to run a program at CPL 3. */
static void enter_user(struct kvm_vcpu *vcpu, void *program)
{
	struct kvm_sregs sregs;
	struct kvm_regs regs;

	prepare_user(vcpu, &sregs);
	set_user_segment(vcpu->vm, &sregs, &sregs.cs, USER_CS);
	set_user_segment(vcpu->vm, &sregs, &sregs.ss, USER_DS);
	sregs.ds = sregs.ss;
	sregs.es = sregs.ss;
	vcpu_sregs_set(vcpu, &sregs);

	vcpu_regs_get(vcpu, &regs);
	regs.rip = (u64)program;
	regs.rdi = (u64)block_page;
	regs.rflags = X86_EFLAGS_FIXED | IOPL_3;
	vcpu_regs_set(vcpu, &regs);
}

/* The guest's memory as the test sees it. */
static struct lwpcb *block(struct lwp_vm *self)
{
	return addr_gva2hva(self->vm, (u64)block_page);
}

static struct lwp_record *record(struct lwp_vm *self, int i)
{
	return (struct lwp_record *)addr_gva2hva(self->vm, (u64)ring) + i;
}

static u32 records(struct lwp_vm *self)
{
	return block(self)->buffer_head / sizeof(struct lwp_record);
}

static void init_block(struct lwp_vm *self, u32 flags)
{
	struct lwpcb *cb = block(self);

	memset(cb, 0, sizeof(*cb));
	cb->flags = flags;
	cb->buffer_size = sizeof(ring);
	cb->buffer_base = (u64)ring;
	cb->threshold = 0x0fffffe0;
}

static void set_event(struct lwp_vm *self, int event, u32 interval, u32 counter)
{
	block(self)->event[event - 1].interval = interval;
	block(self)->event[event - 1].counter = counter;
}

/* Run to an I/O instruction; its port. */
static u16 run(struct kvm_vcpu *vcpu)
{
	struct ucall uc;

	vcpu_run(vcpu);
	if (get_ucall(vcpu, &uc) == UCALL_ABORT)
		REPORT_GUEST_ASSERT(uc);
	TEST_ASSERT_KVM_EXIT_REASON(vcpu, KVM_EXIT_IO);
	return vcpu->run->io.port;
}

static void run_to_end(struct kvm_vcpu *vcpu)
{
	TEST_ASSERT_EQ(run(vcpu), PORT_DONE);
}

static struct kvm_regs regs_of(struct kvm_vcpu *vcpu)
{
	struct kvm_regs regs;

	vcpu_regs_get(vcpu, &regs);
	return regs;
}

/* A profile of one event, from its beginning. */
static void start_profile(struct lwp_vm *self, void *program, u32 flags)
{
	add_vcpu(self, NULL);
	enter_user(self->vcpu, program);
	init_block(self, flags);
}

/* What the guest's handlers of #UD and #PF have seen. */
static u64 exceptions, exception_rip, exception_error, exception_cr2;

static void exception_handler(struct ex_regs *regs)
{
	exceptions++;
	exception_rip = regs->rip;
	exception_error = regs->error_code;
	asm volatile("mov %%cr2, %0" : "=r"(exception_cr2));
	if (regs->vector == UD_VECTOR)
		regs->rip += query_end - query;
	else
		asm volatile("out %al, $0x80");
}

static void expect_undefined(struct lwp_vm *self)
{
	vm_install_exception_handler(self->vm, UD_VECTOR, exception_handler);
	enter_user(self->vcpu, query);
	run_to_end(self->vcpu);
	sync_global_from_guest(self->vm, exceptions);
	sync_global_from_guest(self->vm, exception_rip);
	TEST_ASSERT_EQ(exceptions, 1);
	TEST_ASSERT_EQ(exception_rip, (u64)query);
}

/* A VMM that does not know LWP passes on what KVM supports. */
LWP_TEST(not_in_supported_cpuid)
{
	const struct kvm_msr_list *msrs = kvm_get_msr_index_list();
	struct kvm_lwp_image image;
	int i;

	TEST_ASSERT(!kvm_cpu_has(X86_FEATURE_LWP), "LWP is a supported feature");
	for (i = 0; i < msrs->nmsrs; i++)
		TEST_ASSERT(msrs->indices[i] != MSR_LWP_CFG &&
			    msrs->indices[i] != MSR_LWP_CBADDR, "MSRs of LWP are listed");
	self->vcpu = vm_vcpu_add(self->vm, 0, NULL);
	TEST_ASSERT_EQ(lwp_status(self->vcpu), KVM_LWP_REFUSED_CPUID);
	TEST_ASSERT(__vcpu_device_attr_get(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &image) &&
		    errno == ENXIO, "the vCPU has a state of LWP");
	TEST_ASSERT_EQ(_vcpu_set_msr(self->vcpu, MSR_LWP_CFG, 0), 0);
	expect_undefined(self);
}

/* CPUID alone gives no LWP: userspace must have asked. */
LWP_TEST(refused_without_policy)
{
	struct kvm_vm *asked = vm_create(1);
	struct lwp_vm other = { .vm = asked };

	ask(&other);
	self->vcpu = vm_vcpu_add(self->vm, 0, NULL);
	announce(self->vcpu, &other.leaf);
	TEST_ASSERT_EQ(lwp_status(self->vcpu), KVM_LWP_REFUSED_POLICY);
	expect_undefined(self);
	kvm_vm_free(asked);
}

/* More than the host offers is refused. */
LWP_TEST(refused_by_cpuid)
{
	struct kvm_lwp_leaf more;

	ask(self);
	more = self->leaf;
	more.edx |= LWP_DME;
	self->vcpu = vm_vcpu_add(self->vm, 0, NULL);
	announce(self->vcpu, &more);
	TEST_ASSERT_EQ(lwp_status(self->vcpu), KVM_LWP_REFUSED_LEAF);
	expect_undefined(self);
}

LWP_TEST(policy)
{
	struct kvm_lwp_policy bad = { .rev = 7 }, got;

	kvm_has_device_attr(self->vm->fd, KVM_LWP_VM, KVM_LWP_VM_POLICY);
	TEST_ASSERT(__kvm_has_device_attr(self->vm->fd, KVM_LWP_VM, 99), "an attribute 99");
	TEST_ASSERT(vm_lwp_set(self->vm, KVM_LWP_VM_POLICY, &bad) && errno == EINVAL,
		    "a revision that does not exist");
	bad = (struct kvm_lwp_policy) { .flags = KVM_LWP_NO_NET << 1 };
	TEST_ASSERT(vm_lwp_set(self->vm, KVM_LWP_VM_POLICY, &bad) && errno == EINVAL,
		    "an unknown flag");
	add_vcpu(self, NULL);
	TEST_ASSERT_EQ(vm_lwp_set(self->vm, KVM_LWP_VM_POLICY, &self->policy), 0);
	bad = self->policy;
	bad.flags = KVM_LWP_NO_PRESET;
	TEST_ASSERT(vm_lwp_set(self->vm, KVM_LWP_VM_POLICY, &bad) && errno == EBUSY,
		    "the policy changes after the first vCPU");
	TEST_ASSERT_EQ(vm_lwp_get(self->vm, KVM_LWP_VM_POLICY, &got), 0);
	TEST_ASSERT(!memcmp(&got, &self->policy, sizeof(got)), "another policy is read");
}

static void guest_cpuid(u64 ebx, u64 ecx, u64 edx, u64 eax)
{
	u32 a, b, c, d;

	GUEST_ASSERT(this_cpu_has(X86_FEATURE_LWP));
	cpuid(LWP_LEAF, &a, &b, &c, &d);
	GUEST_ASSERT_EQ(a, eax);
	GUEST_ASSERT_EQ(b, ebx);
	GUEST_ASSERT_EQ(c, ecx);
	GUEST_ASSERT_EQ(d, edx);

	/* EAX follows LWP_CFG. */
	wrmsr(MSR_LWP_CFG, LWP_IRE);
	GUEST_ASSERT_EQ(rdmsr(MSR_LWP_CFG), LWP_IRE);
	cpuid(LWP_LEAF, &a, &b, &c, &d);
	GUEST_ASSERT_EQ(a, LWP_AVAIL | LWP_IRE);
	GUEST_ASSERT_EQ(d, edx);

	/* What the leaf does not announce is reserved. */
	GUEST_ASSERT_EQ(wrmsr_safe(MSR_LWP_CFG, LWP_DME), GP_VECTOR);
	GUEST_ASSERT_EQ(rdmsr(MSR_LWP_CFG), LWP_IRE);
	GUEST_ASSERT_EQ(rdmsr(MSR_LWP_CBADDR), 0);

	/* SVM cannot intercept XSAVE. */
	if (this_cpu_has(X86_FEATURE_OSXSAVE))
		GUEST_ASSERT_EQ(xsetbv_safe(0, xgetbv(0) | XFEATURE_MASK_LWP), GP_VECTOR);
	GUEST_DONE();
}

LWP_TEST(cpuid_and_msrs)
{
	struct ucall uc;

	add_vcpu(self, guest_cpuid);
	TEST_ASSERT(self->leaf.edx & LWP_VAL && self->leaf.edx & LWP_IRE &&
		    self->leaf.edx & LWP_BRE, "values, instructions, branches");
	vcpu_args_set(self->vcpu, 4, self->leaf.ebx, self->leaf.ecx, self->leaf.edx,
		      self->leaf.eax);
	run(self->vcpu);
	TEST_ASSERT_EQ(get_ucall(self->vcpu, &uc), UCALL_DONE);
	TEST_ASSERT_EQ(vcpu_get_msr(self->vcpu, MSR_LWP_CFG), LWP_IRE);
	TEST_ASSERT_EQ(_vcpu_set_msr(self->vcpu, MSR_LWP_CFG, LWP_DME), 0);
}

LWP_TEST(xcr0_62_is_refused)
{
	struct kvm_xcrs xcrs;

	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_XSAVE));
	TEST_ASSERT(!(kvm_cpu_supported_xcr0() & XFEATURE_MASK_LWP), "XCR0[62] is supported");
	add_vcpu(self, NULL);
	vcpu_xcrs_get(self->vcpu, &xcrs);
	xcrs.xcrs[0].value |= XFEATURE_MASK_LWP;
	TEST_ASSERT(__vcpu_ioctl(self->vcpu, KVM_SET_XCRS, &xcrs) && errno == EINVAL,
		    "XCR0[62] can be set");
}

LWP_TEST(lwpins_stores_records)
{
	struct kvm_regs regs;

	start_profile(self, inserts, 0);
	run_to_end(self->vcpu);
	regs = regs_of(self->vcpu);
	TEST_ASSERT_EQ(regs.r8, 0);
	TEST_ASSERT_EQ(regs.r9, (u64)block_page);
	TEST_ASSERT_EQ(regs.r10 & 0xff, 0);
	TEST_ASSERT_EQ(regs.r11, 0);
	TEST_ASSERT_EQ(records(self), 2);
	TEST_ASSERT_EQ(record(self, 0)->event_id, EVENT_INS);
	TEST_ASSERT_EQ(record(self, 0)->flags, 0x1234);
	TEST_ASSERT_EQ(record(self, 0)->data1, 0x55667788);
	TEST_ASSERT_EQ(record(self, 0)->data2, 0x1122334455667788ull);
	TEST_ASSERT_EQ(record(self, 0)->address, (u64)inserts_ins);
	TEST_ASSERT_EQ(record(self, 1)->data1, 0xcafe0001);
	TEST_ASSERT_EQ(record(self, 1)->data2, 0x55667788);
	TEST_ASSERT_EQ(record(self, 1)->address, (u64)inserts_mem);
}

/* Interval 3: the first, fifth and ninth of ten; the tenth leaves 2. */
LWP_TEST(lwpval_stores_one_of_interval_plus_one)
{
	start_profile(self, values, LWP_VAL);
	set_event(self, EVENT_VAL, 3, 0);
	run_to_end(self->vcpu);
	TEST_ASSERT_EQ(records(self), 3);
	TEST_ASSERT_EQ(record(self, 0)->event_id, EVENT_VAL);
	TEST_ASSERT_EQ(record(self, 0)->data1, 10);
	TEST_ASSERT_EQ(record(self, 1)->data1, 6);
	TEST_ASSERT_EQ(record(self, 2)->data1, 2);
	TEST_ASSERT_EQ(block(self)->event[EVENT_VAL - 1].counter, 2);
}

static void set_fs_base(struct kvm_vcpu *vcpu, u64 base)
{
	struct kvm_sregs sregs;

	vcpu_sregs_get(vcpu, &sregs);
	sregs.fs.base = base;
	vcpu_sregs_set(vcpu, &sregs);
}

/* Another FS base is another thread, which has no LWP.  The first one's waits. */
LWP_TEST(contexts_follow_the_thread)
{
	struct kvm_regs first;

	start_profile(self, rounds, 0);
	TEST_ASSERT_EQ(run(self->vcpu), PORT_STOP);
	first = regs_of(self->vcpu);
	set_fs_base(self->vcpu, PAGE_SIZE);
	enter_user(self->vcpu, query);
	run_to_end(self->vcpu);
	TEST_ASSERT_EQ(regs_of(self->vcpu).rax, 0);
	set_fs_base(self->vcpu, 0);
	vcpu_regs_set(self->vcpu, &first);
	while (run(self->vcpu) == PORT_STOP)
		;
	TEST_ASSERT_EQ(regs_of(self->vcpu).rax, (u64)block_page);
}

LWP_TEST(instructions_are_counted)
{
	u8 *expected[] = {
		counted_nop, counted_mov,
		counted_dec, counted_jnz, counted_dec, counted_jnz, counted_dec, counted_jnz,
		counted_xor,
	};
	int i;

	start_profile(self, counted, LWP_IRE);
	set_event(self, EVENT_IRE, 0, 0);
	run_to_end(self->vcpu);
	TEST_ASSERT_EQ(records(self), ARRAY_SIZE(expected));
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		TEST_ASSERT_EQ(record(self, i)->event_id, EVENT_IRE);
		TEST_ASSERT_EQ(record(self, i)->address, (u64)expected[i]);
	}
}

LWP_TEST(branches_are_counted)
{
	int i;

	start_profile(self, counted, LWP_BRE);
	set_event(self, EVENT_BRE, 0, 0);
	run_to_end(self->vcpu);
	TEST_ASSERT_EQ(records(self), 3);
	for (i = 0; i < 3; i++) {
		TEST_ASSERT_EQ(record(self, i)->event_id, EVENT_BRE);
		TEST_ASSERT_EQ(record(self, i)->address, (u64)counted_jnz);
		TEST_ASSERT_EQ(record(self, i)->flags & BRANCH_TAKEN, i < 2 ? BRANCH_TAKEN : 0);
		TEST_ASSERT_EQ(record(self, i)->data2,
			       (u64)(i < 2 ? counted_dec : counted_xor));
	}
}

/* The ring's page is missing: #PF for a write by CPL 3, then the record is stored. */
LWP_TEST(store_faults_and_is_tried_again)
{
	u64 *pte;

	start_profile(self, counted, LWP_IRE);
	set_event(self, EVENT_IRE, 0, 0);
	vm_install_exception_handler(self->vm, PF_VECTOR, exception_handler);
	pte = pte_of(self->vcpu, ring);
	*pte &= ~PTE_P;
	TEST_ASSERT_EQ(run(self->vcpu), PORT_STOP);
	sync_global_from_guest(self->vm, exception_rip);
	sync_global_from_guest(self->vm, exception_error);
	sync_global_from_guest(self->vm, exception_cr2);
	TEST_ASSERT_EQ(exception_rip, (u64)counted_mov);
	TEST_ASSERT_EQ(exception_error, 6);
	TEST_ASSERT_EQ(exception_cr2, (u64)ring);
	*pte |= PTE_P;
	run_to_end(self->vcpu);
	sync_global_from_guest(self->vm, exceptions);
	TEST_ASSERT_EQ(exceptions, 1);
	TEST_ASSERT_EQ(records(self), 9);
	TEST_ASSERT_EQ(record(self, 0)->address, (u64)counted_nop);
}

/* The handler of #UD goes on behind it: IRET returns to CPL 3. */
LWP_TEST(counting_goes_on_behind_a_handler)
{
	start_profile(self, handled, LWP_IRE);
	set_event(self, EVENT_IRE, 0, 0);
	vm_install_exception_handler(self->vm, UD_VECTOR, exception_handler);
	run_to_end(self->vcpu);
	TEST_ASSERT_EQ(records(self), 2);
	TEST_ASSERT_EQ(record(self, 0)->address, (u64)handled_nop);
	TEST_ASSERT_EQ(record(self, 1)->address, (u64)handled_xor);
}

/* A profile of 2 * rounds + 2 instructions, with a record of each `period`. */
static void run_many(struct lwp_vm *self, u64 rounds, u32 period)
{
	struct kvm_regs regs;

	start_profile(self, many, LWP_IRE);
	set_event(self, EVENT_IRE, period - 1, period - 1);
	regs = regs_of(self->vcpu);
	regs.rsi = rounds;
	vcpu_regs_set(self->vcpu, &regs);
	run_to_end(self->vcpu);
}

/* 2,000,002 instructions: none is lost, whichever the records name. */
LWP_TEST(counters_count_all)
{
	TEST_REQUIRE(kvm_check_cap(KVM_CAP_X86_LWP) & KVM_LWP_HAS_PROMPT);
	self->policy.delivery = KVM_LWP_DELIVERY_PROMPT;
	run_many(self, 1000000, 100000);
	TEST_ASSERT_EQ(block(self)->missed_events, 0);
	TEST_ASSERT_EQ(records(self) * 100000 + 99999 - block(self)->event[EVENT_IRE - 1].counter,
		       2000002);
}

/* Up to breakpoints or in steps: each 2,000th is a DEC. */
static void exact_records(struct lwp_vm *self)
{
	int i;

	run_many(self, 20000, 2000);
	TEST_ASSERT_EQ(records(self), 20);
	for (i = 0; i < 20; i++)
		TEST_ASSERT_EQ(record(self, i)->address, (u64)many_dec);
}

LWP_TEST(exact_records_name_the_instruction)
{
	exact_records(self);
}

LWP_TEST(nets_can_be_declined)
{
	self->policy.flags = KVM_LWP_NO_NET;
	exact_records(self);
}

LWP_TEST(image_is_validated)
{
	struct kvm_lwp_image image, got;

	add_vcpu(self, NULL);
	vcpu_device_attr_get(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &image);
	TEST_ASSERT_EQ(image.format, KVM_LWP_IMAGE_FORMAT);
	TEST_ASSERT_EQ(image.cfg, vcpu_get_msr(self->vcpu, MSR_LWP_CFG));
	image.xsave[LWP_IMAGE_HEAD] = 1;
	TEST_ASSERT(__vcpu_device_attr_set(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &image) &&
		    errno == EINVAL, "a head that is no multiple of 32");
	image.xsave[LWP_IMAGE_HEAD] = 0;
	image.cfg = LWP_IRE;
	vcpu_device_attr_set(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &image);
	TEST_ASSERT_EQ(vcpu_get_msr(self->vcpu, MSR_LWP_CFG), LWP_IRE);
	vcpu_device_attr_get(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &got);
	TEST_ASSERT(!memcmp(&got, &image, sizeof(got)), "another state is read");
}

/* Move everything into a new VM, as a migration does. */
static void migrate(struct lwp_vm *self)
{
	struct kvm_lwp_contexts contexts = { .format = KVM_LWP_CONTEXTS_FORMAT };
	struct kvm_x86_state *state;
	struct kvm_lwp_image image;
	struct kvm_lwp_live live;

	state = vcpu_save_state(self->vcpu);
	if (vm_lwp_get(self->vm, KVM_LWP_VM_CONTEXTS, &contexts)) {
		TEST_ASSERT_EQ(errno, ENOSPC);
		contexts.addr = (u64)malloc(contexts.size);
		TEST_ASSERT_EQ(vm_lwp_get(self->vm, KVM_LWP_VM_CONTEXTS, &contexts), 0);
	}
	vcpu_device_attr_get(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &image);
	vcpu_device_attr_get(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_LIVE, &live);
	/* What is live is among the contexts. */
	if (live.flags & KVM_LWP_LIVE) {
		memset(image.xsave, 0, sizeof(image.xsave));
		image.retry_rip = 0;
	}

	kvm_vm_release(self->vm);
	kvm_vm_restart(self->vm);
	ask(self);
	self->vcpu = vm_vcpu_recreate(self->vm, 0);
	announce(self->vcpu, &self->leaf);
	TEST_ASSERT_EQ(lwp_status(self->vcpu), KVM_LWP_REFUSED_NOT);
	vcpu_load_state(self->vcpu, state);
	TEST_ASSERT_EQ(vm_lwp_set(self->vm, KVM_LWP_VM_CONTEXTS, &contexts), 0);
	vcpu_device_attr_set(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, &image);
	vcpu_device_attr_set(self->vcpu, KVM_LWP_VCPU, KVM_LWP_VCPU_LIVE, &live);
	kvm_x86_state_cleanup(state);
	free((void *)contexts.addr);
}

/*
 * Nine rounds with a migration in each: 1 + 9 * 4 instructions.  Interval and
 * counter 6: each seventh has a record, and the last two leave 6 - 2.
 */
LWP_TEST(nothing_is_lost_in_migrations)
{
	int i;

	start_profile(self, rounds, LWP_IRE);
	set_event(self, EVENT_IRE, 6, 6);
	for (i = 0; i < 9; i++) {
		TEST_ASSERT_EQ(run(self->vcpu), PORT_STOP);
		migrate(self);
		TEST_ASSERT_EQ(vcpu_get_msr(self->vcpu, MSR_LWP_CBADDR), (u64)block_page);
	}
	run_to_end(self->vcpu);
	TEST_ASSERT_EQ(records(self), 5);
	TEST_ASSERT_EQ(block(self)->event[EVENT_IRE - 1].counter, 4);
}

/* Nothing is preset: the guest's OS has to write LWP_CFG. */
LWP_TEST(os_switches_lwp_on)
{
	self->policy.context = KVM_LWP_CONTEXT_OS;
	add_vcpu(self, NULL);
	TEST_ASSERT_EQ(vcpu_get_msr(self->vcpu, MSR_LWP_CFG), 0);
}

LWP_TEST(clocks_need_counters)
{
	bool counters = kvm_check_cap(KVM_CAP_X86_LWP) & KVM_LWP_HAS_PROMPT;

	ask(self);
	TEST_ASSERT_EQ(!!(self->leaf.edx & LWP_CNH), counters);
}

LWP_TEST(misses_are_offered_to_those_who_ask)
{
	ask(self);
	TEST_ASSERT(!(self->leaf.edx & LWP_DME), "misses are offered to all");
	self->policy.flags = KVM_LWP_SAMPLE_MISSES;
	TEST_REQUIRE(kvm_check_cap(KVM_CAP_X86_LWP) & KVM_LWP_HAS_MISSES);
	ask(self);
	TEST_ASSERT(self->leaf.edx & LWP_DME, "misses are not offered");
}

LWP_TEST(revision_of_2007)
{
	u32 shipped;

	ask(self);
	shipped = self->leaf.ebx;
	self->policy.rev = KVM_LWP_REV_2007;
	add_vcpu(self, NULL);
	TEST_ASSERT(self->leaf.ebx != shipped, "the leaf is as before");
}

/* L2 runs at CPL 3. */
static void setup_l2(struct svm_test_data *svm, void *program)
{
	u16 code = 0xafb, data = 0xcf3;

	generic_svm_setup(svm, program);
	svm->vmcb->control.intercept_exceptions = BIT(UD_VECTOR);
	svm->vmcb->save.cpl = 3;
	svm->vmcb->save.cs.selector = USER_CS;
	svm->vmcb->save.cs.attrib = code;
	svm->vmcb->save.ss.selector = USER_DS;
	svm->vmcb->save.ss.attrib = data;
	svm->vmcb->save.ds = svm->vmcb->save.ss;
	svm->vmcb->save.es = svm->vmcb->save.ss;
	svm->vmcb->save.rflags = X86_EFLAGS_FIXED | IOPL_3;
}

/* run_guest() would set RFLAGS.  The programs of L2 change %rcx and %rdi only. */
static void run_l2(struct svm_test_data *svm)
{
	asm volatile("vmload %0\n\t"
		     "vmrun %0\n\t"
		     "vmsave %0"
		     : : "a"(svm->vmcb_gpa) : "rcx", "rdi", "cc", "memory");
}

/* Nothing in CPUID says that VMLOAD switches LWP: L2 has none. */
static void l1_without_area(struct svm_test_data *svm)
{
	setup_l2(svm, l2_counted);
	run_l2(svm);
	GUEST_ASSERT_EQ(svm->vmcb->control.exit_code, SVM_EXIT_EXCP_BASE + UD_VECTOR);
	GUEST_ASSERT_EQ(svm->vmcb->save.rip, (u64)l2_llwpcb);
	GUEST_DONE();
}

static void finish_l1(struct lwp_vm *self)
{
	struct ucall uc;

	run(self->vcpu);
	TEST_ASSERT_EQ(get_ucall(self->vcpu, &uc), UCALL_DONE);
}

LWP_TEST(l2_has_no_lwp_without_ecx_24)
{
	struct kvm_sregs sregs;
	gva_t svm;

	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_SVM));
	add_vcpu(self, l1_without_area);
	vcpu_alloc_svm(self->vm, &svm);
	vcpu_args_set(self->vcpu, 1, svm);
	prepare_user(self->vcpu, &sregs);
	init_block(self, LWP_IRE);
	finish_l1(self);
}

/*
 * VMLOAD and VMSAVE switch LWP: the profile of L2 stays L2's, while L1 has its
 * own LWP_CFG and no block.
 */
static void l1_with_area(struct svm_test_data *svm, u64 l1_gpa)
{
	struct kvm_lwp_image *image = (void *)svm->vmcb + LWP_VMCB_OFFSET;

	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SVME);
	wrmsr(MSR_LWP_CFG, LWP_BRE);
	asm volatile("vmsave %0" : : "a"(l1_gpa) : "memory");
	GUEST_ASSERT_EQ(((struct kvm_lwp_image *)(l1_vmcb + LWP_VMCB_OFFSET))->cfg, LWP_BRE);
	setup_l2(svm, l2_counted);
	*image = (struct kvm_lwp_image) { .cfg = LWP_IRE, .format = KVM_LWP_IMAGE_FORMAT };

	run_l2(svm);
	GUEST_ASSERT_EQ(svm->vmcb->control.exit_code, SVM_EXIT_VMMCALL);
	GUEST_ASSERT_EQ(*(u64 *)image->xsave, (u64)block_page);
	asm volatile("vmload %0" : : "a"(l1_gpa) : "memory");
	GUEST_ASSERT_EQ(rdmsr(MSR_LWP_CBADDR), 0);
	GUEST_ASSERT_EQ(rdmsr(MSR_LWP_CFG), LWP_BRE);
	asm volatile("out %al, $0x80");

	svm->vmcb->save.rip += 3;
	run_l2(svm);
	GUEST_ASSERT_EQ(svm->vmcb->control.exit_code, SVM_EXIT_VMMCALL);
	asm volatile("vmload %0" : : "a"(l1_gpa) : "memory");
	GUEST_ASSERT_EQ(rdmsr(MSR_LWP_CFG), LWP_BRE);
	GUEST_DONE();
}

/* The VM migrates while L1 runs, and while L2 runs. */
LWP_TEST(vmload_and_vmsave_switch_l2s_profile)
{
	u8 *expected[] = { l2_nop, l2_out, l2_mov, l2_query };
	struct kvm_sregs sregs;
	gva_t svm;
	int i;

	TEST_REQUIRE(kvm_cpu_has(X86_FEATURE_SVM));
	TEST_REQUIRE(vm_check_cap(self->vm, KVM_CAP_X86_LWP) & KVM_LWP_HAS_VMCB);
	self->policy.context = KVM_LWP_CONTEXT_OS;
	self->area = LWP_LEAF_VMCB_AREA;
	add_vcpu(self, l1_with_area);
	vcpu_alloc_svm(self->vm, &svm);
	vcpu_args_set(self->vcpu, 2, svm, addr_gva2gpa(self->vm, (u64)l1_vmcb));
	prepare_user(self->vcpu, &sregs);
	init_block(self, LWP_IRE);
	set_event(self, EVENT_IRE, 0, 0);
	for (i = 0; i < 2; i++) {
		TEST_ASSERT_EQ(run(self->vcpu), PORT_STOP);
		migrate(self);
	}
	finish_l1(self);
	TEST_ASSERT_EQ(records(self), 4);
	for (i = 0; i < ARRAY_SIZE(expected); i++) {
		TEST_ASSERT_EQ(record(self, i)->event_id, EVENT_IRE);
		TEST_ASSERT_EQ(record(self, i)->address, (u64)expected[i]);
	}
}

int main(int argc, char *argv[])
{
	TEST_REQUIRE(kvm_check_cap(KVM_CAP_X86_LWP) & KVM_LWP_HAS_EXACT);

	return test_harness_run(argc, argv);
}
