#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `platter zones` on real block devices that take as long as disks would: start, middle and end against the truth of their bytes, several
# partitions at once, and a signal at several moments. PLATTER_LONG=1 does all profiles.
. "$(dirname "$0")/lib.sh"
need_simdisk
need jq python3
: "${PLATTER:?the program to test}"

profiles="quantum-fireball-tm2110a ibm-deskstar-60gxp"
[ -z "${PLATTER_LONG:-}" ] || profiles="quantum-fireball-tm2110a ibm-deskstar-60gxp maxtor-diamondmax-80 modern-4tb samsung-hd103sj
toshiba-x300 seagate-medalist-st39140a seagate-cheetah-15k7 failing"

# The truth of the bytes: where the surfaces are equal, the rate of the recording zones that the row touches.
within_a_percent() # PROFILE
{
	"$PLATTER" zones --zones=start,middle,end --quiet --json="$work/zones.json" "$dev" >"$work/said" 2>&1
	simdisk_status "${1}" >"$work/status.json" 2>/dev/null
	"$SIMDISK" truth --json "${PLATTER_SIMDISK_PROFILES%%:*}/$1.disk" >"$work/truth.json" || return 1
	python3 - "$work/truth.json" "$work/zones.json" "$1" <<'PY'
import json, sys
truth, doc = (json.load(open(p)) for p in sys.argv[1:3])
table = doc['tables']['spots']
keys = [c['key'] for c in table['columns']]
zones, off = truth['zones'], 0
for row in (dict(zip(keys, r)) for r in table['rows']):
    here = [z for z in zones if z['first_byte'] <= row['last_byte'] and z['end_byte'] > row['first_byte']]
    # A surface of its own density is as much faster or slower as its tracks are longer or shorter.
    rates = []
    for z in here:
        spt = [n for n in z.get('sectors_per_track', []) if n] or [1]
        mean = sum(spt) / len(spt)
        rates += [z['sustained_bytes_per_s'] * n / mean for n in (min(spt), max(spt))]
    low, high, got = min(rates), max(rates), row['rate_bytes_per_s']
    worst = max(got / high - 1, low / got - 1, 0)
    off = max(off, worst)
    print('%s %-6s %.3f MB/s, truth %.3f .. %.3f' % (sys.argv[3], row['figure'], got / 1e6, low / 1e6, high / 1e6))
sys.exit(0 if len(table['rows']) == 3 and off < 0.01 else 1)
PY
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
"$PLATTER" zones --zones=start,end --time=3s --quiet --json="$work/parts.json" "$p1" "$p2" "$p3" >"$work/said" 2>&1 ||
	bad "partitions: $(cat "$work/said")"
jq -e '.status == "complete" and (.tables.places.rows | length) == 3 and .figures.start_bytes_per_s > 0 and
	.figures.end_bytes_per_s > 0 and ([.tables.spots.rows[][0]] == ["start", "middle", "end"])' \
	"$work/parts.json" >/dev/null && ok || bad "partitions: $(jq -c .figures "$work/parts.json")"
for n in 1 2 3; do delpart "$dev" $n; done

# a signal at several moments
for s in 0.05 0.3 0.9 2.1; do
	rm -f "$work/cut.json"
	"$PLATTER" zones --json="$work/cut.json" --quiet "$dev" >"$work/said" 2>&1 & pid=$!
	sleep $s
	kill -INT $pid
	wait $pid
	status=$?
	# Before the program has set itself up the signal ends it as any other, without a document.
	if [ $status -ne 130 ]; then
		bad "interrupted after $s s: status $status: $(cat "$work/said")"
	elif [ -e "$work/cut.json" ] && ! jq -e '.status == "cancelled"' "$work/cut.json" >/dev/null; then
		bad "interrupted after $s s: no valid document"
	elif [ $s = 2.1 ] && ! jq -e '.tables.samples.rows | length > 1' "$work/cut.json" >/dev/null; then
		bad "interrupted after $s s: nothing of what was measured is there"
	elif pgrep -P $pid >/dev/null; then
		bad "interrupted after $s s: a child is left"
	else
		ok
	fi
done
simdisk_stop tiny
[ $failures -gt 0 ] || conclude
no_litter "all"
finish
