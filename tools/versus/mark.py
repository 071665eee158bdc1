# SPDX-License-Identifier: GPL-2.0-or-later
"""The three speeds of `platter mark`, way syscall (64 bytes a system call) and way stream (8 KiB a system call, of which 64 bytes count at random),
from memory.

A record of 64 bytes takes less time in the kernel than fio needs between two, so fio's mean completion latency is taken, less the same on its
null engine (one reading of the clock). What platter has in between, making a record and its check sum as the program of 1999 did, is in its
speeds: up to 15 % below is as it should be. Writing is without fsync on both sides. The file is as large on both: platter is stopped by --max-size.
"""
import os

from versus import Comparison, rows_of

ORDER = 8
IN_ALL = False  # it writes and needs quiet processors
RECORD, COUNT, HEADER, MIB = 64, 200000, 4096, 1 << 20


def comparisons(place):
    size = RECORD * COUNT

    def job(way, rw, engine):
        path, unit = place.path('fio'), RECORD if way == 'syscall' else 8192
        with open(path, 'wb') as f:
            f.write(os.urandom(HEADER) if rw == 'write' else os.urandom(HEADER + size))
        got = place.fio('--name=m', '--filename=' + path, '--offset=%d' % HEADER, '--size=%d' % (size // unit * unit), '--rw=' + rw, '--bs=%d' % unit,
                        *(['--blockalign=64'] if rw == 'randread' else []), '--ioengine=' + engine, '--direct=0', '--invalidate=0', '--fadvise_hint=0',
                        '--fallocate=none', '--create_on_open=1', '--norandommap', '--randrepeat=0', readonly=rw != 'write')
        os.unlink(path)
        return got['write' if rw == 'write' else 'read']['clat_ns']['mean'], unit if rw != 'randread' else RECORD

    def fio_of(way, rw):
        def speed():
            ns, unit = job(way, rw, 'psync')
            return unit / (ns - job(way, rw, 'null')[0]) * 1e9 / MIB
        return speed

    def platter_of(way, key):
        def speed():
            rows = rows_of(place.platter('mark', place.dir, '--max-size=%d' % size, '--repeat=3', '--time=200ms'), 'ways')
            return [r for r in rows if r['way'] == way][0][key]
        return speed

    for way in ('syscall', 'stream'):
        for rw, key in (('write', 'write_mib_per_s'), ('read', 'read_mib_per_s'), ('randread', 'random_mib_per_s')):
            yield Comparison('%s, %s' % (way, rw), 'MiB/s', 1, fio_of(way, rw), platter_of(way, key), tolerance=0.15)
