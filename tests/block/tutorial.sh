#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs every command of contrib/tutorial.md, in order, on a simulated disk. One of them compares two runs, which a busy machine makes different.
. "$(dirname "$0")/lib.sh"
need_simdisk
need chrt
: "${PLATTER:?the program to test}"

cd "$work" || exit 1
mkdir bin data
ln -s "$PLATTER" bin/platter
PATH=$work/bin:$PATH
simdisk disk tiny
DISK=$dev DIR=$work/data
export DISK DIR PATH
sed -n '/^```sh$/,/^```$/{/^```/d;p}' "$(dirname "$0")/../../contrib/tutorial.md" >commands
[ "$(wc -l <commands)" -ge 14 ] || fail "the tutorial has too few commands"
tutorial()
{
	rm -rf disk.html data/*
	while IFS= read -r line; do
		printf '$ %s\n' "$line"
		chrt -f 5 sh -c "$line" >out 2>&1 </dev/null || { status=$?; cat out; echo "FAIL: exit status $status: $line"; return 1; }
	done <commands
	simdisk_status disk >status.json
}
undisturbed tutorial
[ -n "$inconclusive" ] || [ -s disk.html ] || fail "no page"
[ -n "$inconclusive" ] || [ -z "$(ls data)" ] || fail "files were left behind: $(ls data)"
conclude
