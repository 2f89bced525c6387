#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Install the Debian packages that this machine lacks, and nothing else. Debian 12 or 13. Needs root (or sudo) and
# the network only when something is missing. It is shell because python3 may be what is missing.
set -euo pipefail

TOP=$(readlink -f -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../..")
LOG=${VLWP_BUILD_DIR:-$TOP/build}/log
# The keyring holds the keys of the suites that build/apt reads from this version on.
KEYRING_VERSION=2023.3+deb12u2

say()
{
	echo "vlwp: $*" >&2
}

die()
{
	say "$@"
	exit 1
}

# packages CODENAME: what fetching, building, running and testing need
packages()
{
	local gcc=14

	if [[ $1 == bookworm ]]; then
		gcc=12
	else
		echo meson python3-pycotap
	fi
	# fetch and unpack
	echo ca-certificates git patch cpio kmod xz-utils zstd
	# compilers; the 32-bit libraries are for QEMU's option ROMs and for 32-bit tests
	echo gcc g++ libc6-dev "lib32gcc-$gcc-dev" libc6-dev-i386 make ninja-build pkg-config
	echo python3 python3-pip python3-setuptools python3-venv python3-wheel bison flex
	# kbuild's programs, for headers of a newer Debian's kernel
	echo bc libssl-dev
	# QEMU and its firmware
	echo libglib2.0-dev libfdt-dev zlib1g-dev libattr1-dev libcap-ng-dev libslirp-dev
	echo seabios ipxe-qemu ovmf
	# the recording and the report
	echo libdw-dev libelf-dev libjson-c-dev libiberty-dev libcapstone-dev libprotobuf-c-dev protobuf-c-compiler uthash-dev
	echo libmicrohttpd-dev
	# what hosts and libvirt can do, and two libvirts for the test of migration (no service is started)
	echo libxml2-dev libvirt-clients libvirt-daemon libvirt-daemon-driver-qemu
	# the image from which the conformance suite boots, and emulators without LWP that boot it
	echo bochs bochs-term bochsbios grub-common grub-efi-amd64-bin grub-pc-bin mtools qemu-system-x86 vgabios xorriso
	# tests, and the programs that they profile
	echo libcriterion-dev clang clang-format libclang-rt-dev llvm binutils gdb perl procps rr
	echo default-jdk-headless luajit nodejs
	# what reads profiles in the formats of others
	echo linux-perf valgrind protobuf-compiler autofdo
	# what decodes instructions beside LWP's decoder
	echo python3-capstone
	# the kernel's selftest; what the series are checked with
	echo uuid-dev sparse python3-sphinx python3-yaml
	# what the lab itself is checked with
	echo shellcheck mypy flake8 universal-ctags
	# what runs the tests
	echo python3-pytest python3-pytest-xdist python3-pytest-timeout
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

(($# == 0)) || {
	say "deps takes no argument, got '$1'"
	exit 2
}
[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || die "vlwp needs an amd64 Debian 12 or 13"
codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ $codename == bookworm || $codename == trixie ]] ||
	die "this machine runs '${codename:-unknown}': vlwp needs Debian 12 (bookworm) or 13 (trixie)"
read -r -a wanted <<<"$(packages "$codename" | tr '\n' ' ')"
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
