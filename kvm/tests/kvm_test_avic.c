// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * AVIC is inhibited while a vCPU may step, and only then. Where the processor has none, kvm-amd's parameter
 * force_avic=1 makes KVM believe that it has: enough to see the inhibit come and go in KVM's tracepoint.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <unistd.h>
#include "counted.h"

#define TRACING "/sys/kernel/tracing/"

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		skip_all("cannot write %s", path);
	close(fd);
}

/* How often the tracepoint told of LWP, setting or clearing its inhibit; forgets it. */
static u32 inhibits(const char *what)
{
	FILE *f = fopen(TRACING "trace", "r");
	char line[512];
	u32 n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, "kvm_apicv_inhibit_changed") && strstr(line, what);
	if (f)
		fclose(f);
	write_file(TRACING "trace", "\n");
	return n;
}

PROGRAM(phases, "	nop\n"
		"	syscall\n"
		"	xor %r11d, %r11d\n"
		"	llwpcb %r11\n"
		"	nop\n");

static void avic_is_inhibited_while_a_context_steps(void)
{
	begin(phases, phases_end, 2);
	inhibits("");
	is(inhibits("reason=12"), 0, "a vCPU that does not use LWP changes nothing");
	is(vm_run(vm, v), VM_SYSCALL, "LWP is on");
	is(inhibits("set reason=12"), 1, "the inhibit is set, once");
	run_to_end();
	is(inhibits("cleared reason=12"), 1, "and cleared when LWP is off again");
	vm_free(vm);
}

int main(void)
{
	if (!parameter_is("avic", "Y"))
		skip_all("no AVIC; the kvm-amd parameters avic=1 force_avic=1 pretend one");
	mount("tracefs", TRACING, "tracefs", 0, NULL);
	write_file(TRACING "events/kvm/kvm_apicv_inhibit_changed/enable", "1");
	avic_is_inhibited_while_a_context_steps();
	return done();
}
