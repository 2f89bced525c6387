#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A load of the kernel, for docs/case-kernel-pgo.md: messages, pipes, system calls, files, processes.
set -e
{
	perf bench sched messaging -g 2 -l 20
	perf bench sched pipe -l 2000
	perf bench syscall basic -l 20000
} >/dev/null
cd "$(mktemp -d)"
n=0
while [ $n -lt 200 ]; do
	echo $n >$n
	n=$((n + 1))
done
ls -l >/dev/null
cat -- * | sort -n | tail -n 1
for n in 1 2 3 4 5 6 7 8 9; do (/bin/true); done
rm -r "$PWD"
