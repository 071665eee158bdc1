#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The place for a result file is full: the measurement's text is there all the same, one sentence names the file and what to do, exit status 1,
# and an older file stays as it was.
. "$(dirname "$0")/lib.sh"
need jq
: "${PLATTER:?the program}"

image disk 16M
loop_new "$image"
mkdir "$work/full"
mount -t tmpfs -o size=64k tmpfs "$work/full" || skip "needs tmpfs"
at_end "umount $work/full"
target=$work/full cases=0

fill() { dd if=/dev/zero of="$target/filler" bs=4096 status=none 2>/dev/null; }

# full OPTION NAME words...: the file's place has no room from the beginning
full()
{
	option=$1 file=$target/$2
	shift 2
	rm -f "$target"/*
	head -c 4096 /dev/zero | tr '\0' '\n' >"$file" # a page, so that nothing can be added to it
	fill
	"$PLATTER" "$@" --force "--$option=$file" >"$work/text" 2>"$work/err"
	status=$?
	last="--$option to a full place, $1"
	[ $status = 1 ] || bad "$last: exit status $status: $(cat "$work/err")"
	grep -qF "$file" "$work/err" || bad "$last: the file is not named: $(cat "$work/err")"
	grep -qi 'make room' "$work/err" || bad "$last: what to do is not said: $(cat "$work/err")"
	[ "$(wc -l <"$work/err")" -le 2 ] || bad "$last: many words: $(cat "$work/err")"
	[ -s "$work/text" ] || bad "$last: the text is lost"
	[ "$option" = requests ] || [ "$option" = log ] || [ "$(tr -d '\n' <"$file" | wc -c):$(wc -c <"$file")" = 0:4096 ] || bad "$last: the old file is gone"
	[ "$(find "$target" -type f ! -name filler ! -path "$file" | wc -l)" = 0 ] || bad "$last: left behind: $(ls -A "$target")"
	cases=$((cases + 1))
	ok
}
for option in json csv html requests log; do
	full "$option" "result.$option" zones --repeat=2 --count=8 "$loop"
done

# Several at once: each is named.
rm -f "$target"/*
fill
"$PLATTER" zones --repeat=1 --count=4 --json="$target/a.json" --csv="$target/a.csv" --html="$target/a.html" "$loop" >"$work/text" 2>"$work/err"
[ $? = 1 ] || bad "three full files: the exit status"
for name in a.json a.csv a.html; do
	grep -qF "$target/$name" "$work/err" || bad "three full files: $name is not named: $(cat "$work/err")"
done
ok

# Room comes back while it runs: what a checkpoint could not save, the end can. (The log reports that it runs.)
rm -f "$target"/*
fill
"$PLATTER" stream --read --rate=4MB --time=3s --json="$target/late.json" --log="$work/late.log" "$loop" >"$work/text" 2>"$work/err" &
child=$!
at_end "kill $child"
until_there test -s "$work/late.log"
sleep 1
rm -f "$target/filler"
wait "$child"
status=$?
[ $status = 0 ] || [ $status -ge 5 ] || bad "room came back: exit status $status: $(cat "$work/err")"
jq -e '.status == "complete"' "$target/late.json" >/dev/null || bad "room came back: the document"
cases=$((cases + 2))
ok
echo "fault-count: full $cases exit status 1, one sentence names the file; the text is there, an older file unharmed"
finish
