# SPDX-License-Identifier: GPL-2.0-or-later
"""Transactions per second of users who wait between transactions of several random reads, and of users who do not.

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


def comparisons(place):
    yield one(place, '%d users, 200 ms of thought' % USERS, 200)
    yield one(place, '%d users, no thought' % USERS, 0)
