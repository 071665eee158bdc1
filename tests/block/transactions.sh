#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `transactions` in real time on loop devices, simulated disks and files: the laws, a stall, lateness, real work on several processors,
# memory, the file of --size, interrupts, the cost of --each. PLATTER_LONG=1: a million transactions with and without it,
# a longer look at the law, and sysbench beside it where it is installed.
. "$(dirname "$0")/lib.sh"
need_simdisk
need jq
: "${PLATTER:?the program to test}" "${TOP:?the source tree}"

realtime= # what runs it with priority
# tx OPTION... TARGET: the document in $work/doc
tx()
{
	$realtime 	"$PLATTER" transactions --quiet --json="$work/doc" "$@" 2>"$work/err"
	status=$?
	[ $status = 0 ] || [ $status = 130 ] || { cat "$work/err"; echo "platter transactions $*: exit $status"; return 1; }
	rm -f "$work/status.json"
}
# is 'CONDITION' [NAME VALUE]...: a condition of jq on the figures, as $f; told with all of them when it does not hold
is()
{
	condition=$1
	shift
	names=
	while [ $# -gt 1 ]; do names="$names --arg $1 $2"; shift 2; done
	# shellcheck disable=SC2086 # words are wanted
	jq -e $names --arg cpus "$(nproc)" ".figures as \$f | def near(a; b; by): (a / b - 1 | if . < 0 then -. else . end) <= by; $condition" \
		"$work/doc" >/dev/null && return
	echo "not so: $condition"
	jq -c '[.figures, .notices]' "$work/doc"
	return 1
}
must() { "$@" || fail "$*"; }

image fast 1G
loop_new "$image" --direct-io=off
fast=$loop

# ---- what needs no quiet machine ----

# The file's three passes take 15 s: beside what follows.
mkdir "$work/files"
"$PLATTER" transactions --quiet --json="$work/passes" --size=8M --keep "$work/files/data" >/dev/null 2>"$work/passes.err" &
passes=$!
timeout -s INT 2 "$PLATTER" transactions --size=1M --quiet "$work/files/other" >/dev/null 2>&1 &
interrupted=$!

# Processor time is real, and of the thread's clock.
must tx --users=4 --cpu=20ms --ios=2 --count=20 --processors=1 "$fast"
must is '$f.transactions == 80 and near(.tables.classes.rows[0][10]; 0.02; 0.01) and $f.cpu_ratio <= 1.001'
must is 'near($f.cpu_ratio; $f.law_cpu_ratio; 0.02)'
must tx --users=4 --cpu=20ms --ios=0 --count=25 "$fast"
must is '$f.processors == ($cpus | tonumber) and near($f.cpu_ratio; 0.02 * $f.transactions_per_s; 0.05)'
must is '$f.cpu_percent >= 99 * $f.cpu_ratio'

simdisk tries tiny
# How many users: the device beside each try.
must tx --find --limit='mean<100ms' --think=10ms --ios=1 --time=600ms "$dev"
must is '$f.max_users >= 1 and $f.device_busy_ratio > 0.1 and .tables.classes.rows[0][1] == $f.max_users'
must is '[.tables.tries.rows[] | .[4] > 0 and .[5] >= 0 and .[6] > 0.1 and .[7] > 0] | all'
simdisk_stop tries

# Memory is touched without processor time too: every page of every user's.
must tx --users=10 --memory=4M --ios=1 --count=2 "$fast"
must is '$f.page_faults >= 10 * 1024'
must tx --users=10 --ios=1 --count=2 "$fast"
must is '$f.page_faults < 5000'

# Read draws the same each time, Xread does not.
offsets()
{
	rm -f "$work/requests"
	must tx --users=2 --count=5 --requests="$work/requests" "$@" "$fast"
	jq .head.seed "$work/doc"
	cut -d, -f4 <"$work/requests" | sort | cksum
}
[ "$(offsets --randomise=none)" = "$(offsets --randomise=none)" ] || fail "--randomise=none drew anew"
[ "$(offsets --randomise=seed)" != "$(offsets --randomise=seed)" ] || fail "--randomise=seed drew the same"
[ "$(offsets --randomise=seed,work --seed=5)" = "$(offsets --randomise=seed,work --seed=5)" ] || fail "--seed=5 drew anew"
[ "$(offsets --randomise=work)" = "$(offsets --randomise=work)" ] || fail "--randomise=work drew other records"

# The file: written, read three times, kept or not; read and written by users; others are left alone.
wait $passes || fail "the file: $(cat "$work/passes.err")"
mv "$work/passes" "$work/doc"
must is '$f.write_synced_bytes_per_s > 0 and $f.read_service_ns > 0 and (.tables.file.rows | length) == 5 and ($f | has("transactions") | not)'
must is '[.tables.file.rows[2:5][] | .[1] >= 200 and .[2] >= 2e8] | all'
[ "$(stat -c %s "$work/files/data")" = $((10 * 1048576)) ] || fail "the file is not as long as it should be"
must tx --users=3 --count=20 "$work/files/data"
must is '$f.transactions == 60'
# The same records again come from the cache, which is why there is Xread.
must tx --users=3 --count=20 --mode=cached --randomise=none "$work/files/data"
must tx --users=3 --count=20 --mode=cached --randomise=none "$work/files/data"
must is '$f.cache_hit_ratio > 0.99'
head -c 20 "$work/files/data" >"$work/head"
must tx --write --users=3 --count=20 "$work/files/data"
must is '$f.transactions == 60'
head -c 20 "$work/files/data" | cmp -s - "$work/head" || fail "the header was written over"
wait $interrupted
[ ! -e "$work/files/other" ] || fail "a file that was not to be kept is still there"
head -c 65536 /dev/zero >"$work/files/alien"
for words in "--write --count=1" "--size=64K"; do
	# shellcheck disable=SC2086 # words are wanted
	"$PLATTER" transactions --quiet $words "$work/files/alien" >/dev/null 2>&1 && fail "$words took a file that is not platter's"
done
cmp -s -n 65536 "$work/files/alien" /dev/zero || fail "an alien file was written to"

# Writing to a device goes through the gate.
"$PLATTER" transactions --quiet --write --count=1 "$fast" >/dev/null 2>&1
[ $? = 3 ] || fail "--write without consent was not refused"
must tx --write --destroy-data="${fast##*/}" --users=2 --count=50 "$fast"
must is '$f.transactions == 100'

# The disk below a file is found, where the file system lies on one.
case $(df --output=source "$work/files" | tail -1) in
/dev/*)
	must tx --users=2 --count=50 "$work/files/data"
	must is '$f.device_per_s > 0 and $f.device_busy_ratio > 0 and $f.device_queue >= 0 and $f.device_service_ns > 0'
	;;
esac

# An interrupt keeps everything so far.
for how in "$fast" "--mode=cached $fast" "--cpu=1ms $work/files/data"; do
	rm -f "$work/each"
	# shellcheck disable=SC2086 # words are wanted
	"$PLATTER" transactions --quiet --json="$work/doc" --users=20 --think=10ms --ios=2 --time=60s --each="$work/each" $how &
	pid=$!
	until [ -s "$work/each" ] && [ "$(wc -l <"$work/each")" -gt 200 ]; do # however long that takes
		kill -0 $pid 2>/dev/null || fail "SIGINT, $how: it ended before its signal"
		sleep 0.1
	done
	kill -INT $pid
	wait $pid
	[ $? = 130 ] || fail "SIGINT, $how: not exit status 130"
	must is '.status == "cancelled" and $f.transactions > 100 and $f.law_users > 10 and $f.response_mean_ns > 0'
	[ $(($(wc -l <"$work/each") - 1)) = "$(jq .figures.transactions "$work/doc")" ] || fail "SIGINT, $how: $(wc -l <"$work/each") lines of --each for $(jq .figures.transactions "$work/doc") transactions"
done

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
				row: .figures.each_cost_ns, waits: ([.notices[] | select(.code == "each-waits")] | length)}' "$work/doc"
		done
	done >"$work/costs"
	[ $(($(wc -l <"$work/each") - 1)) = $((64 * count)) ] || return
	# Added: time on the clock, and processor time, which no other program's load changes much.
	jq -se 'def best(f): map(f) | min; def cpu: .s * .cpu * 1e7 / .n; def ns: .s * 1e9 / .n;
		(map(select(.each)) as $a | map(select(.each | not)) as $b | {n: .[0].n, added_ns: (($a | best(ns)) - ($b | best(ns))),
		added_cpu_ns: (($a | best(cpu)) - ($b | best(cpu))), plain_ns: ($b | best(ns)), row_ns: ($a | best(.row)), waits: ($a | map(.waits) | add)})' \
		"$work/costs" | tee "$work/cost"
	jq -e '.added_cpu_ns < 1500 and .row_ns < 1000 and .waits == 0' "$work/cost" >/dev/null
}
undisturbed cost
conclude
