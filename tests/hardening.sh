#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The program is built as it should be: position-independent, read-only relocations bound at once, stack protector, checked libc calls, no
# executable stack. With compile_commands.json: that the checks are those of level 3, in every file of src.
program=${1:?the program} commands=${2:-}
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
if [ -n "$commands" ] && [ "${HARDENING_FORTIFY:-yes}" != no ]; then
	all=$(grep '"command":' "$commands" | grep -cE ' [^ ]*src/[a-z/_]+\.c"')
	good=$(grep '"command":' "$commands" | grep -E ' [^ ]*src/[a-z/_]+\.c"' | grep -c -e '-D_FORTIFY_SOURCE=3')
	[ "$all" -gt 50 ] && [ "$good" = "$all" ] || { echo "FAIL: $good of $all files of src are compiled with _FORTIFY_SOURCE=3"; exit 1; }
fi
echo "hardened: PIE, RELRO, BIND_NOW, stack protector, FORTIFY, no executable stack"
