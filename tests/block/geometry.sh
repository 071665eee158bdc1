#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# geometry on simulated disks as real block devices, in real time: rotation within 100 ppm in 10 s, tracks of the start, the middle and the end,
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
    figures, zones = result['figures'], result['tables'].get('zones', {'columns': [], 'rows': []})
    keys = [column['key'] for column in zones['columns']]
    if not keys:
        return False
    got = [row[keys.index('sectors_per_track')] for row in zones['rows']]
    first = [row[keys.index('first_byte')] for row in zones['rows']]
    print('surfaces %s, %s, zones %s at %s' % (figures['surfaces'], figures['layout'], got, first))
    # 200 cylinders of 4 surfaces each
    return figures['surfaces'] == 4 and figures['layout'] == 'head-first' and got == sectors and \
        first == [0, 800 * 400 * 512, 800 * (400 + 320) * 512]

result = json.load(open(sys.argv[2]))
wanted = [int(word) for word in sys.argv[4].split(',')]
good = rpm(result, float(sys.argv[3]))
if sys.argv[1] != 'rpm':
    good = tracks(result, wanted) and good
if sys.argv[1] == 'whole':
    good = whole(result, wanted) and good
sys.exit(not good)
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
		sh "$work/geometry.json" "$SIMDISK" "$work/status.json" "$PLATTER" "$@" || return
	python3 "$work/judge.py" "$what" "$work/geometry.json" "$wanted" "$sectors"
}

undisturbed measured rpm tiny 7200 0 --quick --time=10s
undisturbed measured quick quantum-fireball-tm2110a 4500 232,177,104 --quick
# The jitter of a host makes edges that are none (see CAVEATS): the whole walk is judged in virtual time, here only by hand.
[ -z "${PLATTER_LONG:-}" ] || undisturbed measured whole tiny 7200 400,320,240

# Interrupted in the middle: what was measured is there.
cat >"$work/partial.py" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
figures = result['figures']
print(result['status'], figures['rotation_rpm'], figures['surfaces'], figures['layout'])
sys.exit(not (result['status'] == 'cancelled' and figures['rotation_rpm'] and figures['surfaces'] is None and figures['layout'] is None))
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
"$PLATTER" geometry --quiet --json="$work/still.json" "$loop" >"$work/out" 2>"$work/err" ||
	fail "status $? on a device without rotation: $(cat "$work/err")"
python3 - "$work/still.json" <<'PY' || fail "a device without rotation was not told as such"
import json, sys
result = json.load(open(sys.argv[1]))
assert 'not-rotating' in [notice['code'] for notice in result['notices']], result['notices']
assert result['figures']['rotation_rpm'] is None and result['figures']['surfaces'] is None
PY
conclude
