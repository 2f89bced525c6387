// SPDX-License-Identifier: GPL-2.0-or-later
/* lwpctl report --open: one file is served on the loopback address, to one web application. */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "export.h"
#include "lwpctl.h"
#include "memory.h"
#include "open.h"

extern char **environ;

struct served {
	const char *origin; /* of the application */
	char path[64];
	char *json;
	size_t size;
};

static bool write_json(struct served *served, struct view *view, const struct view_options *options,
		       uint32_t event_id)
{
	FILE *out = must(open_memstream(&served->json, &served->size));
	struct export e = { .out = out, .view = view, .options = options, .event_id = event_id };
	bool good = export_firefox(&e);

	return !fclose(out) && good;
}

/* A browser asks first whether a page of that origin may have what lies on this machine. */
static struct MHD_Response *response(const struct served *served, const char *method,
				     const char *url, unsigned int *status)
{
	bool ours = !strcmp(url, served->path), get = !strcmp(method, MHD_HTTP_METHOD_GET);
	bool asks = !strcmp(method, MHD_HTTP_METHOD_OPTIONS);
	struct MHD_Response *r;

	*status = !ours ? MHD_HTTP_NOT_FOUND :
		  get	? MHD_HTTP_OK :
		  asks	? MHD_HTTP_NO_CONTENT :
			  MHD_HTTP_METHOD_NOT_ALLOWED;
	r = MHD_create_response_from_buffer(ours && get ? served->size : 0,
					    ours && get ? served->json : NULL,
					    MHD_RESPMEM_PERSISTENT);
	if (!r || !ours)
		return r;
	MHD_add_response_header(r, "Access-Control-Allow-Origin", served->origin);
	MHD_add_response_header(r, "Access-Control-Allow-Private-Network", "true");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Content-Type", "application/json");
	return r;
}

static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **state)
{
	unsigned int status;
	struct MHD_Response *r = response(arg, method, url, &status);
	enum MHD_Result queued = r ? MHD_queue_response(connection, status, r) : MHD_NO;

	if (r)
		MHD_destroy_response(r);
	return queued;
}

static struct MHD_Daemon *serve(struct served *served)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	uint64_t name[2];

	if (getrandom(name, sizeof(name), 0) != sizeof(name))
		return NULL;
	snprintf(served->path, sizeof(served->path), "/%016llx%016llx/profile.json",
		 (unsigned long long)name[0], (unsigned long long)name[1]);
	return MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, served,
				MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_END);
}

/* Text as part of an address. */
static char *escaped(const char *text)
{
	char *to = must(malloc(3 * strlen(text) + 1)), *end = to;

	for (; *text; text++)
		if (strchr(":/", *text))
			end += sprintf(end, "%%%02X", (unsigned char)*text);
		else
			*end++ = *text;
	*end = '\0';
	return to;
}

/* It outlives the Ctrl-C that ends lwpctl: no signal is blocked in it, and its process group is its own. */
static void start_browser(const char *address)
{
	const char *browser = getenv("BROWSER");
	char *words[] = { (char *)(browser ?: "xdg-open"), (char *)address, NULL };
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	printf("%s\n", address);
	fflush(stdout);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	if (posix_spawnp(&pid, words[0], NULL, &attributes, words, environ))
		fprintf(stderr, "lwpctl: no %s: open this address in a browser\n", words[0]);
	posix_spawnattr_destroy(&attributes);
	fputs("lwpctl: Ctrl-C ends it\n", stderr);
}

bool open_profile(const char *profiler, struct view *view, const struct view_options *options,
		  uint32_t event_id)
{
	struct served served = { .origin = profiler };
	struct MHD_Daemon *daemon;
	char *source, *name, *address;
	sigset_t ends;
	int number;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	if (!write_json(&served, view, options, event_id))
		return false;
	daemon = serve(&served);
	if (!daemon)
		return refuse("cannot serve the profile on this machine: %s", strerror(errno));
	source = formatted("http://127.0.0.1:%u%s",
			   MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port,
			   served.path);
	name = escaped(source);
	address = formatted("%s/from-url/%s", profiler, name);
	start_browser(address);
	sigwait(&ends, &number);
	MHD_stop_daemon(daemon);
	free(address);
	free(name);
	free(source);
	free(served.json);
	return true;
}
