#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# buffer on a real block device in real time: segments (their number exactly, sizes within 10 %), the write cache (5 %) and flushes against the truth, and
# FUA, which no loop device knows. Reading ahead is not judged here: it is asked after a pause, and a host that has slept answers later than hits do.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt
: "${PLATTER:?the program to test}"

cat >"$work/buffered.disk" <<'DISK'
name buffered
model PLATTER BUFFERED
serial BUFFERED0001
surfaces 2
rpm 7200
queue_depth 32
overhead_ms 0.1
hit_overhead_ms 0.04
seek 0.8 0.05
head_switch_ms 0.7
interface_mbs 400
physical_sector 4096
cache_kb 2048
segments 8
write_cache_kb 1024
write_start 0.5
zone 8000 330
DISK
cat >"$work/judge.py" <<'PY'
"""0: all is right; 1: something is wrong; 3: not all was reported, and nothing is wrong."""
import json, sys

result = json.load(open(sys.argv[1]))
f, status = result['figures'], 0
for name, truth, part in (('segments', 8, 0), ('segment_bytes', 262144, 0.1), ('buffer_bytes', 2097152, 0.1), ('write_cache_bytes', 1048576, 0.05),
                          ('sizing', 'fixed', None), ('keeps_before', 'no', None), ('write_cache', 'on', None), ('flush', 'waits for the media', None)):
    told = f.get(name)
    print(name, told, 'truth', truth)
    if told is None:
        status = status or 3
    elif told != truth if part is None else abs(told / truth - 1) > part:
        status = 1
print('notices', [notice['code'] for notice in result['notices']])
sys.exit(status)
PY

simdisk disk "$work/buffered.disk"
answers()
{
	rm -f "$work/buffer.json"
	chrt -f 5 "$PLATTER" buffer --write --destroy-data="${dev##*/}" --range=0-256MiB --time=2m --quiet --json="$work/buffer.json" "$dev" >"$work/out" 2>&1
	status=$?
	simdisk_status disk >"$work/status.json"
	[ $status = 0 ] || [ $status = 5 ] || { echo "exit status $status"; cat "$work/out"; return 1; }
	python3 "$work/judge.py" "$work/buffer.json"
	or_untold $? "not all was reported, and nothing false"
}
told answers "the buffer's answers"

# Whatever the machine does: what is not known there is no fault, and not reported.
[ ! -s "$work/buffer.json" ] || python3 - "$work/buffer.json" <<'PY' || fail "FUA on a loop device"
import json, sys

result = json.load(open(sys.argv[1]))
told = [result['figures'].get(name) for name in ('fua_reads', 'fua_writes')] + [n['code'] for n in result['notices'] if n['code'] == 'fua-ignored']
print('faults %s, FUA %s' % (result['faults'][:3], told))
sys.exit(result['faults'] != [] or told != [None, None])
PY
conclude
