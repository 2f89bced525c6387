# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for ./vlwp, read by `. lab/completion.bash`: commands, parts and options are those that help prints

_vlwp()
{
	local cur=${COMP_WORDS[COMP_CWORD]} text at words

	for ((at = 1; at < COMP_CWORD; at++)); do # Behind "--" stand a program and its files.
		[[ ${COMP_WORDS[at]} == -- ]] || continue
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	done
	text=$("${COMP_WORDS[@]:0:COMP_CWORD > 2 ? 3 : COMP_CWORD}" --help 2>/dev/null) ||
		text=$("$1" "${COMP_WORDS[1]}" --help 2>/dev/null)
	case $COMP_CWORD,$cur in
	1,*) words="help $(sed -n 's/^  \([a-z]*\)[ |].*/\1/p' <<<"$text")" ;;
	*,-*) words=$(grep -o -e '--[a-z][a-z-]*' <<<"$text") ;;
	2,*) words=$(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' <<<"$text")
	     # Parts of test, build and package stand in the text of their argument.
	     words+=" $(sed -n '/^  PART/,/^$/p' <<<"$text" | tr '\n' ' ' | grep -o '[a-z-]*: ' | tr -d ': ')" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "${words-}" -- "$cur")
}
complete -o default -F _vlwp vlwp
