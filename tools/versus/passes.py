# SPDX-License-Identifier: GPL-2.0-or-later
"""Writing with fsync and reading in blocks of 64 KiB, as `platter passes` does, in files of their own under --dir.

fio's rate with --end_fsync is that of writing and fsync together, so it is here. Read is a file with any contents, for which platter has no words to
compare with: fio compares nothing either. Its own work between two blocks (under 1 us; a block from memory takes 6 to 20) is in its rate, so
platter may be faster where the file is in memory. fio's hints to the kernel (fadvise) are off: a program gives none.
"""
import os

from versus import Comparison, rows_of

ORDER = 7
IN_FILES = True
BLOCK = ['--bs=64k', '--ioengine=psync', '--direct=0', '--invalidate=0', '--fadvise_hint=0', '--iomem_align=4096', '--gtod_reduce=1']


def comparisons(place):
    path, size = place.path('data'), min(place.size, 64 << 20)
    with open(path, 'wb') as f:
        f.write(os.urandom(size))
        os.fsync(f.fileno())

    def fio_writes(is_synced):
        def rate():
            new = place.path('fio-writes')
            job = place.fio('--name=w', '--filename=' + new, '--size=%d' % size, '--rw=write', '--end_fsync=%d' % is_synced, '--fallocate=none',
                            '--create_on_open=1', *BLOCK, readonly=False)
            os.unlink(new)
            return job['write']['bw_bytes']
        return rate

    def platter_writes(figure):
        return lambda: place.platter('passes', place.dir, '--size=%d' % size, '--repeat=1')['figures'][figure]

    def drop():
        with open(path, 'rb') as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

    def fio_reads(is_warm):
        def rate():
            if is_warm:  # a run is too short for fio's clock of milliseconds
                return place.fio('--name=r', '--filename=' + path, '--rw=read', '--time_based', '--runtime=500ms', *BLOCK)['read']['bw_bytes']
            drop()
            return place.fio('--name=r', '--filename=' + path, '--rw=read', *BLOCK)['read']['bw_bytes']
        return rate

    def platter_reads(*more):
        def rate():
            rows = rows_of(place.platter('passes', path, *more), 'steps')
            rates = sorted(r['rate_bytes_per_s'] for r in rows if r['step'].startswith('read'))
            return rates[len(rates) // 2]
        return rate

    yield Comparison('writing', 'MB/s', 1e-6, fio_writes(False), platter_writes('write_bytes_per_s'), tolerance=0.05, at_least=True, by_median=True, times=2)
    yield Comparison('writing with fsync', 'MB/s', 1e-6, fio_writes(True), platter_writes('write_synced_bytes_per_s'), tolerance=0.05, by_median=True, times=2)
    yield Comparison('reading, nothing in memory', 'MB/s', 1e-6, fio_reads(False), platter_reads('--repeat=1', '--mode=cold'), tolerance=0.05, at_least=True, by_median=True, times=2)
    yield Comparison('reading from memory', 'MB/s', 1e-6, fio_reads(True), platter_reads('--repeat=40'), tolerance=0.05, at_least=True, by_median=True, times=2)
