#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# tools/paper-tables stream, shortened further: the tables of Mujunen 2001 on simulated IBM and Maxtor drives as real block devices, each figure within
# the bounds that the table states beside its truth. Real time, so a failure counts only on a machine that was not disturbed (lib.sh, undisturbed).
# PLATTER_LONG=1: longer runs.
. "$(dirname "$0")/lib.sh"
need_simdisk
need python3 chrt
: "${PLATTER:?the program}" "${TOP:?the source tree}"

seconds=1.2
[ -n "${PLATTER_LONG:-}" ] && seconds=6
table() # number
{
	chrt -f 5 "$TOP/tools/paper-tables" stream "--only=$1" --seconds=$seconds "--platter=$PLATTER" "--simdisk=$SIMDISK"
	status=$?
	[ $status = 0 ] || [ $status = 5 ] || echo "table $1 could not be run: status $status"
	return $status
}
for number in 1 2 3 5 7; do
	undisturbed table $number
done
conclude
