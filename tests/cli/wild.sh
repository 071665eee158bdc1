#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The scoreboard of tools/wild judges rightly: of ideal disks nothing is found false and intervals hold, a document into which something
# false was planted is found out, and the same seed is the same disk.
. "$(dirname "$0")/lib.sh"
needs jq
export PLATTER_BUILD="$BUILD"
wild=$TOP/tools/wild ideal=quantum-fireball-tm2110a

# ---- disks ----

"$SIMDISK" wild --list >"$dir/classes" || fail "wild --list"
[ "$(wc -l <"$dir/classes")" -ge 10 ] || fail "there are few classes"
while read -r class _; do
	"$SIMDISK" wild --class="$class" --seed=3 >"$dir/a.disk" || fail "wild --class=$class"
	"$SIMDISK" wild --class="$class" --seed=3 >"$dir/b.disk"
	cmp "$dir/a.disk" "$dir/b.disk" || fail "$class: the same seed gives another disk"
	"$SIMDISK" wild --class="$class" --seed=4 >"$dir/b.disk"
	cmp -s "$dir/a.disk" "$dir/b.disk" && fail "$class: another seed gives the same disk"
	grep -q "^name wild-$class-3\$" "$dir/a.disk" || fail "$class: the name"
done <"$dir/classes"
"$SIMDISK" wild --class=laptop --seed=9 >"$dir/a.disk"
"$SIMDISK" truth --json "$dir/a.disk" | jq -e '.rpm > 4000 and (.zones | length) > 1' >/dev/null || fail "no truth of a drawn disk"
"$SIMDISK" wild --class=nothing >/dev/null 2>"$dir/err" && fail "a class that is none"
"$wild" seek --class=nothing -q >/dev/null 2>"$dir/err" && fail "a class that is none"
"$wild" seek --seeds=5-3 -q >/dev/null 2>"$dir/err" && fail "seeds backwards"
"$wild" nothing --disks=1 -q --json=- --profile=$ideal | jq -e '.ended | keys[0] | startswith("exit 2")' >/dev/null ||
	fail "a command that is none"

# ---- ideal disks ----

for command in seek zones geometry; do
	# seek: its intervals of overhead and seeks are 95 % ones and few
	"$wild" $command --profile=$ideal --noise=none --disks=3 -q --keep="$dir/keep" --json="$dir/board.json" >"$dir/out" ||
		fail "wild $command"
	jq -e '.disks == 3 and .disks_with_lies == 0 and (.lies | length) == 0' "$dir/board.json" >/dev/null ||
		fail "$command: something false on an ideal disk: $(jq -c .lies "$dir/board.json")"
	jq -e '(.ended | keys) - ["complete", "ended-early"] == []' "$dir/board.json" >/dev/null || fail "$command: how it ended"
	jq -e '[.figures[] | select(.name | test("p99|skew|^write_") | not) | .given == .asked] | all' "$dir/board.json" >/dev/null ||
		fail "$command: a figure is missing: $(jq -c '[.figures[] | select(.given != .asked) | .name]' "$dir/board.json")"
	jq -e '([.figures[].held] | add) >= 0.85 * ([.figures[].intervals] | add)' "$dir/board.json" >/dev/null ||
		fail "$command: intervals do not hold the truth: $(jq -c '[.figures[] | [.name, .held, .intervals]]' "$dir/board.json")"
	jq -e '[.figures[] | select(.errors_in == "ratio") | .median_error < 0.1] | all' "$dir/board.json" >/dev/null ||
		fail "$command: far off on an ideal disk"
done
"$wild" seek --profile=$ideal --noise=none --seeds=2 -q --json="$dir/again.json" >"$dir/out"
jq -s '.[0].verdicts[1] == .[1].verdicts[0] or ([.[0].verdicts[1], .[1].verdicts[0]] | map(del(.cpu_s)) | .[0] == .[1])' \
	"$dir/board.json" "$dir/again.json" >/dev/null || fail "the same seed, another verdict"

# ---- the truth of a rate ----

truth_of() # lines of the profile: of the mean, in parts of what the geometry says: about where the truth lies, and how wide
{
	printf '%b' "$1" | cat "$dir/keep/zones-1.disk" - >"$dir/other.disk"
	rm -rf "$dir/other"
	"$wild" zones --judge="$dir/keep/zones-1.json" --profile="$dir/other.disk" --keep="$dir/other" -q >"$dir/out" || fail "--judge: $1"
	jq -n -r --slurpfile v "$dir"/other/*.verdict.json --slurpfile t "$dir"/other/*.truth.json '$t[0].mean_bytes_per_s as $m |
		$v[0].figures[] | select(.name == "mean_bytes_per_s") | "\((.true_low + .true_high) / 2 / $m) \((.true_high - .true_low) / $m)"'
}
of() # lines of the profile
{
	set -- $(truth_of "$1")
	at=$1 wide=$2
}
of "" # which takes one request at a time
jq -n -e "($at - 1 | fabs) < 0.003" >/dev/null || fail "one request at a time: the mean's truth lies at $at of the geometry's"
of "queue_depth 32\n"
jq -n -e "$at == 1 and $wide == 0" >/dev/null || fail "the mean's truth is $at, $wide wide, instead of the geometry's"
of "queue_depth 32\nfreeze 1e-3 30 400\n"
jq -n -e "$at < 1 and $wide > 0.001" >/dev/null || fail "freezes are left out of the mean's truth: $at, $wide"
of "queue_depth 32\narms interleaved\n"
jq -n -e "$wide > 0.001" >/dev/null || fail "two disks in stripes: always as fast as both together: $at, $wide"

# ---- planted lies ----

judge() # command, jq program, what is to be found ("": nothing)
{
	jq "$2" "$dir/keep/$1-1.json" >"$dir/planted.json" || fail "$1: cannot plant: $2"
	"$wild" "$1" --judge="$dir/planted.json" --profile="$dir/keep/$1-1.disk" --json="$dir/judged.json" >"$dir/out" ||
		fail "--judge: $2"
	if [ -z "$3" ]; then
		jq -e '.lies == {}' "$dir/judged.json" >/dev/null || fail "$1 | $2: taken for false: $(jq -c .lies "$dir/judged.json")"
	else
		jq -e --arg what "$3" '.lies | keys == [$what]' "$dir/judged.json" >/dev/null ||
			fail "$1 | $2: found $(jq -c '.lies | keys' "$dir/judged.json") instead of $3"
		grep -q "Said and false: $3" "$dir/out" || fail "$1 | $2: not in the text"
	fi
}
figure() # command, jq program, figure: its interval holds the truth no more, and the error is reported
{
	judge "$1" "$2" ""
	jq -e --arg name "$3" '.figures[] | select(.name == $name) | .held == 0 and (.worst_error | fabs) > 0.2' "$dir/judged.json" >/dev/null ||
		fail "$1 | $2: $3 passes for true"
}
say() # code
{
	echo ".notices += [{code: \"$1\", text: \"planted\"}]"
}

for command in seek zones geometry; do
	judge $command . ""
	judge $command "$(say other-io)" other-io
	judge $command "$(say steal)" steal
	judge $command "$(say says-not-rotating)" "" # it does rotate
	judge $command "$(say something-new)" ""     # nobody knows what that means
done
judge seek "$(say not-rotating)" not-rotating
judge seek "$(say rotation-unclear)" rotation-unclear
judge seek "$(say not-one-arm)" not-one-arm
judge zones "$(say token-bucket)" token-bucket
judge zones "$(say bursts)" bursts
judge zones "$(say spin-up)" spin-up
judge zones "$(say healed)" healed
figure seek '.figures.full_stroke_ns *= 2 | .intervals.full_stroke_ns |= map(. * 2)' full_stroke_ns
figure seek '.figures.random_access_mean_ns *= 1.5 | .intervals.random_access_mean_ns |= map(. * 1.5)' random_access_mean_ns
figure seek '.figures.rotation_rpm = 7200 | .intervals.rotation_rpm = [7199, 7201]' rotation_rpm
figure zones '.figures.mean_bytes_per_s *= 1.3 | .intervals.mean_bytes_per_s |= map(. * 1.3)' mean_bytes_per_s
figure geometry '.figures.start_sectors_per_track += 300 | .intervals.start_sectors_per_track |= map(. + 300)' start_sectors_per_track

# A row of a table from its keys: row(TABLE; {KEY: VALUE}).
rows='def row(t; o): .tables[t].rows += [[.tables[t].columns[].key as $k | o[$k]]]; '
judge zones "$rows"'row("slow_regions"; {first_byte: 10000000000, last_byte: 11000000000, rate_bytes_per_s: 20e6,
	expected_bytes_per_s: 40e6, rate_to_expected_ratio: 0.5, readings: 3})' "slow region"
stretch() # first byte, last byte, kind
{
	echo "$rows"'row("stretches"; {first_byte: '"$1, last_byte: $2, rate_bytes_per_s: 40e6, beside_bytes_per_s: 20e6, kind: \"$3\"})"
}
judge zones "$(stretch 500000000 900000000 "not stored, or cached")" "stretch not stored"
judge zones "$(stretch 500000000 900000000 "another device or actuator")" "stretch of another device"
judge zones "$(stretch 500000000 900000000 uneven)" "uneven stretch"
judge zones "$(say another-device)" another-device
judge zones "$(say uneven)" uneven
judge zones "$rows"'row("unreadable"; {first_byte: 1048576, last_byte: 1052671, errno_name: "EIO"})' "unreadable region"
judge zones "$(say zones-at-least) | "'.tables.bands.rows |= (.[0] as $r | [$r] + ($r | [.[0] = 2200000000]) + .[1:])' "recording zone"
judge zones '.tables.bands.rows |= .[1:]' "number of zones"
judge zones "$(say zones-at-least) | .tables.bands.rows |= .[1:]" ""
judge geometry '.figures.surfaces += 1' surfaces
judge geometry '.figures.arm_surfaces = .figures.surfaces' surfaces # it has one arm
judge geometry '.figures.layout |= sub("head-first"; "seek-first in bands of 7 tracks, forward")' layout
judge geometry '(.tables.zones.columns | map(.key) | index("first_byte")) as $i | .tables.zones.rows[1][$i] += 1048576' "sure zone"
judge geometry '(.tables.zones.columns | map(.key) | index("sectors_per_track")) as $i | .tables.zones.rows[0][$i] += 7' "sure zone"
judge geometry '(.tables.zones.columns | map(.key)) as $c | ($c | index("first_byte")) as $i | ($c | index("certainty")) as $s |
	.tables.zones.rows[1] |= (.[$i] += 1048576 | .[$s] = "unclear")' "" # what is hedged is no lie

# Places of `surface`: all that were planted, sector for sector, and no other.
"$wild" surface --profile=$ideal --noise=none --disks=1 --plant=5 -q --keep="$dir/keep" --json="$dir/board.json" -- --without=files >"$dir/out" ||
	fail "wild surface"
jq -e '.planted == 5 and .not_reported == 0 and .disks_with_lies == 0 and .scanned_bytes == .disk_bytes' "$dir/board.json" >/dev/null ||
	fail "surface: $(jq -c '[.planted, .missed, .lies, .scanned_bytes]' "$dir/board.json")"
slow="(.tables.slow.columns | map(.key)) as \$k | (\$k | index(\"lba\")) as \$lba | (\$k | index(\"kind\")) as \$kind | (\$k | index(\"offset_bytes\")) as \$at | "
judge surface . ""
judge surface "$slow(.tables.slow.rows[] | select(.[\$kind] == \"always\")) |= (.[\$lba] += 1 | .[\$at] += 512)" "weak sector"
jq -e '.planted == 5 and .not_reported == 5' "$dir/judged.json" >/dev/null || fail "surface: one sector off passes for the one"
judge surface "$slow(.tables.slow.rows[] | select(.[\$kind] == \"always\")) |= (.[\$kind] = \"unreadable\")" "unreadable sector"
judge surface '.tables.slow.rows = []' ""
jq -e '.planted == 5 and .not_reported == 5' "$dir/judged.json" >/dev/null || fail "surface: what is not reported is not counted"
judge surface '.figures.rotation_period_ns /= 2' ""
jq -e '.figures[] | select(.name == "rotation_period_ns") | .worst_error < -0.4' "$dir/judged.json" >/dev/null || fail "half a revolution passes for one"
"$wild" surface --class=nearline --seeds=5 --sample=1600MB --plant=16 -q --json="$dir/board.json" -- --without=files >"$dir/out"
jq -e '.scanned_bytes > 15e8 and .scanned_bytes < 1601e6 and .disk_bytes > 7e12 and .planted == 16 and .disks_with_lies == 0' "$dir/board.json" >/dev/null ||
	fail "surface: stretches of a large disk: $(jq -c '[.planted, .missed, .lies, .scanned_bytes]' "$dir/board.json")"

# Disks of which once a sector was called weak that is not (near the end; of tracks far off their angle), or half a revolution a whole one.
for seed in 3 7; do
	"$wild" surface --seeds=$seed --sample=16GB --plant=10 -q --json="$dir/board.json" -- --without=files >"$dir/out"
	jq -e '.disks_with_lies == 0 and (.figures[] | select(.name == "rotation_period_ns") | .worst_error | fabs) < 0.001' "$dir/board.json" >/dev/null ||
		fail "surface, seed $seed: $(jq -c '[.lies, .figures]' "$dir/board.json")"
done

# Where nothing rotates no figure of a mechanism is true.
"$wild" seek --class=ssd --seeds=1 --noise=none -q --keep="$dir/keep" >"$dir/out"
jq '.figures.rotation_rpm = 7200' "$dir/keep/seek-1.json" >"$dir/planted.json"
"$wild" seek --judge="$dir/planted.json" --profile="$dir/keep/seek-1.disk" --json="$dir/judged.json" >"$dir/out"
jq -e '.lies | has("rotation_rpm")' "$dir/judged.json" >/dev/null || fail "a rotation rate of an SSD passes for true"

# What is said of parts holds where there are such parts, and only of them: LBAs 1000000 to 2999999 were trimmed; two disks meet at half of the bytes.
parts() # lines for the profile
{
	cp "$dir/whole.disk" "$dir/parts.disk"
	printf '%s\n' "$@" >>"$dir/parts.disk"
	cp "$dir/parts.disk" "$dir/keep/zones-1.disk"
	cp "$dir/plain.json" "$dir/keep/zones-1.json"
}
jq '.figures = {} | .intervals = {} | .notices = [] | .tables |= with_entries(.value.rows = [])' "$dir/keep/zones-1.json" >"$dir/plain.json"
grep -v "^capacity_lba" "$dir/keep/zones-1.disk" >"$dir/whole.disk"
parts "trimmed 1000000 2000000"
judge zones "$(stretch 600000000 1400000000 "not stored, or cached")" ""
judge zones "$(say not-stored)" ""
judge zones "$(stretch 1600000000 2000000000 "not stored, or cached")" "stretch not stored"
judge zones "$(stretch 600000000 1400000000 "another device or actuator")" "stretch of another device"
judge zones "$(stretch 600000000 1400000000 uneven)" "uneven stretch" # it rotates
parts "arms joined"
size=$("$SIMDISK" truth --json "$dir/parts.disk" | jq .size_bytes)
places="def places: .tables.curve.rows = [range(64) as \$i | [.tables.curve.columns[] | null]]; places | "
judge zones "$places$(stretch $((size / 2)) $((size - 1)) "another device or actuator")" ""
judge zones "$(say another-device)" ""
judge zones "$(say not-one-arm)" ""
judge zones "$places$(stretch $((size / 4)) $((size - 1)) "another device or actuator")" "stretch of another device"

# What is there, was measured and is not reported is counted: of LBAs 1000000 to 1399999 each hundredth sector costs a revolution, 3000000 to 3000999 fail.
missed() # jq program, how many should be reported, how many were not
{
	jq "$1" "$dir/keep/zones-1.json" >"$dir/planted.json" || fail "zones: cannot plant: $1"
	"$wild" zones --judge="$dir/planted.json" --profile="$dir/keep/zones-1.disk" --json="$dir/judged.json" >"$dir/out" || fail "--judge: $1"
	jq -e ".planted == $2 and .not_reported == $3" "$dir/judged.json" >/dev/null || fail "missed: $1: $(jq -c '[.planted, .not_reported, .missed]' "$dir/judged.json")"
}
parts "slow 1000000 400000 100 1" "bad 3000000 1000 r 3"
missed . 0 0 # nothing was measured there
missed "$rows"'row("curve"; {first_byte: 600000000, last_byte: 600999999})' 1 1
grep -q "Not reported: slow region" "$dir/out" || fail "what was not reported is not in the text"
missed "$rows"'row("curve"; {first_byte: 600000000, last_byte: 600999999}) | row("slow_regions"; {first_byte: 590000000, last_byte: 610000000})' 1 0
missed "$rows"'row("curve"; {first_byte: 1535000000, last_byte: 1536999999})' 0 0 # no sample read it
missed "$rows"'row("samples"; {offset_bytes: 1535900000, end_bytes: 1536000000})' 0 0
missed "$rows"'row("samples"; {offset_bytes: 1535900000, end_bytes: 1536000001})' 1 1
missed "$rows"'row("samples"; {offset_bytes: 1535000000, end_bytes: 1536999999}) | row("unreadable"; {first_byte: 1536000000, last_byte: 1536000511})' 1 0
