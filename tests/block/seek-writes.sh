#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The seek curve of writes on a real block device in real time, against the truth: seek times within 0.3 ms or 2 % beyond their own interval, what the head
# rests longer for a write, where a short run tells it, within 0.15 ms beyond its own. And without consent nothing is written.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt
: "${PLATTER:?the program to test}" "${TOP:?the source tree}"

profile=quantum-fireball-tm2110a # it has no write cache
cat >"$work/judge.py" <<'PY'
import json, sys

document, truth = (json.load(open(path)) for path in sys.argv[1:3])
settle = next(float(line.split()[1]) * 1e6 for line in open(sys.argv[3]) if line.startswith('write_settle_ms '))
figures, intervals, bad, untold = document['figures'], document['intervals'], 0, 0
for name, wanted, bound in (('write_average_seek_ns', truth['seek_average_ns'] + settle, 0.3e6),
                            ('write_full_stroke_ns', truth['seek_full_ns'] + settle, 0.3e6),
                            ('write_settle_ns', settle, 0.15e6)):
    if figures.get(name) is None: # as good as nothing is known then: only a disturbed machine excuses that
        untold += name != 'write_settle_ns' # of a short run: it wants four distances known of both
        print('%-22s not told: %s' % (name, [n['code'] for n in document['notices']]))
        continue
    off, half = figures[name] - wanted, (intervals[name][1] - intervals[name][0]) / 2
    if name != 'write_settle_ns':
        bound = max(bound, 0.02 * wanted)
    bad += abs(off) > bound + half or half > 2 * bound
    print('%-22s %7.3f ms, truth %7.3f, off %+.3f, half width %.3f' % (name, figures[name] / 1e6, wanted / 1e6, off / 1e6, half / 1e6))
accesses = document['tables']['accesses']
of = [row[[c['key'] for c in accesses['columns']].index('of')] for row in accesses['rows']]
print('%d accesses of writes' % sum(word.startswith('write') for word in of))
sys.exit(1 if bad or untold or 'write curve' not in of else 0)
PY

simdisk disk "$profile"
written() { simdisk_status disk | sed -n 's/.*"writes": \([0-9]*\).*/\1/p'; }

"$PLATTER" seek --quick --without=queue --write --quiet "$dev" >"$work/out" 2>&1
status=$?
[ "$status" = 3 ] && ok || bad "without consent: status $status instead of 3: $(cat "$work/out")"
[ "$(written)" = 0 ] && ok || bad "$(written) writes without consent"
[ "$failures" = 0 ] || finish

curve()
{
	"$SIMDISK" truth --json "$profile" >"$work/truth.json" || return
	chrt -f 5 "$PLATTER" seek --quick --without=queue --write --destroy-data="${dev##*/}" --quiet --json="$work/seek.json" "$dev" 2>"$work/err" ||
		fail "seek --write: $(cat "$work/err")"
	simdisk_status disk >"$work/status.json"
	python3 "$work/judge.py" "$work/seek.json" "$work/truth.json" "$PLATTER_SIMDISK_PROFILES/$profile.disk"
}
undisturbed curve && ok
[ "$(written)" -gt 100 ] && ok || bad "only $(written) writes"
[ "$failures" = 0 ] || finish
conclude
echo "$checks passed"
