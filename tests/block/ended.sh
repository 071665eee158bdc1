#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A test like these that is ended by signals leaves no mount, no device, no simulated disk and no process behind.
. "$(dirname "$0")/lib.sh"
need mkfs.ext4 timeout
need_simdisk

# The one that is ended: while a program in a group of its own has a file on the simulated disk in its hands.
if [ -n "${ENDED_SAYS-}" ]; then
	image file 8M
	loop_new "$image"
	simdisk held tiny
	mkfs.ext4 -q "$dev" || fail "mkfs"
	mounted "$dev"
	echo "$work" >"$ENDED_SAYS.new"
	mv "$ENDED_SAYS.new" "$ENDED_SAYS"
	timeout 100 sleep 100 >"$mnt/file"
	finish
fi

# In a session of its own, as Meson starts one; a shell stands for Meson.
start()
{
	rm -f "$work/says"
	ENDED_SAYS=$work/says UNDER_MESON=1 sh -c 'setsid sh "$0" >"$1" 2>&1 & echo $! >"$2"; wait' "$0" "$work/said" "$work/pid" &
	parent=$!
	for _ in $(seq 200); do
		[ -e "$work/says" ] && break
		sleep 0.1
	done
	[ -e "$work/says" ] || fail "it did not come so far: $(cat "$work/said")"
	inner=$(cat "$work/says") test=$(cat "$work/pid")
}

left()
{
	grep -lF "$inner/" /sys/block/loop*/loop/backing_file
	grep -F "$inner" /proc/self/mounts
	ls -d "$inner"
	grep -lzF "$inner" /proc/[0-9]*/environ /proc/[0-9]*/cmdline
} 2>/dev/null

# ended COMMAND: what a test was ended by
ended()
{
	start
	eval "$*"
	for _ in $(seq 150); do
		[ -n "$(left)" ] || break
		sleep 0.1
	done
	[ -z "$(left)" ] && ok || bad "left after $*: $(left)"
	kill -KILL "$parent" 2>/dev/null
	wait "$parent" 2>/dev/null
}

ended 'kill -TERM -$test; sleep 0.5; kill -KILL -$test' # Meson, at the end of a test's time or its own
ended 'kill -INT -$test; sleep 0.5; kill -KILL -$test'
ended 'kill -KILL $test'
ended 'kill -KILL $parent' # Meson itself
finish
