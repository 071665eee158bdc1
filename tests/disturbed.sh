#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What block/lib.sh makes of a part that failed or reported too little, on a quiet machine and on a busy one. No root, no disk.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
sed -n '/^# ---- a machine that has time/,/^# ---- litter/p' "$(dirname "$0")/block/lib.sh" >"$work/part"

failed=0
expect() # words of the last line, quiet or busy, a function's body
{
	last=$(work=$work sh -c '
		fail() { echo "FAIL: $*"; exit 1; }
		skip() { echo "SKIP: $*"; exit 77; }
		. "$work/part"
		stolen_ns() { echo 0; }
		if [ "$1" = busy ]; then
			pressure_us() { echo $(($(date +%s%N) / 1000)); }
		else
			pressure_us() { echo 0; }
		fi
		eval "part() { $2; }"
		told part "a part"
		conclude
		echo "passed"' sh "$2" "$3" 2>&1 | tail -n 1)
	case $last in
	*"$1"*) ;;
	*) failed=1; echo "FAIL: $2, $3: $last" ;;
	esac
}
expect passed quiet 'true'
expect passed busy 'true'
expect 'the machine was not disturbed' quiet 'false'
expect 'SKIP: this machine was disturbed each time in: part' busy 'sleep 0.01; false'
expect 'too little was reported, twice on a quiet machine' quiet 'why_not=1'
expect 'SKIP: this machine was disturbed each time in: a part' busy 'sleep 0.01; why_not=1'
expect 'a program ended by a fault' busy 'sh -c "kill -SEGV \$\$"; false'
expect 'a program ended by a fault' busy 'echo "  File \"/x/tools/vs-fio\", line 1, in main"; false'
exit $failed
