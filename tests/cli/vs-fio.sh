#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# How tools/vs-fio judges: measurements that are made up, whose numbers are known. (tests/block/vs-fio.sh runs the true ones.)
. "$(dirname "$0")/lib.sh"
needs python3

tree=$dir/tools
mkdir -p "$tree/versus" && cp "$TOP/tools/vs-fio" "$tree" && cp "$TOP/tools/versus/__init__.py" "$tree/versus" || fail "vs-fio cannot be copied"
cat >"$tree/versus/alike.py" <<'PY'
import itertools
from versus import Comparison
ORDER = 1
def comparisons(place):
    noise = itertools.cycle((1.02, 0.99, 1.0, 0.98, 1.01))
    yield Comparison('the same', 'ms', 1, lambda: 10.0, lambda: 10.0)
    yield Comparison('2 % off', 'ms', 1, lambda: 10.0, lambda: 10.2)
    yield Comparison('twice as good', 'ms', 1, lambda: 10.0, lambda: 20.0, at_least=True)
    yield Comparison('10 % off, noisy', 'ms', 1, lambda: 10.0, lambda: 11.0 * next(noise) ** 10)
PY
cat >"$tree/versus/apart.py" <<'PY'
import itertools
from versus import Comparison
ORDER = 2
IN_FILES = True
def comparisons(place):
    noise = itertools.cycle((1.002, 0.999, 1.0, 0.998, 1.001))
    yield Comparison('10 % off', 'ms', 1, lambda: 10.0, lambda: 11.0 * next(noise))
    yield Comparison('half as good', 'ms', 1, lambda: 10.0, lambda: 5.0, at_least=True)
PY
echo 'ALONE = True' >"$tree/versus/slow.py" && cat "$tree/versus/apart.py" >>"$tree/versus/slow.py"
cat >"$tree/versus/broken.py" <<'PY'
from versus import Comparison
ORDER = 3
IN_FILES = True
def comparisons(place):
    place.platter('zones')
    yield None
PY

expect() # STATUS WORD...
{
	want=$1
	shift
	"$tree/vs-fio" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ $got = "$want" ] || fail "vs-fio $*: exit status $got, not $want"
}
expect 0 alike "$dir/out"
grep -q DISAGREE "$dir/out" && fail "what agrees is called different"
[ "$(grep -c ' ms' "$dir/out")" = 4 ] || fail "there are not 4 rows"
expect 5 apart "$dir/out"
[ "$(grep -c 'DISAGREE$' "$dir/out")" = 2 ] || fail "what differs is not called so"
expect 0 all "$dir/out" # what works in files wants --dir, what takes long its name
expect 5 slow "$dir/out"
expect 5 apart "$dir/out" --json
python3 - "$dir/out" <<'PY' || fail "the JSON"
import json, sys
far, half = json.load(open(sys.argv[1]))
assert not far['agree'] and not half['agree'] and far['measurement'] == 'apart' and far['pairs'] == 5, far
assert abs(far['ratio'] - 1.1) < 1e-4 and 1.097 < far['low'] < far['ratio'] < far['high'] < 1.103, far
assert half['fio'] == 10 and half['platter'] == 5 and half['ratio'] == half['low'] == half['high'] == 0.5, half
PY
expect 5 apart "$dir/out" --rows=half --pairs=2
[ "$(grep -c ' ms' "$dir/out")" = 1 ] || fail "--rows"
expect 1 broken "$dir/out" --platter=/bin/false
expect 2 nothing "$dir/out"
expect 2 alike "$dir/out" --pears=3
grep -q 'unknown option --pears' "$dir/err" || fail "an unknown option is not named"
expect 0 --help

# The intervals hold what they promise, whatever the number of pairs.
(cd "$tree" && python3 -B - <<'PY') || fail "the intervals"
import math, random
from versus import interval, student
for df, true in ((1, 12.706), (12, 2.179), (13, 2.160), (20, 2.086), (60, 2.000), (1000, 1.962)):
    assert abs(student(df) - true) < 0.0015, (df, student(df))
draw = random.Random(1)
for n, by_median in ((2, False), (3, True), (5, False), (6, True), (9, True), (14, False), (30, True)):
    hits = 0
    for _ in range(2000):
        mean, low, high = interval([1.1 * math.exp(draw.gauss(0, 0.3)) for _ in range(n)], by_median)
        assert 0 < low <= mean <= high
        hits += low <= 1.1 <= high
    assert hits >= 1880, (n, by_median, hits)  # 95 % less 2 deviations
PY

# Of a disk whose rate falls in steps, with noise, as narrow as is said.
cp "$TOP/tools/versus/width.py" "$tree/versus"
(cd "$tree" && python3 -B - <<'PY') || fail "the widths"
import random, statistics
from versus.width import mean_of_places, mean_of_runs
draw = random.Random(1)
rates = [100 - 5 * (k // 16) for k in range(128)]
true = 128 / sum(1 / r for r in rates)
held = held_run = 0
for _ in range(2000):
    mean, half = mean_of_places([r * draw.gauss(1, 0.01) for r in rates])
    held += abs(true / mean - 1) <= half
    mean, half = mean_of_runs([draw.gauss(1, 0.01) for _ in range(40)])
    held_run += abs(1 / mean - 1) <= half
assert 1880 <= held and 1880 <= held_run, (held, held_run)
assert mean_of_runs([1.0] * 11) is None
PY
