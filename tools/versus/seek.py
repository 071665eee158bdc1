# SPDX-License-Identifier: GPL-2.0-or-later
"""Mean of random 4 KiB reads over the whole target, one at a time; the same number of reads."""
from versus import Comparison, rows_of

ORDER = 2


def comparisons(place):
    def fio():
        return place.fio('--name=s', '--filename=' + place.target, '--rw=randread', '--bs=4k', '--direct=1', '--ioengine=psync', '--norandommap',
                         '--randrepeat=0', '--io_size=1t', '--number_ios=%d' % place.reads)['read']['lat_ns']['mean']

    def platter():
        document = place.platter('seek', '--no-curve', '--no-queue', '--reads=%d' % place.reads, '--span-time=1ms', '--precision=0.3', '--quick', place.target)
        return [r for r in rows_of(document, 'spans') if r['anchor'] == 'whole'][0]['mean_ns']

    yield Comparison('random access', 'ms', 1e-6, fio, platter)
