# SPDX-License-Identifier: GPL-2.0-or-later
"""The rate of the first bytes: fio reads them through, and platter does, too."""
from versus import Comparison

ORDER = 1


def comparisons(place):
    size = min(place.size, place.target_size())

    def fio():
        return place.fio('--name=z', '--filename=' + place.target, '--rw=read', '--bs=1m', '--direct=1', '--ioengine=io_uring', '--iodepth=4',
                         '--size=%d' % size)['read']['bw_bytes']

    def platter():
        return place.platter('zones', '--full', '--range=0-%d' % size, place.target)['figures']['mean_bytes_per_s']

    yield Comparison('sequential rate', 'MB/s', 1e-6, fio, platter)
