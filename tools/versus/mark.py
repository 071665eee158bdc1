# SPDX-License-Identifier: GPL-2.0-or-later
"""The three speeds of `platter mark`, way syscall (64 bytes a system call) and way stream (8 KiB a system call, of which 64 bytes count at random),
from memory.

A record of 64 bytes takes less time in the kernel than fio needs between two, so fio's mean completion latency is taken, less the same on its
null engine (one reading of the clock). What platter has in between, making a record and its checksum as the program of 1999 did, is in its
speeds: up to 15 % below is as it should be. One record a call may be faster: what fio does between its two readings of the clock beside the call is
not all on the null engine. Writing is without fsync on both sides. The file is as large on both: platter is stopped by --size.
What fio reads was written in the same pieces, and read before where it was here: pages written singly are half as fast to read as those that came
into memory together, and slower again the second time.
"""
import os

from versus import Comparison, rows_of

ORDER = 8
IN_FILES = True
RECORD, COUNT, HEADER, MIB = 64, 200000, 2 << 20, 1 << 20


def comparisons(place):
    size = RECORD * COUNT

    def job(way, rw, engine):
        path, unit = place.path('fio'), RECORD if way == 'syscall' else 8192
        with open(path, 'wb', buffering=0) as f:
            f.write(os.urandom(HEADER))
            piece = os.urandom(unit)
            for _ in range(size // unit if rw != 'write' else 0):
                f.write(piece)
            os.fsync(f.fileno())
        with open(path, 'rb', buffering=0) as f:
            f.read(HEADER)
            while rw == 'randread' and f.read(unit):
                pass
        got = place.fio('--name=m', '--filename=' + path, '--offset=%d' % HEADER, '--size=%d' % (size // unit * unit), '--rw=' + rw, '--bs=%d' % unit,
                        *(['--blockalign=64'] if rw == 'randread' else []), '--ioengine=' + engine, '--direct=0', '--invalidate=0', '--fadvise_hint=0',
                        *(['--time_based', '--runtime=200ms'] if rw == 'randread' else []),
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
            rows = rows_of(place.platter('mark', place.dir, '--size=%d' % size, '--repeat=1', '--time=100ms'), 'ways')
            return [r for r in rows if r['way'] == way][0][key]
        return speed

    for way in ('syscall', 'stream'):
        for rw, key in (('write', 'write_mib_per_s'), ('read', 'read_mib_per_s'), ('randread', 'random_mib_per_s')):
            yield Comparison('%s, %s' % (way, rw), 'MiB/s', 1, fio_of(way, rw), platter_of(way, key), tolerance=0.15, at_least=way == 'syscall', by_median=True, times=2)
