// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Contexts: the states of the profiled threads of a VM, and which of them a vCPU's engine holds.
 *
 * auto: the key of a context is an address space (CR3) and a thread (FS base and the program's GS
 * base; those of 32-bit code at CPL 3). KVM intercepts writes of CR3, FS base and KernelGSBase
 * while the VM has any context; a switch parks one context and looks up the next. A vCPU takes a
 * context that is live on another vCPU. The holder does not have to run for that: it may halt, and
 * its thread may have moved away.
 * os: RDMSR LWP_CBADDR parks the state under (CR3, pointer); WRMSR of that pointer resumes it
 * before the next instruction at CPL 3.
 *
 * The program's GS base: SWAPGS cannot be intercepted. At CPL 3 it is GS.base. Below, it is in
 * KernelGSBase once the kernel has executed SWAPGS, and in GS.base before that and again before the
 * return. So at CPL 3 the live context is compared with GS.base; below, it stays while one of the
 * two has its GS base. A kernel that switches threads writes KernelGSBase, and neither has it then.
 *
 * Locks: a vCPU's own (svm_lwp.lock) is taken by others, too; nobody sleeps in guest memory with
 * it, see lwp_mem.c. The table's (kvm_svm_lwp.lock) is never held over an access to guest memory.
 */
#include "svm.h"
#include "smm.h"
#include "x86.h"
#include "lwp_compat.h"
#include "lwp_layers.h"

/* Attempts to take a context from another vCPU before it is left to the others. */
#define LWP_TAKE_TRIES 4

/* The clock of the table, in ms. */
u64 svm_lwp_now(void)
{
	return jiffies64_to_msecs(get_jiffies_64());
}

static struct kvm_svm_lwp *svm_lwp_vm(struct kvm_vcpu *vcpu)
{
	return &to_kvm_svm(vcpu->kvm)->lwp;
}

static bool svm_lwp_any(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(svm_lwp_vm(vcpu)->table.used);
}

static bool svm_lwp_watched(struct kvm_vcpu *vcpu)
{
	return READ_ONCE(svm_lwp_vm(vcpu)->watched);
}

/* The registers of the key, as of the VMCB of L1. VMLOAD loads FS and GS, so they are there. */
static const struct vmcb_save_area *svm_lwp_save(struct kvm_vcpu *vcpu)
{
	return &to_svm(vcpu)->vmcb01.ptr->save;
}

/* The program's GS base if the kernel has executed SWAPGS. */
static u64 svm_lwp_gs(struct kvm_vcpu *vcpu)
{
	return svm_lwp_user_mode(to_svm(vcpu)) ? svm_lwp_save(vcpu)->gs.base :
						 svm_lwp_save(vcpu)->kernel_gs_base;
}

/* Has the guest switched since the last lookup? */
static bool svm_lwp_moved(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	return kvm_read_cr3(vcpu) != lwp->seen_cr3 || svm_lwp_save(vcpu)->fs.base != lwp->seen_fs ||
	       svm_lwp_gs(vcpu) != lwp->seen_gs;
}

static void svm_lwp_see(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	lwp->seen_cr3 = kvm_read_cr3(vcpu);
	lwp->seen_paging = svm_lwp_paging(vcpu);
	lwp->seen_fs = svm_lwp_save(vcpu)->fs.base;
	lwp->seen_gs = svm_lwp_gs(vcpu);
}

/*
 * May a profiled thread of 32-bit code be next at CPL 3? A switch to it writes no register that is
 * intercepted, so each return to CPL 3 is noticed.
 */
bool svm_lwp_code32(struct kvm_vcpu *vcpu)
{
	return to_svm(vcpu)->lwp.engine.auto_context && READ_ONCE(svm_lwp_vm(vcpu)->code32) &&
	       !(svm_lwp_user_mode(to_svm(vcpu)) && svm_lwp_code_bits(vcpu) == LWP_CODE64);
}

/*
 * True: LWP has nothing to do at a VM-Entry. Read without the lock: another vCPU that changes one
 * of these makes a request. A thread that is not profiled runs without a lock.
 */
bool svm_lwp_idle(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	if (lwp_engine_on(&lwp->engine) || lwp->mode != LWP_MODE_OFF || lwp->live || lwp->taken ||
	    svm_lwp_code32(vcpu))
		return false;
	if (!lwp->engine.auto_context || !svm_lwp_watched(vcpu))
		return !lwp->watching;
	if (is_guest_mode(vcpu))
		return !lwp->watching && lwp->lookup;
	return lwp->watching && !lwp->lookup && !svm_lwp_moved(vcpu) &&
	       svm_lwp_fsgsbase_watched(vcpu);
}

/* Of 32-bit code: a null selector leaves the base that another thread had. */
static u64 svm_lwp_base(const struct vmcb_seg *seg)
{
	return seg->selector & ~SEGMENT_RPL_MASK ? seg->base : 0;
}

/* 43724-902 */
static struct lwp_ctx_key svm_lwp_key(struct kvm_vcpu *vcpu, bool code64, u64 gs)
{
	const struct vmcb_save_area *save = svm_lwp_save(vcpu);

	return lwp_ctx_make_key(svm_lwp_paging(vcpu), kvm_read_cr3(vcpu), code64,
				code64 ? save->fs.base : svm_lwp_base(&save->fs),
				code64 ? gs : svm_lwp_base(&save->gs));
}

/* The key of the running thread, whose GS base is `gs`. */
static struct lwp_ctx_key svm_lwp_key_now(struct kvm_vcpu *vcpu, u64 gs)
{
	return svm_lwp_key(vcpu, svm_lwp_code_bits(vcpu) == LWP_CODE64, gs);
}

/*
 * The program's GS base, in an instruction of LWP. A kernel that executes LLWPCB for its program
 * does so before SWAPGS.
 */
static u64 svm_lwp_insn_gs(struct kvm_vcpu *vcpu)
{
	return svm_lwp_save(vcpu)->gs.base;
}

/*
 * Does the live context belong to the running thread? One of 32-bit code does below CPL 3, where FS
 * and GS are the kernel's.
 */
static bool svm_lwp_is_current(struct kvm_vcpu *vcpu)
{
	const struct lwp_ctx_key *live = &to_svm(vcpu)->lwp.live_key;
	bool code64 = !(live->flags & LWP_CTX_32BIT);
	struct lwp_ctx_key now = svm_lwp_key(vcpu, code64, live->gs);

	if (!code64 && !svm_lwp_user_mode(to_svm(vcpu))) {
		now.thread = live->thread;
		now.gs = live->gs;
	}
	if (code64 && svm_lwp_gs(vcpu) != live->gs && svm_lwp_save(vcpu)->gs.base != live->gs)
		return false;
	return lwp_ctx_key_equal(live, &now);
}

/* 43724-902 */
static void svm_lwp_park_live(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);

	svm_lwp_source_stop(vcpu);
	svm_lwp_account(vcpu);
	mutex_lock(&vm->lock);
	lwp_ctx_park(&vm->table, &lwp->engine, vcpu->vcpu_idx, svm_lwp_now());
	mutex_unlock(&vm->lock);
	vcpu->stat.lwp_context_switches++;
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

/*
 * Have `holder` park the context of `key`. Called without locks. False: it cannot now (43724-903).
 */
static bool svm_lwp_take(struct kvm_vcpu *vcpu, s32 holder, const struct lwp_ctx_key *key)
{
	struct kvm_vcpu *other = kvm_get_vcpu(vcpu->kvm, holder);
	struct svm_lwp *lwp;

	if (!other)
		return false;
	lwp = &to_svm(other)->lwp;
	mutex_lock(&lwp->lock);
	if (lwp->live && lwp_ctx_key_equal(&lwp->live_key, key)) {
		svm_lwp_park_live(other);
		lwp->taken = true;
	}
	mutex_unlock(&lwp->lock);
	kvm_make_request(KVM_REQ_PREPARE_ENTRY, other);
	kvm_vcpu_kick(other);
	return true;
}

/*
 * One search for a key; what is found is verified without the table's lock, then claimed
 * (43724-904).
 */
static enum lwp_ctx_found svm_lwp_search(struct kvm_vcpu *vcpu, const struct lwp_ctx_key *key,
					 s32 *holder)
{
	struct lwp_engine *e = &to_svm(vcpu)->lwp.engine;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);
	enum lwp_ctx_verdict verdict;
	struct lwp_ctx_look look;
	enum lwp_ctx_found found;
	struct lwp_ctx_ip ip;

	mutex_lock(&vm->lock);
	found = lwp_ctx_search(&vm->table, e, vcpu->vcpu_idx, key, &look);
	mutex_unlock(&vm->lock);
	if (found == LWP_CTX_BUSY)
		*holder = look.holder;
	if (found != LWP_CTX_VERIFY)
		return found;
	verdict = lwp_ctx_verify(e, &look.saved, &ip);
	mutex_lock(&vm->lock);
	found = lwp_ctx_claim(&vm->table, e, vcpu->vcpu_idx, &look, verdict, &ip);
	mutex_unlock(&vm->lock);
	return found;
}

/*
 * Look up a key. take: take its context from another vCPU if it is live there. The engine is off.
 */
static enum lwp_ctx_found svm_lwp_find(struct kvm_vcpu *vcpu, const struct lwp_ctx_key *key,
				       bool take)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	enum lwp_ctx_found found;
	bool again = true;
	int tries;
	s32 holder;

	for (tries = 0; again && tries < LWP_TAKE_TRIES; tries++) {
		found = svm_lwp_search(vcpu, key, &holder);
		again = found == LWP_CTX_AGAIN;
		if (found == LWP_CTX_BUSY && take) {
			mutex_unlock(&lwp->lock);
			again = svm_lwp_take(vcpu, holder, key);
			mutex_lock(&lwp->lock);
		}
	}
	if (found == LWP_CTX_RESUMED) {
		lwp->live = true;
		lwp->live_key = *key;
		lwp->in_user = false;
		vcpu->stat.lwp_context_switches++;
	}
	return found == LWP_CTX_AGAIN ? LWP_CTX_BUSY : found;
}

/*
 * Look up the context of the running thread. At CPL 0 KVM cannot tell whether its GS base is still
 * in KernelGSBase: it tries both. The bases of 32-bit code are there at CPL 3. True: the context is
 * live on another vCPU. A context whose memory cannot be read is noted; the guest's kernel may be
 * moving it (43724-902).
 */
static bool svm_lwp_lookup(struct kvm_vcpu *vcpu, bool take)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_ctx_key keys[3];
	enum lwp_ctx_found found;
	bool busy = false;
	int n = 0, i;

	lwp->unreadable = false;
	if (is_long_mode(vcpu)) {
		keys[n++] = svm_lwp_key(vcpu, true, svm_lwp_gs(vcpu));
		if (svm_lwp_save(vcpu)->gs.base != keys[0].gs)
			keys[n++] = svm_lwp_key(vcpu, true, svm_lwp_save(vcpu)->gs.base);
	}
	if (svm_lwp_user_mode(to_svm(vcpu)))
		keys[n++] = svm_lwp_key(vcpu, false, 0);
	for (i = 0; i < n; i++) {
		found = svm_lwp_find(vcpu, &keys[i], take);
		if (found == LWP_CTX_RESUMED)
			return false;
		busy |= found == LWP_CTX_BUSY;
		lwp->unreadable |= found == LWP_CTX_UNREADABLE;
	}
	return busy;
}

/*
 * The engine may have switched LWP on or off: create or drop the context in the table. gs: as in
 * svm_lwp_key_now().
 */
static void svm_lwp_ctx_update(struct kvm_vcpu *vcpu, u64 gs)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct kvm_svm_lwp *vm = svm_lwp_vm(vcpu);
	bool on = lwp_engine_on(&lwp->engine);
	bool tell = false;

	if (on == lwp->live || (on && !lwp->engine.auto_context))
		return;
	mutex_lock(&vm->lock);
	if (on) {
		lwp->live_key = svm_lwp_key_now(vcpu, gs);
		tell = svm_lwp_watch_key(vm, &lwp->live_key);
		on = lwp_ctx_create(&vm->table, &lwp->engine, vcpu->vcpu_idx, &lwp->live_key);
	} else {
		lwp_ctx_drop_live(&vm->table, &lwp->engine, vcpu->vcpu_idx);
	}
	mutex_unlock(&vm->lock);
	lwp->live = on;
	vcpu->stat.lwp_context_switches++;
	if (tell)
		kvm_make_all_cpus_request(vcpu->kvm, KVM_REQ_PREPARE_ENTRY);
}

static void svm_lwp_sync_auto(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	bool user = svm_lwp_user_mode(to_svm(vcpu));
	bool watched = lwp->watching;

	/* SMM is not profiled. It has registers of its own; RSM brings back those of the thread. */
	if (is_smm(vcpu))
		return;
	/* A state that user space has set belongs to the running thread. */
	if (!lwp->live)
		svm_lwp_ctx_update(vcpu, svm_lwp_gs(vcpu));
	svm_lwp_watch(vcpu, svm_lwp_watched(vcpu) && !is_guest_mode(vcpu));
	if (is_guest_mode(vcpu)) {
		if (lwp->live)
			svm_lwp_park_live(vcpu);
		lwp->lookup = true;
		lwp->taken = false;
		return;
	}
	if (lwp->live && !svm_lwp_is_current(vcpu)) {
		svm_lwp_park_live(vcpu);
		lwp->lookup = true;
	}
	/*
	 * The thread may come back to a holder that is idle with its CR3, and no register of the
	 * key is written then. A holder at CPL 3 runs another thread of 32-bit code.
	 */
	if (svm_lwp_moved(vcpu) || (lwp->taken && !user))
		lwp->lookup = true;
	lwp->taken = false;
	svm_lwp_see(vcpu);
	/*
	 * The first lookup after the intercepts were switched on takes nothing from other vCPUs:
	 * no switch has been seen yet, so a context that is live elsewhere belongs there. It does
	 * resume a parked context, whose thread may have come here before the intercepts. A lookup
	 * at CPL 0 takes nothing either: an idle kernel may still have the CR3 and FS base of a
	 * thread that runs elsewhere by now. At CPL 3 they belong to the running thread.
	 */
	if (lwp->lookup && !lwp->live && svm_lwp_any(vcpu)) {
		lwp->lookup = svm_lwp_lookup(vcpu, watched && user) && watched && !user;
		lwp->lookup |= lwp->unreadable || (!user && svm_lwp_code32(vcpu));
	} else {
		lwp->lookup = false;
		lwp->unreadable = false;
	}
}

/* Does the vCPU look for a context when the guest returns to CPL 3? */
bool svm_lwp_ctx_awaited(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	return lwp->engine.auto_context && (lwp->lookup || svm_lwp_code32(vcpu)) &&
	       !is_guest_mode(vcpu);
}

static struct lwp_ctx_key svm_lwp_os_key(struct kvm_vcpu *vcpu, u64 pointer)
{
	struct lwp_ctx_key key = svm_lwp_key(vcpu, true, 0);

	key.thread = pointer;
	return key;
}

/*
 * LWP_CBADDR was written: at CPL 3, resume the state that is parked under that pointer, or load the
 * block (43724-216).
 */
static void svm_lwp_sync_os(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	u64 pointer = lwp->engine.st.cb_addr;
	struct lwp_ctx_key key;
	enum lwp_ctx_found found;

	if (!lwp->resume || !svm_lwp_user_mode(to_svm(vcpu)))
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

/*
 * Before each VM-Entry: give the engine the state of the running thread. Result: "park" or "resume"
 * if that has changed it, else "enter".
 */
const char *svm_lwp_ctx_sync(struct kvm_vcpu *vcpu)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_ctx_key key = lwp->live_key;
	bool live = lwp->live;

	if (lwp->engine.auto_context)
		svm_lwp_sync_auto(vcpu);
	else
		svm_lwp_sync_os(vcpu);
	if (lwp->live && !(live && lwp_ctx_key_equal(&key, &lwp->live_key)))
		return "resume";
	return live && !lwp->live ? "park" : "enter";
}

/*
 * LLWPCB first flushes the state of the running thread; resume it if it is parked. The other
 * instructions look again for one that could not be read, and for one that another thread of 32-bit
 * code has taken.
 */
void svm_lwp_ctx_before_insn(struct kvm_vcpu *vcpu, bool llwpcb)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;
	struct lwp_ctx_key key;

	if (!lwp->engine.auto_context || lwp_engine_on(&lwp->engine) || !svm_lwp_any(vcpu))
		return;
	if (!llwpcb && !lwp->unreadable && is_64_bit_mode(vcpu))
		return;
	key = svm_lwp_key_now(vcpu, svm_lwp_insn_gs(vcpu));
	svm_lwp_find(vcpu, &key, true);
}

/* An instruction or an MSR of LWP may have switched LWP on or off (43724-902). */
void svm_lwp_ctx_changed(struct kvm_vcpu *vcpu)
{
	svm_lwp_ctx_update(vcpu, svm_lwp_insn_gs(vcpu));
}

/*
 * os: RDMSR LWP_CBADDR. A block that has not been read yet needs no context: it is read after its
 * pointer is written again (43724-216).
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
	svm_lwp_source_stop(vcpu);
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
	svm_lwp_source_stop(vcpu);
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
	vcpu->stat.lwp_context_switches++;
	return true;
}

/*
 * Continue where a vCPU with these KVM_LWP_* flags was saved. Its registers have been set. The
 * saved vCPU had looked up its thread, unless KVM_LWP_LOOKUP is set. Nothing is stored in the
 * shadow of a MOV SS; any interrupt shadow that was restored is taken for one.
 */
void svm_lwp_ctx_restored(struct kvm_vcpu *vcpu, u32 flags)
{
	struct svm_lwp *lwp = &to_svm(vcpu)->lwp;

	lwp->lookup = flags & KVM_LWP_LOOKUP;
	svm_lwp_see(vcpu);
	lwp->in_user = !(flags & KVM_LWP_ENTERED);
	lwp->ss_shadow = true;
}
