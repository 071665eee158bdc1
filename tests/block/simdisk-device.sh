#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A simulated disk is a block device like any other: contents, partitions, sector sizes, file systems, errors.
. "$(dirname "$0")/lib.sh"
need_simdisk
need fio mkfs.ext4 mount fsck.ext4 blockdev cmp

queue() # device attribute
{
	cat "/sys/block/${1#/dev/}/queue/$2"
}

is() # what, got, wanted
{
	[ "$2" = "$3" ] || fail "$1 is $2, not $3"
}

echo "sectors begin with their number"
simdisk a tiny
for sector in 0 1 7777; do
	is "word 0 of sector $sector" \
		"$(dd if="$dev" bs=512 skip=$sector count=1 iflag=direct status=none | od -An -tu8 -N8 | tr -d ' ')" $sector
done
is rotational "$(queue "$dev" rotational)" 1
is max_sectors_kb "$(queue "$dev" max_sectors_kb)" 1024
is "logical block" "$(blockdev --getss "$dev")" 512
is "size" "$(blockdev --getsize64 "$dev")" "$(simdisk_status a | sed -n 's/.*"size_bytes": \([0-9]*\).*/\1/p')"

echo "what is written is read again, in every size and by every engine"
dd if=/dev/urandom of="$work/data" bs=1M count=4 status=none
for bs in 512 4096 65536 1048576; do
	count=$((bs < 65536 ? 40 : 4194304 / bs)) # a revolution for each write
	dd if="$work/data" of="$dev" bs=$bs count=$count oflag=direct,seek_bytes seek=1536 status=none conv=notrunc ||
		fail "write $bs"
	dd if="$dev" of="$work/back" bs=$bs count=$count iflag=direct,skip_bytes skip=1536 status=none
	cmp -n $((bs * count)) "$work/data" "$work/back" || fail "blocks of $bs bytes do not come back"
done
for engine in psync libaio io_uring; do
	fio --name=v --filename="$dev" --rw=randwrite --bs=4k --size=2m --offset=16m --direct=1 --ioengine=$engine \
		--iodepth=32 --verify=crc32c --do_verify=1 --verify_state_save=0 >"$work/out" 2>&1 || fail "fio's verification with $engine"
done
simdisk_stop a

echo "partitions lie where they should"
simdisk a --partition=1M,2M --partition=8M,512K tiny
is "size of p1" "$(blockdev --getsize64 "${dev}p1")" 2097152
is "size of p2" "$(blockdev --getsize64 "${dev}p2")" 524288
is "sector 0 of p2" "$(dd if="${dev}p2" bs=512 count=1 iflag=direct status=none | od -An -tu8 -N8 | tr -d ' ')" 16384
simdisk_stop a

echo "sectors of 4096 bytes, and a file system"
simdisk a --sector-size=4096 tiny
is "logical block" "$(blockdev --getss "$dev")" 4096
dd if="$dev" of=/dev/null bs=512 count=1 iflag=direct 2>/dev/null && fail "a 4Kn disk was read in 512 bytes"
mkfs.ext4 -q "$dev" || fail mkfs
mkdir "$work/mnt"
mount "$dev" "$work/mnt" || fail mount
at_end "umount -l $work/mnt"
cp "$work/data" "$work/mnt/data" && sync -f "$work/mnt" || fail "writing a file"
umount "$work/mnt" || fail umount
fsck.ext4 -fn "$dev" >"$work/out" 2>&1 || fail "fsck: $(cat "$work/out")"
mount -o ro "$dev" "$work/mnt"
cmp "$work/data" "$work/mnt/data" || fail "the file differs"
umount "$work/mnt"
simdisk_stop a

echo "a read-only one refuses to be written"
simdisk a --read-only tiny
is "read-only" "$(blockdev --getro "$dev")" 1
dd if="$work/data" of="$dev" bs=4k count=1 oflag=direct 2>/dev/null && fail "it was written"
simdisk_stop a

echo "flushes reach the disk"
simdisk a tiny
dd if="$work/data" of="$dev" bs=64k count=4 oflag=direct conv=fsync,notrunc status=none || fail "dd conv=fsync"
[ "$(simdisk_status a | sed -n 's/.*"flushes": \([0-9]*\).*/\1/p')" -ge 1 ] || fail "no flush has come"
simdisk_stop a

echo "the Nth request fails, the others do not"
simdisk a --fail-at=read:3 tiny
dd if="$dev" of=/dev/null bs=4k count=2 iflag=direct status=none || fail "the first two"
dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct 2>"$work/err" && fail "the third read did not fail"
grep -q 'Input/output error' "$work/err" || fail "not EIO: $(cat "$work/err")"
dd if="$dev" of=/dev/null bs=4k count=1 iflag=direct status=none || fail "the fourth"
simdisk_stop a

echo "a disk that is gone: errors, and no size"
simdisk a --gone-at=1s tiny
fio --name=x --filename="$dev" --rw=randread --bs=4k --direct=1 --ioengine=psync --time_based --runtime=10 >"$work/out" 2>&1 &&
	fail "no error from a disk that is gone"
gone()
{
	for _ in $(seq 100); do
		size=$(blockdev --getsize64 "$dev")
		[ "$size" != 0 ] || return 0
		sleep 0.1
	done
}
gone
is "the size of a disk that is gone" "$size" 0
simdisk_stop a || fail "stop of a disk that is gone"
simdisk a --gone-at=500ms tiny # with nobody looking
sleep 0.7
gone
is "the size of a disk that went unseen" "$size" 0
simdisk_stop a

echo "run: devices in the environment and in the arguments"
# shellcheck disable=SC2016 # the inner shell's
simdisk_run tiny tiny -- sh -c '
	[ "$1" = "$SIMDISK_1" ] && [ "$2" = "of=$SIMDISK_2" ] && [ -b "$SIMDISK_1" ] && [ -b "$SIMDISK_2" ] &&
	[ "$SIMDISKS" = 2 ] && [ "$SIMDISK_1" != "$SIMDISK_2" ]' sh '{1}' 'of={2}' || fail "run's arguments"
no_litter "all of this"
