// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * lwprun: profile a program with LWP, from inside a guest (or on a processor that has it). It makes the
 * pool, runs the program with liblwprun.so preloaded, empties the rings until the program has ended,
 * and leaves as the program did. What preloads nothing, and what runs already, is stopped by ptrace(2).
 */
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "processor.h"
#include "inject.h"
#include "lwprun_options.h"
#include "program.h"
#include "supervise.h"

#define LIBRARY "liblwprun.so"

static const int forwarded_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
#define NR_FORWARDED (sizeof(forwarded_signals) / sizeof(forwarded_signals[0]))

/* For signal handlers. */
static volatile pid_t program_pid;
static volatile sig_atomic_t interrupted; /* with --pid: what ends the profile */
static uint32_t *bell;

#define die(status, format, ...) \
	(fprintf(stderr, "lwprun: " format "\n", ##__VA_ARGS__), exit(status))

/* ---- Signals -------------------------------------------------------------------------------- */

/* Ring our own bell: a round that is about to sleep sees another value and does not. */
static void child_changed(int sig)
{
	__atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
}

/* What the terminal sends goes to the program as well without us. */
static void forward(int sig, siginfo_t *info, void *context)
{
	if (info->si_code != SI_KERNEL && program_pid > 0)
		kill(program_pid, sig);
}

/* Signals wait until they are caught, so that none is lost before there is a program. */
static void hold_signals(sigset_t *old)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, old);
}

static void interrupt(int sig, siginfo_t *info, void *context)
{
	interrupted = 1;
	child_changed(sig);
}

/* Threads that are traced stop all the time. */
static void catch_signals(bool attached, bool traced)
{
	struct sigaction child = { .sa_handler = child_changed,
				   .sa_flags = SA_RESTART | (traced ? 0 : SA_NOCLDSTOP) };
	struct sigaction other = { .sa_sigaction = attached ? interrupt : forward,
				   .sa_flags = SA_RESTART | SA_SIGINFO };

	sigaction(SIGCHLD, &child, NULL);
	for (size_t i = 0; i < NR_FORWARDED; i++) {
		struct sigaction old;

		/* nohup and its like ask for this. */
		if (sigaction(forwarded_signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(forwarded_signals[i], &other, NULL);
	}
}

/* ---- The pool ------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* A limit on the size of files is meant for files. */
static int set_size(int fd, uint64_t size)
{
	struct rlimit limit, none;
	int result;

	getrlimit(RLIMIT_FSIZE, &limit);
	none = (struct rlimit){ .rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max };
	setrlimit(RLIMIT_FSIZE, &none);
	result = ftruncate(fd, (off_t)size);
	setrlimit(RLIMIT_FSIZE, &limit);
	return result;
}

/* Returns the pool and its descriptor, which stays open: programs open it through /proc. */
static struct pool *create_pool(const struct pool *description, uint32_t nr_slots, int *fd)
{
	uint64_t slots = round_up(sizeof(struct pool), POOL_PAGE);
	uint64_t areas = round_up(slots + nr_slots * sizeof(struct pool_slot), POOL_PAGE);
	uint64_t area = POOL_PAGE + round_up(description->ring_size, POOL_PAGE);
	uint64_t size = areas + nr_slots * area;
	struct pool *pool;

	*fd = memfd_create("lwprun", MFD_CLOEXEC);
	if (*fd < 0 || set_size(*fd, size) < 0)
		die(LWPRUN_FAILED, "cannot make shared memory: %s", strerror(errno));
	pool = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *fd, 0);
	if (pool == MAP_FAILED)
		die(LWPRUN_FAILED,
		    "cannot map %llu bytes for rings (--max-threads, --ring-size): %s",
		    (unsigned long long)size, strerror(errno));
	*pool = *description;
	pool->magic = POOL_MAGIC;
	pool->version = POOL_VERSION;
	pool->nr_slots = nr_slots;
	pool->size = size;
	pool->slots_offset = slots;
	pool->areas_offset = areas;
	pool->area_size = area;
	pool->lwprun_pid = getpid();
	return pool;
}

/* ---- The program ---------------------------------------------------------------------------- */

/* liblwprun.so: beside lwprun in a build tree, in the library directory when installed. */
static void find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "", LWPRUN_LIBRARY_DIR };
	char self[PATH_MAX], candidate[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n < 0)
		die(LWPRUN_FAILED, "cannot read /proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/" LIBRARY, self, places[i]);
		if (realpath(candidate, path))
			break;
		path[0] = '\0';
	}
	if (!path[0])
		die(LWPRUN_FAILED, LIBRARY " is missing: neither in %s nor in %s/%s", self, self,
		    LWPRUN_LIBRARY_DIR);
	/* The loader splits LD_PRELOAD there. */
	if (strpbrk(path, " :"))
		die(LWPRUN_FAILED,
		    "%s: the loader cannot preload from a path with a space or colon; "
		    "move or install it elsewhere",
		    path);
}

/* What tells a program where the pool is, as "NAME=value". */
static char *pool_assignment(int pool_fd)
{
	char *assignment;

	if (asprintf(&assignment, POOL_ENV "=/proc/%d/fd/%d", getpid(), pool_fd) < 0)
		die(LWPRUN_FAILED, "%s", strerror(errno));
	return assignment;
}

static void set_environment(char *assignment, const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *value;

	putenv(assignment);
	if (asprintf(&value, "%s%s%s", old ?: "", old && *old ? ":" : "", library) < 0)
		die(LWPRUN_FAILED, "%s", strerror(errno));
	setenv("LD_PRELOAD", value, 1);
	free(value);
}

/* A child's: wait until it may exec. */
static void wait_for_word(const int pipe[2])
{
	char word;

	close(pipe[1]);
	if (read(pipe[0], &word, 1) != 1)
		_exit(LWPRUN_FAILED);
}

/* The child waits for a word, so that the injector has it before it execs. */
static bool give_word(const int pipe[2], struct injector *injector, pid_t pid)
{
	bool followed = inject_follow(injector, pid) && write(pipe[1], "", 1) == 1;
	int error = errno;

	close(pipe[0]);
	close(pipe[1]);
	errno = error;
	return followed;
}

/* Run it; an exec that fails is told through a pipe that exec closes. An injector: without a library. */
static pid_t start_program(const struct options *options, const char *path, char *assignment,
			   const char *library, struct injector *injector, const sigset_t *signals)
{
	int report[2], word[2], error = 0;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0 || pipe2(word, O_CLOEXEC) < 0)
		die(LWPRUN_FAILED, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		die(LWPRUN_FAILED, "cannot fork: %s", strerror(errno));
	if (pid == 0) {
		if (injector)
			wait_for_word(word);
		else
			set_environment(assignment, library);
		sigprocmask(SIG_SETMASK, signals, NULL);
		execv(path, options->argv);
		error = errno;
		if (write(report[1], &error, sizeof(error)) < 0)
			_exit(LWPRUN_USAGE);
		_exit(LWPRUN_FAILED);
	}
	close(report[1]);
	if (injector && !give_word(word, injector, pid))
		error = errno;
	if (error || read(report[0], &error, sizeof(error)) == sizeof(error)) {
		waitpid(pid, NULL, 0);
		errno = error;
		pid = -1;
	}
	close(report[0]);
	return pid;
}

/* ---- The profile ---------------------------------------------------------------------------- */

static void write_config(struct lwpdata_writer *writer, const struct options *options,
			 const struct leaf *leaf, const struct pool *pool)
{
	struct lwpdata_bytes *args = calloc((size_t)options->argc + 1, sizeof(*args));
	struct lwpdata_config config = {
		.revision = leaf->rev->id,
		.nr_events = options->nr_events,
		.leaf_eax = leaf->regs.eax,
		.leaf_ebx = leaf->regs.ebx,
		.leaf_ecx = leaf->regs.ecx,
		.leaf_edx = leaf->regs.edx,
		.ring_size = pool->ring_size,
		.random = options->random,
		.tool = lwpdata_text("lwprun " LWPRUN_VERSION),
		.nr_args = (uint32_t)options->argc,
		.args = args,
	};
	struct utsname system;
	struct timespec now;

	if (!args)
		die(LWPRUN_FAILED, "%s", strerror(errno));
	clock_gettime(CLOCK_REALTIME, &now);
	config.start_realtime = (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
	config.start_monotonic = rounds_now();
	memcpy(&config.flags, pool->template, sizeof(config.flags));
	uname(&system);
	config.kernel = lwpdata_text(system.release);
	for (uint32_t i = 0; i < options->nr_events; i++) {
		config.events[i].event_id = leaf->rev->event_id[options->events[i].event_id];
		config.events[i].interval = pool->interval[i];
	}
	for (int i = 0; i < options->argc; i++)
		args[i] = lwpdata_text(options->argv[i]);
	lwpdata_write_config(writer, &config);
	free(args);
}

/* ---- All together --------------------------------------------------------------------------- */

/* Has the program ended? */
static bool has_ended(struct injector *injector, int *status)
{
	if (injector)
		return inject_events(injector, program_pid, status) || interrupted;
	return waitpid(program_pid, status, WNOHANG) == program_pid;
}

/* Until the program has ended (and, if so asked, all that came of it). Returns its wait status. */
static int supervise(struct supervisor *s, const struct options *options, const char *assignment,
		     struct injector *injector)
{
	bool ended = false;
	int status = 0;

	while (!ended || (options->wait && !interrupted && supervise_busy(s, assignment))) {
		uint32_t rung = __atomic_load_n(&s->pool->bell, __ATOMIC_SEQ_CST);

		supervise_round(s);
		if (!ended && has_ended(injector, &status))
			ended = true;
		else if (ended && injector)
			inject_events(injector, 0, &(int){ 0 });
		if (!ended || options->wait)
			supervise_sleep(s, rung);
	}
	return status;
}

/* The last records, and LWP off where it was switched on from outside. */
static void finish(struct supervisor *s, struct injector *injector)
{
	if (injector)
		inject_stop(injector);
	supervise_finish(s);
	if (injector)
		inject_detach(injector);
	inject_free(injector);
}

/* Every branch of every thread is in the file. What is missing has a line of its own. */
static bool trace_complete(const struct supervisor *s)
{
	const struct lwpdata_stats *stats = &s->stats;

	return s->windows == WINDOWS_ALL && !stats->rings_filled && !stats->rings_damaged &&
	       !stats->contexts_lost && !stats->threads_no_slot && !stats->threads_no_memory &&
	       !stats->processes_refused && !stats->execs_unfollowed && !s->nr_others;
}

/* A line of what is missing, if there is any. */
static void tell(const char *before, uint64_t n, const char *after)
{
	if (n)
		fprintf(stderr, "lwprun: %s%llu %s\n", before, (unsigned long long)n, after);
}

static void summarize_windows(const struct supervisor *s)
{
	fprintf(stderr, "lwprun: %llu windows of %llu branches, which stand for %llu%s\n",
		(unsigned long long)s->nr_windows, (unsigned long long)s->window_branches,
		(unsigned long long)s->window_weight,
		trace_complete(s) ? ": the trace is complete" : "");
	tell("branches were missed: ", s->stats.rings_filled,
	     "rings filled up; try a larger --ring-size");
}

static void summarize(const struct supervisor *s, uint64_t records)
{
	const struct lwpdata_stats *stats = &s->stats;

	fprintf(stderr, "lwprun: %llu record%s of %u thread%s in %u program%s\n",
		(unsigned long long)records, records == 1 ? "" : "s", s->nr_threads,
		s->nr_threads == 1 ? "" : "s", s->nr_processes, s->nr_processes == 1 ? "" : "s");
	if (s->windows)
		summarize_windows(s);
	else
		tell("", stats->rings_filled,
		     "rings filled up and missed events; try a larger --ring-size or interval");
	tell("", s->nr_stacks, "stacks");
	tell("", stats->threads_no_slot, "threads not profiled; try a larger --max-threads");
	tell("", stats->threads_no_memory, "threads not profiled: no memory for their rings");
	tell("", stats->processes_refused, "processes not profiled: in another name space");
	tell("", stats->execs_unfollowed,
	     "times a program ran that cannot be profiled (static, set-user-ID ...)");
	tell("", s->nr_others, "threads use LWP themselves and were not profiled from then on");
	tell("LWP went off by itself in ", stats->contexts_lost, "threads");
}

/* A program that is there and can be profiled, or the end. */
static char *checked_program(const struct options *options, bool *preloads)
{
	char *path = program_find(options->argv[0]);
	char why[2 * PATH_MAX];

	if (!path)
		die(LWPRUN_FAILED, "cannot run '%s': %s", options->argv[0], strerror(errno));
	if (!program_check(path, preloads, why, sizeof(why)))
		die(LWPRUN_FAILED, "%s", why);
	if (!*preloads && (options->windows == WINDOWS_ALL || options->stacks))
		die(LWPRUN_FAILED,
		    "%s: nothing can be preloaded into it, as %s wants; link it against "
		    "liblwp (lwp(3)), with which it profiles itself",
		    path, options->stacks ? "--stacks" : "--windows=all");
	return path;
}

/* The words of a process that runs. */
static void name_process(struct options *options)
{
	static char text[4096];
	static char *words[64];
	char path[64];
	size_t used = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", options->pid);
	file = fopen(path, "re");
	if (!file)
		die(LWPRUN_FAILED, "process %d: %s", options->pid, strerror(errno));
	used = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	for (char *word = text; word < text + used && options->argc < 63; word += strlen(word) + 1)
		words[options->argc++] = word;
	options->argv = words;
}

/* Starts the program, or attaches to the process. On a failure it ends. */
static void begin(struct options *options, const char *path, char *assignment, const char *library,
		  struct injector *injector, struct lwpdata_writer *writer)
{
	char why[256];
	sigset_t signals;
	int error;

	hold_signals(&signals);
	if (options->pid) {
		program_pid = options->pid;
		if (!inject_attach(injector, options->pid, why, sizeof(why))) {
			lwpdata_abandon(writer);
			die(LWPRUN_FAILED, "%s", why);
		}
	} else {
		program_pid = start_program(options, path, assignment, library, injector, &signals);
		if (program_pid < 0) {
			error = errno;
			lwpdata_abandon(writer);
			die(LWPRUN_FAILED, "cannot run '%s': %s", path, strerror(error));
		}
	}
	catch_signals(options->pid, injector != NULL);
	sigprocmask(SIG_SETMASK, &signals, NULL);
}

int main(int argc, char **argv)
{
	struct pool description = { 0 };
	char library[PATH_MAX], why[256];
	struct lwpdata_writer *writer;
	const char *reason;
	struct options options;
	struct supervisor s;
	struct injector *injector = NULL;
	struct pool *pool;
	struct leaf leaf;
	struct stat st;
	uint64_t records;
	int pool_fd, status, error;
	char *path = NULL, *assignment;
	bool preloads = false;

	options_parse(&options, argc, argv);
	if (options.pid)
		name_process(&options);
	else
		path = checked_program(&options, &preloads);
	if (!leaf_query(&leaf, &reason))
		die(LWPRUN_SKIPPED, "%s", reason);
	if (!leaf_fill_pool(&leaf, &options, &description, why, sizeof(why)))
		die(LWPRUN_USAGE, "%s", why);
	description.seed = options.seed;
	description.follow = options.follow;
	description.guard = options.windows != WINDOWS_NONE || options.stacks;
	find_library(library);
	elf_version(EV_CURRENT);

	writer = lwpdata_create(options.output);
	if (!writer)
		die(LWPRUN_FAILED, "cannot write '%s': %s", options.output,
		    errno == EINVAL ? "not a regular file" : strerror(errno));
	pool = create_pool(&description, options.max_threads, &pool_fd);
	assignment = pool_assignment(pool_fd);
	bell = &pool->bell;
	write_config(writer, &options, &leaf, pool);
	fstat(pool_fd, &st);
	if (!supervise_init(&s, pool, st.st_ino, &leaf, &options, writer, library)) {
		lwpdata_abandon(writer);
		die(LWPRUN_FAILED, "no memory for the rings of %u threads", pool->nr_slots);
	}

	if (!preloads)
		injector = inject_new(&s, pool_fd, options.follow);
	begin(&options, path, assignment, library, injector, writer);
	free(path);
	s.child = options.pid ? 0 : program_pid;
	status = supervise(&s, &options, assignment, injector);
	finish(&s, injector);
	free(assignment);
	error = thin_finish(&s.thin, writer, options.output, &records);
	if (error)
		die(LWPRUN_FAILED, "cannot write '%s': %s", options.output, strerror(-error));
	if (!options.quiet)
		summarize(&s, records);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
