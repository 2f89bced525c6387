/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One virtual machine under test: a QEMU process with a QMP socket, and what is done to it by name. Whatever
 * goes wrong ends the process with one line and exit status 1: broken() says that the test is at fault.
 */
#ifndef LAB_MIGRATE_VM_H
#define LAB_MIGRATE_VM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "qmp.h"

/* Seconds after which a machine that does nothing is given up. */
#define VM_PATIENCE 180

struct vm {
	const char *name; /* for messages */
	struct qmp qmp;
	pid_t pid; /* 0: none */
	char log[256]; /* file with QEMU's standard error */
};

/* Says what broke, as printf, and ends this process. */
_Noreturn void broken(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same after a QMP command that failed: with its error, and how the process of QEMU is. */
_Noreturn void vm_broken(struct vm *vm);

/*
 * Start argv[0]; QMP is added to the arguments. Standard output goes to the file @output (NULL: nowhere),
 * standard error to @vm->log. Returns false when QEMU ends before it speaks QMP.
 */
bool vm_start(struct vm *vm, const char *name, const char *const argv[], const char *output,
	      const char *log);
/*
 * Wait until the process ends by itself; its exit status, or 128 + signal. After `seconds` it is killed: -1.
 */
int vm_wait(struct vm *vm, int seconds);
/* Kill it, if it is there. */
void vm_kill(struct vm *vm);

/* One command whose result does not matter; its arguments in printf form of JSON, NULL: none. */
void vm_do(struct vm *vm, const char *command, const char *json, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, may be refused. */
bool vm_try(struct vm *vm, const char *command, const char *json, ...)
	__attribute__((format(printf, 3, 4)));
/* A property of the first CPU. The string is the caller's to free. */
char *vm_cpu_string(struct vm *vm, const char *property);
uint64_t vm_cpu_number(struct vm *vm, const char *property);
void vm_cpu_set(struct vm *vm, const char *property, uint64_t value);
/* RunState of query-status is this? */
bool vm_is(struct vm *vm, const char *state);

/* Wait for an event; its time in seconds. */
double vm_event(struct vm *vm, const char *name);
/* Switch the MIGRATION events on, and of the ways to migrate the capability @name only (NULL: none). */
void vm_capability(struct vm *vm, const char *name);
/* Wait until migration has ended, maybe with the process: did it complete? */
bool vm_migrated(struct vm *vm);
/* Save to the file @path (the machine is stopped or will be) and wait for the end. */
void vm_save(struct vm *vm, const char *path);
/* The same; false when QEMU has gone. */
bool vm_try_save(struct vm *vm, const char *path);

/* Wait until migration has this status. */
void vm_migration(struct vm *vm, const char *status);
/* Into a machine started with "-incoming defer"; it is stopped if the one that was saved was. */
bool vm_load(struct vm *vm, const char *path);

/* Contents of a file, NUL-terminated, the caller's to free; *size may be NULL. */
char *read_file(const char *path, size_t *size);
/* Seconds on a clock that only goes forward. */
double now(void);

#endif
