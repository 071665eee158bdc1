#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report --again: the figures that follow from the samples in a document are computed anew, and are those of the document; changed samples show.
. "$(dirname "$0")/lib.sh"
needs jq
export COLUMNS=1000 # notices in one line

same() # file, how many figures at least: all that are computed are as they were, and the rest is untouched
{
	run 0 report --again "$1"
	n=$(sed -nE 's/.*Computed again from the samples, ([0-9]+) of [0-9]+ figures are as they were measured.*/\1/p' "$dir/out")
	[ "${n:-0}" -ge "$2" ] || fail "$last: ${n:-no} figures, at least $2 were wanted"
	"$PLATTER" report "$1" --csv=- | grep -v again >"$dir/plain.csv"
	"$PLATTER" report --again "$1" --csv=- | grep -v again >"$dir/again.csv"
	diff "$dir/plain.csv" "$dir/again.csv" >"$dir/out" || fail "$last: figures or tables are not as they were"
}
differs() # file, jq filter that changes a sample, figure that has to show it
{
	jq "$2" "$1" >"$dir/changed.json" || fail "jq: $2"
	run 0 report --again "$dir/changed.json"
	grep -Eq "Computed again from the samples, [0-9]+ of [0-9]+ figures are not as they were measured: .*$3" "$dir/out" ||
		fail "$last: $3 does not show the change"
}
# What programs get is in its tables as it was measured: nothing follows from it.
mkdir "$dir/files"
run 0 passes --size=1M --repeat=3 --json="$dir/passes.json" "$dir/files"
run 0 report --again "$dir/passes.json"
out_has "Nothing of this document can be computed again: its samples are not in it."

# A seek time follows from the accesses of its distance; of what the spans and the queue give only the means are in the document.
"${PLATTER_SIM:?}" seek --quick --without=queue --seed=1 --json="$dir/seek.json" sim:ibm-deskstar-60gxp >/dev/null || fail "platter-sim seek"
same "$dir/seek.json" 14
differs "$dir/seek.json" '.tables.accesses as $t | ($t.columns | map(.key)) as $k | ($k | index("access_ns")) as $ns |
	.tables.accesses.rows |= map(if .[$k | index("stroke_ratio")] == 1 then .[$ns] += 1e6 else . end)' full_stroke_ns

run_sim() # measurement, further words: its document, on a simulated disk
{
	"$PLATTER_SIM" "$@" --quiet --seed=1 --json="$dir/sim.json" sim:tiny >"$dir/out" 2>&1 || [ $? -ge 5 ] || fail "platter-sim $*"
}
# All of zones: its samples, their places and what was measured of the target are in the document.
for words in "" "--zones=start,25%,end" "--full"; do
	[ -z "${SANITIZED-}" ] || [ -z "$words" ] || continue # the same code
	run_sim zones $words
	same "$dir/sim.json" 14
	differs "$dir/sim.json" '.tables.samples as $t | ($t.columns | map(.key)) as $k | ($k | index("rate_bytes_per_s")) as $rate |
		.tables.samples.rows |= map(if .[$k | index("position")] == 0 then .[$rate] *= 1.1 else . end)' start_bytes_per_s
done
# With --keep-requests each sample is estimated anew from its completions.
run_sim zones --keep-requests
same "$dir/sim.json" 14
differs "$dir/sim.json" '.tables.requests as $t | ($t.columns | map(.key)) as $k |
	.tables.requests.rows |= map(.[$k | index("submit_ns", "done_ns")] |= (. * 1.01 | floor))' mean_bytes_per_s
# geometry asks by the answers: its search is had once more, also where it ended by a signal or for want of time; changed answers show, and where
# other questions follow from them, or others were kept, that is said.
for words in "--tracks" "--time=20s" "--quick"; do
	[ -z "${SANITIZED-}" ] || [ "$words" = --quick ] || continue
	run_sim geometry --keep-requests $words
	same "$dir/sim.json" 13
done
differs "$dir/sim.json" '.tables.requests as $t | ($t.columns | map(.key)) as $k |
	.tables.requests.rows |= map(.[$k | index("submit_ns", "done_ns")] |= (. * 1.00001 | floor))' rotation_rpm
jq '.tables.requests.rows[100][1] += 4096' "$dir/sim.json" >"$dir/changed.json"
run 0 report --again "$dir/changed.json"
out_has "Nothing of this document can be computed again: This version asks the disk other questions."
run_sim geometry --quick
run 0 report --again "$dir/sim.json"
out_has "Nothing of this document can be computed again: The document has no requests."

# A small cache, so that it is full in a second.
cat >"$dir/shingled.disk" <<-END
	name shingled
	serial SMRAGAIN
	rpm 7200
	surfaces 4
	cache_kb 8192
	queue_depth 32
	overhead_ms 0.1
	seek 0.8 0.05
	interface_mbs 500
	physical_sector 4096
	write_cache_kb 1024
	media_cache_kb 262144 4000 0
	shingle_band_kb 16384
	zone 4000 400
END
"$PLATTER_SIM" smr --write --destroy-data=SMRAGAIN --range=0-512MiB --quiet --seed=1 --json="$dir/sim.json" "sim:$dir/shingled.disk" >"$dir/out" 2>&1 ||
	fail "platter-sim smr"
same "$dir/sim.json" 14
differs "$dir/sim.json" '.tables.writes as $t | ($t.columns | map(.key)) as $k |
	.tables.writes.rows |= map(if .[$k | index("writes")] == 1 then .[$k | index("flush_ns")] *= 2 else . end)' band_clean_ns

# States and what rests brought back follow from the rates; 0: it could tell.
cat >"$dir/burst.disk" <<-'END'
	kind ssd
	capacity_lba 400000000
	channels 8
	channel_mbs 25
	limit_mbs 5
	interface_mbs 20
	credit_kb 200000
	queue_depth 64
END
run_sim_of() # status, options: on that device
{
	wanted=$1
	shift
	"$PLATTER_SIM" sustain "$@" --quiet --seed=1 --json="$dir/sim.json" "sim:$dir/burst.disk" >"$dir/out" 2>&1
	[ $? -eq "$wanted" ] || fail "platter-sim sustain $*: not $wanted"
}
run_sim_of 6 --time=30s
run_sim_of 0
same "$dir/sim.json" 14
differs "$dir/sim.json" '.tables.rates as $t | ($t.columns | map(.key) | index("bytes")) as $b | .tables.rates.rows |= map(.[$b] *= 1.1)' \
	settled_bytes_per_s

# What has no samples says so and is shown as it is.
run 0 info "$dir/files" --json="$dir/info.json"
run 0 report --again "$dir/info.json"
out_has "Nothing of this document can be computed again"
exit 0
