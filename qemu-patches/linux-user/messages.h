/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -messages FILE: where what the emulator itself says goes.
 */
#ifndef LINUX_USER_MESSAGES_H
#define LINUX_USER_MESSAGES_H

/* Append to a file from now on what is printed to stderr. */
void messages_init(const char *file);

#endif
