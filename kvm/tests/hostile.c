// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostile [SECONDS [SEED]] | attributes COUNT [SEED]: guests that try to make LWP write where it must not, or to
 * disturb the host. Each round is a new VM of a random kind. Memory that a program must not reach has a pattern: the
 * memory of the guest's kernel, of other processes, of another VM, and around the VM's memory in this process. With
 * `attributes` only user space is hostile, until it has set COUNT images, context arrays and live contexts (43724-419,
 * 43724-806, 43724-913).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include "hostile.h"

#define GUARD_PAGES 64
#define PAGE 0x1000

u64 rnd(u64 *state)
{
	u64 x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

u32 below(u64 *state, u32 n)
{
	return (u32)((rnd(state) >> 32) * n >> 32);
}

void protect_kernel(struct vm *vm, u64 cr3)
{
	u64 *entries = (u64 *)(vm->mem + cr3 + 0x3000);

	for (u32 i = 0; i < VM_CODE / PAGE; i++)
		entries[i] &= ~(u64)4;
}

void fill_pattern(u8 *at, u32 pages, u64 which)
{
	for (u32 i = 0; i < pages * PAGE; i += 8)
		lwp_put64(at + i, rnd(&which));
}

/* Is a pattern intact? Reports one that is broken. */
static bool pattern_is_whole(const u8 *at, u32 pages, u64 which, const char *what)
{
	for (u32 i = 0; i < pages * PAGE; i += 8) {
		u64 is = lwp_get64(at + i);

		if (is == rnd(&which))
			continue;
		diag("%s has been written to: at its byte 0x%x is 0x%lx", what, i, is);
		return false;
	}
	return true;
}

bool check_pattern(const struct vm *vm, u64 at, const char *what)
{
	return pattern_is_whole(vm->mem + at, HOSTILE_PAGES, at, what);
}

u64 random_pointer(u64 *state)
{
	static const u64 places[] = {
		VM_BLOCK,	 VM_BLOCK,	  VM_BLOCK,	    VM_RING,	      VM_RING,
		HOSTILE_PRIVATE, HOSTILE_PRIVATE, HOSTILE_KERNEL,   HOSTILE_READONLY, VM_APIC,
		VM_CR3,		 0x1000,	  VM_SIZE - 0x1000,
	};

	switch (below(state, 16)) {
	case 0:
		return rnd(state);
	case 1:
		return 0;
	case 2:
		return ~(u64)below(state, 0x2000);
	case 3:
		return 0x0000800000000000ull - below(state, 0x1000);
	default:
		return places[below(state, sizeof(places) / sizeof(places[0]))] +
		       (u64)below(state, HOSTILE_PAGES) * PAGE +
		       (below(state, 2) ? 0 : PAGE - below(state, 256));
	}
}

void random_block(u64 *state, u8 *at)
{
	for (u32 i = 0; i < 256; i += 8)
		lwp_put64(at + i, below(state, 3) ? 0 : rnd(state));
	if (!below(state, 8))
		return;
	lwp_put32(at + LWP_CB_FLAGS, (u32)rnd(state) & (LWP_F_VAL | LWP_F_IRE | LWP_F_BRE |
							LWP_F_CONT | LWP_F_PTSC | LWP_F_INT));
	lwp_put32(at + LWP_CB_SIZE_RANDOM, (32 + below(state, 512)) * LWP_RECORD_SIZE);
	lwp_put64(at + LWP_CB_BASE, random_pointer(state));
	lwp_put32(at + LWP_CB_HEAD, below(state, 2) ? 0 : (u32)rnd(state));
	lwp_put32(at + LWP_CB_FILTERS, below(state, 2) ? 0 : (u32)rnd(state) & 0xe0000000);
	for (u32 i = 0; i < 6; i++)
		lwp_put64(at + LWP_CB_EVENT_OFFSET + i * LWP_CB_SLOT_SIZE, below(state, 8));
}

static const char *const figures[] = {
	"lwp_records",	  "lwp_missed", "lwp_faults",
	"lwp_turned_off", "lwp_steps",	"lwp_context_switches",
};
static u64 sums[sizeof(figures) / sizeof(figures[0])];

void tally(const struct vm *vm)
{
	for (u32 i = 0; i < vm->vcpus; i++) {
		for (u32 k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
			sums[k] += vm_stat((struct vcpu *)&vm->vcpu[i], figures[k]);
	}
}

static void tell_figures(void)
{
	for (u32 k = 0; k < sizeof(figures) / sizeof(figures[0]); k++)
		diag("%s %lu", figures[k], sums[k]);
}

/* Memory of another VM, and around all of it. */
struct bystander {
	struct vm *vm;
	u8 *guard;
};

static void bystander_init(struct bystander *b)
{
	b->vm = vm_new(true);
	fill_pattern(b->vm->mem, VM_SIZE / PAGE, 1);
	b->guard = mmap(NULL, GUARD_PAGES * PAGE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fill_pattern(b->guard, GUARD_PAGES, 2);
}

static bool bystander_is_whole(const struct bystander *b)
{
	return pattern_is_whole(b->vm->mem, VM_SIZE / PAGE, 1, "memory of another VM") &&
	       pattern_is_whole(b->guard, GUARD_PAGES, 2, "memory of this process");
}

static bool round_of(u64 *state)
{
	switch (below(state, 4)) {
	case 0:
		return hostile_hypervisor(state);
	case 1:
		return hostile_user_space(state);
	default:
		return hostile_processes(state);
	}
}

static int attributes(u32 count, u64 *state)
{
	struct bystander bystander;
	u32 sets = 0;
	bool good;

	bystander_init(&bystander);
	do {
		good = hostile_user_space(state) && bystander_is_whole(&bystander);
		sets = hostile_sets.accepted + hostile_sets.refused;
	} while (good && sets < count);
	tell_figures();
	diag("%u sets accepted, %u refused", hostile_sets.accepted, hostile_sets.refused);
	ok(good && sums[0], "%u attributes set, nothing written where it must not be", sets);
	ok(hostile_sets.accepted && hostile_sets.refused, "some are refused and some accepted");
	return done();
}

int main(int argc, char **argv)
{
	bool only_attributes = argc > 2 && !strcmp(argv[1], "attributes");
	const char *given = argc > 2 + only_attributes ? argv[2 + only_attributes] : NULL;
	time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 60);
	u64 seed = given ? strtoull(given, NULL, 0) : (u64)time(NULL);
	struct bystander bystander;
	u64 state = seed;
	u32 rounds = 0;
	bool good = true;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("# seed %lu\n", seed);
	if (only_attributes)
		return attributes((u32)atol(argv[2]), &state);
	bystander_init(&bystander);
	do {
		u64 before = state;

		good = round_of(&state) && bystander_is_whole(&bystander);
		rounds++;
		if (!good)
			diag("round %u, seed of the round %lu", rounds, before);
	} while (good && time(NULL) < end);
	tell_figures();
	ok(good && sums[0], "%u rounds, nothing written where it must not be", rounds);
	return done();
}
