# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Packages of suites other than the machine's own: a private apt state below build/apt, whose archive
# addresses are those of the machine's apt configuration. The machine's own apt is not touched.

APT_STATE=$BUILD/apt
DL=$BUILD/dl
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# debian_codename: bookworm or trixie; anything else is not a machine for this
debian_codename()
{
	local id codename

	id=$(. /etc/os-release 2>/dev/null && echo "${ID-}")
	codename=$(. /etc/os-release 2>/dev/null && echo "${VERSION_CODENAME-}")
	[[ $id == debian && ($codename == bookworm || $codename == trixie) ]] ||
		die "this machine runs '${id:-unknown} ${codename}': vlwp needs Debian 12 (bookworm) or 13 (trixie)"
	echo "$codename"
}

# archive_address SUITE: the address from which the machine's apt takes SUITE
archive_address()
{
	apt-get indextargets --format '$(RELEASE) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		awk -v suite="$1" '$1 == suite || $2 == suite { print $3; exit }'
}

# write_sources: the private sources list
write_sources()
{
	local codename main security by="[signed-by=$KEYRING]"

	codename=$(debian_codename)
	main=$(archive_address "$codename")
	security=$(archive_address "$codename-security")
	[[ $main ]] || die "apt on this machine has no source for $codename main: add one to /etc/apt/sources.list"
	{
		echo "deb $by $main $codename main"
		echo "deb-src $by $main trixie main"
		[[ $codename == bookworm ]] && echo "deb $by $main bookworm-backports main"
		if [[ $security ]]; then
			echo "deb $by $security $codename-security main"
			echo "deb-src $by $security trixie-security main"
		fi
	} >"$APT_STATE/sources.list"
}

# archive_apt TOOL ARG...: apt-get or apt-cache on the private state
archive_apt()
{
	local tool=$1
	shift

	"$tool" -o Dir::Etc::sourcelist="$APT_STATE/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::State::lists="$APT_STATE/lists" -o Dir::Cache="$APT_STATE/cache" \
		-o APT::Sandbox::User="$(id -un)" -o APT::Update::Error-Mode=any \
		-o Acquire::Languages=none -o Acquire::Retries=3 -q "$@"
}

# archive_update: fetch the private lists, once in a run of the script
archive_update()
{
	[[ ${ARCHIVE_UPDATED-} ]] && return
	make_dir "$APT_STATE/lists/partial" "$APT_STATE/cache/archives/partial" "$DL" "$BUILD/log"
	write_sources
	say "reading the package lists of the Debian archive ..."
	exec 8>"$BUILD/.lock-archive"
	flock 8
	archive_apt apt-get update >"$BUILD/log/apt-update" 2>&1 || {
		grep '^[EW]:' "$BUILD/log/apt-update" | head -n 3 | sed 's/^/    /' >&2
		die "cannot read the Debian archive: check the network (details in $BUILD/log/apt-update)"
	}
	exec 8>&-
	ARCHIVE_UPDATED=1
}

# archive_deb PACKAGE[/SUITE]: download one binary package into build/dl, set FETCHED to its file
archive_deb()
{
	local dir

	archive_update
	dir=$(mktemp -d "$DL/.fetch.XXXXXX")
	(cd "$dir" && archive_apt apt-get download "$1") >"$BUILD/log/apt-download" 2>&1 || {
		rm -rf "$dir"
		die "cannot download $1: $(grep -m 1 '^E:' "$BUILD/log/apt-download")"
	}
	FETCHED=$(find "$dir" -name '*.deb')
	mv -f "$FETCHED" "$DL/"
	FETCHED=$DL/${FETCHED##*/}
	rmdir "$dir"
}

# archive_dependency PACKAGE PATTERN: the one dependency of PACKAGE whose name matches PATTERN
archive_dependency()
{
	archive_apt apt-cache depends "$1" | awk -v re="$2" '$1 == "Depends:" && $2 ~ re { print $2; exit }'
}

# fetch_meson: QEMU needs meson >= 1.5, which Debian 12 has in its backports; unpacked into
# build/tools and put in front of PATH
fetch_meson()
{
	local package

	[[ $(debian_codename) == bookworm ]] || return 0
	for package in meson python3-pycotap; do
		[[ -f $BUILD/stamp/tool-$package ]] && continue
		archive_deb "$package/bookworm-backports"
		dpkg -x "$FETCHED" "$BUILD/tools"
		stamp "tool-$package" "${FETCHED##*/}"
	done
	export PATH=$BUILD/tools/usr/bin:$PATH
	export PYTHONPATH=$BUILD/tools/usr/lib/python3/dist-packages
}
