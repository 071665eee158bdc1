#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What was measured is kept: a run that is killed leaves a whole document, and files that cannot be written for a while end no run.
. "$(dirname "$0")/lib.sh"
needs jq

file=$dir/target
head -c 4194304 /dev/urandom >"$file"

# Killed at any moment, commands leave the old document, or a whole one that says that the run was not at its end; the last time once it is there.
killed=0
for words in "transactions --time=1h --users=2 --think=0" "stream --read --rate=1MB --time=1h" "passes --repeat=10000"; do
	for tenths in 1 2 4 there; do
		rm -f "$dir/a.json"
		last="platter $words, killed at 0.$tenths s"
		# shellcheck disable=SC2086
		"$PLATTER" $words "$file" -q --json="$dir/a.json" 2>"$dir/err" &
		pid=$!
		if [ $tenths = there ]; then until_there test -e "$dir/a.json"; else sleep 0.$tenths; fi
		kill -KILL $pid 2>/dev/null || fail "$last: it had ended"
		wait $pid 2>/dev/null
		rm -f "$dir"/.a.json.*
		[ -e "$dir/a.json" ] || continue
		killed=$((killed + 1))
		jq -e '.status == "running" and .head.measurement' "$dir/a.json" >/dev/null || fail "$last: $(head -c 300 "$dir/a.json")"
		run 0 report "$dir/a.json"
		out_has "Not finished"
	done
done
[ $killed -ge 3 ] || fail "only $killed documents of 12 runs that were killed"

# No file may grow beyond 1 KiB: all is measured and shown, each failure is said once, and the exit status says that it lasted.
full() # COUNT WORD...: so many sentences on stderr
{
	sentences=$1
	shift
	last="platter $* within a limit"
	(
		trap '' XFSZ
		ulimit -f 2
		"$PLATTER" "$@" 2>"$dir/err.fifo" >"$dir/out.fifo"
	)
	status=$?
	wait
	[ $status = 1 ] || fail "$last: exit status $status"
	[ "$(grep -c EFBIG "$dir/err")" = "$sentences" ] || fail "$last: not $sentences sentences"
	grep -q "Rate\|scanned\|Reading" "$dir/out" || fail "$last: nothing is shown"
}
mkfifo "$dir/err.fifo" "$dir/out.fifo"
for option in json state log; do
	rm -f "$dir/x"
	words="passes --repeat=400" # the first document has failed before the run is over
	[ $option != state ] || words=surface
	if [ $option = log ]; then
		"$PLATTER" passes "$file" -q --log="$dir/x"
		while [ "$(stat -c %s "$dir/x")" -lt 1024 ]; do cat "$dir/x" "$dir/x" >"$dir/y" && mv "$dir/y" "$dir/x"; done
	fi
	cat "$dir/err.fifo" >"$dir/err" &
	cat "$dir/out.fifo" >"$dir/out" &
	# shellcheck disable=SC2086 # a list of words
	full 2 $words "--$option=$dir/x" "$file"
done
echo "$killed documents of killed runs"
