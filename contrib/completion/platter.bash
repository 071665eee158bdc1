# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion of platter. It holds no list: the program is asked (platter --complete WORD...).
_platter()
{
	local line=${COMP_LINE:0:COMP_POINT} candidate cur value kept= i
	local -a words

	read -ra words <<<"$line"
	[[ $line == *[[:space:]] ]] && words+=("")
	cur=${words[-1]}
	value=$cur
	[[ $cur == --*=* ]] && value=${cur#*=}
	# What stands before the last word break is on the line already and must not be in the reply.
	for ((i = 0; i < ${#cur}; i++)); do
		[[ ${cur:i:1} == [=:] && $COMP_WORDBREAKS == *"${cur:i:1}"* ]] && kept=${cur:0:i+1}
	done
	COMPREPLY=()
	while IFS=$'\t' read -r candidate _; do
		case $candidate in
		:files)
			compopt -o filenames 2>/dev/null
			while IFS= read -r candidate; do
				COMPREPLY+=("${candidate#"${kept#"${cur%"$value"}"}"}")
			done < <(compgen -f -- "$value")
			;;
		:dirs)
			compopt -o filenames 2>/dev/null
			while IFS= read -r candidate; do
				COMPREPLY+=("${candidate#"${kept#"${cur%"$value"}"}"}")
			done < <(compgen -d -- "$value")
			;;
		*)
			COMPREPLY+=("${candidate#"$kept"}")
			;;
		esac
	done < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
	if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
		compopt -o nospace 2>/dev/null
	fi
}
complete -F _platter platter
