// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Count the instructions of a program by a step of ptrace each: a judge of counts that shares nothing with them. A
 * repeated string instruction is one, as are SYSCALL, the execve of another program and the exit.
 *
 * stepped FILE PROGRAM ARG...: appends the number to FILE. The exit status is the program's.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

// Is it a repeated string instruction? The bytes are those of its start, in the order of memory.
static bool is_repeated(uint64_t bytes)
{
	bool repeated = false;

	for (; bytes; bytes >>= 8) {
		uint8_t byte = bytes;

		if (byte == 0xf2 || byte == 0xf3)
			repeated = true;
		else if (byte != 0x66 && byte != 0x67 && (byte & 0xf0) != 0x40)
			return repeated &&
			       ((byte >= 0xa4 && byte <= 0xaf && byte != 0xa8 && byte != 0xa9) ||
				(byte >= 0x6c && byte <= 0x6f));
	}
	return false;
}

static uint64_t rip_of(pid_t pid)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		err(2, "PTRACE_GETREGS");
	return regs.rip;
}

// Step until it ends. Result: the number of instructions; its wait status goes to *status.
static uint64_t count(pid_t pid, int *status)
{
	uint64_t instructions = 0;
	uint64_t rip = rip_of(pid);

	for (int signal = 0;;) {
		uint64_t bytes = ptrace(PTRACE_PEEKTEXT, pid, rip, NULL);
		int given = signal;

		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, signal))
			err(2, "PTRACE_SINGLESTEP");
		if (waitpid(pid, status, 0) != pid)
			err(2, "waitpid");
		if (!WIFSTOPPED(*status))
			return instructions + 1;
		signal = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
		uint64_t next = rip_of(pid);
		// A stop by a signal, or at the first instruction of its handler, is none after an instruction.
		if (!signal && !given && !(next == rip && is_repeated(bytes)))
			instructions++;
		rip = next;
	}
}

static void start(char **argv)
{
	personality(ADDR_NO_RANDOMIZE);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		err(2, "PTRACE_TRACEME");
	execvp(argv[0], argv);
	err(2, "%s", argv[0]);
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	if (argc < 3)
		errx(2, "usage: stepped FILE PROGRAM ARG...");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid)
		start(argv + 2);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		errx(2, "%s: not started", argv[2]);

	uint64_t instructions = count(pid, &status);
	FILE *out = fopen(argv[1], "a");

	if (!out || fprintf(out, "%ju\n", (uintmax_t)instructions) < 0 || fclose(out))
		err(2, "%s", argv[1]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
