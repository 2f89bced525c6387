# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The libFuzzer targets: building them, running one on its committed corpus or on fresh input. A
# target fuzz_NAME has its corpus in a directory corpus/NAME beside its source.

FUZZ=$BUILD/host-fuzz

fuzz_build()
{
	check "the fuzzers build with clang" fuzz_compile
	[[ -f $FUZZ/build.ninja ]]
}

fuzz_compile()
{
	if [[ ! -f $FUZZ/build.ninja ]]; then
		CC="${ccache-}clang" meson setup -Dfuzz=true -Db_sanitize=address,undefined \
			-Db_lundef=false "$FUZZ" "$TOP" || return 1
	fi
	ninja -C "$FUZZ" build.ninja || return 1 # a target may be new
	# shellcheck disable=SC2046 # names of targets have no spaces
	ninja -C "$FUZZ" -j "$(jobs_count)" $(fuzz_targets)
}

# fuzz_targets: the programs fuzz_* that this tree has, as Ninja knows them
fuzz_targets()
{
	ninja -C "$FUZZ" -t targets all | sed -n 's,^\(.*/fuzz_[a-z0-9_]*\): c_LINKER.*,\1,p' | sort
}

# fuzz_corpus_of TARGET: its committed corpus
fuzz_corpus_of()
{
	echo "$TOP/$(dirname -- "$1")/corpus/${1##*/}"
}

# fuzz_run TARGET ARG...: findings go below build/, never into the tree
fuzz_run()
{
	local target=$1
	shift

	make_dir "$BUILD/fuzz/${target##*/}"
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 "$FUZZ/$target" -print_final_stats=1 \
		-artifact_prefix="$BUILD/fuzz/${target##*/}/" "$@"
}

fuzz_corpus()
{
	local dir

	dir=$(fuzz_corpus_of "$1")
	[[ -d $dir ]] || {
		echo "$dir: no corpus"
		return 1
	}
	fuzz_run "$1" -runs=0 "$dir"
}

# fuzz_fresh TARGET SECONDS SEED
fuzz_fresh()
{
	local new=$BUILD/fuzz/${1##*/}/new

	make_dir "$new"
	fuzz_run "$1" -max_total_time="$2" -seed="$3" -timeout=25 "$new" "$(fuzz_corpus_of "$1")"
}
