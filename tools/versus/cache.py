# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of `platter cache`, warm and cold: the time of one pass over the whole file, the same on both sides, the median of many passes each.

Like with like: the same number of bytes behind the same offset, the same records, the same system call into a buffer aligned alike, no
fadvise hints (fio gives SEQUENTIAL or RANDOM unless told not to, which changes the read-ahead), and pages that came into memory by read-ahead.
The statistic is fio's completion latencies, summed over each pass: the time in the system calls and one reading of the clock each; fio's bandwidth has
its own work between two requests in it as well (0.3 to 1 us: a quarter of a record of 4 KiB). The clock is taken off by the same job on the
null engine. Here it is the time of the pass over the number of records, with all that platter does in between. What a neighbour takes of the
processor's caches moves either by a tenth from one run to the next: so many short runs in turn, and the median of their ratios.
Of 4 KiB platter
may be faster by a tenth: part of what fio does beside the call stays in its latencies (tests/block/cached-speed.sh holds platter against a bare
loop). Rows of bandwidth as fio itself tells it stand beside: there platter may be faster.
"""
import os
import statistics

from versus import Comparison, rows_of

ORDER = 6
IN_FILES = True
SIZE = 32 << 20
HEADER = 2 << 20  # where data begin in platter's own files
PASSES = 5  # of a cold file: each begins with nothing in memory
WARM = '150ms'


def comparisons(place):
    path = place.path('cell')
    with open(path, 'wb') as f:
        f.write(os.urandom(HEADER + SIZE))
        os.fsync(f.fileno())

    def make(record, is_warm):
        """Nothing of the file in memory; or all of it, by read-ahead, as platter has it."""
        with open(path, 'rb', buffering=0) as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            while is_warm and f.read(record):
                pass

    def job(record, rw, engine, *more):
        return place.fio('--name=c', '--filename=' + path, '--offset=%d' % HEADER, '--size=%d' % SIZE, '--rw=' + rw, '--bs=%d' % record,
                         '--ioengine=' + engine, '--direct=0', '--invalidate=0', '--fadvise_hint=0', '--iomem_align=4096', '--norandommap',
                         '--randrepeat=0', *more)['read']

    def per_record(record, rw, engine, is_warm):
        """The mean latency, in ns, of the median pass."""
        log, n = place.path('clat'), SIZE // record
        job(record, rw, engine, '--write_lat_log=' + log, *(['--time_based', '--runtime=' + WARM] if is_warm else []))
        with open(log + '_clat.1.log') as f:
            ns = [int(line.split(',')[1]) for line in f]
        return statistics.median(sum(ns[i:i + n]) / n for i in range(0, max(len(ns) - n, 0) + 1, n))

    def fio_of(record, rw, is_warm):
        def rate():
            passes = []
            for _ in range(1 if is_warm else PASSES):
                make(record, is_warm)
                passes.append(per_record(record, rw, 'psync', is_warm) - per_record(record, rw, 'null', is_warm))
            return record / statistics.median(passes) * 1e9
        return rate

    def bandwidth_of(record, rw):
        def mean():
            make(record, True)
            return job(record, rw, 'psync', '--gtod_reduce=1', '--time_based', '--runtime=' + WARM)['bw_bytes']
        return mean

    def platter_of(record, operation, is_warm):
        def rate():
            document = place.platter('cache', place.dir, '--mode=cached', '--no-knee', '--min-size=%d' % SIZE, '--max-size=%d' % SIZE,
                                     '--min-record=%d' % record, '--max-record=%d' % record, '--cell=10s', '--repeat=%d' % (15 if is_warm else PASSES))
            return [r for r in rows_of(document, 'matrix') if r['operation'] == operation][0]['rate_bytes_per_s']
        return rate

    for record in (4096, 65536, 1 << 20):
        for operation, rw, is_warm in (('reread', 'read', True), ('random_read', 'randread', True), ('read', 'read', False)):
            yield Comparison('%s, %d bytes' % (operation, record), 'MB/s', 1e-6, fio_of(record, rw, is_warm),
                             platter_of(record, operation, is_warm), tolerance=0.05, by_median=True, at_least=record < 65536, times=3 if is_warm else 1)
        yield Comparison("reread, %d, fio's own rate" % record, 'MB/s', 1e-6, bandwidth_of(record, 'read'),
                         platter_of(record, 'reread', True), tolerance=0.05, at_least=True, by_median=True, times=3)
