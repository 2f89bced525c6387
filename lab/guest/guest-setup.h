/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's init: what its parts, the set-up, the network and the server of commands, know of each other. */
#ifndef LAB_GUEST_H
#define LAB_GUEST_H

#include <stdbool.h>

#define SHARE_DIR "/run/vlwp"
#define TOOLS_DIR "/run/tools"

/* trouble - tell the host why the guest cannot be used, then stop the machine */
_Noreturn void trouble(const char *format, ...) __attribute__((format(printf, 1, 2)));

void mount_early(void);
void freeze(void);
void load_modules(const char *list);
void mount_root(bool share);
void name_server(void);
void prepare_root(void);
void start_network(bool outside);
void mount_modules(const char *dir);

#endif
