// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A hostile hypervisor in the guest writes random bytes where VMLOAD reads the state of LWP, also during VMLOAD. A
 * hostile user space sets random images and context arrays. Memory that is not in the guest's tables must not change.
 */
#include <pthread.h>
#include <stdlib.h>
#include "hostile.h"
#include "hyper.h"
#include "lwp_state.h"

#define RUNS 60
#define SETS 200
#define HIDDEN HOSTILE_KERNEL

/* Runs at CPL 3 of a nested guest. */
GUEST_CODE(nested, "	mov $8, %ecx\n"
		   "1:	lwpins $1, %ecx, %edx\n"
		   "	loop 1b\n"
		   "	slwpcb %rax\n"
		   "	llwpcb %rbx\n"
		   "	nop\n"
		   "	vmmcall\n");

static void hide(struct vm *vm, u64 cr3)
{
	for (u32 i = 0; i < HOSTILE_PAGES; i++)
		((u64 *)(vm->mem + cr3 + 0x3000))[(HIDDEN >> 12) + i] = 0;
}

/* A state that is valid, or nearly valid. */
static void random_image(u64 *state, u8 *image)
{
	struct lwp_state st = {
		.cb_addr = random_pointer(state),
		.flags = (u32)rnd(state) & (LWP_F_IRE | LWP_F_BRE | LWP_F_VAL),
		.base = below(state, 2) ? VM_RING : random_pointer(state),
		.size = (32 + below(state, 64)) * LWP_RECORD_SIZE,
		.cfg = LWP_F_IRE | LWP_F_BRE | LWP_F_VAL,
	};
	struct lwp_caps caps;
	u32 i;

	st.head = below(state, st.size / LWP_RECORD_SIZE) * LWP_RECORD_SIZE;
	if (below(state, 2)) {
		st.pending.event_id = 2;
		st.pending.address = rnd(state) >> 17;
		st.flags |= (u32)rnd(state) & LWP_STATE_BITS;
	}
	lwp_caps_profile(&caps, LWP_PROFILE_FULL, LWP_REV_43724);
	lwp_state_encode(&st, &caps, image);
	for (i = below(state, 4); i; i--)
		image[below(state, LWP_IMAGE_SIZE)] = (u8)rnd(state);
	if (!below(state, 8)) {
		for (i = 0; i < LWP_IMAGE_SIZE; i += 8)
			lwp_put64(image + i, rnd(state));
	}
}

struct scribbler {
	u8 *image;
	u64 state;
	bool over;
};

static void *scribble(void *arg)
{
	struct scribbler *s = arg;

	while (!s->over)
		lwp_put64(s->image + below(&s->state, LWP_IMAGE_SIZE / 8) * 8, rnd(&s->state));
	return NULL;
}

bool hostile_hypervisor(u64 *state)
{
	struct scribbler s = { .state = rnd(state) };
	bool race = below(state, 2), good = true;
	struct hyper h = { 0 };
	pthread_t thread;

	hyper_init(&h, KVM_LWP_CONTEXT_OS, true);
	fill_pattern(h.vm->mem + HIDDEN, HOSTILE_PAGES, HIDDEN);
	hide(h.vm, VM_CR3_OTHER);
	hide(h.vm, VM_CR3);
	protect_kernel(h.vm, VM_CR3);
	vm_load(h.vm, nested, nested_end);
	s.image = hyper_image(&h, 0);
	if (race)
		pthread_create(&thread, NULL, scribble, &s);
	for (u32 i = 0; i < RUNS; i++) {
		hyper_start(&h);
		hyper_guest(&h, 0, VM_CODE, below(state, 2));
		random_block(state, h.vm->mem + VM_BLOCK);
		h.guest[0].rbx = random_pointer(state);
		random_image(state, s.image);
		hyper_run(&h, 0);
		if (h.v->run->exit_reason == KVM_EXIT_FAIL_ENTRY ||
		    h.v->run->exit_reason == KVM_EXIT_INTERNAL_ERROR) {
			diag("exit reason %u", h.v->run->exit_reason);
			good = false;
			break;
		}
	}
	s.over = true;
	if (race)
		pthread_join(thread, NULL);
	good &= check_pattern(h.vm, HIDDEN, "memory that is in no table of the guest");
	tally(h.vm);
	vm_free(h.vm);
	return good;
}

struct hostile_sets hostile_sets;

static void set(int fd, u32 group, u64 number, void *addr)
{
	if (vm_attr(fd, KVM_SET_DEVICE_ATTR, group, number, addr))
		hostile_sets.refused++;
	else
		hostile_sets.accepted++;
}

/* Contexts of the running thread, and of others. */
static void set_contexts(struct vm *vm, u64 *state)
{
	u8 array[4 * LWP_CTX_ENTRY_SIZE] = { 0 };
	struct kvm_lwp_contexts c = {
		.addr = (u64)array,
		.size = (1 + below(state, 4)) * LWP_CTX_ENTRY_SIZE,
		.format = KVM_LWP_CONTEXTS_FORMAT,
	};

	for (u32 k = 0; k < 4; k++) {
		u8 *entry = array + k * LWP_CTX_ENTRY_SIZE;

		lwp_put64(entry + LWP_CTX_ENTRY_CR3, VM_CR3);
		lwp_put64(entry + LWP_CTX_ENTRY_THREAD, k * 0x1000);
		lwp_put32(entry + LWP_CTX_ENTRY_FORMAT, LWP_CTX_FORMAT_VERSION);
		random_image(state, entry + LWP_CTX_ENTRY_IMAGE);
	}
	set(vm->fd, KVM_LWP_VM, KVM_LWP_VM_CONTEXTS, &c);
}

/* Make one of them live; KVM does not verify that. */
static void set_live(struct vcpu *v, u64 *state)
{
	struct kvm_lwp_live live = {
		.cr3 = VM_CR3,
		.thread = below(state, 4) ? 0 : 0x1000,
		.flags = below(state, 16) ? below(state, KVM_LWP_LIVE_FLAGS + 1) : (u32)rnd(state),
	};

	set(v->fd, KVM_LWP_VCPU, KVM_LWP_VCPU_LIVE, &live);
}

bool hostile_user_space(u64 *state)
{
	struct vm *vm = vm_new(true);
	struct vcpu *v = vm_add_vcpu(vm);
	u8 image[LWP_IMAGE_SIZE];
	bool good;

	fill_pattern(vm->mem + HIDDEN, HOSTILE_PAGES, HIDDEN);
	hide(vm, VM_CR3);
	protect_kernel(vm, VM_CR3);
	vm_load(vm, nested, nested_end);
	for (u32 i = 0; i < SETS; i++) {
		vm_start(vm, v);
		random_block(state, vm->mem + VM_BLOCK);
		v->regs.rbx = random_pointer(state);
		vm_set_regs(v);
		random_image(state, image);
		set(v->fd, KVM_LWP_VCPU, KVM_LWP_VCPU_IMAGE, image);
		if (!below(state, 2))
			set_contexts(vm, state);
		if (!below(state, 2))
			set_live(v, state);
		vm_run(vm, v);
	}
	good = check_pattern(vm, HIDDEN, "memory that is in no table of the guest");
	tally(vm);
	vm_free(vm);
	return good;
}
