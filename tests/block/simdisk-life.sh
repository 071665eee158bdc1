#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing of a simulated disk stays behind, whichever way it ends, and nobody waits for it for ever.
. "$(dirname "$0")/lib.sh"
need_simdisk
need fio mkfs.ext4 mount pgrep timeout

load() # device: eight requests under way all the time, in the background
{
	timeout -s KILL 60 fio --name=load --filename="$1" --rw=randrw --bs=4k --direct=1 --ioengine=libaio --iodepth=8 \
		--time_based --runtime=50 --continue_on_error=none >"$work/fio" 2>&1 &
	load_pid=$!
	reads_before=$(awk '{ print $1 }' "/sys/block/${1#/dev/}/stat")
	for _ in $(seq 100); do
		[ "$(awk '{ print $1 }' "/sys/block/${1#/dev/}/stat")" -gt $((reads_before + 20)) ] && return
		sleep 0.1
	done
	fail "no load on $1: $(cat "$work/fio")"
}

load_ends() # after what: soon, with errors
{
	start=$(date +%s)
	wait "$load_pid" && fail "the reader saw no error after $1"
	[ $(($(date +%s) - start)) -le 15 ] || fail "the reader hung after $1"
	grep -qE 'Input/output error|No such device|Transport endpoint' "$work/fio" ||
		fail "the reader of a disk after $1 says: $(tail -n 3 "$work/fio")"
}

echo "an ordinary stop"
simdisk a --partition=thirds tiny
[ -b "${dev}p3" ] || fail "no third partition"
dd if="${dev}p2" of="$work/x" bs=4k count=5 iflag=direct status=none || fail "a partition cannot be read"
simdisk_stop a || fail "stop"
no_litter stop

echo "a stop under load"
simdisk a --partition=thirds tiny
load "$dev"
simdisk_stop a || fail "stop under load"
load_ends "a stop"
no_litter "a stop under load"

echo "a stop with a partition open"
simdisk a --partition=thirds tiny
sleep 30 <"${dev}p2" &
opener=$!
simdisk_stop a || fail "stop"
kill $opener
wait $opener 2>/dev/null
no_litter "a stop with an open partition"

for victim in server keeper; do
	for signal in KILL TERM; do
		echo "SIG$signal to its $victim under load"
		simdisk a --partition=thirds tiny
		load "$dev"
		kill -$signal "$(simdisk_pid a $victim)"
		load_ends "SIG$signal to its $victim"
		"$SIMDISK" list --run-dir "$work/simdisk" >/dev/null # takes away the file that a killed keeper left
		no_litter "SIG$signal to its $victim"
	done
done

echo "SIGKILL to both"
simdisk a --partition=thirds tiny
load "$dev"
# shellcheck disable=SC2046 # two numbers
kill -KILL $(simdisk_pid a keeper) $(simdisk_pid a server)
load_ends "SIGKILL to both"
"$SIMDISK" list --run-dir "$work/simdisk" >"$work/out"
[ ! -s "$work/out" ] || fail "a dead disk is listed: $(cat "$work/out")"
no_litter "SIGKILL to both"

echo "a server that was stopped is killed, so that its readers get an answer"
simdisk a tiny
load "$dev"
kill -STOP "$(simdisk_pid a server)"
timeout 20 "$SIMDISK" stop --run-dir "$work/simdisk" a || fail "stop of a stopped server"
load_ends "SIGSTOP and stop"
no_litter "SIGSTOP and stop"

echo "the end of the watched process"
sleep 1000 &
watched=$!
dev=$("$SIMDISK" start --run-dir "$work/simdisk" --watch=$watched --name=w tiny) || fail "start --watch"
load "$dev"
kill $watched
wait $watched 2>/dev/null
load_ends "the end of the watched process"
no_litter "the end of the watched process"

echo "the end of its life"
dev=$("$SIMDISK" start --run-dir "$work/simdisk" --max-life=2s --name=m tiny) || fail "start --max-life"
load "$dev"
load_ends "--max-life"
no_litter "--max-life"

echo "a mounted one is not stopped unless forced"
simdisk a tiny
mkfs.ext4 -q "$dev" || fail "mkfs"
mkdir "$work/mnt"
mount "$dev" "$work/mnt" || fail "mount"
at_end "umount -l $work/mnt"
simdisk_stop a 2>"$work/err"
[ $? = 3 ] || fail "stop of a mounted disk did not end with 3"
grep -q 'mounted' "$work/err" || fail "the refusal does not say why: $(cat "$work/err")"
timeout 20 "$SIMDISK" stop --run-dir "$work/simdisk" --force a 2>/dev/null || fail "stop --force"
umount "$work/mnt" || fail "umount of a disk that is gone"
no_litter "stop --force of a mounted disk"

echo "run: signals, exit status, nothing left"
simdisk_run tiny -- sh -c 'exit 7'
[ $? = 7 ] || fail "run does not hand the exit status on"
simdisk_run tiny -- sh -c 'kill -9 $$'
[ $? = 137 ] || fail "run does not report the signal"
simdisk_run tiny -- /no/such/command 2>/dev/null
[ $? = 127 ] || fail "run of no command at all"
"$SIMDISK" run --run-dir "$work/simdisk" tiny -- sleep 30 &
runner=$!
for _ in $(seq 50); do
	grep -qlF "$work/simdisk/" /sys/block/loop*/loop/backing_file 2>/dev/null && break
	sleep 0.1
done
sleep 0.5
kill -TERM $runner
wait $runner
[ $? = 143 ] || fail "run ended by SIGTERM does not end with 143"
no_litter "SIGTERM to run"
"$SIMDISK" run --run-dir "$work/simdisk" tiny -- sleep 30 &
runner=$!
for _ in $(seq 50); do
	grep -qlF "$work/simdisk/" /sys/block/loop*/loop/backing_file 2>/dev/null && break
	sleep 0.1
done
kill -KILL $runner
wait $runner 2>/dev/null
no_litter "SIGKILL to run"

echo "several at once have names of their own, and a name is taken once"
simdisk two tiny tiny
[ "$(echo "$dev" | wc -l)" = 2 ] || fail "two profiles are not two devices"
"$SIMDISK" start --run-dir "$work/simdisk" --name=two-1 tiny 2>"$work/err" && fail "a name was taken twice"
grep -q 'two-1 is running' "$work/err" || fail "the complaint: $(cat "$work/err")"
"$SIMDISK" stop --run-dir "$work/simdisk" --all || fail "stop --all"
no_litter "stop --all"
