# SPDX-License-Identifier: GPL-2.0-or-later
"""The rate that a device keeps up for some seconds, in sequence and at random, 16 requests at a time: fio's, and that of platter's last state.

At random in 64 KiB: in 4 KiB a simulated SSD is limited by the processor that it shares with the program, and what costs less is faster."""
from versus import Comparison

ORDER = 4
ALONE = True  # half a minute and more
LEAST_S = 4  # less shows sustain too few cells


def keeping(place, label, words, *options):
    seconds = max(LEAST_S, int(place.seconds))

    def fio():
        return place.fio('--name=s', '--filename=' + place.target, '--direct=1', '--ioengine=io_uring', '--iodepth=16', '--fixedbufs',
                         '--registerfiles', '--norandommap', '--time_based', '--runtime=%d' % seconds, *options)['read']['bw_bytes']

    def platter():
        figures = place.platter('sustain', '--time=%ds' % seconds, *words, place.target)['figures']
        return figures['settled_bytes_per_s'] or figures['last_bytes_per_s']

    return Comparison(label, 'MB/s', 1e-6, fio, platter, tolerance=0.02)


def comparisons(place):
    yield keeping(place, 'kept up in sequence', [], '--rw=read', '--bs=1m')
    yield keeping(place, 'kept up at random, 64 KiB', ['--random', '--block=64KiB'], '--rw=randread', '--bs=64k')
