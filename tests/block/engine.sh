#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The engines and the loop on real block devices: a device that is lost under way, one without NOWAIT, one that cannot poll, no locked memory.
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

# Polling on a device without queues for it: refused in words, and auto takes another.
if run -e uring -p -n 10 "$loop"; then
	says "polling" faults 0 # this kernel and device can
else
	grep -q 'polled I/O refused' "$work/err" && ok || bad "polling: $(cat "$work/err")"
	run -e auto -p -d 8 -n 10 "$loop"
	says "polling, auto" note '*polled I/O refused*'
fi

# Asked for by a user: measured all the same, with the same engine, and said.
"$platter" seek --quick --poll --quiet --json="$work/poll.json" "$loop" 2>"$work/err" && ok || bad "--poll: $(cat "$work/err")"
python3 - "$work/poll.json" <<'PY' && ok || bad "--poll is not told"
import json, sys
d = json.load(open(sys.argv[1]))
head = d['head']; polled = head['options']['polled']
assert head['engine'] == 'uring', head['engine']
assert polled == 'yes' or any(n['code'] == 'poll' and 'polled I/O refused' in n['text'] for n in d['notices']), d['notices']
PY

# Buffers that cannot be registered are used all the same.
out=$(prlimit --memlock=65536 setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock \
	"$bench" -e uring -b 1048576 -d 16 -s -n 64 "$loop" 2>"$work/err")
says "no locked memory" ops 64
says "no locked memory" note '*buffers not registered*'

# A device without NOWAIT: io_uring would hand every request to a kernel thread.
if zram=$(cat /sys/class/zram-control/hot_add 2>/dev/null); then
	at_end "echo $zram >/sys/class/zram-control/hot_remove"
	echo 64M >"/sys/block/zram$zram/disksize"
	for try in 1 2 3 4 5 6 7 8 9 10; do [ -b "/dev/zram$zram" ] || sleep 0.1; done
	run -e uring -d 8 -n 5000 "/dev/zram$zram"
	says "zram, uring" ops 5000
	says "zram, uring" workers '[1-9]*'
	run -e auto -d 8 -n 5000 "/dev/zram$zram"
	says "zram, auto" engine libaio
	says "zram, auto" note 'io_uring passed over*'
	says "zram, auto" workers 0
	run -e auto -d 1 -n 5000 "/dev/zram$zram"
	says "zram, auto, depth 1" engine sync
else
	echo "no zram here: punting is not tried"
fi
finish
