# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests/block/*.sh: loop devices, partitions and mounts that go away again however the test ends.
set -u
export LC_ALL=C

skip() { echo "SKIP: $*"; exit 77; }

[ "$(id -u)" = 0 ] || skip "needs root"
[ -e /dev/loop-control ] || skip "needs loop devices"
need() { for cmd in "$@"; do command -v "$cmd" >/dev/null || skip "needs $cmd"; done; }
need losetup blockdev addpart delpart mount umount

work=$(mktemp -d /tmp/platter-test.XXXXXX) || exit 1
undo= # newline-separated commands, last one first
at_end() { undo="$*
$undo"; }
cleanup()
{
	trap - EXIT INT TERM HUP
	printf '%s\n' "$undo" | while IFS= read -r line; do
		[ -n "$line" ] && eval "$line" >/dev/null 2>&1
	done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'cleanup; exit 130' INT TERM HUP

# loop_new FILE [losetup options]: the device in $loop. Other programs take loop devices too, hence the retries.
loop_new()
{
	file=$1
	shift
	for try in 1 2 3 4 5; do
		loop=$(losetup --find --show "$@" "$file" 2>/dev/null) && { at_end "loop_end $loop"; return 0; }
		sleep 0.2
	done
	echo "cannot set up a loop device over $file" >&2
	exit 1
}

# Detaches for certain: a device that a browser of disks has open for a moment goes away when that closes it.
loop_end()
{
	for part in "$1"p*; do
		[ -b "$part" ] && delpart "$1" "${part##*p}"
	done
	blockdev --setrw "$1" 2>/dev/null # outlives the file below, and would meet the next user of the number
	losetup -d "$1" 2>/dev/null
	for try in 1 2 3 4 5 6 7 8 9 10; do
		losetup "$1" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	return 1
}

# image NAME SIZE: a sparse file in $image
image()
{
	image=$work/$1
	truncate -s "$2" "$image" || exit 1
}

# part DISK NUMBER FIRST_SECTOR SECTORS: the node in $part (this kernel may know no partition tables: the node is made by hand)
part()
{
	addpart "$1" "$2" "$3" "$4" || exit 1
	part=${1}p$2
	for try in 1 2 3 4 5 6 7 8 9 10; do
		[ -b "$part" ] && return 0
		sleep 0.1
	done
	echo "no node $part" >&2
	exit 1
}

# mounted DEVICE [options]: the mount point in $mnt
mounted()
{
	mnt=$work/mnt.$(printf %s "$*" | cksum | cut -d' ' -f1).$(ls "$work" | wc -l)
	mkdir -p "$mnt"
	mount "$@" "$mnt" || exit 1
	at_end "umount $mnt"
}

sum() { sync "$1"; b2sum <"$1"; }

failures=0 checks=0
ok() { checks=$((checks + 1)); }
bad() { checks=$((checks + 1)); failures=$((failures + 1)); echo "FAIL: $*"; }
finish()
{
	echo "$((checks - failures)) of $checks passed"
	[ $failures -eq 0 ]
	exit
}
