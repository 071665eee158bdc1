#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The engines and the loop on real block devices: a device that is lost under way, one without NOWAIT, no locked memory;
# and what the engines call.
# Usage: engine.sh LOADBENCH PLATTER
. "$(dirname "$0")/lib.sh"
bench=$1 platter=$2
need prlimit setpriv

# says "what" NAME VALUE-PATTERN: the last output has the member NAME with a value that matches
says()
{
	value=$(printf %s "$out" | sed -n "s/.*\"$2\": \"\{0,1\}\([^\",}]*\).*/\1/p")
	# shellcheck disable=SC2254 # a pattern is wanted
	case $value in
	$3) ok ;;
	*) bad "$1: $2 is '$value', not '$3': $out $(cat "$work/err")" ;;
	esac
}
run() { out=$("$bench" "$@" 2>"$work/err"); }

# A lost disk answers reads with success and 0 bytes, at 100 000 IOPS: to be seen at once.
for engine in uring libaio sync; do
	image gone.$engine 64M
	loop_new "$image"
	# Between the two commands reads are EIO; then the device has no size.
	( sleep 0.5; truncate -s 0 "$image"; losetup -c "$loop" ) &
	start=$(date +%s%N)
	run -e $engine -d 16 -t 10 -f 1000000000 "$loop"
	took=$((($(date +%s%N) - start) / 1000000))
	wait
	says "lost device, $engine" end gone
	says "lost device, $engine" faults '[1-9]*'
	[ $took -lt 7000 ] && ok || bad "lost device, $engine: seen after $took ms" # of 10 s, which an unseen one takes
done

image plain 64M
loop_new "$image"
for engine in uring libaio sync auto; do
	run -e $engine -d 8 -n 2000 "$loop"
	says "$engine" ops 2000
	says "$engine" faults 0
	[ $engine = auto ] || says "$engine" engine $engine
done

# A batch costs one system call, and nothing else is called per request, as a run that is longer by 40000 requests shows.
if command -v strace >/dev/null; then
	more() # ENGINE ALLOWED...
	{
		engine=$1
		shift
		for n in 4000 44000; do
			strace -f -c -S name -U name,calls -o "$work/calls.$n" "$bench" -e "$engine" -d 64 -n $n "$loop" >/dev/null 2>"$work/err" || { bad "strace: $(cat "$work/err")"; return; }
		done
		python3 - "$work/calls.4000" "$work/calls.44000" "$@" <<-'PY' && ok || bad "$engine: system calls beside its own"
			import re, sys
			few, many = ({name: int(n) for name, n in re.findall(r'^(\w+) +(\d+)', open(path).read(), re.M) if name != 'total'} for path in sys.argv[1:3])
			own = sum(many.get(name, 0) for name in sys.argv[3:])
			more = {name: n - few.get(name, 0) for name, n in many.items() if name not in [*sys.argv[3:], 'clock_gettime']}
			print('%s: %d for 44000 requests; others, more than for 4000: %s' % (sys.argv[3], own, more))
			sys.exit(0 if 0 < own <= 1.01 * 44000 * len(sys.argv[3:]) and all(n <= 20 for n in more.values()) else 1)
		PY
	}
	more uring io_uring_enter
	more libaio io_submit io_getevents
	more sync preadv2
else
	echo "no strace here: system calls are not counted"
fi

mkdir "$work/folder"
# What a run does to files of its own (making them longer, flushing them) goes to threads of the kernel always: no trait of the device.
"$platter" stream --mode=cached --rate=max --size=200MB --engine=uring --quiet --json="$work/own.json" "$work/folder" 2>"$work/err" && ok || bad "own files: $(cat "$work/err")"
python3 - "$work/own.json" <<'PY' && ok || bad "punting is reported of a run that writes its own files"
import json, sys
assert not [n for n in json.load(open(sys.argv[1]))['notices'] if n['code'] == 'punted']
PY

# Buffers that cannot be registered are used all the same.
out=$(prlimit --memlock=65536 setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock \
	"$bench" -e uring -b 1048576 -d 16 -s -n 64 "$loop" 2>"$work/err")
says "no locked memory" ops 64
says "no locked memory" note '*buffers not registered*'

# Behind a cgroup's limit, which lets data through ten times a second: both rates, and no figure of a burst passed off as the disk's.
throttle=/sys/fs/cgroup/blkio
if [ -w $throttle/blkio.throttle.read_bps_device ]; then
	image limited 1G
	loop_new "$image"
	group=$throttle/platter-test-$$
	mkdir "$group" && at_end "rmdir $group"
	echo "$(stat -c %Hr:%Lr "$loop") 100000000" >"$group/blkio.throttle.read_bps_device"
	limited() # a busy machine has no bursts
	{
		sh -c "echo \$\$ >$group/cgroup.procs; exec $platter zones --time=6s --quiet --json=$work/limited.json $loop" 2>"$work/err" || { cat "$work/err"; return 1; }
		python3 - "$work/limited.json" <<-'PY'
			import json, sys
			d = json.load(open(sys.argv[1])); f = d['figures']
			print({k: v for k, v in f.items() if 'bytes_per_s' in k and v}, [n['text'] for n in d['notices'] if n['code'] == 'bursts'])
			assert 60e6 < f['sustained_bytes_per_s'] < 115e6 and f['burst_bytes_per_s'] > 2 * f['sustained_bytes_per_s']
			assert sum(n['code'] == 'bursts' for n in d['notices']) == 1
		PY
	}
	undisturbed limited && ok
else
	echo "no blkio of cgroup v1 here: a limit is not tried"
fi

# A device without NOWAIT: io_uring would hand every request to a kernel thread.
if zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null); then
	at_end "echo $zram >/sys/class/zram-control/hot_remove"
	echo 256M >"/sys/block/zram$zram/disksize"
	until_there test -b "/dev/zram$zram"
	run -e uring -d 8 -n 5000 "/dev/zram$zram"
	says "zram, uring" ops 5000
	says "zram, uring" workers '[1-9]*'
	says "zram, uring" note 'io_uring hands every request*'
	run -e auto -d 8 -n 5000 "/dev/zram$zram"
	says "zram, auto" engine libaio
	says "zram, auto" note 'io_uring passed over*'
	says "zram, auto" workers 0
	# Data that take a while: the threads are looked for every 20 ms.
	dd if=/dev/urandom of="/dev/zram$zram" bs=1M count=256 oflag=direct 2>/dev/null
	# Who names io_uring gets it, and learns what became of the requests; who does not, is not.
	for engine in uring auto; do
		"$platter" stream --read --rate=max --engine=$engine --block=64K --quiet --json="$work/punted.json" "/dev/zram$zram" 2>"$work/err" ||
			bad "zram, $engine: $(cat "$work/err")"
		python3 - "$work/punted.json" $engine <<-'PY' && ok || bad "zram, $engine: what is said of the kernel's threads"
			import json, sys
			d = json.load(open(sys.argv[1])); said = {n['code']: n['text'] for n in d['notices']}
			print(sys.argv[2], d['head']['engine'], said)
			assert ('punted' in said) == (sys.argv[2] == 'uring') and 'kernel thread' in said['engine'], said
			assert (d['head']['engine'] == 'uring') == (sys.argv[2] == 'uring')
		PY
	done
	run -e auto -d 1 -n 5000 "/dev/zram$zram"
	says "zram, auto, depth 1" engine sync
else
	echo "no zram here: punting is not tried"
fi
[ $failures -ne 0 ] || conclude
finish
