/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lightweight Profiling for SVM guests: the state that kvm_amd keeps for a vCPU and for a VM, and
 * the functions that the rest of kvm_amd calls. The engine, in svm/lwp/, carries out LWP;
 * svm/lwp*.c connect it to the guest, see lwp_layers.h.
 */
#ifndef __SVM_LWP_H
#define __SVM_LWP_H

#include <linux/jump_label_ratelimit.h>
#include <linux/kvm_host.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>

#include <asm/kvm_lwp.h>

#include "kvm_emulate.h"
#include "x86.h"

#include "lwp/lwp_context_look.h"
#include "lwp/lwp_context_table.h"
#include "lwp/lwp_engine.h"
#include "lwp/lwp_insn.h"
#include "lwp/lwp_margin.h"
#include "lwp/lwp_net.h"
#include "lwp/pmc_row.h"

struct perf_event;
struct vcpu_svm;

/* How LWP has the guest run, see lwp_mode.c. */
enum svm_lwp_mode {
	LWP_MODE_OFF, /* LWP has nothing to do; the user-return trap is not armed */
	LWP_MODE_PASS, /* without steps; nothing counts */
	LWP_MODE_COUNT, /* at full speed; the source counts */
	LWP_MODE_NET, /* at full speed up to breakpoints, see lwp_nets.c; the source counts */
	LWP_MODE_STEP, /* over one instruction at CPL 3, with RFLAGS.TF */
	LWP_MODE_OVER, /* the same without the flag, up to a breakpoint or an intercept */
	LWP_MODE_IRET, /* over an IRET, which loads RFLAGS.TF itself */
	LWP_MODE_VMRUN, /* VMRUN of a nested guest completes; no instruction after it does */
	/* After an exit, before the next mode is chosen: */
	LWP_MODE_AT_IRET, /* an IRET is next */
	LWP_MODE_AT_INT, /* a software interrupt is next: it runs while the source is stopped */
	LWP_MODES
};

/* The instruction that the vCPU executes next at CPL 3, decoded before VM-Entry. */
struct svm_lwp_next {
	bool valid;
	bool known; /* insn is valid; false: the bytes could not be read or decoded */
	struct lwp_insn insn;
	u64 ip; /* rIP, offset in CS */
	struct lwp_retired retired; /* what the engine counts when it retires */
};

enum svm_lwp_perf_event {
	SVM_LWP_PERF_INSNS,
	SVM_LWP_PERF_BRANCHES,
	SVM_LWP_PERF_FAR,
	SVM_LWP_PERF_EVENTS,
};

struct svm_lwp_perf {
	struct perf_event *event[SVM_LWP_PERF_EVENTS]; /* NULL until needed */
	u32 running; /* bits of svm_lwp_perf_event */
	u64 after[LWP_KINDS];
	u64 emulated[LWP_KINDS]; /* events of instructions that KVM completed since arm() */
	u16 over[PMC_EVENTS][PMC_PLACES]; /* of the row, since arm() */
	u64 besides[PMC_EVENTS]; /* counts since arm() that are no events, by the row */
	enum pmc_place exited; /* of the last #VMEXIT */
	bool overflow; /* written in NMI context */
	bool failed; /* no counter was free; see retry */
	unsigned long retry; /* earliest retry, in jiffies */
	unsigned long used; /* when events were last used, those of clocks too; in jiffies */
	struct delayed_work release_idle;
};

/* Core and reference clocks. */
#define SVM_LWP_CLOCKS 2

struct svm_lwp_clock {
	struct perf_event *event[SVM_LWP_CLOCKS]; /* NULL until needed */
	u64 after[SVM_LWP_CLOCKS]; /* the event interrupts after this many clocks; 0: not running */
	bool overflow; /* written in NMI context */
	bool failed; /* no counter was free; see retry */
	unsigned long retry; /* earliest retry, in jiffies */
};

/* Data cache misses, sampled: lwp_ibs.c */
struct svm_lwp_ibs {
	struct perf_event *event; /* NULL until needed */
	bool running;
	bool failed; /* others had IBS; see retry */
	unsigned long retry; /* earliest retry, in jiffies */
	bool inside; /* from VM-Entry to the end of #VMEXIT; read in NMI context */
	bool sampled; /* in this entry; written in NMI context */
	bool missed; /* the sample was a load that missed; written in NMI context */
	u64 address; /* of the load */
	struct lwp_miss miss;
	u64 weight; /* the ops that it stands for */
	u64 ops; /* the guest's since its last sample */
	u64 entered, left; /* IBS_OP_CTL right before VMRUN and right after #VMEXIT */
};

/* Nets, see lwp_nets.c */
struct svm_lwp_net {
	u32 off; /* steps that they are not trusted for */
	u32 doubt; /* the same, the last time */
	struct lwp_net of; /* the last entry's; with LWP_MODE_OVER only its cuts */
	u64 left[LWP_KINDS]; /* events until one is due, at that entry */
	u32 slots; /* bits of the registers that LWP has */
	u64 others_dr7; /* around VMRUN */
	bool rf; /* LWP has set RFLAGS.RF around VMRUN */
};

#define SVM_LWP_PINS 8

struct svm_lwp_pin {
	struct page *page;
	gfn_t gfn;
};

/* An access of the guest's program to a page: PFERR_*, and how it ended. */
struct svm_lwp_want {
	u64 gva, access;
	enum lwp_mem_result result;
};

/* Guest memory that is accessed, and that is waited for; see lwp_mem.c */
struct svm_lwp_memory {
	struct svm_lwp_pin pin[SVM_LWP_PINS];
	u32 pins;
	bool waits; /* `wanted` is not there */
	struct svm_lwp_want wanted;
	struct svm_lwp_want found[4]; /* that fail, however long they are waited for */
	u32 founds;
};

struct svm_lwp {
	/*
	 * Guards the engine and the fields up to `clock`. Taken in process context only, also by
	 * the thread of another vCPU that takes a context over. Ordered before kvm_svm_lwp.lock.
	 */
	struct mutex lock;
	bool enabled; /* the guest's CPUID has LWP */
	u32 refusal; /* KVM_LWP_REFUSED_*: why it does not */
	struct lwp_engine engine;

	/* Contexts, see lwp_ctx.c */
	bool watching; /* writes of CR3, FS base and KernelGSBase are intercepted */
	bool fsgsbase_trapped; /* CR4.FSGSBASE is clear in the VMCB */
	bool lookup; /* the running thread may have a parked context: look it up */
	bool unreadable; /* the last lookup found one that cannot be read: lookup stays set */
	bool taken; /* another vCPU has taken the live context: look it up when below CPL 3 */
	bool resume; /* os: LWP_CBADDR was written; look for a parked state with that pointer */
	bool live; /* the engine's state is the context of live_key */
	struct lwp_ctx_key live_key;
	u64 seen_cr3, seen_fs, seen_gs; /* at the last lookup */
	enum lwp_paging seen_paging;
	struct lwp_exc msr_exc; /* 2007: raised by the last access to LWP_CBADDR ... */
	u64 msr_rip; /* ... at this rIP */

	/* The source and counts that the engine does not have yet, see lwp_source.c */
	bool counting; /* the source is armed */
	bool nets; /* for nets, see lwp_nets.c */
	u64 armed[LWP_KINDS]; /* events after which it interrupts; 0 = not for this kind */
	struct lwp_margin margin[LWP_KINDS]; /* only of kinds that a source counts */
	struct lwp_ctx_key margin_of; /* the thread from whose interrupts they have learned */
	u32 row_turn; /* the row from which they come, see lwp_row.c; 0: none yet */
	u64 near[LWP_KINDS]; /* budget when it was last found within the margin; else U64_MAX */
	unsigned long budget_since; /* jiffies at the start of the stepping budget's window */
	u32 budget_left; /* steps in it */
	u64 budget_out; /* time at which it ran out, in ns; 0 = it has not */
	struct svm_lwp_perf perf;
	struct svm_lwp_clock clock;
	struct svm_lwp_ibs ibs;
	struct svm_lwp_net net;

	/* The vCPU's own business: only its thread uses these. */
	enum svm_lwp_mode mode;
	bool trapping; /* the user-return trap is armed */
	bool sysenter_trapped; /* it is also for SYSENTER and SYSEXIT; see lwp_syscall.c */
	u64 sysenter_cs; /* the guest's SYSENTER_CS meanwhile */
	bool in_user; /* at CPL 3 at the last boundary, and KVM has seen no exit from CPL 3 since */
	bool exit_user; /* at CPL 3 at the last #VMEXIT */
	u64 exit_ip; /* rIP at the last #VMEXIT */
	u64 iret_ip; /* rIP of the last IRET that was intercepted */
	bool ss_shadow; /* the instruction before was MOV SS or POP SS */
	u64 others_tf; /* RFLAGS.TF as its other owners left it */
	struct svm_lwp_next next;
	struct svm_lwp_next behind; /* the one after it, if it is MOV SS or POP SS */
	struct svm_lwp_memory memory;
	bool avic_off; /* this vCPU is counted in kvm_svm_lwp.stepping */
	struct lwp_stats seen; /* the engine's statistics that the vCPU's already include */
};

#define LWP_SPACES_SHIFT 10
#define LWP_SPACES (1 << LWP_SPACES_SHIFT)

/* Per VM. */
struct kvm_svm_lwp {
	struct mutex lock; /* of all but policy and asked; guest memory is not touched under it */
	struct lwp_ctx_table table; /* entry is NULL until a vCPU has LWP */
	struct lwp_caps caps; /* of all vCPUs that have LWP, and of the table */
	unsigned int vcpus; /* that have LWP */
	struct kvm_lwp_policy policy;
	bool asked; /* user space has set the policy: vCPUs may have LWP. Guarded by kvm->lock. */
	unsigned int stepping; /* vCPUs that may step */
	bool inhibited; /* AVIC is inhibited: while a vCPU may step, and a while longer */
	struct delayed_work allow_avic;
	unsigned long look_at; /* jiffies: no parked context is due for a look before */
	bool watched; /* vCPUs intercept switches: while there is any context, and a while longer */
	struct delayed_work unwatch;
	DECLARE_BITMAP(spaces, LWP_SPACES); /* that have contexts, by a hash of CR3 */
	bool code32; /* so has 32-bit code */
};

/* vCPUs that have LWP, of all VMs */
extern struct static_key_false_deferred svm_lwp_in_use;

#ifdef CONFIG_KVM_AMD_LWP
extern bool enable_lwp;
#else
#define enable_lwp false
#endif

/*
 * Has any vCPU of this host LWP? If none has, nothing of LWP runs around a VM-Entry. Code of KVM
 * calls LWP's functions only if this or enable_lwp is true.
 */
static __always_inline bool svm_lwp_used(void)
{
	return IS_ENABLED(CONFIG_KVM_AMD_LWP) && static_branch_unlikely(&svm_lwp_in_use.key);
}

/* Set-up: lwp_vcpu.c */
void svm_lwp_hardware_setup(void);
void svm_lwp_vm_init(struct kvm *kvm);
void svm_lwp_vm_destroy(struct kvm *kvm);
void svm_lwp_vcpu_init(struct kvm_vcpu *vcpu);
void svm_lwp_vcpu_free(struct kvm_vcpu *vcpu);
void svm_lwp_reset(struct kvm_vcpu *vcpu);
void svm_lwp_after_set_cpuid(struct kvm_vcpu *vcpu);
int svm_lwp_get_msr(struct kvm_vcpu *vcpu, struct msr_data *msr);
int svm_lwp_set_msr(struct kvm_vcpu *vcpu, struct msr_data *msr);
bool svm_lwp_msr_raised(struct kvm_vcpu *vcpu);
bool svm_lwp_asked(struct kvm *kvm);
bool svm_lwp_has(struct kvm_vcpu *vcpu);

/* The guest's kernel switches threads: lwp_switch.c */
void svm_lwp_recalc_msr_intercepts(struct kvm_vcpu *vcpu);
void svm_lwp_switched(struct kvm_vcpu *vcpu);
u64 svm_lwp_cr4(struct vcpu_svm *svm, u64 cr4);
bool svm_lwp_mov_cr3(struct kvm_vcpu *vcpu, int *r);

/* Where the guest's SYSENTER_CS is: lwp_syscall.c */
u64 *svm_lwp_sysenter_cs(struct vcpu_svm *svm);

/* User space: lwp_attr.c */
int svm_lwp_extension(struct kvm *kvm, long ext);
int svm_lwp_vm_attr(struct kvm *kvm, unsigned int ioctl, struct kvm_device_attr *attr);
int svm_lwp_vcpu_attr(struct kvm_vcpu *vcpu, unsigned int ioctl, struct kvm_device_attr *attr);
void svm_lwp_debugfs_init(void);

/* The guest's own PMU: lwp_source.c */
void svm_lwp_yield(struct kvm_vcpu *vcpu);

/* Before each VM-Entry: lwp_enter.c */
bool svm_lwp_enter(struct kvm_vcpu *vcpu, int *r);

/* Before and after VMRUN, and exits for exceptions: lwp_step.c */
void svm_lwp_before_run(struct vcpu_svm *svm);
void svm_lwp_after_run(struct vcpu_svm *svm);
bool svm_lwp_db(struct kvm_vcpu *vcpu);
bool svm_lwp_exception(struct kvm_vcpu *vcpu, u32 exit_code);

/* Nearest to VMRUN and #VMEXIT, where nothing may be traced: lwp_ibs.c */
void svm_lwp_enter_noinstr(struct vcpu_svm *svm);
void svm_lwp_leave_noinstr(struct vcpu_svm *svm);

/* The VMCB's EFER: lwp_user_return.c */
u64 svm_lwp_efer(struct vcpu_svm *svm, u64 efer);

/* Exits for software interrupts and IRET: lwp_mode.c */
bool svm_lwp_software_int(struct kvm_vcpu *vcpu, u32 exit_code);
bool svm_lwp_iret(struct kvm_vcpu *vcpu);

/* Exits for #UD: lwp_emul.c */
bool svm_lwp_ud(struct kvm_vcpu *vcpu, int *r);

/* What an entry has passed, and KVM has completed an instruction: lwp_adjust.c */
void svm_lwp_passed(struct kvm_vcpu *vcpu);
void svm_lwp_skipped(struct kvm_vcpu *vcpu);
void svm_lwp_emulated(struct kvm_vcpu *vcpu);

/* Do VMCBs hold an image: lwp_intercept.c */
bool svm_lwp_in_vmcb(struct kvm_vcpu *vcpu);

/* The image in VMCBs: lwp_nested.c */
void svm_lwp_vmload(struct kvm_vcpu *vcpu, const struct vmcb *from);
void svm_lwp_vmsave(struct kvm_vcpu *vcpu, struct vmcb *to);

#endif
