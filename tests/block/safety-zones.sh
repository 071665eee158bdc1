#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The write gate as users meet it: `platter zones --write` and --rewrite, refused and allowed, with the bytes compared.
# (safety.sh has the many cases.) Needs $PLATTER.
. "$(dirname "$0")/lib.sh"
need mkfs.ext4 mkswap sfdisk jq cmp

well() { case $status in 0 | 6) true ;; *) false ;; esac; } # 6: the samples of a loop device may scatter too far for a rate
zones() { "$PLATTER" zones --zones=start,middle,end --time=2s --block=256KiB --journal="$work/journal" "$@"; }
elsewhere journal

ext4() { mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0,nodiscard "$@" || exit 1; }

# refused "what is tried" FILE "words of the message"... -- arguments
refused()
{
	name=$1 file=$2
	shift 2
	words=()
	while [ "$1" != -- ]; do words+=("$1"); shift; done
	shift
	outs=$(swap_outs) before=$(sum "$file")
	said=$(zones "$@" 2>&1 >/dev/null)
	status=$?
	[ $status -eq 3 ] || { bad "$name: status $status instead of 3: $said"; return; }
	[ "$before" = "$(sum "$file")" ] || swapped_out || { bad "$name: refused, but the bytes have changed"; return; }
	for word in "${words[@]}"; do
		case $said in
		*"$word"*) ;;
		*) bad "$name: the message does not say '$word': $said"; return ;;
		esac
	done
	ok
}

fresh()
{
	image "disk$1" 64M
	loop_new "$image"
	n=${loop#/dev/}
}

fresh other; other=$n
fresh consent
refused "no consent" "$image" "Writing destroys" "--destroy-data=$n" -- --write "$loop"
refused "wrong consent" "$image" "does not name this device" -- --write --destroy-data="$other" "$loop"
before=$(sum "$image")
zones --write --destroy-data="$n" --dry-run "$loop" >"$work/plan" 2>&1 && ok || bad "dry run: $(cat "$work/plan")"
[ "$before" = "$(sum "$image")" ] && ok || bad "a dry run has written"
zones --write --dry-run "$loop" 2>&1 | tr -s ' \n' ' ' | grep -q "would be refused.*destroy-data=$n" && ok || bad "a dry run does not report the refusal"
refused "output on the device itself" "$image" -- --write --destroy-data="$n" --log="$loop" "$loop"
status=0; zones --write --destroy-data="$n" --json="$work/out.json" --quiet "$loop" >"$work/said" 2>&1 || status=$?
well && ok || bad "with consent: status $status: $(cat "$work/said")"
[ "$before" != "$(sum "$image")" ] && ok || bad "with consent: nothing was written"
jq -e '.status == "complete"' "$work/out.json" >/dev/null && ok || bad "with consent: not complete"

# "may hold data": said in the dry run, and before anything is written
head -c "$(stat -c %s "$image")" /dev/urandom | dd of="$image" bs=1M iflag=fullblock conv=notrunc status=none
zones --write --destroy-data="$n" --dry-run "$loop" 2>&1 | tr -s ' \n' ' ' | grep -q "may hold data" && ok || bad "a dry run does not report data without a signature"
zones --write --destroy-data="$n" --log="$work/warned" "$loop" >/dev/null 2>"$work/said"
grep -q "warning: .*may hold data" "$work/said" && ok || bad "data without a signature: not reported on stderr: $(cat "$work/said")"
# put back: random data stay
fresh rewrite
head -c 64M /dev/urandom | dd of="$image" conv=notrunc bs=1M status=none
cp "$image" "$work/copy"
refused "put back, without the name" "$image" "--rewrite-data=$n" -- --rewrite "$loop"
status=0; zones --rewrite --rewrite-data="$n" --json="$work/out.json" --quiet "$loop" >"$work/said" 2>&1 || status=$?
well && ok || bad "rewrite: status $status: $(cat "$work/said")"
sync "$image"
cmp -s "$image" "$work/copy" && ok || bad "rewrite: the bytes have changed"
[ -z "$(find "$work/journal" -type f)" ] && ok || bad "rewrite: a journal was left"

fresh mount; ext4 "$loop"; mounted "$loop" -o noatime
refused "mounted" "$image" "$n is mounted on $mnt" "unmount it first" -- --write --destroy-data="$n" --overwrite-signature=ext4 "$loop"
refused "mounted, put back" "$image" "$n is mounted on $mnt" -- --rewrite "$loop"
ln -s "$loop" "$work/link"
refused "mounted, through a link" "$image" "$n is mounted on $mnt" -- --write --destroy-data="$n" --overwrite-signature=ext4 "$work/link"
refused "json on the target" "$image" "$mnt" -- --rewrite --json="$mnt/out.json" "$loop"
# The log is a file in a file system that is in use, which writes it when it likes: all else has to stay.
head -c 1M /dev/urandom >"$mnt/file"; sync -f "$mnt"; before=$(b2sum <"$mnt/file")
status=0; zones --rewrite --log="$mnt/log" "$loop" >/dev/null 2>"$work/said" || status=$?
[ $status -eq 3 ] && grep -qF "$mnt" "$work/said" && ok || bad "log on the target: status $status: $(cat "$work/said")"
grep -q "Nothing is written to" "$mnt/log" && ok || bad "log on the target: the refusal is not in it"
[ "$(dd if="$mnt/file" bs=1M iflag=direct status=none | b2sum)" = "$before" ] && [ "$(ls -m "$mnt")" = "file, log, lost+found" ] && ok || bad "log on the target: $(ls "$mnt")"
rm "$mnt/file" "$mnt/log"
unmounted "$mnt" "$loop"
refused "ext4" "$image" "carries ext4" "--overwrite-signature=ext4" -- --write --destroy-data="$n" "$loop"

image parts 64M; loop_new "$image"; disk=$loop d=${loop#/dev/}
part "$disk" 1 2048 32768; p1=$part
part "$disk" 2 40960 65536; p2=$part
refused "one of two targets has no consent" "$image" "--destroy-data=${d}p2" -- --write --destroy-data="${d}p1" "$p1" "$p2"
ext4 "$p1"; mounted "$p1" -o noatime
refused "a partition is mounted" "$image" "${d}p1 is mounted on $mnt" -- --write --destroy-data="$d" --overwrite-signature=ext4 "$disk"
refused "the disk named for a partition" "$image" "does not name this device" -- --write --destroy-data="$d" "$p2"
p1_before=$(dd if="$image" bs=512 skip=2048 count=32768 status=none | b2sum)
status=0; zones --write --destroy-data="${d}p2" --quiet "$p2" >"$work/said" 2>&1 || status=$?
well && ok || bad "another partition: status $status: $(cat "$work/said")"
[ "$p1_before" = "$(dd if="$image" bs=512 skip=2048 count=32768 status=none | b2sum)" ] && ok || bad "the neighbour was written"
umount "$mnt"

fresh swap; mkswap -q "$loop" >/dev/null; swapon "$loop" && at_end "swapoff $loop"
refused "swap" "$image" "in use as swap" "swapoff" -- --write --destroy-data="$n" --overwrite-signature=swap "$loop"
swapoff "$loop"

fresh held; lower=$loop ln=$n limage=$image; loop_new "$lower"
refused "held by another loop device" "$limage" "is a loop device over $lower" "losetup -d" -- --write --destroy-data="$ln" "$lower"
loop_end "$loop"

fresh gpt; printf 'label: gpt\nsize=4M\n' | sfdisk -q "$loop" 2>/dev/null
refused "GPT" "$image" "carries gpt" -- --write --destroy-data="$n" "$loop"
for kind in lvm:LVM2_member raid:linux_raid_member luks:crypto_LUKS; do
	fresh "${kind%%:*}"; "$(dirname "$0")/signatures.py" "${kind%%:*}" "$image"
	refused "$kind" "$image" "carries ${kind##*:}" "--overwrite-signature=${kind##*:}" -- --write --destroy-data="$n" "$loop"
done

image ro 16M; loop_new "$image" --read-only; n=${loop#/dev/}
refused "read-only" "$image" "$n is read-only" -- --write --destroy-data="$n" "$loop"

head -c 64M /dev/urandom >"$work/precious"
refused "a file of somebody else" "$work/precious" "not made by platter" -- --write "$work/precious"
refused "a file of somebody else, put back" "$work/precious" "not made by platter" -- --rewrite "$work/precious"

# two targets that are one place
fresh twice
said=$(zones --write --destroy-data="$n" "$loop" "$loop" 2>&1 >/dev/null); status=$?
case "$status $said" in
"2 "*"same place"*) ok ;;
*) bad "the same disk twice: status $status: $said" ;;
esac

# a signal in the middle of a write: the permit goes, nothing stays open
fresh signal
zones --write --destroy-data="$n" --time=30s --precision=0.0001 --json="$work/cut.json" --log="$work/cut.log" --quiet "$loop" & pid=$!
while kill -0 $pid 2>/dev/null && ! grep -qs 'pass 1 of' "$work/cut.log"; do sleep 0.05; done # it is well under way
pkill -INT -P $pid platter || kill -INT $pid
wait $pid; status=$?
# on a fast machine the small device is written before the signal comes
[ $status -eq 130 ] || well && ok || bad "interrupted: status $status"
jq -e .status "$work/cut.json" >/dev/null && ok || bad "interrupted: no valid document"
mkdir "$work/free"; ext4 "$loop" && mount "$loop" "$work/free" && umount "$work/free" && ok || bad "interrupted: the device is still held"
finish
