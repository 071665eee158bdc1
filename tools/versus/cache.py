# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of `platter cache`, warm and cold: the mean service time of one pass over the whole file, the same on both sides, the best of a few passes each.

Like with like: the same number of bytes behind the same offset, the same records, the same system call into a buffer aligned alike, no
fadvise hints (fio gives SEQUENTIAL or RANDOM unless told not to, which changes the read-ahead), and pages that came into memory by read-ahead.
The statistic is the mean of fio's completion latencies, which is the time in the system call and one reading of the clock; fio's bandwidth has
its own work between two requests in it as well (0.3 to 1 us: a quarter of a record of 4 KiB). The clock is taken off by the same job on the
null engine. Here it is the time of the pass over the number of records, with all that platter does in between. Of the passes the best is taken on
both sides, because what other programs do can only slow one down. Rows of bandwidth as fio itself tells it stand beside: there platter may be faster.
"""
import os

from versus import Comparison, rows_of

ORDER = 6
IN_ALL = False  # needs quiet processors
SIZE = 32 << 20
HEADER = 4096  # of platter's own files
PASSES = 5


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

    def fio_of(record, rw, is_warm):
        def mean():
            best = {}
            for engine in ('null', 'psync') * PASSES:
                make(record, is_warm)
                ns = job(record, rw, engine)['clat_ns']['mean']
                best[engine] = min(best.get(engine, ns), ns)
            return record / (best['psync'] - best['null']) * 1e9
        return mean

    def bandwidth_of(record, rw):
        def mean():
            make(record, True)
            return job(record, rw, 'psync', '--gtod_reduce=1', '--time_based', '--runtime=500ms')['bw_bytes']
        return mean

    def platter_of(record, operation, key):
        def best():
            document = place.platter('cache', place.dir, '--mode=cached', '--no-knee', '--min-size=%d' % SIZE, '--max-size=%d' % SIZE,
                                     '--min-record=%d' % record, '--max-record=%d' % record, '--cell=10s', '--repeat=%d' % PASSES)
            return [r for r in rows_of(document, 'matrix') if r['operation'] == operation][0][key]
        return best

    for record in (4096, 65536, 1 << 20):
        for operation, rw, is_warm in (('reread', 'read', True), ('random_read', 'randread', True), ('read', 'read', False)):
            yield Comparison('%s, %d bytes' % (operation, record), 'MB/s', 1e-6, fio_of(record, rw, is_warm),
                             platter_of(record, operation, 'best_bytes_per_s'), tolerance=0.05)
        yield Comparison("reread, %d, fio's own rate" % record, 'MB/s', 1e-6, bandwidth_of(record, 'read'),
                         platter_of(record, 'reread', 'rate_bytes_per_s'), tolerance=0.05, at_least=True)
