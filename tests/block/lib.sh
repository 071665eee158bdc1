# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by tests/block/*.sh: loop devices, partitions and mounts that go away again however the test ends.
set -u
export LC_ALL=C

skip() { echo "SKIP: $*"; exit 77; }

[ "$(id -u)" = 0 ] || skip "needs root"
[ -e /dev/loop-control ] || skip "needs loop devices"
need() { for cmd in "$@"; do command -v "$cmd" >/dev/null || skip "needs $cmd"; done; }
need losetup blockdev addpart delpart mount umount mountpoint setsid

work=$(mktemp -d /tmp/platter-test.XXXXXX) || exit 1
. "$(dirname "$0")/undo.sh"
TOP=${TOP:-$(cd "$(dirname "$0")/../.." && pwd)} # Meson gives it
. "$TOP/tests/until.sh"
at_end() { printf '%s\n' "$*" >>"$work/undo"; } # a command of one line
cleanup()
{
	trap - EXIT
	trap '' INT TERM HUP
	take_away >/dev/null 2>&1
	[ "${failures:-0}" = 0 ] || exit 1 # however a test ends that has complained
}
trap cleanup EXIT
trap 'cleanup; exit 130' INT TERM HUP
# Where a process hides its files from root (a security module), the gate refuses to write until that is insisted upon: in all that these tests write.
if ls -l /proc/[0-9]*/fd 2>&1 | grep -q 'Permission denied'; then
	printf '#!/bin/sh\ncase " $* " in *" --write"* | *" --rewrite"*) set -- "$@" --despite=processes ;; esac\nexec "%s" "$@"\n' "${PLATTER-}" >"$work/platter"
	printf '#!/bin/sh\nexec "%s" -i processes "$@"\n' "$(realpath "${1:-/bin/true}")" >"$work/tool"
	chmod 755 "$work/platter" "$work/tool"
	[ -z "${PLATTER-}" ] || PLATTER=$work/platter
	insisting_tool=$work/tool
fi
# Not a child of this shell, and without its mark.
guard=$(env -u PLATTER_TEST setsid sh "$(dirname "$0")/undo.sh" guard $$ "$work" </dev/null >/dev/null 2>&1 & echo $!)
export PLATTER_TEST="$work"

# One test at a time takes a loop device: for a moment losetup has open for writing what another has just got.
LOOP_LOCK=/dev/loop-control
# loop_new FILE [losetup options]: the device in $loop. Other programs take loop devices too, hence the retries.
loop_new()
{
	file=$1
	shift
	for try in 1 2 3 4 5; do
		loop=$(flock "$LOOP_LOCK" losetup --find --show "$@" "$file" 2>/dev/null) && { at_end "loop_end $loop '$(loop_of "$loop")'"; return 0; }
		sleep 0.2
	done
	echo "cannot set up a loop device over $file" >&2
	exit 1
}

# image NAME SIZE: a sparse file in $image
image()
{
	image=$work/$1
	truncate -s "$2" "$image" || exit 1
}

# elsewhere NAME: $elsewhere is a folder that lies on no disk of these tests, for journals
elsewhere()
{
	elsewhere=$work/$1
	mkdir "$elsewhere" && mount -t tmpfs -o size=64m,mode=700 none "$elsewhere" || exit 1
	at_end "unmount '$elsewhere'"
}

# part DISK NUMBER FIRST_SECTOR SECTORS: the node in $part (this kernel may know no partition tables: the node is made by hand)
part()
{
	addpart "$1" "$2" "$3" "$4" || exit 1
	part=${1}p$2
	until_there test -b "$part" || { echo "no node $part" >&2; exit 1; }
}

# mounted DEVICE [options]: the mount point in $mnt
mounted()
{
	mnt=$work/mnt.$(printf %s "$*" | cksum | cut -d' ' -f1).$(ls "$work" | wc -l)
	mkdir -p "$mnt"
	mount "$@" "$mnt" || exit 1
	at_end "unmount '$mnt'"
	sync -f "$mnt" # what the file system writes by itself is written: nothing changes any more
}

# Until nobody has the device to himself: where another program has copied the mounts meanwhile, the file system is only given up when that one ends.
unmounted() # mount point, device
{
	umount "$1"
	for _ in $(seq 100); do
		python3 -c 'import os, sys; os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)' "$2" 2>/dev/null && return
		sleep 0.1
	done
	echo "$2 is still held after umount $1"
}

sum() { sync "$1"; b2sum <"$1"; }

# The kernel itself writes to a swap area of ours when memory is short: a group's of another test, too.
swap_outs() { awk '$1 == "pswpout" { print $2 }' /proc/vmstat; }
swapped_out() { [ "$(swap_outs)" != "$outs" ]; } # since outs=$(swap_outs)

failures=0 checks=0
ok() { checks=$((checks + 1)); }
bad() { checks=$((checks + 1)); failures=$((failures + 1)); echo "FAIL: $*"; }
finish()
{
	echo "$((checks - failures)) of $checks passed"
	[ $failures -eq 0 ]
	exit
}

fail() { { echo "FAIL: $*" >&3; } 2>/dev/null || echo "FAIL: $*"; exit 1; } # at once; 3: past what hides the output

# a_result STATUS COMMAND...: what else a run ends with is a fault, on any machine
a_result()
{
	a_status=$1
	shift
	case $a_status in 0 | 4 | 5 | 6) ;; *) fail "status $a_status of $*: $(tail -n 5 "$work/err")" ;; esac
}

# versus MEASUREMENT [OPTION...] TARGET: rows of tools/vs-fio into $work/rows; false: too little was reported
versus()
{
	status=0
	${CHRT:-} "$TOP/tools/vs-fio" "$@" --json --platter="$PLATTER" >"$work/rows" 2>"$work/err" || status=$?
	a_result $status vs-fio "$@"
	[ $status != 6 ] || { cat "$work/err"; return 1; }
}

# unchanged DEVICE COMMAND...: the command may not change a byte; its exit status is in $status
unchanged()
{
	unchanged_dev=$1
	shift
	sum_before=$(sum "$unchanged_dev")
	"$@"
	status=$?
	sum_after=$(sum "$unchanged_dev")
	[ "$sum_before" = "$sum_after" ] || fail "$unchanged_dev was changed by: $*"
}

# ---- simulated disks; Meson gives SIMDISK, the program ----

export PLATTER_SIMDISK_PROFILES="${PLATTER_SIMDISK_PROFILES:-$TOP/tools/simdisk/profiles}"

# Says why when this machine cannot have simulated disks; tries it once.
need_simdisk()
{
	: "${SIMDISK:?the program platter-simdisk}"
	[ -c /dev/fuse ] || skip "there is no /dev/fuse: no FUSE in this kernel, or a container without it"
	"$SIMDISK" run --run-dir "$work/simdisk" --comp-in=0 --comp-out=0 --comp-copy=0 tiny -- true \
		>"$work/out" 2>"$work/err" && return
	grep -qE 'Operation not permitted|Permission denied' "$work/err" && skip "$(cat "$work/err")"
	fail "platter-simdisk does not work here: $(cat "$work/err")"
}

# simdisk NAME [OPTION...] PROFILE: starts a disk that ends with this test, after what is mounted on it; its device is in $dev. Says why when it cannot.
simdisk()
{
	simdisk_name=$1
	shift
	dev=$(env -u PLATTER_TEST "$SIMDISK" start --run-dir "$work/simdisk" --watch="$guard" --max-life=20m --name="$simdisk_name" "$@") ||
		fail "platter-simdisk start $*"
	at_end "simdisk_stop '$simdisk_name' --force"
}

# simdisk_run [OPTION...] PROFILE... -- COMMAND...
simdisk_run()
{
	"$SIMDISK" run --run-dir "$work/simdisk" "$@"
}

# simdisk_status NAME: the JSON
simdisk_status()
{
	"$SIMDISK" status --run-dir "$work/simdisk" --json "$1"
}

# simdisk_pid NAME keeper|server
simdisk_pid()
{
	sed -n "s/^$2 //p" "$work/simdisk/$1"
}

# ---- a machine that has time ----

# ns that a hypervisor kept the processors from us, so far
stolen_ns()
{
	awk -v hz="$(getconf CLK_TCK)" '$1 == "cpu" { printf "%.0f\n", $9 * 1e9 / hz }' /proc/stat
}

# us that somebody waited for a processor, so far
pressure_us()
{
	sed -n 's/^some.*total=//p' /proc/pressure/cpu 2>/dev/null || echo 0
}

# What was seen since begin_us: stolen (ms), pressure (per mille), late (answers).
disturbance()
{
	stolen=$((($(stolen_ns) - stolen) / 1000000))
	took_us=$(($(date +%s%N) / 1000 - begin_us))
	pressure=$((($(pressure_us) - pressure) * 1000 / took_us))
	late=$(sed -n 's/.*"over_1ms": \([0-9]*\).*/\1/p' "$work/status.json" 2>/dev/null)
}
is_quiet() { [ "$stolen" = 0 ] && [ "$pressure" -le 20 ] && [ "${late:-0}" = 0 ]; }

# undisturbed FUNCTION [ARGUMENT...]: a test of times. It returns 0 when all is well; anything else counts only if the machine was not
# seen to be disturbed meanwhile: processor time was stolen, programs waited for processors for more than 2 % of the time, or a
# simulated disk was more than 1 ms late with an answer (its status in $work/status.json, if the function leaves it there). It is tried
# again, up to 3 times in all, and fails when it did so twice on an undisturbed machine: a neighbour on the same host may take of caches and memory
# what no counter here shows, but not often. It fails, too, when it did so all three times and the machine was hardly disturbed in any (2 per mille of
# the time stolen, 5 % waiting, 3 late answers at most): a fault of ours must not hide behind every tick that a neighbour takes.
# Else this part is inconclusive: status 1, and `conclude` reports at the end of the test.
# A test that has taken 150 s, or a suite whose time is nearly over (TRIES_UNTIL, of tools/check), tries nothing again that was disturbed.
inconclusive=
test_began=$(date +%s)
has_time() { [ $(($(date +%s) - test_began)) -lt 150 ] && [ "$(date +%s)" -lt "${TRIES_UNTIL:-9999999999}" ]; }
undisturbed()
{
	quiet=0 hardly=0
	for try in 1 2 3; do
		rm -f "$work/status.json"
		begin_us=$(($(date +%s%N) / 1000)) stolen=$(stolen_ns) pressure=$(pressure_us)
		"$@" 3>&1 >"$work/undisturbed" 2>&1 && { cat "$work/undisturbed"; return 0; }
		cat "$work/undisturbed"
		disturbance
		grep -qE 'File "[^"]*/tools/|Segmentation fault|Aborted|core dumped|Sanitizer:|runtime error:|Assertion .*failed' "$work/undisturbed" &&
			fail "$*: a program ended by a fault, which no machine excuses: see above"
		if is_quiet; then
			quiet=$((quiet + 1))
			[ $quiet -lt 2 ] || fail "$*: see above; the machine was not disturbed"
		fi
		printf 'try %s of %s: %s ms stolen, %s per mille waiting for processors, %s answers later than 1 ms\n' \
			"$try" "$*" "$stolen" "$pressure" "${late:-0}"
		if [ $((stolen * 1000)) -le $((took_us / 500)) ] && [ "$pressure" -le 50 ] && [ "${late:-0}" -le 3 ]; then
			hardly=$((hardly + 1))
			[ $hardly -lt 3 ] || fail "$*: see above, three times; the machine was hardly disturbed"
		fi
		[ $quiet != 0 ] || has_time || break
	done
	echo "inconclusive: $*"
	inconclusive="$inconclusive${inconclusive:+, }$*"
	return 1
}

# told FUNCTION NAME: `undisturbed FUNCTION`, and once more when it sets $why_not: all was well, but too little was reported. Then NAME is inconclusive;
# on a quiet machine twice in a row it fails.
told()
{
	silent=0
	for _ in 1 2; do
		why_not=
		undisturbed "$1"
		[ -n "$why_not" ] || return 0
		disturbance
		! is_quiet || silent=$((silent + 1))
		[ $silent -lt 2 ] || fail "$2: too little was reported, twice on a quiet machine"
		has_time || break
	done
	inconclusive="$inconclusive${inconclusive:+, }$2"
}

# or_untold STATUS WHY: the end of such a FUNCTION, by the status of what judges: 3 says that all was well, but too little was reported.
or_untold()
{
	[ "$1" = 3 ] || return "$1"
	echo "$2"
	why_not=1
}

# The end of a test that calls `undisturbed`: exit 77 when a part had no quiet machine.
conclude()
{
	[ -z "$inconclusive" ] || skip "this machine was disturbed each time in: $inconclusive"
}

# ---- litter ----

# All that this test's simulated disks may have left: nothing.
no_litter() # after what
{
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		litter=$(
			grep -lF "$work/simdisk/" /sys/block/loop*/loop/backing_file 2>/dev/null
			grep -F "$work/simdisk" /proc/self/mounts
			ls "$work/simdisk" 2>/dev/null
			pgrep -f "run-dir $work/simdisk" | while read -r pid; do
				# A process that nobody has waited for yet is none.
				grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" && echo "process $pid"
			done
		)
		[ -n "$litter" ] || return 0
		sleep 0.3
	done
	fail "left behind after $1: $litter"
}
