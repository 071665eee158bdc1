#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries to get past the write gate. Every refusal is checked for its exit status, for what it says, and by comparing the bytes before and after.
# Usage: safety.sh PERMIT_TOOL
. "$(dirname "$0")/lib.sh"
tool=${insisting_tool:-$1}
need mkfs.ext4 mkswap swapon sfdisk wipefs python3

ext4() { mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0,nodiscard "$@" || exit 1; }

# refused "what is tried" FILE "words of the message" [more words...] -- tool arguments
refused()
{
	name=$1 file=$2
	shift 2
	words=()
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	outs=$(swap_outs) before=$(sum "$file")
	said=$("$tool" "$@" 2>&1)
	status=$?
	after=$(sum "$file")
	[ $status -eq 3 ] || { bad "$name: status $status instead of 3: $said"; return; }
	[ "$before" = "$after" ] || swapped_out || { bad "$name: refused, but the bytes have changed"; return; }
	for word in "${words[@]}"; do
		case $said in
		*"$word"*) ;;
		*) bad "$name: the message does not say '$word': $said"; return ;;
		esac
	done
	ok
}

# written "what is tried" FILE -- tool arguments
written()
{
	name=$1 file=$2
	shift 3
	before=$(sum "$file")
	said=$("$tool" "$@" 2>&1)
	status=$?
	after=$(sum "$file")
	if [ $status -ne 0 ]; then
		bad "$name: status $status: $said"
	elif [ "$before" = "$after" ]; then
		bad "$name: nothing was written"
	else
		ok
	fi
}

fresh() # a new empty disk of 16 MiB in $loop over $image, kernel name in $n
{
	image "disk$1" 16M
	loop_new "$image"
	n=${loop#/dev/}
}

# ---- consent ----
fresh consent
other=$n
fresh consent2
refused "no consent" "$image" "Writing destroys" "--destroy-data=$n" 16.8 -- "$loop"
refused "consent that names another disk" "$image" "--destroy-data=$other does not name this device" "--destroy-data=$n" -- -c "$other" "$loop"
refused "consent by path" "$image" "--destroy-data=$n" -- -c "$loop" "$loop"
refused "empty consent" "$image" "--destroy-data=$n" -- -c "" "$loop"
refused "consent with a blank" "$image" "--destroy-data=$n" -- -c "$n " "$loop"
refused "consent that is a prefix" "$image" "--destroy-data=$n" -- -c "${n%?}" "$loop"
refused "consent in capitals" "$image" "--destroy-data=$n" -- -c "${n^^}" "$loop"
written "an empty disk with consent" "$image" -- -c "$n" "$loop"
truncate -s 0 "$image" && truncate -s 16M "$image"
written "two consents, one of them right" "$image" -- -c "$other" -c "$n" "$loop"
truncate -s 0 "$image" && truncate -s 16M "$image"
ln -s "$loop" "$work/link1" && ln -s link1 "$work/link2"
written "through two links, named by kernel name" "$image" -- -c "$n" "$work/link2"
refused "consent by the name of a link" "$image" "--destroy-data=$n" -- -c link2 "$work/link2"
truncate -s 0 "$image" && truncate -s 16M "$image"
refused "put back, without the name" "$image" "--rewrite-data=$n" -- -k same "$loop"
refused "put back, another named" "$image" "--rewrite-data=$other does not name" -- -k same -b "$other" "$loop"
refused "consent to put back is none to destroy" "$image" "--destroy-data=$n" -- -b "$n" "$loop"
written "put back, by name" "$image" -- -k same -b "$n" "$loop"

# ---- mounts ----
fresh mount
ext4 "$loop"
mounted "$loop" -o noatime; hostmnt=$mnt
refused "mounted" "$image" "$n is mounted on $mnt (ext4)" "unmount it first" -- -c "$n" -s ext4 "$loop"
refused "mounted, put back" "$image" "is mounted on $mnt" -- -k same "$loop"
refused "mounted, through a link" "$image" "is mounted on $mnt" -- -c "$n" -s ext4 "$(ln -sf "$loop" "$work/l" && echo "$work/l")"
mknod "$work/odd-node" b "$(lsblk -dno MAJ:MIN "$loop" | tr -d ' ' | cut -d: -f1)" "$(lsblk -dno MAJ:MIN "$loop" | tr -d ' ' | cut -d: -f2)"
refused "mounted, through another node" "$image" "is mounted on $mnt" -- -c "$n" -s ext4 "$work/odd-node"
mkdir "$work/second place" && mount --bind "$mnt" "$work/second place" && at_end "umount '$work/second place'"
refused "mounted twice" "$image" "is mounted on $work/second place" -- -c "$n" -s ext4 "$loop"
umount "$work/second place"
# a file on the disk that is loop-mounted
truncate -s 8M "$mnt/inner" && ext4 "$mnt/inner"
host=$loop hostn=$n hostimage=$image
loop_new "$mnt/inner"
mounted "$loop" -o noatime
refused "a file on it is loop-mounted" "$hostimage" "${loop#/dev/} is a loop device over" "is mounted on $mnt" -- -c "$hostn" -s ext4 "$host"
umount "$mnt"; loop_end "$loop"
# a swap file on it
head -c 4M /dev/zero >"$hostmnt/swapfile"; chmod 600 "$hostmnt/swapfile"; sync "$hostmnt/swapfile"
if mkswap -q "$hostmnt/swapfile" >/dev/null && swapon "$hostmnt/swapfile" 2>/dev/null; then
	at_end "swapoff $hostmnt/swapfile"
	refused "a swap file on it" "$hostimage" "$hostn is in use as swap space" "swapoff $hostmnt/swapfile" -- -c "$hostn" -s ext4 "$host"
	swapoff "$hostmnt/swapfile"
fi
rm -f "$hostmnt/swapfile"
# our own output on it
refused "output on its file system" "$hostimage" "The output $(dirname "$mnt")/" "lies on $hostn" -- -c "$hostn" -s ext4 -o "$(findmnt -no TARGET "$host")/out.json" "$host"
umount "$(findmnt -no TARGET "$host")"
refused "output is the device" "$hostimage" "The output $host lies on $hostn" -- -c "$hostn" -s ext4 -o "$host" "$host"
refused "output is a link to the device" "$hostimage" "The output $work/l lies on" -- -c "$hostn" -s ext4 -o "$work/l" "$host"
written "output elsewhere, signature named" "$hostimage" -- -c "$hostn" -s ext4 -o "$work/out.json" "$host"

# ---- partitions ----
image parts 32M
loop_new "$image"
disk=$loop d=${loop#/dev/} pimage=$image
part "$disk" 1 2048 16384; p1=$part
part "$disk" 2 20480 16384; p2=$part
refused "disk named, partition meant" "$pimage" "--destroy-data=$d does not name" "--destroy-data=${d}p1" -- -c "$d" "$p1"
refused "partition named, disk meant" "$pimage" "--destroy-data=${d}p1 does not name" -- -c "${d}p1" "$disk"
refused "the other partition named" "$pimage" "--destroy-data=${d}p2 does not name" -- -c "${d}p2" "$p1"
ext4 "$p1"
refused "a partition has a file system" "$pimage" "${d}p1 carries ext4" "--overwrite-signature=ext4" -- -c "$d" "$disk"
mounted "$p1" -o noatime
refused "a partition is mounted" "$pimage" "${d}p1 is mounted on $mnt" -- -c "$d" -s ext4 "$disk"
written "another partition is mounted" "$pimage" -- -c "${d}p2" "$p2"
umount "$mnt"
mkswap -q "$p2" >/dev/null && swapon "$p2" && at_end "swapoff $p2"
refused "a partition is swap" "$pimage" "${d}p2 is in use as swap space" "swapoff $p2" -- -c "$d" -s ext4 -s swap "$disk"
refused "the partition is swap" "$pimage" "${d}p2 is in use as swap space" -- -c "${d}p2" -s swap "$p2"
swapoff "$p2"
refused "one of two signatures named" "$pimage" "${d}p2 carries swap" -- -c "$d" -s ext4 "$disk"
loop_new "$p1"
refused "a partition has a loop device" "$pimage" "${loop#/dev/} is a loop device over $p1" "losetup -d" -- -c "$d" -s ext4 -s swap "$disk"
refused "the partition has a loop device" "$pimage" "${loop#/dev/} is a loop device" -- -c "${d}p1" -s ext4 "$p1"
mounted "$loop" -o noatime
refused "a loop device over a partition is mounted" "$pimage" "is mounted on $mnt" -- -c "$d" -s ext4 -s swap "$disk"
umount "$mnt"; loop_end "$loop"
loop_new "$disk"
refused "a loop device over the whole disk, partition meant" "$pimage" "${loop#/dev/} is a loop device" -- -c "${d}p1" -s ext4 "$p1"
loop_end "$loop"
written "all signatures named" "$pimage" -- -c "$d" -s ext4 -s swap "$disk"

# ---- swap ----
fresh swap
mkswap -q "$loop" >/dev/null && swapon "$loop" && at_end "swapoff $loop"
refused "swap" "$image" "$n is in use as swap space" "swapoff $loop" -- -c "$n" -s swap "$loop"
swapoff "$loop"
refused "swap signature" "$image" "$n carries swap" -- -c "$n" "$loop"

# ---- loop devices ----
fresh lower
lower=$loop lown=$n lowimage=$image
ext4 "$lower"
loop_new "$lower"
upper=$loop
refused "held by another loop device" "$lowimage" "${upper#/dev/} is a loop device over $lower" -- -c "$lown" -s ext4 "$lower"
mounted "$lower" -o noatime
refused "a loop device over what is mounted" "$lowimage" "$lown is mounted on $mnt" -- -c "${upper#/dev/}" -s ext4 "$upper"
umount "$mnt"; loop_end "$upper"
# the same file twice
loop_new "$lowimage"
twin=$loop
refused "another loop device over the same file" "$lowimage" "${twin#/dev/} is a loop device over $lowimage" -- -c "$lown" -s ext4 "$lower"
loop_end "$twin"
ln "$lowimage" "$work/hard-link"
loop_new "$work/hard-link"
refused "a loop device over a hard link of the file" "$lowimage" "${loop#/dev/} is a loop device" -- -c "$lown" -s ext4 "$lower"
loop_end "$loop"
image halves 32M
loop_new "$image" --offset 0 --sizelimit 16777216; first=$loop
loop_new "$image" --offset 16777216; second=$loop
written "two loop devices over two halves" "$image" -- -c "${first#/dev/}" "$first"
loop_end "$first"; loop_end "$second"

# ---- signatures ----
try_signature() # name, what libblkid calls it
{
	refused "$1 signature" "$image" "$n carries $2" "--overwrite-signature=$2" -- -c "$n" "$loop"
	refused "$1 signature, another named" "$image" "$n carries $2" -- -c "$n" -s "not-$2" "$loop"
	refused "$1 signature named, no consent" "$image" "--destroy-data=$n" -- -s "$2" "$loop"
}
fresh ext4; ext4 -L "some label" "$loop"
try_signature ext4 ext4
refused "the label is reported" "$image" 'labelled "some label"' -- -c "$n" "$loop"
written "ext4 named" "$image" -- -c "$n" -s ext4 "$loop"
fresh gpt; printf 'label: gpt\nsize=4M\n' | sfdisk -q "$loop" 2>/dev/null
try_signature GPT gpt
dd if=/dev/zero of="$loop" bs=512 count=34 conv=notrunc,fsync status=none
refused "only the backup of a GPT" "$image" "carries gpt" -- -c "$n" "$loop"
fresh dos; printf 'label: dos\nsize=4M\n' | sfdisk -q "$loop" 2>/dev/null
try_signature DOS dos
fresh lvm; "$(dirname "$0")/signatures.py" lvm "$image"
try_signature LVM LVM2_member
fresh raid; "$(dirname "$0")/signatures.py" raid "$image"
try_signature RAID linux_raid_member
fresh luks; "$(dirname "$0")/signatures.py" luks "$image"
try_signature LUKS crypto_LUKS
fresh both; ext4 "$loop"; "$(dirname "$0")/signatures.py" raid-end "$image"
refused "two signatures, one named" "$image" "carries linux_raid_member" -- -c "$n" -s ext4 "$loop"
refused "two signatures, the other named" "$image" "carries ext4" -- -c "$n" -s linux_raid_member "$loop"
written "two signatures, both named" "$image" -- -c "$n" -s ext4 -s linux_raid_member "$loop"

# ---- read-only ----
image ro 16M
loop_new "$image" --read-only; n=${loop#/dev/}
refused "read-only device" "$image" "$n is read-only" -- -c "$n" "$loop"
fresh setro; blockdev --setro "$loop"
refused "device set read-only" "$image" "$n is read-only" "blockdev --setrw" -- -c "$n" "$loop"

# ---- what nobody sees ----
fresh hidden; ext4 "$loop"
if unshare -m true 2>/dev/null; then
	mkdir "$work/hidden"
	unshare -m --propagation private sh -c "mount -o noatime $loop $work/hidden && touch $work/up && sleep 60" & ns=$!
	at_end "kill $ns"
	until_there test -e "$work/up"
	refused "mounted in another name space" "$image" "$n is in use" -- -c "$n" -s ext4 "$loop"
	kill $ns $(pgrep -P $ns) 2>/dev/null; wait $ns 2>/dev/null
fi
fresh journal; mke2fs -q -F -b 4096 -O journal_dev "$loop"
journal=$loop jn=$n jimage=$image
fresh journaled; mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,nodiscard -J device="$journal" "$loop"
mounted "$loop" -o noatime
refused "the journal of a mounted file system" "$jimage" "$jn is in use" -- -c "$jn" -s jbd "$journal"
umount "$mnt"
fresh open
sleep 60 1<>"$loop" & pid=$!
at_end "kill $pid"
refused "open for writing" "$image" "$n is open for writing by sleep (process $pid)" -- -c "$n" "$loop"
kill $pid; wait $pid 2>/dev/null
sleep 60 <"$loop" & pid=$!
at_end "kill $pid"
written "open for reading" "$image" -- -c "$n" "$loop"
kill $pid; wait $pid 2>/dev/null
if command -v mkfs.btrfs >/dev/null && grep -qw btrfs /proc/filesystems; then
	image b1 128M; loop_new "$image"; b1=$loop
	image b2 128M; loop_new "$image"; b2=$loop
	mkfs.btrfs -q -f -d single -m raid1 "$b1" "$b2" >/dev/null 2>&1 || exit 1
	# Read only, since btrfs commits by itself some time after a mount that may write, and the bytes are compared.
	mounted "$b1" -o ro,noatime
	refused "second device of a mounted btrfs" "$image" "${b2#/dev/} is mounted" -- -c "${b2#/dev/}" -s btrfs "$b2"
	umount "$mnt"
fi
if dmsetup version 2>/dev/null | grep -q '^Driver'; then
	fresh dm
	dmsetup create "platter-test-$$" --table "0 32768 linear $loop 0" && at_end "dmsetup remove platter-test-$$"
	refused "held by a mapping" "$image" "$n is part of dm-" "dmsetup remove" -- -c "$n" "$loop"
	dmsetup remove "platter-test-$$"
fi

# ---- the lock of udev and sfdisk, on the whole disk ----
fresh locked
flock -s "$loop" -c "touch $work/locked; exec sleep 60" & pid=$!
at_end "pkill -P $pid; kill $pid"
until_there test -e "$work/locked"
refused "locked by another program" "$image" "$n is locked by another program" -- -c "$n" "$loop"
part "$loop" 1 2048 8192
refused "its partition likewise" "$image" "is locked by another program" -- -c "${n}p1" "$part"
pkill -P $pid; kill $pid; wait $pid 2>/dev/null
flock -x "$loop" -c "touch $work/brief; sleep 0.5" &
until_there test -e "$work/brief"
written "locked for a moment, as udev does: waited for" "$image" -- -c "$n" "$loop"
wait $!

# ---- what cannot be seen ----
fresh unseen
if unshare -pf --mount-proc true 2>/dev/null; then
	real_tool=$tool; tool=in_space
	in_space() { unshare -pf --mount-proc "$real_tool" "$@"; }
	refused "in a name space of processes of its own" "$image" "cannot all be seen" "--despite=namespace" -- -c "$n" "$loop"
	refused "the same, put back" "$image" "--despite=namespace" -- -k same -b "$n" "$loop"
	written "the same, insisted upon" "$image" -- -c "$n" -i namespace "$loop"
	tool=$real_tool
fi

# ---- races ----
fresh race; ext4 "$loop"; mkdir "$work/race"; at_end "umount $work/race"
cp "$image" "$work/race.before"
said=$("$tool" -c "$n" -s ext4 -r "mount -o ro,noatime $loop $work/race" "$loop" 2>&1); status=$?
case "$status $said" in
"3 "*"$n is mounted on $work/race"*) ok ;;
*) bad "mounted after the look: status $status: $said" ;;
esac
umount "$work/race"
cmp -s "$image" "$work/race.before" && ok || bad "mounted after the look: refused, but the bytes have changed"
# The number goes to another disk between look and permit; unless it went to somebody else, who took it in that moment.
for try in 1 2 3 4 5; do
	fresh "swapped$try"; old=$image
	image other 16M
	said=$(flock "$LOOP_LOCK" "$tool" -c "$n" -r "losetup -d $loop && losetup $loop $image" "$loop" 2>&1); status=$?
	case $said in
	*"resource busy"*) ;;
	*) break ;;
	esac
done
at_end "loop_end $loop '$(loop_of "$loop")'"
case "$status $said" in
"1 "*"is no longer the device"*) ok ;;
*) bad "exchanged after the look: status $status: $said" ;;
esac
[ "$(tr -d '\0' <"$old" | wc -c)$(tr -d '\0' <"$image" | wc -c)" = 00 ] && ok || bad "exchanged after the look: bytes have changed"
fresh link1; one=$image one_dev=$loop one_n=$n
fresh link2
ln -sfn "$one_dev" "$work/moving"
before=$(sum "$image")
written "a link that moves after the look: written is what was looked at" "$one" -- -c "$one_n" -r "ln -sfn $loop $work/moving" "$work/moving"
[ "$before" = "$(sum "$image")" ] && ok || bad "a link that moves: the other disk was written"

# ---- while a permit is held ----
fresh held; ext4 "$loop"; sig=$image
"$tool" -k same -b "$n" -w 30 "$loop" >"$work/held.out" 2>&1 & holder=$!
at_end "kill $holder"
until_there grep -qs held "$work/held.out"
mkdir "$work/late"
mount "$loop" "$work/late" 2>/dev/null && { bad "mounted while a permit is held"; umount "$work/late"; } || ok
refused "a second platter" "$sig" "$n is locked by another program" "open for writing" -- -k same -b "$n" "$loop"
flock -n "$loop" true && bad "what others lock is not locked while a permit is held" || ok
kill $holder; wait $holder 2>/dev/null

# ---- a permit is for one device ----
fresh mine; mine=$loop mine_n=$n
fresh theirs
before=$(sum "$image")
said=$("$tool" -c "$mine_n" -x "$loop" "$mine" 2>&1); status=$?
case "$status $said" in
"1 "*"is no longer the device"*) ok ;;
*) bad "the permit of another device: status $status: $said" ;;
esac
[ "$before" = "$(sum "$image")" ] && ok || bad "the permit of another device: bytes have changed"
said=$("$tool" -c "${d}p2" -s swap -x "$disk" "$p2" 2>&1); status=$?
[ $status -eq 1 ] && ok || bad "the permit of a partition used for its disk: status $status: $said"

# ---- files ----
echo precious >"$work/precious"
refused "a file of somebody else" "$work/precious" "not made by platter" -- "$work/precious"
refused "a file of somebody else, put back" "$work/precious" "not made by platter" -- -k same "$work/precious"
"$tool" -d 4M "$work/ours" || bad "no file made"
written "a file of ours" "$work/ours" -- "$work/ours"
"$tool" "$work/ours" && ok || bad "a file of ours again: its header was not put back"
ln -s precious "$work/link-to-precious"
refused "a link to a file of somebody else" "$work/precious" "not made by platter" -- "$work/link-to-precious"
refused "a directory" "$work/precious" "directory" -- "$work"
loop_new "$work/ours"
refused "a file of ours under a loop device" "$work/ours" "is a loop device" -- "$work/ours"
loop_end "$loop"
refused "a file of ours as its own output" "$work/ours" "The output $work/ours" -- -o "$work/ours" "$work/ours"
finish
