#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# vlwp: starts what this directory has, with libraries of its own. It may lie anywhere.
for fd in 0 1 2; do # else the first files that are opened become the standard ones
	[ -e "/proc/self/fd/$fd" ] || eval "exec $fd<>/dev/null"
done
top=$(readlink -f -- "$0")
top=${top%/*}
case $top in
*[[:space:]:\;,]*)
	echo "vlwp: $top: QEMU takes no directory with spaces, colons or commas: move this one" >&2
	exit 1
	;;
esac
python=$top/python/bin/python3
exec "$top/lib/ld-linux-x86-64.so.2" --library-path "$top/lib" --argv0 "$python" "$python" -I -S -X utf8 \
	-X "pycache_prefix=${XDG_CACHE_HOME:-${HOME-}/.cache}/vlwp/pycache" "$top/lab" "$@"
