/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often the machine's vCPUs exit, by exit code: a histogram of KVM's trace event. Needs root. */
#ifndef EXIT_REASONS_H
#define EXIT_REASONS_H

#include "vm.h"

/* Begin with none counted; ends the program if it cannot trace. */
void exit_reasons_begin(void);
/* Call with each exit code that was seen and its count, in the order of the codes, then stop. */
void exit_reasons_end(void (*call)(unsigned int reason, unsigned int count));

#endif
