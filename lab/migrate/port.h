/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines that machines write to one serial port, one machine after the other. */
#ifndef LAB_MIGRATE_PORT_H
#define LAB_MIGRATE_PORT_H

#include <stddef.h>

#define PORT_LINE 256

struct port_lines {
	char line[PORT_LINE];
	size_t length;
};

/* A machine that has just been booted: the rest of a line that its predecessor began does not come. */
void port_begin(struct port_lines *port);
/* The next byte. Returns the line that it ends, without CR and LF, until the next call; else NULL. */
const char *port_take(struct port_lines *port, char byte);

#endif
