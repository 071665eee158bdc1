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

# It may read its disk and nothing else, and write nowhere but to its folder.
for line in 'DevicePolicy=closed' 'DeviceAllow=%f r' 'ProtectSystem=strict' 'PrivateNetwork=yes' 'NoNewPrivileges=yes' 'StateDirectory=platter/%i'; do
	grep -qxF "$line" "$unit" || fail "the unit lacks $line"
done
grep -E '^DeviceAllow=' "$unit" | grep -vqE ' r$' && fail "the unit may do more than read"

# How a failure ends is one message with an identity and a priority that says what to do; success says nothing.
mkdir "$dir/bin"
printf '#!/bin/sh\ncat\n' >"$dir/bin/logger"
chmod +x "$dir/bin/logger"
line=$(sed -n 's/^ExecStopPost=-//p' "$unit" | sed "s|%f|/dev/disk/by-id/x|g; s/%%/%/g; s/\\$\\$/$/g")
said() # result, exit status
{
	PATH="$dir/bin:$PATH" SERVICE_RESULT=$1 EXIT_STATUS=$2 sh -c "$line" >"$dir/out" 2>&1
	last="the unit's last message for $1 $2"
}
said success 0
out_is_empty
said exit-code 4
out_has "PRIORITY=2"
out_has "copy what is on it"
said exit-code 5
out_has "MESSAGE=/dev/disk/by-id/x: the disk is getting worse"
said exit-code 1
out_has "PRIORITY=3"
grep -qxE 'MESSAGE_ID=[0-9a-f]{32}' "$dir/out" || fail "$last: no identity"

# What systemd itself says of it, where it is.
command -v systemd-analyze >/dev/null || exit 0
sed "s|@SBINDIR@/platter|$PLATTER|g" "$unit" >"$dir/platter-check@.service"
systemd-analyze security --offline=true --threshold=30 "$dir/platter-check@.service" >"$dir/out" 2>&1 || fail "systemd-analyze security"
exit 0
