#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tools/vs-fio runs both programs and they agree, with generous bounds: this machine may be busy.
. "$(dirname "$0")/lib.sh"
need_simdisk
need fio python3
: "${PLATTER:?the program to test}" "${TOP:?the source tree}"

simdisk disk tiny
both()
{
	versus all --pairs=2 --size=16777216 --seconds=2 "$dev" || return
	simdisk_status disk >"$work/status.json"
	python3 - "$work/rows" <<-'PY'
		import json, sys
		rows = json.load(open(sys.argv[1]))
		for r in rows:
		    print('%(label)s: fio %(fio).3f, platter %(platter).3f %(unit)s, ratio %(ratio).4f' % r)
		rotation = [r['ratio'] for r in rows if r['measurement'] == 'geometry']
		sys.exit(0 if len(rows) == 7 and all(0.8 < r['ratio'] < 1.25 for r in rows) and abs(rotation[0] - 1) < 2e-3 else 1)
	PY
}
undisturbed both
conclude
