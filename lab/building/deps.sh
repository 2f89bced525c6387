#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# deps.sh [--tests]: install the Debian packages that this machine lacks, and nothing else: those that `run`, `shell` and
# `count` need, or those of the tests, too. Debian 12 or 13; elsewhere it says which programs and libraries are not
# there. Needs root (or sudo) and the network only when something is missing. It is shell because python3 may be what is
# missing.
set -euo pipefail

TOP=$(readlink -f -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..")
LOG=${VLWP_BUILD_DIR:-$TOP/build}/log
# The keyring holds the keys of the suites that build/apt reads from this version on.
KEYRING_VERSION=2023.3+deb12u2

. "$TOP/lab/building/packages.sh"

say()
{
	echo "vlwp: $*" >&2
}

die()
{
	say "$@"
	exit 1
}

# missing PACKAGE...: those that are not installed
missing()
{
	comm -23 <(printf '%s\n' "$@" | sort -u) \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' |
			sed -n 's/^installed //p' | sort -u)
}

keyring_is_old()
{
	local version

	version=$(dpkg-query -W -f '${Version}' debian-archive-keyring 2>/dev/null) || return 0
	dpkg --compare-versions "$version" lt "$KEYRING_VERSION"
}

# make_log: the directory of logs belongs to the owner of the checkout, whoever makes it; else only root could build
make_log()
{
	local build=${LOG%/log} like=$TOP

	[[ ! -d $build ]] || like=$build
	[[ -d $LOG ]] ||
		install -d -o "$(stat -c %u "$like")" -g "$(stat -c %g "$like")" "$build" "$LOG" 2>/dev/null ||
		mkdir -p "$LOG" || die "cannot create $LOG: set VLWP_BUILD_DIR to a directory of yours"
}

# told TITLE LOG: copy what apt-get says into the log, and tell after each minute how far it is
told()
{
	local line status set_up=0 begin=$SECONDS last=$SECONDS

	while true; do
		IFS= read -r -t 5 line && status=0 || status=$?
		((status == 0 || status > 128)) || break
		printf '%s' "$line"
		((status)) || echo
		[[ $line != "Setting up "* ]] || ((++set_up))
		((SECONDS - last < 60)) || {
			say "$1: $set_up set up, $((SECONDS - begin)) s"
			last=$SECONDS
		}
	done >"$2"
}

# apt TITLE LOG ARG...: an apt-get step that fails in one line
apt()
{
	local title=$1 log=$LOG/$2 start=$SECONDS hint=
	shift 2

	say "$title ..."
	rm -f "$log"
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y -q -o DPkg::Lock::Timeout=600 \
		-o Acquire::Retries=3 "$@" 2>&1 </dev/null | told "$title" "$log" || {
		! grep -qE 'Failed to fetch|Could not (resolve|connect)|Unable to connect' "$log" || hint="check the network; "
		die "$title: $(grep -m 1 -E '^E: ' "$log" || echo failed) (${hint}details in $log)"
	}
	((SECONDS - start < 2)) || say "$title: done in $((SECONDS - start)) s"
}

architecture=$(dpkg --print-architecture 2>/dev/null) || architecture=none
codename=$(. /etc/os-release 2>/dev/null && echo "${ID-} ${VERSION_CODENAME-}") || codename=unknown
if [[ $architecture == none || $codename != debian\ @(bookworm|trixie) ]]; then
	mapfile -t lacking < <(lacking_elsewhere)
	((!${#lacking[@]})) || die "this machine is no Debian 12 or 13, and lacks: ${lacking[*]} (docs/install.md)"
	exit 0
fi
codename=${codename#debian }
[[ $architecture == amd64 ]] || die "vlwp needs an amd64 machine"
read -r -a wanted <<<"$({ to_run "$codename"; [[ ${1-} != --tests ]] || to_test; } | tr '\n' ' ')"
mapfile -t lacking < <(missing "${wanted[@]}")
keyring_is_old && lacking=(debian-archive-keyring "${lacking[@]}")
((${#lacking[@]})) || exit 0

as_root=()
if ((EUID)); then
	command -v sudo >/dev/null ||
		die "${#lacking[@]} packages are missing, and only root can install them: run './vlwp deps' as root once"
	refused=$(sudo env true 2>&1 </dev/null) ||
		die "${#lacking[@]} packages are missing, and sudo refuses (${refused##*$'\n'}): have root run './vlwp deps' once"
	as_root=(sudo)
fi
make_log
say "missing packages: ${lacking[*]}"
apt "reading the package lists" deps-update update
apt "installing packages (${#lacking[@]})" deps-install install --no-install-recommends "${lacking[@]}"
