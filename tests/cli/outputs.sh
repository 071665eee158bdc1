#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Result files: what may be written where, that nothing else is touched, and that a failed write is reported.
. "$(dirname "$0")/lib.sh"
needs jq script

: "${MEASURE:=passes}" # a measurement that is quick on a file, and wants neither root nor direct I/O
file=$dir/target
head -c 1048576 /dev/urandom >"$file"
cp "$file" "$dir/before"
unchanged()
{
	cmp -s "$file" "$dir/before" || fail "$last: the target was changed"
}

# --json - is JSON and nothing else; the same document goes to a file.
run 0 "$MEASURE" "$file" --json -
jq -e '.schema == "platter-result" and .version == 1 and .status == "complete"' "$dir/out" >/dev/null ||
	fail "$last: stdout is not the document alone"
err_is_empty
run 0 "$MEASURE" "$file" --json="$dir/a.json" --csv="$dir/a.csv" --html="$dir/a.html"
[ -s "$dir/out" ] || fail "$last: no text"
err_is_empty
jq -e --arg m "$MEASURE" '.head.measurement == $m and .head.options.json != null' "$dir/a.json" >/dev/null || fail "$last: a.json"
[ -s "$dir/a.csv" ] && [ -s "$dir/a.html" ] || fail "$last: files are missing"
[ "$(find "$dir" -name 'a.*' | wc -l)" = 3 ] || fail "$last: something is left behind"
run 0 "$MEASURE" "$file" --csv=-
[ -s "$dir/out" ] || fail "$last: no CSV"
run 0 "$MEASURE" "$file" --quiet
out_is_empty
err_is_empty
(cd "$dir" && "$PLATTER" "$MEASURE" "$file" -q --json=b.json) || fail "--json=b.json in the folder itself"
[ -s "$dir/b.json" ] || fail "--json=b.json in the folder itself"

# Refused for safety: 3. Each kind of output, each kind of place.
mkdir "$dir/folder"
ln -s "$dir/nothing" "$dir/link"
ln "$file" "$dir/hard"
mkfifo "$dir/pipe"
for option in json jsonl csv html prometheus requests log; do
	for place in /dev/null /dev/full /dev/sd-no-such "$dir/link" "$dir/pipe" "$file" "$dir/hard"; do
		run 3 "$MEASURE" "$file" "--$option=$place"
		one_sentence
		err_has "--$option"
		unchanged
	done
	[ ! -e /dev/sd-no-such ] || fail "$last: a file was made in /dev"
	[ ! -e "$dir/nothing" ] || fail "$last: the link was followed"
	for place in "$dir/no-folder/x" "$dir/folder" "$dir/new/" "$file/x"; do
		run 1 "$MEASURE" "$file" "--$option=$place"
		one_sentence
	done
done
for node in /dev/vd? /dev/sd? /dev/loop0; do
	[ -b "$node" ] || continue
	run 3 "$MEASURE" "$file" "--json=$node"
	one_sentence
done
run 2 "$MEASURE" "$file" "--json=$dir/x" "--csv=$dir/x"
one_sentence
run 2 "$MEASURE" "$file" --json=- --csv=-
one_sentence
[ ! -e "$dir/x" ] || fail "$last: a file was made"

# What cannot be measured does not replace an older document.
cp "$dir/a.json" "$dir/old.json"
"$PLATTER" "$MEASURE" "$dir/no-such-target" "--json=$dir/old.json" >"$dir/out" 2>"$dir/err" && fail "no such target: exit status 0"
one_sentence
cmp -s "$dir/a.json" "$dir/old.json" || fail "$last: the old document is gone"

# A full stdout is an error, but the file is saved; a closed one ends as SIGPIPE would.
"$PLATTER" "$MEASURE" "$file" --json="$dir/c.json" >/dev/full 2>"$dir/err"
status=$?
[ $status = 1 ] || fail ">/dev/full: exit status $status"
grep -q ENOSPC "$dir/err" || fail ">/dev/full: nothing is said"
jq -e . "$dir/c.json" >/dev/null || fail ">/dev/full: c.json"
status=$({ "$PLATTER" "$MEASURE" "$file" 2>"$dir/err"; echo $? >"$dir/status"; } | true; cat "$dir/status")
case $status in
0 | 141) ;;
*) fail "| true: exit status $status" ;;
esac
err_is_empty

"$PLATTER" "$MEASURE" "$file" --json=- >/dev/full 2>"$dir/err"
[ $? = 1 ] && grep -q ENOSPC "$dir/err" || fail "--json=- >/dev/full: $(cat "$dir/err")"
one_sentence

# A name that is too long is reported before anything is measured; the longest that can be is fine.
long=$(head -c 255 /dev/zero | tr '\0' n)
for option in json jsonl csv html prometheus requests log; do
	run 1 "$MEASURE" "$file" "--$option=$dir/${long}n"
	one_sentence
	err_has ENAMETOOLONG
	run 0 "$MEASURE" "$file" -q "--$option=$dir/$long"
	[ "$option" = requests ] || [ -s "$dir/$long" ] || fail "$last: no file"
	rm -f "$dir/$long"
done

# Started with its streams closed it takes no other file for them: no disk, no log, no document gets the text.
closed() # STATUS REDIRECTION...
{
	status=$1
	shift
	rm -f "$dir/log" "$dir/c.json"
	last="$MEASURE $*"
	eval '"$PLATTER" "$MEASURE" "$file" --no-such-option' "$*" # has a complaint to write
	eval '"$PLATTER" "$MEASURE" "$file" --log="$dir/log" --json="$dir/c.json"' "$*"
	is=$?
	[ $is = "$status" ] || fail "$last: exit status $is, not $status"
	jq -e '.status == "complete"' "$dir/c.json" >/dev/null || fail "$last: c.json"
	bad=$(grep -vE '^20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z platter\[[0-9]+\] [a-z]+: .' "$dir/log" | head -n 1)
	[ -z "$bad" ] || fail "$last: the log has a line that is none: $bad"
	unchanged
}
closed 1 '>&- 2>&- <&-'
closed 1 '>&- 2>"$dir/err"'
closed 0 '<&- >"$dir/out" 2>&-'

# The log: whole lines, appended, also by several processes at once.
log=$dir/log
rm -f "$log"
echo "somebody else's line" >"$log"
run 3 "$MEASURE" "$file" -q --log="$log"
run 0 "$MEASURE" "$file" -q --log="$log" --force
for i in 1 2 3 4 5 6; do
	"$PLATTER" "$MEASURE" "$file" -q --log="$log" &
done
wait
head -n 1 "$log" | grep -qx "somebody else's line" || fail "--log: the first line is gone"
bad=$(sed 1d "$log" | grep -vE '^20[0-9-]{8}T[0-9:]{8}\.[0-9]{6}Z platter\[[0-9]+\] [a-z]+: .' | head -n 1)
[ -z "$bad" ] || fail "--log: a line that is none: $bad"
[ "$(sed 1d "$log" | grep -c ': start ')" = 7 ] || fail "--log: not seven starts"
[ "$(sed 1d "$log" | grep -c ': complete$')" = 7 ] || fail "--log: not seven ends"

# Progress and colour belong to terminals.
run 0 "$MEASURE" "$file"
err_is_empty
esc=$(printf '\033')
grep -q "$esc" "$dir/out" && fail "$last: escapes in a file"
run 0 "$MEASURE" "$file" --progress=json
[ ! -s "$dir/err" ] || jq -e '.measurement and .phase and (.done >= 0) and (.done <= 1)' "$dir/err" >/dev/null ||
	fail "$last: progress lines"
on_terminal() # environment and words
{
	last="script: env $*"
	script -qefc "env $*" /dev/null >"$dir/out" 2>"$dir/err" </dev/null || fail "$last: exit status"
}
for environment in NO_COLOR=1 TERM=dumb; do
	on_terminal $environment "$PLATTER" "$MEASURE" "$file" --progress=none
	grep -q "$esc" "$dir/out" && fail "$last: escapes"
done
on_terminal "$PLATTER" "$MEASURE" "$file" --color=never --progress=none
grep -q "$esc" "$dir/out" && fail "$last: escapes"
unchanged
# A dry run of what makes files of its own says so, wherever they will lie, and makes nothing.
mkdir "$dir/folder"
for words in "passes --size=2G" "cache --size=1M-2G" mark; do
	run 0 $words --dry-run --json=- "$dir/folder"
	jq -e '.figures.writes == "files of its own" and .figures.write_bytes != 0 and .figures.read_bytes != 0 and
		(.figures | has("touch_end_bytes") | not) and .figures.expect_ns > 1e10' "$dir/out" >/dev/null || fail "$last: $(cat "$dir/out")"
	rmdir "$dir/folder" && mkdir "$dir/folder" || fail "$last: has made $(ls "$dir/folder")"
done
exit 0
