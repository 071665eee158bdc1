#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What tools/check-summary makes of logs: counts, what failed and why, and its status, with the fault table's complaints and without.
. "$(dirname "$0")/lib.sh"
needs python3
cd "$dir" || exit 1

echo '{"name": "unit / a", "result": "OK"}' >good.json
echo '{"name": "unit / b", "result": "SKIP", "stdout": "SKIP: no loop devices"}' >skip.json
echo '{"name": "unit / c", "result": "FAIL", "stdout": "FAIL: 3 is not 4"}' >bad.json

summary() { # STATUS ARGUMENT...
	want=$1
	shift
	python3 "$TOP/tools/check-summary" "$@" >out 2>err
	got=$?
	last="tools/check-summary $*"
	[ $got = "$want" ] || fail "$last: the exit status is not $want"
}

summary 0 0 0 good.json skip.json
out_has "1 passed, 0 failed, 1 skipped"
out_has "SKIP: no loop devices"
summary 1 0 1 good.json skip.json
summary 1 0 0 good.json bad.json
out_has "FAIL: 3 is not 4"
summary 1 1 0 good.json
out_has "failed: see above"
mkdir build-check
echo "fault-table: a row is missing" >build-check/fault-table.log
summary 1 1 0 good.json
out_has "failed: fault-table: a row is missing"
