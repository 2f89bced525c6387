/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A baseline as users need it: -cpu string, libvirt fragment, host file, JSON. */
#ifndef LWPCTL_BASELINE_OUT_H
#define LWPCTL_BASELINE_OUT_H

#include <stdio.h>

#include "settings.h"

/* The model, then every property; to be freed. */
char *baseline_words(const struct settings *s, const char *model);
/* <cpu> and <qemu:commandline>; @model has no character that means something in XML. */
void baseline_libvirt(const struct settings *s, const char *model, FILE *to);
/* The file of which QEMU takes a host's defaults. */
void baseline_host(const struct settings *s, const struct hostcaps *hosts, size_t nr, FILE *to);
json_object *baseline_json(const struct settings *s, const struct lwp_caps *caps, const char *model,
			   const struct hostcaps *hosts, size_t nr);

#endif
