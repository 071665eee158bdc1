#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Live progress, seen through a terminal of our own: a current figure, a part that grows, a time left that comes true; nothing of it when nobody
# looks, no colour when none is wanted.
. "$(dirname "$0")/lib.sh"
needs python3 jq

head -c 33554432 /dev/zero >"$dir/file"
cat >"$dir/look.py" <<'PY'
import fcntl, os, pty, re, select, struct, sys, termios, time

def on_terminal(words, columns=80, **environment):
    """All that comes out of a terminal, with the time when it came, and the exit status."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(environment)
        os.execv(words[0], words)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
    seen, start = [], time.monotonic()
    while True:
        if not select.select([fd], [], [], 60)[0]:
            os.kill(pid, 9)
            sys.exit('FAIL: nothing more came out of ' + ' '.join(words))
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        seen.append((time.monotonic() - start, data))
    return seen, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def fail(text, seen=()):
    sys.exit('FAIL: %s\n%r' % (text, b''.join(d for _, d in seen)[-600:]))

platter, sim, file = sys.argv[1:4]
run = [platter, 'stream', '--rate=8MB', '--time=3s', '--buffer=16MB', '--mode=cached', '--file-size=8M', os.path.dirname(file)]
def draws_often(text):
    """Of a host that stands still for a second there may be fewer lines: believed when it is so three times."""
    lines = [line for line in re.findall(r'\r([^\r\n]*)\r', text) if line.strip()]
    return len(lines) >= 5 and len({m.group(1) for line in lines for m in [re.search(r' (\d+) %', line)] if m}) >= 5

for columns in 80, 40:
    for attempt in range(3):
        seen, status = on_terminal(run, columns)
        if status not in (0, 5):
            fail('exit status %d' % status, seen)
        if draws_often(b''.join(d for _, d in seen).decode()):
            break
    text = b''.join(d for _, d in seen).decode()
    drawn = re.findall(r'\r([^\r\n]*)\r', text)
    lines = [line.rstrip() for line in drawn if line.strip()]
    if len(lines) < 5 or len(lines) > 80:
        fail('%d lines of progress in 3 s' % len(lines), seen)
    if any(len(line) >= columns for line in drawn):
        fail('a line of %d columns in %d' % (max(map(len, drawn)), columns), seen)
    parts = [int(m.group(1)) for m in (re.search(r' (\d+) %', line) for line in lines) if m]
    if parts != sorted(parts) or len(set(parts)) < 5:
        fail('the part done goes like %s' % parts, seen)
    if columns == 80 and not all(re.search(r'\d (k|M|G)B(/s)?|Mbit', line) for line in lines[2:]):
        fail('no current figure in %s' % lines, seen)
    if columns == 80 and sum('left' in line for line in lines) < 3:
        fail('no time left in %s' % lines, seen)
    if any('\033' in line for line in drawn):
        fail('escapes in the progress', seen)
    # It is wiped before the result comes.
    if not re.search(r'\r +\r', text):
        fail('the line stays', seen)

# Colour, and none.
def escapes(*options, **environment):
    seen, status = on_terminal([sim, 'zones', '--quick', '--plot', 'sim:tiny', '--progress=none'] + list(options), **environment)
    if status:
        fail('exit status %d' % status, seen)
    return sum(d.count(b'\033') for _, d in seen)

if not escapes(TERM='xterm-256color'):
    fail('no colour on a terminal')
for environment in {'NO_COLOR': '1'}, {'TERM': 'dumb'}:
    if escapes(**environment):
        fail('colour in spite of %s' % environment)
if escapes('--color=never', TERM='xterm'):
    fail('colour in spite of --color=never')
PY
python3 "$dir/look.py" "$PLATTER" "${PLATTER_SIM:?}" "$dir/file" || exit 1

# When nobody looks: not a byte on stderr.
run 0 passes "$dir/file" --repeat=3
err_is_empty
run 0 passes "$dir/file" --repeat=3 --quiet --progress=tty
out_is_empty

# Asked by SIGUSR1, it says at once how far it is, and goes on.
"$PLATTER" stream --rate=1MB --time=3s --buffer=4MB --mode=cached --file-size=4M "$dir" >"$dir/out" 2>"$dir/err" &
pid=$!
sleep 1
kill -USR1 $pid || fail "it has ended before it was asked"
wait $pid
status=$?
[ $status = 0 ] || [ $status = 5 ] || fail "SIGUSR1: exit status $status"
[ "$(grep -cE '^platter stream: [a-z ]+ [0-9]+ %' "$dir/err")" = 1 ] || fail "SIGUSR1: not one line of progress"

# The characters are the locale's, whatever its name.
boxes() # environment
{
	env "$@" "$PLATTER_SIM" zones --quick --plot sim:tiny >"$dir/out" 2>/dev/null || fail "$*: exit status"
	LC_ALL=C grep -q "$(printf '\303\|\342')" "$dir/out"
}
boxes LC_ALL=C.UTF-8 || fail "no line-drawing characters in C.UTF-8"
boxes LC_ALL=C && fail "more than ASCII in C"
boxes LC_ALL= LC_CTYPE= LANG=xx_XX.UTF-8 || fail "no line-drawing characters in a locale that is not installed"

# For front ends: objects, one a line; the time left is honest. In virtual time it is known what it should have been: from a fifth of the
# run on, the whole run that it promises is between half and twice the real one.
silent= # 1: that nobody knows is honest
honest() # words
{
	last="platter-sim $*"
	"$PLATTER_SIM" "$@" --progress=json >"$dir/out" 2>"$dir/err" || [ $? -ge 5 ] || fail "$last: exit status"
	jq -se 'length > 2 and all(.measurement and .phase and .done >= 0 and .done <= 1 and has("left_s") and has("figure"))' "$dir/err" \
		>/dev/null || fail "$last: lines"
	jq -sr '(map(.elapsed_s) | max) as $whole | .[] | select(.left_s != null and .done >= 0.2) |
		((.elapsed_s + .left_s) / $whole) | select(. < 0.5 or . > 2)' "$dir/err" >"$dir/dishonest" || fail "$last: jq"
	[ "$silent" ] || jq -se 'map(select(.left_s != null and .done >= 0.2)) | length >= 3' "$dir/err" >/dev/null || fail "$last: no time left is told"
	[ ! -s "$dir/dishonest" ] || fail "$last: promises $(sort -n "$dir/dishonest" | sed -n '1p;$p' | tr '\n' ' ')of the real time"
}
honest zones sim:modern-4tb
honest zones --full sim:tiny
honest seek sim:samsung-hd103sj
honest geometry --quick sim:tiny
honest geometry sim:quantum-fireball-tm2110a
honest stream --read --rate=10MB --time=30s sim:tiny
honest stream --read --rate=max --time=30s sim:tiny
honest stream --read --rate=4MB --time=60m sim:tiny # played to its end before that
honest stream --read --rate=4MB --size=64MB sim:tiny
honest stream --read --tradeoff --size=64MB --buffer=8MB sim:tiny
honest stream --read --find --time=20s sim:tiny
honest stream --read --find --time=20s sim:ibm-deskstar-60gxp sim:tiny
honest stream --write --destroy-data=TINY0001 --verify --rate=1MB --time=30s sim:tiny
honest stream --write --destroy-data=TINY0001 --verify --rate=max --time=30s sim:tiny
honest transactions --users=4 --time=60s sim:tiny
honest transactions --users=4 --count=50 sim:tiny
honest transactions --users=30 --count=10 --think=2s sim:tiny
honest transactions --users=30 --count=10 --think=2s --time=10h sim:tiny
honest transactions --class=name=many,users=20,count=5,think=1s --class=name=slow,users=2,count=20,think=5s sim:tiny
honest transactions --arrivals=20 --count=500 --ios=1 sim:tiny
silent=1
honest transactions --users=8 --find --time=20s sim:tiny
exit 0
