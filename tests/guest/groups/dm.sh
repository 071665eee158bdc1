# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --no-coldplug --bin dmsetup --bin mkfs.ext4
# The device mapper over a ram disk: slow, failing, vanishing and lying devices.
group=dm
modprobe brd rd_nr=1 rd_size=65536
modprobe -a dm_mod dm_delay dm_flakey dm_dust 2>/dev/null
DISK=/dev/ram0 S=131072
head -c 67108864 /dev/urandom >$DISK
D=/dev/mapper/t
mk() { dmsetup create t --table "$1" 2>/tmp/dm || bad "dmsetup: $(cat /tmp/dm)"; }
away() { dmsetup resume t 2>/dev/null; dmsetup remove --retry t 2>/tmp/dm || bad "dmsetup: $(cat /tmp/dm)"; }
swap() # TABLE: in place of the one in use. (dm-delay lets all go at once when it is suspended: some reads before are fast indeed.)
{
	dmsetup suspend --noflush --nolockfs t
	dmsetup load t --table "$1"
	dmsetup resume t
}
QUICK="--quick --time=2s"

begin "a delay is measured, not below it"
mk "0 $S delay $DISK 0 20"
platter 0 seek --quick --time=3s --without=curve,queue $D
no_fault
no_iops_above 100
requests_at_most 100 # 50 by the delay, which counts in ticks of 4 ms; thousands without it
counted "slow devices (dm-delay)" "never faster than the delay"
away

begin "the half that is slower is the slower half"
mk "0 65536 delay $DISK 0 10
65536 65536 delay $DISK 65536 40"
platter 0 zones --zones=start,end --time=6s --block=64K --depth=1 $D
no_fault
at_most end_bytes_per_s 2.5e6 # 64 KiB in 40 ms, less a tick
at_most start_bytes_per_s 16e6
counted "slow devices (dm-delay)" "never faster than the delay"
away

begin "a device that only fails gives faults and no figure"
mk "0 $S error"
for command in "zones $QUICK" "seek $QUICK" "stream --read --size=8M" "passes --mode=direct --repeat=1" "transactions --time=1s"; do
	platter "4 5" $command --max-errors=50 $D
	status with-errors
	fault EIO
	no_rate_above 0
	no_iops_above 0
done
counted "failing devices (dm-error)" "EIO listed, no figure"
platter "4" geometry --quick --max-errors=50 $D
fault EIO
counted "failing devices (dm-error)" "EIO listed, no figure"
away

for engine in uring libaio sync; do
	begin "eight sectors fail in the middle, engine $engine"
	mk "0 65536 linear $DISK 0
65536 8 error
65544 65528 linear $DISK 65544"
	platter 4 zones --full --engine=$engine --block=128K $D
	status with-errors
	fault EIO $((65536 * 512)) $((65544 * 512))
	counted "failing sectors (dm-error)" "EIO at these sectors and nowhere else"
	away
done

begin "passes and transactions over sectors that fail"
mk "0 65536 linear $DISK 0
65536 8 error
65544 65528 linear $DISK 65544"
platter 4 passes --mode=direct --repeat=1 $D
status with-errors
fault EIO $((65536 * 512)) $((65544 * 512))
away
mk "0 65536 linear $DISK 0
65536 65536 error"
platter 4 transactions --users=4 --time=2s $D
status with-errors
fault EIO $((65536 * 512)) $((131072 * 512))
counted "failing sectors (dm-error)" "EIO at these sectors and nowhere else"
away

begin "writes that fail are counted, and are no data that came back wrong"
mk "0 $S flakey $DISK 0 0 60 1 error_writes"
platter 4 stream --write --verify --size=8M $(destroy $D) $D
status with-errors
fault_of write EIO
no_rate_above 0
[ "$(fact figure verify_errors)" = 0 ] || bad "$(fact figure verify_errors) blocks came back wrong that were never written"
platter 4 surface --write --range=0-8MiB $(destroy $D) $D
fault_of write EIO
grep -q 'could not be written' $O || bad "the verdict does not say that writes failed"
! grep -q 'data came back' $O || bad "data came back that were never written"
counted "failing writes (dm-flakey)" "EIO listed; nothing came back wrong"
away

begin "one sector that fails, first or last: all else is read and counts"
for at in 0 $((S - 8)); do
	{ [ $at = 0 ] || echo "0 $at linear $DISK 0"; echo "$at 8 error"; [ $at != 0 ] || echo "8 $((S - 8)) linear $DISK 8"; } >/tmp/table
	mk "$(cat /tmp/table)"
	platter 4 passes --mode=direct --repeat=1 $D
	fault EIO $((at * 512)) $(((at + 8) * 512))
	is "$(fact figure read_bytes_per_s)" ">" 0 && is "$(fact figure unread_bytes)" "<=" 65536 || bad "a pass of which one block failed has no rate"
	platter 4 stream --read --size=64M $D
	is "$(fact figure rate_bytes_per_s)" ">" 0 && fact figure full_speed | grep -q '; 1 of 64 blocks could not be read' ||
		bad "one of 64 blocks failed, and that is not said: $(fact figure full_speed)"
	away
done
counted "failing sectors (dm-error)" "EIO at these sectors and nowhere else"

begin "flakey: EIO while it is down, measured while it is up"
mk "0 $S flakey $DISK 0 1 1"
platter "4 5" stream --read --time=5s --rate=2MB --block=64K --buffer=1M --max-errors=100000 $D
status with-errors
fault EIO
[ "$(tr -d '\r' <$R | awk -F, 'NR > 1 && $6 != "" { was_down = 1 } NR > 1 && $6 == "" && was_down { good++ } END { print good + 0 }')" -gt 0 ] ||
	{ bad "nothing was read after it was down"; show; }
is "$(fact elapsed)" ">" 4.5 || { bad "ended after $(fact elapsed) s of 5"; show; }
counted "flakey devices (dm-flakey)" "EIO while it is down, read while it is up"
away

begin "silent corruption is found by --verify"
final
mk "0 $S flakey $DISK 0 0 60 5 corrupt_bio_byte 300 r 165 0"
platter "1 4 5" stream --write --verify --size=16M --rate=8MB --buffer=8M --block=64K $(destroy $D) $D
is "$(fact figure verify_errors)" ">" 0 || { bad "the corruption is not reported"; show; }
counted "silent corruption (dm-flakey)" "found by --verify"
away

begin "dust: EIO until it is rewritten"
if mk "0 $S dust $DISK 0 512" && dmsetup targets | grep -q dust; then
	dmsetup message t 0 addbadblock 60000
	dmsetup message t 0 enable >/dev/null
	platter 4 zones --full $D
	fault EIO $((60000 * 512)) $((60001 * 512))
	dd if=/dev/zero of=$D bs=4096 seek=7500 count=1 conv=fsync 2>/tmp/dd || bad "dd: $(cat /tmp/dd)" # a whole page: nothing is read
	platter 0 zones --full $D
	no_fault
	counted "bad until rewritten (dm-dust)" "EIO before, nothing afterwards"
	away
else
	complaints=
	skip "this kernel has no dm-dust, and it could not be built"
fi

begin "a table that fails is swapped in under the run"
mk "0 $S delay $DISK 0 4"
{ busy $D; swap "0 $S error"; } &
platter 4 zones --time=12s --max-errors=30 --block=64K --depth=1 $D
wait
status with-errors
fault EIO
counted "failing devices (dm-error)" "EIO listed, no figure"
away

modprobe ext4
mkdir -p /mnt/f
# on_file TABLE WHEN COMMAND...: a file system on a slow device, which gets this table while the run is at it, as soon as WHEN returns
on_file()
{
	table=$1 when=$2
	shift 2
	mk "0 $S delay $DISK 0 4 $DISK 0 ${WRITE_MS:-4}"
	mkfs.ext4 -q -O ^has_journal $D 2>/dev/null
	mount -o errors=continue $D /mnt/f
	{ $when; swap "$table"; } &
	platter 4 "$@" /mnt/f/f
	wait
	status with-errors
	umount /mnt/f
	away
}
begun() # its file is there, and more than a header
{
	tries=0
	until [ "$(stat -c %b /mnt/f/f 2>/dev/null || echo 0)" -gt 64 ] || [ $tries -ge 400 ]; do
		usleep 50000
		tries=$((tries + 1))
	done
}
LOST="EIO listed, with what failed: read, write or flush"

begin "passes: the disk below the file system fails while the file is read"
on_file "0 $S error" "busy $D" passes --mode=direct --size=4M --repeat=1000
fault_of read EIO
counted "failing below a file system (dm)" "$LOST"

begin "passes: the disk takes no writes any more"
WRITE_MS=20 # so that the table is swapped before all is written, which takes 10 s
on_file "0 $S flakey $DISK 0 0 60 1 error_writes" begun passes --mode=direct --size=32M --repeat=1000
WRITE_MS=
fault_of write EIO
counted "failing below a file system (dm)" "$LOST"

begin "mark: the disk below the file system fails while the file is read"
on_file "0 $S error" "busy $D" mark --mode=direct --time=1s --repeat=100
fault_of read EIO
counted "failing below a file system (dm)" "$LOST"

begin "mark: what is in the page cache is lost, and only fsync() shows it"
on_file "0 $S flakey $DISK 0 0 60 1 error_writes" begun mark --time=4s
fault_of flush EIO
counted "failing below a file system (dm)" "$LOST"

begin "the device shrinks under the run"
mk "0 $S delay $DISK 0 4"
{ busy $D; swap "0 65536 delay $DISK 0 4"; } &
platter 4 zones --time=12s --max-errors=30 --block=64K --depth=1 $D
wait
fault "EIO short" $((32 << 20)) $((64 << 20))
counted "live resize" "growing is harmless; a lost end is short or EIO, never a rate"
away

begin "a suspended device is a stall, and goes on"
mk "0 $S delay $DISK 0 4"
{ busy $D; dmsetup suspend --noflush --nolockfs t; sleep 7; dmsetup resume t; } &
platter 0 zones --time=12s --block=64K --depth=1 $D
wait
no_fault
notice stalled
counted "suspended device (dm)" "reported as stalled; goes on when it comes back"
away

# Nothing can end a process whose request the kernel holds: what can be done is to save the document first, and to be gone as soon as it is let go.
for engine in uring libaio; do
	begin "SIGINT while the device is suspended, engine $engine"
	mk "0 $S delay $DISK 0 4"
	want="130 1 137" last="platter zones, SIGINT under a suspended device"
	rm -f $J $R
	timeout -k 3 60 /usr/local/bin/platter zones --engine=$engine --time=30s --block=64K --depth=1 --json=$J --requests=$R $D >$O 2>$E &
	pid=$!
	busy $D
	dmsetup suspend --noflush --nolockfs t
	usleep 500000
	kill -INT $(pidof platter)
	tries=0
	until grep -q '"status": "cancelled"' $J 2>/dev/null || [ $tries -ge 400 ]; do
		tries=$((tries + 1))
		usleep 100000
	done
	[ $tries -lt 400 ] || { bad "no document that says cancelled"; show; }
	dmsetup resume t
	wait $pid
	rc=$?
	judge zones
	status cancelled
	counted "signals while the device is suspended (dm)" "the document is saved as cancelled; the process ends when the kernel lets go"
	away
done
