#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What fio measures on a simulated disk is what the profile says: rates within 1 %, service times within 2 %. Real time, so a failure
# counts only on a machine that was not disturbed (lib.sh, undisturbed).
. "$(dirname "$0")/lib.sh"
need_simdisk
need fio python3 chrt

cat >"$work/judge.py" <<'PY'
"""judge.py KIND TOLERANCE TRUTH_OR_LOG_OR_PROGRAM FIO_JSON LATENCY_LOG PROFILE: prints both figures, exit status 1 when they differ by more."""
import csv, json, statistics, subprocess, sys

kind, tolerance = sys.argv[1], float(sys.argv[2])
with open(sys.argv[4]) as f:
    text = f.read()
job = json.loads(text[text.index('{'):])['jobs'][0]


def requests():
    with open(sys.argv[3]) as f:
        return list(csv.DictReader(line for line in f if line[0] != '#'))


def latencies_ns():
    with open(sys.argv[5]) as f:
        return [int(line.split(',')[1]) for line in f]


def ideal_ns(r):
    return int(r['ideal_ns']) - int(r['arrival_ns'])


if kind in ('start', 'middle', 'end'):
    # Completions by time; the first fifth is seek, settling and what was queued at once.
    with open(sys.argv[5]) as f:
        done = [[int(word) for word in line.split(',')[:5]] for line in f]
    done = done[len(done) // 5:]
    first, last = done[0], done[-1]
    begin, end = first[4] + first[3], last[4] + last[3]
    got, unit = (end - begin) / (last[0] - first[0]) * 1e3, 'B/s'
    truth = subprocess.run([sys.argv[3], 'truth', '--json', '--range=%d,%d' % (begin, end - begin), sys.argv[6]],
                           stdout=subprocess.PIPE, check=True)
    wanted = json.loads(truth.stdout)[0]['rate_bytes_per_s']
elif kind == 'random':     # the same requests, seen from both ends
    reads = [r for r in requests() if r['op'] == 'read']
    seen = latencies_ns()
    assert len(seen) == len(reads), 'fio saw %d reads, the disk %d' % (len(seen), len(reads))
    wanted, got, unit = statistics.median(map(ideal_ns, reads)), statistics.median(seen), 'ns'
elif kind == 'service':    # the law of the model: mean over the whole disk
    with open(sys.argv[3]) as f:
        wanted = json.load(f)['random'][-1]['service_ns']
    seen = latencies_ns()
    got, unit = statistics.mean(seen), 'ns'
    tolerance += 3 * statistics.stdev(seen) / len(seen) ** 0.5 / wanted
elif kind == 'queue':
    reads = [r for r in requests() if r['op'] == 'read']
    span = max(int(r['ideal_ns']) for r in reads) - min(int(r['arrival_ns']) for r in reads)
    wanted, got, unit = len(reads) * 1e9 / span, job['read']['iops'], 'reads/s'
elif kind == 'write':
    done = [r for r in requests() if r['op'] in ('write', 'flush')]
    assert sum(r['op'] == 'flush' for r in done) >= 20, 'the flushes did not arrive'
    span = max(int(r['ideal_ns']) for r in done) - min(int(r['arrival_ns']) for r in done)
    wanted, got, unit = span, job['write']['runtime'] * 1e6, 'ns'
error = got / wanted - 1
print('%-8s %14.0f %-8s wanted %14.0f, %+.2f %%' % (kind, got, unit, wanted, error * 100))
sys.exit(abs(error) > tolerance)
PY

# fio on the first device with the given words; leaves the disk's status for `undisturbed`.
on_disk() # profile, fio words...
{
	profile=$1
	shift
	rm -f "$work"/lat_*.log
	# shellcheck disable=SC2016 # the inner shell's
	simdisk_run --log="$work/requests" "$profile" -- sh -c '
		out=$1 simdisk=$2 status=$3
		shift 3
		# Before other programs: it is the disk that is tested, not the scheduler.
		chrt -f 5 fio --name=t --filename="$SIMDISK_1" --direct=1 --output-format=json --output="$out" "$@" || exit
		"$simdisk" status --run-dir "$SIMDISK_RUN_DIR" --json "$SIMDISK_NAME_1" >"$status"' \
		sh "$work/fio.json" "$SIMDISK" "$work/status.json" "$@"
}

judge() # kind, tolerance, what to hold it against
{
	python3 "$work/judge.py" "$1" "$2" "$3" "$work/fio.json" "$work/lat_clat.1.log" "$profile"
}

offset_of() # place: from where a bit more than 2 s can be read; the last: up to the end
{
	python3 - "$work/truth.json" "$1" <<-'PY'
		import json, sys
		truth = json.load(open(sys.argv[1]))
		size = truth['size_bytes']
		place = {'start': 0, 'middle': size / 2, 'end': size - 2.4 * truth['end_bytes_per_s']}[sys.argv[2]]
		print(int(place) // 2**20 * 2**20)
	PY
}

rate() # profile, place
{
	on_disk "$1" --rw=read --bs=1M --iodepth=4 --ioengine=libaio --offset="$(offset_of "$2")" --time_based \
		--runtime=2 --write_lat_log="$work/lat" --log_offset=1 || return
	judge "$2" 0.01 "$SIMDISK"
}

random_reads() # profile
{
	on_disk "$1" --rw=randread --bs=4k --ioengine=psync --number_ios=300 --randseed=1 --write_lat_log="$work/lat" ||
		return
	judge random 0.02 "$work/requests" && judge service 0.02 "$work/truth.json"
}

deep_queue() # profile
{
	on_disk "$1" --rw=randread --bs=4k --iodepth=32 --ioengine=libaio --number_ios=300 --randseed=2 || return
	judge queue 0.02 "$work/requests"
}

written() # profile
{
	on_disk "$1" --rw=randwrite --bs=4k --ioengine=psync --fsync=1 --number_ios=40 --randseed=3 || return
	# A write and a flush each time, both through loop and FUSE: 0.3 ms of this machine beside 13 ms of the disk.
	judge write 0.04 "$work/requests"
}

for profile in $SIMDISK_TEST_PROFILES; do
	echo "$profile"
	"$SIMDISK" truth --json "$profile" >"$work/truth.json" || fail "truth $profile"
	for place in start middle end; do
		undisturbed rate "$profile" $place
	done
	undisturbed random_reads "$profile"
	undisturbed deep_queue "$profile"
	undisturbed written "$profile"
done
conclude
