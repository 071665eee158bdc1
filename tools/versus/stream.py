# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording and playing back at full speed on 1 to 4 loop devices over real files in the directory TARGET: bytes per second, and data per second of CPU time.

The other side is the best of fio (io_uring, 1 MiB at depths 1, 4 and 16, one job per device) and dd (one for each device, direct), as a first round
finds it: an own contest for each row; platter has the same depth, at least its default of 4. CPU time is that of the whole process and its children, less what the same command needs for one block.
--devices=1,2,4 says how many at once (default 1,2,3,4), --size how much on each (default 512 MiB). More than fio's is fine in both.
"""
import json
import os
import resource
import subprocess
import time

from versus import Comparison

ORDER = 10
IN_ALL = False  # it writes, though to files of its own, and takes minutes
MIB = 1 << 20


class Loops:
    def __init__(self, place, size):
        self.paths, self.devices, self.folder = [], [], os.path.join(place.target, 'platter-versus-%d' % os.getpid())
        self.size = size

    def __enter__(self):
        os.mkdir(self.folder)
        return self

    def __exit__(self, *_):
        for device in self.devices:
            subprocess.run(['losetup', '-d', device], check=False)
        for path in self.paths:
            os.unlink(path)
        os.rmdir(self.folder)

    def take(self, n):
        while len(self.devices) < n:
            path = os.path.join(self.folder, 'disk%d' % len(self.paths))
            self.paths.append(path)
            block = os.urandom(MIB)
            with open(path, 'wb') as f:
                for k in range(self.size // MIB):
                    f.write(k.to_bytes(8, 'little') + block[8:])
                os.fsync(f.fileno())
            self.devices.append(subprocess.run(['losetup', '-f', '--show', '--direct-io=on', path], check=True, capture_output=True,
                                               text=True).stdout.strip())
        return self.devices[:n]


def timed(run):
    """Seconds on the wall and of CPU time of the children that it starts."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    rate = run()
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return rate, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fio(devices, size, depth, is_write):
    words = ['fio', '--output-format=json', '--direct=1', '--ioengine=io_uring', '--iodepth=%d' % depth, '--bs=1m', '--group_reporting',
             '--rw=' + ('write' if is_write else 'read'), '--size=%d' % size]
    for k, device in enumerate(devices):
        words += ['--name=d%d' % k, '--filename=' + device]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return json.loads(out[out.index('{'):])['jobs'][0]['write' if is_write else 'read']['bw_bytes']


def dd(devices, size, is_write):
    start, source = time.monotonic(), '/dev/zero'
    words = [['dd', 'if=' + source, 'of=' + d, 'oflag=direct', 'conv=notrunc'] if is_write else ['dd', 'if=' + d, 'of=/dev/null', 'iflag=direct']
             for d in devices]
    running = [subprocess.Popen([*w, 'bs=1M', 'count=%d' % max(size // MIB, 1)], stderr=subprocess.DEVNULL) for w in words]
    if any(p.wait() for p in running):
        raise RuntimeError('dd failed')
    return len(devices) * size / (time.monotonic() - start)


def platter(place, devices, size, is_write, depth=4):
    consent = ['--write', *['--destroy-data=' + os.path.basename(d) for d in devices]] if is_write else ['--read']
    # At full speed nothing waits in a ring: it holds what is in flight.
    return place.platter('stream', *consent, '--depth=%d' % depth, '--buffer=%dMiB' % (depth * len(devices) + 1), '--bytes=%d' % (size * len(devices)),
                         *devices)['figures']['rate_bytes_per_s']


class Contest:
    """One number of devices, one direction."""

    def __init__(self, place, devices, size, is_write):
        self.runs = {'fio %d' % d: lambda s, d=d: fio(devices, s, d, is_write) for d in (1, 4, 16)}
        self.runs['dd'] = lambda s: dd(devices, s, is_write)
        for d in (4, 16):
            self.runs['platter %d' % d] = lambda s, d=d: platter(place, devices, s, is_write, d)
        self.size, self.total = size, size * len(devices)
        self.start = {name: min(timed(lambda: run(MIB))[2] for _ in range(3)) for name, run in self.runs.items()}
        first = {name: [self.both(name), self.both(name)] for name in self.runs if 'platter' not in name}
        self.best = max(first, key=lambda n: sum(r for r, _ in first[n]))
        # Of dd the zeros need no memory of data: it is no rival in CPU time.
        self.leanest = max((n for n in first if n != 'dd'), key=lambda n: sum(c for _, c in first[n]))

    def own(self, rival):
        """platter at its rival's depth; its own default is 4."""
        return self.both('platter 16' if rival.endswith(' 16') else 'platter 4')

    def both(self, name):
        """Bytes per second, and bytes per second of CPU time."""
        rate, _, cpu = timed(lambda: self.runs[name](self.size))
        return rate, self.total / max(cpu - self.start[name], 1e-3)


def comparisons(place):
    size = int(place.options.get('size', 512 * MIB)) // MIB * MIB
    with Loops(place, size) as loops:
        for n in [int(word) for word in place.options.get('devices', '1,2,3,4').split(',')]:
            for is_write in (True, False):
                contest = Contest(place, loops.take(n), size, is_write)
                what = '%s %d, ' % ('writing' if is_write else 'reading', n)
                yield Comparison(what + contest.best, 'MB/s', 1e-6, lambda: contest.both(contest.best)[0], lambda: contest.own(contest.best)[0],
                                 at_least=True)
                yield Comparison(what + contest.leanest, 'MB / CPU s', 1e-6, lambda: contest.both(contest.leanest)[1],
                                 lambda: contest.own(contest.leanest)[1], at_least=True)
