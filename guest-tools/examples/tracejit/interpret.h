/* SPDX-License-Identifier: MIT */
/* The interpreter, without LWP and with it. */
#ifndef TRACEJIT_INTERPRET_H
#define TRACEJIT_INTERPRET_H

#include "tracer.h"

/* Run a program to its end. */
void interpret(struct machine *machine, const struct program *program);

/* The same with LWP, which samples branches. Loops that have a trace are left to it. */
void interpret_traced(struct machine *machine, struct tracer *tracer);

#endif
