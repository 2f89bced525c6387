/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The words of QEMU's CPU properties that have two values. Used in JSON, libvirt XML, -cpu strings and
 * messages, as the features of lwp_names.h are.
 */
#ifndef LWPCTL_VOCABULARY_H
#define LWPCTL_VOCABULARY_H

#include "lwp_cpuid.h"
#include "lwp_names.h"

/* A property with two values; the index of the value is its number on the wire. */
extern const char *const context_words[2]; /* lwp-context */
extern const char *const delivery_words[2]; /* lwp-delivery */
extern const char *const profile_words[2]; /* lwp-profile */

/* Index of @word in @words, or -1. */
int word_index(const char *const words[2], const char *word);

#endif
