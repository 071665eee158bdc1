# SPDX-License-Identifier: GPL-2.0-or-later
"""The rate of the first bytes: fio reads them through, and platter does, too.

On a device of gigabytes per second both cost as much as the device, so the requests are made alike: platter's buffers are registered and lie in huge
pages, where the block layer need not cut a request of 1 MiB in two. What is short is repeated, for such devices are not the same from one run to the next.
"""
import math

from versus import Comparison

ORDER = 1
LEAST_S = 2  # of reading in each turn
TIMES_MAX = 8


def comparisons(place):
    size = min(place.size, place.target_size())

    def fio_once():
        return place.fio('--name=z', '--filename=' + place.target, '--rw=read', '--bs=1m', '--direct=1', '--ioengine=io_uring', '--iodepth=4',
                         '--fixedbufs', '--registerfiles', '--size=%d' % size, huge_pages=True)['read']['bw_bytes']

    times = max(1, min(TIMES_MAX, math.ceil(LEAST_S * fio_once() / size)))

    def mean(rate):  # of the times, as they lie one after the other
        return times / sum(1 / rate() for _ in range(times))

    def platter_once():
        return place.platter('zones', '--full', '--range=0-%d' % size, place.target)['figures']['mean_bytes_per_s']

    yield Comparison('sequential rate', 'MB/s', 1e-6, lambda: mean(fio_once), lambda: mean(platter_once))
