#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `check` as a program: one page, its exit statuses, its time, what an interrupted run leaves, and the same page by `report`.
. "$(dirname "$0")/lib.sh"
needs jq
export COLUMNS=80
PLATTER=$PLATTER_SIM
mkdir "$dir/folder"

page() # of 24 lines and 80 columns
{
	[ "$(wc -l <"$dir/out")" -le 24 ] || fail "$last: more than 24 lines"
	[ "$(wc -L <"$dir/out")" -le 80 ] || fail "$last: wider than 80 columns"
	head -n 1 "$dir/out" | grep -q "^$1 " || fail "$last: no $1 at the start"
}
holds() # FILE EXPRESSION
{
	jq -e "$2" "$1" >/dev/null || fail "$last: not $2"
}

run 0 check --seed=1 --json="$dir/keep.json" --prometheus="$dir/keep.prom" sim:modern-4tb
page KEEP
holds "$dir/keep.json" '.figures.verdict == "KEEP" and .figures.verdict_level == 0'
holds "$dir/keep.json" '.head.elapsed_s <= 300'
holds "$dir/keep.json" '[.figures | has("start_bytes_per_s", "average_seek_ns", "response_max_ns", "segments", "scanned_bytes")] | all'
grep -q '^platter_.*verdict_level.* 0' "$dir/keep.prom" || fail 'the verdict is no metric'

run 5 check --seed=1 --json="$dir/reject.json" sim:failing
page REJECT
grep -q '^  1  .*unreadable place.*certain$' "$dir/out" || fail 'unreadable places do not come first'
grep -q 'to settle it, takes at least 3 m [0-9]* s:  platter surface sim:failing' "$dir/out" || fail 'no command that would settle it'
holds "$dir/reject.json" '.status == "with-errors" and .figures.verdict_level == 2 and .head.elapsed_s <= 300'
cp "$dir/out" "$dir/live"
run 5 report "$dir/reject.json"
cmp -s "$dir/live" "$dir/out" || fail 'report shows another page'

run 6 check --seed=1 --time=1s sim:modern-4tb
page DOUBT
out_has 'too few random places were read'
run 6 check --seed=1 --no-smart --time=1s sim:modern-4tb
out_has 'counters were not read: --no-smart'
run 0 check --dry-run sim:modern-4tb
out_has surface

# Other documents and folders end in the same verdict, by the same rules.
run 4 zones --quick --seed=3 --json="$dir/folder/zones.json" sim:failing
out_has 'REJECT  1 unreadable place,'
run 0 report "$dir/folder/zones.json"
out_has 'REJECT  1 unreadable place,'
last="zones of a disk of which little was read"
"$PLATTER" zones --quick --seed=1 --json="$dir/folder/good.json" sim:modern-4tb >"$dir/out" || [ $? = 6 ] || fail "$last: exit status $?"
grep -qE 'REJECT|DOUBT' "$dir/out" && fail "$last: a verdict of what was not read"
run 0 report "$dir/folder" --json="$dir/folder.json"
holds "$dir/folder.json" '[.tables.disks.rows[] | .[1]] == ["REJECT", "not known"]'

# A check among others decides the status, whatever stands beside it; one without a verdict leaves it open; and of two of one disk the later counts.
run 5 report "$dir/folder/good.json" "$dir/reject.json"
run 0 report "$dir/folder/good.json" "$dir/keep.json"
jq 'del(.figures.verdict_level)' "$dir/keep.json" >"$dir/open.json"
run 6 report "$dir/open.json"
run 6 report "$dir/folder/zones.json" "$dir/open.json"
run 5 report "$dir/open.json" "$dir/reject.json"
jq '.head.started = "2001" + .head.started[4:] | .figures.verdict_level = 2' "$dir/keep.json" >"$dir/before.json"
run 0 report "$dir/keep.json" "$dir/before.json"
run 5 report "$dir/before.json"

# Earlier documents: what is worse than in these is a reason, what is not is none.
mkdir "$dir/earlier"
sed '/^name/s/$/-slower/; s/^rpm 7200/rpm 6600/' "$TOP/tools/simdisk/profiles/modern-4tb.disk" >"$dir/slower.disk"
run 0 check --seed=1 --time=60s --json="$dir/earlier/1.json" --history="$dir/earlier" sim:modern-4tb
run 0 check --seed=2 --time=60s --json="$dir/earlier/2.json" --history="$dir/earlier" sim:modern-4tb
holds "$dir/earlier/2.json" '.figures.earlier_runs == 1 and .figures.worse_figures == 0'
run 6 check --seed=3 --time=60s --json="$dir/worse.json" --history="$dir/earlier" "sim:$dir/slower.disk"
# The slower one turns by 8.3 % less.
grep -qE '^  1  worse than in earlier runs: start -[89] % +95 %$' "$dir/out" || fail "$last: not what is worse"
holds "$dir/worse.json" '.figures.earlier_runs == 2'
run 6 report "$dir/worse.json"
run 0 check --seed=3 --time=60s --history="$dir/none" "sim:$dir/slower.disk"

# Several disks: a row each, the worst first, on one screen; a document each; the worst status.
export PLATTER_SIM_DISKS="sda=modern-4tb sdb=failing sdc=ssd-sata"
run 5 check --seed=1 --time=60s --json="$dir/shelf.json" --jsonl="$dir/shelf.jsonl" --html="$dir/shelf.html" sda sdb sdc
head -n 1 "$dir/out" | grep -qx '3 disks: 1 REJECT, 2 KEEP' || fail "$last: another first line"
[ "$(grep -oE '^(REJECT|KEEP|DOUBT) +sd.' "$dir/out" | tr -s ' \n' ' ')" = 'REJECT sdb KEEP sda KEEP sdc ' ] || fail "$last: the rows are others"
[ "$(wc -L <"$dir/out")" -le 80 ] || fail "$last: wider than 80 columns"
grep -q 'is going bad' "$dir/shelf.html" || fail "$last: no disk that goes bad"
grep -q 'to watch' "$dir/shelf.html" && fail "$last: a disk is watched for counters that were not read"
for disk in sda sdb sdc; do
	holds "$dir/shelf-$disk.json" ".targets[0].path == \"$disk\" and (.targets | length) == 1"
done
[ "$(wc -l <"$dir/shelf.jsonl")" = 3 ] || fail "$last: not a line for each disk"
cp "$dir/out" "$dir/live"
run 5 report "$dir/shelf.jsonl"
cmp -s "$dir/live" "$dir/out" || fail "$last: another page than live"
run 1 check sda nope
err_has 'nope'
run 2 check sda sda
run 2 check --requests="$dir/requests.csv" sda sdc
run 0 check --dry-run sda sdc
[ "$(grep -c 'surface' "$dir/out")" = 2 ] || fail "$last: not a plan for each"
grep -v UTC "$dir/out" >"$dir/plans" # the time of day is another
for disk in sda sdc; do
	run 0 check --dry-run $disk
	grep -v UTC "$dir/out"
done | cmp -s - "$dir/plans" || fail "$last: another plan than of one disk"
run 0 check --dry-run --json=- --csv="$dir/plans.csv" --html="$dir/plans.html" sda sdc
[ "$(jq -s 'map(.targets[0].path) == ["sda", "sdc"] and all(.tables.plan)' "$dir/out")" = true ] || fail "$last: the plans"
grep -q '^check,sdc,.*,surface,' "$dir/plans.csv" && grep -q sdc "$dir/plans.html" || fail "$last: a file lacks a plan"
# What is saved for all of them is what is saved for one: the same series, whatever the options are.
run 0 check --seed=1 --time=30s --prometheus="$dir/one.prom" sda
run 0 check --seed=1 --time=30s --prometheus="$dir/both.prom" sda sdc
grep -v '^#' "$dir/one.prom" | sed 's/ .*//' | sort >"$dir/one"
grep -v '^#' "$dir/both.prom" | sed 's/ .*//' | sort | comm -23 "$dir/one" - >"$dir/out"
[ ! -s "$dir/out" ] || fail "$last: other series than of one disk"
PLATTER_SIM_SIGNAL=9@10 run 1 check --seed=1 sda sdc
err_has 'measured sda was ended by signal 9'
PLATTER_SIM_SIGNAL=2@40 run 130 check --seed=1 --json="$dir/two.json" sda sdb
out_has '2 disks:'
holds "$dir/two-sda.json" '.status == "cancelled" and .figures.verdict != "KEEP" and .figures.start_bytes_per_s > 1e8'
holds "$dir/two-sdb.json" '.status == "cancelled"'
# Who starts them is killed: none of them goes on alone.
"$PLATTER_SIM" check --seed=1 --json="$dir/left.json" sda sdc >"$dir/out" 2>&1 &
pid=$!
while [ ! -s "$dir/left-sda.json" ] && kill -0 $pid 2>/dev/null; do :; done
kids=$(cat /proc/$pid/task/$pid/children 2>/dev/null)
kill -KILL $pid 2>/dev/null && for kid in $kids; do
	while [ -d "/proc/$kid" ] && ! grep -q '^State:.Z' "/proc/$kid/status" 2>/dev/null; do :; done
done
wait $pid 2>/dev/null
[ -z "$kids" ] || holds "$dir/left-sda.json" '.status == "cancelled"'
twelve=$(for n in 1 2 3 4 5 6; do printf 'x%s=failing y%s=ssd-sata ' $n $n; done)
# shellcheck disable=SC2046 # twelve words
PLATTER_SIM_DISKS=$twelve run 6 check --seed=1 --time=5s $(printf '%s' "$twelve" | sed 's/=[a-z-]*//g')
[ "$(wc -l <"$dir/out")" -le 40 ] || fail "$last: more than a screen"
[ "$(grep -cE '^[A-Z]+ +[xy][1-6] ' "$dir/out")" = 12 ] || fail "$last: not a row each"
unset PLATTER_SIM_DISKS

# Each minute of the disk's time the document is saved, and it never keeps a disk that was not seen.
"$PLATTER_SIM" check --seed=1 --json="$dir/cut.json" sim:modern-4tb >"$dir/out" 2>&1 &
pid=$!
while [ ! -s "$dir/cut.json" ] && kill -0 $pid 2>/dev/null; do :; done
kill -INT $pid 2>/dev/null
wait $pid
status=$?
if [ $status != 0 ]; then # else it was quicker than the signal
	[ $status = 130 ] || fail "an interrupted run ends with $status"
	holds "$dir/cut.json" '.status == "cancelled" and .figures.verdict != "KEEP"'
fi

run 2 check --state="$dir/state.json" sim:tiny
run 2 check --write --resume --destroy-data=TINY0001 sim:tiny
PLATTER_SIM_DISKS='sda=tiny sdb=tiny' run 2 check --write --state="$dir/state.json" --destroy-data=TINY0001 sda sdb
# Burn-in: by consent alone; what is kept is kept, and what is lost is seen.
run 3 check --write sim:tiny
err_has '--destroy-data=TINY0001'
run 0 check --write --destroy-data=TINY0001 --json="$dir/burnt.json" sim:tiny
page KEEP
holds "$dir/burnt.json" '.figures.written_bytes == 393216000 and .figures.wrong_bytes == 0 and .figures.surface_unscanned_bytes == 0'
sed '$a drop_writes_from 100' "$TOP/tools/simdisk/profiles/tiny.disk" >"$dir/loses.disk"
run 5 check --write --destroy-data=TINY0001 "sim:$dir/loses.disk"
out_has 'data came back that were not written'

# Sound disks that were doubted once: a bridge as fast as its medium, heads that differ, two arms behind one name, links slower than their media, few
# places for the time, trimmed places where no rotation is found, and flash in stripes, which requests lie in differently.
for seed in 300033 300070 302061 302066 302048 411210026 411207044 411207106 411360109 411440037; do
	[ -x "$BUILD/tests/sim/platter-wild" ] || continue # one target was built alone
	PLATTER_BUILD=$BUILD "$TOP/tools/wild" check --seeds=$seed --quiet >"$dir/out" || fail "tools/wild check --seeds=$seed"
	out_has 'Nothing was said that is false.'
done
