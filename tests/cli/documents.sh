#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# report and compare: documents in, text, pages and verdicts out; no device is opened.
. "$(dirname "$0")/lib.sh"
needs jq python3

document() # file, rate, half-width, time, model
{
	jq -n --argjson rate "$2" --argjson half "$3" --arg started "$4" --arg model "${5:-Disk 1}" '{
		schema: "platter-result", version: 1, status: "complete",
		head: {measurement: "zones", program: "platter 0.1.0", argv: ["platter", "zones", "/dev/sdb"], started: $started,
			elapsed_s: 61.5, clock: "CLOCK_MONOTONIC", host: {kernel: "6.1", machine: "x86_64", cpus: 2, memory_bytes: 1e9},
			engine: "uring", seed: 7, options: {block: "1MiB"}},
		targets: [{path: "/dev/sdb", kind: "disk", size_bytes: 4e12, model: $model, serial: "S1", rotational: 1}],
		tables: {curve: {title: "Rate by place", columns: [{key: "offset_bytes", label: "offset", type: "bytes"},
			{key: "rate_bytes_per_s", label: "rate", type: "bytes_per_s"}], rows: [[0, $rate], [4000000000, ($rate / 2)]]}},
		figures: {start_bytes_per_s: $rate}, intervals: {start_bytes_per_s: [$rate - $half, $rate + $half]},
		faults: [], fault_totals: {}, notices: [],
		plots: [{kind: "line", title: "Rate", table: "curve", x: "offset_bytes", y: "rate_bytes_per_s"}]}' >"$1"
}
mkdir "$dir/shelf" "$dir/empty"
document "$dir/shelf/a.json" 200e6 1e6 2024-01-01T00:00:00.000000Z
document "$dir/shelf/b.json" 200.5e6 1e6 2025-01-01T00:00:00.000000Z
document "$dir/c.json" 180e6 1e6 2026-01-01T00:00:00.000000Z
cat "$dir/shelf/a.json" "$dir/shelf/b.json" "$dir/c.json" >"$dir/before"

run 0 report "$dir/shelf/a.json"
out_has "200"
err_is_empty
run 0 report "$dir/shelf" "$dir/c.json" -o "$dir/page.html"
out_is_empty
grep -q '<svg' "$dir/page.html" || fail "$last: no picture"
grep -qE '<script|https?://[^"]*\.(js|css)' "$dir/page.html" && fail "$last: the page does not stand alone"
run 0 report "$dir/c.json" -o -
out_has "<svg"
# What a browser would obey (an override of the direction, a C1 control) is shown as a question mark; what is not reported as a dash.
jq '.targets[0].model = "a\u202eb\u009bc\u2066d" | del(.head.elapsed_s) | .faults = [{target: "x", op: "read", offset_bytes: 0, length_bytes: 512, errno: "EIO"}]' "$dir/c.json" >"$dir/strange.json"
run 0 report "$dir/strange.json" -o "$dir/strange.html"
grep -q 'a?b?c?d' "$dir/strange.html" || fail "$last: the direction of writing is the document's"
grep -qwi 'nan' "$dir/strange.html" && fail "$last: nan: $(grep -wi nan "$dir/strange.html" | head -2)"
run 0 report --plot "$dir/shelf" "$dir/c.json"
[ "$(grep -cx "Rate" "$dir/out")" = 1 ] || fail "$last: the plots are not laid over each other"
out_has "* Disk 1 S1, 2024-01-01"
out_has "+ Disk 1 S1, 2026-01-01"
run 0 report "$dir/c.json" --csv=-
out_has "start_bytes_per_s"
document "$dir/evil.json" 1e8 1e6 2026-01-01T00:00:00.000000Z '<img src=x onerror=alert(1)>&"</title>'
run 0 report "$dir/evil.json" -o -
grep -qF '<img' "$dir/out" && fail "$last: a model name is markup"
jq '. + {a_later_member: {x: [1]}} | .head.later = 1' "$dir/c.json" >"$dir/later.json"
run 0 report "$dir/later.json"

run 0 compare "$dir/shelf/a.json" "$dir/shelf/a.json"
run 0 compare "$dir/shelf/a.json" "$dir/shelf/b.json"
run 5 compare "$dir/shelf/a.json" "$dir/c.json"
out_has "start_bytes_per_s"
err_is_empty
# A column that is text in one of them and a number in the other is shown of both as the first has it; what is no such thing is left open.
for column in 0 1; do
	jq --argjson c $column '.tables.curve |= (.columns[$c].type = "text" | .rows[] |= (.[$c] |= "at \(.)"))' "$dir/c.json" >"$dir/text.json"
	for pair in "shelf/a.json text.json" "text.json shelf/a.json"; do
		run 5 compare "$dir/${pair% *}" "$dir/${pair#* }" --json=-
		jq -e --argjson c $column '.tables.curve | (.rows | length) == 4 and ([.rows[][$c + 1]] | map(. != null) | unique) == [false, true]' "$dir/out" >/dev/null ||
			fail "$last: the columns laid over each other"
		run 5 compare "$dir/${pair% *}" "$dir/${pair#* }" --html=-
	done
done
run 0 compare "$dir/shelf/a.json" "$dir/c.json" --threshold=20%
run 5 compare "$dir/shelf/a.json" "$dir/c.json" --json=-
jq -e '.schema == "platter-result" and .status == "complete" and .head.measurement == "compare"' "$dir/out" >/dev/null || fail "$last: the document"
run 1 compare "$dir/shelf" # two are no trend
one_sentence
document "$dir/shelf/d.json" 199.8e6 1e6 2025-06-01T00:00:00.000000Z
run 0 compare "$dir/shelf"
mkdir "$dir/worse"
for year in 2020 2021 2022 2023 2024 2025; do
	document "$dir/worse/$year.json" "$((200 - 5 * (year - 2020)))e6" 0.2e6 $year-01-01T00:00:00.000000Z
done
run 5 compare "$dir/worse"
run 5 compare "$dir/worse" --threshold=2%
run 0 compare "$dir/worse" --threshold=50%
grep -qi "not finished" "$dir/out" && fail "$last: a comparison is complete"

# Documents of version 1 are readable for ever: a folder of them is kept, and grows when the format does. Its files are never changed.
for old in "$TOP"/tests/data/documents/version-1/*.json; do
	run 0 report "$old"
	[ "$(wc -l <"$dir/out")" -le 40 ] || fail "$last: more than a screen"
	run 0 report --tables --plot "$old"
	err_is_empty
	out_has "Figures"
	figures=$(jq '[.figures[] | select(. != null)] | length' "$old")
	run 0 report --csv=- "$old"
	[ "$(sed -n '/^# table figures/,/^# table/p' "$dir/out" | awk -F, 'NR > 2 && $2 != "" && !/^#/ { n++ } END { print n + 0 }')" -ge "$figures" ] ||
		fail "$last: a figure is missing"
	for table in $(jq -r '.tables | to_entries[] | select(.value.rows | length > 0) | .key' "$old"); do
		out_has "# table $table"
	done
	run 0 report -o - "$old"
	[ "$(jq '.plots | length' "$old")" = 0 ] || out_has "</svg>"
	run 0 compare "$old" "$old" # one run, however wide its intervals are
done
# Together, too: in the table of disks, as metrics, and against themselves.
run 0 report "$TOP/tests/data/documents/version-1" --json="$dir/kept.json" --prometheus="$dir/kept.prom"
jq -e '.tables.disks.rows | length > 0' "$dir/kept.json" >/dev/null || fail "$last: no disk of the past has a row"
run 0 compare "$TOP/tests/data/documents/version-1" "$TOP/tests/data/documents/version-1"
(cd "$TOP/tests/data/documents/version-1" && cksum -- *.json) >"$dir/sums"
cmp -s "$dir/sums" "$TOP/tests/data/documents/version-1/SUMS" || fail "kept documents were changed, or are not in SUMS (cksum *.json)"

# The README is short, and its picture is there.
[ "$(wc -l <"$TOP/README")" -lt 150 ] || fail "the README has 150 lines"
for picture in $(grep -oE 'contrib/[a-z]+\.svg' "$TOP/README"); do
	grep -q '</svg>' "$TOP/$picture" || fail "$picture is no picture"
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$TOP/$picture" 2>"$dir/err" || fail "$picture: no XML"
done

# Tables without the columns that are looked for.
jq -n '{ schema: "platter-result", version: 1, status: "complete", head: { measurement: "check", program: "platter 0.1.0", argv: ["platter"] },
	figures: { verdict: "KEEP" }, tables: (["reasons", "health"] | map({ (.): { columns: [{ key: "x", type: "count", label: "x" }], rows: [[1]] } }) | add) }' >"$dir/bare.json"
run 6 report "$dir/bare.json"
run 6 report "$dir/bare.json" "$dir/bare.json"

# What cannot be read is 1, with its name and the reason.
echo '{"schema": "something else"}' >"$dir/other.json"
echo '{"schema": "platter-result", "version": 1,' >"$dir/cut.json"
: >"$dir/nothing.json"
for bad in no-such.json other.json cut.json nothing.json empty; do
	run 1 report "$dir/$bad"
	one_sentence
	err_has "$bad: "
	run 1 compare "$dir/c.json" "$dir/$bad"
	one_sentence
done

# Written is only what may be written.
for place in /dev/null /dev/sd-no-such "$dir/c.json"; do
	run 3 report "$dir/c.json" -o "$place"
	one_sentence
	run 3 report "$dir/c.json" "--csv=$place"
	one_sentence
	run 3 compare "$dir/shelf/a.json" "$dir/c.json" "--json=$place"
	one_sentence
done
run 1 report "$dir/c.json" -o "$dir/no-folder/page.html"
one_sentence
cat "$dir/shelf/a.json" "$dir/shelf/b.json" "$dir/c.json" | cmp -s - "$dir/before" || fail "a document was changed"
[ ! -e /dev/sd-no-such ] || fail "a file was made in /dev"

# What cannot be read is passed over, in folders below, too, and never in silence: named, counted, and in the exit status. Nothing is waited for.
mkdir -p "$dir/pipes/below/.hidden"
cp "$dir/c.json" "$dir/pipes/a.json"
cp "$dir/c.json" "$dir/pipes/below/b.json"
echo '{' >"$dir/pipes/below/.hidden/d.json"
echo '{"name": "of another program"}' >"$dir/pipes/package.json"
timeout 10 "$PLATTER" report "$dir/pipes" --csv="$dir/two.csv" 2>"$dir/err" || fail "two documents in folders: status $?: $(cat "$dir/err")"
[ "$(grep -c '^# table figures' "$dir/two.csv")" = 2 ] || fail "a folder below is not read"
head -c 300 "$dir/c.json" >"$dir/pipes/below/cut.json"
sed 's/"version": 1/"version": 9/' "$dir/c.json" >"$dir/pipes/newer.json"
mkfifo "$dir/pipes/x.json"
for outputs in "" "--csv=$dir/two.csv" "-o $dir/two.html" "--json=$dir/two.json"; do
	# shellcheck disable=SC2086 # none or several words
	timeout 10 "$PLATTER" report "$dir/pipes" $outputs >"$dir/piped" 2>"$dir/err"
	[ $? = 1 ] || fail "report of a folder with bad documents $outputs: status $?"
	grep -q "3 documents cannot be read" "$dir/err" || fail "bad documents are not counted $outputs"
	for name in below/cut newer x; do
		grep -q "$name.json" "$dir/err" || fail "$name.json is passed over in silence $outputs"
	done
done
jq -e '.figures.passed_over == 3 and (.answer | test("3 documents cannot be read"))' "$dir/two.json" >/dev/null || fail "the answer does not count what is left out"
[ "$(grep -c '^# table figures' "$dir/two.csv")" = 2 ] || fail "bad documents cost others"
# Cut at any byte, or with nothing in it: as a file, as the last line of others, after a run's records; and what is behind the cut may be zeros.
mkdir "$dir/cuts"
jq -c 'del(.tables, .plots, .faults)' "$dir/c.json" >"$dir/line"
printf '{"schema": "platter-progress", "version": 1}\n' >"$dir/record"
python3 - "$dir" <<'PY'
import pathlib, sys
here = pathlib.Path(sys.argv[1])
line, record = (here / 'line').read_bytes(), (here / 'record').read_bytes()
def put(name, data): (here / 'cuts' / name).write_bytes(data)
cuts = range(0, len(line) - 1, 3)
for at in cuts:
    put('%04d.json' % at, line[:at] + b'\0' * (at % 2 * (len(line) - at)))
    put('%04d.jsonl' % at, (line + record + line[:at]) if at else b'')
put('record.jsonl', line + record[:20])
put('killed.jsonl', line + record)
put('whole.json', line)
put('whole.jsonl', record + line + b'\n' + line[:-1])
# Without their last line: an empty one, and one cut before its first byte, that ends with a record of the run.
(here / 'bad').write_text('%d' % (2 * len(cuts) + 2))
(here / 'good').write_text('%d' % (len(cuts) + 4))
PY
for outputs in "" "--json=$dir/cuts.out"; do
	# shellcheck disable=SC2086
	run 1 report "$dir/cuts" $outputs
	err_has "$(cat "$dir/bad") documents cannot be read"
done
jq -e --argjson bad "$(cat "$dir/bad")" '.figures.passed_over == $bad and .tables.disks.rows[0][(.tables.disks.columns | map(.key) | index("runs"))] == '"$(cat "$dir/good")" "$dir/cuts.out" >/dev/null ||
	fail "$last: $(jq -c '.figures.passed_over, .tables.disks.rows' "$dir/cuts.out"), not $(cat "$dir/bad") and $(cat "$dir/good")"
for name in record killed; do
	for bad in "$dir"/cuts/*; do
		case $bad in *"$name".jsonl) ;; *) rm "$bad" ;; esac
	done
	run 1 report "$dir/cuts"
	err_has "$name.jsonl"
	cp "$dir/record" "$dir/cuts/killed.jsonl"
done
run 1 report "$dir/cuts/killed.jsonl" # named, and nothing but records
one_sentence
err_has "killed"
timeout 10 "$PLATTER" report "$dir/pipes/x.json" >"$dir/piped" 2>&1 && fail "a pipe is a document"
"$PLATTER" report - <"$dir/c.json" >/dev/null || fail "standard input is no document"
for words in "" "-o -" "--csv=-" "--json=-" "--prometheus=-" "-v --plot"; do
	# shellcheck disable=SC2086
	"$PLATTER" report "$dir/c.json" $words >/dev/full 2>"$dir/err"
	[ $? = 1 ] || fail "report $words >/dev/full: status $?"
	grep -q "standard output failed" "$dir/err" || fail "report $words >/dev/full: $(cat "$dir/err")"
	grep -q dmesg "$dir/err" && fail "report $words >/dev/full: the kernel's log knows nothing of it"
done
# One output does not take the place of another, by whatever name.
run 2 report "$dir/c.json" -o "$dir/same" --csv "$dir/same"
run 2 report "$dir/c.json" -o "$dir/same" --csv "$dir/pipes/../same"
: >"$dir/same"
ln "$dir/same" "$dir/same-too"
run 2 report --force "$dir/c.json" -o "$dir/same" --csv "$dir/same-too"
rm "$dir/same"
run 0 report "$dir/c.json" -o "$dir/page.html" --csv "$dir/same-too"

# What a terminal would obey is not sent there, whichever text of a document it is in.
mkdir "$dir/evil"
"$PLATTER_SIM" check sim:failing --quiet --json="$dir/check.json" >"$dir/out" 2>"$dir/err"
for document in "$dir/check.json" "$TOP"/tests/data/documents/version-1/*.json; do
	evil=$dir/evil/${document##*/}
	jq '(.tables[].rows[][] | strings) += "\u001b[31m\u0007\u009b" | (.targets[]? | .[]? | strings) += "\u001b[31m" | (.notices[]? | .[]? | strings) += "\u001b[31m" |
		(.answer | strings) += "\u001b[31m"' "$document" >"$evil" || fail "jq: $document"
	for words in report "report -v" "report --plot" "compare $document"; do
		# shellcheck disable=SC2086 # words
		"$PLATTER" $words "$evil" >"$dir/out" 2>&1
		LC_ALL=C tr -d '\n -~\200-\377' <"$dir/out" | grep -q . && fail "control characters from $words ${document##*/}"
		LC_ALL=C grep -q "$(printf '\302\233')" "$dir/out" && fail "control characters from $words ${document##*/}"
	done
done
"$PLATTER" report "$dir/evil" >"$dir/out" 2>&1
LC_ALL=C tr -d '\n -~\200-\377' <"$dir/out" | grep -q . && fail "control characters from a fleet"
exit 0
