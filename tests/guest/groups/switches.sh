# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --machine pc --bin hdparm --bin sdparm --bin nvme --bin smartctl
# boot: --qemu-arg=-device --qemu-arg=virtio-scsi-pci
# boot: --disk ide-hd,64M,rotation_rate=5400 --disk scsi-hd,64M --disk nvme,64M --disk ide-hd,16M
# Switches of drives (--write-cache, --look-ahead): turned, seen by other programs, put back, whatever becomes of the run; and their health.
group=switches
states=/var/lib/platter
modprobe scsi_debug dev_size_mb=64 2>/dev/null

# 1 or 0, by programs that are not platter.
ata_wc() { hdparm -W "$1" | sed -n 's/.*write-caching *= *\([01]\).*/\1/p'; }
nvme_wc() { nvme get-feature "$1" -f 6 | sed -n 's/.*[Vv]alue: *\(0x\)\{0,1\}0*\([01]\)$/\2/p'; }
scsi_wc() { sdparm -q -g WCE "$1" | sed -n 's/^WCE *\([01]\).*/\1/p'; }
scsi_dra() { sdparm -q -g DRA "$1" | sed -n 's/^DRA *\([01]\).*/\1/p'; }
view() { cat "$(sys_of "$1")"/device/scsi_disk/*/cache_type 2>/dev/null; }
debug_disk() { for b in /sys/block/sd*; do grep -q scsi_debug "$b/device/model" 2>/dev/null && echo "/dev/${b##*/}"; done; }
is_left() { [ -n "$(ls $states/drive-*.state 2>/dev/null)" ]; }

# Waits until LOOK says VALUE of DEVICE.
until_says()
{
	tries=0
	until [ "$($1 $3)" = "$2" ] || [ $tries -ge 200 ]; do usleep 50000; tries=$((tries + 1)); done
	[ $tries -lt 200 ]
}

# turned OPTION LOOK DEVICE BEFORE DURING: seen by LOOK while the run goes on, and as before after it
turned()
{
	option=$1 look=$2 D=$3
	is=$($look $D)
	[ "$is" = $4 ] || bad "$look says $is before, not $4"
	rm -f /tmp/during
	{
		until_says $look $5 $D && { view $D; ls $states; } >/tmp/during
		sleep 1
		kill -INT $(pidof platter)
	} &
	platter 130 seek --time=100s $option $D
	wait
	grep -q 'drive-.*state' /tmp/during || { bad "not turned, or not noted: $(cat /tmp/during)"; show; }
	is=$($look $D)
	[ "$is" = $4 ] || bad "$look says $is after the run, not $4"
	! is_left || bad "a note is left: $(ls $states)"
	no_notice switches-left
	no_fault
}
noted() # "SWITCH" BEFORE DURING AFTER: in the document
{
	jq -e --arg s "$1" --arg b $2 --arg d $3 --arg a $4 '.tables.switches.rows[] | select(.[1] == $s) | .[2:5] == [$b, $d, $a]' $J >/dev/null ||
		bad "the document says otherwise: $(jq -c .tables.switches.rows $J)"
}

# PLATTER_LONG=1: nothing but 200 of these, which wants GUEST_TIMEOUT=1800.
kills() # ROUNDS
{
	begin "a run killed at any moment, and its keeper with it, leaves nothing that the next platter does not put back"
	final
	for i in $(seq $1); do
		case $((i % 3)) in
		0) D=$(vmdisk 0) look=ata_wc ;;
		1) D=$(debug_disk) look=scsi_wc ;;
		2) D=$(vmdisk 2) look=nvme_wc ;;
		esac
		/usr/local/bin/platter seek --time=60s --write-cache=off $D >/dev/null 2>&1 &
		pid=$!
		usleep $((i * 7919 % 100 * 10000))
		[ $i -gt 3 ] || until_says $look 0 $D || bad "round $i: not turned" # some in the middle of it
		if [ $((i % 2)) = 1 ]; then
			kill -9 $(pidof platter) 2>/dev/null
		else
			kill -9 $pid # its keeper lives
		fi
		wait $pid 2>/dev/null
		/usr/local/bin/platter info --quick $(vmdisk 3) >$O 2>$E || bad "info after a kill: $(cat $E)" # of another disk
		tries=0
		while is_left && [ $tries -lt 100 ]; do usleep 50000; tries=$((tries + 1)); done
		[ "$($look $D)" = 1 ] || bad "round $i: $look says that the write cache of $D is still off"
		! is_left || bad "round $i: a note is left: $(cat $states/drive-*)"
		[ -z "$complaints" ] || break
	done
	counted "switches of drives (killed)" "turned, seen by other programs, and put back"
}
if [ -n "${PLATTER_LONG-}" ]; then
	kills 200
	finish
fi

begin "ATA: the write cache goes off and on again, and the kernel knows"
final
D=$(vmdisk 0)
turned --write-cache=off ata_wc $D 1 0
grep -q "write through" /tmp/during || bad "the kernel's view during the run: $(cat /tmp/during)"
[ "$(view $D)" = "write back" ] || bad "the kernel's view after it: $(view $D)"
noted "write cache" on off on
counted "switches of drives" "turned, seen by other programs, and put back"

begin "ATA: a look-ahead that the drive does not tell is left alone, unless insisted"
final
platter 3 seek --quick --time=1s --look-ahead=off $D
says "--despite=look-ahead"
platter 0 seek --quick --time=1s --without=curve,queue --look-ahead=off --despite=look-ahead $D
notice look-ahead-unknown
counted "switches of drives" "turned, seen by other programs, and put back"

begin "a drive that is as it is wanted is not touched"
platter 0 seek --quick --time=1s --without=curve,queue --write-cache=on $D
! is_left || bad "a note is left"
counted "switches of drives" "turned, seen by other programs, and put back"

begin "SCSI: QEMU's write cache goes off and on again; it refuses the look-ahead"
final
D=$(vmdisk 1)
turned --write-cache=off scsi_wc $D 1 0
grep -q "write through" /tmp/during || bad "the kernel's view during the run: $(cat /tmp/during)"
[ "$(view $D)" = "write back" ] || bad "the kernel's view after it: $(view $D)"
platter 1 seek --quick --time=1s --look-ahead=off $D
[ "$(scsi_wc $D)" = 1 ] && [ "$(scsi_dra $D)" = 0 ] || bad "left changed"
! is_left || bad "a note is left"
counted "switches of drives" "turned, seen by other programs, and put back"

begin "scsi_debug: write cache and look-ahead, both of which stick"
final
D=$(debug_disk)
turned --write-cache=off scsi_wc $D 1 0
turned --look-ahead=off scsi_dra $D 0 1
noted "look-ahead" on off on
counted "switches of drives" "turned, seen by other programs, and put back"

begin "NVMe: feature 06h"
final
turned --write-cache=off nvme_wc $(vmdisk 2) 1 0
noted "write cache" on off on
counted "switches of drives" "turned, seen by other programs, and put back"

begin "signals: put back by the run that they end"
final
D=$(debug_disk)
for signal in INT TERM HUP QUIT; do
	/usr/local/bin/platter seek --time=60s --write-cache=off --look-ahead=off $D >/dev/null 2>&1 &
	pid=$!
	until_says scsi_wc 0 $D
	until_says scsi_dra 1 $D || bad "SIG$signal: not turned"
	kill -$signal $pid
	wait $pid
	tries=0
	while is_left && [ $tries -lt 200 ]; do usleep 50000; tries=$((tries + 1)); done # QUIT kills: then the keeper does it
	[ "$(scsi_wc $D)$(scsi_dra $D)" = 10 ] || bad "SIG$signal: left changed"
	! is_left || bad "SIG$signal: a note is left"
done
counted "switches of drives (killed)" "turned, seen by other programs, and put back"

kills 8

begin "a disk in use is left alone, unless insisted"
final
D=$(debug_disk)
exec 5<>$D
platter 3 seek --quick --time=1s --write-cache=off $D
says "--despite=users"
[ "$(scsi_wc $D)" = 1 ] || bad "it was turned"
platter 0 seek --quick --time=1s --without=curve,queue --write-cache=off --despite=users $D
exec 5>&-
[ "$(scsi_wc $D)" = 1 ] || bad "not put back"
counted "switches of drives" "turned, seen by other programs, and put back"

begin "health by smartctl itself, before and after"
for n in 0 2; do
	platter 0 seek --quick --time=1s --without=curve,queue $(vmdisk $n)
	[ "$(fact figure health_moved)" = 0 ] || { bad "health_moved of disk $n is $(fact figure health_moved)"; show; }
	[ "$(fact option health)" = smartctl ] || bad "the option health is $(fact option health)"
done
counted "health of disks" "smartctl's counts before and after; without it told so"

begin "info: all disks, a line each, and the state of one"
platter 0 info
[ "$(fact figure disks)" -ge 5 ] || bad "$(fact figure disks) disks"
platter 0 info $(vmdisk 0)
jq -r '.tables.state.rows[], .tables.caches.rows[] | join(" ")' $J >/tmp/rows
grep -q "power active" /tmp/rows && grep -q "health good" /tmp/rows && grep -q "write cache of the drive on" /tmp/rows || bad "the rows: $(cat /tmp/rows)"
counted "health of disks" "smartctl's counts before and after; without it told so"
