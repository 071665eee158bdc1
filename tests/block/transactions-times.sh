#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `transactions` in real time: work on all processors, a stall, the laws on a disk that is known, lateness, the cost of --each. PLATTER_LONG=1: a million transactions with and
# without it, a longer look at the law, and sysbench beside it where it is installed.
. "$(dirname "$0")/tx.sh"

# ---- all processors, which others must not want ----

processors()
{
	tx --users=4 --cpu=20ms --ios=0 --count=25 "$fast" &&
		is '$f.processors == ($cpus | tonumber) and near($f.cpu_ratio; 0.02 * $f.transactions_per_s; 0.05)' &&
		is '$f.cpu_percent >= 99 * $f.cpu_ratio'
}
undisturbed processors

# ---- a stall: 500 a second for 6 s, and the device away for 1.2 s of them ----

# Of 3000 the slowest 30 came in the first 0.06 s of the stall and waited for 1.14 s and more: that is the 99 % response.
stall()
{
	{ cat "$PLATTER_SIMDISK_PROFILES/ssd-sata.disk"; echo "stall 2.5 1.2"; } >"$work/stall.disk"
	simdisk_run --watch=$$ "$work/stall.disk" -- sh -c '
		"$0" transactions --quiet --arrivals=500 --ios=1 --time=6s --json="$1" $SIMDISK_1
		r=$?
		"$2" status --run-dir "$SIMDISK_RUN_DIR" --json "$SIMDISK_NAME_1" >"$3"
		exit $r' "$PLATTER" "$work/doc" "$SIMDISK" "$work/status.json" &&
		is 'near($f.response_p99_ns; 1.14e9; 0.05) and $f.response_max_ns > 1.14e9 and $f.unfinished == 0 and $f.late_p99_ns < 1e8' &&
		jq -r '"a stall of 1.2 s: p99 \(.figures.response_p99_ns * 1e-9) s of 1.14 s"' "$work/doc"
}
undisturbed stall

# sysbench on a file of such a disk, and platter on the same: the peer that gets this right.
peer()
{
	{ sed 's/^capacity_lba .*/capacity_lba 2097152/' "$PLATTER_SIMDISK_PROFILES/ssd-sata.disk"; echo "stall 15 2"; } >"$work/peer.disk"
	for program in sysbench platter; do
		simdisk "peer-$program" "$work/peer.disk"
		started=$(date +%s)
		mkfs.ext4 -q "$dev" || return
		mounted "$dev"
		head -c 64M /dev/urandom >"$mnt/test_file.0"
		sync "$mnt/test_file.0"
		sleep $((started + 11 - $(date +%s)))
		if [ $program = sysbench ]; then
			(cd "$mnt" && sysbench fileio --file-num=1 --file-total-size=64M --file-block-size=4096 --file-test-mode=rndrd \
				--file-extra-flags=direct --rate=500 --time=10 --threads=64 --percentile=99 run) >"$work/sysbench" || return
			sysbench_ms=$(awk '/99th percentile/ { print $3 }' "$work/sysbench")
		else
			tx --arrivals=500 --ios=1 --time=10s "$mnt/test_file.0" || return
		fi
		umount "$mnt"
		simdisk_stop "peer-$program"
	done
	jq -r --arg s "$sysbench_ms" '"a stall of 2 s, true p99 1900 ms: sysbench \($s) ms, platter \(.figures.response_p99_ns * 1e-6) ms"' "$work/doc"
	is 'near($f.response_p99_ns; 1.9e9; 0.05) and near($f.response_p99_ns; ($ms | tonumber) * 1e6; 0.08)' ms "$sysbench_ms"
}
if [ -n "${PLATTER_LONG:-}" ] && command -v sysbench mkfs.ext4 >/dev/null; then
	must peer
fi

# ---- the laws on a disk that is known ----

# One user at a time: the disk does what the profile says; U = X D, D being the service of the truth. Thirty: N = X (R + Z).
laws()
{
	"$SIMDISK" truth --json tiny >"$work/truth.json"
	tx --users=1 --ios=4 --think=20ms --class=law=uniform --time=4s "$dev" || return
	simdisk_status disk >"$work/status.json"
	# 350 requests that spread by 2.9 ms: their mean is known within 7.5 % (three deviations), and 2 % are the machine's.
	service=$(jq '.random[-1].service_ns' "$work/truth.json")
	is 'near($f.io_service_mean_ns; ($service | tonumber); 0.1) and near($f.device_busy_ratio; $f.transactions_per_s * 4 * $f.io_service_mean_ns * 1e-9; 0.02)' service "$service" &&
		is 'near($f.device_per_s; 4 * $f.transactions_per_s; 0.02)' || return
	seconds=5s by=0.06
	[ -z "${PLATTER_LONG:-}" ] || seconds=120s by=0.01
	tx --users=30 --ios=1 --think=500ms --time="$seconds" "$dev" || return
	simdisk_status disk >"$work/status.json"
	# The law's own noise is sqrt(2 / N) (R + Z) / T, 2.2 % in 5 s.
	is 'near($f.law_users; 30; $by | tonumber) and $f.device_busy_ratio > 0.2' by $by
}
simdisk disk tiny
undisturbed laws
simdisk_stop disk

# ---- a thousand users, on time ----

late()
{
	tx --users=1000 --think=1s --ios=1 --time=3s "$@" "$fast" || return
	jq -r '"lateness of 1000 users '"$*"': p99 \(.figures.late_p99_ns / 1000) us, worst \(.figures.late_max_ns / 1000) us"' "$work/doc"
	is '$f.late_p99_ns < 1e6 and $f.transactions_per_s > 850 and $f.transactions_per_s < 1150'
}
realtime="chrt --fifo 20"
undisturbed late
realtime=
# ---- the cost of a row ----

# The same transactions with and without rows, in turn.
cost()
{
	count=${PLATTER_LONG:+15625}
	count=${count:-500}
	for round in 1 2; do
		for each in "" "--each=$work/each"; do
			rm -f "$work/each"
			# shellcheck disable=SC2086 # no word at all is wanted
			tx --users=64 --ios=1 --count=$count $each "$fast" || return
			jq -c --arg each "$each" '{each: ($each != ""), n: .figures.transactions, s: .head.elapsed_s, cpu: .figures.cpu_percent,
				waits: ([.notices[] | select(.code == "each-waits")] | length)}' "$work/doc"
		done
	done >"$work/costs"
	[ $(($(wc -l <"$work/each") - 1)) = $((64 * count)) ] || return
	# Added: time on the clock, and processor time, which no other program's load changes much.
	jq -se 'def best(f): map(f) | min; def cpu: .s * .cpu * 1e7 / .n; def ns: .s * 1e9 / .n;
		(map(select(.each)) as $a | map(select(.each | not)) as $b | {n: .[0].n, added_ns: (($a | best(ns)) - ($b | best(ns))),
		added_cpu_ns: (($a | best(cpu)) - ($b | best(cpu))), plain_ns: ($b | best(ns)), waits: ($a | map(.waits) | add)})' \
		"$work/costs" | tee "$work/cost"
	jq -e '.added_cpu_ns < 1500 and .waits == 0' "$work/cost" >/dev/null
}
undisturbed cost
conclude
