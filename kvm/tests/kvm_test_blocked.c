// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest memory that user space takes its time to provide (userfaultfd, as in the middle of a postcopy migration)
 * holds up the vCPU that needs it, and no other one (43724-904). Nor does it hold up the host's kernel, whose queue
 * of work has places for 256 on a processor: the argument is how many vCPUs wait at once.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "counted.h"
#include "texts.h"

#define PAGE 4096
#define PATIENCE 20 /* seconds; what is not held up takes some ms */

#define TABLE (VM_CR3 + 4 * PAGE) /* of the pages from 2 MiB on, which only LWP needs here */

/* Has used counters when it inserts a record. */
PROGRAM(marks, "	nop\n"
	       "	syscall\n"
	       "	lwpins $0, %ecx, %edx\n"
	       "	syscall\n");

PROGRAM(loads, "	lwpins $0, (%rdi), %edx\n");

static struct vcpu *w;
static u8 page[PAGE];
static int faults; /* userfaultfd */

static struct one {
	struct vm *vm;
	int faults;
	pthread_t thread;
} * crowd;

static void begin_parts(u32 interval)
{
	begin(parts, parts_end, 2);
	w = vm_add_vcpu(vm);
	block_event(vm, 2, interval, interval);
	vm_set_msr(v, FS_BASE, 0x1000);
}

/* From now on an access to this page of the guest waits for give_back(). */
static void take_away(u64 addr)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = {
		.range = { .start = (u64)vm->mem + addr, .len = PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api) || ioctl(faults, UFFDIO_REGISTER, &r))
		skip_all("no userfaultfd here");
	memcpy(page, vm->mem + addr, PAGE);
	if (madvise(vm->mem + addr, PAGE, MADV_REMOVE))
		skip_all("madvise(MADV_REMOVE)");
}

static void give_back(u64 addr)
{
	struct uffdio_copy copy = { .dst = (u64)vm->mem + addr, .src = (u64)page, .len = PAGE };

	ioctl(faults, UFFDIO_COPY, &copy);
	close(faults);
}

/* Does anybody else wait for the page? */
static bool somebody_waits(void)
{
	struct pollfd p = { .fd = faults, .events = POLLIN };
	struct uffd_msg msg;

	return poll(&p, 1, PATIENCE * 1000) == 1 && read(faults, &msg, sizeof(msg)) == sizeof(msg);
}

static void *run(void *arg)
{
	return (void *)(long)vm_run_interruptible(vm, arg);
}

/* The result of a vCPU's run if it ends in time, else -1. */
static int ends(pthread_t thread)
{
	struct timespec until;
	void *result;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += PATIENCE;
	return pthread_timedjoin_np(thread, &result, &until) ? -1 : (int)(long)result;
}

static int joined(pthread_t thread)
{
	void *result;

	pthread_join(thread, &result);
	return (int)(long)result;
}

static pthread_t started(struct vcpu *cpu)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, cpu);
	return thread;
}

/* As a VMM stops its vCPUs, also in the middle of postcopy. */
static void kick(pthread_t thread)
{
	pthread_kill(thread, SIGALRM);
}

/* The registers of v when it stopped; it cannot be asked for them while it runs. */
static struct kvm_sregs stopped_sregs;
static struct kvm_regs stopped_regs;

static void note_where_v_stopped(void)
{
	stopped_sregs = vm_sregs(v);
	stopped_sregs.tr.base = 0x3080;
	stopped_regs = v->regs;
}

/* Set the registers of w so that it continues from there, as a thread with this FS base. */
static void go_on_at_w(u64 fs_base)
{
	vm_set_sregs(w, &stopped_sregs);
	w->regs = stopped_regs;
	vm_set_regs(w);
	vm_set_msr(w, FS_BASE, fs_base);
}

/* vCPU 0 compares a parked context with its block, and the block is not there. */
TEST(verification_holds_up_nobody_else)
{
	pthread_t held, free;
	int result;

	begin_parts(1000);
	is(vm_run(vm, v), VM_SYSCALL, "first part, then the thread is switched away");
	note_where_v_stopped();
	go_on_at_w(0x2000);
	vm_set_msr(v, FS_BASE, 0x3000);
	v->regs.rip = v->regs.rcx;
	is(vm_run(vm, v), VM_SYSCALL, "another thread on vCPU 0");
	take_away(VM_BLOCK);
	vm_set_msr(v, FS_BASE, 0x1000);
	held = started(v);
	ok(somebody_waits(), "back to the thread, whose block is not there: vCPU 0 waits");
	free = started(w);
	result = ends(free);
	is(result, VM_SYSCALL, "another thread runs on vCPU 1 meanwhile");
	give_back(VM_BLOCK);
	if (result < 0)
		joined(free);
	is(joined(held), VM_DONE, "vCPU 0 continues when the block is there");
	is(v->regs.rax, VM_BLOCK, "with its context");
}

/* vCPU 0 stores a record, and the ring is not there. Its thread moves to vCPU 1. */
TEST(a_store_holds_up_nobody_else)
{
	pthread_t held, free;
	int result;

	begin_parts(0);
	is(vm_run(vm, v), VM_SYSCALL, "first part on vCPU 0");
	note_where_v_stopped();
	go_on_at_w(0x2000);
	is(vm_run(vm, w), VM_SYSCALL, "another thread on vCPU 1");
	take_away(VM_RING);
	held = started(v);
	ok(somebody_waits(), "a record has to be stored, the ring is not there: vCPU 0 waits");
	go_on_at_w(0x1000);
	free = started(w);
	ok(somebody_waits(), "vCPU 1, with the thread and its context, waits, too");
	kick(free);
	is(ends(free), VM_TIMEOUT, "until a signal comes");
	go_on_at_w(0x2000);
	free = started(w);
	result = ends(free);
	ok(result == VM_SYSCALL || result == VM_DONE, "the other thread runs there meanwhile: 0x%x",
	   result);
	give_back(VM_RING);
	if (result < 0)
		joined(free);
	is(joined(held), VM_SYSCALL, "vCPU 0 continues when the ring is there");
}

/* v has a record to store, for which it needs a page that is not there, and waits. */
static pthread_t waits_for(u64 addr)
{
	pthread_t held;

	begin_parts(0);
	is(vm_run(vm, v), VM_SYSCALL, "first part");
	take_away(addr);
	held = started(v);
	ok(somebody_waits(), "a record has to be stored, and a page for it is not there");
	return held;
}

static void a_store_that_waits_can_be_kicked(u64 addr, const char *what)
{
	pthread_t held = waits_for(addr);
	int result;

	kick(held);
	result = ends(held);
	ok(result == VM_TIMEOUT, "a signal ends KVM_RUN in the wait for %s that is not there",
	   what);
	give_back(addr);
	if (result < 0)
		joined(held);
	else
		is(vm_run(vm, v), VM_SYSCALL, "it continues later, when the page is there");
	is(block_head(vm), 5, "with a record of each instruction");
}

/* Another vCPU's kernel takes the ring's page away. Hyper-V's and KVM's flushes do not wait for a vCPU that sleeps. */
TEST(a_page_that_the_guest_takes_away_gets_nothing)
{
	pthread_t held = waits_for(VM_RING);

	vm_remap(vm, VM_RING, VM_DATA);
	give_back(VM_RING);
	is(joined(held), VM_SYSCALL, "the ring is in another page meanwhile: the vCPU continues");
	ok(!memcmp(vm->mem + VM_RING, page, PAGE), "nothing is stored where the ring was");
	is(vm->mem[VM_DATA + 2 * LWP_RECORD_SIZE], 2, "the record is where the ring is");
}

/* LWPINS is executed once more, and has stored nothing before (43724-637). */
TEST(an_operand_that_waits_is_stored_once)
{
	pthread_t held;

	begin(loads, loads_end, 1);
	lwp_put32(vm->mem + VM_DATA, 0xcafe);
	take_away(VM_DATA);
	held = started(v);
	ok(somebody_waits(), "the operand of LWPINS is not there");
	give_back(VM_DATA);
	is(joined(held), VM_DONE, "the program ends");
	is(block_head(vm), 1, "LWPINS has one record");
	is(ring_record(vm, 0).data1, 0xcafe, "of its operand");
}

/* A store that has faulted is tried again when the handler returns there, and not later (43724-816). */
TEST(a_retry_that_waits_is_made)
{
	pthread_t held;

	begin(parts, parts_end, 2);
	block_event(vm, 2, 1000, 0);
	vm_map(vm, VM_RING, false);
	is(vm_run(vm, v), 14, "the ring is not mapped: #PF");
	vm_map(vm, VM_RING, true);
	take_away(VM_RING);
	held = started(v);
	ok(somebody_waits(), "it is mapped, and not there");
	give_back(VM_RING);
	is(joined(held), VM_SYSCALL, "the first part ends");
	is(block_head(vm), 1, "the record was retried where it faulted");
}

/* Does a worker of the host's kernel sleep and cannot be woken? */
static bool a_worker_sleeps(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300], state;
	bool found = false;
	FILE *stat;

	while ((entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		stat = fopen(path, "re");
		if (!stat)
			continue;
		found |= fscanf(stat, "%*d (kworker/%*[^)]) %c", &state) == 1 && state == 'D';
		fclose(stat);
	}
	closedir(proc);
	return found;
}

static void *run_first(void *arg)
{
	struct vm *one = arg;

	return (void *)(long)vm_run_interruptible(one, &one->vcpu[0]);
}

/* A VM of its own stores a record, and the ring is not there. */
static bool joins(struct one *one)
{
	struct vcpu *first;

	vm = one->vm = vm_new_unasked(true);
	vm_ask_for_lwp(vm, (struct kvm_lwp_policy){ .delivery = KVM_LWP_DELIVERY_PROMPT });
	first = vm_add_vcpu(vm);
	vm_load(vm, marks, marks_end);
	block_init(vm, LWP_F_IRE, 128);
	block_event(vm, 2, 1000000, 1000000);
	if (vm_run(vm, first) != VM_SYSCALL)
		return false;
	take_away(VM_RING);
	one->faults = faults;
	pthread_create(&one->thread, NULL, run_first, vm);
	return somebody_waits();
}

/* Each processor's queue of the host's kernel does a piece of work. */
static void *refresh(void *unused)
{
	FILE *f = fopen("/proc/sys/vm/stat_refresh", "we");

	(void)unused;
	return (void *)(long)(f && fputs("1", f) >= 0 && !fclose(f));
}

static void a_crowd_holds_up_no_work(u32 size)
{
	pthread_t work;
	u32 n = 0, ended = 0;

	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 10 * size, 10 * size });
	crowd = calloc(size, sizeof(*crowd));
	while (n < size && joins(&crowd[n]))
		n++;
	is(n, size, "vCPUs wait for their rings");
	sleep(3); /* their counters are not used, and a worker looks at them each second */
	pthread_create(&work, NULL, refresh, NULL);
	is(ends(work), 1, "other work of the host's kernel is done");
	ok(!a_worker_sleeps(), "no worker of the host waits");
	for (u32 i = 0; i < n; i++) {
		faults = crowd[i].faults;
		vm = crowd[i].vm;
		give_back(VM_RING);
		ended += joined(crowd[i].thread) == VM_SYSCALL;
		vm_free(vm);
	}
	is(ended, size, "vCPUs continue when their rings are there");
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		a_crowd_holds_up_no_work((u32)atoi(argv[1]));
		return done();
	}
	a_store_that_waits_can_be_kicked(VM_RING, "a ring");
	a_store_that_waits_can_be_kicked(TABLE, "a table");
	run_tests();
	return done();
}
