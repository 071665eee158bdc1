# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --mem 1280 --module btrfs --bin dmsetup --bin mdadm --bin lvm --bin mkfs.ext4 --bin mkfs.xfs --bin mkfs.btrfs --bin grep
# Bad blocks below LVM and md, and the files that lie on them.
group=surface
modprobe -a brd dm_mod dm_dust raid0 raid1 ext4 xfs btrfs 2>/dev/null
modprobe -r brd
modprobe brd rd_nr=3 rd_size=163840
mkdir -p /etc/lvm /run/lvm /run/lock/lvm /mnt/ext4 /mnt/btrfs /mnt/xfs
S=327680
# What lies at a byte of a place that cannot be read: that may be larger than a block of the file system.
lies_at() { jq -r --argjson at $1 'def rows(t): (t.columns | map(.key)) as $k | t.rows[] | [$k, .] | transpose | map({(.[0]): .[1]}) | add;
	def there: .offset_bytes <= $at and $at < .offset_bytes + .length_bytes;
	select(any(rows(.tables.slow); .kind == "unreadable" and there)) | rows(.tables.contents) | select(there) |
	"\(.lies) \(.on) \(.file_system) \(.path)"' $J; }
# told SECTOR DEVICE WHAT: a scan around it, for the emulated machine is slow
told()
{
	platter 4 surface --range=$(($1 / 2048 * 1048576))-$((($1 / 2048 + 1) * 1048576)) /dev/mapper/$2
	status with-errors
	[ "$(lies_at $(($1 * 512)))" = "$3" ] || { bad "it is not \"$3\" at sector $1 of $2"; lies_at $(($1 * 512)); show; }
	counted "files at bad blocks" "the right file of ext4 and xfs, over LVM and md"
}
# put FOLDER TAG: three files whose first bytes are found again
put()
{
	for i in 1 2 3; do
		{ printf 'NEEDLE-%s-%s-' $i "$2"; head -c 100000 /dev/urandom; } >"$1/file $i"
	done
	sync
}
cat >/etc/lvm/lvm.conf <<END
devices { filter = ["a|/dev/mapper/d[0-9]|", "r|.*|"] scan = ["/dev/mapper"] use_devicesfile = 0 }
activation { udev_sync = 0 udev_rules = 0 monitoring = 0 }
backup { backup = 0 archive = 0 }
global { use_lvmpolld = 0 }
END

begin "bad blocks below LVM and md: the right file of ext4 and xfs"
if ! dmsetup create d0 --table "0 $S dust /dev/ram0 0 512" 2>/tmp/dm; then
	complaints=
	skip "this kernel has no dm-dust, and it could not be built"
else
	dmsetup create d1 --table "0 $S dust /dev/ram1 0 512"
	dmsetup create d2 --table "0 $S dust /dev/ram2 0 512"
	{ lvm pvcreate -qq -y /dev/mapper/d0 && lvm vgcreate -qq vg /dev/mapper/d0 &&
		lvm lvcreate -qq -y -Wn -Zn -n e -L 24M vg && lvm lvcreate -qq -y -Wn -Zn -n b -L 112M vg; } >/tmp/lvm 2>&1 || bad "lvm: $(tail -n 3 /tmp/lvm)"
	yes | mdadm --create /dev/md0 --level=0 --metadata=1.2 --raid-devices=2 --chunk=64 /dev/mapper/d1 /dev/mapper/d2 >/tmp/md 2>&1 || bad "mdadm: $(cat /tmp/md)"
	mkfs.ext4 -q /dev/mapper/vg-e && mount /dev/mapper/vg-e /mnt/ext4 || bad "ext4 is not there"
	mkfs.btrfs -q /dev/mapper/vg-b >/tmp/mkfs 2>&1 && mount /dev/mapper/vg-b /mnt/btrfs || bad "btrfs is not there"
	mkfs.xfs -q -f /dev/md0 >/tmp/mkfs 2>&1 && mount /dev/md0 /mnt/xfs || bad "xfs is not there"
	put /mnt/ext4 ext4
	put /mnt/btrfs btrfs
	put /mnt/xfs xfs
	dmsetup message d0 0 addbadblock $((S - 104)) # behind all volumes
	sync
	echo 3 >/proc/sys/vm/drop_caches
	for i in 0 1 2; do # first bytes of files as they lie on the members: SECTOR MEMBER FILE FILE-SYSTEM
		/usr/bin/grep -abo 'NEEDLE-[13]-[a-z0-9]*-' /dev/ram$i | sort -u -t : -k 2 |
			sed -n "s/^\([0-9]*\):NEEDLE-\(.\)-\([a-z0-9]*\)-/\1 $i \2 \3/p" | while read -r at rest; do echo $((at / 512)) $rest; done
	done >/tmp/places
	[ "$(wc -l </tmp/places)" = 6 ] || bad "six files were put, found: $(cat /tmp/places)"
	while read -r at member _; do dmsetup message d$member 0 addbadblock $at; done </tmp/places
	for d in d0 d1 d2; do dmsetup message $d 0 enable >/dev/null; done

	while read -r at member file fs; do
		case $fs in
		ext4) told $at d$member "file dm-$member > vg-e $fs /mnt/$fs/file $file" ;;
		btrfs) told $at d$member "unknown dm-$member > vg-b $fs null" ;;
		*) told $at d$member "file dm-$member > md0 $fs /mnt/$fs/file $file" ;;
		esac
	done </tmp/places
	told $((S - 104)) d0 "outside dm-0 null null"
	for d in d0 d1 d2; do dmsetup message $d 0 disable >/dev/null; done
	umount /mnt/ext4 /mnt/btrfs /mnt/xfs
	mdadm --stop /dev/md0 >/dev/null 2>&1
	lvm vgchange -qq -an vg >/dev/null 2>&1
	for d in d0 d1 d2; do dmsetup remove --retry $d; done
fi
