# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --disk nvme,256M --bin mkfs.ext4
# What the kernel allows: cgroup v2 limits, io_uring switched off, no aio contexts left.
group=limits
N=$(vmdisk 0) MM=$(cat /sys/block/${N##*/}/dev) CG=/sys/fs/cgroup
echo "+io +memory" >$CG/cgroup.subtree_control
mkdir $CG/t
inside() { echo 0 >$CG/t/cgroup.procs; "$@"; echo 0 >$CG/cgroup.procs; }

for engine in uring libaio sync; do
	begin "io.max: no rate above it, engine $engine"
	echo "$MM rbps=8000000" >$CG/t/io.max
	inside platter "0 5" stream --read --engine=$engine --time=3s --block=256K --buffer=4M $N
	no_fault
	at_most rate_bytes_per_s 9.5e6 # over all: it lets a tenth of a second through at once
	echo "$MM rbps=max" >$CG/t/io.max
	counted "cgroup v2 io.max" "no figure above the limit"
done

begin "io.max of requests: no access rate above it"
echo "$MM riops=100" >$CG/t/io.max
inside platter 0 seek --quick --time=5s --no-curve --no-queue $N
no_fault
requests_at_most 140 # it lets them through in bursts
echo "$MM riops=max" >$CG/t/io.max
counted "cgroup v2 io.max" "no figure above the limit"

begin "io_uring switched off: auto takes libaio and says so"
if echo 2 >/proc/sys/kernel/io_uring_disabled 2>/dev/null; then
	platter 0 zones --quick --time=1s $N
	no_fault
	[ "$(fact engine)" = libaio ] || bad "the engine is $(fact engine)"
	notice engine
	platter 1 zones --quick --engine=uring $N
	[ "$(wc -l <$E)" = 1 ] || bad "not one sentence: $(cat $E)"
	echo 0 >/proc/sys/kernel/io_uring_disabled
	counted "io_uring not permitted" "libaio instead, told; --engine=uring fails with a sentence"
else
	skip "this kernel cannot switch io_uring off"
fi

begin "io_uring for privileged programs only: auto takes libaio and says that privileges were given up"
if echo 1 >/proc/sys/kernel/io_uring_disabled 2>/dev/null; then
	platter 0 zones --quick --time=1s $N
	no_fault
	[ "$(fact engine)" = libaio ] || bad "the engine is $(fact engine)"
	notice 'given up'
	echo 0 >/proc/sys/kernel/io_uring_disabled
	counted "io_uring not permitted" "libaio instead, told; --engine=uring fails with a sentence"
else
	skip "this kernel cannot switch io_uring off"
fi

begin "neither io_uring nor aio contexts: auto takes sync"
echo 2 >/proc/sys/kernel/io_uring_disabled 2>/dev/null
max=$(cat /proc/sys/fs/aio-max-nr)
echo 1 >/proc/sys/fs/aio-max-nr
platter 1 zones --quick --engine=libaio $N
[ "$(wc -l <$E)" = 1 ] || bad "not one sentence: $(cat $E)"
if [ "$(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null)" = 2 ]; then
	platter 0 zones --quick --time=1s $N
	no_fault
	[ "$(fact engine)" = sync ] || bad "the engine is $(fact engine)"
fi
echo "$max" >/proc/sys/fs/aio-max-nr
echo 0 >/proc/sys/kernel/io_uring_disabled 2>/dev/null
counted "aio contexts exhausted" "sync instead, told; --engine=libaio fails with a sentence"

begin "no memory may be locked"
(ulimit -l 0; platter 0 zones --quick --time=1s $N; settle) >/tmp/sub
grep FAIL /tmp/sub && complaints=1
counted "no locked memory" "measured without"

begin "cache --memory: the cache ends where its cgroup does"
modprobe ext4
mkfs.ext4 -q $N
mkdir -p /mnt/c
mount $N /mnt/c
LIMIT=150
platter 0 cache --memory=32M --min-size=16M --max-size=64M --min-record=64K --max-record=64K --mode=cached --time=1s /mnt/c # the time is the matrix's
[ "$(fact option memory-cgroup)" = v2 ] || bad "no cgroup of version 2"
knee=$(fact figure knee_bytes)
is "$knee" ">=" 30198989 && is "$knee" "<=" 36909875 || { bad "the cache ends at $knee, which is not within 10 % of 32 MiB"; show; }
[ -z "$(ls $CG | grep -i platter)" ] || bad "a cgroup was left behind"
[ -z "$(ls /mnt/c | grep -v lost+found)" ] || bad "a file was left behind"
umount /mnt/c
LIMIT=60
counted "cgroup v2 memory" "cache --memory finds its end within 10 %"
