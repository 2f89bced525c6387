/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Talking to QEMU's monitor over QMP, one command at a time. */
#ifndef LWPCTL_QMP_H
#define LWPCTL_QMP_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>

struct qmp {
	FILE *stream; /* of the answers */
	bool late; /* the last wait took longer than the socket's timeout */
	char error[256]; /* what went wrong, in one line */
};

/*
 * qmp_open - take over the connected socket @fd and read its greeting
 *
 * Returns 0, or -1 with @q->error set.
 */
int qmp_open(struct qmp *q, int fd);

/* qmp_close - release what belongs to @q, which qmp_open() or zeroes have filled */
void qmp_close(struct qmp *q);

/*
 * qmp_call - execute @command; events that arrive meanwhile are dropped
 * @arguments: an object, which is released, or NULL
 *
 * Returns the value of "return", to be released with json_object_put(), or NULL with @q->error set.
 */
json_object *qmp_call(struct qmp *q, const char *command, json_object *arguments);

/* qmp_has_model - is there a CPU model @name? False with @q->error set if not, or if QEMU does not say. */
bool qmp_has_model(struct qmp *q, const char *name);

/*
 * qmp_lwp_stats - write the CPUs' LWP statistics as lines "CPU NAME VALUE", CPU counting from 0
 *
 * NAME is that of query-stats (docs/cpu.md), and those of the machine are CPU 0's; or, for a guest under KVM, that of
 * KVM's statistic without "lwp_" and with hyphens (docs/kvm.md). Returns 0, or -1 with @q->error set.
 */
int qmp_lwp_stats(struct qmp *q, FILE *to);

#endif
