#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A step of the wall clock (NTP, a person) cannot change what was measured: nothing in src/ reads that clock but for the stamps listed here,
# and no test of ours may step a machine's clock to try it. Durations come from the clock of base/clock.h, which is CLOCK_MONOTONIC.
cd "$(dirname "$0")/.." || exit 1
allowed='src/base/clock.c:clock_gettime(CLOCK_REALTIME 1
src/session/machine.c:clock_gettime(CLOCK_REALTIME 1'
# In this order: stamps of documents and logs; the hour of the layout of 1997, twice; a seed where none was given.
found=$(
	grep -rnoE --include='*.[ch]' '\bclock_gettime\((CLOCK_REALTIME|CLOCK_TAI)[A-Z_]*|\btime\((NULL|0|&)\)?|\bgettimeofday\(|\bftime\(|\btimespec_get\(|\bCLOCK_REALTIME_[A-Z]+|\bTIMER_ABSTIME.*REALTIME' src |
		sed 's/:[0-9]*:/:/' | sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2 \1/'
)
if [ "$found" != "$allowed" ]; then
	echo "The wall clock is read where it should not be (or the list in $0 is old):"
	echo "$found"
	exit 1
fi
# Whatever waits until a moment does so by the monotonic clock.
for file in $(grep -rlE --include='*.[ch]' 'pthread_cond_timedwait|sem_timedwait|clock_nanosleep|timerfd_create' src); do
	if ! grep -qE '(setclock|nanosleep|timerfd_create|clockwait)\(.*CLOCK_MONOTONIC' "$file" || grep -qE 'sem_timedwait|(nanosleep|timerfd_create)\(CLOCK_REALTIME' "$file"; then
		echo "$file waits by the wall clock."
		exit 1
	fi
done
