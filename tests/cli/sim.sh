#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The whole program over simulated disks in virtual time: every command that measures a device is run to its end, interrupted at many
# moments, repeated, limited. Nothing here depends on how fast this machine is.
. "$(dirname "$0")/lib.sh"
needs jq
PLATTER=${PLATTER_SIM:?the program over simulated disks}

run 0 --describe
# Commands that measure what a program gets use the kernel's own files.
jq -r '.commands[] | select(.kind == "measurement" and (.group | test("program") | not)) | .name' "$dir/out" >"$dir/commands"
tried=0
for command in $(cat "$dir/commands"); do
	[ "$command" != recover ] || continue # there is nothing to put back: tests/unit/test_putback
	"$PLATTER" "$command" sim:tiny --dry-run --json=- >"$dir/out" 2>"$dir/err" || continue # it wants a file, or an option
	last="platter-sim $command sim:tiny"
	jq -e '.tables.plan.rows | length > 0' "$dir/out" >/dev/null || fail "$last --dry-run: no plan"
	jq -e '(.head.elapsed_s // 0) == 0 and .tables.plan != null and (.tables | length) == 1' "$dir/out" >/dev/null ||
		fail "$last --dry-run: something was measured"

	open=0
	[ "$command" != smr ] || open=6 # without writing it cannot tell
	run $open "$command" sim:tiny --seed=7 --json="$dir/a.json" --progress=json
	[ -s "$dir/out" ] || fail "$last: no text"
	jq -e '.status == "complete" and .head.seed == 7 and (.faults | length) == 0 and (.figures | length) > 0' "$dir/a.json" >/dev/null ||
		fail "$last: the document"
	jq -se 'all(.done >= 0 and .done <= 1 and .elapsed_s >= 0) and ([.[].done] | . == sort)' "$dir/err" >/dev/null ||
		fail "$last: progress goes backwards, or is not JSON"
	jq -e '. as $d | .tables | to_entries | all(.value as $t | $t.rows | all(length == ($t.columns | length)))' "$dir/a.json" >/dev/null ||
		fail "$last: a row has not as many cells as there are columns"
	jq -r '.tables | keys[]' "$dir/a.json" >"$dir/tables"
	elapsed=$(jq '.head.elapsed_s' "$dir/a.json")

	# The same seed gives the same numbers, where the text cannot be written as well; another engine a document.
	"$PLATTER" "$command" sim:tiny --seed=7 --json="$dir/b.json" >/dev/full 2>"$dir/err" && fail "$last >/dev/full: exit status 0"
	grep -q 'Writing to standard output failed (ENOSPC)' "$dir/err" || fail "$last >/dev/full: $(cat "$dir/err")"
	for file in a b; do
		jq -S '{status, figures, intervals, tables, faults, elapsed: .head.elapsed_s}' "$dir/$file.json" >"$dir/$file.plain"
	done
	cmp -s "$dir/a.plain" "$dir/b.plain" || fail "$last: the same seed gave other numbers"
	run $open "$command" sim:tiny --engine=sim-sync --quiet --json="$dir/b.json"
	out_is_empty
	tried=$((tried + 1))
	[ "$(jq '.head.elapsed_s > 1' "$dir/a.json")" = true ] || continue # nothing to interrupt

	# Interrupted: valid, marked, and never longer than the moment allows.
	for part in 0 0.0001 0.01 0.1 0.4 0.7 0.999; do
		at=$(jq -n "$elapsed * $part")
		rm -f "$dir/c.json"
		PLATTER_SIM_SIGNAL="2@$at" "$PLATTER" "$command" sim:tiny --seed=7 --json="$dir/c.json" >"$dir/out" 2>"$dir/err"
		got=$?
		last="platter-sim $command sim:tiny, SIGINT at $at of $elapsed s"
		[ $got = 130 ] || fail "$last: exit status $got"
		err_is_empty
		[ -s "$dir/out" ] || fail "$last: no text"
		late=1
		[ "$command" != sustain ] || late=2 # 32 requests of 1 MiB are under way, at 20 MB/s
		jq -e --argjson at "$at" --argjson late $late '.status == "cancelled" and .head.elapsed_s < $at + $late' "$dir/c.json" >/dev/null ||
			fail "$last: the document"
	done

	# A budget of a quarter shortens the run. (Not more is asked: seek gives the budget to its spans, and does its curve and its
	# queue in full after that.)
	early=$open
	case $command in surface | check | sustain | buffer) early=6 ;; esac # too little was read: it cannot tell
	run $early "$command" sim:tiny --seed=7 --quiet --time="$(jq -n "$elapsed / 4 * 1000 | floor")ms" --json="$dir/c.json"
	jq -e --argjson e "$elapsed" '.head.elapsed_s < $e * 0.6 + 5' "$dir/c.json" >/dev/null ||
		fail "$last: --time of a quarter of $elapsed s took $(jq .head.elapsed_s "$dir/c.json") s"
done
# --requests has every request, with times since the start; what cannot be written is reported, and the result is saved all the same.
run 0 seek sim:tiny --time=20s --seed=7 --quiet --requests="$dir/r.csv" --json="$dir/r.json"
head -n 1 "$dir/r.csv" | grep -q '^target,op,offset_bytes,length_bytes,result_bytes,errno,due_ns,submit_ns,done_ns' ||
	fail "$last: the heading of r.csv"
tr -d '\r' <"$dir/r.csv" | awk -F, 'NR > 1 && (NF != 9 || $2 != "read" || $4 != $5 || $9 < $8) { exit 1 } END { exit NR < 100 }' ||
	fail "$last: a row of r.csv"
awk -F, -v end="$(jq '.head.elapsed_s * 1e9' "$dir/r.json")" 'END { exit !($9 + 0 > 1e9 && $9 + 0 <= end + 1000) }' "$dir/r.csv" ||
	fail "$last: times in r.csv"
(
	ulimit -f 100 # room for the document, not for the rows
	run 1 transactions sim:tiny --users=2 --time=60s --seed=7 --quiet --requests="$dir/r.csv" --json="$dir/r.json"
	err_has "EFBIG"
) || exit 1
jq -e '.status == "complete"' "$dir/r.json" >/dev/null || fail "a full r.csv: the document"
cp "$dir/r.csv" "$dir/old.csv"
run 0 seek sim:tiny --dry-run --quiet --requests="$dir/r.csv"
cmp -s "$dir/r.csv" "$dir/old.csv" || fail "$last: r.csv was touched"

# What is moved at most is known before, in whole blocks, with 4 s of the rate for a look at full speed; a search knows no rate, and no bound.
for words in "--rate=1MB 14680064" "--rate=1MB,--tradeoff null" "--find null"; do
	# shellcheck disable=SC2046 # words
	run 0 stream --read --size=10MB $(echo "${words% *}" | tr , ' ') sim:tiny --dry-run --json=-
	[ "$(jq '.figures.read_bytes' "$dir/out")" = "${words##* }" ] || fail "$last: not ${words##* } bytes are reported"
done

[ $tried -gt 0 ] || fail "no command could be tried"
echo "$tried commands tried"

# A link slower than the media: the rate is the link's, or near it, and the larger the requests the nearer. Not so behind a faster one.
for mbs in 40 600; do
	cat >"$dir/link.disk" <<-END
		name link
		model PLATTER LINK
		serial LINK0001
		rpm 7200
		surfaces 2
		seek 0.8 0.06 300 1.4 0.0015
		settle_ms 0
		head_switch_ms 0.8
		overhead_ms 0.15
		hit_overhead_ms 0.03
		interface_mbs $mbs
		cache_kb 256
		segments 1
		queue_depth 1
		zone 2000 1000
		zone 2000 600
	END
	for words in "zones --zones=start,middle,end" buffer; do
		# shellcheck disable=SC2086 # words
		"$PLATTER" $words --quiet --json="$dir/link.json" "sim:$dir/link.disk" 2>"$dir/err" || fail "$words behind $mbs MB/s"
		last="$words behind $mbs MB/s"
		jq -e --argjson mbs $mbs '([.notices[] | select(.code == "link-limit")] | length) == if $mbs == 40 then 1 else 0 end and
			(.figures.interface_bytes_per_s / 1e6 / $mbs | . > 0.98 and . < 1.02)' "$dir/link.json" >/dev/null || fail "$last: the link"
	done
done

# What was not seen is not said; what was not asked for is no open question.
run 0 info --quick sim:tiny
out_has "Who uses it, and whether it may be written, was not looked up"
PLATTER_SIM_SIGNAL="2@0" "$PLATTER" stream --read --rate=4MB --time=10s sim:tiny >"$dir/out" 2>"$dir/err"
last="stream that is interrupted at once"
out_has "Nothing was read: the run ended before the first block was done"
