#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `sustain` on a simulated device whose cache is soon full: on the device itself its rates are those that fio gets of the same bytes, and in a folder of ext4
# and xfs on it, through direct I/O, burst and rate afterwards are those of the device.
. "$(dirname "$0")/lib.sh"
need jq timeout mkfs.ext4 fio
: "${PLATTER:?the program}"
need_simdisk

cat >"$work/burst.disk" <<-END
	name burst
	serial SIMBURST
	kind ssd
	capacity_lba 8000000
	channels 8
	channel_mbs 50
	write_latency_us 100
	read_latency_us 100
	interface_mbs 100
	queue_depth 64
	overhead_ms 0
	fast_cells 300000 60 20 200 60000
END
figure() { jq ".figures.$1" "$work/r.json"; }
within() # part, value, truth, what
{
	python3 -c "import sys; sys.exit(not abs(${2:-0} / $3 - 1) <= $1)" && return
	echo "$4 is $2, and not $3"
	return 1
}
sustain() # where, options: for too short to settle, which status 6 says
{
	timeout 60 "$PLATTER" sustain --time=12s --quiet --json="$work/r.json" "$@" >"$work/out" 2>"$work/err"
	[ $? -eq 6 ] || { cat "$work/err"; return 1; }
	simdisk_status burst >"$work/status.json"
	echo "burst $(figure burst_bytes_per_s) for $(figure burst_bytes), then $(figure last_bytes_per_s)"
}

written_beside_fio()
{
	sustain --write --destroy-data="$(basename "$dev")" "$dev" || return 1
	fio --name=x --filename="$dev" --rw=write --bs=1M --iodepth=16 --ioengine=libaio --direct=1 --time_based --runtime=7 --output-format=json >"$work/fio.json"
	within 0.05 "$(figure burst_bytes)" 307200000 "the burst" &&
		within 0.02 "$(figure last_bytes_per_s)" "$(jq '.jobs[0].write.bw_bytes' "$work/fio.json")" "the rate afterwards"
}
reads_beside_fio()
{
	versus sustain --rows=sequence --pairs=1 --seconds=4 "$dev" || return 1
	jq -r '.[] | "\(.label): fio \(.fio), platter \(.platter) \(.unit)"' "$work/rows"
	jq -e 'length == 1 and all(.agree)' "$work/rows" >/dev/null
}
beside_fio() # on a device whose cache is empty
{
	simdisk burst "$work/burst.disk"
	written_beside_fio && reads_beside_fio
	alike=$?
	simdisk_stop burst
	return $alike
}
undisturbed beside_fio

in_folder() # file system, on a device whose cache is empty
{
	simdisk burst "$work/burst.disk"
	"mkfs.$1" -q "$dev" >"$work/mkfs" 2>&1 || fail "mkfs.$1: $(cat "$work/mkfs")"
	mounted "$dev"
	sustain --range=0-512MiB "$mnt"
	measured=$?
	left=$(ls -A "$mnt" | grep -v '^lost+found$')
	[ -z "$left" ] || fail "$1: left: $left"
	umount "$mnt"
	simdisk_stop burst
	[ $measured = 0 ] || return 1
	within 0.1 "$(figure burst_bytes_per_s)" 60000000 "the rate at first" &&
		within 0.1 "$(figure last_bytes_per_s)" 20000000 "the rate afterwards"
}
for type in ext4 xfs; do
	! command -v "mkfs.$type" >/dev/null || undisturbed in_folder $type
done
conclude
