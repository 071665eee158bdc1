# SPDX-License-Identifier: GPL-2.0-or-later
# host: head -c 8388608 /dev/urandom >cd.img
# boot: --machine pc --preload usb_storage --bin dmsetup
# boot: --qemu-arg=-cdrom --qemu-arg=@T/cd.img
# boot: --qemu-arg=-device --qemu-arg=virtio-scsi-pci --qemu-arg=-device --qemu-arg=qemu-xhci
# boot: --disk nvme,64M --disk nvme,16M,logical_block_size=4096,physical_block_size=4096
# boot: --disk virtio-blk-pci,64M --disk scsi-hd,64M,logical_block_size=4096,physical_block_size=4096,rotation_rate=7200
# boot: --disk ide-hd,64M,rotation_rate=5400 --disk usb-storage,64M,removable=on
# boot: --disk virtio-blk-pci,64M,drive:throttling.bps-total=10000000
# Emulated disks through their real drivers, and a CD-ROM.
group=disks

try() # NAME NUMBER LOGICAL TRANSPORT [SIZE]
{
	begin "$1: identity, zones, seek"
	D=$(vmdisk $2) || { bad "no disk $2"; return; }
	platter 0 info $D
	target size_bytes ${5-67108864}
	target logical_block_bytes $3
	target transport $4
	[ $4 = usb ] || target serial GUEST$2 # USB bridges are not asked
	platter 0 zones --quick --time=1s $D
	no_fault
	platter 0 seek --quick --time=1s --without=curve,queue $D
	no_fault
	# None of them turns, whatever the kernel and the disk say; where a second is too short to read past the cache, nobody can tell.
	among "$(fact figure rotation_rpm)" "null" || { bad "a rotation that is none: $(fact figure rotation_rpm)"; show; }
	[ "$(cat /sys/block/${D##*/}/queue/rotational)" = 0 ] || has_notice cache-holds || notice says-rotating
	counted "disks through their drivers" "identity and block size right, measured, no fault"
}
try "nvme, 512" 0 512 nvme
try "nvme, 4Kn" 1 4096 nvme 16777216
try "virtio-blk" 2 512 virtio
try "virtio-scsi, 4Kn" 3 4096 virtio
try "ATA" 4 512 ata
try "USB" 5 512 usb

begin "the rate that a disk says is what the disk gets"
platter 0 zones --zones=start --time=3s --block=128K $(vmdisk 6)
no_fault
at_most start_bytes_per_s 20e6 # 10 MB/s, and a tenth of a second of that after each pause of the guest
counted "throttled disks" "no figure above the throttle"

begin "info reports the rotation rates that disks report"
platter 0 info $(vmdisk 3)
target reported_rpm 7200
platter 0 info $(vmdisk 4)
target reported_rpm 5400
counted "disks through their drivers" "identity and block size right, measured, no fault"

begin "verify commands that nothing proves are refused, SCSI and ATA"
for n in 3 4; do
	platter 1 surface --verify-command $(vmdisk $n)
	says "No rotation"
	says "it answered one in" # VERIFY, and ATA's READ VERIFY, were sent, and the drivers said yes
	counted "verify commands" "sent, answered, and refused where nothing proves that they reach a medium"
done

begin "writing and reading back, on each kind of disk"
final
for n in 0 1 2 3 4 5; do
	D=$(vmdisk $n)
	platter "0 5 6" stream --write --verify --size=4M --rate=2MB --buffer=4M --block=64K $(destroy $D) $D
	no_fault
done
counted "writing through drivers" "read back as written; --rewrite changes nothing"

begin "--rewrite leaves every byte as it was"
final
D=$(vmdisk 1)
head -c 16777216 /dev/urandom | dd of=$D bs=1M oflag=direct iflag=fullblock 2>/dev/null
before=$(sum_of $D)
platter 0 zones $(put_back $D) --quick --time=2s --journal=/tmp/journal $D
[ "$(sum_of $D)" = "$before" ] || bad "--rewrite changed the disk"
counted "writing through drivers" "read back as written; --rewrite changes nothing"

# fua DEVICE: its requests and what became of them in /tmp/fua, a line each; and what other reads find there is right
fua()
{
	permit_tool -f -c "$(lasting_name "$1")" "$1" >/tmp/fua 2>&1
	grep -q "^contents: as they should be" /tmp/fua || bad "$1: $(cat /tmp/fua)"
	became "write without a permit" EBADF
}
became() # REQUEST "RESULT..."
{
	among "$(sed -n "s/^$1: //p" /tmp/fua)" "$2" || bad "$1 with FUA, not $2: $(cat /tmp/fua)"
}

begin "reads and writes with FUA through SCSI and ATA, and none where they are not for the whole disk"
if command -v permit_tool >/dev/null; then
	final
	modprobe -a scsi_debug dm_mod 2>/dev/null
	debug= tries=0
	until [ -n "$debug" ] || [ $tries -ge 500 ]; do # its scan goes on in the background
		for b in /sys/block/sd*; do grep -qs scsi_debug $b/device/model && [ -b /dev/${b##*/} ] && debug=/dev/${b##*/}; done
		tries=$((tries + 1))
		[ -n "$debug" ] || usleep 20000
	done
	[ -n "$debug" ] || bad "scsi_debug gives no disk"
	for D in $(vmdisk 3) $debug; do
		fua $D
		became write ok
		became read ok
	done
	D=$(vmdisk 4)
	fua $D
	became write "ok EOPNOTSUPP EIO" # EIO: the emulated disk aborts ATA's command
	became read "ok EOPNOTSUPP" # libata has one for reads only with queues
	# A partition of 16 MiB from sector 2048 on, and a mapping.
	{ head -c 450 /dev/zero; printf '\203\0\0\0\0\10\0\0\0\200\0\0'; head -c 48 /dev/zero; printf '\125\252'; } | dd of=$debug 2>/dev/null
	blockdev --rereadpt $debug
	appears ${debug}1
	dmsetup create t --table "0 32768 linear $(vmdisk 4) 2048" || bad "no mapping"
	for D in ${debug}1 /dev/mapper/t; do
		fua $D
		became write EOPNOTSUPP
		became read EOPNOTSUPP
	done
	dmsetup remove --retry t
	modprobe -r scsi_debug
	counted "FUA through drivers" "read back as written; refused on a partition, on a mapping, and without a permit"
else
	skip "no permit_tool"
fi

begin "a CD-ROM is measured in sectors of 2048 bytes"
D=/dev/sr0
platter 0 info $D
target logical_block_bytes 2048
target size_bytes 8388608
for engine in uring libaio sync; do
	platter "0 6" zones --quick --time=1s --engine=$engine --block=64K $D # 8 MB may be too few for a rate
	no_fault
done
platter 0 seek --quick --time=1s --without=curve,queue $D
no_fault
refused $D "read-only" zones --write --destroy-data=sr0 --quick
platter 0 passes --repeat=2 $D
no_fault
[ "$(grep -o 8388608 $J | wc -l)" -ge 3 ] || bad "passes did not read the whole disc twice" # its size, and two steps
counted "CD-ROM" "blocks of 2048 bytes; never written; ejected: device-gone or faults"

begin "a CD-ROM that is ejected under the run"
qmp_quiet '{"execute":"block_set_io_throttle","arguments":{"device":"ide1-cd0","bps":0,"bps_rd":0,"bps_wr":0,"iops":40,"iops_rd":0,"iops_wr":0}}'
{ busy $D; hmp eject -f ide1-cd0 >/dev/null; } &
platter 4 zones --full --block=16K --max-errors=30 $D
wait
status with-errors device-gone
fault "EIO ENOMEDIUM short ENXIO"
no_rate_above 20e6
platter "1" zones --quick $D
[ -s $E ] || bad "an empty drive: no message"
counted "CD-ROM" "blocks of 2048 bytes; never written; ejected: device-gone or faults"
