#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host, in name spaces that it has for itself: start its libvirtd, say "up" when that answers, and stay as process 1,
# which takes what daemons leave, until standard input ends; with process 1 everything of the host ends.
# unshare -rmupf start-host.sh NAME DIR ROOT PLACES COMMAND...: the host's name; the folder with its libvirtd.conf,
# etc/libvirt/, etc/vlwp/, over/, libvirt/, cache/, data/, home/ and run/; the Debian system that it runs in, "" for this
# machine's; folders that both have, with colons between them; what is its libvirtd
set -euo pipefail

name=$1 dir=$2 root=$3 places=$4
shift 4
hostname "$name"
if [[ $root ]]; then
	mount --bind "$root" "$root"
	IFS=: read -r -a shared <<<"$places"
	for place in /dev /proc /sys "${shared[@]}"; do
		mkdir -p "$root$place"
		mount --rbind "$place" "$root$place"
	done
	cd "$root"
	mkdir -p .outside
	pivot_root . .outside
	umount -l /.outside
	cd /
fi
# /etc/vlwp need not be there, and nobody but root could make it: over/ has it.
mount -t overlay overlay -o "lowerdir=$dir/over:/etc" /etc
for place in libvirt vlwp; do
	mount --bind "$dir/etc/$place" "/etc/$place"
done
export HOME=$dir/home XDG_CONFIG_HOME=$dir XDG_RUNTIME_DIR=$dir/run XDG_CACHE_HOME=$dir/cache XDG_DATA_HOME=$dir/data \
	PATH=/etc/libvirt/bin:$PATH:/usr/sbin
unshare -U --map-user=1000 --map-group=1000 "$@" -d -f "$dir/libvirtd.conf" -p "$dir/pid" >&2
echo up
cat
