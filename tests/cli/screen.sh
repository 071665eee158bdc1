#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What every command prints when nothing else is asked for: one screen that begins with an answer, on terminals of several widths; and the same
# of the saved document.
. "$(dirname "$0")/lib.sh"
needs jq python3
export LC_ALL=C.UTF-8
mkdir "$dir/files"

screen() # NAME WORDS...: 40 lines at most by the width of the terminal, and the answer in words
{
	name=$1
	shift
	set -- "$program" "$@"
	for COLUMNS in 120 80 100; do
		export COLUMNS
		last="$*, $COLUMNS columns"
		"$@" >"$dir/out" 2>"$dir/err" </dev/null
		case $? in
		0 | 4 | 5 | 6) ;;
		*) fail "$last" ;;
		esac
		lines=$(wc -l <"$dir/out")
		[ "$lines" -gt 5 ] || fail "$last: nothing"
		[ "$lines" -le 40 ] || fail "$last: $lines lines"
		[ "$(wc -L <"$dir/out")" -le "$COLUMNS" ] || fail "$last: too wide"
		[ $name = plan ] || [ $name = check ] || grep -q '\.$' "$dir/out" || fail "$last: no sentence"
		[ "$COLUMNS" != 120 ] || cp "$dir/out" "$dir/first"
		[ ! -s "$dir/$name.json" ] || set -- "$PLATTER" report "$dir/$name.json" # what was measured is not measured for each width
	done
	unset COLUMNS
	echo "$name" >>"$dir/seen"
}
measured() # NAME WORDS...
{
	name=$1
	shift
	screen "$name" "$@" --json="$dir/$name.json"
	jq -e '(.answer | length > 10) and (.shows | length > 0)' "$dir/$name.json" >/dev/null || fail "$last: the document"
	"$PLATTER" report --tables "$dir/$name.json" >"$dir/all" || [ $? -ge 5 ] || fail "platter report --tables $name.json"
	grep -q "More with" "$dir/all" && fail "$name: there is more than all"
	COLUMNS=120 "$PLATTER" report "$dir/$name.json" >"$dir/again"
	cmp -s "$dir/first" "$dir/again" || {
		diff "$dir/first" "$dir/again"
		fail "$name: another screen from the document than from the run"
	}
}

program=$PLATTER_SIM
measured info info sim:samsung-hd103sj
measured zones zones --quick sim:failing
measured check check sim:failing
[ "$(wc -l <"$dir/first")" -le 24 ] || fail "check: more than 24 lines"
measured seek seek --quick sim:tiny
measured surface surface sim:tiny
measured smr smr --write --destroy-data=TINY0001 --range=0-256MiB sim:tiny
measured sustain sustain --random --rate=20MB --time=20s sim:ssd-sata
grep -q "20.0 MB/s over the last 20.0 s; whether that has settled" "$dir/first" || fail "sustain: another answer"
measured buffer buffer sim:tiny
measured geometry geometry --quick sim:quantum-fireball-tm2110a
measured stream stream --read --rate=20MB --time=30s sim:tiny
measured transactions transactions --users=8 --count=20 sim:tiny
program=$PLATTER # these use files
measured passes passes --size=1M --repeat=3 "$dir/files"
measured mark mark --time=20ms --repeat=1 "$dir/files"
measured cache cache --size=1M-2M --block=16K-32K --repeat=3 --slice=1ms --without=knee "$dir/files"
program=$PLATTER_SIM
echo recover >>"$dir/seen" # which has its own page: it measures nothing
measured too-much stream --read --rate=40MB --time=30s sim:tiny
measured search stream --read --find --time=20s sim:tiny
measured users transactions --users=8 --find --time=20s sim:tiny
screen plan zones --dry-run sim:tiny
"$PLATTER_SIM" zones --quick --quiet sim:quantum-fireball-tm2110a --json="$dir/other.json" || fail "a second disk"
for year in 2023 2024 2025; do
	jq --arg y $year '.head.started |= sub("^[0-9]+"; $y)' "$dir/zones.json" >"$dir/year-$year.json"
done
screen compare compare "$dir/zones.json" "$dir/other.json"
screen trend compare "$dir"/year-*.json
screen report report "$dir"/*.json
# A flat device: one honest line, and its own figures all the same, not all that the document has.
"$PLATTER_SIM" buffer sim:ssd-sata --json="$dir/none.json" >"$dir/out" || fail "buffer of what does not rotate"
jq -e '(.answer | startswith("An SSD")) and (.shows | startswith("segments,"))' "$dir/none.json" >/dev/null || fail "what a flat device shows"
# On a terminal of so many lines the answer is in sight, below the line that was typed: of 24, of few, of many.
for rows in 24:22 5:20 38:36 200:40; do
	"$TOP/tests/terminal.py" 80 "${rows%:*}" "$PLATTER" report "$dir/zones.json" >"$dir/shown" || fail "a terminal of ${rows%:*} lines"
	n=$(wc -l <"$dir/shown")
	grep -q '108 MB/s at the start' "$dir/shown" && [ "$n" -le "${rows#*:}" ] && [ "$n" -ge $((${rows#*:} - 6)) ] ||
		fail "a terminal of ${rows%:*} lines: $(cat "$dir/shown")"
done
# (recover puts back, and measures nothing.)
"$PLATTER" --describe | jq -r '.commands[].name' | grep -vx recover >"$dir/commands"
while read -r command; do
	grep -qx "$command" "$dir/seen" || fail "nothing looks at the screen of $command: add a line here"
done <"$dir/commands"
exit 0
