# SPDX-License-Identifier: GPL-2.0-or-later
# host: truncate -s 18M gpt.img && printf 'label: gpt\nstart=2048,size=16384,name=one\nstart=18432,size=16384,name="two words"\n' | sfdisk -q gpt.img
# host: truncate -s 11M dos.img && printf 'label: dos\nstart=63,size=10000,type=83\nstart=10240,size=10240,type=5\nstart=12288,size=4096,type=83\n' | sfdisk -q dos.img
# boot: --bin dmsetup --bin mdadm --bin lvm --bin mkfs.ext4
# boot: --disk virtio-blk-pci,8M --disk virtio-blk-pci,8M
# boot: --qemu-arg=-drive --qemu-arg=file=@T/gpt.img,format=raw,if=none,id=g --qemu-arg=-device --qemu-arg=virtio-blk-pci,drive=g,serial=GUEST7
# boot: --qemu-arg=-drive --qemu-arg=file=@T/dos.img,format=raw,if=none,id=m --qemu-arg=-device --qemu-arg=virtio-blk-pci,drive=m,serial=GUEST8
# Partitions, arrays, volumes, swaps and mounts as the kernel has them, and the gate before every write.
group=gate
FINAL=yes # what the gate lets through is never a matter of a slow guest
modprobe -a brd loop dm_mod raid0 raid1 ext4
modprobe -r brd
modprobe brd rd_nr=4 rd_size=8192
mkdir -p /mnt/a /etc/lvm /run/lvm /run/lock/lvm
WRITE="zones --write --quick"

begin "GPT partitions: place, size, reads to the very end"
G=$(vmdisk 7)
platter 0 info ${G}1
target kind partition
target partition_offset_bytes $((2048 * 512))
target size_bytes $((16384 * 512))
target disk ${G##*/}
platter 0 zones --full --block=64K ${G}1
no_fault
platter 0 zones --quick --time=1s ${G}1 ${G}2
no_fault
counted "partitions" "right place and size, no read past the end"

begin "DOS partitions: a logical one, and one off the 4096-byte grid"
M=$(vmdisk 8)
platter 0 info ${M}5
target partition_offset_bytes $((12288 * 512))
target size_bytes $((4096 * 512))
platter 0 zones --full --block=64K ${M}1
target partition_offset_bytes $((63 * 512))
target size_bytes $((10000 * 512))
no_fault
counted "partitions" "right place and size, no read past the end"

begin "a partition table is not overwritten unless it is named"
refused $G gpt $WRITE $(destroy $G)
refused $M dos $WRITE $(destroy $M)
counted "write gate" "refused, reason named, not a byte changed"

begin "consent by another disk's name"
refused $(vmdisk 0) "--destroy-data" $WRITE --destroy-data=sdz
refused $(vmdisk 0) "--destroy-data" $WRITE
counted "write gate" "refused, reason named, not a byte changed"

begin "a mounted partition and its disk"
mkfs.ext4 -q ${G}2
mount -o ro,noload ${G}2 /mnt/a # else the file system itself changes it
refused ${G}2 /mnt/a $WRITE $(destroy ${G}2) --overwrite-signature=ext4
refused $G /mnt/a $WRITE $(destroy $G) --overwrite-signature=gpt --overwrite-signature=PMBR --overwrite-signature=ext4
refused $G /mnt/a zones --rewrite --quick --journal=/tmp
# Its free neighbour is not in use.
platter 0 $WRITE --time=1s $(destroy ${G}1) ${G}1
no_fault
platter 0 zones --quick --time=1s ${G}2
umount /mnt/a
refused ${G}2 ext4 $WRITE $(destroy ${G}2)
counted "write gate" "refused, reason named, not a byte changed"

begin "a swap"
mkswap /dev/ram3 >/dev/null
swapon /dev/ram3
refused /dev/ram3 swap $WRITE $(destroy /dev/ram3) --overwrite-signature=swap
refused /dev/ram3 swap zones --rewrite --quick --journal=/tmp
swapoff /dev/ram3
counted "write gate" "refused, reason named, not a byte changed"

begin "members of RAID 0, and the array"
yes | mdadm --create /dev/md0 --level=0 --raid-devices=2 --chunk=64 /dev/ram0 /dev/ram1 >/tmp/md 2>&1 || bad "mdadm: $(cat /tmp/md)"
refused /dev/ram0 md0 $WRITE $(destroy /dev/ram0) --overwrite-signature=linux_raid_member
refused /dev/ram1 md0 zones --rewrite --quick --journal=/tmp
platter 0 info /dev/md0
target io_min_bytes 65536
target io_opt_bytes 131072
platter 0 zones --quick --time=1s /dev/md0
no_fault
mdadm --stop /dev/md0 >/dev/null 2>&1
refused /dev/ram0 linux_raid_member $WRITE $(destroy /dev/ram0)
mdadm --zero-superblock /dev/ram0 /dev/ram1
counted "write gate" "refused, reason named, not a byte changed"
counted "md arrays" "measured; a failed member costs the reader nothing"

begin "RAID 1 loses a member under the run"
yes | mdadm --create /dev/md1 --level=1 --metadata=1.2 --raid-devices=2 /dev/ram0 /dev/ram1 >/tmp/md 2>&1 || bad "mdadm: $(cat /tmp/md)"
D=/dev/md1
{ busy $D; mdadm /dev/md1 --fail /dev/ram0 >/dev/null 2>&1; } &
platter "0 5 6" stream --read --time=3s --rate=2MB --buffer=2M --block=64K /dev/md1
wait
no_fault
mdadm --stop /dev/md1 >/dev/null 2>&1
mdadm --zero-superblock /dev/ram0 /dev/ram1
counted "md arrays" "measured; a failed member costs the reader nothing"

begin "a physical volume of LVM with an active volume"
cat >/etc/lvm/lvm.conf <<END
devices { use_devicesfile = 0 }
activation { udev_sync = 0 udev_rules = 0 }
global { use_lvmpolld = 0 }
backup { backup = 0 archive = 0 }
END
if lvm pvcreate -qq -y /dev/ram2 >/tmp/lvm 2>&1 && lvm vgcreate -qq vg /dev/ram2 >>/tmp/lvm 2>&1 && lvm lvcreate -qq -y -Wn -Zn -n v -L 4M vg >>/tmp/lvm 2>&1; then
	refused /dev/ram2 vg-v $WRITE $(destroy /dev/ram2) --overwrite-signature=LVM2_member
	refused /dev/ram2 vg-v zones --rewrite --quick --journal=/tmp
	platter 0 zones --quick --time=1s /dev/mapper/vg-v
	no_fault
	lvm vgchange -qq -an vg >/dev/null 2>&1
	refused /dev/ram2 LVM2_member $WRITE $(destroy /dev/ram2)
	counted "write gate" "refused, reason named, not a byte changed"
else
	bad "lvm: $(tail -n 3 /tmp/lvm)"
fi

begin "below a mapping, and below a loop device"
dd if=/dev/zero of=/dev/ram3 bs=4096 count=2 2>/dev/null
dmsetup create held --table "0 8192 linear /dev/ram3 0"
refused /dev/ram3 "held" $WRITE $(destroy /dev/ram3)
refused /dev/ram3 "held" zones --rewrite --quick --journal=/tmp
dmsetup remove --retry held
dmsetup create held --table "0 8192 linear ${G}2 0"
refused ${G}2 "held" $WRITE $(destroy ${G}2) --overwrite-signature=ext4
refused $G "held" zones --rewrite --quick --journal=/tmp
dmsetup remove --retry held
losetup /dev/loop0 /dev/ram3
refused /dev/ram3 loop0 $WRITE $(destroy /dev/ram3)
losetup -d /dev/loop0
counted "write gate" "refused, reason named, not a byte changed"

# Loop devices and linear mappings over ram3, drawn at random; node k is $node_k, MiB $at_k to $at_k + $n_k of ram3, over node $low_k.
draw() { seed=$(((seed * 1103515245 + 12345) & 0x7fffffff)); drawn=$((seed / 65536 % $1)); }
get() { eval "got=\$$1"; }
meet() # NODE NODE
{
	get at_$1; a=$got; get n_$1; a_end=$((a + got))
	get at_$2; b=$got; get n_$2; b_end=$((b + got))
	[ $a -lt $b_end ] && [ $b -lt $a_end ]
}
is_below() # NODE TARGET
{
	t=$2
	while [ $t != 0 ] && [ $t != "$1" ]; do get low_$t; t=$got; done
	[ $t = "$1" ]
}
stack() # what has to come of a target in $want; 3: refused
{
	node_0=/dev/ram3 at_0=0 n_0=8 low_0=0 k=0 used=
	draw 4; nodes=$((drawn + 1))
	while [ $k -lt $nodes ]; do
		k=$((k + 1))
		draw $k; low=$drawn
		get n_$low; room=$got
		draw $room; first=$drawn
		draw 2; how=$drawn
		draw $((room - first)); size=$((drawn + 1))
		get at_$low; eval "low_$k=$low at_$k=$((got + first)) n_$k=$size"
		get node_$low
		if [ $how = 0 ]; then
			eval "node_$k=$(losetup -f)"
			get node_$low; lower=$got; get node_$k
			losetup -o $((first << 20)) $got $lower || bad "losetup $lower"
			get at_$low; lower_at=$got; get n_$low; eval "n_$k=$((got - first))" # busybox knows no limit
		elif dmsetup create s$k --table "0 $((size * 2048)) linear $got $((first * 2048))" 2>/dev/null; then
			eval "node_$k=/dev/mapper/s$k"
		else # the kernel gives a mapping no device that another has claimed otherwise
			k=$((k - 1)); break
		fi
	done
	nodes=$k
	draw $((nodes + 1)); target=$drawn want=0 other=0
	while [ $other -le $nodes ]; do
		is_below $other $target || ! meet $other $target || want=3
		other=$((other + 1))
	done
}
unstack()
{
	while [ $k -gt 0 ]; do
		get node_$k
		case $got in /dev/mapper/*) dmsetup remove --retry ${got##*/} ;; *) losetup -d $got ;; esac || bad "$got stays"
		k=$((k - 1))
	done
}

begin "stacks at random"
seed=51 stacks=0 refusals=0
while [ $stacks -lt ${STACKS:-100} ]; do
	stacks=$((stacks + 1))
	dd if=/dev/zero of=/dev/ram3 bs=1M count=8 2>/dev/null
	stack
	get node_$target; D=$got
	/usr/local/bin/permit_tool -c ram3 -c ${D##*/} -c $(name_of $D) $D >$O 2>$E </dev/null
	rc=$?
	[ $rc = $want ] || { bad "stack $stacks, $nodes nodes: $D: status $rc, not $want: $(cat $E)"; }
	[ $rc != 3 ] || [ "$(tr -d '\0' </dev/ram3 | wc -c)" = 0 ] || bad "stack $stacks: refused, and written"
	[ $rc != 3 ] || refusals=$((refusals + 1))
	unstack
done
[ $refusals -gt $((stacks / 5)) ] && [ $refusals -lt $stacks ] || bad "$refusals of $stacks were refused"
dd if=/dev/zero of=/dev/ram3 bs=1M count=8 2>/dev/null
counted "write gate" "refused, reason named, not a byte changed"

begin "another program has it open for writing"
sleep 300 3<>/dev/ram3 &
holder=$!
usleep 100000
refused /dev/ram3 "open" $WRITE $(destroy /dev/ram3)
kill $holder
counted "write gate" "refused, reason named, not a byte changed"

begin "a disk set read-only"
D=$(vmdisk 0)
blockdev --setro $D
refused $D read-only $WRITE $(destroy $D)
blockdev --setrw $D
counted "write gate" "refused, reason named, not a byte changed"

begin "its own results lie on the device"
mkfs.ext4 -q /dev/ram0
mount /dev/ram0 /mnt/a
before=$(sum_of /dev/ram0)
/usr/local/bin/platter $WRITE $(destroy /dev/ram0) --overwrite-signature=ext4 --json=/mnt/a/r.json /dev/ram0 >$O 2>$E
[ $? = 3 ] || bad "exit status is not 3"
umount /mnt/a
counted "write gate" "refused, reason named, not a byte changed"

begin "with every consent an idle disk is written"
D=$(vmdisk 1)
before=$(sum_of $D)
platter 0 $WRITE --time=1s $(destroy $D) $D
no_fault
[ "$(sum_of $D)" != "$before" ] || bad "nothing was written"
counted "write gate, open" "an idle disk with consent is written"
FINAL=
