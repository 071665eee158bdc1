#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `platter zones` on real block devices that take as long as disks would: start, middle and end against the truth of their bytes, several
# partitions at once, and a signal at several moments. PLATTER_LONG=1 does all profiles.
. "$(dirname "$0")/lib.sh"
need_simdisk
need jq chrt
: "${PLATTER:?the program to test}"

profiles="quantum-fireball-tm2110a ibm-deskstar-60gxp samsung-hd103sj"
[ -z "${PLATTER_LONG:-}" ] || profiles="quantum-fireball-tm2110a ibm-deskstar-60gxp maxtor-diamondmax-80 modern-4tb samsung-hd103sj
toshiba-x300 seagate-medalist-st39140a seagate-cheetah-15k7 failing"

# The rates that the document says, against the truth of the very bytes that it names.
within_a_percent() # PROFILE
{
	chrt -f 5 "$PLATTER" zones --zones=start,middle,end --quiet --json="$work/zones.json" "$dev" >"$work/said" 2>&1
	simdisk_status "${1}" >"$work/status.json" 2>/dev/null
	ranges=$(jq -r '.tables.spots.rows[] | "--range=\(.[1]),\(.[2] + 1 - .[1])"' "$work/zones.json") || return 1
	# shellcheck disable=SC2086 # one word each
	"$SIMDISK" truth --json $ranges "$1" >"$work/truth.json" || return 1
	jq -r --arg disk "$1" --slurpfile truth "$work/truth.json" '
		[.tables.spots.rows, $truth[0]] | transpose[] |
		"\($disk) \(.[0][0]): \(.[0][3] / 1e3 | round) kB/s, truth \(.[1].rate_bytes_per_s / 1e3 | round), " +
		"off \(1e5 * (.[0][3] / .[1].rate_bytes_per_s - 1) | round / 1e3) %"' "$work/zones.json"
	jq -e --slurpfile truth "$work/truth.json" '
		[.tables.spots.columns[].key][:4] == ["figure", "first_byte", "last_byte", "rate_bytes_per_s"] and
		[.tables.spots.rows[][0]] == ["start", "middle", "end"] and
		([[.tables.spots.rows, $truth[0]] | transpose[] | .[0][3] / .[1].rate_bytes_per_s - 1 | fabs] | max) < 0.01' \
		"$work/zones.json" >/dev/null
}

for profile in $profiles; do
	simdisk "$profile" "$profile"
	undisturbed within_a_percent "$profile"
	simdisk_stop "$profile"
done

# several partitions of one disk at once
simdisk tiny tiny
part "$dev" 1 2048 100000; p1=$part
part "$dev" 2 300000 100000; p2=$part
part "$dev" 3 600000 100000; p3=$part
together()
{
	"$PLATTER" zones --zones=start,end --time=3s --quiet --json="$work/parts.json" "$p1" "$p2" "$p3" >"$work/said" 2>"$work/err"
	a_result $? zones of partitions
	simdisk_status tiny >"$work/status.json"
	jq -e '(.status == "complete" or .status == "ended-early") and (.tables.places.rows | length) == 3 and .figures.start_bytes_per_s > 0 and
		.figures.end_bytes_per_s > 0 and ([.tables.spots.rows[][0]] == ["start", "middle", "end"])' "$work/parts.json" >/dev/null ||
		{ echo "partitions: $(jq -c .figures "$work/parts.json")"; return 1; }
}
undisturbed together && ok
for n in 1 2 3; do delpart "$dev" $n; done

# a signal at several moments
cut_after() # seconds
{
	rm -f "$work/cut.json"
	"$PLATTER" zones --json="$work/cut.json" --quiet "$dev" >"$work/said" 2>&1 & pid=$!
	sleep "$1"
	kill -INT $pid
	wait $pid
	status=$?
	simdisk_status tiny >"$work/status.json"
	# Before the program has set itself up the signal ends it as any other, without a document.
	[ $status = 130 ] || fail "interrupted after $1 s: status $status: $(cat "$work/said")"
	[ ! -e "$work/cut.json" ] || jq -e '.status == "cancelled"' "$work/cut.json" >/dev/null || fail "interrupted after $1 s: no valid document"
	! pgrep -P $pid >/dev/null || fail "interrupted after $1 s: a child is left"
	[ "$1" != 3 ] || jq -e '.tables.samples.rows | length > 1' "$work/cut.json" >/dev/null ||
		{ echo "interrupted after $1 s: nothing of what was measured is there"; return 1; }
}
for s in 0.05 0.3 0.9 3; do
	undisturbed cut_after $s && ok
done
simdisk_stop tiny
[ $failures -gt 0 ] || conclude
no_litter "all"
finish
