#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals at random moments of commands on a real block device: a valid document after SIGINT and SIGTERM, nothing left behind, the device
# unchanged. KILL_MOMENTS says how many of each (default 6).
. "$(dirname "$0")/lib.sh"
need jq timeout b2sum
: "${PLATTER:?the program}"

image disk 64M
dd if=/dev/urandom of="$image" bs=1M count=64 conv=notrunc status=none || exit 1
loop_new "$image"
mkdir "$work/out"
number=1 # of a fixed sequence, so that a failure comes again

at_random() # sets $after: 0.02 .. 1.02 s
{
	number=$(((number * 1103515245 + 12345) % 2147483648))
	after=$(awk -v n="$number" 'BEGIN { printf "%.3f", 0.02 + n / 2147483648 }')
}

one() # signal, status expected, words
{
	signal=$1 want=$2
	shift 2
	at_random
	rm -rf "$work/out"
	mkdir "$work/out"
	timeout --preserve-status -s "$signal" -k 20 "$after" "$PLATTER" "$@" "$loop" --quiet --json="$work/out/r.json" \
		>"$work/text" 2>"$work/err"
	status=$?
	last="SIG$signal after $after s of $*"
	[ $status = 0 ] && ended=$((ended + 1)) # it was faster
	[ $status = 0 ] || [ $status = "$want" ] || fail "$last: exit status $status: $(cat "$work/err")"
	if [ -e "$work/out/r.json" ]; then
		jq -e '.schema == "platter-result" and (.status | . == "cancelled" or . == "complete")' "$work/out/r.json" >/dev/null ||
			{ [ "$signal" = KILL ] && jq -e . "$work/out/r.json" >/dev/null; } || fail "$last: the document"
	fi
	[ "$signal" = KILL ] || [ "$(find "$work/out" -type f ! -name r.json | wc -l)" = 0 ] || fail "$last: half a document is left"
	ok
}

before=$(sum "$image") ended=0
for i in $(seq "${KILL_MOMENTS:-6}"); do
	for pair in INT:130 TERM:143 KILL:137; do
		one "${pair%:*}" "${pair#*:}" zones --passes=100
		one "${pair%:*}" "${pair#*:}" seek
		# Killed ones hand their journal on to the next; others have to remove theirs.
		journal=$work/out/journal
		[ "${pair%:*}" = KILL ] && journal=$work/journal
		one "${pair%:*}" "${pair#*:}" zones --rewrite --passes=100 --journal="$journal"
	done
done
# What the last SIGKILL left in the journal is looked at by the next start, which ends well.
"$PLATTER" zones --rewrite --passes=1 --positions=2 --journal="$work/journal" "$loop" --quiet --json="$work/out/r.json" >"$work/text" 2>&1 ||
	fail "after SIGKILL: $(cat "$work/text")"
[ "$(find "$work/journal" -type f | wc -l)" = 0 ] || fail "a journal is left at the end"
[ "$(sum "$image")" = "$before" ] || fail "the disk was changed"
echo "$ended of $checks runs ended before their signal"
finish
