#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The completions of bash and zsh offer what the program has, by asking it.
. "$(dirname "$0")/lib.sh"
needs bash zsh jq

"$PLATTER" --describe >"$dir/describe" || fail "--describe"
command=$(jq -r '.commands[0].name' "$dir/describe")
measure=$(jq -r '[.commands[] | select(.kind == "measurement")][0].name // ""' "$dir/describe")

# --complete itself: nothing about consent, one candidate a line.
run 0 --complete ""
out_has "$command	"
run 0 --complete "$command" --
out_has "--help	"
grep -qvE '^(--[a-z-]+=?|:files|:dirs)	' "$dir/out" && fail "$last: a line that is no candidate"
run 0 --complete "$command" --color=
out_has "--color=never"
if [ -n "$measure" ]; then
	run 0 --complete "$measure" --engine=
	out_has "--engine=sync"
	run 0 --complete "$measure" --engine ""
	out_has "sync"
	run 0 --complete "$measure" --destroy-data=
	out_is_empty
	run 0 --complete "$measure" --destroy-data ""
	out_is_empty
	run 0 --complete "$measure" /
	out_has ":files"
fi
run 0 --complete no-such-command --
out_is_empty
run 0 --complete

mkdir "$dir/files" "$dir/bin"
: >"$dir/files/one.json"
: >"$dir/files/two:words.json"
ln -s "$PLATTER" "$dir/bin/platter"
export PATH="$dir/bin:$PATH"

cat >"$dir/ask.bash" <<'END'
# ask LINE: what the completion would put there
. "$TOP/contrib/completion/platter.bash"
ask()
{
	COMP_LINE=$1 COMP_POINT=${#1} COMPREPLY=()
	_platter
	printf '%s\n' "${COMPREPLY[@]}"
}
cd "$1" && ask "$2"
END
in_bash() # line, candidate that must be there ("": nothing may be there)
{
	last="bash: $1"
	bash "$dir/ask.bash" "$dir/files" "$1" >"$dir/out" 2>"$dir/err" || fail "$last: exit status"
	err_is_empty
	if [ -z "$2" ]; then
		[ -z "$(cat "$dir/out")" ] || fail "$last: something is offered"
	else
		grep -qxF -e "$2" "$dir/out" || fail "$last: \"$2\" is not offered"
	fi
}
in_bash "platter " "$command"
in_bash "platter hel" help
in_bash "platter $command --hel" --help
in_bash "platter $command --color=nev" never
in_bash "platter $command one.json --colo" --color
in_bash "platter $command o" one.json
in_bash "platter $command two:" words.json
in_bash "platter $command --no-such" ""
if [ -n "$measure" ]; then
	in_bash "platter $measure --engin" --engine=
	in_bash "platter $measure --engine sy" sync
	in_bash "platter $measure --json=on" one.json
	in_bash "platter $measure --destroy-data=" ""
fi

# In zsh compadd, compset and _files work only while the line editor runs; here they tell what they are asked.
cat >"$dir/ask.zsh" <<'END'
compadd()
{
	local array=${@[-1]}
	print -rl -- ${(P)array}
}
compset() { print -r -- "compset $*" }
_files() { print -r -- "_files $*" }
words=("${(@s: :)2}")
CURRENT=$#words
PREFIX=$words[CURRENT]
cd "$1" && . "$TOP/contrib/completion/_platter"
END
in_zsh() # line, what must be offered
{
	last="zsh: $1"
	zsh -f "$dir/ask.zsh" "$dir/files" "$1" >"$dir/out" 2>"$dir/err" || fail "$last: exit status"
	err_is_empty
	grep -qxF -e "$2" "$dir/out" || fail "$last: \"$2\" is not offered"
}
in_zsh "platter " "$command"
in_zsh "platter hel" help
in_zsh "platter $command --hel" --help
in_zsh "platter $command --color=nev" --color=never
in_zsh "platter $command o" "_files "
if [ -n "$measure" ]; then
	in_zsh "platter $measure --engin" --engine=
	in_zsh "platter $measure --json=on" "compset -P *="
fi

# fish answers by itself.
command -v fish >/dev/null || skip "fish is not installed (bash and zsh are fine)"
in_fish() # line, what must be offered
{
	last="fish: $1"
	mkdir -p "$dir/bin" "$dir/home"
	ln -sf "$PLATTER" "$dir/bin/platter"
	(cd "$dir/files" && HOME=$dir/home PATH=$dir/bin:$PATH fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
		"$TOP/contrib/completion/platter.fish" "$1" </dev/null >"$dir/out" 2>"$dir/err") || fail "$last: exit status"
	cut -f 1 "$dir/out" | grep -qxF -e "$2" || fail "$last: \"$2\" is not offered"
}
in_fish "platter " "$command"
in_fish "platter hel" help
in_fish "platter $command --hel" --help
in_fish "platter $command --color=nev" --color=never
in_fish "platter $command o" one.json
if [ -n "$measure" ]; then
	in_fish "platter $measure --engin" --engine=
	in_fish "platter $measure --engine sy" sync
	in_fish "platter $measure --json=on" --json=one.json
fi
exit 0
