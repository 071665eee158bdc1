# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of `platter cache`, warm and cold: the time of one pass over the whole file, the median of many passes on either side.

Like with like: one file for both, which platter only reads; warm, the very pages, which came into memory by read-ahead and stay there for all pairs; the
same records, the same system call into a buffer aligned alike; no fadvise hints (fio gives SEQUENTIAL or RANDOM unless told not to, which
changes the read-ahead). Cold, each pass begins with nothing of the file in memory and follows at once on the one before, for fio as jobs one after
the other: what was read a moment ago is still in the processor's caches.
The statistic is fio's completion latencies, the time in the system call and one reading of the clock, less the same on the null engine; of
platter, the time of the pass over the number of records, with all that it does in between.
A bare loop of the same calls (tests/bench/bareloop) stands beside it: what fio does between two calls makes the calls themselves slower (its code and
the kernel's push each other out of the processor's caches), by 0.2 to 0.3 us whatever the record's length. Of 64 KiB that is about
a twentieth; of 4 KiB it is a fifth, so there platter may be faster than fio, and has to agree with the bare loop. Rows of fio's own rate (with its
own work between two calls in it) tell what fio says by itself.
"""
import os
import re
import statistics

from versus import BARELOOP, Comparison, bareloop, rows_of

ORDER = 6
IN_FILES = True
SIZE = 16 << 20  # half of what many processors' caches hold: at their size, a few pages more are much slower
COLD_SIZE = 256 << 20  # long enough that the start of a process, which fio needs for each pass, is small beside it
PASSES = 5  # of a cold file: each begins with nothing in memory
WARM = '150ms'


class Cell:
    def __init__(self, place, record, operation):
        self.place, self.record, self.operation = place, record, operation
        self.is_cold = operation == 'read'
        self.path, self.size = place.path('cold' if self.is_cold else 'warm'), COLD_SIZE if self.is_cold else SIZE
        self.rw = 'randread' if operation == 'random_read' else 'read'
        self.clock_ns = None  # what fio's latency has of its own

    def make(self):
        """Nothing of the file in memory; or all of it, by read-ahead."""
        with open(self.path, 'rb', buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while not self.is_cold and f.read(1 << 20):
                pass

    def job(self, engine, *more):
        return ['--filename=' + self.path, '--size=%d' % self.size, '--rw=' + self.rw, '--bs=%d' % self.record, '--ioengine=' + engine, '--direct=0',
                '--fadvise_hint=0', '--iomem_align=4096', '--norandommap', '--randrepeat=0', '--invalidate=%d' % self.is_cold, *more]

    def warm_ns(self, engine):
        log = self.place.path('log')
        self.place.fio('--name=c', *self.job(engine, '--time_based', '--runtime=' + WARM, '--write_lat_log=' + log, '--log_avg_msec=5'))
        with open(log + '_clat.1.log') as f:
            return statistics.median(int(line.split(',')[1]) for line in f)

    def cold_ns(self, engine):
        """Jobs one after the other, each of which drops the file first."""
        jobs = [word for k in range(PASSES) for word in ('--name=c%d' % k, '--stonewall', *self.job(engine))]
        return statistics.median(j['read']['clat_ns']['mean'] for j in self.place.fio_jobs(*jobs))

    def fio(self):
        ns = self.cold_ns if self.is_cold else self.warm_ns
        if self.clock_ns is None:
            self.clock_ns = statistics.median(ns('null') for _ in range(3))
            self.make()
        return self.record / (ns('psync') - self.clock_ns) * 1e9

    def fio_rate(self):
        return self.place.fio('--name=c', *self.job('psync', '--gtod_reduce=1', '--time_based', '--runtime=' + WARM))['read']['bw_bytes']

    def bareloop(self):
        how = ['cold', str(PASSES)] if self.is_cold else ['random' if self.operation == 'random_read' else 'read', re.sub('ms', 'e-3', WARM), '0']
        return bareloop(how[0], self.record, self.path, *how[1:])

    def platter(self):
        document = self.place.platter('cache', self.path, '--mode=cached', '--operations=' + self.operation, '--block=%d' % self.record,
                                      '--slice=10s', *(['--repeat=%d' % PASSES] if self.is_cold else []))
        return rows_of(document, 'matrix')[0]['rate_bytes_per_s']


def comparisons(place):
    for name, size in (('warm', SIZE), ('cold', COLD_SIZE)):
        with open(place.path(name), 'wb') as f:
            for _ in range(size >> 20):
                f.write(os.urandom(1 << 20))
            os.fsync(f.fileno())
    for operation in ('reread', 'random_read', 'read'):
        for record in (4096, 65536, 1 << 20):
            cell = Cell(place, record, operation)
            cell.make()
            how = {'unit': 'MB/s', 'scale': 1e-6, 'platter': cell.platter, 'tolerance': 0.05, 'by_median': True, 'times': 2 if cell.is_cold else 6}
            yield Comparison('%s, %d bytes' % (operation, record), fio=cell.fio, at_least=record < 65536, **how)
            if os.path.exists(BARELOOP):
                yield Comparison('%s, %d, bare loop' % (operation, record), fio=cell.bareloop, **how)
            if operation == 'reread':
                yield Comparison("reread, %d, fio's own rate" % record, fio=cell.fio_rate, at_least=True, **{**how, 'times': 3})
