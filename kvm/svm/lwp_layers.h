/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of svm/lwp*.c have of each other. They are layers: a file calls only functions of
 * files that stand above it here.
 */
#ifndef __SVM_LWP_LAYERS_H
#define __SVM_LWP_LAYERS_H

#include "lwp_svm.h"
#include "lwp/lwp_xop.h"

struct dentry;
struct perf_event;
struct perf_sample_data;

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

/* Jiffies after which a vCPU releases perf events that it does not use. */
#define SVM_LWP_PERF_IDLE HZ

/*
 * What the operand callbacks of the decoders work on. e: the exception that the last read ended
 * with.
 */
struct svm_lwp_reader {
	struct kvm_vcpu *vcpu;
	struct x86_exception e;
	bool not_ram; /* some of what was read, so the processor would get something else */
};

/* Does the vCPU run with RFLAGS.TF of LWP? */
static inline bool svm_lwp_mode_steps(enum svm_lwp_mode mode)
{
	return mode == LWP_MODE_STEP || mode == LWP_MODE_IRET;
}

/* Does it run for one instruction, or for one behind MOV SS? */
static inline bool svm_lwp_mode_single(enum svm_lwp_mode mode)
{
	return svm_lwp_mode_steps(mode) || mode == LWP_MODE_OVER;
}

/* Does the source count what the guest executes? */
static inline bool svm_lwp_mode_counts(enum svm_lwp_mode mode)
{
	return mode == LWP_MODE_COUNT || mode == LWP_MODE_NET;
}

/* lwp_cpu.c */
void svm_lwp_cpu_warn(void);

/* lwp_mem.c */
extern const struct lwp_vcpu_ops svm_lwp_ops;
enum lwp_paging svm_lwp_paging(struct kvm_vcpu *vcpu);
void svm_lwp_memory_lock(struct kvm_vcpu *vcpu);
bool svm_lwp_memory_waits(struct kvm_vcpu *vcpu);
bool svm_lwp_memory_unlock(struct kvm_vcpu *vcpu);
void svm_lwp_store_begin(struct kvm_vcpu *vcpu);
void svm_lwp_store_end(struct kvm_vcpu *vcpu);
struct x86_exception svm_lwp_page_fault(const struct lwp_fault *fault);
gpa_t svm_lwp_walk(struct kvm_vcpu *vcpu, u64 gva, u64 access, struct x86_exception *e);
enum lwp_mem_result svm_lwp_failed(struct kvm_vcpu *vcpu, u64 gva, u64 access,
				   enum lwp_mem_result otherwise);

/* lwp_code.c */
bool svm_lwp_user_mode(const struct vcpu_svm *svm);
unsigned int svm_lwp_code_at(struct kvm_vcpu *vcpu, u64 linear, u8 *to, unsigned int len);
enum lwp_code_bits svm_lwp_code_bits(struct kvm_vcpu *vcpu);
u64 svm_lwp_linear(struct kvm_vcpu *vcpu, u64 ip);
bool svm_lwp_insn_at(struct kvm_vcpu *vcpu, u64 linear, struct lwp_insn *insn);
bool svm_lwp_insn_at_rip(struct kvm_vcpu *vcpu, struct lwp_insn *insn);
bool svm_lwp_xop_at_rip(struct kvm_vcpu *vcpu, struct lwp_xop *xop, enum lwp_decode *verdict,
			struct x86_exception *e);
struct lwp_access svm_lwp_access(struct svm_lwp_reader *reader, struct kvm_vcpu *vcpu);
struct lwp_ds svm_lwp_ds(struct kvm_vcpu *vcpu);

/* lwp_intercept.c */
void svm_lwp_intercept(struct vcpu_svm *svm, int word, u32 bits, bool on);
bool svm_lwp_excepts(const struct vcpu_svm *svm, u32 vector);
bool svm_lwp_stepped(const struct vcpu_svm *svm);
bool svm_lwp_counts(const struct lwp_engine *e, enum lwp_kind kind);
void svm_lwp_pass(struct kvm_vcpu *vcpu, enum lwp_kind kind, u64 n, bool here);
void svm_lwp_update_avail(struct kvm_vcpu *vcpu);
void svm_lwp_account(struct kvm_vcpu *vcpu);
void svm_lwp_inject(struct kvm_vcpu *vcpu, const struct lwp_exc *exc);
int svm_lwp_complete(struct kvm_vcpu *vcpu, unsigned int length);
u8 *svm_lwp_image(struct vmcb *vmcb);
bool svm_lwp_here(struct kvm_vcpu *vcpu);

/* lwp_event.c */
void svm_lwp_event_put(struct perf_event **event);
bool svm_lwp_event_get(struct perf_event **event, const struct svm_lwp_counter *c, void *context);
bool svm_lwp_event_run(struct perf_event *event, u64 after);
bool svm_lwp_event_count(struct perf_event *event, u64 *count);
bool svm_lwp_event_reached(struct perf_event *event, u64 after);
void svm_lwp_event_use(struct kvm_vcpu *vcpu);

/* lwp_row.c */
u32 svm_lwp_row_turn(void);
bool svm_lwp_row_exact(enum lwp_kind kind);
void svm_lwp_row_tell(bool counters);
void svm_lwp_row_file(struct dentry *folder);
void svm_lwp_row_over(u16 over[PMC_EVENTS][PMC_PLACES]);
void svm_lwp_row_margin(struct lwp_margin *margin);

/* lwp_budget.c */
bool svm_lwp_budget_left(struct kvm_vcpu *vcpu);

/* lwp_clock.c: called with svm_lwp.lock held, except the first two */
void svm_lwp_clock_free(struct kvm_vcpu *vcpu);
bool svm_lwp_clock_usable(enum lwp_kind kind);
bool svm_lwp_clock_running(struct kvm_vcpu *vcpu);
bool svm_lwp_clock_wanted(const struct lwp_engine *e);
bool svm_lwp_clock_steps(const struct lwp_engine *e);
void svm_lwp_clock_stop(struct kvm_vcpu *vcpu, bool here);
void svm_lwp_clock_drop(struct kvm_vcpu *vcpu);
bool svm_lwp_clock_pending(struct kvm_vcpu *vcpu);
void svm_lwp_clock_check(struct kvm_vcpu *vcpu);
void svm_lwp_clock_run(struct kvm_vcpu *vcpu);
void svm_lwp_clock_stepped(struct kvm_vcpu *vcpu, struct lwp_retired *r);

/* lwp_ibs.c: called with svm_lwp.lock held, except the first three and around VMRUN */
extern u32 svm_lwp_ibs_period;
void svm_lwp_ibs_setup(void);
bool svm_lwp_ibs_offered(void);
void svm_lwp_ibs_free(struct kvm_vcpu *vcpu);
bool svm_lwp_ibs_running(struct kvm_vcpu *vcpu);
bool svm_lwp_ibs_wanted(const struct lwp_engine *e);
void svm_lwp_ibs_check(struct kvm_vcpu *vcpu);
void svm_lwp_ibs_drop(struct kvm_vcpu *vcpu);
void svm_lwp_ibs_stop(struct kvm_vcpu *vcpu);
void svm_lwp_ibs_run(struct kvm_vcpu *vcpu);
void svm_lwp_ibs_entering(struct vcpu_svm *svm);
void svm_lwp_ibs_exited(struct vcpu_svm *svm);

/* lwp_perf.c: called with svm_lwp.lock held; stop() and free() by any thread */
bool svm_lwp_perf_usable(void); /* on this host? Without the lock */
void svm_lwp_perf_free(struct kvm_vcpu *vcpu);
/*
 * Count from 0 and interrupt after `after` events of a kind; 0 = do not count them. False: perf
 * cannot.
 */
bool svm_lwp_perf_arm(struct kvm_vcpu *vcpu, const u64 after[LWP_KINDS]);
/*
 * Events since svm_lwp_perf_arm(); 0 for a kind that is not counted. False: a counter was lost.
 * Then these have certainly passed, others are lost, and the statistic lwp_no_counter says so.
 */
bool svm_lwp_perf_stop(struct kvm_vcpu *vcpu, u64 passed[LWP_KINDS]);
/* The same, but it continues to count. Called where svm_lwp_perf_pending() is false. */
void svm_lwp_perf_so_far(struct kvm_vcpu *vcpu, u64 passed[LWP_KINDS]);
/* Must it be read, as a count is reached? Then svm_lwp_perf_stop() is called at CPL 3. */
bool svm_lwp_perf_pending(struct kvm_vcpu *vcpu);
/* Has it interrupted since svm_lwp_perf_arm()? Reads no counter. IRQs may be off. */
bool svm_lwp_perf_interrupted(struct kvm_vcpu *vcpu);
/* An instruction that counts was completed by KVM. */
void svm_lwp_perf_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r);
/* Around VMRUN, IRQs off and without the lock */
void svm_lwp_perf_entering(struct kvm_vcpu *vcpu);
void svm_lwp_perf_exited(struct kvm_vcpu *vcpu);
/* Must IRET stay intercepted, because the counter counts returns to CPL 3? */
bool svm_lwp_perf_needs_returns(struct kvm_vcpu *vcpu);

/* lwp_source.c: called with svm_lwp.lock held, except at set-up */
const char *svm_lwp_source_setup(void);
void svm_lwp_source_init(struct kvm_vcpu *vcpu);
void svm_lwp_source_free(struct kvm_vcpu *vcpu);
bool svm_lwp_source_perf(void);
bool svm_lwp_source_clocks(enum lwp_kind kind);
bool svm_lwp_source_counts(struct kvm_vcpu *vcpu);
bool svm_lwp_source_nets(const struct svm_lwp *lwp);
void svm_lwp_source_left(struct kvm_vcpu *vcpu, u64 left[LWP_KINDS]);
bool svm_lwp_source_arm_nets(struct kvm_vcpu *vcpu, const u64 left[LWP_KINDS]);
bool svm_lwp_source_will_interrupt(struct kvm_vcpu *vcpu);
void svm_lwp_source_drop(struct kvm_vcpu *vcpu);
void svm_lwp_source_stop(struct kvm_vcpu *vcpu);
void svm_lwp_source_pause(struct kvm_vcpu *vcpu);
void svm_lwp_source_stop_user(struct kvm_vcpu *vcpu);
void svm_lwp_source_check(struct kvm_vcpu *vcpu);
void svm_lwp_source_retired(struct kvm_vcpu *vcpu, const struct lwp_retired *r);

/* lwp_switch.c */
void svm_lwp_watch(struct kvm_vcpu *vcpu, bool on);
bool svm_lwp_fsgsbase_watched(struct kvm_vcpu *vcpu);
bool svm_lwp_watch_key(struct kvm_svm_lwp *vm, const struct lwp_ctx_key *key);
void svm_lwp_watch_table(struct kvm_svm_lwp *vm);
bool svm_lwp_fsgsbase(struct kvm_vcpu *vcpu, int *r);
void svm_lwp_watch_init(struct kvm_svm_lwp *vm);
void svm_lwp_watch_end(struct kvm_svm_lwp *vm);

/* lwp_ctx.c: called with svm_lwp.lock held, except svm_lwp_idle(), _code32() and _now() */
u64 svm_lwp_now(void);
bool svm_lwp_idle(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_leave(struct kvm_vcpu *vcpu, bool drop);
bool svm_lwp_code32(struct kvm_vcpu *vcpu);
bool svm_lwp_ctx_awaited(struct kvm_vcpu *vcpu);
const char *svm_lwp_ctx_sync(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_before_insn(struct kvm_vcpu *vcpu, bool llwpcb);
void svm_lwp_ctx_changed(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_park(struct kvm_vcpu *vcpu);
void svm_lwp_ctx_refresh(struct kvm_vcpu *vcpu);
bool svm_lwp_ctx_resume(struct kvm_vcpu *vcpu, const struct lwp_ctx_key *key);
void svm_lwp_ctx_restored(struct kvm_vcpu *vcpu, u32 flags);

/* lwp_collect.c: called without a lock */
extern u32 svm_lwp_context_age;
void svm_lwp_collect_init(struct kvm_svm_lwp *vm);
bool svm_lwp_collect_due(struct kvm_svm_lwp *vm);
void svm_lwp_collect(struct kvm_vcpu *vcpu);

/* lwp_mode.c */
void svm_lwp_set_mode(struct vcpu_svm *svm, const char *event, enum svm_lwp_mode mode);
void svm_lwp_mode_intercepts(struct vcpu_svm *svm, bool iret);
bool svm_lwp_requeues(const struct vcpu_svm *svm, u32 vector);

/* lwp_next.c */
enum lwp_branch_class svm_lwp_branch_class(const struct lwp_insn *insn);
void svm_lwp_look(struct kvm_vcpu *vcpu);
int svm_lwp_breakpoint_type(u64 dr7, int i);
u64 svm_lwp_watchpoints(u64 dr6, u64 dr7);
enum svm_lwp_mode svm_lwp_way(struct kvm_vcpu *vcpu);

/* lwp_user_return.c */
void svm_lwp_avic_init(struct kvm *kvm);
void svm_lwp_avic_stop(struct kvm *kvm);
void svm_lwp_avic(struct kvm_vcpu *vcpu);
void svm_lwp_trap_return(struct kvm_vcpu *vcpu, bool on);

/* lwp_syscall.c */
bool svm_lwp_syscall(struct kvm_vcpu *vcpu, int *r);
bool svm_lwp_sysret(struct kvm_vcpu *vcpu, int *r);
void svm_lwp_trap_sysenter(struct kvm_vcpu *vcpu);
bool svm_lwp_sysenter(struct kvm_vcpu *vcpu);

/* lwp_nets.c */
bool svm_lwp_net(struct kvm_vcpu *vcpu);
bool svm_lwp_net_db(struct kvm_vcpu *vcpu);
void svm_lwp_net_entering(struct vcpu_svm *svm);
void svm_lwp_net_exited(struct vcpu_svm *svm);

/* lwp_adjust.c */
void svm_lwp_retired(struct kvm_vcpu *vcpu);

/* lwp_step.c has hooks only */

/* lwp_enter.c */
void svm_lwp_disarm(struct kvm_vcpu *vcpu);

/* lwp_nested.c has hooks only */

/* lwp_emul.c has hooks only */

/* lwp_vcpu.c */
void svm_lwp_leaf(const struct kvm_lwp_policy *policy, struct lwp_leaf *leaf);
u32 svm_lwp_refusal(struct kvm_vcpu *vcpu);

/* lwp_attr.c has hooks only */

#endif
