# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --no-coldplug
# null_blk: zones that are offline or read-only, bad blocks, sizes.
group=null
C=/sys/kernel/config/nullb
modprobe null_blk nr_devices=0
nullb() # NAME attribute=value...: memory-backed, 64 MiB, 1 ms a request; the device in $D
{
	name=$1
	shift
	mkdir $C/$name
	for set in size=64 memory_backed=1 irqmode=2 completion_nsec=1000000 "$@" power=1; do
		echo "${set#*=}" >$C/$name/"${set%%=*}" || { bad "null_blk takes no $set"; return 1; }
	done
	D=
	for try in /dev/nullb* /dev/$name; do
		[ -b "$try" ] && [ "$(cat /sys/block/${try##*/}/size)" -gt 0 ] && D=$try
	done
	[ -n "$D" ] || bad "null_blk gives no device"
}
gone() # NAME
{
	[ "$(cat $C/$1/power)" = 0 ] || echo 0 >$C/$1/power
	rmdir $C/$1
}
QUICK="--quick --time=2s"

begin "a 4Kn device with bad blocks: EIO at these and nowhere else"
nullb b blocksize=4096 "badblocks=+1000-1015"
platter 4 zones --full --block=64K $D
status with-errors
fault EIO $((1000 * 512)) $((1016 * 512)) 4096
counted "bad blocks (null_blk)" "EIO at the bad blocks and nowhere else"
gone b

for command in seek stream; do
	begin "bad blocks under $command"
	nullb b "badblocks=+1024-9215"
	[ $command = seek ] && platter 4 seek $QUICK --without=queue $D
	[ $command = stream ] && platter "4 5" stream --read --size=32M --buffer=8M $D
	status with-errors
	fault EIO $((1024 * 512)) $((9216 * 512))
	counted "bad blocks (null_blk)" "EIO at the bad blocks and nowhere else"
	gone b
done

begin "a zoned device is read; a written region refuses"
nullb z size=16 zoned=1 zone_size=4
platter 0 info $D
target zoned host-managed
platter 0 zones $QUICK $D
no_fault
platter 2 zones --write --destroy-data=${D##*/} --quick $D
says "zoned"
counted "host-managed zones (null_blk)" "read without a fault, writing refused, not a byte changed"
gone z

begin "offline zones are unreadable regions"
nullb z zoned=1 zone_size=4
if [ -e $C/z/zone_offline ]; then
	echo $((8 << 11)) >$C/z/zone_offline
	echo $((16 << 11)) >$C/z/zone_readonly
	platter 4 zones --full $D
	status with-errors
	fault EIO $((8 << 20)) $((12 << 20))
	counted "offline zones (null_blk)" "EIO in the offline zone and nowhere else; the read-only one is read"
else
	skip "this kernel's null_blk sets no zones offline"
fi
gone z

begin "a device that is switched off under the run is gone, not fast"
nullb p completion_nsec=4000000
{ busy $D; echo 0 >$C/p/power; } &
platter 4 stream --read --time=20s --rate=1MB --buffer=1M --block=64K $D
wait
status device-gone
no_rate_above 40e6
counted "hot removal: null_blk (power off)" "device-gone; what was measured before is kept"
gone p

begin "the wall clock is set a day forward and two back under the runs"
nullb w
for command in "transactions --users=2 --time=3s" "stream --read --time=3s --rate=2MB --buffer=2M --block=64K"; do
	now=$(date +%s)
	{ busy $D; date -s @$((now + 86400)); sleep 1; date -s @$((now - 86400)); } >/dev/null &
	platter 0 $command $D
	wait
	date -s @$now >/dev/null
	no_fault
	is "$(fact elapsed)" ">" 2.5 && is "$(fact elapsed)" "<" 600 || { bad "it took $(fact elapsed) s by itself"; show; }
	no_rate_above 300e6 # 4 times 64 KiB in 1 ms
	no_notice stalled
done
counted "clock steps" "no duration and no rate knows of it"
gone w
