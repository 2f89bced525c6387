# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Faults that tests must notice: reading a list of them, putting one into a copy of the sources, and the
# verdict. Whoever sources this sets LIST and WORK (a directory for logs) and defines
#   place FILE        where FILE of this repository lies in the copy
#   build TEST...     build what TEST... ("PROGRAM NAME" each) need, output to $WORK/build.log
#   red PROGRAM NAME  does the test fail now? Output to $WORK/test.log
# A list is described in lab/mutants.list.

# inject FILE WAS NOW: replace the one place where WAS occurs
inject()
{
	local content rest

	content=$(<"$(place "$1")")
	rest=${content/"$2"/}
	[[ $rest != "$content" && ${rest/"$2"/} == "$rest" ]] || return 1
	printf '%s\n' "${content/"$2"/"$3"}" >"$(place "$1")"
}

# try_fault INDEX: one fault; sets verdict
try_fault()
{
	local file=${files[$1]} test survivors=()

	verdict=broken
	if ! inject "$file" "${was[$1]}" "${now[$1]}"; then
		echo "BROKEN    $file: '${was[$1]}' does not occur exactly once"
	else
		mapfile -t wanted <<<"${tests[$1]}"
		if ! build "${wanted[@]}"; then
			echo "BROKEN    $file: '${now[$1]}' does not compile: $(grep -m 1 error: "$WORK/build.log")"
		else
			for test in "${wanted[@]}"; do
				red "${test%% *}" "${test#* }" || survivors+=("${test#* }")
			done
			verdict=survived
			((${#survivors[@]})) || verdict=killed
			printf '%-9s %s: %s -> %s%s\n' "${verdict/survived/SURVIVED}" "$file" "${was[$1]}" \
				"${now[$1]}" "${survivors:+ (not noticed by ${survivors[*]})}"
		fi
	fi
	cp -- "$TOP/$file" "$(place "$file")"
}

# read_list TEXT: the faults whose file or tests contain TEXT; fills files, was, now, tests (one "BINARY TEST" a line), binaries, named
read_list()
{
	local line number=0 i=-1 value

	while IFS= read -r line || [[ $line ]]; do
		number=$((number + 1))
		value=${line#*:}
		value=${value#"${value%%[![:space:]]*}"}
		case $line in
		"#"* | "") ;;
		file:*)
			i=$((i + 1))
			files[i]=$value was[i]='' now[i]='' tests[i]=''
			[[ -f $TOP/$value ]] || die "$LIST:$number: no file '$value'"
			;;
		was:*) was[i]=$value ;;
		now:*) now[i]=$value ;;
		test:*)
			[[ $value == *" "* ]] || value+=" "
			tests[i]+=${tests[i]:+$'\n'}$value
			;;
		*) die "$LIST:$number: a line begins with file:, was:, now:, test: or #" ;;
		esac
	done <"$LIST"
	for i in "${!files[@]}"; do
		[[ ${was[i]} && ${tests[i]} ]] || die "$LIST: fault in ${files[i]} lacks was: or test:"
		if [[ "${files[i]} ${tests[i]}" != *"$1"* ]]; then
			unset "files[$i]"
			continue
		fi
		while read -r line; do
			binaries[${line%% *}]=1
			[[ $line != *" "* ]] || named[$line]=1
		done <<<"${tests[i]}"
	done
}

declare -a files=() was=() now=() tests=()
declare -A binaries=() named=() count=([killed]=0 [survived]=0 [broken]=0)

# try_faults: all that were read, one after the other; the sums are in count
try_faults()
{
	local i verdict

	for i in "${!files[@]}"; do
		try_fault "$i"
		count[$verdict]=$((count[$verdict] + 1))
	done
	echo "${count[killed]} killed, ${count[survived]} survived, ${count[broken]} broken"
	((!count[survived] && !count[broken])) || die "write the test that is missing, or correct $LIST"
}
