#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# seek and geometry with each engine, on block devices of 512, 512 emulated and 4096-byte sectors.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt
: "${PLATTER:?the program to test}"

cat >"$work/judge.py" <<'PY'
import json, sys

engine, seek, geometry = sys.argv[1], *(json.load(open(path)) for path in sys.argv[2:4])
unclear = 0
for name, document in (('seek', seek), ('geometry', geometry)):
    codes = [notice['code'] for notice in document['notices']]
    rpm = document['figures']['rotation_rpm']
    print('%s: %s %s, %s rpm, %s' % (engine, name, document['head']['engine'], rpm, document['status']))
    assert document['head']['engine'] == engine, document['head']['engine']
    assert document['status'] in ('complete', 'ended-early') and not document['faults'], document['status']
    if rpm is None:
        assert 'rotation-unclear' in codes, codes
        unclear = 3
    elif abs(rpm / 7200 - 1) > 100e-6:
        unclear = unclear or 1
block = {int(row[[c['key'] for c in seek['tables']['spans']['columns']].index('samples')]) for row in seek['tables']['spans']['rows']}
assert max(block) >= 40, block
sys.exit(unclear)
PY

disk() # name, logical, physical bytes of a sector
{
	sed "s/^rpm/sector $2\\nphysical_sector $3\\nrpm/" "$PLATTER_SIMDISK_PROFILES/tiny.disk" >"$work/$1.disk"
	simdisk "$1" "$work/$1.disk"
	[ "$(blockdev --getss "$dev")" = "$2" ] || fail "$1: sectors of $(blockdev --getss "$dev") bytes"
}

measured() # engine, device
{
	at=$work/$1
	chrt -f 5 "$PLATTER" seek --engine="$1" --quick --without=curve,queue --count=40 --quiet --json="$at.seek" "$2" >"$at.out" || return
	chrt -f 5 "$PLATTER" geometry --engine="$1" --quick --time=7s --quiet --json="$at.geometry" "$2" >"$at.out" || return
	python3 "$work/judge.py" "$1" "$at.seek" "$at.geometry"
}

disk native 512 512
native=$dev
disk emulated 512 4096
emulated=$dev
disk large 4096 4096
large=$dev
all_at_once()
{
	measured uring "$native" & uring=$!
	measured libaio "$emulated" & libaio=$!
	measured sync "$large" & sync=$!
	all=0
	for one in $uring $libaio $sync; do wait $one || all=1; done
	return $all
}
undisturbed all_at_once
conclude
