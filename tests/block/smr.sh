#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `smr` in a folder of a mounted file system, ext4 and xfs, on a simulated disk that shingles: that is found. The file goes on every exit. On the device itself
# with --rewrite: killed at random moments (SMR_KILLS of them, default 1), it never leaves a byte changed.
. "$(dirname "$0")/lib.sh"
need jq timeout mkfs.ext4
: "${PLATTER:?the program}"
need_simdisk

for name in one two; do
	cat >"$work/$name.disk" <<-END
	name $name
	serial SMR$name
	rpm 15000
	surfaces 4
	cache_kb 8192
	queue_depth 32
	overhead_ms 0.1
	seek 0.8 0.05
	head_switch_ms 0.7
	interface_mbs 500
	physical_sector 4096
	write_cache_kb 1024
	write_start 0.2
	write_delay_ms 100
	media_cache_kb 262144 1500 0
	media_cache_idle_ms 2000
	shingle_band_kb 16384
	zone 250 1600
	END
done

used() { df --output=used -B1 "$mnt" | tail -1; }

# in_folder FILE-SYSTEM PROFILE: its mount point in $mnt
in_folder()
{
	simdisk "$2" "$work/$2.disk"
	"mkfs.$1" -q "$dev" >"$work/mkfs" 2>&1 || fail "mkfs.$1: $(cat "$work/mkfs")"
	mounted "$dev"
}

# A killed one may still be on its way out, with a file in its hands.
leave() # PROFILE
{
	for _ in $(seq 100); do
		umount "$mnt" 2>/dev/null && break
		sleep 0.1
	done
	simdisk_stop "$1"
}

empty() # after what
{
	left=$(ls -A "$mnt" | grep -v '^lost+found$')
	[ -z "$left" ] && ok || bad "left after $1: $left"
}

# Here the file counts, and that nothing false is reported: where the machine stalls it may stay undecided. That it decides is for virtual time
# (unit/test_smr.c) to show.
verdict() # seconds
{
	before=$(used)
	timeout 90 "$PLATTER" smr --range=0-1GiB --time="${1}s" "$mnt" --quiet --json="$work/r.json" >"$work/out" 2>"$work/err"
	status=$?
	told=$(jq -r .figures.shingled "$work/r.json")
	echo "$told: $(jq -r .figures.reason "$work/r.json"); band $(jq .figures.band_bytes "$work/r.json"), entries $(jq .figures.cache_entries "$work/r.json")"
	case $told,$status in
	yes,0 | undecided,6) ok ;;
	*) bad "exit status $status with $told: $(cat "$work/err")" ;;
	esac
	empty "a run"
	[ "$(used)" -lt $((before + 8000000)) ] && ok || bad "$(used) bytes are in use afterwards, $before before"
}

killed() # signals
{
	for signal in "$@"; do
		timeout -s "$signal" 1 "$PLATTER" smr --range=0-512MiB "$mnt" --quiet >"$work/out" 2>&1
		empty "SIG$signal"
	done
}

in_folder ext4 one
verdict 12
killed INT TERM KILL
"$PLATTER" smr --range=0-8GiB "$mnt" >"$work/out" 2>"$work/err" && bad "8 GiB found room" || ok
grep -q 'room\|free' "$work/err" && ok || bad "no room: $(cat "$work/err")"
empty "a refusal"
leave one

if command -v mkfs.xfs >/dev/null && grep -qw xfs /proc/filesystems; then
	in_folder xfs two
	verdict 6
	killed INT KILL
	leave two
fi
# A small disk, so that its bytes can be looked at after each kill.
same_bytes() # after what
{
	[ "$(b2sum <"$dev")" = "$bytes" ] && ok || bad "a byte is another one after $1"
}

rewrite()
{
	timeout -k 60 -s "$1" "$2" "$PLATTER" smr --rewrite --rewrite-data="${dev##*/}" --time=3s --journal="$journal" "$dev" --quiet \
		--json="$work/r.json" >"$work/out" 2>"$work/err"
	status=$?
}

sed 's/^name.*/name three/; s/^serial.*/serial SMRthree/; s/^rpm.*/rpm 15000/; s/^zone.*/zone 22 400/; s/^media_cache_kb.*/media_cache_kb 65536 500 0/' "$work/one.disk" >"$work/three.disk"
simdisk three "$work/three.disk"
mkdir -m 700 "$work/journals" "$work/small"
journal=$work/small
mount -t tmpfs -o size=32m none "$journal" || fail "no tmpfs"
at_end "umount '$journal' 2>/dev/null"
bytes=$(b2sum <"$dev")
rewrite TERM 60
[ "$status" != 0 ] && grep -q 'needed at' "$work/err" && ok || bad "no room for the journal: exit status $status, $(cat "$work/err")"
umount "$journal"
journal=$work/journals found=0 number=${KILL_SEED:-1}
for kill in $(seq "${SMR_KILLS:-1}"); do
	number=$(((number * 1103515245 + 12345) % 2147483648))
	rewrite KILL "$(awk -v n="$number" 'BEGIN { printf "%.2f", 0.5 + 2 * n / 2147483648 }')"
	[ "$status" = 137 ] || echo "it ended before: $status"
	found=$((found + $(find "$journal" -type f | wc -l)))
	same_bytes "SIGKILL $kill"
done
for try in 1 2 3 4 5; do # the killed one may still be on its way out
	rewrite TERM 150
	grep -q 'Another run\|in use\|busy' "$work/err" || break
	sleep "$try"
done
case $status in 0 | 6) true ;; *) false ;; esac && jq -e '.figures.compared_bytes > 0' "$work/r.json" >/dev/null && ok || bad "after SIGKILL: exit status $status, $(cat "$work/err")"
same_bytes "a whole run"
[ -z "$(find "$journal" -type f)" ] && ok || bad "a journal is left"
echo "killed ${SMR_KILLS:-1} times, $found times with a journal"
simdisk_stop three
finish
