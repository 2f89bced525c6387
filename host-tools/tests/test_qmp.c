// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading QEMU's answers from a socket that has a timeout, as all that talk to QEMU set one. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "qmp.h"

/* What QEMU says, in pieces: one at each signal, by its handler, so that each has interrupted a reader. */
static const char *const pieces[] = {
	"{\"QMP\": {",
	"}}\n",
	"{\"return\": {}}\n{\"event\": \"STOP\"}\n{\"return\"",
	": 42}\n",
};
static volatile sig_atomic_t next_piece;
static int qemu;

static void say_next(int signal)
{
	const char *piece = pieces[next_piece++];

	if (write(qemu, piece, strlen(piece)) < 0 ||
	    next_piece == sizeof(pieces) / sizeof(pieces[0]))
		setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
}

/* The client's end; QEMU's is `qemu`. */
static int connection(time_t seconds, suseconds_t microseconds)
{
	struct timeval patience = { seconds, microseconds };
	int pair[2];

	cr_assert(zero(int, socketpair(AF_UNIX, SOCK_STREAM, 0, pair)));
	cr_assert(zero(int,
		       setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience))));
	qemu = pair[1];
	return pair[0];
}

Test(qmp, a_signal_loses_no_answer, .timeout = 60)
{
	struct itimerval each_10_ms = { { 0, 10000 }, { 0, 10000 } };
	struct sigaction action = { .sa_handler = say_next };
	json_object *value;
	struct qmp q;
	int fd = connection(30, 0);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &each_10_ms, NULL);
	cr_assert(zero(int, qmp_open(&q, fd)), "%s", q.error);
	value = qmp_call(&q, "anything", NULL);
	cr_assert(ne(ptr, value, NULL), "%s", q.error);
	cr_expect(eq(int, json_object_get_int(value), 42));
	json_object_put(value);
	qmp_close(&q);
}

/* A client that has been greeted, with what QEMU answers after that. */
static struct qmp greeted(int fd, const char *answers)
{
	static const char greeting[] = "{\"QMP\": {}}\n{\"return\": {}}\n";
	struct qmp q;

	cr_assert(eq(sz, (size_t)write(qemu, greeting, strlen(greeting)), strlen(greeting)));
	cr_assert(ge(long, write(qemu, answers, strlen(answers)), 0));
	cr_assert(zero(int, qmp_open(&q, fd)), "%s", q.error);
	return q;
}

Test(qmp, silence_and_an_end_are_told_apart)
{
	struct qmp q = greeted(connection(0, 1000), "");

	cr_expect(eq(ptr, qmp_call(&q, "stop", NULL), NULL));
	cr_expect(eq(str, q.error, (char *)"QMP: stop: QEMU gives no answer"));
	close(qemu);
	/* The socket's end is seen only by who reads: what was written before went to nobody. */
	signal(SIGPIPE, SIG_IGN);
	cr_expect(eq(ptr, qmp_call(&q, "cont", NULL), NULL));
	cr_expect(
		eq(str, q.error, (char *)"QMP: cont: QEMU has ended, or what it says is not QMP"));
	qmp_close(&q);
}

Test(qmp, an_answer_of_another_type_is_none)
{
	static const char *const answers[][2] = {
		{ "{\"return\": null}\n", "QMP: query-cpu-definitions: the answer is nothing" },
		{ "{\"return\": {}}\n", "there is no CPU model 'max'" },
		{ "{\"return\": [5, null, {\"name\": [\"max\"]}]}\n",
		  "there is no CPU model 'max'" },
		{ "{\"error\": {\"desc\": {}}}\n", "QMP: query-cpu-definitions: " },
		{ "{\"return\": [}\n",
		  "QMP: query-cpu-definitions: QEMU has ended, or what it says is not QMP" },
	};

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct qmp q = greeted(connection(1, 0), answers[i][0]);

		cr_expect(not(qmp_has_model(&q, "max")));
		cr_expect(eq(str, q.error, (char *)answers[i][1]));
		qmp_close(&q);
		close(qemu);
	}
}

Test(qmp, statistics_of_another_type_are_none)
{
	struct qmp q =
		greeted(connection(1, 0),
			"{\"return\": [{\"qom-path\": 1}]}\n{\"return\": {\"enabled\": true}}\n"
			"{\"return\": [{\"stats\": {}}, {\"stats\": [{\"value\": 1}, 2]}]}\n");
	char text[16] = "";
	FILE *to = fmemopen(text, sizeof(text), "w");

	cr_expect(zero(int, qmp_lwp_stats(&q, to)), "%s", q.error);
	fclose(to);
	cr_expect(eq(str, text, (char *)""));
	qmp_close(&q);
}

Test(qmp, a_line_without_an_end_is_given_up, .timeout = 60)
{
	static char junk[1 << 16];
	struct qmp q = greeted(connection(1, 0), "");

	memset(junk, ' ', sizeof(junk));
	if (!fork()) {
		signal(SIGPIPE, SIG_DFL);
		while (write(qemu, junk, sizeof(junk)) > 0)
			;
		_exit(0);
	}
	close(qemu);
	cr_expect(eq(ptr, qmp_call(&q, "stop", NULL), NULL));
	cr_expect(
		eq(str, q.error, (char *)"QMP: stop: QEMU has ended, or what it says is not QMP"));
	qmp_close(&q);
}
