# SPDX-License-Identifier: GPL-2.0-or-later
"""How often in an hour each gets to an interval as narrow as platter's: of the mean rate of the whole surface, and of three places.

platter comes first in its pair and says how narrow. fio then reads blocks of 1 MiB at evenly spread places (zonemode=strided), and as many places
more, doubled from 8, as it needs; only the last of its runs counts. The first block of each place has the seek in it and is left out. Its interval is
Student's: of the mean from the differences of neighbours, for the fall of the rate from zone to zone is no noise; of a place from runs of blocks, for
neighbouring blocks see the same heads. zcav, where it is installed, reads everything once and has no interval.
"""
import math
import os
import shutil
import statistics
import subprocess
import time

from versus import Comparison, student

ORDER = 9
ALONE = True  # minutes, by measuring until it is narrow enough: not part of all
BLOCK = 1 << 20
AT_A_PLACE = 8  # blocks, of which the first is not counted
RUN = 4  # neighbouring blocks taken together


def mean_of_places(rates):
    """Mean of the time a byte takes, as rates are given at evenly spread places; half width of its 95 % interval, in parts of it."""
    times = [1 / r for r in rates]
    n = len(times)
    mean = statistics.mean(times)
    variance = sum((b - a) ** 2 for a, b in zip(times, times[1:])) / (2 * (n - 1))
    return 1 / mean, student(n - 1) * math.sqrt(variance / n) / mean


def mean_of_runs(times, run=RUN):
    """Rate in blocks of a place from the times of its blocks, by runs of neighbours; half width as above. None: too few of them."""
    sums = [sum(times[k:k + run]) for k in range(0, len(times) - run + 1, run)]
    if len(sums) < 3:
        return None
    mean = statistics.mean(sums)
    return run / mean, student(len(sums) - 1) * statistics.stdev(sums) / math.sqrt(len(sums)) / mean


class Narrow:
    """Pairs of runs. What platter found is asked of fio, whichever of the two is called first."""

    def __init__(self, place, *args):
        self.place, self.args, self.document, self.asked = place, args, None, None

    def run(self, who):
        """The document of this pair. The second caller of a pair ends it."""
        if self.document is None:
            self.document, self.asked = self.place.platter('zones', *self.args, self.place.target), who
            return self.document
        ret = self.document
        if self.asked != who:
            self.document = None
        return ret

    def platter(self):
        return 1 / self.run('platter')['figures']['used_s']

    def width(self, document, name):
        low, high = document['intervals'][name]
        return (high - low) / 2 / document['figures'][name]

    def blocks(self, *args):
        """Seconds of each block that fio read, and of the whole run."""
        log = self.place.path('width_lat.1.log')
        job = self.place.fio('--name=w', '--filename=' + self.place.target, '--rw=read', '--bs=%d' % BLOCK, '--direct=1', '--ioengine=psync',
                             '--write_lat_log=' + self.place.path('width'), '--log_avg_msec=0', *args)
        with open(log) as f:
            times = [int(line.split(',')[1]) * 1e-9 for line in f]
        os.unlink(log)
        return times, job['read']['runtime'] / 1e3


class Curve(Narrow):
    def fio(self):
        wanted = self.width(self.run('fio'), 'mean_bytes_per_s')
        there, n = self.place.target_size(), 8
        while True:
            apart = there // n >> 20 << 20
            zone = min(AT_A_PLACE * BLOCK, apart)
            times, spent = self.blocks('--zonemode=strided', '--zonesize=%d' % zone, '--zonerange=%d' % apart, '--io_size=%d' % (n * zone),
                                       '--size=%d' % (n * apart))
            per = zone // BLOCK
            places = [times[k:k + per] for k in range(0, len(times), per)]
            _, half = mean_of_places([(len(p) - 1) * BLOCK / sum(p[1:]) for p in places if len(p) > 1])
            if half <= wanted or 2 * n * 2 * BLOCK > there:  # or all was read, nearly
                return 1 / spent
            n *= 2


class Places(Narrow):
    def fio(self):
        document = self.run('fio')
        there, total = self.place.target_size(), 0.0
        for name, at in (('start', 0.0), ('middle', 0.5), ('end', 1.0)):
            wanted = self.width(document, name + '_bytes_per_s')
            blocks = 3 * RUN + 1
            while True:
                size = min(blocks * BLOCK, there // 3)
                first = int(at * (there - size)) >> 20 << 20
                times, spent = self.blocks('--offset=%d' % first, '--size=%d' % size)
                found = mean_of_runs(times[1:])
                if (found and found[1] <= wanted) or size == there // 3:
                    break
                blocks *= 2
            total += spent
        return 1 / total


def zcav(place):
    """A whole pass."""
    begin = time.monotonic()
    subprocess.run(['zcav', '-c1', place.target], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return 1 / (time.monotonic() - begin)


def comparisons(place):
    places = Places(place, '--zones=start,middle,end')
    yield Comparison('three places, as narrow', '/h', 3600, places.fio, places.platter, at_least=True)
    curve = Curve(place)
    yield Comparison('mean of the surface, as narrow', '/h', 3600, curve.fio, curve.platter, at_least=True)
    if shutil.which('zcav'):
        yield Comparison('whole surface, one pass of zcav', '/h', 3600, lambda: zcav(place), lambda: 1 / place.platter('zones', place.target)['figures']['used_s'],
                         at_least=True)
