#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The unit of the regular check: a disk that has vanished fails it (nothing skips it), and what it runs is what a shell would run.
. "$(dirname "$0")/lib.sh"
unit=$TOP/contrib/systemd/platter-check@.service

! grep -Eq '^(Condition|Assert)' "$unit" || fail "a condition skips the unit without a word"
! grep -Eq '^IOSchedulingClass' "$unit" || fail "the class of I/O lets the load of others into the trend"
# The line as systemd runs it: %I and @SBINDIR@ put in, "%%" and "$$" as one, with STATE_DIRECTORY set.
line=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|@SBINDIR@/platter|$PLATTER|g; s|%f|$dir/vanished|g; s/%%/%/g; s/\\$\\$/$/g")
case $line in
*"$dir/vanished"*) ;;
*) fail "the unit runs '$line', which names no device" ;;
esac
export STATE_DIRECTORY="$dir"
if sh -c "$line" >"$dir/out" 2>&1; then
	fail "a disk that is not there does not fail the unit: $(cat "$dir/out")"
fi
grep -q vanished "$dir/out" || fail "the disk that is missing is not named: $(cat "$dir/out")"

# Nor does it pass over a document that it cannot read, though too few for a trend are no failure.
post() # STATUS: what it does after a check
{
	line=$(sed -n 's/^ExecStartPost=//p' "$unit" | sed "s|@SBINDIR@/platter|$PLATTER|g; s/%%/%/g; s/\\$\\$/$/g")
	STATE_DIRECTORY=$dir/kept sh -c "$line" >"$dir/out" 2>&1
	got=$?
	[ $got = "$1" ] || fail "after the check: exit status $got, not $1"
}
mkdir "$dir/kept"
"$PLATTER_SIM" zones --quick --quiet sim:tiny --json="$dir/kept/zones-1.json" || fail "zones of sim:tiny"
post 0
head -c 1000 "$dir/kept/zones-1.json" >"$dir/kept/zones-2.json"
post 1
out_has "zones-2.json"

# It may read its disk and nothing else, and write nowhere but to its folder.
for line in 'DevicePolicy=closed' 'DeviceAllow=%f r' 'ProtectSystem=strict' 'PrivateNetwork=yes' 'NoNewPrivileges=yes' 'StateDirectory=platter/%i'; do
	grep -qxF "$line" "$unit" || fail "the unit lacks $line"
done
grep -E '^DeviceAllow=' "$unit" | grep -vqE ' r$' && fail "the unit may do more than read"

# How a failure ends is one message with an identity and a priority that says what to do; success says nothing.
mkdir "$dir/bin"
printf '#!/bin/sh\ncat\n' >"$dir/bin/logger"
chmod +x "$dir/bin/logger"
said() # result, exit status: of the unit in $unit
{
	line=$(sed -n 's/^ExecStopPost=-//p' "$unit" | sed "s|%f|/dev/disk/by-id/x|g; s/%%/%/g; s/\\$\\$/$/g")
	PATH="$dir/bin:$PATH" SERVICE_RESULT=$1 EXIT_STATUS=$2 sh -c "$line" >"$dir/out" 2>&1
	last="the unit's last message for $1 $2"
}
said success 0
out_is_empty
said exit-code 4
out_has "PRIORITY=2"
out_has "copy what is on it"
said exit-code 5
out_has "MESSAGE=/dev/disk/by-id/x: the disk is bad or getting worse"
said success 6
out_has "PRIORITY=4"
out_has "in doubt"
grep -qx "SuccessExitStatus=6" "$unit" || fail "a doubt fails the unit"
said exit-code 1
out_has "PRIORITY=3"
grep -qxE 'MESSAGE_ID=[0-9a-f]{32}' "$dir/out" || fail "$last: no identity"

# A check as it is run: its page for the journal, its document, and its metrics where the collector has its folder; the verdict is the status.
checked() # DISK STATUS
{
	line=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|@SBINDIR@/platter|$PLATTER_SIM|g; s|/var/lib/prometheus/node-exporter|$dir/collector|; s|%f|$1|g; s/%%/%/g; s/\\$\\$/$/g")
	mkdir -p "$dir/checks/$1"
	STATE_DIRECTORY=$dir/checks/$1 sh -c "$line" >"$dir/out" 2>&1
	got=$?
	[ $got = "$2" ] || fail "a check of $1: exit status $got, not $2"
}
mkdir "$dir/checks"
checked vanished 1
export PLATTER_SIM_DISKS="good=tiny bad=failing"
checked good 0
grep -q '^KEEP ' "$dir/out" || fail "the page is not in the journal"
[ ! -e "$dir/collector" ] || fail "a folder was made for a collector that is not there"
mkdir "$dir/collector"
checked good 0
checked bad 5
[ "$(cd "$dir/collector" && echo *)" = "platter-bad.prom platter-good.prom" ] || fail "the metrics are $(ls "$dir/collector")"
grep -q '^platter_check_verdict_level.* 2' "$dir/collector/platter-bad.prom" || fail "the verdict is no metric"
[ "$(stat -c %a "$dir/collector/platter-bad.prom")" = 644 ] || fail "the collector cannot read the metrics"
set -- "$dir"/checks/bad/check-*.json
[ -s "$1" ] || fail "no document"
unset PLATTER_SIM_DISKS

# The scan of every block: in portions, one scan a month, held against the one before; a disk that has vanished fails it at any time.
check=$unit
unit=$TOP/contrib/systemd/platter-surface@.service
! grep -Eq '^(Condition|Assert)' "$unit" || fail "a condition skips the unit without a word"
sed -n '/^DevicePolicy/,$p' "$check" >"$dir/a"
sed -n '/^DevicePolicy/,$p' "$unit" >"$dir/b"
cmp -s "$dir/a" "$dir/b" || fail "the two units are not fenced in alike"
portion() # DEVICE STATUS: a night
{
	line=$(sed -n 's/^ExecStart=//p' "$unit" | sed "s|@SBINDIR@/platter|$PLATTER_SIM|g; s|%f|$1|; s|--portion=2h|--portion=$portion|; s/%%/%/g; s/\\$\\$/$/g")
	STATE_DIRECTORY=$dir/scans sh -c "$line" >"$dir/out" 2>&1
	got=$?
	[ $got = "$2" ] || fail "a portion of $1: exit status $got, not $2"
}
mkdir "$dir/scans"
month=$dir/scans/surface-$(date +%Y-%m).json
grep -q -- --portion=2h "$unit" || fail "no portions"
portion=15s
portion sim:tiny 0
[ -e "$dir/scans/surface.json" ] && [ ! -e "$month" ] || fail "the scan was done in one portion of 15 s"
portion=2h
portion sim:tiny 0
[ ! -e "$dir/scans/surface.json" ] && [ -e "$month" ] || fail "the scan did not come to its end"
cp "$month" "$dir/first"
portion sim:tiny 0
cmp -s "$month" "$dir/first" && [ ! -e "$dir/scans/surface.json" ] || fail "a second scan was begun in the same month"
portion sim:vanished 1
mv "$month" "$dir/scans/surface-2001-01.json"
portion sim:tiny 0
[ -e "$month" ] || fail "the next month's scan did not come to its end"
# A document of before that cannot be read is no reason for silence.
rm "$month"
echo '{' >"$dir/scans/surface-2001-02.json"
portion sim:tiny 1
rm "$dir/scans/surface-2001-02.json" "$month"
portion=15s
portion sim:vanished 1
said exit-code 5
out_has "compare of the last two documents"

# The folders that both units leave, by hand once: what the manual pages do with them works.
lib=$dir/lib
mkdir -p "$lib/platter/one" "$lib/platter-surface/one"
line=$(sed -n 's/^ExecStart=//p' "$check" | sed "s|@SBINDIR@/platter|$PLATTER_SIM|g; s|%f|sim:tiny|g; s/%%/%/g; s/\\$\\$/$/g")
STATE_DIRECTORY=$lib/platter/one sh -c "$line" >"$dir/out" 2>&1 || fail "the check of sim:tiny"
portion=2h
portion sim:tiny 0
mv "$dir/scans" "$lib/platter-surface/one"
run 0 report "$lib" -o "$dir/disks.html"
[ -s "$dir/disks.html" ] || fail "$last: no page"
run 0 report "$lib" --json=-
grep -q '"verdict": *"' "$dir/out" || fail "$last: no verdict"
run 1 compare "$lib"
grep -q "at least three" "$dir/err" || fail "$last: not why"

# What systemd itself says of it, where it is.
command -v systemd-analyze >/dev/null || exit 0
for name in check surface; do
	sed "s|@SBINDIR@/platter|$PLATTER|g" "$TOP/contrib/systemd/platter-$name@.service" >"$dir/platter-$name@.service"
	systemd-analyze security --offline=true --threshold=30 "$dir/platter-$name@.service" >"$dir/out" 2>&1 || fail "systemd-analyze security, $name"
done
exit 0
