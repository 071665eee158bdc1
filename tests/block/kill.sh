#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals at random moments of commands on a real block device: a valid document after SIGINT and SIGTERM, nothing left behind, the device
# unchanged. KILL_MOMENTS says how many of each command and signal (default 1; of 200: an hour), KILL_LANES how many at a time, each with devices of its
# own; KILL_SPAN_S: moments are up to that far from the start (default 1; more of them near it, where things are made); KILL_TIME_S: ends after so long,
# having done equally many of each.
. "$(dirname "$0")/lib.sh"
need jq timeout b2sum
: "${PLATTER:?the program}"

# Several lanes: this very script, several times.
if [ "${KILL_LANES:-1}" -gt 1 ]; then
	lanes=$KILL_LANES pids=
	for lane in $(seq "$lanes"); do
		KILL_LANES=1 KILL_SEED=$((lane * 7919)) KILL_MOMENTS=$(((KILL_MOMENTS + lanes - 1) / lanes)) sh "$0" >"$work/lane.$lane" 2>&1 &
		pids="$pids $!"
	done
	at_end "kill $pids"
	for pid in $pids; do
		wait "$pid" || failures=$((failures + 1))
	done
	sed '/^fault-count: /d' "$work"/lane.*
	awk '/^fault-count: kill / { moments += $3; ended += $(NF - 4); rest = $0 } END { sub(/^fault-count: kill [0-9]+ /, "", rest)
		sub(/; [0-9]+ ended/, "; " ended " ended", rest); print "fault-count: kill " moments " " rest }' "$work"/lane.*
	finish
fi

image disk 64M
dd if=/dev/urandom of="$image" bs=1M count=64 conv=notrunc status=none || exit 1
loop_new "$image"
disk_loop=$loop
mkdir "$work/out"
elsewhere journal
mkdir "$work/journal/ended" "$work/journal/killed"
number=${KILL_SEED:-1} # of a fixed sequence, so that a failure comes again

at_random() # sets $after: 0.02 s and up to KILL_SPAN_S more
{
	number=$(((number * 1103515245 + 12345) % 2147483648))
	after=$(awk -v n="$number" -v span="${KILL_SPAN_S:-1}" 'BEGIN { n /= 2147483648; printf "%.3f", 0.02 + span * n * n }')
}

# one SIGNAL STATUS NAME TARGET words...: the command on the target is sent the signal at a random moment
one()
{
	signal=$1 want=$2 name=$3 target=$4
	shift 4
	at_random
	rm -rf "$work/out"
	mkdir "$work/out"
	timeout --preserve-status -s "$signal" -k 20 "$after" sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$PLATTER" "$@" "$target" --quiet --json="$work/out/r.json" \
		>"$work/text" 2>"$work/err"
	status=$?
	# A killed one may still be on its way out, with the device in its hands.
	until_there test ! -d "/proc/$(cat "$work/pid")"
	last="SIG$signal after $after s of $*"
	if [ $status = 0 ] || [ $status = 5 ] || [ $status = 6 ]; then
		ended=$((ended + 1)) # it was faster
	elif [ $status != "$want" ]; then
		fail "$last: exit status $status: $(cat "$work/err")"
	fi
	if [ -e "$work/out/r.json" ]; then
		jq -e '.schema == "platter-result" and (.status | . == "cancelled" or . == "complete" or . == "ended-early")' "$work/out/r.json" >/dev/null ||
			{ [ "$signal" = KILL ] && jq -e . "$work/out/r.json" >/dev/null; } || fail "$last: the document"
	fi
	if [ "$signal" != KILL ]; then
		[ "$(find "$work/out" "$work/journal/ended" -type f ! -name r.json | wc -l)" = 0 ] || fail "$last: half a document is left"
		[ "$(find "$work/files" -type f ! -name old | wc -l)" = 0 ] || fail "$last: left behind: $(ls -A "$work/files")"
	fi
	# Only ours: other runs on this machine have theirs.
	for group in "/sys/fs/cgroup/platter-$(cat "$work/pid")" "/sys/fs/cgroup/memory/platter-$(cat "$work/pid")"; do
		[ -d "$group" ] || continue
		[ "$signal" = KILL ] || fail "$last: $group is left"
		rmdir "$group" 2>/dev/null || [ ! -d "$group" ] || fail "$last: $group stays" # or another run has taken it away
	done
	# What a killed one could not remove has its mark, and is nobody's else.
	find "$work/files" -type f ! -name old -name 'platter-*' -exec rm {} +
	[ "$(ls -A "$work/files")" = old ] || fail "$last: alien files: $(ls -A "$work/files")"
	moments=$((moments + 1))
	ok
}

mkdir "$work/files"
head -c 3000000 /dev/urandom >"$work/files/old"
cp "$work/files/old" "$work/old"
image scratch 64M
scratch_image=$image
loop_new "$scratch_image"
scratch=$loop
image=$work/disk
loop=$disk_loop
before=$(sum "$image") ended=0 moments=0
for i in $(seq "${KILL_MOMENTS:-1}"); do
	[ -z "${KILL_TIME_S:-}" ] || [ "$(ps -o etimes= -p $$)" -lt "$KILL_TIME_S" ] || break
	for pair in INT:130 TERM:143 KILL:137; do
		signal=${pair%:*} want=${pair#*:}
		# Killed ones hand their journal on to the next; others have to remove theirs.
		journal=$work/journal/ended
		[ "$signal" = KILL ] && journal=$work/journal/killed
		one "$signal" "$want" rewrite "$loop" zones --rewrite --rewrite-data="${loop##*/}" --repeat=100 --journal="$journal"
		one "$signal" "$want" zones "$loop" zones --repeat=100
		one "$signal" "$want" full "$loop" zones --full
		one "$signal" "$want" seek "$loop" seek
		one "$signal" "$want" geometry "$loop" geometry
		one "$signal" "$want" stream "$loop" stream --read --rate=50MB --time=10s
		one "$signal" "$want" transactions "$loop" transactions --users=4 --time=10s
		one "$signal" "$want" info "$loop" info
		one "$signal" "$want" device-passes "$loop" passes --repeat=100
		one "$signal" "$want" files "$work/files" stream --rate=20MB --time=10s --buffer=16MB --file-size=8M --mode=cached
		one "$signal" "$want" passes "$work/files" passes --size=16M --repeat=1000
		one "$signal" "$want" cache "$work/files" cache --memory=64M --size=1M-64M --block=4K-64K
		one "$signal" "$want" mark "$work/files" mark --time=1s
		one "$signal" "$want" write "$scratch" zones --write --destroy-data="${scratch##*/}" --repeat=100
		one "$signal" "$want" write-users "$scratch" transactions --write --destroy-data="${scratch##*/}" --users=4 --time=10s
	done
done
cmp -s "$work/old" "$work/files/old" || fail "a file of somebody else was changed"
# What the last SIGKILL left in the journal is looked at by the next start, which ends well.
"$PLATTER" zones --rewrite --rewrite-data="${loop##*/}" --repeat=1 --count=2 --journal="$work/journal/killed" "$loop" --quiet --json="$work/out/r.json" >"$work/text" 2>&1 ||
	[ $? = 6 ] || fail "after SIGKILL: $(cat "$work/text")" # 6: two places of a loop device may be too few for a rate
[ "$(find "$work/journal" -type f | wc -l)" = 0 ] || fail "a journal is left at the end"
[ "$(sum "$image")" = "$before" ] || fail "the disk was changed"
echo "fault-count: kill $moments valid documents, no litter, not a byte changed; $ended ended before their signal"
finish
