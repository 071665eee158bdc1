#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# geometry on simulated disks as real block devices, in real time: rotation within 100 ppm in 7 s, tracks of the start, the middle and the end,
# a whole run with zones, surfaces and layout; interrupted; on a device that does not rotate.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt timeout

cat >"$work/judge.py" <<'PY'
import json, sys

def rpm(result, wanted):
    got = result['figures']['rotation_rpm']
    off = got / wanted - 1 if got else 1
    print('rpm %s (%+.1f ppm)' % (got, off * 1e6))
    return abs(off) <= 100e-6

def tracks(result, wanted):
    figures = result['figures']
    got = [figures[place + '_sectors_per_track'] for place in ('start', 'middle', 'end')]
    print('sectors per track %s, wanted %s, skew %s' % (got, wanted, figures['skew_ratio']))
    return got == wanted

def whole(result, sectors):
    """0: all is right; 1: something is wrong and nothing says so; 3: not all was reported, and that was said."""
    figures, zones = result['figures'], result['tables'].get('zones', {'columns': [], 'rows': []})
    keys = [column['key'] for column in zones['columns']]
    codes = [notice['code'] for notice in result['notices']]
    rows = [dict(zip(keys, row)) for row in zones['rows']]
    for row in rows:
        print(row)
    print('surfaces %s, %s: %s; notices %s' % (figures['surfaces'], figures['layout'], figures['confidence'], codes))
    # 60 cylinders of 3 surfaces each
    edges = [0, 180 * sectors[0] * 512]
    is_unclear = bool({'unclear-zones', 'layout-unknown', 'not-to-the-end', 'out-of-time'} & set(codes))
    if figures['surfaces'] is not None and (figures['surfaces'], figures['layout']) != (3, 'head-first'):
        return 1
    if any(row['certainty'] == 'sure' and row['sectors_per_track'] not in sectors for row in rows):
        return 1
    if figures['surfaces'] == 3 and [(row['first_byte'], row['sectors_per_track']) for row in rows] == list(zip(edges, sectors)):
        return 0
    return 3 if is_unclear else 1

result = json.load(open(sys.argv[2]))
wanted = [int(word) for word in sys.argv[4].split(',')]
good = rpm(result, float(sys.argv[3]))
if sys.argv[1] == 'quick':
    good = tracks(result, wanted) and good
status = whole(result, wanted) if sys.argv[1] == 'whole' else 0
sys.exit(status if good else 1)
PY

measured() # what is judged, profile, rpm, tracks, options...
{
	what=$1 profile=$2 wanted=$3 sectors=$4
	shift 4
	# shellcheck disable=SC2016 # the inner shell's
	simdisk_run "$profile" -- sh -c '
		out=$1 simdisk=$2 status=$3 platter=$4
		shift 4
		chrt -f 5 "$platter" geometry "$@" --quiet --json="$out" "$SIMDISK_1" || exit
		"$simdisk" status --run-dir "$SIMDISK_RUN_DIR" --json "$SIMDISK_NAME_1" >"$status"' \
		sh "$work/geometry.json" "$SIMDISK" "$work/status.json" "$PLATTER" "$@" 2>"$work/err"
	a_result $? platter geometry "$@"
	python3 "$work/judge.py" "$what" "$work/geometry.json" "$wanted" "$sectors"
}

undisturbed measured quick quantum-fireball-tm2110a 4500 232,177,104 --quick
# The whole walk, on a disk that is small enough for it. On a busy host not all can be reported, and then that is said; what is reported is true.
cat >"$work/small.disk" <<'EOF'
name small
model PLATTER SMALL
serial SMALL001
rpm 7200
surfaces 3
seek 1.3 0.25 40 2.4 0.012
head_switch_ms 0.7
overhead_ms 0.15
hit_overhead_ms 0.03
cache_kb 512
segments 2
layout head-first
zone 60 200
zone 60 160
EOF
whole()
{
	measured whole "$work/small.disk" 7200 200,160 --time=50s
	or_untold $? "not all was reported, and that was said"
}
told whole "the whole walk"

# Interrupted in the middle: what was measured is there, the rotation among it.
cat >"$work/partial.py" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
figures = result['figures']
print(result['status'], figures['rotation_rpm'], figures['surfaces'], figures['layout'])
sys.exit(not (result['status'] == 'cancelled' and abs((figures['rotation_rpm'] or 0) / 7200 - 1) <= 100e-6 and figures['surfaces'] is None and figures['layout'] is None))
PY
interrupted()
{
	timeout --preserve-status -s INT 7 chrt -f 5 "$PLATTER" geometry --quiet --json="$work/part.json" "$dev" >"$work/out"
	status=$?
	echo "status $status"
	[ "$status" = 130 ] && python3 "$work/partial.py" "$work/part.json"
}
simdisk interrupted tiny
undisturbed interrupted

# A file on a file system does not turn, and that is no failure.
image still 64M
loop_new "$image"
still()
{
	"$PLATTER" geometry --quiet --json="$work/still.json" "$loop" >"$work/out" 2>"$work/err"
	a_result $? geometry on a device without rotation
	python3 - "$work/still.json" <<-'PY'
		import json, sys
		result = json.load(open(sys.argv[1]))
		assert 'not-rotating' in [notice['code'] for notice in result['notices']], result['notices']
		assert result['figures']['rotation_rpm'] is None and result['figures']['surfaces'] is None
	PY
}
undisturbed still
conclude
