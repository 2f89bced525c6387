/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs whose counted instructions the tests list, by their offsets.
 *
 * With EventInterval 2 = 0 every counted instruction stores a record, so the ring is the list of what was
 * counted. A program is bracketed by LLWPCB, which never counts, and SLWPCB, which counts after its flush: its
 * record is the last, stored before INT 80h.
 */
#ifndef COUNTED_H
#define COUNTED_H

#include "kvm_vm.h"

#define TF 0x100
#define RF 0x10000
#define BUDGET 100000 /* steps of `prompt` in a second, if nobody says another number */
#define MOST_COUNT 0x1ffffff /* the highest counter */

extern struct vm *vm;
extern struct vcpu *v;
extern u32 more_flags; /* of the policy of new machines, KVM_LWP_* */

/* The machine of the test before ends. A new one with the program and a block that stores a record for each event. */
void begin(const u8 *from, const u8 *to, u32 event);
/* The same, with a counter of instructions that stores no record: see total(). */
void begin_total(const u8 *from, const u8 *to);
/* The machine of the test before ends. A new one with a policy, and its vCPU. */
void new_machine(struct kvm_lwp_policy policy);
/* The same with the program, and a block with these Flags; see event_each(). */
void begin_policy(const u8 *from, const u8 *to, struct kvm_lwp_policy policy, u32 flags);
/* The same with a delivery, LWP_DELIVERY_*, and the budget that is KVM's default. */
void begin_delivery(const u8 *from, const u8 *to, u32 delivery, u32 flags);
/* Have each `period`-th event store a record, and the first event too. */
void event_each(u32 event, u32 period);
/* Have the event counted, and store no record. */
void count_only(u32 event);
/* How many of it have been counted since. */
u32 count_of(u32 event);
void run_to_end(void);
/* begin_delivery(), event_each() and run_to_end(), with one event. */
void run_with(const u8 *from, const u8 *to, u32 delivery, u32 event, u32 period);
/* The same past stops of one kind and another; returns how many there were. */
u32 run_past(int stop, int other);
/* MissedEvents of the block. */
u64 missed(void);

/* A clock, in seconds. */
double now(void);

/* The counted instructions, as offsets from the program's start. */
#define COUNTED(what, ...) counted((const int[]){ __VA_ARGS__, -1 }, what)
void counted(const int *offsets, const char *what);
/* Those of a program that runs to its end now. */
#define RUN_COUNTED(what, ...)              \
	do {                                \
		run_to_end();               \
		COUNTED(what, __VA_ARGS__); \
	} while (0)
/* How many instructions have been counted. SLWPCB counts after its flush, so it is not among them. */
void total(u32 wanted, const char *what);

#endif
