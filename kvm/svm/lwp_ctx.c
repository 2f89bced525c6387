// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contexts: the states of the profiled threads of a VM, and which of them a vCPU's engine holds.
 *
 * auto: the key of a context is an address space (CR3) and a thread (FS base). KVM intercepts
 * writes of both while the VM has any context; a switch parks one context and looks up the next. A
 * vCPU takes a context that is live on another vCPU. The holder does not have to run for that: it
 * may halt, and its thread may have moved away. os: RDMSR LWP_CBADDR parks the state under (CR3,
 * pointer); WRMSR of that pointer resumes it before the next instruction at CPL 3.
 */
#include "svm.h"
#include "x86.h"
#include "lwp_svm.h"
#include "lwp_trace.h"

/* Attempts to take a context from another vCPU before it is left to the others. */
#define LWP_TAKE_TRIES 4

static struct kvm_svm_lwp *svm_lwp_vm(struct kvm_vcpu *vcpu)
{
	return &to_kvm_svm(vcpu->kvm)->lwp;
}

static bool svm_lwp_any(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(svm_lwp_vm(vcpu)->table.used);
}

/*
 * True: LWP has nothing to do at a VM-Entry. Read without the lock: another vCPU that changes one
 * of these makes a request.
 */
bool svm_lwp_idle(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	return !lwp_engine_on(&lwp->engine) && !svm_lwp_any(vcpu) && !lwp->trapping &&
	       !lwp->watching && !lwp->exceptions && !lwp->soft && !lwp->live;
}

/* Switch the intercepts of writes of CR3 and FS base on or off. */
void svm_lwp_watch(struct kvm_vcpu *vcpu, bool on)
{
	struct vcpu_svm *svm = to_svm(vcpu);

	if (svm->lwp.watching == on)
		return;
	svm->lwp.watching = on;
	set_msr_interception(vcpu, svm->msrpm, MSR_FS_BASE, 1, !on);
	if (!npt_enabled)
		return;
	if (on)
		svm_set_intercept(svm, INTERCEPT_CR3_WRITE);
	else
		svm_clr_intercept(svm, INTERCEPT_CR3_WRITE);
}

static enum lwp_paging svm_lwp_paging(struct kvm_vcpu *vcpu)
{
	if (is_long_mode(vcpu))
		return LWP_PAGING_LONG;
	return is_pae_paging(vcpu) ? LWP_PAGING_PAE : LWP_PAGING_LEGACY;
}

static struct lwp_ctx_key svm_lwp_key(struct kvm_vcpu *vcpu, bool code64)
{
	return lwp_ctx_make_key(svm_lwp_paging(vcpu), kvm_read_cr3(vcpu), code64,
				to_svm(vcpu)->vmcb01.ptr->save.fs.base);
}

/*
 * Does the live context belong to the running thread? A context of 32-bit code has no thread part.
 */
static bool svm_lwp_is_current(struct kvm_vcpu *vcpu)
{
	const struct lwp_ctx_key *live = &to_svm(vcpu)->lwp.live_key;
	struct lwp_ctx_key now = svm_lwp_key(vcpu, !(live->flags & LWP_CTX_32BIT));

	return lwp_ctx_key_equal(live, &now);
}

static void svm_lwp_trace_context(struct kvm_vcpu *vcpu, const char *what,
				  const struct lwp_ctx_key *key)
{
	vcpu->stat.lwp_context_switches++;
	trace_kvm_lwp_context(vcpu->vcpu_id, what, key->cr3, key->thread);
}

static void svm_lwp_park_live(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);

	svm_lwp_source_fold(vcpu);
	mutex_lock(&vm->lock);
	lwp_ctx_park(&vm->table, &lwp->engine, vcpu->vcpu_idx);
	mutex_unlock(&vm->lock);
	svm_lwp_trace_context(vcpu, "park", &lwp->live_key);
	svm_lwp_put(vcpu);
	lwp->live = false;
	lwp->next.valid = false;
}

/* Park the live context; drop: discard it. */
void svm_lwp_ctx_leave(struct kvm_vcpu *vcpu, bool drop)
{
	if (drop)
		lwp_state_off(&to_svm(vcpu)->lwp.engine.st);
	svm_lwp_park_live(vcpu);
}

/* Have `holder` park the context of `key`. Called without locks. */
static void svm_lwp_take(struct kvm_vcpu *vcpu, s32 holder, const struct lwp_ctx_key *key)
{
	struct kvm_vcpu *other = kvm_get_vcpu(vcpu->kvm, holder);
	struct svm_lwp *lwp;

	if (!other)
		return;
	lwp = &to_svm(other)->lwp;
	mutex_lock(&lwp->lock);
	if (lwp->live && lwp_ctx_key_equal(&lwp->live_key, key))
		svm_lwp_park_live(other);
	mutex_unlock(&lwp->lock);
	kvm_make_request(KVM_REQ_LWP, other);
	kvm_vcpu_kick(other);
}

/*
 * Look up a key. take: take its context from another vCPU if it is live there. The engine is off.
 */
static enum lwp_ctx_found svm_lwp_find(struct kvm_vcpu *vcpu, const struct lwp_ctx_key *key,
				       bool take)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);
	enum lwp_ctx_found found;
	int tries;
	s32 holder;

	for (tries = 0; tries < LWP_TAKE_TRIES; tries++) {
		mutex_lock(&vm->lock);
		found = lwp_ctx_find(&vm->table, &lwp->engine, vcpu->vcpu_idx, key, &holder);
		mutex_unlock(&vm->lock);
		if (found != LWP_CTX_BUSY || !take)
			break;
		mutex_unlock(&lwp->lock);
		svm_lwp_take(vcpu, holder, key);
		mutex_lock(&lwp->lock);
	}
	if (found == LWP_CTX_RESUMED) {
		lwp->live = true;
		lwp->live_key = *key;
		lwp->in_user = false;
		svm_lwp_trace_context(vcpu, "resume", key);
	}
	return found;
}

/*
 * Look up the context of the running thread. At CPL 0 KVM cannot tell whether the thread runs
 * 64-bit or 32-bit code: it tries both keys. True: the context is live on another vCPU.
 */
static bool svm_lwp_lookup(struct kvm_vcpu *vcpu, bool take)
{
	enum lwp_ctx_found found = LWP_CTX_NONE;
	struct lwp_ctx_key key;
	bool busy;

	if (is_long_mode(vcpu)) {
		key = svm_lwp_key(vcpu, true);
		found = svm_lwp_find(vcpu, &key, take);
		if (found == LWP_CTX_RESUMED)
			return false;
	}
	busy = found == LWP_CTX_BUSY;
	key = svm_lwp_key(vcpu, false);
	found = svm_lwp_find(vcpu, &key, take);
	return found == LWP_CTX_BUSY || (busy && found != LWP_CTX_RESUMED);
}

static void svm_lwp_sync_auto(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 fs = to_svm(vcpu)->vmcb01.ptr->save.fs.base;
	u64 cr3 = kvm_read_cr3(vcpu);
	bool user = to_svm(vcpu)->vmcb->save.cpl == 3;
	bool watched = lwp->watching;

	/* A state that user space has set belongs to the running thread. */
	if (!lwp->live)
		svm_lwp_ctx_changed(vcpu);
	svm_lwp_watch(vcpu, svm_lwp_any(vcpu) && !is_guest_mode(vcpu));
	if (is_guest_mode(vcpu)) {
		if (lwp->live)
			svm_lwp_park_live(vcpu);
		lwp->lookup = true;
		return;
	}
	if (lwp->live && !svm_lwp_is_current(vcpu))
		svm_lwp_park_live(vcpu);
	if (cr3 != lwp->seen_cr3 || fs != lwp->seen_fs)
		lwp->lookup = true;
	lwp->seen_cr3 = cr3;
	lwp->seen_fs = fs;
	/*
	 * The first lookup after the intercepts were switched on takes nothing from other vCPUs:
	 * no switch has been seen yet, so a context that is live elsewhere belongs there. It does
	 * resume a parked context, whose thread may have come here before the intercepts. A lookup
	 * at CPL 0 takes nothing either: an idle kernel may still have the CR3 and FS base of a
	 * thread that runs elsewhere by now. At CPL 3 they belong to the running thread.
	 */
	if (lwp->lookup && !lwp->live && svm_lwp_any(vcpu))
		lwp->lookup = svm_lwp_lookup(vcpu, watched && user) && watched && !user;
	else
		lwp->lookup = false;
}

/* Does the vCPU take a context from another vCPU when the guest returns to CPL 3? */
bool svm_lwp_ctx_awaited(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	return lwp->engine.auto_context && lwp->lookup && !is_guest_mode(vcpu);
}

static struct lwp_ctx_key svm_lwp_os_key(struct kvm_vcpu *vcpu, u64 pointer)
{
	struct lwp_ctx_key key = svm_lwp_key(vcpu, true);

	key.thread = pointer;
	return key;
}

/*
 * LWP_CBADDR was written: at CPL 3, resume the state that is parked under that pointer, or load the
 * block.
 */
static void svm_lwp_sync_os(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 pointer = lwp->engine.st.cb_addr;
	struct lwp_ctx_key key;
	enum lwp_ctx_found found;

	if (!lwp->resume || to_svm(vcpu)->vmcb->save.cpl != 3)
		return;
	if (is_guest_mode(vcpu)) {
		lwp->resume = false;
		return;
	}
	lwp_state_off(&lwp->engine.st);
	key = svm_lwp_os_key(vcpu, pointer);
	found = svm_lwp_find(vcpu, &key, true);
	lwp->resume = found == LWP_CTX_UNREADABLE;
	if (found != LWP_CTX_RESUMED)
		lwp_engine_defer(&lwp->engine, pointer);
}

/* Before each VM-Entry: give the engine the state of the running thread. */
void svm_lwp_ctx_sync(struct kvm_vcpu *vcpu)
{
	if (to_svm(vcpu)->lwp.engine.auto_context)
		svm_lwp_sync_auto(vcpu);
	else
		svm_lwp_sync_os(vcpu);
}

/* LLWPCB first flushes the state of the running thread; resume it if it is parked. */
void svm_lwp_ctx_before_llwpcb(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_ctx_key key;

	if (!lwp->engine.auto_context || lwp_engine_on(&lwp->engine) || !svm_lwp_any(vcpu))
		return;
	key = svm_lwp_key(vcpu, svm_lwp_code_bits(vcpu) == LWP_CODE64);
	svm_lwp_find(vcpu, &key, true);
}

/* The engine may have switched LWP on or off: create or drop the context in the table. */
void svm_lwp_ctx_changed(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);
	bool on = lwp_engine_on(&lwp->engine);
	bool first = false;

	if (on == lwp->live || (on && !lwp->engine.auto_context))
		return;
	mutex_lock(&vm->lock);
	if (on) {
		first = !lwp_ctx_any(&vm->table);
		lwp->live_key = svm_lwp_key(vcpu, svm_lwp_code_bits(vcpu) == LWP_CODE64);
		on = lwp_ctx_create(&vm->table, &lwp->engine, vcpu->vcpu_idx, &lwp->live_key);
	} else {
		lwp_ctx_drop_live(&vm->table, vcpu->vcpu_idx);
	}
	mutex_unlock(&vm->lock);
	lwp->live = on;
	svm_lwp_trace_context(vcpu, on ? "create" : "drop", &lwp->live_key);
	/* The VM has its first context: every vCPU must intercept switches from now on. */
	if (first)
		kvm_make_all_cpus_request(vcpu->kvm, KVM_REQ_LWP);
}

/*
 * os: RDMSR LWP_CBADDR. A block that has not been read yet needs no context: it is read after its
 * pointer is written again.
 */
void svm_lwp_ctx_park(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);

	/*
	 * The address spaces of nested guests have no key: their hypervisor switches the state with
	 * VMSAVE.
	 */
	if (is_guest_mode(vcpu))
		return;
	svm_lwp_source_fold(vcpu);
	lwp->resume = false;
	if (!lwp->live && !lwp_state_deferred(&lwp->engine.st)) {
		lwp->live_key = svm_lwp_os_key(vcpu, lwp->engine.st.cb_addr);
		mutex_lock(&vm->lock);
		lwp->live =
			lwp_ctx_create(&vm->table, &lwp->engine, vcpu->vcpu_idx, &lwp->live_key);
		mutex_unlock(&vm->lock);
	}
	if (lwp->live)
		svm_lwp_park_live(vcpu);
	else
		lwp_state_off(&lwp->engine.st);
}

/* Copy the live context into the table; it stays live. */
void svm_lwp_ctx_refresh(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);

	if (!lwp->live)
		return;
	svm_lwp_source_fold(vcpu);
	mutex_lock(&vm->lock);
	lwp_ctx_refresh(&vm->table, &lwp->engine, vcpu->vcpu_idx);
	mutex_unlock(&vm->lock);
}

/*
 * Make the parked context of a key live again, as it was when the vCPU was saved. False: there is
 * none, and nothing has changed.
 */
bool svm_lwp_ctx_resume(struct kvm_vcpu *vcpu, const struct lwp_ctx_key *key)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);
	bool found;

	if (lwp->live)
		return lwp_ctx_key_equal(&lwp->live_key, key);
	svm_lwp_source_drop(vcpu);
	mutex_lock(&vm->lock);
	found = lwp_ctx_resume(&vm->table, &lwp->engine, vcpu->vcpu_idx, key);
	mutex_unlock(&vm->lock);
	if (!found)
		return false;
	lwp->live = true;
	lwp->live_key = *key;
	lwp->resume = false;
	svm_lwp_trace_context(vcpu, "resume", key);
	return true;
}

/*
 * Continue where a vCPU with these KVM_LWP_* flags was saved. Its registers have been set. The
 * saved vCPU had looked up its thread, unless KVM_LWP_LOOKUP is set. Nothing is stored in the
 * shadow of a MOV SS; any interrupt shadow that was restored is taken for one.
 */
void svm_lwp_ctx_goes_on(struct kvm_vcpu *vcpu, u32 flags)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	lwp->lookup = flags & KVM_LWP_LOOKUP;
	lwp->seen_cr3 = kvm_read_cr3(vcpu);
	lwp->seen_fs = to_svm(vcpu)->vmcb01.ptr->save.fs.base;
	lwp->in_user = !(flags & KVM_LWP_ENTERED);
	lwp->ss_shadow = true;
}
