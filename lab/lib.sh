# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What every script of the lab uses: places, messages, exit codes, progress, stamps.
set -euo pipefail

TOP=$(dirname -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
LAB=$TOP/lab
BUILD=${VLWP_BUILD_DIR:-$TOP/build}
HOST=$BUILD/host
FIRMWARE=$BUILD/firmware
export VLWP_BUILD_DIR=$BUILD

say()
{
	echo "vlwp: $*" >&2
}

# die TEXT: what was asked for failed; say what, where, and what to do
die()
{
	say "$@"
	exit 1
}

usage()
{
	say "$@"
	exit 2
}

# skip TEXT: this machine lacks something, which TEXT names
skip()
{
	say "skipped: $*"
	exit 77
}

# help_of FILE: the "#:" lines of a script
help_of()
{
	sed -n 's/^#: \?/  /p' "$1"
	exit 0
}

# make_dir DIR...: create directories of our own, or say why that cannot be
make_dir()
{
	local err

	err=$(mkdir -p -- "$@" 2>&1) || die "cannot create a directory: ${err#mkdir: }"
	for err; do
		[[ -w $err ]] ||
			die "$err is not writable: fix its owner, or set VLWP_BUILD_DIR to a directory of yours"
	done
}

# need_space DIR MIB: fail early and in plain words where a build would fail late and in many
need_space()
{
	local free

	free=$(free_space "$1")
	((free >= $2)) || die "$1: $free MiB free, this step needs $2 MiB: make room or set VLWP_BUILD_DIR"
}

# free_space DIR: in MiB
free_space()
{
	df --output=avail -BM -- "$1" | tail -n 1 | tr -cd 0-9
}

# show_progress TITLE: pass a build's output through, turning "[n/m]" lines into a progress display
show_progress()
{
	local title=$1 line quarter=0 percent

	while IFS= read -r line; do
		echo "$line"
		[[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
		percent=$((100 * BASH_REMATCH[1] / BASH_REMATCH[2]))
		if [[ -t 2 ]]; then
			printf '\rvlwp: %s: %3d%% of %d steps ' "$title" "$percent" "${BASH_REMATCH[2]}" >&2
		elif ((percent / 25 > quarter)); then
			quarter=$((percent / 25))
			say "$title: $percent%"
		fi
	done
	[[ -t 2 ]] && printf '\r\033[K' >&2
	return 0
}

# step TITLE LOG COMMAND...: run COMMAND with its output in build/log/LOG, show progress and time;
# when it fails, show the end of its output and give up
step()
{
	local title=$1 log=$BUILD/log/$2 start=$SECONDS
	shift 2

	make_dir "$BUILD/log"
	say "$title ..."
	if ! "$@" 2>&1 </dev/null | show_progress "$title" >"$log"; then
		(($(free_space "$BUILD") > 4)) ||
			die "$title: the disk of $BUILD is full: make room or set VLWP_BUILD_DIR"
		tail -n 15 -- "$log" | sed 's/^/    /' >&2
		die "$title: failed; all of its output is in $log"
	fi
	say "$title: done in $((SECONDS - start)) s"
}

# hash_of PATH...: one hash over names and contents of files and directories
hash_of()
{
	(cd "$TOP" && find "$@" -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum --) |
		sha256sum | cut -c 1-32
}

# fresh STAMP KEY: was this built from inputs with this key?
fresh()
{
	[[ -f $BUILD/stamp/$1 && $(<"$BUILD/stamp/$1") == "$2" ]]
}

stamp()
{
	make_dir "$BUILD/stamp"
	echo "$2" >"$BUILD/stamp/$1"
}

# lock_build PART: one build of a part at a time in one build directory, until this process ends
lock_build()
{
	make_dir "$BUILD"
	exec 9>"$BUILD/.lock-$1"
	flock -n 9 && return
	say "waiting for another build of '$1' in $BUILD ..."
	flock 9
}

# jobs_count: how many compilers to run at once
jobs_count()
{
	echo "${VLWP_JOBS:-$(nproc)}"
}
