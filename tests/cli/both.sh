#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --write-cache=both: four runs in turn, one document with what it is worth; the drive as it was found.
. "$(dirname "$0")/lib.sh"
needs jq
T="transactions --users=4 --count=100 --write --destroy-data=SIM0103SJ sim:samsung-hd103sj --write-cache=both"

# A disk with a write cache that sorts what it writes: the mean response is shorter with it, and the interval says by how much.
"$PLATTER_SIM" $T --json="$dir/both.json" --html="$dir/both.html" >"$dir/out" || fail "both"
jq -e '.status == "complete" and ([.tables.on_off.rows[] | select(.[0] == "response_mean_ns")][0] as $r |
	$r[2] < $r[3] and $r[6] < $r[5] and $r[5] < $r[7] and $r[7] < 0 and ($r[8] == "better" or $r[8] == "not sure"))' "$dir/both.json" >/dev/null ||
	fail "what it is worth: $(jq -c .tables.on_off.rows "$dir/both.json")"
jq -e '.figures.response_mean_ns_on < .figures.response_mean_ns_off and (.intervals.response_mean_ns_on | length == 2)' "$dir/both.json" >/dev/null ||
	fail "figures of both"
jq -e '[.tables.switches.rows[] | select(.[2] == "write cache") | [.[0], .[3], .[4], .[5]]] ==
	[["on", "on", "on", "on"], ["off", "on", "off", "on"], ["off again", "on", "off", "on"], ["on again", "on", "on", "on"]]' "$dir/both.json" >/dev/null ||
	fail "not as it was found: $(jq -c .tables.switches.rows "$dir/both.json")"
jq -e '[.tables.responses.rows[][0]] | unique | length == 4' "$dir/both.json" >/dev/null || fail "not the rows of four runs"
grep -q '^With the write cache on' "$dir/out" || fail "no answer"
[ -s "$dir/both.html" ] || fail "no page"
"$PLATTER" report --again "$dir/both.json" >"$dir/out" || fail "again"
grep -q 'can be computed again' "$dir/out" || fail "rows of four runs were taken for those of one"
"$PLATTER_SIM" $T --json="$dir/same.json" --quiet || fail "once more"
"$PLATTER" compare "$dir/both.json" "$dir/same.json" >"$dir/out" || fail "two of them are compared"

# A signal in the middle of each of the four: what was measured until then is kept, and the drive is as it was found.
total=$(jq .head.elapsed_s "$dir/both.json")
for k in 1 2 3 4; do
	PLATTER_SIM_SIGNAL="2@$(echo "$total $k" | awk '{ print $1 * (2 * $2 - 1) / 8 }')" "$PLATTER_SIM" $T --quiet --json="$dir/cut.json"
	[ $? = 130 ] || fail "the signal in run $k did not end it"
	jq -e --argjson k $k '.status == "cancelled" and ([.tables.switches.rows[] | select(.[2] == "write cache")] | length == $k and all(.[5] == .[3])) and
		([.tables.responses.rows[][0]] | unique | length == $k)' "$dir/cut.json" >/dev/null ||
		fail "a signal in run $k: $(jq -c '.status, .tables.switches.rows, [.tables.responses.rows[][0]]' "$dir/cut.json" | cut -c1-400)"
	"$PLATTER" report "$dir/cut.json" >"$dir/out" || fail "a signal in run $k: no report"
done

# What has none: a sentence, and nothing measured. What cannot be done together.
"$PLATTER_SIM" transactions --write-cache=both sim:tiny >"$dir/out" 2>"$dir/err" && fail "a disk without a write cache"
grep -q 'no switches' "$dir/err" || fail "no reason"
"$PLATTER_SIM" $T --hosts >"$dir/out" 2>"$dir/err" && fail "with --hosts"
grep -q 'not for --hosts' "$dir/err" || fail "another reason"
"$PLATTER_SIM" $T --dry-run >"$dir/out" || fail "--dry-run"
grep -q 'four runs' "$dir/out" || fail "four times as much is not announced"
exit 0
