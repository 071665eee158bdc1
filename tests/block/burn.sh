#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A burn-in of a real block device: what the disk writes wrongly is named by its LBA, killed it goes on and skips nothing, and without consent nothing is
# written.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3
: "${PLATTER:?the program to test}"

sed '/^zone/d' "$PLATTER_SIMDISK_PROFILES/tiny.disk" >"$work/burn.disk"
cat >>"$work/burn.disk" <<'EOF'
zone 40 400
zone 40 320
miswrite lost 8192 2048
miswrite torn 20500
miswrite flipped 30000 1 77
miswrite misplaced 40970 128 12288
miswrite wrapped 112000
EOF
simdisk disk "$work/burn.disk"
written() { simdisk_status disk | sed -n 's/.*"writes": \([0-9]*\).*/\1/p'; }

"$PLATTER" surface --write --quiet "$dev" >"$work/out" 2>&1
status=$?
[ "$status" = 3 ] && ok || bad "without consent: status $status instead of 3: $(cat "$work/out")"
[ "$(written)" = 0 ] && ok || bad "$(written) writes without consent"
[ "$failures" = 0 ] || finish

# Killed while it writes, or reads: the state is of the last minute, or there is none yet.
"$PLATTER" surface --write --destroy-data="${dev##*/}" --quiet --state="$work/state" --resume "$dev" 2>"$work/err" &
pid=$!
has_written() { [ "$(written)" -gt 5 ]; }
until_there has_written || bad "nothing is written: $(cat "$work/err")"
sleep 3
kill -9 "$pid" || bad "it had ended before it was killed"
wait "$pid" 2>/dev/null
"$PLATTER" surface --write --destroy-data="${dev##*/}" --quiet --state="$work/state" --resume --json="$work/burn.json" "$dev" 2>"$work/err"
status=$?
[ "$status" = 5 ] && ok || bad "status $status instead of 5: $(cat "$work/err")"
python3 - "$work/burn.json" <<'EOF' && ok || bad "the places are others"
import json, sys
d = json.load(open(sys.argv[1]))
t = d['tables']['wrong']
keys = [c['key'] for c in t['columns']]
got = {(r[keys.index('lba')], r[keys.index('length_bytes')] // 512, r[keys.index('kind')]) for r in t['rows']}
sectors = d['figures']['end_bytes'] // 512
want = {(0, sectors - 112000, 'wrapped'), (8192, 2048, 'lost'), (12288, 128, 'misplaced'), (20500, 2028, 'torn'), (30000, 1, 'bit-flip'),
        (40970, 128, 'misplaced')}
print(got ^ want)
sys.exit(got != want or d['figures']['verified_bytes'] != d['figures']['end_bytes'] or d['figures']['true_bytes'] != 112000 * 512)
EOF
finish
