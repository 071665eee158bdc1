# SPDX-License-Identifier: GPL-2.0-or-later
"""Cells of `platter cache`: warm reading in order and at random. Between two requests fio does some hundred ns of work of its own, which is no part
of its completion latency; the clock that it reads is, and is taken off by the same job on its null engine. What is left is the system call, and that
is what the cell says. The median of single requests there, the best slice of 3 ms here: what other programs do in between hardly counts.
"""
import os

from versus import Comparison, rows_of

ORDER = 6
IN_ALL = False  # needs quiet processors
SIZE = 32 << 20


def comparisons(place):
    path = place.path('cell')
    with open(path, 'wb') as f:
        f.write(os.urandom(SIZE))

    def ns_per_record(record, rw, engine):
        job = place.fio('--name=c', '--filename=' + path, '--size=%d' % SIZE, '--rw=' + rw, '--bs=%d' % record, '--ioengine=' + engine, '--direct=0',
                        '--invalidate=0', '--norandommap', '--randrepeat=0', '--time_based', '--runtime=1', '--percentile_list=50')['read']
        return job['clat_ns']['percentile']['50.000000']

    def pair(record, operation):
        rw = 'read' if operation == 'reread' else 'randread'

        def fio():
            return record / (ns_per_record(record, rw, 'psync') - ns_per_record(record, rw, 'null')) * 1e9

        def platter():
            document = place.platter('cache', place.dir, '--mode=cached', '--no-knee', '--min-size=%d' % SIZE, '--max-size=%d' % SIZE,
                                     '--min-record=%d' % record, '--max-record=%d' % record, '--cell=3ms', '--repeat=20')
            return [r for r in rows_of(document, 'matrix') if r['operation'] == operation][0]['best_bytes_per_s']

        return Comparison('%s of %d bytes, in memory' % (operation, record), 'MB/s', 1e-6, fio, platter, tolerance=0.05)

    for record in (4096, 65536):
        yield pair(record, 'reread')
        yield pair(record, 'random_read')
