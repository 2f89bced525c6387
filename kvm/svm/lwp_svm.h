/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lightweight Profiling for SVM guests: the state that kvm_amd keeps for a vCPU and for a VM, and
 * the functions that the rest of kvm_amd calls. The engine, in svm/lwp/, carries out LWP;
 * svm/lwp*.c connect it to the guest.
 */
#ifndef __SVM_LWP_H
#define __SVM_LWP_H

#include <linux/kvm_host.h>
#include <linux/mutex.h>

#include "kvm_emulate.h"

#include "lwp/lwp_context.h"
#include "lwp/lwp_insn.h"
#include "lwp/lwp_kvm.h"
#include "lwp/lwp_margin.h"

struct perf_event;
struct perf_sample_data;
struct vcpu_svm;
struct lwp_xop;

/* What the next (or the last) VM-Entry does with RFLAGS.TF. */
enum svm_lwp_step {
	SVM_LWP_STEP_NONE,
	SVM_LWP_STEP_INSN, /* over one instruction at CPL 3 */
	SVM_LWP_STEP_IRET, /* over an IRET, which loads RFLAGS.TF itself */
	/* over no instruction: exit as soon as VMRUN of a nested guest has completed */
	SVM_LWP_STEP_BOUNCE,
};

/* The instruction that the vCPU executes next at CPL 3, decoded before VM-Entry. */
struct svm_lwp_next {
	bool valid;
	bool known; /* insn is valid; false: the bytes could not be read or decoded */
	struct lwp_insn insn;
	u64 ip; /* rIP, offset in CS */
	struct lwp_retired retired; /* what the engine counts when it retires */
};

/*
 * A source of event counts, see lwp_source.c. All functions may be NULL: then every instruction is
 * stepped. They are called in process context with svm_lwp.lock held, except usable() and where a
 * comment says otherwise; stop() by any thread, the others by the vCPU's.
 */
struct svm_lwp_source {
	const char *name;
	bool steps; /* counts in software: each instruction is stepped and passed to retired() */
	bool (*usable)(void); /* NULL: on any host */
	/*
	 * Count from 0 and interrupt after `after` events of a kind; 0 = do not count them. False:
	 * the source cannot.
	 */
	bool (*arm)(struct kvm_vcpu *vcpu, const u64 after[LWP_KINDS]);
	/*
	 * Events since arm(); 0 for a kind that is not counted. False: a counter was lost, and some
	 * events were missed.
	 */
	bool (*stop)(struct kvm_vcpu *vcpu, u64 passed[LWP_KINDS]);
	/* Must it be read, e.g. because a count is reached? Then stop() is called at CPL 3. */
	bool (*pending)(struct kvm_vcpu *vcpu);
	/* Has it interrupted since arm()? Reads no counter. IRQs may be off. May be NULL. */
	bool (*interrupted)(struct kvm_vcpu *vcpu);
	/* An instruction that counts was stepped, or completed by KVM. */
	void (*retired)(struct kvm_vcpu *vcpu, const struct lwp_retired *r);
	/* Around VMRUN, IRQs off and without the lock; may be NULL. */
	void (*entering)(struct kvm_vcpu *vcpu);
	void (*exited)(struct kvm_vcpu *vcpu);
	/* Must IRET stay intercepted, because the counter counts returns to CPL 3? May be NULL. */
	bool (*needs_returns)(void);
};

/* Properties of a processor's counters, see lwp_cpu.c. */
struct svm_lwp_cpu {
	u8 family, model_first, model_last;
	const char *name;
	u32 start, most; /* margin: first and greatest value, see lwp_margin.h */
	bool overcounts; /* errata: the counter of retired instructions may overcount */
	bool spec_lock_map; /* rolled-back locked instructions count unless MSRC001_1020[54] = 1 */
};

/* A perf event: what it counts, and its overflow handler. */
struct svm_lwp_counter {
	u32 type;
	u64 config;
	/* Called in NMI context; NULL: the event never interrupts. */
	void (*overflow)(struct perf_event *event, struct perf_sample_data *data,
			 struct pt_regs *regs);
};

/* Jiffies until a vCPU that got no counters tries again. */
#define SVM_LWP_PERF_RETRY (HZ / 10)

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
	u64 entries; /* at CPL 3 since arm() */
	u64 returns; /* counts since arm() that IRETs to CPL 3 added and that LWP does not count */
	u64 before; /* the count before this entry */
	bool measuring; /* the event runs only to measure the overcount */
	bool overflow; /* written in NMI context */
	bool failed; /* no counter was free; see retry */
	unsigned long retry; /* earliest retry, in jiffies */
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

struct svm_lwp_fake {
	u64 count[LWP_KINDS];
	u64 after[LWP_KINDS];
	bool overflow;
	u32 skid; /* once overflow is set: instructions until it interrupts */
	u32 turn; /* index of the next skid in the list */
};

/*
 * What the operand callbacks of the decoders work on. e: the exception that the last read ended
 * with.
 */
struct svm_lwp_reader {
	struct kvm_vcpu *vcpu;
	struct x86_exception e;
};

/* An event passed its limit where no record could be gathered. */
enum svm_lwp_unseen {
	SVM_LWP_UNSEEN_NOT,
	SVM_LWP_UNSEEN_COUNTED, /* counted as an overshoot; its record is not gathered yet */
	SVM_LWP_UNSEEN_GONE, /* the record is gathered; further records may be late too */
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
	bool watching; /* CR3 and FS base writes are intercepted */
	bool lookup; /* the running thread may have a parked context: look it up */
	bool resume; /* os: LWP_CBADDR was written; look for a parked state with that pointer */
	bool live; /* the engine's state is the context of live_key */
	struct lwp_ctx_key live_key;
	u64 seen_cr3, seen_fs; /* at the last lookup */

	/* The source and counts that the engine does not have yet, see lwp_source.c */
	bool counting; /* the source is armed */
	u64 armed[LWP_KINDS]; /* events after which it interrupts; 0 = not for this kind */
	struct lwp_margin margin[LWP_KINDS]; /* only of kinds that a source counts */
	u64 near[LWP_KINDS]; /* budget when it was last found within the margin; else U64_MAX */
	u64 late_branches; /* branches that have passed; the next one gets the record */
	u8 unseen[LWP_KINDS]; /* enum svm_lwp_unseen */
	unsigned long budget_since; /* jiffies at the start of the stepping budget's window */
	u32 budget_left; /* steps in it */
	u64 budget_out; /* time at which it ran out, in ns; 0 = it has not */
	struct svm_lwp_fake fake;
	struct svm_lwp_perf perf;
	struct svm_lwp_clock clock;

	/* The vCPU's own business: only its thread uses these. */
	bool in_user; /* at CPL 3 at the last boundary, and KVM has seen no exit from CPL 3 since */
	bool trapping; /* the user-return trap is armed: IRET intercepted, EFER.SCE clear */
	bool at_speed; /* the last entry ran without steps, counted by the source */
	u8 exit_cpl; /* CPL at the last #VMEXIT */
	u64 exit_ip; /* rIP at the last #VMEXIT */
	bool soft; /* instructions that the source would count wrongly are intercepted */
	u32 soft_exceptions; /* exception intercepts added for that */
	bool by_hand; /* one of them is next: it runs with source and intercepts off */
	bool over_iret; /* the IRET at iret_ip was intercepted; step over it */
	u64 iret_ip;
	bool ss_shadow; /* the instruction before was MOV SS or POP SS */
	u32 exceptions; /* exception intercepts added while stepping */
	enum svm_lwp_step step; /* of the next VM-Entry */
	enum svm_lwp_step ran; /* of the last VM-Entry */
	u64 others_tf; /* RFLAGS.TF as its other owners left it */
	struct svm_lwp_next next;
	bool avic_off; /* this vCPU is counted in kvm_svm_lwp.stepping */
	struct x86_exception fault[2]; /* faults of LWP's last two accesses, the last one first */
	u64 fault_address[2]; /* linear addresses of these faults */
	struct lwp_stats seen; /* the engine's statistics that the vCPU's already include */
};

/* Per VM. */
struct kvm_svm_lwp {
	struct mutex lock; /* guards table and stepping */
	struct lwp_ctx_table table; /* entry is NULL until a vCPU has LWP */
	struct lwp_caps caps; /* of all vCPUs that have LWP */
	struct kvm_lwp_policy policy;
	unsigned int stepping; /* vCPUs that may step; AVIC is inhibited while there is one */
};

extern bool enable_lwp;

/* lwp.c */
int svm_lwp_hardware_setup(void);
void svm_lwp_vm_init(struct kvm *kvm);
void svm_lwp_vm_destroy(struct kvm *kvm);
void svm_lwp_vcpu_init(struct kvm_vcpu *vcpu);
void svm_lwp_vcpu_free(struct kvm_vcpu *vcpu);
void svm_lwp_reset(struct kvm_vcpu *vcpu);
void svm_lwp_after_set_cpuid(struct kvm_vcpu *vcpu);
int svm_lwp_get_msr(struct kvm_vcpu *vcpu, struct msr_data *msr);
int svm_lwp_set_msr(struct kvm_vcpu *vcpu, struct msr_data *msr);
u32 svm_lwp_refusal(struct kvm_vcpu *vcpu);
void svm_lwp_update_avail(struct kvm_vcpu *vcpu);
void svm_lwp_account(struct kvm_vcpu *vcpu);
bool svm_lwp_in_use(struct kvm *kvm);

/* lwp_mem.c */
extern const struct lwp_vcpu_ops svm_lwp_ops;
enum lwp_code_bits svm_lwp_code_bits(struct kvm_vcpu *vcpu);
bool svm_lwp_insn_at_rip(struct kvm_vcpu *vcpu, struct lwp_insn *insn);
bool svm_lwp_xop_at_rip(struct kvm_vcpu *vcpu, struct lwp_xop *xop, enum lwp_decode *verdict,
			struct x86_exception *e);
struct lwp_access svm_lwp_access(struct svm_lwp_reader *reader, struct kvm_vcpu *vcpu);
struct lwp_ds svm_lwp_ds(struct kvm_vcpu *vcpu);

/* lwp_emul.c */
bool svm_lwp_ud(struct kvm_vcpu *vcpu, int *r);
void svm_lwp_inject(struct kvm_vcpu *vcpu, const struct lwp_exc *exc);

/* lwp_step.c */
bool svm_lwp_counts(const struct lwp_engine *e, enum lwp_kind kind);
bool svm_lwp_enter(struct kvm_vcpu *vcpu, int *r);
void svm_lwp_disarm(struct kvm_vcpu *vcpu);
enum lwp_branch_class svm_lwp_branch_class(const struct lwp_insn *insn);
bool svm_lwp_stepped(const struct vcpu_svm *svm);
void svm_lwp_retired(struct kvm_vcpu *vcpu);
bool svm_lwp_exception(struct kvm_vcpu *vcpu, u32 exit_code);
bool svm_lwp_db(struct kvm_vcpu *vcpu);
void svm_lwp_before_run(struct vcpu_svm *svm);
void svm_lwp_after_run(struct vcpu_svm *svm);

/* lwp_speed.c */
void svm_lwp_watch_soft(struct vcpu_svm *svm, bool on);
bool svm_lwp_soft(struct kvm_vcpu *vcpu, u32 exit_code);
void svm_lwp_skipped(struct kvm_vcpu *vcpu);
void svm_lwp_emulated(struct kvm_vcpu *vcpu);

/* lwp_cpu.c */
const struct svm_lwp_cpu *svm_lwp_cpu(void);
void svm_lwp_cpu_warn(void);

/* lwp_overcount.c */
bool svm_lwp_overcount_wanted(void);
bool svm_lwp_overcount_returns(void);
u64 svm_lwp_overcount_entry(void);
void svm_lwp_overcount_stepped(u64 count);
void svm_lwp_overcount_returned(u64 count);

/* lwp_budget.c */
bool svm_lwp_budget_left(struct kvm_vcpu *vcpu);

/* lwp_perf.c */
void svm_lwp_perf_free(struct kvm_vcpu *vcpu);
bool svm_lwp_perf_get(struct perf_event **event, const struct svm_lwp_counter *c, void *context);
void svm_lwp_perf_put(struct perf_event **event);
bool svm_lwp_perf_run(struct perf_event *event, u64 after);
bool svm_lwp_perf_reached(struct perf_event *event, u64 after);

/* lwp_clock.c: called with svm_lwp.lock held, except at setup and svm_lwp_clock_free() */
bool svm_lwp_clock_usable(enum lwp_kind kind);
void svm_lwp_clock_free(struct kvm_vcpu *vcpu);
bool svm_lwp_clock_wanted(const struct lwp_engine *e);
bool svm_lwp_clock_steps(const struct lwp_engine *e);
bool svm_lwp_clock_pending(struct kvm_vcpu *vcpu);
void svm_lwp_clock_check(struct kvm_vcpu *vcpu);
void svm_lwp_clock_run(struct kvm_vcpu *vcpu);
void svm_lwp_clock_stepped(struct kvm_vcpu *vcpu, struct lwp_retired *r);
void svm_lwp_clock_fold(struct kvm_vcpu *vcpu);
void svm_lwp_clock_fold_here(struct kvm_vcpu *vcpu);
void svm_lwp_clock_drop(struct kvm_vcpu *vcpu);

/* lwp_source.c: called with svm_lwp.lock held, except at setup and around VMRUN */
extern const struct svm_lwp_source svm_lwp_fake; /* lwp_fake.c */
extern const struct svm_lwp_source svm_lwp_perf; /* lwp_perf.c */
int svm_lwp_source_setup(void);
void svm_lwp_source_init(struct kvm_vcpu *vcpu);
bool svm_lwp_source_prompt(void);
bool svm_lwp_source_clocks(enum lwp_kind kind);
bool svm_lwp_source_at_speed(struct kvm_vcpu *vcpu);
bool svm_lwp_source_quiet(struct kvm_vcpu *vcpu);
bool svm_lwp_source_interrupted(struct kvm_vcpu *vcpu);
void svm_lwp_source_add(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n, bool here);
void svm_lwp_source_entering(struct kvm_vcpu *vcpu);
void svm_lwp_source_exited(struct kvm_vcpu *vcpu);
void svm_lwp_source_pause(struct kvm_vcpu *vcpu);
bool svm_lwp_source_counts(struct kvm_vcpu *vcpu);
void svm_lwp_source_check(struct kvm_vcpu *vcpu);
void svm_lwp_source_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r);
void svm_lwp_source_fold(struct kvm_vcpu *vcpu);
void svm_lwp_source_fold_here(struct kvm_vcpu *vcpu);
void svm_lwp_source_drop(struct kvm_vcpu *vcpu);

/* lwp_return.c */
void svm_lwp_trap_return(struct kvm_vcpu *vcpu, bool on);
void svm_lwp_trap_iret(struct vcpu_svm *svm, bool on);
void svm_lwp_iret(struct kvm_vcpu *vcpu);
bool svm_lwp_sysret(struct kvm_vcpu *vcpu, int *r);
u64 svm_lwp_efer(struct vcpu_svm *svm, u64 efer);

/* lwp_ctx.c: called with svm_lwp.lock held, except svm_lwp_idle() */
bool svm_lwp_idle(struct kvm_vcpu *vcpu);
void svm_lwp_watch(struct kvm_vcpu *vcpu, bool on);
void svm_lwp_ctx_sync(struct kvm_vcpu *vcpu);
bool svm_lwp_ctx_awaited(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_before_llwpcb(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_changed(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_park(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_leave(struct kvm_vcpu *vcpu, bool drop);
void svm_lwp_ctx_refresh(struct kvm_vcpu *vcpu);
bool svm_lwp_ctx_resume(struct kvm_vcpu *vcpu, const struct lwp_ctx_key *key);
void svm_lwp_ctx_goes_on(struct kvm_vcpu *vcpu, u32 flags);

/* lwp_nested.c */
bool svm_lwp_in_vmcb(struct kvm_vcpu *vcpu);
bool svm_lwp_here(struct kvm_vcpu *vcpu);
void svm_lwp_put(struct kvm_vcpu *vcpu);
void svm_lwp_vmload(struct kvm_vcpu *vcpu, const struct vmcb *from);
void svm_lwp_vmsave(struct kvm_vcpu *vcpu, struct vmcb *to);

/* lwp_attr.c */
int svm_lwp_extension(struct kvm *kvm);
int svm_lwp_vm_attr(struct kvm *kvm, unsigned int ioctl, struct kvm_device_attr *attr);
int svm_lwp_vcpu_attr(struct kvm_vcpu *vcpu, unsigned int ioctl, struct kvm_device_attr *attr);

#endif
