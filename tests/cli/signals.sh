#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A signal at any moment: what was measured is saved and valid, the status is 128 + n, nothing is left behind.
# What who starts the tests ignores (nohup: hang-ups) would be ignored here as well, and no shell can take that back.
[ -n "${SIGNALS_AS_USUAL:-}" ] || SIGNALS_AS_USUAL=1 exec env --default-signal "$0" "$@"
. "$(dirname "$0")/lib.sh"
needs jq timeout python3

mkdir "$dir/work"
endless() # signal, seconds until it comes, words: a run that ends only by the signal
{
	signal=$1 after=$2
	shift 2
	last="SIG$signal after $after s: $*"
	rm -f "$dir/r.json"
	timeout --preserve-status -s "$signal" -k 20 "$after" \
		"$PLATTER" passes "$dir/work/file" --size=16M --repeat=10000 --json="$dir/r.json" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
}
nothing_left()
{
	left=$(ls -A "$dir/work")
	[ -z "$left" ] || fail "$last: left behind: $left"
	[ "$(find "$dir" -maxdepth 1 -name 'r.json?*')" = "" ] || fail "$last: half a document is left"
}
# At many moments, the first ones among them; before the signals are caught the program ends without a document.
for after in 0.001 0.002 0.003 0.005 0.008 0.01 0.013 0.017 0.02 0.03 0.05 0.08 0.1 0.15 0.2; do
	endless INT $after --quiet
	[ $got = 130 ] || fail "$last: exit status $got"
	[ ! -e "$dir/r.json" ] || jq -e '.status == "cancelled"' "$dir/r.json" >/dev/null || fail "$last: the document"
	nothing_left
done

child=
cleanup '[ -z "$child" ] || kill -KILL "$child"'
ended() # its exit status in $got
{
	wait "$child"
	got=$?
	child=
}
has_begun() { [ -n "$(find "$dir/work" -type f -size +0 -name "${1:-*}")" ]; } # its file: it is set up
start() # words: a run in the background, its number in "$child"
{
	rm -f "$dir/r.json"
	"$PLATTER" passes "$dir/work/file" --size=16M --repeat=10000 --json="$dir/r.json" "$@" 2>"$dir/err" &
	child=$!
	until_there has_begun || fail "platter passes $*: it did not begin"
}
for pair in INT:130 TERM:143 HUP:129; do
	start >"$dir/out"
	kill -s "${pair%:*}" "$child"
	ended
	last="SIG${pair%:*}"
	[ $got = "${pair#*:}" ] || fail "$last: exit status $got"
	err_is_empty
	[ -s "$dir/out" ] || fail "$last: no text"
	jq -e '.status == "cancelled" and .head.elapsed_s > 0' "$dir/r.json" >/dev/null || fail "$last: the document"
	nothing_left
done
# It ends by the signal (the shell calls that 128 + n), so that a loop over disks ends with it.
python3 - "$PLATTER" "$dir" <<'PY' || fail "SIGINT: the program does not end by it"
import glob, json, os, signal, subprocess, sys, time
platter, folder = sys.argv[1:]
for n in signal.SIGINT, signal.SIGTERM:
    p = subprocess.Popen([platter, 'passes', folder + '/work/file', '--size=16M', '--repeat=10000', '--json=' + folder + '/r.json', '--quiet'])
    while not any(os.stat(f).st_size for f in glob.glob(folder + '/work/*')):
        assert p.poll() is None
        time.sleep(0.02)
    p.send_signal(n)
    assert p.wait() == -n, p.returncode
    assert json.load(open(folder + '/r.json'))['status'] == 'cancelled'
PY
nothing_left
# Two signals that come together, as timeout(1) sends them, are one. (A host that stalls for 200 ms between them makes them two, and what was measured may
# stay as it was last saved: it is believed when that happens three times.)
is_stopped() { [ "$(cut -d ' ' -f 3 "/proc/$child/stat")" = T ]; }
last="SIGINT and SIGTERM at once"
for try in 1 2 3; do
	start --quiet
	kill -STOP "$child" # so that both are there when it goes on
	until_there is_stopped || fail "$last: it was not stopped"
	kill -INT "$child"
	kill -TERM "$child"
	kill -CONT "$child"
	ended
	case $got in
	130 | 143) ;;
	*) fail "$last: exit status $got" ;;
	esac
	jq -e '.status == "cancelled"' "$dir/r.json" >/dev/null && break
	[ $try != 3 ] || fail "$last: the document"
done
nothing_left

# Of several disks each has a process. A terminal gives its signal to all of them: who passes it on late makes it no second one. The second that the
# first process gets ends them all; a process that hangs, here as it is stopped, has got both.
PLATTER_SIM_DISKS='sda=modern-4tb sdb=modern-4tb' python3 - "$PLATTER_SIM" "$dir" <<'PY' || fail "a signal to several processes"
import json, os, signal, subprocess, sys, time
platter, folder = sys.argv[1:]
def children(p):
    return [int(pid) for pid in open('/proc/%d/task/%d/children' % (p.pid, p.pid)).read().split()]
def pending(pid):
    return [int(line.split()[1], 16) for line in open('/proc/%d/status' % pid) if line.startswith('ShdPnd')][0]
def wait_for(what):
    for _ in range(3000):
        if what():
            return
        time.sleep(0.01)
    sys.exit('waited in vain')
def start(at):
    p = subprocess.Popen([platter, 'check', '--seed=1', '--json=' + folder + '/two.json', '--force', 'sda', 'sdb'], stdout=subprocess.PIPE, text=True,
                         start_new_session=True) # else a group without a parent is continued
    wait_for(lambda: len(children(p)) == 2)
    wait_for(at)
    return p, children(p)
begun = lambda: all(os.path.exists(folder + '/two-sd%s.json' % x) for x in 'ab')
p, kids = start(begun)
os.kill(p.pid, signal.SIGSTOP)
os.killpg(p.pid, signal.SIGINT)
def has_answered(pid): # its document waits in the pipe, which may be full
    return open('/proc/%d/stat' % pid).read().split()[2] == 'Z' or 'pipe' in open('/proc/%d/wchan' % pid).read()
for _ in range(500): # on a machine without such names: 5 s
    if all(has_answered(kid) for kid in kids):
        break
    time.sleep(0.01)
time.sleep(0.3) # what comes at once is one signal
os.kill(p.pid, signal.SIGCONT)
out = p.communicate()[0]
assert p.returncode == 130, p.returncode
assert '2 disks:' in out, out
for x in 'ab':
    assert json.load(open(folder + '/two-sd%s.json' % x))['status'] == 'cancelled'
    os.remove(folder + '/two-sd%s.json' % x)

p, kids = start(lambda: True)
for kid in kids:
    os.kill(kid, signal.SIGSTOP)
wait_for(lambda: all(open('/proc/%d/stat' % kid).read().split()[2] == 'T' for kid in kids))
p.send_signal(signal.SIGINT)
wait_for(lambda: all(pending(kid) >> signal.SIGINT - 1 & 1 for kid in kids))
time.sleep(0.3) # what comes at once is one signal
p.send_signal(signal.SIGTERM)
p.wait()
both = [pending(kid) >> signal.SIGTERM - 1 & 1 for kid in kids]
for kid in kids:
    os.kill(kid, signal.SIGCONT)
assert p.returncode == -signal.SIGTERM, p.returncode
assert all(both), both
wait_for(lambda: not any(os.path.exists('/proc/%d/stat' % kid) and open('/proc/%d/stat' % kid).read().split()[2] != 'Z' for kid in kids))
PY

# Stopped and continued (Ctrl-Z, fg): it goes on, and says that its times are not all the disk's. Cancelled by one who sends SIGCONT along: not.
"$PLATTER" passes "$dir/work/file" --size=16M --repeat=10000 --time=2s --json="$dir/r.json" --quiet 2>"$dir/err" &
child=$!
until [ -n "$(find "$dir/work" -type f -size +0)" ]; do kill -0 "$child" || fail "passes: it did not begin"; done
kill -STOP "$child"
sleep 0.2
kill -CONT "$child"
ended
last="SIGSTOP and SIGCONT"
[ $got = 0 ] || [ $got = 6 ] || # in the time that was left nothing may have been read back
	fail "$last: exit status $got"
jq -e '.status == "ended-early" and ([.notices[] | select(.code == "stopped")] | length) == 1' "$dir/r.json" >/dev/null || fail "$last: the document"
nothing_left

# What goes through the loop knows for how long, and leaves it out: no request of those that come back took a second. (The host's disk may stall as
# long by itself: it is believed when it does so three times.)
dd if=/dev/urandom of="$dir/data" bs=1M count=16 status=none
left_out()
{
	jq -e '[.notices[] | select(.code == "stalled")] == [] and .figures.response_max_ns < 1500000000' "$dir/r.json" >/dev/null
}
for try in 1 2 3; do
	"$PLATTER" transactions "$dir/data" --users=2 --time=4s --max-errors=1 --json="$dir/r.json" --quiet >"$dir/out" 2>"$dir/err" &
	child=$!
	sleep 1.5
	if kill -STOP "$child" 2>/dev/null; then
		sleep 2
		kill -CONT "$child"
	fi
	ended
	last="transactions stopped for two seconds"
	if [ $got != 0 ] && [ $got != 6 ]; then
		grep -qi direct "$dir/err" || fail "$last: exit status $got"
		break
	fi
	jq -e '([.notices[] | select(.code == "stopped" and (.text | test("left out")))] | length) == 1' "$dir/r.json" >/dev/null || fail "$last: the document"
	left_out && break
	[ $try != 3 ] || fail "$last: the wait is in the times, or a stall of the disk"
done
start --quiet
kill -INT "$child"
kill -CONT "$child"
ended
last="SIGINT and SIGCONT"
jq -e '.status == "cancelled" and ([.notices[] | select(.code == "stopped")] | length) == 0' "$dir/r.json" >/dev/null || fail "$last: the document"
nothing_left

# The second signal ends a program that hangs, here on a pipe that nobody empties.
mkfifo "$dir/full"
exec 3<>"$dir/full"
dd if=/dev/zero bs=65536 count=1 >&3 2>/dev/null
start >&3
kill -INT "$child"
last="a second SIGINT"
is_cancelled() { jq -e '.status == "cancelled"' "$dir/r.json" >/dev/null 2>&1; }
until_there is_cancelled || fail "$last: the document before it"
sleep 0.2
kill -0 "$child" 2>/dev/null || fail "$last: the program did not wait for the pipe"
kill -INT "$child"
ended
[ $got = 130 ] || fail "$last: exit status $got"
exec 3>&-
nothing_left

# With JSON on stdout the document is the last and only thing there.
start --json=- >"$dir/out"
kill -INT "$child"
ended
last="SIGINT, --json=-"
[ $got = 130 ] || fail "$last: exit status $got"
jq -e '.status == "cancelled"' "$dir/out" >/dev/null || fail "$last: stdout"
nothing_left

# Under nohup a hang-up is ignored, and SIGTERM still works.
trap '' HUP
start --quiet
trap 'exit 1' HUP
last="SIGHUP ignored"
kill -HUP "$child"
sleep 0.3
kill -0 "$child" 2>/dev/null || fail "$last: the program ended"
kill -TERM "$child"
ended
[ $got = 143 ] || fail "$last: exit status $got"
jq -e '.status == "cancelled"' "$dir/r.json" >/dev/null || fail "$last: the document"
nothing_left
