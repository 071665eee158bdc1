#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# geometry --quick on simulated disks as real block devices, in real time: rotation within 100 ppm, sectors per track at the start, in the middle and at the end.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt

cat >"$work/judge.py" <<'PY'
import json, sys

wanted_rpm, tracks = float(sys.argv[2]), [int(word) for word in sys.argv[3].split(',')]
figures = json.load(open(sys.argv[1]))['figures']
off = figures['rotation_rpm'] / wanted_rpm - 1 if figures['rotation_rpm'] else 1
got = [figures[place + '_sectors_per_track'] for place in ('start', 'middle', 'end')]
print('rpm %s (%+.1f ppm), sectors per track %s, wanted %s, skew %s' % (figures['rotation_rpm'], off * 1e6, got, tracks, figures['skew_ratio']))
sys.exit(abs(off) > 100e-6 or got != tracks)
PY

quick() # profile, rpm, tracks
{
	# shellcheck disable=SC2016 # the inner shell's
	simdisk_run "$1" -- sh -c '
		out=$1 simdisk=$2 status=$3 platter=$4
		chrt -f 5 "$platter" geometry --quick --quiet --json="$out" "$SIMDISK_1" || exit
		"$simdisk" status --run-dir "$SIMDISK_RUN_DIR" --json "$SIMDISK_NAME_1" >"$status"' \
		sh "$work/geometry.json" "$SIMDISK" "$work/status.json" "$PLATTER" || return
	python3 "$work/judge.py" "$work/geometry.json" "$2" "$3"
}

undisturbed quick tiny 7200 400,320,240
undisturbed quick quantum-fireball-tm2110a 4500 232,177,104
conclude
