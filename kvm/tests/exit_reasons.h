/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often the machine's vCPUs exit, by exit code: a histogram of KVM's trace event. Needs root. */
#ifndef EXIT_REASONS_H
#define EXIT_REASONS_H

#include "kvm_vm.h"

/* Begin to count, from 0. Ends the program if it cannot trace. */
void exit_reasons_begin(void);
/* Stop, and call with each exit code that has come and its count, in the order of the codes. */
void exit_reasons_end(void (*call)(unsigned int reason, unsigned int count));

/* What the kernel has allocated by kmalloc() for this thread, in bytes, since the beginning. */
void memory_begin(void);
u64 memory_end(void);

#endif
