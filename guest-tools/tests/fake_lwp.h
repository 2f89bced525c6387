/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What fake_lwp.c offers to programs under test. Weak: without it there is no LWP at all. */
#ifndef FAKE_LWP_H
#define FAKE_LWP_H

/* Store n instruction records that name the caller, if LWP is on in this thread. */
void fake_lwp_records(unsigned int n) __attribute__((weak, visibility("default")));

/* The hypervisor drops this thread's context. */
void fake_lwp_evict(void) __attribute__((weak, visibility("default")));

#endif
