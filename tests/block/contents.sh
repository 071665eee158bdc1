#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What lies where on a disk, as `surface` reports it of bad places: on real file systems, at places that are found by the bytes
# that files begin with, on disks and on partitions.
. "$(dirname "$0")/lib.sh"
TOOL=$1
failed=0
bad() { echo "FAIL: $*"; failed=1; }

# tell WANTED WHAT DEVICE FIRST,BYTES: one line of the answer holds the text
tell()
{
	"$TOOL" "$3" "$4" >"$work/said" 2>&1 || bad "$2: $(cat "$work/said")"
	grep -qF -- "$1" "$work/said" || { bad "$2: no \"$1\" at $4 of $3, but"; cat "$work/said"; }
}

# Where the needles of a file system lie on its device, into $work/needles: "BYTE:NEEDLE-1-ext4-", ...
needles() # DEVICE MOUNT TAG
{
	sync -f "$2"
	echo 1 >/proc/sys/vm/drop_caches 2>/dev/null
	grep -abo "NEEDLE-[123]-$3-" "$1" >"$work/needles"
}
where() { sed -n "s/^\([0-9]*\):NEEDLE-$1-.*/\1/p" "$work/needles" | head -n 1; }

# files MOUNT: what is looked for. Each block of a file begins with its own needle.
files()
{
	mkdir -p "$1/some/folder"
	for i in 1 2 3; do
		{ printf 'NEEDLE-%s-%s-' "$i" "$2"; head -c 200000 /dev/urandom; } >"$1/some/folder/file $i"
	done
	head -c 300000 /dev/urandom >"$1/gone"
	sync -f "$1"
}

try() # FILE_SYSTEM mkfs...
{
	fs=$1
	shift
	command -v "$1" >/dev/null || { echo "no $1 here: $fs is left out"; return 0; }
	rm -f "$work/$fs.img"
	image "$fs.img" 400M
	loop_new "$image"
	dev=$loop
	"$@" "$dev" >"$work/mkfs" 2>&1 || { bad "$*: $(cat "$work/mkfs")"; return; }
	tell "not-mounted|${dev#/dev/}|$fs|" "$fs, not mounted" "$dev" 209715200,4096
	mkdir -p "$work/$fs"
	mount "$dev" "$work/$fs" 2>/dev/null || { echo "this kernel has no $fs: it is left out"; return 0; }
	at_end "umount $work/$fs"
	into=$work/$fs
	files "$into" "$fs"
	needles "$dev" "$work/$fs" "$fs"
	for i in 1 2 3; do
		at=$(where $i)
		[ -n "$at" ] || { bad "$fs: the bytes of file $i are not found on $dev"; continue; }
		tell "$at 512 file|${dev#/dev/}|$fs|$into/some/folder/file $i|0" "$fs, file $i" "$dev" "$at,512"
		tell "file $i|8192" "$fs, in the middle of file $i" "$dev" "$((at + 8192)),4096"
	done
	# a place with all three files in it: each is named, and not a byte of it is left out
	first=$(sed -n '1s/:.*//p' "$work/needles") last=$(sed -n '$s/:.*//p' "$work/needles")
	tell "file 1|0" "$fs, three files in one place" "$dev" "$first,$((last - first + 409600))"
	sort -n "$work/said" | awk -v at="$first" -v end="$((last + 409600))" \
		'{ if ($1 > at) gap = 1; if ($1 + $2 > at) at = $1 + $2 } END { exit gap || at < end }' || { bad "$fs: bytes between the files are not told"; cat "$work/said"; }
	for i in 2 3; do
		grep -qF "file $i|0" "$work/said" || bad "$fs: file $i is missing beside the others"
	done
	exec 9<"$into/some/folder/file 2" # in use, and without a name, between two that have one
	rm "$into/some/folder/file 2"
	sync -f "$into"
	tell "$(where 2) 200704 unnamed|" "$fs, a file without a name beside others" "$dev" "$first,$((last - first + 409600))"
	exec 9<&-
	# 20 MiB before the end: nobody has written there
	tell "free|${dev#/dev/}|$fs|-|" "$fs, what is free" "$dev" $((380 << 20)),4096
	case $fs in
	ext4) tell "metadata|" "$fs, its super block" "$dev" 0,4096 ;;
	xfs) tell "$said|" "$fs, its super block" "$dev" 0,4096 ;;
	esac
	umount "$work/$fs"
	loop_end "$dev"
}
try ext4 mkfs.ext4 -q -F
said=unnamed # all that an xfs without reverse mappings reports
try xfs mkfs.xfs -q -f -m rmapbt=0
said=metadata
try xfs mkfs.xfs -q -f -m rmapbt=1
# btrfs has addresses of its own, which are not followed.
if command -v mkfs.btrfs >/dev/null && grep -qw btrfs /proc/filesystems; then
	image btrfs.img 400M
	loop_new "$image"
	mkfs.btrfs -q -f "$loop" >/dev/null
	tell "unknown|${loop#/dev/}|btrfs|-|" "btrfs, not mounted" "$loop" 209715200,4096
	mkdir "$work/btrfs"
	mount "$loop" "$work/btrfs"
	at_end "umount $work/btrfs"
	tell "unknown|${loop#/dev/}|btrfs|-|" "btrfs, mounted" "$loop" 209715200,4096
	umount "$work/btrfs"
	loop_end "$loop"
fi

# A partition, by the disk and by itself; and what lies in none.
if command -v mkfs.ext4 >/dev/null; then
	image disk.img 64M
	loop_new "$image"
	dev=$loop
	part "$dev" 1 2048 100000
	mkfs.ext4 -q -F "$part" >/dev/null 2>&1
	mkdir "$work/p"
	mount "$part" "$work/p" || bad "$part cannot be mounted"
	at_end "umount $work/p"
	files "$work/p" part
	needles "$part" "$work/p" part
	at=$(where 2)
	name=${part#/dev/}
	tell "$at 512 file|$name|ext4|$work/p/some/folder/file 2|0" "by the partition" "$part" "$at,512"
	by_disk=$((at + 2048 * 512))
	tell "$by_disk 512 file|${dev#/dev/} > $name|ext4|$work/p/some/folder/file 2|0" "by the disk" "$dev" "$by_disk,512"
	tell "0 4096 outside|${dev#/dev/}|" "before the first partition" "$dev" 0,4096
	rm "$work/p/some/folder/file 2"
	sync -f "$work/p"
	tell "512 free|" "a file that was removed" "$part" "$at,512"
	umount "$work/p"
fi
[ $failed = 0 ] && echo "what lies there was right each time"
exit $failed
