/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the host and the guest's init say to each other over one virtio-serial port: frames of a
 * type, a length and that many bytes. Both ends are x86, so integers travel as they lie in memory.
 *
 * A guest that runs the same twice (lab/guest/count1.py) is told FROZEN as its init's argument. It stops itself
 * when all is ready, and goes on with two file systems in its persistent memory: FILES is the root, REQUEST_DIR has
 * the frames of one request and the command's standard input. It hears nothing of the host but a signal, on the port
 * CONTROL_NAME.
 */
#ifndef LAB_PROTO_H
#define LAB_PROTO_H

#include <stdint.h>

#define PORT_NAME "vlwp"
#define FRAME_MAX_DATA 65536u
#define CONTROL_NAME "vlwp-control"
#define FROZEN "count-1"
#define NETWORK "network" /* init's argument: there is a way out */
#define REQUEST_DIR "/request"
#define REQUEST REQUEST_DIR "/request"
#define INPUT REQUEST_DIR "/input" /* if it is not there, there is no input */
#define TOOLS REQUEST_DIR "/tools" /* lwprun and its library, for who has them nowhere else */
#define FILES "/files" /* the root directory; if it is not there, the root is the host's */

enum frame_type {
	/* guest to host */
	FRAME_HELLO = 'H', /* init is ready for a command */
	FRAME_STDOUT = 'O',
	FRAME_STDERR = 'R',
	FRAME_EXIT = 'X', /* one byte: exit status as a shell would give it */
	FRAME_TROUBLE = 'T', /* text: the guest could not be set up */
	FRAME_TAKEN = 'K', /* the command has taken all input so far, and wants more */
	FRAME_FILE = 'F', /* the name of a file of the share, whose content follows */
	FRAME_BYTES = 'B', /* more of that file */
	/* host to guest */
	FRAME_ARG = 'A', /* one argument of the command */
	FRAME_ENV = 'E', /* one NAME=VALUE */
	FRAME_CWD = 'C', /* working directory */
	FRAME_MODULES = 'M', /* where the guest kernel's modules lie on the host */
	FRAME_SEED = 'D', /* for the guest kernel's random numbers; those before it do not count */
	FRAME_COUNT = 'N', /* events to count, with commas; for the file counts of the share */
	FRAME_SIZE = 'W', /* struct term_size; before FRAME_GO it asks for a terminal */
	FRAME_GO = 'G', /* start the command; after its FRAME_EXIT another one may follow */
	FRAME_STDIN = 'I', /* no data: end of file */
	FRAME_SIGNAL = 'S', /* one byte: a signal for the command */
};

struct frame {
	uint32_t type;
	uint32_t length;
};

struct term_size {
	uint16_t rows;
	uint16_t columns;
};

_Static_assert(sizeof(struct frame) == 8, "a frame's head is the same on both ends");

#endif
