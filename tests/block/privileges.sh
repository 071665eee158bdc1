#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a run may still do once it has opened its disks, seen in /proc while it runs; that measurements which open files themselves still can; and
# whose the result is under sudo.
. "$(dirname "$0")/lib.sh"
need jq setpriv
: "${PLATTER:?the program}"

image disk 64M
loop_new "$image"
kept=$(((1 << 0) | (1 << 1) | (1 << 3) | (1 << 14))) # CHOWN, DAC_OVERRIDE, FOWNER, IPC_LOCK

# caps PID FIELD: the capabilities as a number
looked_at() # words...: a run that is looked at once it has begun; again if this shell had no processor as long as it ran
{
	for try in 1 2 3; do
		rm -f "$work/r.json"
		"$PLATTER" "$@" --quiet --json="$work/r.json" 2>"$work/err" &
		child=$!
		at_end "kill $child"
		while cat "/proc/$child/status" >"$work/status" 2>/dev/null; do # all of it is of one moment
			grep -q '^NoNewPrivs:[[:space:]]*1$' "$work/status" && break 2
			sleep 0.02
		done
	done
	grep -q '^NoNewPrivs:[[:space:]]*1$' "$work/status" || fail "$*: new privileges are possible, or it ended before it was looked at: $(cat "$work/err")"
	for set in CapEff CapPrm CapInh CapAmb CapBnd; do
		now=$((0x$(sed -n "s/^$set:[[:space:]]*//p" "$work/status")))
		[ $((now & ~kept)) = 0 ] || fail "$*: $set is $(printf %x "$now")"
		ok
	done
	wait "$child"
	status=$?
	case $status in # what it measured is another question
	0 | 5 | 6) ;;
	*) fail "$*: exit status $status: $(cat "$work/err")" ;;
	esac
	jq -e '(.status == "complete" or .status == "ended-early") and ([.notices[] | select(.code == "privileges")] | length) == 0' "$work/r.json" >/dev/null || fail "$*: the document"
}
mkdir "$work/files"
small_loop=$loop small=$image
image large 16G # so much that no machine has read it before it is looked at
loop_new "$image"
looked_at zones --time=1s --repeat=100 "$loop"
loop=$small_loop image=$small
looked_at stream --read --rate=8MB --time=2s "$loop"
looked_at stream --rate=4MB --time=1s --buffer=16MB --file-size=4M --mode=cached "$work/files"
looked_at mark --time=200ms --repeat=2 "$work/files"
looked_at passes --size=16M --repeat=10000 --time=1s "$work/files"
looked_at transactions --users=2 --time=1s "$loop"
[ "$(find "$work/files" -type f | wc -l)" = 0 ] || fail "files are left behind"

# A folder of somebody else, closed to all others: under sudo the result is theirs, and never through a link.
mkdir -m 700 "$work/theirs"
chmod 755 "$work"
chown 12345:12346 "$work/theirs"
for option in json csv html requests log; do
	SUDO_UID=12345 SUDO_GID=12346 "$PLATTER" zones --repeat=1 --count=2 "--$option=$work/theirs/r.$option" "$loop" --quiet 2>"$work/err" || [ $? = 6 ] ||
		fail "--$option into a folder of 12345: $(cat "$work/err")"
	[ "$(stat -c %u:%g "$work/theirs/r.$option")" = 12345:12346 ] || bad "--$option belongs to $(stat -c %u:%g "$work/theirs/r.$option")"
	[ "$(stat -c %a "$work/theirs/r.$option")" = 644 ] || bad "--$option has mode $(stat -c %a "$work/theirs/r.$option")"
	ln -s "$loop" "$work/theirs/link.$option"
	before=$(sum "$image")
	SUDO_UID=12345 SUDO_GID=12346 "$PLATTER" zones --repeat=1 --count=2 "--$option=$work/theirs/link.$option" "$loop" --quiet 2>"$work/err"
	[ $? = 3 ] || bad "--$option went through a link to the disk: $(cat "$work/err")"
	"$PLATTER" zones --repeat=1 --count=2 "--$option=$loop" "$loop" --quiet 2>"$work/err"
	[ $? = 3 ] || bad "--$option onto the disk itself: $(cat "$work/err")"
	[ "$(sum "$image")" = "$before" ] || fail "--$option: the disk was changed"
	# A file of root's, behind a link that the user of the folder made.
	echo precious >"$work/roots.$option"
	ln -s "$work/roots.$option" "$work/theirs/to-root.$option"
	SUDO_UID=12345 SUDO_GID=12346 "$PLATTER" zones --repeat=1 --count=2 "--$option=$work/theirs/to-root.$option" "$loop" --quiet 2>"$work/err"
	[ $? = 3 ] || bad "--$option went through a link to a file of root's: $(cat "$work/err")"
	[ "$(cat "$work/roots.$option"):$(stat -c %u "$work/roots.$option")" = precious:0 ] || bad "--$option: a file of root's behind a link was changed"
	[ -L "$work/theirs/to-root.$option" ] || bad "--$option: the link is not there any more"
	ok
done

# The same of what measurements write themselves: none among device nodes.
own() # words: with what they would make, $made
{
	rm -f "$made"
	SUDO_UID=12345 SUDO_GID=12346 "$PLATTER" "$@" "$made" "$loop" --quiet 2>"$work/err" || fail "$* into a folder of 12345: $(cat "$work/err")"
	[ "$(stat -c %u:%g "$made")" = 12345:12346 ] || bad "$* belongs to $(stat -c %u:%g "$made")"
	for place in "$work/theirs/to-root.json" /dev/platter-no-such; do
		"$PLATTER" "$@" "$place" "$loop" --quiet 2>"$work/err"
		[ $? = 3 ] || bad "$* onto $place: $(cat "$work/err")"
	done
	[ ! -e /dev/platter-no-such ] || bad "$*: a file was made in /dev"
	[ "$(cat "$work/roots.json")" = precious ] || bad "$*: a file of root's behind a link was changed"
	ok
}
made=$work/theirs/each.csv own transactions --users=1 --count=2 --think=0 --each

# An ordinary user, who has nothing to give up, reads a file.
chmod 755 "$work/files"
head -c 1048576 /dev/zero >"$work/files/plain"
chmod 644 "$work/files/plain"
if setpriv --reuid=12345 --regid=12346 --clear-groups test -x "$PLATTER" 2>/dev/null; then
	setpriv --reuid=12345 --regid=12346 --clear-groups "$PLATTER" passes --repeat=2 "$work/files/plain" >"$work/out" 2>"$work/err" || [ $? = 6 ] ||
		fail "as an ordinary user: $(cat "$work/err")"
	grep -q "could not be given up" "$work/out" && fail "an ordinary user hears of privileges"
	ok
fi
finish
