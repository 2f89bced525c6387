/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of C++ and Rust as they are in the source. */
#ifndef LWPCTL_DEMANGLE_H
#define LWPCTL_DEMANGLE_H

/* The name in the source, to be freed; NULL if this is no mangled name or vlwp was built without libiberty. */
char *demangle(const char *name);

#endif
