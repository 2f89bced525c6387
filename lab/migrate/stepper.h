/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stopping a machine under KVM at a chosen step, see stepper.c. */
#ifndef LAB_MIGRATE_STEPPER_H
#define LAB_MIGRATE_STEPPER_H

#include "vm.h"

#include <stdbool.h>
#include <stdint.h>

/* What is counted of the machine's first vCPU. */
enum stepper_event {
	STEPPER_EXIT, /* exits that LWP has asked for: after an instruction, at LLWPCB, at IRET */
	STEPPER_BOUNDARY, /* a record, or LWP's own #PF, between two instructions */
};

/* Count the exits of the machine, which is stopped, from now on. The caller closes the result. */
int stepper_count(struct vm *vm);
/* So many there were. */
uint64_t stepper_counted(int fd);
/*
 * Let the machine, which is stopped, run until the count-th event from now (>= 1) and stop it there. False: it
 * has ended before.
 */
bool stepper_run(struct vm *vm, enum stepper_event event, uint64_t count);

#endif
