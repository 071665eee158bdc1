# SPDX-License-Identifier: GPL-2.0-or-later
# Takes away what a test has made. The test does so when it ends (lib.sh). Where it cannot, a guard does that stands beside it, in a session of its own:
# a shell hears of no signal before its command has ended, Meson kills it half a second after the first one, and what `timeout` runs is in a group that no
# such signal reaches.
# guard TEST WORK, as a program: waits for the end of that process; one of Meson's is ended, too, when Meson is no more.

# A process's fields from its state on in $1, $2...: state, parent, group. Without a fork: it is asked each second.
fields_of() # process
{
	{ read -r fields <"/proc/$1/stat"; } 2>/dev/null || return
	fields=${fields##*) }
}

# A test that nobody has waited for yet is none any more.
is_running() # process
{
	fields_of "$1" || return
	case $fields in [ZX]*) return 1 ;; esac
}

parent_of() # process
{
	fields_of "$1" || return
	fields=${fields#* }
	echo "${fields%% *}"
}

# The processes of a test have its mark; shells that it forked are in its group at least.
marked() { grep -slzxF "PLATTER_TEST=$work" /proc/[0-9]*/environ; }

end_processes() # signal, tenths of s that they have
{
	for _ in $(seq "$2"); do
		processes=$(marked | cut -d/ -f3)
		[ -n "$processes" ] || return 0
		# shellcheck disable=SC2086 # a list of numbers
		[ -z "$1" ] || kill "-$1" $processes 2>/dev/null
		set -- "" "$2" # once: the second one would kill what takes things away
		sleep 0.1
	done
	return 1
}

# Detaches for certain: a device that a browser of disks has open for a moment goes away when that closes it. Not one that is somebody else's by now:
# IDENTITY, by loop_of, is another then.
loop_of() { losetup -n -O BACK-MAJ:MIN,BACK-INO "$1" 2>/dev/null; }
loop_end() # DEVICE [IDENTITY]
{
	[ -z "${2-}" ] || [ "$(loop_of "$1")" = "$2" ] || return 0
	for part in "$1"p*; do
		[ -b "$part" ] && delpart "$1" "${part##*p}"
	done
	blockdev --setrw "$1" 2>/dev/null # outlives the file below, and would meet the next user of the number
	losetup -d "$1" 2>/dev/null
	for try in 1 2 3 4 5 6 7 8 9 10; do
		losetup "$1" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	return 1
}

# What was killed may still be on its way out, with a file in its hands.
unmount() # mount point
{
	for _ in $(seq 50); do
		umount "$1"
		mountpoint -q "$1" || return 0
		sleep 0.1
	done
	umount -l "$1"
}

unmount_all() # in the test's folder, the last first
{
	awk -v at="$work/" 'index($2, at) == 1 { print $2 }' /proc/self/mounts | tac | while IFS= read -r mount; do
		unmount "$(printf %b "$mount")" # \040 is a space
	done
}

# simdisk_stop NAME [OPTION...]
simdisk_stop()
{
	simdisk_name=$1
	shift
	"$SIMDISK" stop --run-dir "$work/simdisk" "$@" "$simdisk_name"
}

# What at_end was given, the last first; then whatever is in the test's folder, told or not: a signal may come between the making and the telling.
take_away()
{
	unset PLATTER_TEST # our own commands are not meant
	end_processes TERM 100 || end_processes KILL 50
	tac "$work/undo" 2>/dev/null | while IFS= read -r line; do
		eval "$line"
	done
	unmount_all
	[ ! -d "$work/simdisk" ] || "$SIMDISK" stop --run-dir "$work/simdisk" --force --all
	grep -lF "$work/" /sys/block/loop*/loop/backing_file | cut -d/ -f4 | while read -r name; do
		loop_end "/dev/$name"
	done
	rm -rf --one-file-system "$work"
}

if [ "${1-}" = guard ]; then
	test=$2 work=$3 parent=$(parent_of "$2")
	while is_running "$test" && [ -d "$work" ]; do
		[ -z "${UNDER_MESON-}" ] || [ "$(parent_of "$test")" = "$parent" ] || kill -KILL "-$test" "$test"
		sleep 1
	done
	[ ! -d "$work" ] || kill -TERM "-$test" # its group
	take_away
fi
