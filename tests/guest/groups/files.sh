# SPDX-License-Identifier: GPL-2.0-or-later
# boot: --share @T/ --mem 1280 --module nfs --module nfsd --module nfsv4 --bin mkfs.ext4 --bin mkfs.xfs
# Files: what takes direct I/O, what only pretends to, and a server that goes away.
group=files
modprobe -a brd loop ext4 xfs nfsd nfs nfsv4
modprobe -r brd
modprobe brd rd_nr=2 rd_size=409600
mkdir -p /mnt/ext4 /mnt/xfs /mnt/tmp /mnt/nfs
mkfs.ext4 -q /dev/ram0
mount /dev/ram0 /mnt/ext4
mkfs.xfs -q -f /dev/ram1
mount /dev/ram1 /mnt/xfs
mount -t tmpfs -o size=200M tmpfs /mnt/tmp

on() # NAME DIRECTORY FSTYPE [--mode=cached]: reads a file, makes its own, leaves nothing; --mode=cached: nothing is direct there
{
	begin "$1: a file is read, others are made and removed"
	dd if=/dev/zero of=$2/f bs=1M count=16 conv=fsync 2>/dev/null
	ls $2 >/tmp/before
	platter 0 info $2/f
	target kind file
	target fs_type $3
	if [ -n "${4-}" ]; then
		platter 1 zones --quick --time=1s $2/f
		says "direct I/O"
		platter 1 stream --write --file-size=8M --size=8M $2
	else
		platter 0 zones --quick --time=1s $2/f
		no_fault
	fi
	platter 0 passes --size=8M --repeat=1 $2/p
	no_fault
	final
	# A second of an emulated guest may leave the rate open; the files are what counts.
	platter "0 5 6" stream ${4-} --write --verify --file-size=8M --size=8M --rate=8MB --buffer=4M --block=64K $2
	no_fault
	platter 3 zones --write --quick $2/f
	ls $2 >/tmp/after
	cmp -s /tmp/before /tmp/after || bad "files were left behind: $(diff /tmp/before /tmp/after | grep '^[+>]')"
	counted "files: $1" "measured, direct where the file system can; nothing is left"
}
on ext4 /mnt/ext4 ext4
on xfs /mnt/xfs xfs
on tmpfs /mnt/tmp tmpfs --mode=cached
on 9p /share 9p

# A server in this very kernel. What rpc.mountd would answer is put into the kernel's caches by hand: every client is 127.0.0.1, its file system is the root.
serve()
{
	mkdir -p /var/lib/nfs/v4recovery /proc/fs/nfsd
	mount -t nfsd nfsd /proc/fs/nfsd || return 1
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 'nfsd 127.0.0.1 2147483647 all' >/proc/net/rpc/auth.unix.ip/channel
	echo 'all /mnt/ext4 2147483647 9234 65534 65534 0' >/proc/net/rpc/nfsd.export/channel # insecure async no_subtree_check fsid=0
	echo 'all 1 \x00000000 2147483647 /mnt/ext4' >/proc/net/rpc/nfsd.fh/channel
	echo '-3 +4 +4.2' >/proc/fs/nfsd/versions # version 3 wants an rpcbind
	echo 'tcp 2049' >/proc/fs/nfsd/portlist
	echo 4 >/proc/fs/nfsd/threads
	echo Y >/proc/fs/nfsd/v4_end_grace 2>/dev/null
	timeout 30 mount -t nfs4 -o vers=4.2,soft,timeo=10,retrans=1 127.0.0.1:/ /mnt/nfs
}
if serve >/tmp/nfs 2>&1; then
	rm -f /mnt/nfs/f
	on NFS /mnt/nfs nfs4
	begin "an NFS server that stops answers EIO, late"
	rm -f $R
	{ until [ -e $R ]; do usleep 100000; done; sleep 1; echo 0 >/proc/fs/nfsd/threads; } &
	platter 4 stream --read --time=8s --rate=1MB --buffer=1M --block=64K --max-errors=4 /mnt/nfs/f
	wait
	status with-errors
	fault "EIO ETIMEDOUT"
	no_rate_above 20e6
	counted "NFS server stopped" "EIO after the time-outs, listed; no figure hides the wait"
else
	begin "NFS"
	bad "no NFS within the guest: $(tail -n 2 /tmp/nfs)"
fi
