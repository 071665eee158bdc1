# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --machine pc --preload usb_storage
# boot: --qemu-arg=-device --qemu-arg=virtio-scsi-pci --qemu-arg=-device --qemu-arg=qemu-xhci
# boot: --disk nvme,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000 --disk nvme,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000
# boot: --disk virtio-blk-pci,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000 --disk virtio-blk-pci,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000
# boot: --disk scsi-hd,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000 --disk scsi-hd,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000
# boot: --disk usb-storage,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000 --disk usb-storage,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000
# boot: --disk ide-hd,64M,drive:throttling.iops-total=100,drive:throttling.bps-total=20000000 --disk virtio-blk-pci,64M,drive:throttling.iops-total=300,drive:throttling.bps-total=20000000
# boot: --disk virtio-blk-pci,64M,drive:throttling.iops-total=100,drive:throttling.bps-total=20000000 --disk virtio-blk-pci,64M
# Disks pulled, shrunk and grown under a run. A disk that is pulled answers most drivers' reads with success and 0 bytes, at once and for ever: a tool
# that looks for errors only measures empty calls, 100 000 a second. These disks give 300 requests and 20 MB a second, so no figure may be above that. Two that are read to their end give 100 a second, so that something can be done to them before.
group=removal
pull() { { busy $D; qmp "{\"execute\":\"device_del\",\"arguments\":{\"id\":\"dev$1\"}}" >/dev/null; } & }

pulled() # KIND NUMBER ENGINE
{
	begin "$1 is pulled under stream, engine $3"
	D=$(vmdisk $2) || { bad "no disk $2"; return; }
	pull $2
	platter 4 stream --read --engine=$3 --time=20s --rate=4MB --buffer=1M --block=64K $D
	wait
	status device-gone
	fault "short EIO ENODEV ENXIO"
	no_rate_above 60e6
	[ "$(fact told)" -le 64 ] || bad "it went on asking a disk that is gone"
	counted "hot removal: $1" "device-gone; what was measured before is kept"
}
seek_pulled() # KIND NUMBER
{
	begin "$1 is pulled under seek"
	D=$(vmdisk $2) || { bad "no disk $2"; return; }
	pull $2
	platter 4 seek --time=20s --without=queue --engine=sync $D
	wait
	status device-gone
	no_iops_above 700
	counted "hot removal: $1" "device-gone; what was measured before is kept"
}
pulled nvme 0 uring
seek_pulled nvme 1
pulled virtio-blk 2 uring
seek_pulled virtio-blk 3
pulled SCSI 4 libaio
seek_pulled SCSI 5
pulled USB 6 uring
seek_pulled USB 7

begin "an ATA disk is pulled under zones"
D=$(vmdisk 8)
{ busy $D; echo 1 >/sys/block/${D##*/}/device/delete; } &
platter 4 zones --full --block=64K $D
wait
status device-gone
no_rate_above 2e9 # the throttle lets 2 MB through at once
counted "hot removal: ATA" "device-gone; what was measured before is kept"

begin "one of two disks of a stream is pulled"
D=$(vmdisk 9) D2=$(vmdisk 11)
pull 9
platter "4 5" stream --read --time=10s --rate=2MB --buffer=4M --block=64K $D $D2
wait
notice "$D"
no_rate_above 60e6
counted "hot removal: one of two disks" "device-gone; what was measured before is kept"

begin "a disk shrinks to half under the run"
D=$(vmdisk 10)
{ busy $D; qmp_quiet '{"execute":"block_resize","arguments":{"device":"d10","size":33554432}}'; } &
platter "4" zones --full --block=64K --max-errors=50 $D
wait
fault "short EIO" $((32 << 20)) $((64 << 20)) 65536
no_rate_above 2e9
counted "live resize" "growing is harmless; a lost end is short or EIO, never a rate"

begin "a disk grows under the run"
D=$(vmdisk 11)
{ busy $D; qmp_quiet '{"execute":"block_resize","arguments":{"device":"d11","size":134217728}}'; } &
platter "0 5 6" stream --read --time=3s --rate=4MB --buffer=4M --block=64K $D
wait
no_fault
counted "live resize" "growing is harmless; a lost end is short or EIO, never a rate"
