# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --machine pc --bin smartctl
# boot: --qemu-arg=-device --qemu-arg=virtio-scsi-pci
# boot: --disk ide-hd,64M,rotation_rate=5400 --disk scsi-hd,64M --disk nvme,64M --disk ide-hd,16M
# The health of drives as smartctl shows it, before a run and after it, and in info.
group=health

begin "health by smartctl itself, before and after"
for n in 0 2; do
	platter 0 seek --quick --time=4s --without=curve,queue $(vmdisk $n)
	[ "$(fact figure health_moved)" = 0 ] || { bad "health_moved of disk $n is $(fact figure health_moved)"; show; }
	[ "$(fact option health)" = smartctl ] || bad "the option health is $(fact option health)"
done
counted "health of disks" "smartctl's counts before and after; without it said so"

begin "info: all disks, a line each, and the state of one"
platter 0 info
[ "$(fact figure disks)" -ge 4 ] || bad "$(fact figure disks) disks"
platter 0 info $(vmdisk 0)
jq -r '.tables.state.rows[], .tables.caches.rows[] | join(" ")' $J >/tmp/rows
grep -q "power active" /tmp/rows && grep -q "health good" /tmp/rows || bad "the rows: $(cat /tmp/rows)"
counted "health of disks" "smartctl's counts before and after; without it said so"
