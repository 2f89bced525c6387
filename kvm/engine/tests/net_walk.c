// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nets of breakpoints over a program that runs: the processor executes it in single steps, and what
 * it does must not lead past a net.
 *
 *	net_walk SEED NETS MILLISECONDS PROGRAM [ARGUMENT...]
 *
 * The program first runs so long by itself, and its output is dropped. A fifth of the nets have
 * neither a due instruction nor a due branch; of these it tells how many instructions pass.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lwp_net.h"

#define NONE (~(u64)0)

static pid_t pid;
static unsigned int seed;
static struct user_regs_struct regs;
static struct lwp_net net;

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "net_walk: %s: %s\n", what, strerror(errno));
	exit(2);
}

static unsigned int fetch(void *ctx, u64 ip, u8 *bytes)
{
	u64 in_page = 4096 - ip % 4096;
	struct iovec here = { bytes, LWP_NET_BYTES };
	/* What lies before a page that is not there is read, too. */
	struct iovec there[2] = {
		{ (void *)ip, in_page < LWP_NET_BYTES ? in_page : LWP_NET_BYTES },
		{ (void *)(ip + in_page), in_page < LWP_NET_BYTES ? LWP_NET_BYTES - in_page : 0 },
	};
	ssize_t n = process_vm_readv(pid, &here, 1, there, 2, 0);

	return n < 0 ? 0 : (unsigned int)n;
}

static u64 gpr(void *ctx, unsigned int reg)
{
	const u64 values[] = {
		regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi,
		regs.r8,  regs.r9,  regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15,
	};

	return values[reg];
}

/* Wait until it stops, and get its registers. Is it by a signal, which it then does not get? */
static bool stopped(void)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid");
	if (!WIFSTOPPED(status)) {
		printf("not ok - the program has ended\n");
		exit(1);
	}
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		give_up("PTRACE_GETREGS");
	return WSTOPSIG(status) != SIGTRAP;
}

static bool single_step(void)
{
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
		give_up("PTRACE_SINGLESTEP");
	return stopped();
}

static void begin(char **argv, unsigned int ms)
{
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (!freopen("/dev/null", "w", stdout))
			give_up("/dev/null");
		execvp(argv[0], argv);
		give_up(argv[0]);
	}
	stopped();
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_EXITKILL);
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	usleep(ms * 1000);
	kill(pid, SIGSTOP);
	stopped();
}

static bool cut(void)
{
	for (u32 i = 0; i < net.cuts; i++)
		if (net.cut[i] == regs.rip)
			return true;
	return false;
}

static struct lwp_insn insn_at_rip(void)
{
	u8 bytes[LWP_NET_BYTES];
	struct lwp_insn insn = {};

	if (lwp_insn_decode(bytes, fetch(NULL, regs.rip, bytes), LWP_CODE64, &insn) !=
	    LWP_DECODE_OK)
		insn.length = 0;
	return insn;
}

/*
 * Step to a cut, or to what exits by itself. Returns how many instructions have passed; 0: a signal has come. The due
 * instruction, or branch, or more than the net says must not pass.
 */
static u64 step_to_net(u64 insns, u64 branches)
{
	u64 from = regs.rip, passed = 0, passed_branches = 0, ip;
	struct lwp_insn insn;

	do {
		insn = insn_at_rip();
		if (passed && insn.length && lwp_insn_exits(&insn))
			return passed;
		ip = regs.rip;
		passed_branches += insn.length && lwp_insn_is_branch(&insn);
		do {
			if (single_step())
				return 0;
		} while (insn.length && lwp_insn_is_repeated(&insn) && regs.rip == ip);
		passed++;
		if (passed >= insns || passed_branches >= branches || passed > net.insns ||
		    passed_branches > net.branches) {
			printf("not ok - from %llx past the net to %llx: %llu instructions, %llu branches\n",
			       (unsigned long long)from, (unsigned long long)regs.rip,
			       (unsigned long long)passed, (unsigned long long)passed_branches);
			exit(1);
		}
	} while (!cut());
	return passed;
}

static u64 draw(u64 most)
{
	return rand_r(&seed) & 1 ? 1 + (u64)rand_r(&seed) % most : NONE;
}

int main(int argc, char **argv)
{
	static const struct lwp_access access = { .gpr = gpr };
	const struct lwp_net_code code = { .bits = LWP_CODE64, .access = &access, .fetch = fetch };
	u64 nets = 0, wanted, free_nets = 0, free_insns = 0;

	if (argc < 5)
		return 2;
	seed = (unsigned int)strtoul(argv[1], NULL, 10);
	wanted = strtoull(argv[2], NULL, 10);
	begin(argv + 4, (unsigned int)strtoul(argv[3], NULL, 10));
	while (nets < wanted) {
		bool free = rand_r(&seed) % 5 == 0;
		u64 insns = free ? NONE : draw(40), branches = free ? NONE : draw(10);

		if (lwp_net_lay(&code, regs.rip, insns, branches, &net)) {
			u64 passed = step_to_net(insns, branches);

			nets++;
			free_nets += free && passed;
			free_insns += free ? passed : 0;
			continue;
		}
		single_step();
	}
	printf("ok - %llu nets; %.1f instructions pass before one\n", (unsigned long long)nets,
	       (double)free_insns / (double)free_nets);
	return 0;
}
