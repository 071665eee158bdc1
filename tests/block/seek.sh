#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# seek on real block devices in real time: the curve against the truth, an interrupt, and a device that does not rotate.
# (fio on the same reads: vs-fio.sh.)
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt
: "${PLATTER:?the program to test}" "${TOP:?the source tree}"

cat >"$work/judge.py" <<'PY'
import json, sys

document, truth = (json.load(open(path)) for path in sys.argv[1:3])
figures, bad, why_not = document['figures'], 0, 0
for name, key, bound in (('third_stroke_ns', 'seek_third_ns', 0.3e6), ('average_seek_ns', 'seek_average_ns', 0.3e6),
                         ('full_stroke_ns', 'seek_full_ns', 0.3e6), ('track_to_track_ns', 'seek_track_ns', 0.3e6)):
    if figures.get(name) is None: # without an overhead: what is reported with it may be right, but here it is to be distinguished
        why_not += 1
        print('%-20s not told; with overhead %s ms' % (name, (figures.get(name.replace('_ns', '_with_overhead_ns')) or float('nan')) / 1e6))
        continue
    off = figures[name] - truth[key]
    bad += abs(off) > max(bound, 0.02 * truth[key])
    print('%-20s %8.3f ms, truth %8.3f, off %+.3f' % (name, figures[name] / 1e6, truth[key] / 1e6, off / 1e6))
# Spans: within 1.5 %, or what chance explains of so few reads (three standard errors).
expected = {round(r['span_bytes']): r['service_ns'] for r in truth['random']}
table = document['tables']['spans']
keys = [c['key'] for c in table['columns']]
compared = 0
for row in (dict(zip(keys, r)) for r in table['rows']):
    if row['span_bytes'] not in expected or row['mean_ns'] is None or row['anchor'] not in ('start', 'whole'):
        continue
    off, error = row['mean_ns'] / expected[row['span_bytes']] - 1, (row['high'] - row['low']) / 2 / 1.96 / row['mean_ns']
    bad += abs(off) > max(0.015, 3 * error)
    compared += 1
    print('%-8s %14d bytes %8.3f ms, off %+.2f %%, standard error %.2f %%' % (row['anchor'], row['span_bytes'], row['mean_ns'] / 1e6, 100 * off, 100 * error))
bad += compared < 2
# The seek time at each distance, against the curve that the profile gives by cylinders: within 0.3 ms, or what chance explains where only random reads show it.
profile = {words[0]: [float(w) for w in words[1:]] for words in map(str.split, open(sys.argv[3])) if words and words[0] in ('seek', 'settle_ms')}
a, b, knee, c, e = profile['seek']
table = document['tables']['curve']
keys = [k['key'] for k in table['columns']]
worst = 0
for row in (dict(zip(keys, r)) for r in table['rows']):
    cylinders = row['stroke_ratio'] * (truth['cylinders'] - 1)
    if row['seek_ns'] is None:
        why_not += 1
        continue
    off = row['seek_ns'] - 1e6 * (profile['settle_ms'][0] + (a + b * cylinders ** 0.5 if cylinders < knee else c + e * cylinders))
    worst = off if abs(off) > abs(worst) else worst
    bad += abs(off) > max(0.3e6, 3 * (row['high'] - row['low']) / 2 / 1.96)
print('curve: %d distances, off by %+.3f ms at most' % (len(table['rows']), worst / 1e6))
for name in ('curve', 'spans', 'near', 'queue'):
    if not document['tables'].get(name, {}).get('rows'):
        why_not += 1
        print('table %s has no rows' % name)
# What chance kept from being reported is no error: how often a short run reports it, boards in virtual time show.
sys.exit(1 if bad else 3 if why_not else 0)
PY

profile=seagate-medalist-st39140a
simdisk drive "$profile"
drive=$dev
curves()
{
	"$SIMDISK" truth --json "$profile" >"$work/truth.json" || return
	chrt -f 5 "$PLATTER" seek --quick --quiet --json="$work/seek.json" "$drive" 2>"$work/err"
	a_result $? platter seek
	simdisk_status drive >"$work/status.json"
	python3 "$work/judge.py" "$work/seek.json" "$work/truth.json" "$PLATTER_SIMDISK_PROFILES/$profile.disk"
	or_untold $? "not all was reported, and nothing false"
}

simdisk disk tiny
interrupted()
{
	chrt -f 5 "$PLATTER" seek --quiet --json="$work/part.json" "$dev" >"$work/out" 2>"$work/err" &
	pid=$!
	sleep 10 # the rotation takes about seven
	kill -INT $pid
	wait $pid
	status=$?
	[ "$status" = 130 ] || fail "SIGINT: status $status instead of 130"
	"$PLATTER" report "$work/part.json" >"$work/out" 2>&1 || fail "the interrupted document is not readable"
	simdisk_status disk >"$work/status.json"
	# On a disturbed machine the rotation may not be known by then.
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(d["status"], d["figures"]["rotation_rpm"])
sys.exit(d["status"] != "cancelled" or not d["figures"]["rotation_rpm"])' "$work/part.json"
}
undisturbed interrupted && ok

# ---- what does not depend on a quiet machine ----

truncate -s 64M "$work/image"
loop_new "$work/image"
[ "$failures" = 0 ] || finish

# ---- times ----

# Told that it does not rotate, and no tables but spans and queue.
still()
{
	"$PLATTER" seek --quick --quiet --json="$work/loop.json" "$loop" >"$work/out" 2>"$work/err"
	a_result $? seek on a loop device
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
codes = [n["code"] for n in d["notices"]]
tables = d["tables"]
print(codes, list(tables))
sys.exit("not-rotating" not in codes or "curve" in tables or "near" in tables or not tables["spans"]["rows"] or not tables["queue"]["rows"])' \
		"$work/loop.json"
}
undisturbed still

told curves "the curves"
[ "$failures" = 0 ] || finish
conclude
echo "$checks passed"
