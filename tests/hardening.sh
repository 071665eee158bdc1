#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The program is built as it should be: position-independent, read-only relocations bound at once, stack protector, checked libc calls, no
# executable stack.
program=${1:?the program}
command -v readelf >/dev/null || { echo "SKIP: needs readelf"; exit 77; }
dump=$(readelf -hldW "$program" 2>/dev/null; readelf -sW --dyn-syms "$program" 2>/dev/null)
has() # what, pattern
{
	printf '%s\n' "$dump" | grep -qE "$2" || { echo "FAIL: no $1 in $program"; exit 1; }
}
case $dump in
*__asan_*) echo "SKIP: a build with sanitizers"; exit 77 ;;
esac
has "PIE" 'Type: *DYN|Flags: .*PIE'
has "RELRO" 'GNU_RELRO'
has "binding at start" 'BIND_NOW|FLAGS_1.*NOW'
has "stack protector" '__stack_chk_fail'
printf '%s\n' "$dump" | grep -E 'GNU_STACK' | grep -q 'RWE' && { echo "FAIL: the stack is executable"; exit 1; }
# Not without optimization.
[ "${HARDENING_FORTIFY:-yes}" = no ] || has "checked libc calls" '__(memcpy|snprintf|vsnprintf|printf|fprintf|vfprintf|read|pread|memset|strcpy|strcat)(64)?_chk'
echo "hardened: PIE, RELRO, BIND_NOW, stack protector, FORTIFY, no executable stack"
