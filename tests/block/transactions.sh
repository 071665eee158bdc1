#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `transactions` on loop devices, simulated disks and files, whatever else the machine does: real work on several processors, memory, the file of --size,
# interrupts.
. "$(dirname "$0")/tx.sh"

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
