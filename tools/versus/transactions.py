# SPDX-License-Identifier: GPL-2.0-or-later
"""Transactions per second of users who wait between transactions of several random reads, and of users who do not; and requests per second where sizes
are mixed, and where a part of them writes, too (with --dir, in files: fio's bssplit and rwmixread).

fio has no transactions: a job is a user, `thinktime_blocks` its requests between two pauses, which can only be of one length; so it is here.
"""
from versus import Comparison

ORDER = 5
USERS, IOS = 4, 2


def one(place, label, think_ms):
    # As long as many transactions of each user take, so that the first and the last weigh little.
    seconds = place.seconds

    def fio():
        pause = ['--thinktime=%dms' % think_ms, '--thinktime_blocks=%d' % IOS] if think_ms else []
        job = place.fio('--name=u', '--filename=' + place.target, '--numjobs=%d' % USERS, '--group_reporting', '--rw=randread', '--bs=4k', '--direct=1',
                        '--ioengine=psync', '--norandommap', '--randrepeat=0', '--io_size=1t', '--time_based', '--runtime=%gs' % seconds, *pause)
        return job['read']['iops'] / IOS

    def platter():
        document = place.platter('transactions', '--users=%d' % USERS, '--ios=%d' % IOS, '--think=%dms' % think_ms, '--class=law=fixed',
                                 '--time=%gs' % seconds, place.target)
        return document['figures']['transactions_per_s']

    return Comparison(label, 'per s', 1, fio, platter, tolerance=0.05)


def mixed(place, label, writes):
    ours, theirs = (place.path(n) if writes else place.target for n in ('ours', 'theirs'))
    if writes:
        place.platter('transactions', '--size=%d' % place.size, '--keep', ours)
        place.fio('--name=lay', '--filename=' + theirs, '--rw=write', '--bs=1m', '--size=%d' % place.size, '--direct=1', '--end_fsync=1', readonly=False)

    def fio():
        job = place.fio('--name=u', '--filename=' + theirs, '--numjobs=%d' % USERS, '--group_reporting', '--rw=randrw' if writes else '--rw=randread',
                        *(['--rwmixread=%d' % (100 - writes), '--size=%d' % place.size] if writes else []), '--bssplit=4k/70:64k/30', '--direct=1', '--ioengine=psync', '--norandommap',
                        '--randrepeat=0', '--io_size=1t', '--time_based', '--runtime=%gs' % place.seconds, readonly=not writes)
        return job['read']['iops'] + job['write']['iops']

    def platter():
        document = place.platter('transactions', '--users=%d' % USERS, '--ios=1', '--block=4K:70%,64K:30%', '--time=%gs' % place.seconds,
                                 *(['--write=%d%%' % writes] if writes else []), ours)
        return document['figures']['transactions_per_s']

    return Comparison(label, 'per s', 1, fio, platter, tolerance=0.02)


def comparisons(place):
    yield one(place, '%d users, 200 ms of thought' % USERS, 200)
    yield one(place, '%d users, no thought' % USERS, 0)
    yield mixed(place, '%d users, 70 %% 4K and 30 %% 64K' % USERS, 0)
    if 'dir' in place.options:
        yield mixed(place, 'the same, 30 % writes', 30)
