// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest init, second half: take a command from the host (see proto.h), run it on pipes or on a terminal, hand back its
 * output and exit status, and take the next one. Static, the only program of the initramfs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guest-count.h"
#include "guest-setup.h"
#include "proto.h"

#define MAX_STRINGS 4096
#define PORT_TRIES 10000

static int port = -1;
static int source =
	-1; /* of frames: the port; or a file with a request, then the port for signals */
static bool frozen; /* the machine runs the same twice */
static int input = -1; /* the standard input of commands that get none from the host */
static char data[FRAME_MAX_DATA + 1];

static struct {
	char *argv[MAX_STRINGS + 1];
	char *envp[MAX_STRINGS + 1];
	size_t argc, envc;
	char *cwd;
	bool terminal, counted;
	struct winsize size;
} request;

static void write_all(int fd, const void *buffer, size_t length)
{
	const char *p = buffer;
	ssize_t n;

	for (; length; p += n, length -= (size_t)n) {
		n = write(fd, p, length);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return;
	}
}

static void send_frame(uint32_t type, const void *buffer, size_t length)
{
	struct frame frame = { type, (uint32_t)length };

	write_all(port, &frame, sizeof(frame));
	write_all(port, buffer, length);
}

/* stop - nothing more to say: flush what is on its way to the host and wait to be switched off */
static _Noreturn void stop(uint32_t type, const void *buffer, size_t length)
{
	sync();
	if (port >= 0)
		send_frame(type, buffer, length);
	else
		reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}

void trouble(const char *format, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fprintf(stderr, "init: %s\n", text);
	stop(FRAME_TROUBLE, text, strlen(text));
}

/* find_port - open a virtio-serial port of ours; -1: not there (yet) */
static int find_port(const char *wanted)
{
	static const char class[] = "/sys/class/virtio-ports";
	char path[512], name[64];
	struct dirent *entry;
	DIR *dir = opendir(class);
	int found = -1;
	FILE *f;

	while (dir && found < 0 && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/name", class, entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fscanf(f, "%63s", name) == 1 && !strcmp(name, wanted)) {
			snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
			found = open(path, O_RDWR | O_CLOEXEC);
		}
		fclose(f);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* open_port - the driver learns of its ports by messages, so ours may appear after init starts */
static int open_port(const char *name)
{
	int fd = find_port(name);

	for (int tries = 0; fd < 0; tries++) {
		if (tries == PORT_TRIES)
			trouble("no virtio-serial port named %s", name);
		usleep(1000);
		fd = find_port(name);
	}
	return fd;
}

static void read_all(void *buffer, size_t length)
{
	char *p = buffer;
	ssize_t n;

	for (; length; p += n, length -= (size_t)n) {
		n = read(source, p, length);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			trouble(frozen ? "half a request" : "the host closed the port");
	}
}

static struct frame read_frame(void)
{
	struct frame frame;

	read_all(&frame, sizeof(frame));
	if (frame.length > FRAME_MAX_DATA)
		trouble("a frame of %u bytes", frame.length);
	read_all(data, frame.length);
	data[frame.length] = '\0';
	return frame;
}

static void add_string(char **list, size_t *count)
{
	if (*count == MAX_STRINGS || !(list[*count] = strdup(data)))
		trouble("more than %d arguments or variables", MAX_STRINGS);
	++*count;
}

static void take_size(const struct frame *frame)
{
	struct term_size size;

	if (frame->length != sizeof(size))
		return;
	memcpy(&size, data, sizeof(size));
	request.size.ws_row = size.rows;
	request.size.ws_col = size.columns;
}

/* seed - the kernel's random numbers come from these bytes, and from nothing else that differs */
static void seed(const struct frame *frame)
{
	struct {
		struct rand_pool_info info;
		char bytes[64];
	} pool = { 0 };
	int fd = open("/dev/urandom", O_RDWR | O_CLOEXEC);

	pool.info.buf_size = frame->length < sizeof(pool.bytes) ? (int)frame->length : 64;
	pool.info.entropy_count = 8 * pool.info.buf_size;
	memcpy(pool.info.buf, data, (size_t)pool.info.buf_size);
	if (ioctl(fd, RNDADDENTROPY, &pool) || ioctl(fd, RNDRESEEDCRNG))
		trouble("cannot seed the random numbers: %s", strerror(errno));
	close(fd);
}

static void forget(char **list, size_t *count)
{
	while (*count)
		free(list[--*count]);
	memset(list, 0, (MAX_STRINGS + 1) * sizeof(*list));
}

static void take_request(void)
{
	struct frame frame;

	forget(request.argv, &request.argc);
	forget(request.envp, &request.envc);
	free(request.cwd);
	request.cwd = NULL;
	do {
		frame = read_frame();
		switch (frame.type) {
		case FRAME_ARG:
			add_string(request.argv, &request.argc);
			break;
		case FRAME_ENV:
			add_string(request.envp, &request.envc);
			break;
		case FRAME_CWD:
			request.cwd = strdup(data);
			break;
		case FRAME_MODULES:
			mount_modules(data);
			break;
		case FRAME_SEED:
			seed(&frame);
			break;
		case FRAME_COUNT:
			request.counted = true;
			count_choose(data);
			break;
		case FRAME_SIZE:
			request.terminal = true;
			take_size(&frame);
			break;
		}
	} while (frame.type != FRAME_GO);
	if (!request.argc)
		trouble("no command");
}

/* run_command - in the child: become the command, or say in one line why not */
static _Noreturn void run_command(void)
{
	sigset_t none;
	int error;

	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (request.cwd && chdir(request.cwd))
		fprintf(stderr, "vlwp: the guest cannot enter %s: %s\n", request.cwd,
			strerror(errno));
	environ = request.envp;
	if (request.counted)
		personality(ADDR_NO_RANDOMIZE);
	execvp(request.argv[0], request.argv);
	error = errno;
	fprintf(stderr, "vlwp: the guest cannot run %s: %s\n", request.argv[0], strerror(error));
	_exit(error == ENOENT ? 127 : 126);
}

/* what the server of a running command holds; an fd is -1 once it is closed */
struct command {
	pid_t pid;
	int in, out, err;
	/* input that the command has not taken yet */
	char *input;
	size_t input_length;
};

static void start_on_terminal(struct command *c)
{
	int master;

	c->pid = forkpty(&master, NULL, NULL, &request.size);
	if (c->pid < 0)
		trouble("cannot start a terminal: %s", strerror(errno));
	if (!c->pid)
		run_command();
	c->in = master;
	c->out = master;
	c->err = -1;
}

static void start_on_pipes(struct command *c)
{
	int in[2], out[2], err[2], go[2];
	char byte = 0;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
	    pipe2(go, O_CLOEXEC) || (c->pid = fork()) < 0)
		trouble("cannot start a command: %s", strerror(errno));
	if (!c->pid) {
		setsid();
		dup2(input >= 0 ? input : in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		if (read(go[0], &byte, 1) == 1)
			run_command();
		_exit(1);
	}
	count_start(c->pid);
	write_all(go[1], &byte, 1);
	close(go[0]);
	close(go[1]);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	c->in = in[1];
	c->out = out[0];
	c->err = err[0];
}

/* forward - pass on what @fd has now; at its end it is closed, but a terminal stays open for input */
static void forward(int *fd, uint32_t type)
{
	ssize_t n = read(*fd, data, FRAME_MAX_DATA);

	if (n > 0)
		send_frame(type, data, (size_t)n);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (!request.terminal)
		close(*fd);
	*fd = -1;
}

static void end_input(struct command *c)
{
	if (!request.terminal)
		close(c->in);
	c->in = -1;
	c->input_length = 0;
}

/* relatives - parent and process group of a process in /proc; false: it has gone */
static bool relatives(pid_t pid, pid_t *up, pid_t *group)
{
	char path[64], line[512] = "", *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(line, sizeof(line), f))
		line[0] = '\0';
	fclose(f);
	after = strrchr(line, ')'); /* after its name, which may be anything */
	return after && sscanf(after + 1, " %*c %d %d", up, group) == 2;
}

/*
 * pass_signal - give it to the command. That is lwprun, which gives it to its own child. As from a
 * terminal, SIGINT also goes to the other processes of the group.
 */
static void pass_signal(pid_t command, int number)
{
	DIR *proc = number == SIGINT ? opendir("/proc") : NULL;
	pid_t pid, up, group;
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 0 && pid != command && relatives(pid, &up, &group) && group == command &&
		    up != command)
			kill(pid, number);
	}
	if (proc)
		closedir(proc);
	kill(command, number);
}

static void take_frame(struct command *c)
{
	struct frame frame = read_frame();

	if (frame.type == FRAME_SIGNAL && frame.length == 1)
		pass_signal(c->pid, data[0]);
	if (c->in < 0)
		return;
	if (frame.type == FRAME_SIZE && request.terminal) {
		take_size(&frame);
		ioctl(c->in, TIOCSWINSZ, &request.size);
	} else if (frame.type == FRAME_STDIN && frame.length) {
		c->input = realloc(c->input, c->input_length + frame.length);
		if (!c->input)
			trouble("out of memory");
		memcpy(c->input + c->input_length, data, frame.length);
		c->input_length += frame.length;
	} else if (frame.type == FRAME_STDIN) {
		end_input(c);
	}
}

static void give_input(struct command *c)
{
	ssize_t n = write(c->in, c->input, c->input_length);

	if (n > 0) {
		c->input_length -= (size_t)n;
		memmove(c->input, c->input + n, c->input_length);
		if (!c->input_length)
			send_frame(FRAME_TAKEN, NULL, 0);
	} else if (errno != EAGAIN && errno != EINTR) {
		end_input(c);
	}
}

/* reap - collect ended children; true and @status when the command itself is among them */
static bool reap(const struct command *c, int *status)
{
	bool ended = false;
	pid_t pid;
	int s;

	while ((pid = waitpid(-1, &s, WNOHANG)) > 0) {
		if (pid == c->pid) {
			*status = s;
			ended = true;
		}
	}
	return ended;
}

/* drain - after the command: what it wrote and nobody has read yet, without waiting for more */
static void drain(int fd, uint32_t type)
{
	ssize_t n;

	if (fd < 0)
		return;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = read(fd, data, FRAME_MAX_DATA)) > 0)
		send_frame(type, data, (size_t)n);
}

static int serve(struct command *c, int signals)
{
	struct signalfd_siginfo info;
	int status = 0;

	fcntl(c->in, F_SETFL, O_NONBLOCK);
	for (;;) {
		struct pollfd fds[] = {
			{ signals, POLLIN, 0 },
			{ c->out, POLLIN, 0 },
			{ c->err, POLLIN, 0 },
			{ source, POLLIN, 0 },
			{ c->input_length ? c->in : -1, POLLOUT, 0 },
			{ count_fd(), POLLIN, 0 },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if (fds[1].revents)
			forward(&c->out, FRAME_STDOUT);
		if (fds[2].revents)
			forward(&c->err, FRAME_STDERR);
		if (fds[4].revents)
			give_input(c);
		if (fds[3].revents)
			take_frame(c);
		if (fds[5].revents)
			count_take();
		if (fds[0].revents && read(signals, &info, sizeof(info)) == sizeof(info) &&
		    reap(c, &status))
			break;
	}
	drain(c->out, FRAME_STDOUT);
	drain(c->err, FRAME_STDERR);
	return status;
}

/* end_all - whatever the command has left behind ends with it; result: how many processes that were */
static unsigned int end_all(void)
{
	unsigned int left = 0;
	pid_t pid;
	int status;

	kill(-1, SIGKILL);
	while ((pid = waitpid(-1, &status, 0)) > 0 || errno == EINTR)
		left += pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	return left;
}

static void close_all(struct command *c)
{
	close(c->in);
	if (c->out != c->in)
		close(c->out);
	close(c->err);
	free(c->input);
}

/* send_share - to a host that does not see it: each file of the share */
static void send_share(void)
{
	DIR *dir = opendir(SHARE_DIR);
	struct dirent *entry;
	ssize_t n;
	int fd;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_REG)
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		send_frame(FRAME_FILE, entry->d_name, strlen(entry->d_name));
		while ((n = read(fd, data, FRAME_MAX_DATA)) > 0)
			send_frame(FRAME_BYTES, data, (size_t)n);
		close(fd);
	}
	if (dir)
		closedir(dir);
}

/* run - one command, as the host asks for it */
static void run(int signals)
{
	struct command command = { 0 };
	unsigned char code;
	int status;

	if (request.terminal)
		start_on_terminal(&command);
	else
		start_on_pipes(&command);
	status = serve(&command, signals);
	count_end(end_all());
	close_all(&command);
	sync();
	if (frozen)
		send_share();
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	send_frame(FRAME_EXIT, &code, 1);
}

/* take_up - the machine has been told what to do; only a signal may follow */
static void take_up(void)
{
	int control = open_port(CONTROL_NAME);

	count_prepare();
	freeze();
	source = open(REQUEST, O_RDONLY | O_CLOEXEC);
	input = open(INPUT, O_RDONLY | O_CLOEXEC);
	if (input < 0)
		input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	take_request();
	close(source);
	source = control;
}

/* told - does the kernel's command line have this word, which it hands on to its init? */
static bool told(int argc, char **argv, const char *word)
{
	int at = 1;

	while (at < argc && strcmp(argv[at], word))
		at++;
	return at < argc;
}

int main(int argc, char **argv)
{
	bool outside = told(argc, argv, NETWORK);
	sigset_t child;
	int signals;

	frozen = told(argc, argv, FROZEN);
	signal(SIGPIPE, SIG_IGN);
	mount_early();
	load_modules("/modules/order");
	port = open_port(PORT_NAME);
	source = port;
	prepare_root();
	start_network(outside);
	if (frozen)
		take_up();
	mount_root(!frozen);
	if (outside)
		name_server();
	send_frame(FRAME_HELLO, NULL, 0);

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	signals = signalfd(-1, &child, SFD_CLOEXEC);
	do {
		if (!frozen)
			take_request();
		run(signals);
	} while (!frozen);
	for (;;)
		pause();
}
