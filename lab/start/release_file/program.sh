#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Starts the program beside this file with the libraries of the release.
self=$(readlink -f -- "$0")
lib=${self%/build/*}/lib
exec "$lib/ld-linux-x86-64.so.2" --library-path "$lib" --argv0 "$self" "$self.elf" "$@"
