/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile that grows while it is read: lwprun still writes it. */
#ifndef LWPCTL_FOLLOW_H
#define LWPCTL_FOLLOW_H

#include "profile.h"

struct follow {
	struct profile profile;
	struct lwpdata_reader reader;
	char *path; /* the file itself, which may have a temporary name */
	int fd; /* -1: it was not there yet */
	bool begun; /* its first section was read */
	bool complete;
};

/*
 * follow_open - open the profile @path, or what lwprun is writing that will be @path, if that is newer
 *
 * Returns 1; 0 if there is neither; -1 after one line. follow_close() in any case.
 */
int follow_open(struct follow *f, const char *path);

/* Reads what has come since. The number of new sections, or -1 after one line. */
int follow_more(struct follow *f);

void follow_close(struct follow *f);

#endif
