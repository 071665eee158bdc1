#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The unit of the regular check: a disk that has vanished fails it (nothing skips it), and what it runs is what a shell would run.
. "$(dirname "$0")/lib.sh"
unit=$TOP/contrib/systemd/platter-check@.service

! grep -Eq '^(Condition|Assert)' "$unit" || fail "a condition skips the unit without a word"
! grep -Eq '^IOSchedulingClass' "$unit" || fail "the class of I/O lets the load of others into the trend"
# The line as systemd runs it: %I and @SBINDIR@ put in, "%%" and "$$" as one, with STATE_DIRECTORY set.
line=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|@SBINDIR@/platter|$PLATTER|g; s|/dev/%I|$dir/vanished|g; s/%%/%/g; s/\\$\\$/$/g")
case $line in
*"$dir/vanished"*) ;;
*) fail "the unit runs '$line', which names no device" ;;
esac
export STATE_DIRECTORY="$dir"
if sh -c "$line" >"$dir/out" 2>&1; then
	fail "a disk that is not there does not fail the unit: $(cat "$dir/out")"
fi
grep -q vanished "$dir/out" || fail "the disk that is missing is not named: $(cat "$dir/out")"
