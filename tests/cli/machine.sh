#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What other programs read: the schema holds for every kind of document and refuses what is none, --jsonl appends whole lines, and --prometheus is
# OpenMetrics text with the numbers of the document in base units.
. "$(dirname "$0")/lib.sh"
needs python3 jq
schema=$TOP/src/result/platter-result-1.schema.json
sim=${PLATTER_SIM:?}

head -c 1048576 /dev/urandom >"$dir/target"
mkdir "$dir/documents"
document() # name, program, words: a document of each measurement, through every form at once
{
	name=$1
	shift
	last="$*"
	"$@" --quiet --json="$dir/documents/$name.json" --prometheus="$dir/$name.prom" --jsonl="$dir/all.jsonl" >"$dir/out" 2>"$dir/err" ||
		[ $? -ge 4 ] || fail "$last: exit status"
	out_is_empty
}
document zones "$sim" zones --quick sim:tiny
document seek "$sim" seek sim:tiny --time=40s
document geometry "$sim" geometry --quick sim:tiny
document stream "$sim" stream --read --rate=4MB --time=10s sim:tiny sim:barracuda
document transactions "$sim" transactions --users=4 --count=50 sim:tiny
document info "$PLATTER" info "$dir/target"
document passes "$PLATTER" passes "$dir/target"

# A figure's name never changes its meaning, nor its unit, and none goes away: what scripts outside may rely on. The list only grows.
for name in zones seek geometry stream transactions passes; do
	jq -r --arg m $name '.figure_info | to_entries[] | [$m, .key, .value.type] | join(" ")' "$dir/documents/$name.json"
done | sort >"$dir/figures"
lost=$(grep -v '^#' "$TOP/tests/data/documents/figures" | cut -d ' ' -f 1-3 | sort | comm -23 - "$dir/figures")
[ -z "$lost" ] || fail "figures that are gone, or have another unit than tests/data/documents/figures says: $lost"
while read -r measurement figure unit _; do
	case $measurement in "#"*) continue ;; esac
	cat "$TOP/man/platter-$measurement.8" "$TOP/man/platter-json.5" | grep -qwF "$figure" || fail "$figure ($unit) of $measurement is in no man page"
done <"$TOP/tests/data/documents/figures"

# JSON Lines: one document a line, the same as the files; a line that a full disk has cut harms no other; nobody's lines are mixed.
[ "$(wc -l <"$dir/all.jsonl")" = 7 ] || fail "--jsonl: not seven lines"
for m in zones seek geometry stream transactions info passes; do
	jq -c --arg m $m 'select(.head.measurement == $m)' "$dir/all.jsonl" | jq -S . >"$dir/a"
	jq -S . "$dir/documents/$m.json" >"$dir/b"
	cmp -s "$dir/a" "$dir/b" || fail "--jsonl: $m is not what --json has"
done
run 0 report --force --csv="$dir/a" "$dir/all.jsonl"
run 0 report --force --csv="$dir/b" "$dir/documents/zones.json" "$dir/documents/seek.json" "$dir/documents/geometry.json" \
	"$dir/documents/stream.json" "$dir/documents/transactions.json" "$dir/documents/info.json" "$dir/documents/passes.json"
cmp -s "$dir/a" "$dir/b" || fail "report reads lines otherwise than documents"
printf '{"cut": ' >"$dir/cut.jsonl"
run 0 info "$dir/target" -q --force --jsonl="$dir/cut.jsonl"
sed 1d "$dir/cut.jsonl" | jq -e '.schema == "platter-result"' >/dev/null || fail "$last: the line is no document"
run 1 report "$dir/cut.jsonl" # the line is lost, the others are not
err_has "cut.jsonl, line 1"
grep -q "platter info" "$dir/out" || fail "$last: a line that can be read is not shown"
for i in 1 2 3 4 5 6; do
	"$PLATTER" info "$dir/target" -q --jsonl="$dir/many.jsonl" &
done
wait
[ "$(jq -c .version "$dir/many.jsonl" | grep -c 1)" = 6 ] || fail "--jsonl by six at once"

# The three lines of the manual that load a table into pandas; where that is not installed, what they give it.
if ! python3 -c 'import pandas' 2>"$dir/err"; then
	mkdir "$dir/stand-in"
	printf '%s\n' 'def DataFrame(rows, columns):' '	assert rows and all(len(row) == len(columns) for row in rows)' '	return rows' >"$dir/stand-in/pandas.py"
fi
sed -n '/^import json, pandas$/,/^\.Ed$/p' "$TOP/man/platter-json.5" | sed '/^\.Ed$/d' >"$dir/load.py"
[ "$(wc -l <"$dir/load.py")" = 3 ] || fail "platter-json(5) does not show pandas in three lines"
echo 'assert len(curve) > 3' >>"$dir/load.py"
(cd "$dir/documents" && PYTHONPATH="$dir/stand-in" python3 "$dir/load.py") >"$dir/out" 2>"$dir/err" || fail "the lines for pandas"

# How a long run goes, while it goes: records each 10 s before its document, which readers of documents pass over.
# (Of minutes: where the simulator is quicker than the file system the last of several records is the one that is written.)
last="surface with records"
"$sim" surface sim:modern-4tb --range=-60GB -q --progress=json --jsonl="$dir/live.jsonl" >"$dir/out" 2>"$dir/err" || fail "$last"
jq -se '(.[:-1] | length >= 2 and all(.schema == "platter-progress" and .read_bytes_per_s > 1e6 and .elapsed_s >= 10)) and
	(.[:-1] | map(.read_bytes) | . == sort and .[0] < .[-1]) and .[-1].schema == "platter-result"' "$dir/live.jsonl" >/dev/null || fail "$last: $(cut -c 1-200 "$dir/live.jsonl")"
run 0 report "$dir/live.jsonl"
"$sim" surface sim:tiny -q --jsonl="$dir/live.jsonl" >"$dir/out" 2>"$dir/err" || fail "$last: a file of records is not appended to"
[ "$(grep -c platter-progress "$dir/live.jsonl")" = "$(($(wc -l <"$dir/live.jsonl") - 2))" ] || fail "$last: records without --progress=json"

# The head says which machine it was, and not by its secret.
jq -e '.head.host | .name != null and .cpus >= 1 and (.machine_id == null or (.machine_id | test("^[0-9a-f]{16}$")))' "$dir/documents/info.json" >/dev/null ||
	fail "head.host: $(jq -c .head.host "$dir/documents/info.json")"
[ "$(jq -r .head.host.name "$dir/documents/info.json")" = "$(uname -n)" ] || fail "head.host.name"
if grep -q '^model name' /proc/cpuinfo; then
	grep -qF "$(jq -r .head.host.cpu "$dir/documents/info.json")" /proc/cpuinfo || fail "head.host.cpu is not in /proc/cpuinfo"
fi
if [ -s /etc/machine-id ]; then
	grep -qF "$(cut -c 1-16 /etc/machine-id)" "$dir/documents/info.json" && fail "the machine-id is in the document"
fi

# Two runs of a disk are one set of metrics, the later one's; another disk's stand beside it, under the same heading.
jq '.head.started = "2020-01-01T00:00:00.000000Z" | .figures.mean_bytes_per_s = 1' "$dir/documents/zones.json" >"$dir/old.json"
jq '.targets[0].serial = "a\"b\\c"' "$dir/documents/zones.json" >"$dir/other.json"
run 0 report --prometheus="$dir/fleet.prom" "$dir/documents/zones.json" "$dir/old.json" "$dir/other.json"
out_is_empty
[ "$(grep -c '^platter_zones_mean_bytes_per_second{' "$dir/fleet.prom")" = 2 ] || fail "$last: not two disks"
run 0 report --prometheus=- "$dir/old.json"
grep -q '^platter_zones_mean_bytes_per_second{.*} 1.0$' "$dir/out" || fail "$last: the old figure"

cat >"$dir/check.py" <<'PY'
import json, math, pathlib, re, sys

def fail(text):
    sys.exit('FAIL: ' + text)

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r'(%s)\{(%s(?:,%s)*)\} (\S+)$' % (NAME, LABEL, LABEL))

def parse(path):
    """Samples of OpenMetrics text; fails where the format is broken: families in one piece, units as the end of names, nothing twice, # EOF last."""
    text = path.read_text()
    if not text.endswith('# EOF\n') or text.count('# EOF') != 1:
        fail('%s does not end with # EOF' % path.name)
    family, seen, samples = None, set(), {}
    for line in text.splitlines()[:-1]:
        if line.startswith('# TYPE '):
            family, kind = line.split(' ')[2:]
            if kind != 'gauge' or family in seen:
                fail('%s: %s' % (path.name, line))
            seen.add(family)
        elif line.startswith('# UNIT '):
            name, unit = line.split(' ')[2:]
            if name != family or not name.endswith('_' + unit):
                fail('%s: %s' % (path.name, line))
        elif line.startswith('# HELP '):
            if line.split(' ')[2] != family:
                fail('%s: %s' % (path.name, line))
        else:
            m = SAMPLE.match(line)
            if not m or m.group(1) != family or not math.isfinite(float(m.group(3))) or (family, m.group(2)) in samples:
                fail('%s: %s' % (path.name, line))
            samples[family, m.group(2)] = float(m.group(3))
    return samples

here = pathlib.Path(sys.argv[1])
UNITS = {'bytes_per_s': ('bytes_per_second', 1), 'ns': ('seconds', 1e-9), 's': ('seconds', 1), 'bytes': ('bytes', 1), 'ratio': ('ratio', 1),
         'percent': ('ratio', 0.01), 'rpm': ('rpm', 1), 'per_s': ('per_second', 1), 'mib_per_s': ('bytes_per_second', 1048576)}
checked = 0
for path in sorted(here.glob('*.prom')):
    samples = parse(path)
    if path.stem == 'fleet':
        continue
    document = json.loads((here / 'documents' / (path.stem + '.json')).read_text())
    by_name = {}
    for (name, labels), value in samples.items():
        by_name.setdefault(name, []).append((labels, value))
    for name, value in document['figures'].items():
        kind = document['figure_info'][name]['type']
        if not isinstance(value, (int, float)):
            continue
        unit, factor = UNITS.get(kind, ('', 1))
        stem = name[:-len(kind) - 1] if unit and name.endswith('_' + kind) else name
        for part, number in [('', value)] + list(zip(('_low', '_high'), document['intervals'].get(name, []))):
            wanted = '_'.join(filter(None, ('platter', path.stem, stem + part, unit)))
            if wanted not in by_name or not math.isclose(by_name[wanted][0][1], number * factor, rel_tol=1e-12):
                fail('%s: %s is not %g' % (path.name, wanted, number * factor))
            checked += 1
    if [v for l, v in by_name['platter_run_status'] if 'status="%s"' % document['status'] in l] != [1.0]:
        fail('%s: status' % path.name)
if checked < 40:
    fail('only %d figures' % checked)

try:
    import jsonschema
except ImportError:
    print('skipped in part: python3-jsonschema is not installed')
    sys.exit(0)
schema = json.loads(pathlib.Path(sys.argv[2]).read_text())
jsonschema.Draft7Validator.check_schema(schema)
holds = jsonschema.Draft7Validator(schema).is_valid
kept = sorted(pathlib.Path(sys.argv[3]).glob('*/*.json'))
if len(kept) < 5:
    fail('no kept documents')
for path in sorted((here / 'documents').glob('*.json')) + kept:
    document = json.loads(path.read_text())
    for error in jsonschema.Draft7Validator(schema).iter_errors(document):
        fail('%s: %s at %s' % (path.name, error.message[:300], list(error.absolute_path)))

def spoil(change):
    document = json.loads((here / 'documents' / 'zones.json').read_text())
    change(document)
    return document

def put(*way):
    def change(d):
        for key in way[:-2]:
            d = d[key]
        d[way[-2]] = way[-1]
    return change

if not holds(spoil(put('head', 'a_later_member', [1]))):
    fail('the schema refuses what may come')
for change in (put('version', 2), put('schema', 'x'), put('status', 'fine'), put('head', 'seed', -1), put('head', 'started', 'yesterday'),
               put('figures', 'mean_bytes_per_s', [1]), put('intervals', 'mean_bytes_per_s', [1]), put('targets', 0, 'kind', 'floppy'),
               put('tables', 'curve', 'rows', [[{}]]), put('notices', [{'code': 'x'}]), put('faults', [{'op': 'eat'}]), put('plots', [{}]),
               put('head', 'host', 'machine_id', 'f' * 32), lambda d: d.pop('figures'), lambda d: d['tables']['curve'].pop('columns')):
    if holds(spoil(change)):
        fail('the schema takes a document that is spoilt')
PY
python3 "$dir/check.py" "$dir" "$schema" "$TOP/tests/data/documents" || exit 1

# On standard output alone.
run 0 info "$dir/target" --prometheus=- --quiet
out_has "# EOF"
run 2 info "$dir/target" --prometheus=- --json=-
one_sentence
exit 0
