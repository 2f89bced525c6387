// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * init of a guest that is migrated by a manager: the bundled workload under lwprun, over and over, with the same seed.
 * The serial port gets a line when a round begins and one when it has ended, and between them the data file that lwprun
 * wrote, in lines of "data" and hexadecimal digits. Arguments: the round's length for the workload, in thousands of
 * instructions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define DATA "/tmp/lwp.data"
#define LINE 64 /* bytes of it in a line */

static int lines;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vdprintf(lines, format, args) < 0 || tcdrain(lines))
		_exit(1);
	va_end(args);
}

static _Noreturn void trouble(const char *what)
{
	say("trouble: %s: %s\n", what, strerror(errno));
	for (;;)
		pause();
}

static int open_port(const char *path)
{
	struct termios raw;
	int fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &raw))
		return -1;
	cfmakeraw(&raw);
	cfsetspeed(&raw, B115200);
	return tcsetattr(fd, TCSANOW, &raw) ? -1 : fd;
}

static void set_up(void)
{
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mkdir("/dev", 0755);
	mkdir("/tmp", 01777);
	if (mount("dev", "/dev", "devtmpfs", 0, NULL) && errno != EBUSY)
		_exit(1);
	lines = open_port("/dev/ttyS0");
	if (lines < 0)
		_exit(1);
	mkdir("/dev/shm", 01777);
	if (mount("proc", "/proc", "proc", 0, NULL) || mount("sys", "/sys", "sysfs", 0, NULL) ||
	    mount("shm", "/dev/shm", "tmpfs", 0, NULL))
		trouble("mount");
}

/*
 * lwprun, whose words go to the serial port; its wait status. Longer rounds have larger intervals: their records take the
 * same time on the port.
 */
static int profile(const char *thousands)
{
	long interval = strtol(thousands, NULL, 10) / 2 + 3;
	char event[80];
	int status;
	pid_t pid = fork();

	if (pid < 0)
		trouble("fork");
	if (!pid) {
		dup2(lines, STDOUT_FILENO);
		dup2(lines, STDERR_FILENO);
		snprintf(event, sizeof(event), "--event=instructions:%ld,branches:%ld", interval,
			 interval);
		execl("/lwprun", "/lwprun", "--quiet", event, "--random=0", "-o", DATA, "/workload",
		      "1", thousands, (char *)NULL);
		trouble("/lwprun");
	}
	if (waitpid(pid, &status, 0) != pid)
		trouble("waitpid");
	return status;
}

/* The data file, as text; its size. */
static long hand_over(void)
{
	unsigned char bytes[LINE];
	char digits[2 * LINE + 1];
	long size = 0;
	ssize_t n;
	int fd = open(DATA, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		trouble(DATA);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sprintf(digits + 2 * i, "%02x", bytes[i]);
		say("data %s\n", digits);
		size += n;
	}
	close(fd);
	return size;
}

int main(int argc, char **argv)
{
	set_up();
	if (argc < 2)
		trouble("no argument");
	for (unsigned int round = 1;; round++) {
		int status;
		long size;

		say("round %u begins\n", round);
		status = profile(argv[1]);
		size = hand_over();
		say("round %u ended %#x %ld\n", round, (unsigned int)status, size);
	}
}
