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
	inside platter "0 5 6" stream --read --engine=$engine --time=3s --block=256K --buffer=4M $N
	no_fault
	at_most rate_bytes_per_s 16e6 # it lets a tenth of a second through at once, and more after a pause of the guest
	echo "$MM rbps=max" >$CG/t/io.max
	counted "cgroup v2 io.max" "no figure above the limit"
done

begin "io.max of requests: no access rate above it"
echo "$MM riops=100" >$CG/t/io.max
inside platter 0 seek --quick --time=5s --without=curve,queue $N
no_fault
requests_at_most 200 # it lets them through in bursts; without it there are thousands
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
	counted "io_uring not permitted" "libaio instead, reported; --engine=uring fails with a sentence"
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
	counted "io_uring not permitted" "libaio instead, reported; --engine=uring fails with a sentence"
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
counted "aio contexts exhausted" "sync instead, reported; --engine=libaio fails with a sentence"

begin "no memory may be locked"
(ulimit -l 0; platter 0 zones --quick --time=1s $N; settle) >/tmp/sub
grep FAIL /tmp/sub && complaints=1
counted "no locked memory" "measured without"

begin "cache --memory: the cache ends where its cgroup does"
# On a ram disk: it is the page cache that is measured, and an emulated disk takes minutes. The truth is what a group of that size holds of a larger
# file that another program reads; of 64 MiB the few that programs and the kernel need besides are a small part.
modprobe -a ext4 brd
modprobe -r brd
modprobe brd rd_nr=1 rd_size=204800
mkfs.ext4 -q /dev/ram0
mkdir -p /mnt/c $CG/truth
mount /dev/ram0 /mnt/c
echo 67108864 >$CG/truth/memory.max
dd if=/dev/zero of=/mnt/c/big bs=1M count=80 conv=fsync 2>/dev/null
echo 3 >/proc/sys/vm/drop_caches
sh -c "echo 0 >$CG/truth/cgroup.procs; exec cat /mnt/c/big" >/dev/null
truth=$(sed -n 's/^file //p' $CG/truth/memory.stat)
rm /mnt/c/big
rmdir $CG/truth
is "$truth" ">" 60000000 || bad "the group of the truth holds $truth"
LIMIT=300
# Little of the matrix is wanted here.
platter 0 cache --memory=64M --size=34M-136M --block=64K-64K --mode=cached --operations=reread --repeat=3 /mnt/c
LIMIT=120
[ "$(fact option memory-cgroup)" = v2 ] || bad "no cgroup of version 2"
room=$(fact figure room_bytes)
is "$room" ">=" $((truth / 100 * 95)) && is "$room" "<=" $((truth / 100 * 105)) ||
	{ bad "$room is said to be left to files, but $truth is"; show; }
# The end lies between the largest file that is read from memory and the smallest that is not: the middle of the two, which are 5 % apart.
knee=$(awk -F'\t' '$1 == "interval" && $2 == "knee_bytes" { printf "%.0f", ($3 + $4) / 2 }' $F)
is "$knee" ">=" $((truth / 10 * 9)) && is "$knee" "<=" $((truth / 10 * 11)) ||
	{ bad "the cache ends at $knee, which is not within 10 % of the $truth that the group holds (room: $room)"; show; }
[ -z "$(ls $CG | grep -i platter)" ] || bad "a cgroup was left behind"
[ -z "$(ls /mnt/c | grep -v lost+found)" ] || bad "a file was left behind"
umount /mnt/c
counted "cgroup v2 memory" "cache --memory finds its end within 10 %"
