#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# platter-simdisk without root and disk: its command line, its manual page, the truth it prints.
PLATTER=${SIMDISK:?the program platter-simdisk}
. "$(dirname "$0")/lib.sh"
export PLATTER_SIMDISK_PROFILES="$TOP/tools/simdisk/profiles"

commands='run start stop list status truth replay wild'

# Every option that a command has is in the manual page, and no other.
page=$TOP/man/platter-simdisk.8
for command in $commands; do
	run 0 "$command" --help
	err_is_empty
	sed -n 's/^  *\(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p' "$dir/out" >>"$dir/options"
	grep -q "^\.It Cm $command\$" "$page" || fail "the page does not describe the command $command"
done
sort -u "$dir/options" >"$dir/known"
grep '^\.It Fl ' "$page" | grep -o 'Fl -[a-z-]*' | sed 's/Fl -//' |
	sort -u >"$dir/described"
[ -s "$dir/known" ] || fail "no option was found in the help"
diff "$dir/known" "$dir/described" >"$dir/out" || fail "help (<) and manual page (>) do not list the same options"

run 0 --help
out_has 'platter-simdisk COMMAND'
run 0 --version
out_has platter-simdisk

# Complaints: exit status 2, a sentence on stderr, nothing on stdout.
complains() # words...
{
	run 2 "$@"
	out_is_empty
	[ "$(wc -l <"$dir/err")" = 1 ] || fail "$last: not one line on stderr"
}
complains
complains no-such-command
complains start
complains run tiny
complains run tiny --
complains stop
complains stop --all a
complains start --no-such-option tiny
complains start --run-dir="$dir/r" --sector-size=777 tiny
err_has 777
complains start --run-dir="$dir/r" --partition=5 tiny
complains start --run-dir="$dir/r" --partition=0,900G tiny
complains start --run-dir="$dir/r" --partition=100,4096 tiny
complains start --run-dir="$dir/r" --fail-at=x tiny
complains start --run-dir="$dir/r" --fail-at=0 tiny
complains start --run-dir="$dir/r" --gone-at=soon tiny
complains start --run-dir="$dir/r" --comp-in=-1 tiny
complains start --run-dir="$dir/r" --name=.. tiny
complains start --run-dir="$dir/r" --name=a/b tiny
complains start --run-dir="$dir/r" tiny -- true
complains truth --range=5 tiny
complains truth --range=0,1P tiny
printf 'R Hit 0 8 9000 100\nR Hit 500000 8 9000 100\nW Hit 64 8 9000 100\n' >"$dir/trace"
complains replay tiny
complains replay --think=never tiny "$dir/trace"
complains replay --first=4 tiny "$dir/trace"
complains replay --first=0 tiny "$dir/trace"
complains replay --first=3 --last=2 tiny "$dir/trace"
printf 'R Hit 1\n' >"$dir/no-trace"
complains replay tiny "$dir/no-trace"
err_has no-trace:1
[ ! -e "$dir/r" ] || fail "wrong usage has made the run folder"
run 1 truth no-such-profile
err_has no-such-profile
run 1 status --run-dir="$dir/r" nobody
err_has nobody
run 0 list --run-dir="$dir/r"
out_is_empty

# A wrong profile says where.
printf 'rpm 7200\nrpn 1\n' >"$dir/wrong.disk"
run 2 truth "$dir/wrong.disk"
err_has 'wrong.disk:2'

run 1 replay tiny "$dir/no-such-trace"
err_has no-such-trace

# A trace: text, and a line for each request.
run 0 replay --csv="$dir/requests" tiny "$dir/trace"
out_has demerit
[ "$(cut -d, -f1-4,6 "$dir/requests" | sed -n 4p)" = write,64,8,9000.000,media ] || fail "the CSV file has not the third request"
"$PLATTER" replay --think=after tiny - <"$dir/trace" | grep -q demerit || fail "the trace is not read from standard input"

# The truth, as text and as JSON; a range of one zone is that zone's rate.
run 0 truth tiny
out_has 7200
needs python3
run 0 truth --json tiny
python3 - "$dir/out" "$PLATTER" <<'PY' || fail "the JSON does not agree with itself"
import json, subprocess, sys
with open(sys.argv[1]) as f:
    truth = json.load(f)
zone = truth['zones'][1]
span = '--range=%d,%d' % (zone['first_byte'], zone['end_byte'] - zone['first_byte'])
text = subprocess.run([sys.argv[2], 'truth', '--json', span, 'tiny'], stdout=subprocess.PIPE, check=True).stdout
rate = json.loads(text)[0]['rate_bytes_per_s']
assert truth['rpm'] == 7200 and abs(rate / zone['sustained_bytes_per_s'] - 1) < 1e-3, (rate, zone)
PY
# What the model says of each request, as a trace: there is nothing to find between the two.
run 0 replay --csv="$dir/requests" tiny "$dir/trace"
awk -F, 'NR > 1 { print ($1 == "read" ? "R" : "W"), "x", $2, $3, $5, 100 }' "$dir/requests" >"$dir/own"
run 0 replay --json tiny "$dir/own"
python3 - "$dir/out" <<'PY' || fail "the model does not fit itself"
import json, sys
with open(sys.argv[1]) as f:
    all = json.load(f)
assert [all[k]['requests'] for k in ('all', 'read', 'write')] == [3, 2, 1], all
assert all['all']['demerit_us'] < 0.002 and all['read']['drive_us']['p50'] > 1000, all
PY
