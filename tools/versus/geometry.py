# SPDX-License-Identifier: GPL-2.0-or-later
"""The time of a revolution. fio reads sectors strewn over the disk again and again (--read_iolog): each comes under the head at its own angle, so the
times at which one sector was read lie whole revolutions apart. The period for which that is best so (the phases of all sectors together,
within 2 % of platter's) is found from fio's log alone, whose times are whole milliseconds: good for about 30 ppm in 5 s. The order differs from round
to round, or whole rounds would look like a period, too; but never so much that the disk's cache still had a sector when its turn comes again.
A disk that does not rotate has no row.
"""
import cmath
import math
import random

from versus import Comparison, NotReported

ORDER = 3
SECTORS = 64
SHUFFLED = 16  # neighbours in the order that change places
NEAR = 0.02
STEPS_PER_CELL = 8


def coherence(times, frequency):
    """1: all times of each sector have the same phase; near 0: any. times: sector -> seconds."""
    together = sum(abs(sum(cmath.exp(2j * math.pi * frequency * t) for t in ts)) ** 2 for ts in times)
    return together / sum(len(ts) ** 2 for ts in times)


def period(times, about):
    """The best within NEAR of about, in seconds. None: no period stands out, or the true one is a multiple."""
    length = max(max(ts) for ts in times) - min(min(ts) for ts in times)
    cells = max(1, int(NEAR / about * length * STEPS_PER_CELL))
    best = max(((1 + NEAR * k / cells) / about for k in range(-cells, cells + 1)), key=lambda f: coherence(times, f))
    step = 1 / length / STEPS_PER_CELL
    for _ in range(20):  # refine
        best = max((best - step, best, best + step), key=lambda f: coherence(times, f))
        step /= 2
    if coherence(times, best) < 0.5 or coherence(times, best / 2) > 0.95 * coherence(times, best):
        return None
    return 1 / best


class Rotation:
    def __init__(self, place):
        self.place, self.about, self.round = place, None, 0
        for _ in range(2):  # it is unclear, too, when the machine was disturbed
            self.first = self.about = self.about or place.platter(*self.job())['figures']['rotation_period_ns']
        if not self.about:
            raise NotReported('rotation')

    def job(self):
        return ['geometry', '--quick', '--time=%gs' % max(3, self.place.seconds), self.place.target]

    def platter(self):
        ns, self.first = self.first or self.place.platter(*self.job())['figures']['rotation_period_ns'], None
        return ns

    def fio(self):
        self.round += 1
        draw = random.Random(self.round)
        sectors = [draw.randrange(self.place.target_size() // 4096) * 4096 for _ in range(SECTORS)]
        times = max(4, int(max(3, self.place.seconds) * 1e9 / (1.5 * self.about * SECTORS)))
        parts = [range(k, k + SHUFFLED) for k in range(0, SECTORS, SHUFFLED)] * times
        order = [k for part in parts for k in draw.sample(part, SHUFFLED)]
        iolog = self.place.path('rotation.iolog')
        with open(iolog, 'w') as f:
            f.write('fio version 2 iolog\n%s add\n%s open\n' % (self.place.target, self.place.target))
            f.writelines('%s read %d 4096\n' % (self.place.target, sectors[k]) for k in order)
            f.write('%s close\n' % self.place.target)
        self.place.fio('--name=r', '--direct=1', '--ioengine=psync', '--read_iolog=' + iolog, '--replay_no_stall=1',
                       '--write_lat_log=' + self.place.path('rotation'), '--log_avg_msec=0')
        with open(self.place.path('rotation_lat.1.log')) as f:
            done = [int(line.split(',')[0]) * 1e-3 for line in f]
        if len(done) != len(order):
            raise RuntimeError('fio replayed %d of %d reads' % (len(done), len(order)))
        found = period([[t for t, k in zip(done, order) if k == sector] for sector in range(SECTORS)], self.about * 1e-9)
        return found and found * 1e9


def comparisons(place):
    rotation = Rotation(place)
    if rotation.about is not None:
        yield Comparison('time of a revolution', 'ms', 1e-6, rotation.fio, rotation.platter, tolerance=2e-4)
