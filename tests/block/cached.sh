#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# passes, cache and mark on a file system of their own: where the cache ends, what came from the device, signals, full and read-only disks.
# PLATTER_LONG=1: the memory is 256M instead of 64M.
. "$(dirname "$0")/lib.sh"
need mkfs.ext4 python3 fincore fallocate
: "${PLATTER:?the program to test}"

memory=64 && [ -n "${PLATTER_LONG:-}" ] && memory=256
limit=$((memory * 1048576))

# The image lies in memory and is wholly allocated beforehand: what is charged to a cgroup is the page cache above it alone.
ram=$(mktemp -d /dev/shm/platter-test.XXXXXX 2>/dev/null) || ram=$work
at_end "rm -rf $ram"
fallocate -l $((memory * 4 + 64))M "$ram/disk" || skip "no room for a disk of $((memory * 4 + 64)) MiB in $ram"
loop_new "$ram/disk"
mkfs.ext4 -q -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$loop" 2>/dev/null && mounted "$loop"
disk=$loop dir=$mnt
stat_of() { awk "{ print \$$1 }" "/sys/block/${disk#/dev/}/stat"; } # 3: sectors read, 5: writes, 7: sectors written

# run STATUS WORD...: platter must end with that status; the document is in $work/r.json.
run()
{
	wanted=$1
	shift
	rm -f "$work/r.json"
	timeout 150 "$PLATTER" "$@" --json="$work/r.json" >"$work/out" 2>"$work/err"
	got=$?
	[ $got = "$wanted" ] || { cat "$work/out" "$work/err"; fail "platter $*: exit status $got, not $wanted"; }
}
# check WHAT: Python on the document as d, with rows(TABLE) and the words of the shell after it as a.
check()
{
	what=$1
	shift
	python3 - "$work/r.json" "$@" >"$work/check" 2>&1 <<PY || { cat "$work/check"; tail -30 "$work/out"; fail "$what"; }
import json, re, sys
d = json.load(open(sys.argv[1]))
a = [float(x) for x in sys.argv[2:]]
f = d['figures']
def rows(name):
    t = d['tables'][name]
    return [dict(zip([c['key'] for c in t['columns']], r)) for r in t['rows']]
$(cat)
PY
	cat "$work/check"
	ok
}
empty()
{
	left=$(ls "$dir" | grep -v '^lost+found$')
	[ -z "$left" ] || fail "$1: left behind: $left"
	for group in /sys/fs/cgroup/platter-* /sys/fs/cgroup/*/platter-*; do # those of programs that still run are not ours
		for _ in $(seq 100); do # kill.sh, beside this, removes those of its killed ones in a moment
			[ -d "$group" ] && ! kill -0 "${group##*-}" 2>/dev/null || continue 2
			sleep 0.1
		done
		fail "$1: the cgroup $group is left"
	done
	ok
}

# ---- what came from the device: three witnesses, and the disk's counters as this test reads them ----
before=$(stat_of 3)
run 0 passes "$dir" --size=32M --repeat=3 --mode=cold
after=$(stat_of 3)
check "cold passes come from the device" $(((after - before) * 512)) <<'PY'
r = [x for x in rows('steps') if x['step'].startswith('read')]
size = 32 << 20
assert not [n for n in d['notices'] if n['code'] == 'other-io'], d['notices']
assert len(r) == 3
for x in r:
    assert x['cached_before_ratio'] == 0, x
    assert abs(x['from_device_ratio'] - 1) <= 0.02 and abs(x['from_disk_ratio'] - 1) <= 0.02, x
assert abs(a[0] / (3 * size) - 1) <= 0.02, a
PY
before=$(stat_of 3)
run 0 passes "$dir" --size=32M --repeat=3
after=$(stat_of 3)
check "warm passes come from memory" $(((after - before) * 512)) <<'PY'
for x in rows('steps'):
    if x['step'].startswith('read'):
        assert x['cached_before_ratio'] == 1 and x['from_device_ratio'] == 0, x
assert a[0] <= 0.02 * (32 << 20), a
w = [x for x in rows('steps') if x['step'] in ('write', 'fsync')]
assert [x['step'] for x in w] == ['write', 'fsync'] and -0.02 <= sum(x['from_disk_ratio'] for x in w) - 1 <= 0.1, w # the journal, too
PY
# Others' reads on the same disk are reported with their size; without them nothing is, as the cold passes above have shown.
dd if=/dev/urandom of="$dir/other" bs=1M count=24 conv=fsync 2>/dev/null
(while [ ! -e "$work/stop" ]; do dd if="$dir/other" of=/dev/null bs=1M iflag=direct 2>/dev/null || exit; done) &
before=$(stat_of 3)
run 0 passes "$dir" --size=16M --repeat=1000 --time=500ms --mode=cold
after=$(stat_of 3)
touch "$work/stop"
wait $!
rm "$dir/other"
check "others' reads are reported" $(((after - before) * 512)) <<'PY'
said = [n['text'] for n in d['notices'] if n['code'] == 'other-io']
own = sum(x['moved_bytes'] for x in rows('steps') if x['step'].startswith('read'))
if a[0] > 1.2 * own: # the other came to its turn
    told = re.search(r'([0-9.]+) ([kMGT]?)B read beside', said[0]) if len(said) == 1 else None # as many as the machine is quick
    assert told, (said, own, a)
    size = float(told[1]) * 1000 ** ' kMGT'.index(told[2] or ' ')
    assert 0.1 * (a[0] - own) <= size <= 1.02 * (a[0] - own) + 1e6, (size, own, a)
PY
# What is neither in memory nor on a disk: nobody counts where it comes from, so nothing is said of it.
if [ -r /sys/kernel/notes ]; then
	run 0 passes /sys/kernel/notes --repeat=1
	check "a file without a disk" <<'PY'
x = rows('steps')[0]
assert x['cached_before_ratio'] == 0 and x['from_device_ratio'] is None and x['from_disk_ratio'] is None, x
PY
fi
# Half of a file in memory: the share that is fetched is what cachestat says is missing.
run 0 passes "$dir/half" --size=32M --repeat=1 --keep
sync "$dir/half"
dd if="$dir/half" iflag=nocache count=0 2>/dev/null
dd if="$dir/half" of=/dev/null bs=1M skip=8 count=16 2>/dev/null
run 0 passes "$dir/half" --repeat=1
check "a file half in memory comes half from the device" <<'PY'
x = rows('steps')[0]
print('in memory %.4f, fetched %.4f' % (x['cached_before_ratio'], x['from_device_ratio']))
assert abs(x['cached_before_ratio'] + x['from_device_ratio'] - 1) <= 0.02, x
assert 0.4 < x['cached_before_ratio'] < 0.65, x
PY
rm "$dir/half"
empty "passes"

# ---- several at once, one log ----
"$PLATTER" passes "$dir" "$dir" --size=8M --repeat=2 --log="$work/log" --quiet >/dev/null &
other=$!
run 0 passes "$dir" --size=8M --repeat=2 --log="$work/log"
wait $other || fail "the other run"
grep -E '^[0-9-]{10}T[0-9:.]+Z platter\[[0-9]+\] passes: [^ ]*data (write|fsync|read [12]): [0-9.]+ s' "$work/log" |
	cut -d ' ' -f 4 | sort | uniq -c >"$work/files"
[ "$(wc -l <"$work/files")" = 3 ] && ! grep -qv '^ *4 ' "$work/files" || { cat "$work/log"; fail "three files, four lines of each in the log"; }
ok

# ---- where the cache ends, and the hits ----
truth=$limit group=
if [ -w /sys/fs/cgroup/memory/cgroup.procs ]; then
	group=/sys/fs/cgroup/memory/truth-$$ limit_file=memory.limit_in_bytes
elif grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null && echo +memory 2>/dev/null >/sys/fs/cgroup/cgroup.subtree_control; then
	group=/sys/fs/cgroup/truth-$$ limit_file=memory.max
fi
if [ -n "$group" ] && mkdir "$group" 2>/dev/null; then # what a group of that size holds of a file read through, by other programs
	at_end "rmdir $group"
	echo $limit >"$group/$limit_file" || fail "no limit for $group"
	fallocate -l $((2 * memory))M "$dir/big" && dd if=/dev/zero of="$dir/big" bs=1M count=$((2 * memory)) oflag=direct conv=notrunc 2>/dev/null
	sh -c "echo \$\$ >$group/cgroup.procs; exec dd if=$dir/big of=/dev/null bs=1M" 2>/dev/null
	truth=$(fincore -b -n -o RES "$dir/big")
	rm "$dir/big"
	echo "a group of $limit bytes holds $truth"
fi
if grep -qE '^[^ ]+ [^ ]+ cgroup2? ' /proc/self/mounts; then
	run 0 cache "$dir" --memory=${memory}M --mode=cached --size=$((memory / 2))M-$((memory * 2))M \
		--block=16K-16K --slice=20ms
	# What the group leaves to files, not its limit: the program and the kernel need some megabytes in it. The end lies in an interval of 5 %.
	check "the knee is within 10 % of the truth" "$truth" $limit <<'PY'
knee = sum(d['intervals']['knee_bytes']) / 2
print('knee %.4f of what it holds, %.4f of the limit; room %.4f' % (knee / a[0], knee / a[1], f['room_bytes'] / a[0]))
assert abs(knee / a[0] - 1) <= 0.1 and abs(f['room_bytes'] / a[0] - 1) <= 0.05
PY
	check "hits are within 2 % of cachestat's count" <<'PY'
worst = 0
for x in rows('knee'):
    worst = max(worst, abs(x['counted_hit_ratio'] - x['cachestat_ratio']))
for x in rows('matrix'):
    if x['operation'] == 'random_read':
        e = abs(x['hit_ratio'] - (x['cached_before_ratio'] + x['cached_after_ratio']) / 2)
        # beyond the cache so few are drawn in a cell that chance is allowed for: 4 deviations of 3 repetitions, of which
        # the slowest, on a machine that was busy meanwhile, has the fewest
        n = 3 * max((x['low_bytes_per_s'] or 0) * 0.02 / x['record_bytes'], 1)
        assert e <= 0.02 + 4 * (0.25 / n) ** 0.5 * (x['hit_ratio'] < 0.999), x
        worst = max(worst, e - 4 * (0.25 / n) ** 0.5 if n > 4000 else 0)
    if x['operation'] in ('read', 'cold_random_read'):
        assert x['cached_before_ratio'] == 0, x
print('largest difference %.4f' % worst)
assert worst <= 0.02
PY
	empty "cache"
	run 0 mark "$dir" --memory=${memory}M --repeat=1 --count=20000 --time=50ms --sweep=$((memory / 4))M,$((memory * 2))M
	check "the sweep finds where the cache ends" "$truth" <<'PY'
print('between %.4f and %.4f of what it holds' % (f['largest_cached_bytes'] / a[0], f['cache_ends_bytes'] / a[0]))
assert f['largest_cached_bytes'] <= 1.1 * a[0] and f['cache_ends_bytes'] >= 0.9 * a[0]
assert f['cache_ends_bytes'] <= 1.1 * f['largest_cached_bytes']
for x in rows('sweep'): # the parts that came from memory and from the device are parts of the same
    # 0.06 at most on a quiet machine, 0.27 once beside other tests: a group that is full may read pages of the program itself again, and the kernel may read ahead
    assert -0.25 <= x['cached_ratio'] + x['from_device_ratio'] - 1 <= 0.5, x
assert any(n['code'] == 'what' and 'this is a memory score' in n['text'] for n in d['notices'])
PY
	empty "mark"
fi

# ---- --sync ----
written() # word: writes to the disk while 64 records of 4 KiB are written three times
{
	before=$(stat_of 5)
	run 0 cache "$dir" --mode=cached --without=knee --size=256K-256K --block=4K-4K --sync="$1" --slice=10s
	echo $(($(stat_of 5) - before)) >"$work/writes.$1"
}
for word in none end each; do written $word; done
echo "writes: none $(cat "$work/writes.none"), end $(cat "$work/writes.end"), each $(cat "$work/writes.each")"
[ "$(cat "$work/writes.each")" -ge $((3 * 3 * 64)) ] || fail "--sync=each does not force each record"
[ "$(cat "$work/writes.end")" -lt $((3 * 3 * 64)) ] || fail "--sync=end forces each record"
ok

# ---- signals: the part of the matrix, a valid document, no file, no group ----
# interrupted SIGNAL STATUS WORD...: platter gets that signal once it has done the first step of many, on a machine of any speed.
interrupted()
{
	signal=$1 wanted=$2
	shift 2
	rm -f "$work/r.json" "$work/log"
	timeout -s KILL 150 sh -c 'echo $$ >"$0"; exec "$@"' "$work/pid" "$PLATTER" "$@" --json="$work/r.json" --log="$work/log" >"$work/out" 2>&1 &
	child=$!
	until grep -qs 'platter.*: .*: ' "$work/log"; do # not the line that it starts
		kill -0 $child 2>/dev/null || { cat "$work/out"; fail "$*: ended without a step"; }
		sleep 0.05
	done
	kill -s "$signal" "$(cat "$work/pid")"
	wait $child
	got=$?
	[ $got = "$wanted" ] || { cat "$work/out"; fail "$*, SIG$signal: exit status $got"; }
}
for pair in INT:130 TERM:143; do
	interrupted "${pair%:*}" "${pair#*:}" cache "$dir" --memory=${memory}M --slice=30ms --size=-$((memory * 2))M
	check "a part of the matrix" <<'PY'
assert d['status'] == 'cancelled'
r = rows('matrix')
assert len(r) >= 1 and all(x['repetitions'] >= 3 and x['rate_bytes_per_s'] > 0 for x in r)
PY
	empty "SIG${pair%:*}"
	interrupted "${pair%:*}" "${pair#*:}" mark "$dir" --time=200ms --repeat=100
	check "the repetitions so far" <<'PY'
assert d['status'] == 'cancelled'
assert 1 <= len(rows('runs')) < 200, rows('runs')
PY
	empty "mark, SIG${pair%:*}"
done

# ---- small, full and read-only places ----
image small 24M
loop_new "$image"
mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "$loop" 2>/dev/null && mounted "$loop"
echo precious >"$mnt/letter"
refused_with() # STATUS, a part of what is said, WORD...: nothing may change
{
	wanted_status=$1 said=$2
	shift 2
	run "$wanted_status" "$@"
	grep -qF -e "$said" "$work/err" || { cat "$work/err"; fail "platter $*: it does not say: $said"; }
	[ "$(wc -l <"$work/err")" = 1 ] || fail "platter $*: not one sentence: $(cat "$work/err")"
	[ "$(cat "$mnt/letter")" = precious ] && [ "$(ls "$mnt" | grep -cv 'lost+found')" = 1 ] || fail "platter $*: see $(ls "$mnt")"
	ok
}
refused_with 1 "105 MB is needed at $mnt, and" passes "$mnt" --size=100M
refused_with 1 "67.1 MB is needed at $mnt, and" cache "$mnt" --size=-64M
refused_with 3 "exists and was not made by platter, so it is not overwritten" passes "$mnt/letter" --size=1M
refused_with 3 "exists and was not made by platter, so it is not overwritten" mark "$mnt/letter" --count=1000

# Each of two files would have room, both have not. A size of --sweep, too, has to have room; what may grow stops where the reserve begins.
refused_with 1 "27.3 MB is needed at $mnt" passes "$mnt" "$mnt" --size=13M
refused_with 1 "--sweep: 67.1 MB is needed at $mnt" mark "$mnt" --sweep=1M,64M
room=$(stat -f -c '%a * %S - %b * %S / 20' "$mnt")
run 0 mark "$mnt" --count=1000000 --time=20ms --repeat=1
check "a file grows no further than there is room" $(($room)) <<'PY'
assert any(n['code'] == 'capped' and 'there is no room' in n['text'] for n in d['notices']), d['notices']
assert all(x['file_bytes'] <= a[0] for x in rows('runs'))
PY

# Files may be no larger than 8 MiB: what is written in the middle fails. What was written till then is reported.
trap '' XFSZ
ulimit -f 16384
run 1 passes "$mnt" "$mnt" --size=9M --repeat=1
ulimit -f unlimited
trap - XFSZ
check "a write that fails is a fault of its name, with its place; the steps so far stay" <<'PY'
assert d['status'] == 'failed' and d['fault_totals'] == {'EFBIG': 2} and len(d['faults']) == 2, d['faults']
for x in d['faults']:
    assert x['op'] == 'write' and x['offset_bytes'] == 8 << 20, x
r = [x for x in rows('steps') if x['step'] == 'write']
assert len(r) == 2 and all(1 << 20 < x['moved_bytes'] < 9 << 20 for x in r), r
assert f['write_bytes_per_s'] is None
PY
grep -qE '^Refused requests: 2 \(2 EFBIG\)' "$work/out" || { cat "$work/out"; fail "what is said of writes that fail"; }
[ "$(ls "$mnt" | grep -cv 'lost+found')" = 1 ] || fail "writes that fail: left: $(ls "$mnt")"
ok

# A disc of 2048-byte sectors that nothing can be written on; and a file on a file system mounted read-only.
image disc 6M
head -c 6291456 /dev/urandom >"$image"
loop_new "$image" -r -b 2048
unchanged "$loop" run 0 passes "$loop" --repeat=2
check "a disc is read whole" <<'PY'
r = rows('steps')
assert [x['moved_bytes'] for x in r] == [6291456] * 2 and f['verify_errors'] is None
PY
unchanged "$loop" run 0 passes "$loop" --repeat=1 --mode=direct
mount -o remount,ro "$mnt" && run 0 passes "$mnt/letter" --repeat=2 --mode=cold
check "a file on a read-only file system" <<'PY'
assert [x['moved_bytes'] for x in rows('steps')] == [9, 9]
PY
finish
