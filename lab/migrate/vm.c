// SPDX-License-Identifier: GPL-2.0-or-later
/* One virtual machine under test. */
#include "vm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_ARGS 96
/* A process whose socket is closed has ended by then. */
#define GONE_MS 1000
#define CPU_PATH "/machine/unattached/device[0]"

void broken(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "migrate: ");
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	exit(1);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

char *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "re");
	char *text = NULL;
	size_t room = 0, length;

	if (!f)
		broken("%s: %s", path, strerror(errno));
	length = 0;
	do {
		room = 2 * room + 65536;
		text = realloc(text, room + 1);
		if (!text)
			broken("%s: no memory for it", path);
		length += fread(text + length, 1, room - length, f);
	} while (length == room);
	fclose(f);
	text[length] = '\0';
	if (size)
		*size = length;
	return text;
}

/* In the new process: never comes back. */
static _Noreturn void become(char **argv, int qmp, const char *output, const char *log,
			     pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int out = output ? open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : null;
	int err = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || out < 0 || err < 0)
		_exit(127);
	fcntl(qmp, F_SETFD, 0);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Ends the process after a command that failed: with QEMU's words, and how QEMU is. */
_Noreturn void vm_broken(struct vm *vm)
{
	char *error = strdup(vm->qmp.error), *said;
	struct pollfd process = { (int)syscall(SYS_pidfd_open, vm->pid, 0), POLLIN, 0 };
	bool there = poll(&process, 1, GONE_MS) == 0;
	int status = vm_wait(vm, 0);

	said = read_file(vm->log, NULL);
	if (there)
		broken("%s: %s; its process was still there", vm->name, error);
	broken("%s: %s; its process has ended with status %d%s%s", vm->name, error, status,
	       *said ? " and said: " : "", said);
}

bool vm_start(struct vm *vm, const char *name, const char *const argv[], const char *output,
	      const char *log)
{
	const struct timeval patience = { VM_PATIENCE, 0 };
	char *args[MAX_ARGS], chardev[64];
	pid_t parent = getpid();
	int pair[2], n = 0;

	memset(vm, 0, sizeof(*vm));
	vm->name = name;
	snprintf(vm->log, sizeof(vm->log), "%s", log);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		broken("socketpair: %s", strerror(errno));
	snprintf(chardev, sizeof(chardev), "socket,id=qmp,fd=%d", pair[1]);
	while (argv[n] && n < MAX_ARGS - 5) {
		args[n] = (char *)argv[n];
		n++;
	}
	args[n++] = (char *)"-chardev";
	args[n++] = chardev;
	args[n++] = (char *)"-mon";
	args[n++] = (char *)"chardev=qmp,mode=control";
	args[n] = NULL;
	vm->pid = fork();
	if (!vm->pid)
		become(args, pair[1], output, log, parent);
	if (vm->pid < 0)
		broken("fork: %s", strerror(errno));
	close(pair[1]);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return !qmp_open(&vm->qmp, pair[0]);
}

int vm_wait(struct vm *vm, int seconds)
{
	struct pollfd process = { (int)syscall(SYS_pidfd_open, vm->pid, 0), POLLIN, 0 };
	int status = 0, ended;

	if (process.fd < 0)
		broken("%s: lost its process", vm->name);
	ended = poll(&process, 1, 1000 * seconds);
	if (ended <= 0)
		kill(vm->pid, SIGKILL);
	waitpid(vm->pid, &status, 0);
	close(process.fd);
	vm->pid = 0;
	qmp_close(&vm->qmp);
	if (ended <= 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void vm_kill(struct vm *vm)
{
	if (vm->pid)
		vm_wait(vm, 0);
}

static json_object *arguments(const char *json, va_list args)
{
	json_object *object;
	char *text;

	if (!json)
		return NULL;
	if (vasprintf(&text, json, args) < 0)
		broken("no memory");
	object = json_tokener_parse(text);
	if (!object)
		broken("not JSON: %s", text);
	free(text);
	return object;
}

bool vm_try(struct vm *vm, const char *command, const char *json, ...)
{
	json_object *result;
	va_list args;

	va_start(args, json);
	result = qmp_call(&vm->qmp, command, arguments(json, args));
	va_end(args);
	json_object_put(result);
	return result != NULL;
}

void vm_do(struct vm *vm, const char *command, const char *json, ...)
{
	json_object *result;
	va_list args;

	va_start(args, json);
	result = qmp_call(&vm->qmp, command, arguments(json, args));
	va_end(args);
	if (!result)
		vm_broken(vm);
	json_object_put(result);
}

static json_object *cpu_get(struct vm *vm, const char *property)
{
	json_object *object = json_object_new_object(), *value;

	json_object_object_add(object, "path", json_object_new_string(CPU_PATH));
	json_object_object_add(object, "property", json_object_new_string(property));
	value = qmp_call(&vm->qmp, "qom-get", object);
	if (!value)
		vm_broken(vm);
	return value;
}

char *vm_cpu_string(struct vm *vm, const char *property)
{
	json_object *value = cpu_get(vm, property);
	char *text = strdup(json_object_get_string(value));

	json_object_put(value);
	return text;
}

uint64_t vm_cpu_number(struct vm *vm, const char *property)
{
	json_object *value = cpu_get(vm, property);
	uint64_t number = json_object_get_uint64(value);

	json_object_put(value);
	return number;
}

void vm_cpu_set(struct vm *vm, const char *property, uint64_t value)
{
	vm_do(vm, "qom-set", "{\"path\":\"%s\",\"property\":\"%s\",\"value\":%llu}", CPU_PATH,
	      property, (unsigned long long)value);
}

bool vm_is(struct vm *vm, const char *state)
{
	json_object *status = qmp_call(&vm->qmp, "query-status", NULL), *value;
	bool is;

	if (!status)
		vm_broken(vm);
	json_object_object_get_ex(status, "status", &value);
	is = !strcmp(json_object_get_string(value), state);
	json_object_put(status);
	return is;
}

double vm_event(struct vm *vm, const char *name)
{
	json_object *event = qmp_event(&vm->qmp, name, NULL), *stamp, *seconds, *micro;
	double time;

	if (!event)
		vm_broken(vm);
	json_object_object_get_ex(event, "timestamp", &stamp);
	json_object_object_get_ex(stamp, "seconds", &seconds);
	json_object_object_get_ex(stamp, "microseconds", &micro);
	time = (double)json_object_get_int64(seconds) + (double)json_object_get_int64(micro) / 1e6;
	json_object_put(event);
	return time;
}

void vm_capability(struct vm *vm, const char *name)
{
	static const char *const names[] = { "return-path", "multifd", "postcopy-ram" };
	size_t i;

	/* Those that exclude it go first. */
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		vm_do(vm, "migrate-set-capabilities",
		      "{\"capabilities\":[{\"capability\":\"%s\",\"state\":false}]}", names[i]);
	vm_do(vm, "migrate-set-capabilities",
	      "{\"capabilities\":[{\"capability\":\"%s\",\"state\":true},"
	      "{\"capability\":\"events\",\"state\":true}]}",
	      name ? name : "events");
}

/* The status of the next MIGRATION event is copied to *text; false when QEMU has gone. */
static bool next_status(struct vm *vm, char *text, size_t size)
{
	json_object *event = qmp_event(&vm->qmp, "MIGRATION", NULL), *data, *status;

	if (!event)
		return false;
	json_object_object_get_ex(event, "data", &data);
	json_object_object_get_ex(data, "status", &status);
	snprintf(text, size, "%s", json_object_get_string(status));
	json_object_put(event);
	return true;
}

bool vm_migrated(struct vm *vm)
{
	char status[64];

	while (next_status(vm, status, sizeof(status))) {
		if (!strcmp(status, "completed"))
			return true;
		if (!strcmp(status, "failed"))
			return false;
	}
	return false;
}

void vm_migration(struct vm *vm, const char *wanted)
{
	char status[64];

	do {
		if (!next_status(vm, status, sizeof(status)) || !strcmp(status, "failed"))
			broken("%s: migration is never %s", vm->name, wanted);
	} while (strcmp(status, wanted));
}

bool vm_try_save(struct vm *vm, const char *path)
{
	return vm_try(vm, "migrate", "{\"uri\":\"file:%s\"}", path) && vm_migrated(vm);
}

bool vm_load(struct vm *vm, const char *path)
{
	vm_capability(vm, NULL);
	vm_do(vm, "migrate-incoming", "{\"uri\":\"file:%s\"}", path);
	return vm_migrated(vm);
}

void vm_save(struct vm *vm, const char *path)
{
	vm_do(vm, "migrate", "{\"uri\":\"file:%s\"}", path);
	if (!vm_migrated(vm))
		broken("%s: cannot be saved to %s", vm->name, path);
}
