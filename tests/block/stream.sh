#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `stream` on real files and block devices, whatever else the machine does: what it makes and removes, whom it asks, what it does when something goes wrong.
. "$(dirname "$0")/lib.sh"
need_simdisk
need jq mkfs.ext4 b2sum
: "${PLATTER:?the program}"

# stream STATUS [option or target]...: runs it to that exit status; the document is in $doc
doc=$work/result.json
stream()
{
	want=$1
	shift
	last="platter stream $*"
	rm -f "$doc"
	"$PLATTER" stream "$@" --quiet --json="$doc" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = "$want" ] || fail "$last: exit status $status, not $want: $(cat "$work/err"; jq -c '.notices' "$doc" 2>/dev/null)"
	ok
}
is() { jq -e "$1" "$doc" >/dev/null || fail "$last: not $1: $(jq -c '[.status, .figures, .tables.targets.rows, .tables.stalls.rows, .tables.overflows.rows, .notices]' "$doc")"; ok; }
cell() { jq -r --arg k "$2" --argjson r "$3" ".tables.$1 | (.columns | map(.key) | index(\$k)) as \$i | .rows[\$r][\$i]" "$doc"; }
says() { grep -q "$1" "$work/err" || fail "$last: no \"$1\" in: $(cat "$work/err")"; ok; }

# ---- files ----

image disk.img 400M
loop_new "$image"
mkfs.ext4 -q -O ^has_journal "$loop" || exit 1
mounted "$loop"
big=$mnt
mkdir "$big/a" "$big/b"
echo mine >"$big/a/platter-stream-1-0.data"
nothing_left() { [ "$(find "$big" -type f ! -path '*lost+found*' | wc -l)" = 1 ] && [ "$(cat "$big/a/platter-stream-1-0.data")" = mine ]; }

# (Rings that hold it all: how busy this machine is must not matter here.)
# Several files on one disk, rolling: five of each, preallocated before data come, the reserve free; and each block proven.
stream 0 --rate=40MB --size=80MiB --file-size=8MiB --buffer=80MiB --verify --keep "$big/a" "$big/b"
is '.figures | .sustained == 1 and .verified_blocks == 80 and .verify_errors == 0'
[ "$(find "$big/a" -name 'platter-stream-*' -size +8000k | wc -l)" -ge 5 ] || fail "$last: too few files in a"
[ "$(find "$big/b" -name 'platter-stream-*' -size +8000k | wc -l)" -ge 5 ] || fail "$last: too few files in b"
for file in "$big/a/platter-stream-"[0-9]*; do # kept: they say what they are, and can be played back
	[ "$(basename "$file")" = platter-stream-1-0.data ] || { head -c 16 "$file" | grep -q 'platter-data' || fail "$file has no header"; }
done
kept=$(find "$big/a" -name 'platter-stream-*-0.data' -size +8000k)
stream 0 --read --rate=40MB --buffer=64MiB "$kept"
is '.figures.sustained == 1 and .tables.targets.rows[0][1] >= 8388608'
stream 2 --write "$kept"
says "never written over"
find "$big/a" "$big/b" -name 'platter-stream-*' ! -name 'platter-stream-1-0.data' -delete
nothing_left || fail "more than the kept files: $(find "$big" -type f)"

# A name that is taken is not: the run ends, what is there stays.
stream_pid=$(sh -c 'echo theirs >"$1/platter-stream-$$-0.data"; echo $$; exec "$2" stream --rate=2MB --time=1s --quiet "$1" >"$3" 2>&1' \
	sh "$big/b" "$PLATTER" "$work/err") && fail "a name that was taken was used"
says "not overwritten"
[ "$(cat "$big/b/platter-stream-$stream_pid-0.data")" = theirs ] || fail "a file of somebody else was written over"
rm "$big/b/platter-stream-$stream_pid-0.data"
nothing_left || fail "a run that failed left something"

# More than there is room for is refused before anything is written; what fits keeps the reserve.
stream 1 --rate=40MB --time=60s "$big/a"
says "There is room for"
nothing_left || fail "$last left something"
# At full speed nobody knows how much will come, and it ends when all is full.
stream 0 --time=10m "$big/a"
is '.status == "ended-early" and (.figures.ended_by | test("were full"))'
nothing_left || fail "$last left something"
is_preallocated() { [ $(($(stat -c '%b * %B' "$1"))) -ge 28000000 ]; } # file
during_stream() # signal, status
{
	"$PLATTER" stream --rate=10MB --size=300MB --file-size=64MiB --quiet --json="$doc" "$big/a" >"$work/out" 2>"$work/err" &
	pid=$!
	until_there test -e "$big/a/platter-stream-$pid-4.data" || fail "no files while streaming"
	until_there is_preallocated "$big/a/platter-stream-$pid-4.data" || fail "the last file is not preallocated"
	free_bytes=$(($(stat -f -c '%a * %S' "$big"))) total_bytes=$(($(stat -f -c '%b * %S' "$big")))
	[ $free_bytes -ge $((total_bytes / 20)) ] || fail "$free_bytes of $total_bytes free: the reserve is gone"
	kill -s "$1" $pid
	wait $pid
	status=$?
	[ $status = "$2" ] || fail "SIG$1 gave exit status $status"
	nothing_left || fail "SIG$1 left $(find "$big" -type f)"
	jq -e '.status == "cancelled" and .figures.sustained == null' "$doc" >/dev/null || fail "SIG$1: the document"
	ok
}
during_stream INT 130
during_stream TERM 143

# A recording that is stopped or killed holds, and plays, what was recorded and no more.
for signal in INT KILL; do
	"$PLATTER" stream --rate=20MB --size=200MB --keep --quiet "$big/a" >"$work/out" 2>"$work/err" &
	pid=$!
	file=$big/a/platter-stream-$pid-0.data
	until_there test -e "$file" || fail "no file while streaming"
	sleep 3
	kill -s "$signal" $pid
	wait $pid
	[ "$signal" = KILL ] || [ "$(stat -c %s "$file")" -lt 150000000 ] || fail "$file was not cut: $(stat -c %s "$file") bytes"
	stream 0 --read --rate=20MB --buffer=80MB "$file"
	is '.tables.targets.rows[0][1] | . >= 1048576 and . < 150000000'
	[ "$signal" = INT ] || is 'any(.notices[]; .code == "interrupted")'
	rm "$file"
done
nothing_left || fail "stopped recordings left something"

# One of two directories is short of room: it is full earlier, and the other takes the rest.
image small.img 20M
loop_new "$image"
mkfs.ext4 -q -O ^has_journal "$loop" || exit 1
mounted "$loop"
stream 0 --rate=40MB --size=60MiB --block=256KiB --buffer=60MiB --verify "$big/a" "$mnt"
is '.figures | .sustained == 1 and .verify_errors == 0 and .verified_blocks == 240'
is 'any(.notices[]; .code == "room")'
[ "$(cell targets state 1)" = full ] || fail "$last: the small one is $(cell targets state 1)"
[ "$(find "$mnt" -name 'platter*' | wc -l)" = 0 ] || fail "$last left something"
nothing_left || fail "$last left something"

# Through the page cache: the fsync apart. Playing back begins cold.
stream 0 --mode=cached --rate=100MB --size=40MiB --keep "$big/a"
is '.figures | .fsync_ns > 0 and .synced_bytes_per_s > 0'
kept=$(find "$big/a" -name 'platter-stream-*-0.data' -size +8000k)
cat "$kept" >/dev/null
stream 0 --mode=cached --read "$kept"
is 'all(.notices[]; .code != "warm")'
rm "$kept"

# Memory is no disk: distinguished; with --mode=cached it is written.
mounted -t tmpfs -o size=32M none
stream 1 --rate=4MB --time=1s "$mnt"
says "cached"
stream 0 --mode=cached --rate=10MB --time=1s "$mnt"
[ -z "$(ls "$mnt")" ] || fail "$last left something"

# ---- devices ----

# The gate: nothing without the word, nothing without consent.
image gate.img 64M
dd if=/dev/urandom of="$image" bs=1M count=64 conv=notrunc status=none
loop_new "$image"
gate=$loop name=$(basename "$loop")
unchanged "$image" stream 2 --time=1s "$gate"
says "destroy-data=$name"
unchanged "$image" stream 3 --write --time=1s "$gate"
unchanged "$image" stream 3 --write --destroy-data=sdzz --time=1s "$gate"
unchanged "$image" stream 0 --read --size=32MiB "$gate"
stream 0 --write "--destroy-data=$name" --size=32MiB --verify "$gate"
is '.figures | .verified_blocks == 32 and .verify_errors == 0'

# A device that is thinner than it says: no room below it is "full", the other goes on.
mounted -t tmpfs -o size=12M none
truncate -s 64M "$mnt/thin"
loop_new "$mnt/thin"
thin=$loop
stream 4 --write "--destroy-data=$name" "--destroy-data=$(basename "$thin")" --rate=20MB --size=60MB --block=256KiB "$gate" "$thin"
[ "$(cell targets state 1)" = full ] || [ "$(cell targets state 1)" = lost ] || fail "$last: the thin one is $(cell targets state 1)"
[ "$(cell targets state 0)" = good ] || fail "$last: the other one is $(cell targets state 0)"
is 'any(.faults[]; .errno == "ENOSPC" or .errno == "EIO")'
[ "$(cell targets bytes 0)" -gt 40000000 ] || fail "$last: the other one did not go on"

# ---- simulated disks ----

profiles=$PLATTER_SIMDISK_PROFILES
for what in 'bad 20000 8 rw 1' 'gone_at_s 4'; do
	{ cat "$profiles/ibm-deskstar-60gxp.disk"; echo "$what"; } >"$work/${what%% *}.disk"
done

# One unreadable place, one disk that goes: both are reported, the rest goes on.
simdisk bad "$work/bad.disk"
bad_dev=$dev
simdisk good ibm-deskstar-60gxp
good_dev=$dev
simdisk gone "$work/gone_at_s.disk"
stream 4 --read --rate=30MB --time=6s --buffer=32MiB "$bad_dev" "$good_dev" "$dev"
is '.status == "with-errors" and .figures.sustained == 0'
[ "$(cell targets state 0) $(cell targets state 1) $(cell targets state 2)" = "errors good lost" ] ||
	fail "$last: $(cell targets state 0), $(cell targets state 1), $(cell targets state 2)"
[ "$(cell targets bytes 1)" -gt $(($(cell targets bytes 2) + 10000000)) ] ||
	fail "$last: the good one did not go on: $(cell targets bytes 1) bytes, the one that went $(cell targets bytes 2)"
simdisk_stop gone --force >/dev/null 2>&1
finish
