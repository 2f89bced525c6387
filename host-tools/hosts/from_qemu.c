// SPDX-License-Identifier: GPL-2.0-or-later
/* What a QEMU program can give its guests: it is started without a machine and asked over QMP. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expansion.h"
#include "lwpctl.h"
#include "memory.h"
#include "qmp.h"

/* A program that is not QEMU may say nothing. */
#define PATIENCE_SECONDS 60

static _Noreturn void become(const char *program, const char *accel, int qmp, int errors)
{
	char chardev[64];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fcntl(qmp, F_SETFD, 0);
	snprintf(chardev, sizeof(chardev), "socket,fd=%d,id=qmp", qmp);
	dup2(errors, STDERR_FILENO);
	dup2(errors, STDOUT_FILENO);
	execlp(program, program, "-machine", "none", "-accel", accel, "-nodefaults",
	       "-no-user-config", "-display", "none", "-S", "-chardev", chardev, "-mon",
	       "chardev=qmp,mode=control", (char *)NULL);
	dprintf(STDERR_FILENO, "%s\n", strerror(errno));
	_exit(127);
}

/* The last line that the program wrote, if any. */
static const char *last_line(int errors, char text[WHY_SIZE])
{
	ssize_t size = lseek(errors, 0, SEEK_END);
	off_t from = size >= WHY_SIZE ? size - (WHY_SIZE - 1) : 0;
	char *line;

	size = pread(errors, text, WHY_SIZE - 1, from);
	if (size <= 0)
		return "it does not speak QMP";
	text[size] = '\0';
	while (size && text[size - 1] == '\n')
		text[--size] = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* ---- A QEMU that is started for a moment ----------------------------------------------------- */

/* `talk` asks what is wanted of it. It returns false after one line, as these do. */
static bool talk_to(const char *program, int fd, int errors,
		    bool (*talk)(void *to, struct qmp *qmp), void *to)
{
	char line[WHY_SIZE];
	struct qmp qmp = { 0 };
	bool good = false;

	if (qmp_open(&qmp, fd))
		complain("%s: expected a QEMU, but: %s", program, last_line(errors, line));
	else
		good = talk(to, &qmp);
	qmp_close(&qmp);
	return good;
}

static bool with_qemu(const char *program, const char *accel,
		      bool (*talk)(void *to, struct qmp *qmp), void *to)
{
	struct timeval patience = { .tv_sec = PATIENCE_SECONDS };
	int pair[2], errors = memfd_create("errors", MFD_CLOEXEC), status;
	bool good;
	pid_t pid;

	if (errors < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return refuse("%s: cannot start it: %s", program, strerror(errno));
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	pid = fork();
	if (pid < 0)
		return refuse("%s: cannot start it: %s", program, strerror(errno));
	if (!pid)
		become(program, accel, pair[1], errors);
	close(pair[1]);
	good = talk_to(program, pair[0], errors, talk, to);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(errors);
	return good;
}

/* ---- What hosts can give --------------------------------------------------------------------- */

static bool ask_all(void *host, struct qmp *qmp)
{
	hostcaps_ask(host, qmp);
	return true;
}

bool hostcaps_from_qemu(struct hostcaps *host, const char *program, const char *accel)
{
	char name[HOST_NAME_MAX + 1] = "";

	memset(host, 0, sizeof(*host));
	gethostname(name, sizeof(name) - 1);
	host->name = copy_string(name, strlen(name));
	host->source = formatted("%s, accelerator %s", program, accel);
	return with_qemu(program, accel, ask_all, host);
}

/* ---- CPU models ------------------------------------------------------------------------------ */

struct model {
	const char *program, *name;
};

static bool look_for(void *to, struct qmp *qmp)
{
	const struct model *model = to;

	if (qmp_has_model(qmp, model->name))
		return true;
	return refuse("%s: %s", model->program, qmp->error);
}

bool qemu_has_model(const char *program, const char *name)
{
	struct model model = { program, name };

	return with_qemu(program, "tcg", look_for, &model);
}
