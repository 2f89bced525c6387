// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines that machines write to one serial port. */
#include "port.h"

#include <string.h>

void port_begin(struct port_lines *port)
{
	port->length = 0;
}

const char *port_take(struct port_lines *port, char byte)
{
	if (byte != '\n') {
		if (port->length < PORT_LINE - 1)
			port->line[port->length++] = byte;
		return NULL;
	}
	port->line[port->length] = '\0';
	port->line[strcspn(port->line, "\r")] = '\0';
	port->length = 0;
	return port->line;
}
