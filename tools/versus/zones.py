# SPDX-License-Identifier: GPL-2.0-or-later
"""The rate of the first bytes, and of the last: fio reads them through, and platter does, too.

The requests are made alike: platter's buffers are registered and lie in huge pages. In scattered pages the block layer cuts a request of 1 MiB in two,
which costs half the rate of a fast loop device, and under a throttle is paid for twice. What is short is repeated: devices of gigabytes per second
differ from one run to the next.
"""
import math

from versus import Comparison

ORDER = 1
LEAST_S = 2  # of reading in each turn
TIMES_MAX = 8


def point(place, label, start, size):
    """One place, from start on."""
    def fio(loops):
        with place.huge_pages(16 << 20) as memory:
            return place.fio('--name=z', '--filename=' + place.target, '--rw=read', '--bs=1m', '--direct=1', '--ioengine=io_uring', '--iodepth=4',
                             '--fixedbufs', '--registerfiles', '--offset=%d' % start, '--size=%d' % size, '--loops=%d' % loops, *memory)['read']['bw_bytes']

    def platter_once():
        return place.platter('zones', '--full', '--range=%d-%d' % (start, start + size), place.target)['figures']['mean_bytes_per_s']

    times = max(1, min(TIMES_MAX, math.ceil(LEAST_S * fio(1) / size)))

    def platter():  # as the times lie one after the other
        rates = [platter_once() for _ in range(times)]
        return times / sum(1 / rate for rate in rates) if all(rates) else None  # None: what was too disturbed for a rate

    return Comparison(label, 'MB/s', 1e-6, lambda: fio(times), platter)


def comparisons(place):
    there = place.target_size()
    size = min(place.size, there)
    yield point(place, 'sequential rate', 0, size)
    if there >= 2 * size:
        yield point(place, 'sequential rate, at the end', (there - size) >> 20 << 20, size)
