// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwprun from end to end on a machine without LWP: fake_lwp.c plays the processor, victim.c the program.
 * What each mode of the victim stores is written there; the numbers below are those.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lwprun_run.h"

/* ---- The program's status and surroundings -------------------------------------------------- */

TestSuite(lwprun, .init = set_up, .fini = tear_down, .timeout = 60);

/* Running lwprun with these arguments. */
#define ends(code, ...) (lwprun(__VA_ARGS__, NULL), has_ended(code))
static void has_ended(int code)
{
	cr_expect(eq(int, run.status, code), "%s", run.errors);
}

Test(lwprun, the_exit_status_is_the_programs)
{
	ends(42, "-q", VICTIM, "records", "12", "42");
	cr_expect(eq(u64, run.records, 12));
	cr_expect(eq(u32, run.nr_processes, 1));
	cr_expect(eq(u32, run.nr_threads, 1));
	cr_expect(eq(str, run.errors, (char *)""));
	cr_expect(eq(u32, run.threads[0].flags, LWPDATA_THREAD_FLUSHED));
}

Test(lwprun, errno_mask_and_descriptors_are_the_programs)
{
	ends(0, "-q", VICTIM, "untouched");
}

Test(lwprun, a_signal_from_another_process_is_passed_on)
{
	ends(0, "-q", VICTIM, "signal");
}

/* ---- Nothing is lost ------------------------------------------------------------------------ */

Test(lwprun, every_thread_has_its_own_records)
{
	uint64_t seen = 0;

	ends(0, "-q", VICTIM, "threads");
	cr_expect(eq(u32, run.nr_threads, 9));
	/* 100 + 200 + ... + 800 */
	cr_expect(eq(u64, run.records, 3600));
	for (uint32_t i = 0; i < run.nr_threads; i++) {
		unsigned int number;

		cr_expect(eq(u64, run.threads[i].records, run.threads[i].end_records));
		cr_expect(eq(u32, run.threads[i].flags, LWPDATA_THREAD_FLUSHED));
		if (sscanf(run.threads[i].comm, "thread-%u", &number) != 1)
			continue;
		cr_expect(eq(u64, run.threads[i].records, 100 * (number + 1)));
		seen |= 1u << number;
	}
	cr_expect(eq(u64, seen, 0xff));
}

Test(lwprun, a_full_ring_loses_records_but_not_their_number)
{
	/* 64 records of 32 bytes. */
	lwprun("-q", "-einstructions:9", "-m", "2048", VICTIM, "records", "300000", NULL);
	cr_expect(eq(u64, run.records + run.missed, 300000));
	cr_expect(gt(u64, run.missed, 0));
	cr_expect(ge(u64, run.records, 63));
	cr_expect(eq(u64, run.stats.rings_filled, 1));
}

Test(lwprun, a_million_records_pass_through)
{
	lwprun("-q", "-einstructions:9", "-m", "8M", VICTIM, "records", "1200000", NULL);
	cr_expect(eq(u64, run.records + run.missed, 1200000));
	/* All but the last ring's worth can only be there if it was emptied meanwhile. */
	cr_expect(ge(u64, run.records, 262143));
}

static void expect_thinned(const char *event)
{
	uint64_t stands_for;

	lwprun("-q", event, "-m", "8M", VICTIM, "records", "1200000", NULL);
	stands_for = run.records << run.kept_bits;
	cr_expect(eq(u64, run.threads[0].end_records + run.missed, 1200000));
	cr_expect(ge(u64, run.records, 9999));
	cr_expect(le(u64, run.records, 20001));
	cr_expect(lt(u64, stands_for, run.threads[0].end_records + (1ull << run.kept_bits)));
	cr_expect(gt(u64, stands_for + (1ull << run.kept_bits), run.threads[0].end_records));
}

Test(lwprun, without_an_interval_some_10000_samples_are_kept)
{
	expect_thinned("--no-follow"); /* no event either */
	expect_thinned("--event=instructions");
}

Test(lwprun, all_values_of_the_program_are_kept)
{
	setenv("FAKE_LWP_VALUES", "yes", 1);
	lwprun("-q", "--event=values", "-m", "8M", VICTIM, "records", "30000", NULL);
	cr_expect(eq(u64, run.records, 30000));
}

Test(lwprun, a_crash_loses_nothing)
{
	ends(128 + SIGSEGV, "-q", VICTIM, "records", "500", "crash");
	cr_expect(eq(u64, run.records, 500));
	cr_expect(eq(u32, run.threads[0].flags, 0));
}

static void expect_flushed(const char *how)
{
	ends(5, "-q", VICTIM, "records", "500", how);
	cr_expect(eq(u64, run.records, 500));
	cr_expect(eq(u32, run.threads[0].flags, LWPDATA_THREAD_FLUSHED));
}

Test(lwprun, quick_exit_is_flushed)
{
	expect_flushed("quick-exit");
	expect_flushed("exit-at-once");
}

Test(lwprun, slots_are_used_again)
{
	ends(0, "-q", "--max-threads=3", VICTIM, "many", "60");
	cr_expect(eq(u32, run.nr_threads, 61));
	cr_expect(eq(u64, run.records, 6000));
	cr_expect(eq(u64, run.stats.threads_no_slot, 0));
}

Test(lwprun, threads_beyond_the_maximum_are_counted)
{
	ends(0, "-q", "--max-threads=1", VICTIM, "threads");
	cr_expect(eq(u64, run.stats.threads_no_slot, 8));
	cr_expect(eq(u32, run.nr_threads, 1));
}

Test(lwprun, a_context_that_went_is_counted)
{
	lwprun("-q", VICTIM, "evict", NULL);
	cr_expect(eq(u64, run.stats.contexts_lost, 1));
	cr_expect(eq(u32, run.threads[0].flags, LWPDATA_THREAD_LOST));
	cr_expect(eq(u64, run.records, 3));
}

Test(lwprun, a_program_that_uses_lwp_itself_is_not_evicted)
{
	lwprun(VICTIM, "own", NULL);
	cr_expect(eq(u64, run.stats.contexts_lost, 0));
	cr_expect(eq(u32, run.threads[0].flags, LWPDATA_THREAD_LOST | LWPDATA_THREAD_OTHER));
	cr_expect(strstr(run.errors, "use LWP themselves") != NULL, "%s", run.errors);
}

Test(lwprun, threads_that_live_at_exit_have_their_last_names)
{
	lwprun("-q", VICTIM, "late-name", NULL);
	cr_assert(eq(u32, run.nr_threads, 2));
	cr_expect(eq(str, run.threads[1].comm, (char *)"late"));
}

/* Neither the ring nor the buffer before the file fills. */
Test(lwprun, live_records_are_in_the_file_while_the_program_runs)
{
	ends(0, "-q", "--live=10ms", VICTIM, "live", data_path);
	cr_expect(eq(u64, run.records, 10));
	cr_expect(eq(u64, run.threads[0].end_records, 10));
}

/* ---- What data addresses lie in -------------------------------------------------------------- */

Test(lwprun, mappings_of_data_are_recorded_with_data_cache_misses)
{
	ends(0, "-q", "--event=dcache-misses:1009", VICTIM, "grow");
	cr_expect(eq(u32, run.stacks, 1));
	/* Read-only data, relocated data, data; a linker may join two of these. */
	cr_expect(ge(u32, run.program_data, 2));
	/* As it was at the start and, since it has grown to another end, at the end. */
	cr_expect(ge(u32, run.heaps, 2));
	cr_expect(ge(u32, run.data_unmaps, 1));
}

Test(lwprun, mappings_of_data_are_seen_a_last_time_before_exec)
{
	ends(0, "-q", "--event=dcache-misses:1009", VICTIM, "grow", "exec");
	cr_expect(eq(u32, run.nr_processes, 2));
	/* The first program's at its start and at its end, the second's. */
	cr_expect(ge(u32, run.heaps, 3));
}

Test(lwprun, mappings_of_data_are_not_recorded_without_data_cache_misses)
{
	ends(0, "-q", "--event=instructions:1009", VICTIM, "grow");
	cr_expect(eq(u32, run.data_maps, 0));
	cr_expect(eq(u32, run.data_unmaps, 0));
}

/* ---- Processes ------------------------------------------------------------------------------ */

Test(lwprun, a_fork_child_has_its_own_ring)
{
	ends(3, "-q", VICTIM, "fork");
	cr_assert(eq(u32, run.nr_processes, 2));
	cr_expect(eq(u32, run.processes[1].parent, 0));
	cr_expect(eq(u32, run.processes[1].origin, LWPDATA_BY_FORK));
	cr_expect(eq(u64, run.processes[0].records, 10));
	cr_expect(eq(u64, run.processes[1].records, 20));
	cr_expect(eq(u32, run.processes[1].how, LWPDATA_END_EXIT));
}

Test(lwprun, a_clone_with_its_own_memory_has_its_own_ring)
{
	ends(6, "-q", VICTIM, "clone");
	cr_assert(eq(u32, run.nr_processes, 2));
	cr_expect(eq(u64, run.processes[1].records, 40));
}

Test(lwprun, no_follow_is_the_first_process_only)
{
	ends(3, "-q", "-n", VICTIM, "fork");
	cr_expect(eq(u32, run.nr_processes, 1));
	cr_expect(eq(u64, run.records, 10));
	lwprun("-q", "-n", VICTIM, "spawn", "30", NULL);
	cr_expect(eq(u32, run.nr_processes, 1));
}

Test(lwprun, exec_starts_anew_and_a_failed_one_goes_on)
{
	ends(0, "-q", VICTIM, "exec", "30");
	cr_assert(eq(u32, run.nr_processes, 2));
	cr_expect(eq(u32, run.processes[0].how, LWPDATA_END_EXEC));
	cr_expect(eq(u32, run.processes[1].origin, LWPDATA_BY_EXEC));
	cr_expect(eq(u32, run.processes[1].pid, run.processes[0].pid));
	cr_expect(eq(u64, run.processes[0].records, 11));
	cr_expect(eq(u64, run.processes[1].records, 30));
	cr_expect(eq(u32, run.threads[0].flags, LWPDATA_THREAD_FLUSHED));
}

Test(lwprun, a_program_that_loads_slowly_is_followed)
{
	setenv("FAKE_LWP_DELAY", "yes", 1);
	lwprun("-q", VICTIM, "exec", "30", NULL);
	cr_assert(eq(u32, run.nr_processes, 2));
	cr_expect(eq(u32, run.processes[0].how, LWPDATA_END_EXEC));
	cr_expect(eq(u64, run.processes[0].records, 11));
	cr_expect(eq(u64, run.processes[1].records, 30));
	cr_expect(eq(u64, run.stats.execs_unfollowed, 0));
}

/* The first thread's /proc/PID/maps is empty then. */
Test(lwprun, a_process_lives_on_without_its_first_thread)
{
	ends(0, "-q", VICTIM, "leaderless");
	cr_expect(eq(u32, run.nr_processes, 1));
	cr_expect(eq(u64, run.records, 100 + 50));
	cr_expect(eq(u32, run.processes[0].how, LWPDATA_END_EXIT));
	cr_expect(eq(u64, run.stats.execs_unfollowed, 0));
}

Test(lwprun, exec_with_another_environment_is_followed)
{
	lwprun("-q", VICTIM, "exec-clean", "30", NULL);
	cr_expect(eq(u32, run.nr_processes, 2));
}

Test(lwprun, a_vfork_child_leaves_its_parent_alone)
{
	ends(0, "-q", VICTIM, "vfork", "30");
	cr_assert(eq(u32, run.nr_processes, 2));
	cr_expect(eq(u64, run.processes[0].records, 7));
	cr_expect(eq(u32, run.threads[0].flags, LWPDATA_THREAD_FLUSHED));
	cr_expect(eq(u64, run.processes[1].records, 30));
}

Test(lwprun, spawned_programs_are_followed)
{
	lwprun("-q", VICTIM, "spawn", "30", NULL);
	cr_expect(eq(u32, run.nr_processes, 2));
}

Test(lwprun, shells_and_what_they_run_are_followed)
{
	ends(4, "-q", VICTIM, "system", "30");
	/* The victim, the shell, a fork of the shell unless it used vfork, the victim again. */
	cr_expect(ge(u32, run.nr_processes, 3));
	cr_expect(eq(u64, run.records, 30));
}

Test(lwprun, wait_waits_for_all)
{
	ends(0, "-q", "--wait", VICTIM, "orphan");
	cr_expect(eq(u64, run.records, 77));
}

/* It is spawned when its parent ends, and asks for a slot much later. */
Test(lwprun, wait_waits_for_programs_that_load_slowly)
{
	setenv("FAKE_LWP_DELAY", "yes", 1);
	ends(0, "-q", "--wait", "sh", "-c", "\"$0\" spawn 30 leave", VICTIM);
	cr_expect(eq(u64, run.records, 30));
}

Test(lwprun, what_still_runs_at_the_end_is_said)
{
	unsigned int running = 0;

	ends(0, "-q", VICTIM, "orphan");
	for (uint32_t i = 0; i < run.nr_processes; i++)
		running += run.processes[i].how == LWPDATA_END_RUNNING;
	cr_expect(eq(u32, running, 1));
}

Test(lwprun, a_program_that_cannot_be_followed_is_counted)
{
	ends(0, "-q", VICTIM, "static", getenv("STATIC_PROGRAM"));
	cr_expect(eq(u64, run.stats.execs_unfollowed, 1));
	cr_expect(eq(u32, run.processes[0].how, LWPDATA_END_UNFOLLOWED));
	cr_expect(eq(u64, run.records, 9));
	/* Also if lwprun looks at it while it runs. */
	lwprun("-q", VICTIM, "static", getenv("STATIC_PROGRAM"), "slowly", NULL);
	cr_expect(eq(u64, run.stats.execs_unfollowed, 1));
	cr_expect(eq(u32, run.processes[0].how, LWPDATA_END_UNFOLLOWED));
}

/* ---- Mappings ------------------------------------------------------------------------------- */

static char object_paths[256][512];
static char order[16]; /* A, B: first or second plugin mapped; a, b: unmapped; r: records */
static size_t order_used;
static uint64_t plugin_start[2];

static int plugin_of(uint32_t object)
{
	if (object == LWPDATA_NONE)
		return -1;
	if (!strcmp(object_paths[object], getenv("PLUGIN_A")))
		return 0;
	return strcmp(object_paths[object], getenv("PLUGIN_B")) ? -1 : 1;
}

static void note(char what)
{
	if (order_used < sizeof(order) - 1)
		order[order_used++] = what;
}

static void take_order(const struct lwpdata_section *s)
{
	int plugin;

	if (s->type == LWPDATA_OBJECT) {
		copy_text(object_paths[s->object.id], 512, s->object.path);
		if (strstr(object_paths[s->object.id], "plugin"))
			cr_expect(gt(sz, s->object.build_id.size, 0));
	} else if (s->type == LWPDATA_MAP && (plugin = plugin_of(s->map.object)) >= 0) {
		plugin_start[plugin] = s->map.start;
		note("AB"[plugin]);
	} else if (s->type == LWPDATA_UNMAP) {
		for (plugin = 0; plugin < 2; plugin++) {
			if (plugin_start[plugin] != s->unmap.start)
				continue;
			plugin_start[plugin] = 0;
			note("ab"[plugin]);
			break;
		}
	} else if (s->type == LWPDATA_RECORDS) {
		note('r');
	}
}

Test(lwprun, libraries_come_and_go_in_order)
{
	ends(0, "-q", VICTIM, "dlopen", getenv("PLUGIN_A"), getenv("PLUGIN_B"));
	cr_expect(eq(u64, run.records, 11 + 22));
	for_sections(take_order);
	/* Noticed before or after its records were taken, but both before the library goes. */
	cr_expect(strcspn(order, "r") < strcspn(order, "a"), "%s", order);
	cr_expect(strspn(strchr(order, 'a'), "aB") < strcspn(strchr(order, 'a'), "b"), "%s", order);
	for (char *r; (r = strchr(order, 'r'));)
		memmove(r, r + 1, strlen(r));
	cr_expect(eq(str, order, (char *)"AaBb"));
}

static bool have_perf_map, have_vdso;

static void take_copies(const struct lwpdata_section *s)
{
	if (s->type == LWPDATA_PERF_MAP)
		have_perf_map = s->perf_map.text.size == 17 &&
				!memcmp(s->perf_map.text.data, "1000 10 compiled\n", 17);
	if (s->type == LWPDATA_IMAGE)
		have_vdso = s->image.bytes.size > 4 && !memcmp(s->image.bytes.data, "\177ELF", 4);
}

Test(lwprun, what_goes_with_the_guest_is_copied)
{
	char path[64];

	lwprun("-q", VICTIM, "jit", NULL);
	for_sections(take_copies);
	cr_expect(have_perf_map);
	cr_expect(have_vdso);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", run.processes[0].pid);
	cr_expect(eq(int, unlink(path), 0));
}

/* ---- Windows -------------------------------------------------------------------------------- */

static void need_userfaultfd(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		cr_skip("no userfaultfd here");
	close(fd);
}

/* 30 times as much as the ring holds; the program cannot know that it waits. */
Test(lwprun, for_a_complete_trace_the_program_waits)
{
	need_userfaultfd();
	ends(7, "-q", "--windows=all", "-m", "32K", VICTIM, "records", "30000", "7");
	cr_expect(eq(u64, run.threads[0].missed, 0));
	/* The fake's records are no branches: they are no part of a window. */
	cr_expect(eq(u64, run.records, 30000));
	cr_expect(eq(u64, run.threads[0].end_records, 30000));
}

Test(lwprun, threads_and_children_of_a_complete_trace_wait_each_for_itself)
{
	need_userfaultfd();
	lwprun("-q", "--windows=all", "-m", "32K", VICTIM, "threads", NULL);
	cr_expect(eq(u64, run.records, 100 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8)));
	cr_expect(eq(u64, run.stats.rings_filled, 0));
	lwprun("-q", "--windows=all", "-m", "32K", VICTIM, "fork", NULL);
	cr_expect(eq(u64, run.stats.rings_filled, 0));
	cr_expect(eq(u64, run.stats.threads_no_memory, 0));
}

/* One at each part of the ring: where the thread is when it goes on behind 128 records, with its callers. */
static void expect_stacks(uint32_t thread)
{
	uint64_t records = run.threads[thread].records;

	cr_expect(eq(u64, run.threads[thread].stacks, records ? (records - 1) / 128 : 0));
	cr_expect(eq(u64, run.threads[thread].weight, 128 * run.threads[thread].stacks));
	if (run.threads[thread].stacks)
		cr_expect(ge(u64, run.threads[thread].least, 3));
}

Test(lwprun, each_128th_record_has_a_stack)
{
	need_userfaultfd();
	ends(7, "-q", "--stacks", VICTIM, "records", "30000", "7");
	cr_expect(eq(u64, run.records, 30000));
	cr_expect(eq(u64, run.missed, 0));
	cr_expect(eq(u64, run.threads[0].stacks, 234));
	expect_stacks(0);
	lwprun("--stacks", VICTIM, "records", "300", NULL);
	cr_expect(strstr(run.errors, "lwprun: 2 stacks\n") != NULL, "%s", run.errors);
}

Test(lwprun, each_thread_and_child_has_its_own_stacks)
{
	need_userfaultfd();
	ends(0, "-q", "--stacks", VICTIM, "threads");
	cr_expect(eq(u64, run.records, 3600));
	for (uint32_t i = 0; i < run.nr_threads; i++)
		expect_stacks(i);
	lwprun("-q", "--stacks", VICTIM, "fork", NULL);
	cr_expect(eq(u64, run.stats.rings_filled, 0));
	for (uint32_t i = 0; i < run.nr_threads; i++)
		expect_stacks(i);
}

Test(lwprun, a_program_whose_stacks_are_taken_ends_as_without)
{
	need_userfaultfd();
	ends(0, "-q", "--stacks", VICTIM, "untouched");
	ends(0, "-q", "--stacks", VICTIM, "signal");
	ends(128 + SIGSEGV, "-q", "--stacks", VICTIM, "records", "500", "crash");
	cr_expect(eq(u64, run.records, 500));
}

Test(lwprun, a_trace_is_complete_only_if_nothing_is_missing)
{
	static const char said[] = "the trace is complete";

	need_userfaultfd();
	lwprun("--windows=all", VICTIM, "records", "10", NULL);
	cr_expect(strstr(run.errors, said) != NULL, "%s", run.errors);
	lwprun("--windows=all", VICTIM, "evict", NULL);
	cr_expect(eq(u64, run.stats.contexts_lost, 1));
	cr_expect(strstr(run.errors, said) == NULL, "%s", run.errors);
	lwprun("--windows=all", VICTIM, "own", NULL);
	cr_expect(strstr(run.errors, said) == NULL, "%s", run.errors);
}
