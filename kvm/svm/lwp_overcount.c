// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counter of instructions overcounts by a fixed amount at each VM entry at CPL 3, and at each
 * return of the guest to CPL 3. KVM measures both with the first steps of a guest after the module
 * is loaded. A step retires one instruction at CPL 3, or only the IRET, which does not count at CPL
 * 3; all further counts are the processor's overcount. The least of SAMPLES samples is taken,
 * because an interrupt of the host may add a count to one of them.
 *
 * KVM counts its entries and subtracts their overcount. It sees returns only while IRET is
 * intercepted, which costs exits. So IRET stays intercepted only on a processor that overcounts at
 * returns; there each return is measured and its own overcount is subtracted.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "svm.h"
#include "lwp_layers.h"

#define SAMPLES 8

/* For all processors of this machine, which are assumed to be alike. */
struct overcount {
	unsigned int samples; /* taken so far; SAMPLES: `least` is known */
	u64 least;
	const char *what; /* it comes with */
	bool told;
};

/*
 * Samples are taken between VMRUN and the next point at which interrupts are on, where nothing may
 * sleep on PREEMPT_RT and printk() is too slow: the lock is a raw one, and svm_lwp_overcount_tell()
 * tells later.
 */
static DEFINE_RAW_SPINLOCK(lock);
static struct overcount entry = { .least = U64_MAX, .what = "entry of a guest" };
static struct overcount ret = { .least = U64_MAX, .what = "return to user mode" };

static bool svm_lwp_known(const struct overcount *o)
{
	/* Pairs with the release in svm_lwp_sample(): `least` is final then. */
	return smp_load_acquire(&o->samples) == SAMPLES;
}

static void svm_lwp_sample(struct overcount *o, u64 count)
{
	guard(raw_spinlock)(&lock);
	if (o->samples == SAMPLES)
		return;
	o->least = min(o->least, count);
	/* See svm_lwp_known(). */
	smp_store_release(&o->samples, o->samples + 1);
}

static void svm_lwp_tell(struct overcount *o)
{
	if (READ_ONCE(o->told) || !svm_lwp_known(o) || xchg(&o->told, true) || !o->least)
		return;
	pr_info("LWP: the counter of instructions is %llu ahead with each %s, which is subtracted\n",
		o->least, o->what);
}

/* Tell the kernel's log once what was measured. Process context. */
void svm_lwp_overcount_tell(void)
{
	svm_lwp_tell(&entry);
	svm_lwp_tell(&ret);
}

/*
 * Is the overcount of an entry still to be measured? Then the vCPU steps with its counter running.
 */
bool svm_lwp_overcount_wanted(void)
{
	return !svm_lwp_known(&entry);
}

/* Must IRET be intercepted so that returns to CPL 3 are seen? */
bool svm_lwp_overcount_returns(void)
{
	return !svm_lwp_known(&ret) || ret.least;
}

/* Overcount of an entry at CPL 3; 0 while it is not known. */
u64 svm_lwp_overcount_entry(void)
{
	return svm_lwp_known(&entry) ? entry.least : 0;
}

/* The counter advanced by `count` in one step over an instruction at CPL 3. */
void svm_lwp_overcount_stepped(u64 count)
{
	if (count && !svm_lwp_known(&entry))
		svm_lwp_sample(&entry, count - 1);
}

/* The counter advanced by `count` in one step over an IRET to CPL 3. */
void svm_lwp_overcount_returned(u64 count)
{
	if (!svm_lwp_known(&ret))
		svm_lwp_sample(&ret, count);
}
