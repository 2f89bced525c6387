// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmrun [--cwd=DIR] [--modules=DIR] [--log=FILE] [--console=FILE] [--keep-console=FILE] [--stats=FILE]
 *       [--no-boot-limit] [--runs=N] [--pass-signals] [--count=EVENTS] QEMU ARG... -- COMMAND ARG...
 * vmrun --share=DIR --restore=FILE [--pass-signals] [...] QEMU ARG...
 *
 * Start a guest whose init speaks proto.h, run one command in it, pass standard input, output and
 * error through, and end with the command's exit status. With a terminal on both sides the command
 * gets one in the guest. The guest dies with us, however we die.
 *
 * --log takes what QEMU prints; --console is the file to which QEMU writes the guest's console.
 * When the guest dies, the reason is looked for in both, and the whole console is copied to
 * --keep-console. --stats takes the CPUs' LWP statistics when the command has ended, as
 * qmp_lwp_stats() writes them. --no-boot-limit: a guest that is debugged may take its time.
 *
 * --count=EVENTS: the guest's kernel counts them, for the file counts of the share.
 *
 * --runs=N runs the command N times in that guest, with VLWP_RUN=1, 2 ... in its environment. Nothing is
 * left of a run when the next one starts. --stats takes FILE.1, FILE.2 ... after each, with a line
 * "run status N". The exit status is that of the first run that failed.
 *
 * --pass-signals: the first SIGINT or SIGTERM goes to the command, and no run follows; the second ends us.
 *
 * --share=DIR: the guest has its request and its input already, and is told nothing but signals. Files of its
 * share are written to DIR when its command has ended. QEMU waits until we have taken what it writes, in which
 * no time passes for the guest. Its state is that of --restore, but for memory that QEMU shares with others.
 * --gdb=DEVICE: it waits for a debugger before its first instruction.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "proto.h"
#include "qmp.h"

#define ESCAPE_CHARACTER 0x1d /* Ctrl-] ends the guest when it has our terminal */
#define MAX_QEMU_ARGS 256

#define BOOT_SECONDS 300
/* timeout(1) sends a signal to its child and to its child's process group: we get it more than once. */
#define SAME_SIGNAL_MS 500

static const char *cwd, *modules, *log_path, *console_path, *kept_path, *stats_path;
static const char *share_path, *restore_path, *gdb_device, *events;
static int no_boot_limit, pass_signals;
static int runs, run = 1; /* runs 0: --runs was not given */
static int first_status;
static char **command;
static bool terminal; /* the command has one, which is ours */
static pid_t parent;
static int64_t passed_ms; /* when a signal was passed on; 0: none */
static bool up, input_open = true, input_taken = true;
static int link_fd = -1, qmp_fd = -1;
static int control_fd = -1; /* what the guest hears */
static struct qmp monitor;
static pid_t qemu;
static bool raw;
static struct termios cooked;

static void restore_terminal(void)
{
	if (raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
	raw = false;
}

/* end_guest - switch the machine off and wait until its process is gone */
static void end_guest(void)
{
	if (qemu > 0) {
		kill(qemu, SIGKILL);
		waitpid(qemu, NULL, 0);
		qemu = 0;
	}
}

static _Noreturn void quit(int status)
{
	end_guest();
	restore_terminal();
	exit(status);
}

static _Noreturn void fail(const char *what, const char *why)
{
	restore_terminal();
	fprintf(stderr, "vlwp: %s%s%s\n", what, why ? ": " : "", why ? why : "");
	quit(1);
}

/* die_of - end by the signal that ended us, so that a calling shell knows */
static _Noreturn void die_of(int sig)
{
	sigset_t set;

	end_guest();
	restore_terminal();
	signal(sig, SIG_DFL);
	sigemptyset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	raise(sig);
	_exit(128 + sig);
}

/* make_pair - a socket to QEMU; sets @ours and returns QEMU's end */
static int make_pair(int *ours)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		fail("socketpair", strerror(errno));
	*ours = pair[0];
	return pair[1];
}

/* make_pipe - from QEMU to us; sets @ours and returns QEMU's end */
static int make_pipe(int *ours)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		fail("pipe", strerror(errno));
	*ours = ends[0];
	return ends[1];
}

/* start_qemu - QEMU on the far end of a socket pair; its own process group keeps Ctrl-C from it */
static void start_qemu(char **args, int count, const sigset_t *old)
{
	char *argv[MAX_QEMU_ARGS + 18], chardev[64], control[64], words[64];
	int i, fd, port = share_path ? make_pipe(&link_fd) : make_pair(&link_fd), qmp = -1;
	int hears = share_path ? make_pair(&control_fd) : -1;
	pid_t us = getpid();

	if (count > MAX_QEMU_ARGS)
		fail("too many QEMU arguments", NULL);
	for (i = 0; i < count; i++)
		argv[i] = args[i];
	/* A backend's log is the one that is written as a whole, and waited for. */
	snprintf(chardev, sizeof(chardev),
		 share_path ? "file,id=vlwp,path=/dev/null,logfile=/dev/fd/%d" :
			      "socket,id=vlwp,fd=%d",
		 port);
	argv[i++] = (char *)"-chardev";
	argv[i++] = chardev;
	if (stats_path || restore_path) {
		qmp = make_pair(&qmp_fd);
		snprintf(words, sizeof(words), "socket,id=monitor,fd=%d", qmp);
		argv[i++] = (char *)"-chardev";
		argv[i++] = words;
		argv[i++] = (char *)"-mon";
		argv[i++] = (char *)"chardev=monitor,mode=control";
	}
	argv[i++] = (char *)"-device";
	argv[i++] = (char *)(share_path ? "virtio-serial-pci,ioeventfd=off" : "virtio-serial-pci");
	argv[i++] = (char *)"-device";
	argv[i++] = (char *)"virtserialport,chardev=vlwp,name=" PORT_NAME;
	if (share_path) {
		snprintf(control, sizeof(control), "socket,id=control,fd=%d", hears);
		argv[i++] = (char *)"-chardev";
		argv[i++] = control;
		argv[i++] = (char *)"-device";
		argv[i++] = (char *)"virtserialport,chardev=control,name=" CONTROL_NAME;
	}
	argv[i] = NULL;

	qemu = fork();
	if (qemu < 0)
		fail("fork", strerror(errno));
	if (!qemu) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != us)
			_exit(1);
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, old, NULL);
		fcntl(port, F_SETFD, 0);
		if (qmp >= 0)
			fcntl(qmp, F_SETFD, 0);
		if (hears >= 0)
			fcntl(hears, F_SETFD, 0);
		fd = open("/dev/null", O_RDONLY);
		dup2(fd, STDIN_FILENO);
		if (log_path) {
			fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
			dup2(fd, STDOUT_FILENO);
			dup2(fd, STDERR_FILENO);
		}
		execv(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(1);
	}
	close(port);
	if (qmp >= 0)
		close(qmp);
	if (hears >= 0)
		close(hears);
	else
		control_fd = link_fd;
}

/* write_stats - what the CPUs counted, while they are still there */
static void write_stats(int status)
{
	char path[PATH_MAX];
	FILE *to;

	if (!stats_path)
		return;
	snprintf(path, sizeof(path), runs ? "%s.%d" : "%s", stats_path, run);
	to = fopen(path, "w");
	if (!to)
		fail(path, strerror(errno));
	if ((!monitor.stream && qmp_open(&monitor, qmp_fd)) || qmp_lwp_stats(&monitor, to))
		fail("no statistics", monitor.error);
	if (runs)
		fprintf(to, "run status %d\n", status);
	if (fclose(to))
		fail(path, strerror(errno));
}

/*
 * What waits to be sent. Input is read from the user only while this is short, so that it cannot
 * grow without end when the command in the guest does not read.
 */
static struct {
	char *bytes;
	size_t length, room;
} queue;

static void queue_bytes(const void *bytes, size_t length)
{
	if (queue.length + length > queue.room) {
		queue.room = 2 * (queue.length + length);
		queue.bytes = realloc(queue.bytes, queue.room);
		if (!queue.bytes)
			fail("out of memory", NULL);
	}
	memcpy(queue.bytes + queue.length, bytes, length);
	queue.length += length;
}

static void queue_frame(uint32_t type, const void *bytes, size_t length)
{
	struct frame frame = { type, (uint32_t)length };

	queue_bytes(&frame, sizeof(frame));
	queue_bytes(bytes ? bytes : "", length);
}

static void queue_string(uint32_t type, const char *string)
{
	if (strlen(string) <= FRAME_MAX_DATA)
		queue_frame(type, string, strlen(string));
	else if (type != FRAME_ENV)
		fail("an argument is longer than the guest takes", NULL);
}

static void queue_size(void)
{
	struct winsize ws = { 0 };
	struct term_size size;

	ioctl(STDIN_FILENO, TIOCGWINSZ, &ws);
	size.rows = ws.ws_row;
	size.columns = ws.ws_col;
	queue_frame(FRAME_SIZE, &size, sizeof(size));
}

static void queue_request(void)
{
	char **s, number[32];

	for (s = command; *s; s++)
		queue_string(FRAME_ARG, *s);
	for (s = environ; *s; s++)
		queue_string(FRAME_ENV, *s);
	snprintf(number, sizeof(number), "VLWP_RUN=%d", run);
	if (runs)
		queue_string(FRAME_ENV, number);
	if (cwd)
		queue_string(FRAME_CWD, cwd);
	if (events)
		queue_string(FRAME_COUNT, events);
	if (modules && run == 1)
		queue_string(FRAME_MODULES, modules);
	if (terminal)
		queue_size();
	queue_frame(FRAME_GO, NULL, 0);
}

static void send_queue(void)
{
	ssize_t n = send(control_fd, queue.bytes, queue.length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n > 0) {
		queue.length -= (size_t)n;
		memmove(queue.bytes, queue.bytes + n, queue.length);
	}
}

static void enter_raw_mode(void)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &cooked))
		return;
	t = cooked;
	cfmakeraw(&t);
	raw = !tcsetattr(STDIN_FILENO, TCSADRAIN, &t);
}

static void put(int fd, const char *bytes, size_t length)
{
	ssize_t n;

	for (; length; bytes += n, length -= (size_t)n) {
		n = write(fd, bytes, length);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0 && errno == EPIPE)
			die_of(SIGPIPE);
		else if (n < 0)
			fail("cannot write the guest's output", strerror(errno));
	}
}

/* qemu_error - the first thing that QEMU said and that is not a warning */
static const char *qemu_error(void)
{
	static char line[512];
	FILE *f = log_path ? fopen(log_path, "r") : NULL;

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line && !strstr(line, "warning: "))
			return line;
	}
	return NULL;
}

/* keep_console - copy the guest's console to where the user finds it, and say where */
static void keep_console(FILE *console)
{
	FILE *to = kept_path ? fopen(kept_path, "w") : NULL;
	char bytes[4096];
	size_t n;

	if (!to)
		return;
	rewind(console);
	while ((n = fread(bytes, 1, sizeof(bytes), console)))
		fwrite(bytes, 1, n, to);
	if (!fclose(to))
		fprintf(stderr, "\nvlwp: the console of the guest is in %s\n", kept_path);
}

/* show_console - the last lines of the guest's console, where a kernel says why it died */
static void show_console(void)
{
	char tail[1024];
	FILE *f = console_path ? fopen(console_path, "r") : NULL;
	size_t n;

	if (!f)
		return;
	if (fseek(f, -(long)sizeof(tail), SEEK_END))
		rewind(f);
	n = fread(tail, 1, sizeof(tail), f);
	if (n)
		fprintf(stderr, "vlwp: the end of the guest's console:\n");
	fwrite(tail, 1, n, stderr);
	keep_console(f);
	fclose(f);
}

/* fail_guest - the guest is not there, or not any more */
static _Noreturn void fail_guest(const char *what)
{
	const char *error;

	end_guest();
	restore_terminal();
	error = qemu_error();
	fprintf(stderr, "vlwp: %s%s%s\n", what, error ? ": " : "", error ? error : "");
	if (!error)
		show_console();
	exit(1);
}

/* receive - read exactly @length bytes; an end of file means that QEMU is gone */
static void receive(void *buffer, size_t length)
{
	char *p = buffer;
	ssize_t n;

	for (; length; p += n, length -= (size_t)n) {
		n = read(link_fd, p, length);
		if (n < 0 && errno == EINTR) {
			n = 0;
		} else if (n <= 0) {
			waitpid(qemu, NULL, 0);
			qemu = 0;
			fail_guest("the guest stopped before its command ended");
		}
	}
}

/* ask - a command to QEMU's monitor, with its argument as JSON; an error ends us */
static json_object *ask(const char *name, const char *format, const char *argument)
{
	char text[PATH_MAX + 128];
	json_object *answer, *arguments;

	snprintf(text, sizeof(text), format, argument);
	arguments = json_tokener_parse(text);
	answer = arguments ? qmp_call(&monitor, name, arguments) : NULL;
	if (!answer)
		fail_guest(monitor.error);
	return answer;
}

static bool restored(void)
{
	json_object *answer = ask("query-status", "{}", ""), *status;
	bool done = json_object_object_get_ex(answer, "status", &status) &&
		    strcmp(json_object_get_string(status), "inmigrate");

	json_object_put(answer);
	return done;
}

/* restore - the guest is what was saved when it had stopped itself; it goes on */
static void restore(void)
{
	if (qmp_open(&monitor, qmp_fd))
		fail_guest(monitor.error);
	json_object_put(ask("migrate-set-capabilities",
			    "{\"capabilities\": [{\"capability\": \"%s\", \"state\": true}]}",
			    "x-ignore-shared"));
	json_object_put(ask("migrate-incoming", "{\"uri\": \"file:%s\"}", restore_path));
	while (!restored())
		usleep(1000);
	if (gdb_device)
		json_object_put(ask("human-monitor-command", "{\"command-line\": \"gdbserver %s\"}",
				    gdb_device));
	else
		json_object_put(ask("cont", "{}", ""));
}

static void end_run(int status)
{
	write_stats(status);
	if (!first_status)
		first_status = status;
	if (run >= runs || passed_ms)
		quit(first_status);
	run++;
	input_open = true;
	input_taken = true;
	queue_request();
}

/* share_file - a new file of the share for the content that follows */
static int share_file(const char *name)
{
	static char path[PATH_MAX + FRAME_MAX_DATA];
	int fd;

	if (strchr(name, '/') || !strcmp(name, ".") || !strcmp(name, ".."))
		fail("the guest sent a file that has no name", NULL);
	snprintf(path, sizeof(path), "%s/%s", share_path, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		fail(path, strerror(errno));
	return fd;
}

static void take_frame(void)
{
	static int file = -1;
	static char data[FRAME_MAX_DATA + 1];
	struct frame frame;

	receive(&frame, sizeof(frame));
	if (frame.length > FRAME_MAX_DATA)
		fail("the guest sent something else than frames", NULL);
	receive(data, frame.length);
	data[frame.length] = '\0';
	switch (frame.type) {
	case FRAME_HELLO:
		alarm(0);
		up = true;
		if (terminal)
			enter_raw_mode();
		break;
	case FRAME_STDOUT:
		put(STDOUT_FILENO, data, frame.length);
		break;
	case FRAME_STDERR:
		put(STDERR_FILENO, data, frame.length);
		break;
	case FRAME_TROUBLE:
		fail("guest", data);
	case FRAME_TAKEN:
		input_taken = true;
		break;
	case FRAME_FILE:
		close(file);
		file = share_path ? share_file(data) : -1;
		break;
	case FRAME_BYTES:
		put(file, data, frame.length);
		break;
	case FRAME_EXIT:
		end_run((unsigned char)data[0]);
		break;
	}
}

/* take_input - pass on what the user gives; false at its end */
static bool take_input(void)
{
	static char bytes[FRAME_MAX_DATA];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (terminal && n > 0 && memchr(bytes, ESCAPE_CHARACTER, (size_t)n))
		fail("the guest was ended by Ctrl-]", NULL);
	queue_frame(FRAME_STDIN, bytes, n > 0 ? (size_t)n : 0);
	input_taken = false;
	return n > 0;
}

/*
 * wants_input - what the command has not taken stays with us, so that a signal does not wait for it; but
 * a terminal is read always, for its escape character
 */
static bool wants_input(void)
{
	return !share_path && input_open &&
	       (terminal ? queue.length < FRAME_MAX_DATA : input_taken);
}

/* pass_signal - true: the command gets it, or has got it already */
static bool pass_signal(uint32_t number)
{
	char byte = (char)number;
	struct timespec now;
	int64_t ms;

	/* The death of our parent is a SIGTERM, too. */
	if (!pass_signals || !up || (number != SIGINT && number != SIGTERM) || getppid() != parent)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (passed_ms)
		return ms - passed_ms < SAME_SIGNAL_MS;
	passed_ms = ms;
	queue_frame(FRAME_SIGNAL, &byte, 1);
	return true;
}

static void take_signal(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGWINCH)
		queue_size();
	else if (info.ssi_signo == SIGALRM)
		fail_guest("the guest does not come up");
	else if (!pass_signal(info.ssi_signo))
		die_of((int)info.ssi_signo);
}

static _Noreturn void converse(int signals)
{
	for (;;) {
		struct pollfd fds[] = {
			{ link_fd, POLLIN, 0 },
			{ signals, POLLIN, 0 },
			{ wants_input() ? STDIN_FILENO : -1, POLLIN, 0 },
			{ queue.length ? control_fd : -1, POLLOUT, 0 },
		};

		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		if (fds[1].revents)
			take_signal(signals);
		if (fds[3].revents & POLLOUT)
			send_queue();
		if (fds[0].revents & (POLLIN | POLLHUP))
			take_frame();
		if (fds[2].revents)
			input_open = take_input();
	}
}

static _Noreturn void usage(void)
{
	fprintf(stderr,
		"usage: vmrun [--cwd=DIR] [--modules=DIR] [--log=FILE] [--console=FILE] "
		"[--keep-console=FILE] [--stats=FILE] [--no-boot-limit] [--runs=N] [--pass-signals] "
		"[--count=EVENTS] [--share=DIR --restore=FILE [--gdb=DEVICE]] QEMU ARG... [-- COMMAND ARG...]\n");
	exit(2);
}

static void parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cwd", required_argument, NULL, 'c' },
		{ "modules", required_argument, NULL, 'm' },
		{ "log", required_argument, NULL, 'l' },
		{ "console", required_argument, NULL, 's' },
		{ "keep-console", required_argument, NULL, 'k' },
		{ "stats", required_argument, NULL, 't' },
		{ "no-boot-limit", no_argument, &no_boot_limit, true },
		{ "runs", required_argument, NULL, 'r' },
		{ "pass-signals", no_argument, &pass_signals, true },
		{ "share", required_argument, NULL, 'd' },
		{ "restore", required_argument, NULL, 'f' },
		{ "gdb", required_argument, NULL, 'g' },
		{ "count", required_argument, NULL, 'e' },
		{ 0 },
	};
	static const char **const texts[] = {
		['c'] = &cwd,	       ['m'] = &modules,      ['l'] = &log_path,
		['s'] = &console_path, ['k'] = &kept_path,    ['t'] = &stats_path,
		['d'] = &share_path,   ['f'] = &restore_path, ['g'] = &gdb_device,
		['e'] = &events,
	};
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) >= 0) {
		if (option == '?')
			usage();
		if (option == 'r')
			runs = atoi(optarg);
		else if (option)
			*texts[option] = optarg;
	}
}

int main(int argc, char **argv)
{
	sigset_t ours, old;
	int split, signals;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	parent = getppid();
	parse_options(argc, argv);
	terminal = !share_path && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	for (split = optind; split < argc && strcmp(argv[split], "--"); split++)
		;
	if (split == optind || (!share_path && split + 1 >= argc))
		usage();

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	sigaddset(&ours, SIGALRM);
	if (terminal)
		sigaddset(&ours, SIGWINCH);
	sigprocmask(SIG_BLOCK, &ours, &old);
	signal(SIGPIPE, SIG_IGN);
	signals = signalfd(-1, &ours, SFD_CLOEXEC);

	start_qemu(argv + optind, split - optind, &old);
	if (!no_boot_limit)
		alarm(BOOT_SECONDS);
	command = argv + split + 1;
	if (restore_path)
		restore();
	else
		queue_request();
	converse(signals);
}
