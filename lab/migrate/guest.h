/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Linux guest whose init is guest-tests/linux/live_guest.c: starting it, and what its threads say on the serial
 * port, which goes on in the next process when the guest is migrated.
 */
#ifndef LAB_MIGRATE_GUEST_H
#define LAB_MIGRATE_GUEST_H

#include "port.h"
#include "vm.h"

#define GUEST_PROCESSES 4
#define GUEST_THREADS 2

extern struct heard {
	unsigned int said[GUEST_PROCESSES][GUEST_THREADS]; /* rounds, here */
	unsigned int rounds, wrong; /* in all */
} heard;

/* @cpu: properties behind the model; @init: arguments of init, ""; @incoming: wait for migrate-incoming */
void guest_start(struct vm *vm, const char *name, const char *qemu, const char *cpu,
		 const char *init, bool incoming);
/*
 * What the guest, which has left this host, has begun to say here, for the host on which it ends it; and on that host, before
 * guest_rounds(), what came from the other. struct port_lines is the same on both.
 */
void guest_left(struct port_lines *begun);
void guest_came(const struct port_lines *begun);
/* Listen until each thread has ended @rounds more rounds, or one was wrong. */
void guest_rounds(unsigned int rounds);

#endif
