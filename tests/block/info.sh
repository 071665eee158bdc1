#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `platter info` on devices whose truth is known, and that it writes nothing. Usage: info.sh PLATTER
. "$(dirname "$0")/lib.sh"
platter=$1
need mkfs.ext4 mkswap sfdisk jq blockdev

json=$work/out.json
info() { "$platter" info --quiet --json="$json" "$@" 2>"$work/err"; }
# holds "what is looked at" JQ_EXPRESSION
holds() { if jq -e "$2" "$json" >/dev/null; then ok; else bad "$1: not true: $2"; jq -c '{targets, figures}' "$json"; fi; }

image disk 64M
printf 'label: gpt\nsize=8M\nsize=16M\n' | sfdisk -q "$image" 2>/dev/null
loop_new "$image"
disk=$loop d=${loop#/dev/}
part "$disk" 1 2048 16384; p1=$part
part "$disk" 2 18432 32768; p2=$part
mkfs.ext4 -q -F -L "the label" -E lazy_itable_init=0,nodiscard "$p1" || exit 1
before=$(sum "$image")
info "$disk" || bad "status $?: $(cat "$work/err")"
[ "$before" = "$(sum "$image")" ] && ok || bad "info has written"
holds "identity" ".targets[0] | .path == \"$disk\" and .kind == \"disk\" and .size_bytes == 67108864 and .transport == \"loop\" and .below == \"$image\""
holds "partitions" '.tables.partitions | .rows | length == 2'
holds "places" '.tables.partitions.rows | map([.[2], .[3]]) == [[1048576, 8388608], [9437184, 16777216]]'
holds "the table is found" '.tables.signatures.rows | map(.[2]) | index("gpt") != null'
holds "the label is reported" '.tables.signatures.rows | map(.[3]) | tostring | contains("the label")'
holds "what it would take" ".figures.write | contains(\"--destroy-data=$d\") and contains(\"--overwrite-signature=gpt\") and contains(\"--overwrite-signature=ext4\")"
info "$p2"
holds "partition" ".targets[0] | .kind == \"partition\" and .disk == \"$d\" and .partition_offset_bytes == 9437184 and .size_bytes == 16777216"
holds "nothing is on it" '.tables.signatures == null and .tables.devices.rows[0][5] == 0'

mounted "$p1" -o noatime
info "$disk"
holds "mounted" ".tables.users.rows[0] | .[1] == \"${d}p1\" and .[2] == \"mounted\" and .[4] == \"$mnt\""
holds "and therefore not to be written" '.figures.write | startswith("no: ")'
umount "$mnt"

ln -s "$disk" "$work/a link"
info "$work/a link"
holds "through a link" ".targets[0] | .name == \"$d\" and .path == \"$work/a link\""

truncate -s 4M "$work/blob" && head -c 4M /dev/urandom >"$work/blob"
loop_new "$work/blob" --read-only
info "$loop"
holds "read-only" '.targets[0].read_only == 1 and (.figures.write | contains("read-only"))'
holds "random data" '.tables.devices.rows[0][5] == 64 and (.notices | map(.code) | index("data") != null)'

image sectors 16M
if losetup --help 2>&1 | grep -q sector-size && loop_new "$image" --sector-size 4096; then
	info "$loop"
	holds "4096-byte sectors" '.targets[0] | .logical_block_bytes == 4096 and .dio_offset_align_bytes == 4096'
fi

info "$work" "$work/blob" || bad "status $?"
holds "folder and file" '.targets | map(.kind) == ["directory", "file"]'
holds "sentence for each" '.figures | has("write_blob")'

"$platter" info "$work/nothing" >/dev/null 2>"$work/err"; status=$?
[ $status = 1 ] && grep -q "$work/nothing" "$work/err" && ok || bad "a missing device: status $status: $(cat "$work/err")"
"$platter" info /dev/null >/dev/null 2>"$work/err"; status=$?
[ $status = 1 ] && grep -q "character device" "$work/err" && ok || bad "a character device: status $status: $(cat "$work/err")"
"$platter" info --quick --json="$work/all.json" >/dev/null 2>&1; status=$?
[ $status = 0 ] && grep -q "${disk##*/}" "$work/all.json" && ok || bad "no device, which is all disks: status $status"

# nothing is opened for writing
if command -v strace >/dev/null; then
	strace -f -e trace=open,openat -o "$work/trace" "$platter" info "$disk" >/dev/null 2>&1
	if grep -E "\"/dev/loop" "$work/trace" | grep -qE 'O_RDWR|O_WRONLY'; then bad "opened for writing"; else ok; fi
fi

# A disk that answers no read, and takes a second for each: some are asked, not a hundred and thirty. The bound is 15 times what it takes.
need_simdisk
{ cat "$TOP/tools/simdisk/profiles/tiny.disk"; echo "bad 0 768000 r 120"; } >"$work/dead.disk"
simdisk dead "$work/dead.disk"
timeout 60 "$platter" info --quiet --json="$json" "$dev" 2>"$work/err" && ok || bad "a dead disk: status $?: $(cat "$work/err")"
holds "it cannot be read" '.tables.signatures.rows | any(.[2] == "unreadable")'
finish
