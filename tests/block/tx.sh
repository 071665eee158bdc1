# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by transactions.sh and transactions-times.sh.
. "$(dirname "$0")/lib.sh"
need_simdisk
need jq
: "${PLATTER:?the program to test}" "${TOP:?the source tree}"

realtime= # what runs it with priority
# tx OPTION... TARGET: the document in $work/doc
tx()
{
	$realtime "$PLATTER" transactions --quiet --json="$work/doc" "$@" 2>"$work/err"
	status=$?
	[ $status = 0 ] || [ $status = 130 ] || { cat "$work/err"; echo "platter transactions $*: exit $status"; return 1; }
	rm -f "$work/status.json"
}
# is 'CONDITION' [NAME VALUE]...: a condition of jq on the figures, as $f; told with all of them when it does not hold
is()
{
	condition=$1
	shift
	names=
	while [ $# -gt 1 ]; do names="$names --arg $1 $2"; shift 2; done
	# shellcheck disable=SC2086 # words are wanted
	jq -e $names --arg cpus "$(nproc)" ".figures as \$f | def near(a; b; by): (a / b - 1 | if . < 0 then -. else . end) <= by; $condition" \
		"$work/doc" >/dev/null && return
	echo "not so: $condition"
	jq -c '[.figures, .notices]' "$work/doc"
	return 1
}
must() { "$@" || fail "$*"; }

image fast 1G
loop_new "$image" --direct-io=off
fast=$loop
