# SPDX-License-Identifier: GPL-2.0-or-later
"""The same reads at the same offsets in the same order: platter writes them down (--requests), fio replays them (--read_iolog). Mean of all but the first.

The reads of the seek curve are left out: each is aimed at where the head is at that moment, so the same places a moment later take other times
(on a simulated disk 8 % less in the mean).
"""
import os

from versus import Comparison

ORDER = 2


class Replay:
    """Rounds of one run of either program; the reads of a round are platter's, whoever is asked first."""

    def __init__(self, place):
        self.place, self.round, self.times = place, 0, None
        self.iolog, self.requests = place.path('reads.iolog'), place.path('reads.csv')
        self.is_half = False

    def record(self):
        if os.path.exists(self.requests):
            os.unlink(self.requests)
        self.round += 1
        self.place.platter('seek', '--without=curve,queue', '--quick', '--time=%gs' % (3 * self.place.seconds), '--seed=%d' % self.round,
                           '--requests=' + self.requests, self.place.target)
        with open(self.requests) as f:
            columns = f.readline().strip().split(',')
            begin, end, offset = (columns.index(name) for name in ('submit_ns', 'done_ns', 'offset_bytes'))
            cells = [line.strip().split(',') for line in f]
        with open(self.iolog, 'w') as f:
            f.write('fio version 2 iolog\n%s add\n%s open\n' % (self.place.target, self.place.target))
            f.writelines('%s read %s 4096\n' % (self.place.target, c[offset]) for c in cells)
            f.write('%s close\n' % self.place.target)
        self.times = [int(c[end]) - int(c[begin]) for c in cells]

    def end_of_turn(self, mean):
        """A round ends with the second of the two; the next one has reads of its own."""
        if self.is_half:
            self.times = None
        self.is_half = not self.is_half
        return mean

    def platter(self):
        if self.times is None:
            self.record()
        return self.end_of_turn(sum(self.times[1:]) / (len(self.times) - 1))

    def fio(self):
        if self.times is None:
            self.record()
        self.place.fio('--name=s', '--direct=1', '--ioengine=psync', '--read_iolog=' + self.iolog, '--replay_no_stall=1',
                       '--replay_redirect=' + self.place.target, '--write_lat_log=' + self.place.path('fio'), '--log_avg_msec=0')
        log = self.place.path('fio_lat.1.log')
        with open(log) as f:
            times = [int(line.split(',')[1]) for line in f]
        os.unlink(log)
        if len(times) != len(self.times):
            raise RuntimeError('fio replayed %d of %d reads' % (len(times), len(self.times)))
        return self.end_of_turn(sum(times[1:]) / (len(times) - 1))


def comparisons(place):
    replay = Replay(place)
    yield Comparison('random access, replayed', 'ms', 1e-6, replay.fio, replay.platter, tolerance=0.02)
