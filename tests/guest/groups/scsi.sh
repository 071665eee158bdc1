# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --no-coldplug
# scsi_debug: the SCSI disk driver, with sense data on order.
group=scsi
S=/sys/bus/pseudo/drivers/scsi_debug
modprobe sd_mod
sd() # options: loads scsi_debug; the disk in $D, 64 MiB
{
	modprobe -r scsi_debug 2>/dev/null
	modprobe scsi_debug dev_size_mb=64 delay=0 "$@" || return 1
	tries=0
	while [ $tries -lt 1000 ]; do
		for b in $S/adapter*/host*/target*/*/block/*; do
			[ -b "/dev/${b##*/}" ] && D=/dev/${b##*/} Q=/sys/block/${b##*/} && return 0
		done
		tries=$((tries + 1))
		usleep 20000
	done
	bad "scsi_debug gives no disk"
	return 1
}
QUICK="--quick --time=2s"

begin "a 4Kn disk is measured in its own blocks"
sd sector_size=4096
platter 0 info $D
target logical_block_bytes 4096
platter 0 zones $QUICK $D
no_fault
platter 0 seek $QUICK --without=queue $D
no_fault
counted "4Kn disks (scsi_debug)" "measured in blocks of 4096 bytes, no fault"

begin "a 512e disk with misaligned sectors says so"
sd physblk_exp=3 lowest_aligned=7
platter 0 info $D
target physical_block_bytes 4096
target alignment_offset_bytes 3584
platter 0 zones $QUICK $D
no_fault
counted "512e disks, misaligned (scsi_debug)" "alignment offset reported, measured, no fault"

begin "verify commands that nothing proves are refused"
platter 1 surface --verify-command $D
says "No rotation"
says "it answered one in" # VERIFY was sent, and the driver said yes
counted "verify commands (scsi_debug)" "sent, answered, and refused where nothing proves that they reach a medium"

for engine in uring libaio sync; do
	begin "a medium error has its name and place, engine $engine"
	sd opts=2 medium_error_start=4660 medium_error_count=10
	platter 4 zones --engine=$engine --full --block=64K $D
	status with-errors
	fault ENODATA $((4660 * 512)) $((4670 * 512))
	counted "medium errors (scsi_debug)" "ENODATA at the bad sectors and nowhere else"
done

begin "seek meets a medium error and goes on"
sd opts=2 medium_error_start=4660 medium_error_count=4096
platter 4 seek $QUICK --without=queue $D
# A failing device falls into step with the kernel's timer tick: that is no rotation.
among "$(fact figure rotation_rpm)" "null" || { bad "a rotation that is none: $(fact figure rotation_rpm)"; show; }
no_notice other-io # its own failed requests are not those of others
status with-errors
fault ENODATA $((4660 * 512)) $((8756 * 512))
counted "medium errors (scsi_debug)" "ENODATA at the bad sectors and nowhere else"

begin "stream plays back over a medium error"
sd opts=2 medium_error_start=4660 medium_error_count=10
platter "4 5" stream --read --size=32M --buffer=8M $D
status with-errors
fault ENODATA $((4660 * 512)) $((4670 * 512))
counted "medium errors (scsi_debug)" "ENODATA at the bad sectors and nowhere else"

begin "more errors than --max-errors end the run"
sd opts=2 medium_error_start=0 medium_error_count=131072
platter 4 zones $QUICK --max-errors=20 $D
notice too-many-errors
fault ENODATA 0 $((64 << 20))
counted "medium errors (scsi_debug)" "ENODATA at the bad sectors and nowhere else"

# The next 5 commands of this kind end so (Linux 6.7 and later).
inject() # opcode, status, sense key, code, qualifier
{
	for e in /sys/kernel/debug/scsi_debug/*/error; do
		echo "2 -5 $1 0x0 0x0 $2 $3 $4 $5" >"$e"
	done
}
has_injection=
sd && [ -e /sys/kernel/debug/scsi_debug/*/error ] && has_injection=yes

injected() # SENTENCE "ERRNO..." NAME SEEN STATUS KEY CODE QUALIFIER: reading, and no more than that goes wrong
{
	begin "$1"
	[ -n "$has_injection" ] || { skip "this kernel's scsi_debug injects no errors"; return; }
	sd
	inject 0x28 "$5" "$6" "$7" "$8"
	platter 4 zones $QUICK $D
	status with-errors
	fault "$2"
	counted "$3" "$4"
}
injected "a hardware error is reported as what the driver makes of it" "EREMOTEIO EIO" \
	"hardware errors (scsi_debug)" "EREMOTEIO, listed; the figures are of the good requests" 0x2 0x4 0x44 0x0
injected "not ready: EIO, not a dead disk" "EIO ENOMEDIUM" \
	"not ready (scsi_debug)" "EIO, listed; not taken for a lost disk" 0x2 0x2 0x4 0x3
injected "a reservation conflict is reported as EBADE" "EBADE EIO" \
	"reservation conflicts (scsi_debug)" "EBADE, listed" 0x18 0x0 0x0 0x0

begin "a reservation conflict in writing, too"
if [ -n "$has_injection" ]; then
	sd
	inject 0x2a 0x18 0x0 0x0 0x0
	platter 4 zones --write $QUICK $(destroy $D) $D
	status with-errors
	fault "EBADE EIO"
	counted "reservation conflicts (scsi_debug)" "EBADE, listed"
else
	skip "this kernel's scsi_debug injects no errors"
fi

begin "a lost command shows as one slow request and a notice"
sd
echo 6 >$Q/device/timeout
echo 60 >$S/every_nth
echo 4 >$S/opts
platter "0 4" zones --quick --time=9s $D
echo 0 >$S/opts
echo 0 >$S/every_nth
awk -F, 'NR > 1 && $9 - $8 > 5000000000 { n++ } END { exit !n }' $R || bad "no request took more than 5 s"
notice stalled
counted "lost commands, SCSI time-out (scsi_debug)" "the wait is in the requests and reported as stalled"

begin "a write-protected disk is not written"
sd wp=1 dev_size_mb=16
refused $D "read-only" zones --write --destroy-data=${D##*/} --quick
platter 0 zones $QUICK $D
no_fault
counted "write protection (scsi_debug)" "refused, not a byte changed; reading works"

begin "a host-managed zoned disk is read, and never written"
sd zbc=host-managed zone_size_mb=4 zone_nr_conv=2 dev_size_mb=16
platter 0 info $D
target zoned host-managed
platter 0 zones $QUICK $D
no_fault
platter 2 zones --write --destroy-data=${D##*/} --quick $D
says "zoned"
platter 2 zones --rewrite --quick $D
counted "host-managed zones (scsi_debug)" "read without a fault, writing refused, not a byte changed"

begin "a disk that is deleted under the run is gone, not fast"
sd ndelay=2000000 virtual_gb=4
{ busy $D; echo 1 >$Q/device/delete; } &
platter 4 zones --full --block=64K --depth=1 $D
wait
status device-gone
no_rate_above 60e6 # 64 KiB in 2 ms are 33e6
counted "hot removal: SCSI (device/delete)" "device-gone; what was measured before is kept"

begin "an offline disk answers EIO"
sd ndelay=2000000 virtual_gb=4
{ busy $D; echo offline >$Q/device/state; } &
platter 4 zones --full --block=64K --depth=1 --max-errors=100 $D
wait
status with-errors device-gone
fault "EIO ENXIO ENODEV"
counted "disk set offline (SCSI)" "EIO, listed; the run ends"

begin "the disk grows under the run"
sd ndelay=2000000
{ busy $D; echo 1 >$S/virtual_gb; echo 1 >$Q/device/rescan; } &
platter 0 zones --time=4s --block=64K $D
wait
no_fault
target size_bytes 67108864
counted "live resize" "growing is harmless; a lost end is short or EIO, never a rate"
modprobe -r scsi_debug 2>/dev/null
