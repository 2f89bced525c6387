// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a counter of instructions counts too many when the guest is entered at CPL 3, and when the
 * guest returns there by itself. Both are measured with the guest's own first steps: between the
 * entry and the trap one instruction has retired, or none but the IRET, which is of CPL 0; what the
 * counter says beyond that is the processor's. The least of several is taken, as an interrupt of
 * the host may leak a count into one of them.
 *
 * Entries are then counted. Returns can only be seen as long as IRET is intercepted, which costs
 * exits, so this goes on only on a processor that needs it: there each return is measured, and
 * subtracted as it was.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "svm.h"
#include "lwp_svm.h"

#define SAMPLES 8

/* Of this machine's processors, which are taken to be alike. */
struct overcount {
	unsigned int samples; /* so far; SAMPLES: it is known */
	u64 least;
};

static DEFINE_SPINLOCK(lock);
static struct overcount entry = { .least = U64_MAX };
static struct overcount ret = { .least = U64_MAX };

static bool svm_lwp_known(const struct overcount *o)
{
	/* With the release in svm_lwp_sample(): then `least` is its last value. */
	return smp_load_acquire(&o->samples) == SAMPLES;
}

static void svm_lwp_sample(struct overcount *o, u64 count, const char *what)
{
	guard(spinlock)(&lock);
	if (o->samples == SAMPLES)
		return;
	o->least = min(o->least, count);
	/* See svm_lwp_known(). */
	smp_store_release(&o->samples, o->samples + 1);
	if (o->samples == SAMPLES && o->least)
		pr_info("LWP: the counter of instructions is %llu ahead with each %s, which is subtracted\n",
			o->least, what);
}

/* Is the first step still to be measured? Then the vCPU steps, and its counter runs. */
bool svm_lwp_overcount_wanted(void)
{
	return !svm_lwp_known(&entry);
}

/* Are returns to CPL 3 to be seen? */
bool svm_lwp_overcount_returns(void)
{
	return !svm_lwp_known(&ret) || ret.least;
}

/* Per entry at CPL 3; 0 as long as it is not known. */
u64 svm_lwp_overcount_entry(void)
{
	return svm_lwp_known(&entry) ? entry.least : 0;
}

/* One step over an instruction that has retired has counted so many. */
void svm_lwp_overcount_stepped(u64 count)
{
	if (count && !svm_lwp_known(&entry))
		svm_lwp_sample(&entry, count - 1, "entry of a guest");
}

/* One step over an IRET to CPL 3 has. */
void svm_lwp_overcount_returned(u64 count)
{
	if (!svm_lwp_known(&ret))
		svm_lwp_sample(&ret, count, "return to user mode");
}
