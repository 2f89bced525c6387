// SPDX-License-Identifier: GPL-2.0-or-later
/* One QEMU process. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "child.h"

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* In the new process: never comes back. */
static _Noreturn void become(char *const argv[], int out, int err, pid_t parent)
{
	int null = open("/dev/null", O_RDONLY);

	/* Ends with the runner, also when that is killed. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0)
		_exit(127);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

bool child_start(struct child *c, char *const argv[], double timeout)
{
	int out[2], err[2];
	pid_t parent = getpid();

	memset(c, 0, sizeof(*c));
	c->out.fd = c->err.fd = -1;
	if (pipe2(out, O_CLOEXEC | O_NONBLOCK))
		return false;
	if (pipe2(err, O_CLOEXEC | O_NONBLOCK)) {
		close(out[0]);
		close(out[1]);
		return false;
	}
	c->deadline = now() + timeout;
	c->pid = fork();
	if (!c->pid) {
		/* Only the runner's ends are to be non-blocking. */
		fcntl(out[1], F_SETFL, 0);
		fcntl(err[1], F_SETFL, 0);
		become(argv, out[1], err[1], parent);
	}
	close(out[1]);
	close(err[1]);
	c->out.fd = out[0];
	c->err.fd = err[0];
	if (c->pid > 0)
		return true;
	child_free(c);
	return false;
}

static void drain(struct stream *s)
{
	char buf[4096];
	ssize_t n;

	while (s->fd >= 0) {
		n = read(s->fd, buf, sizeof(buf));
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close(s->fd);
			s->fd = -1;
			return;
		}
		if (s->len + (size_t)n > CHILD_OUTPUT_MAX)
			continue;
		s->text = realloc(s->text, s->len + (size_t)n + 1);
		if (!s->text)
			abort();
		memcpy(s->text + s->len, buf, (size_t)n);
		s->len += (size_t)n;
		s->text[s->len] = '\0';
	}
}

bool child_poll(struct child *c)
{
	int status;
	pid_t pid;

	drain(&c->out);
	drain(&c->err);
	if (!c->end.timed_out && now() > c->deadline) {
		c->end.timed_out = true;
		kill(c->pid, SIGKILL);
	}
	pid = waitpid(c->pid, &status, WNOHANG);
	if (pid != c->pid)
		return false;
	c->pid = 0;
	drain(&c->out);
	drain(&c->err);
	c->end.signalled = WIFSIGNALED(status);
	c->end.status = c->end.signalled ? WTERMSIG(status) : WEXITSTATUS(status);
	return true;
}

void child_kill(struct child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
		c->pid = 0;
	}
}

void child_free(struct child *c)
{
	if (c->out.fd >= 0)
		close(c->out.fd);
	if (c->err.fd >= 0)
		close(c->err.fd);
	free(c->out.text);
	free(c->err.text);
	memset(c, 0, sizeof(*c));
	c->out.fd = c->err.fd = -1;
}
