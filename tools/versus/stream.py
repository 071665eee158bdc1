# SPDX-License-Identifier: GPL-2.0-or-later
"""Recording and playing back at full speed on 1 to 4 loop devices over real files in the directory TARGET (or in --dir, when TARGET is none):
bytes per second, and data per second of CPU time.

The other side is the best of fio (io_uring, 1 MiB at depths 1, 4 and 16, one job per device, the deeper ones also with registered buffers and
files) and dd (one for each device, direct), as a first round finds it: an own contest for each row. platter runs with its defaults. CPU time is
that of the transfer, as each program counts it for itself: platter's cpu_user_s and cpu_system_s, fio's usr_cpu and sys_cpu of its job_runtime.
What the kernel does in threads of its own for a loop device is in neither. The rival in CPU time is the leanest fio. Ratios are medians of the
pairs, and more than fio's is fine.
The last row is paced: blocks of 40960 bytes at 32 MB/s, as the paper recorded.
--devices=1,2,4 says how many at once (default 1,2,3,4), --size how much on each (default 1 GiB).
"""
import json
import os
import subprocess
import time

from versus import Comparison

ORDER = 10
IN_FILES = True
MIB = 1 << 20


class Loops:
    def __init__(self, place, size):
        self.paths, self.devices, self.folder = [], [], os.path.join(place.target if os.path.isdir(place.target) else place.dir, 'platter-versus-%d' % os.getpid())
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
            self.devices.append(subprocess.run(['flock', '/dev/loop-control', 'losetup', '-f', '--show', '--direct-io=on', path],
                                               check=True, capture_output=True, text=True).stdout.strip())
        return self.devices[:n]


def fio(devices, size, depth, is_write, more=()):
    """Bytes per second, and bytes per second of CPU time."""
    words = ['fio', '--output-format=json', '--direct=1', '--ioengine=io_uring', '--iodepth=%d' % depth, '--bs=1m', '--group_reporting',
             '--rw=' + ('write' if is_write else 'read'), '--size=%d' % size, *more]
    for k, device in enumerate(devices):
        words += ['--name=d%d' % k, '--filename=' + device]
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    job = json.loads(out[out.index('{'):])['jobs'][0]
    cpu_s = (job['usr_cpu'] + job['sys_cpu']) / 100 * job['job_runtime'] / 1000  # the run time is the sum over the jobs
    return job['write' if is_write else 'read']['bw_bytes'], size * len(devices) / max(cpu_s, 1e-3)


def dd(devices, size, is_write):
    start, source = time.monotonic(), '/dev/zero'
    words = [['dd', 'if=' + source, 'of=' + d, 'oflag=direct', 'conv=notrunc'] if is_write else ['dd', 'if=' + d, 'of=/dev/null', 'iflag=direct']
             for d in devices]
    running = [subprocess.Popen([*w, 'bs=1M', 'count=%d' % max(size // MIB, 1)], stderr=subprocess.DEVNULL) for w in words]
    if any([p.wait() for p in running]):
        raise RuntimeError('dd failed')
    return len(devices) * size / (time.monotonic() - start), 0.0


def platter(place, devices, size, is_write):
    consent = ['--write', *['--destroy-data=' + place.lasting_name(d) for d in devices]] if is_write else ['--read']
    figures = place.platter('stream', *consent, '--size=%d' % (size * len(devices)), *devices)['figures']
    return figures['rate_bytes_per_s'], size * len(devices) / max(figures['cpu_user_s'] + figures['cpu_system_s'], 1e-3)


PACE, PIECE, SECONDS = 32000000, 40960, 5


def paced_fio(device):
    """The paper's program as a job of fio's."""
    words = ['fio', '--output-format=json', '--name=rec', '--filename=' + device, '--rw=write', '--bs=%d' % PIECE, '--rate=%d' % PACE, '--direct=1',
             '--size=%d' % (PACE * SECONDS // PIECE * PIECE), '--ioengine=psync']
    out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    return json.loads(out[out.index('{'):])['jobs'][0]['write']['bw_bytes']


def paced_platter(place, device):
    return place.platter('stream', '--write', '--destroy-data=' + place.lasting_name(device), '--rate=%dB' % PACE, '--block=%d' % PIECE,
                         '--time=%ds' % SECONDS, device)['figures']['rate_bytes_per_s']


class Contest:
    """One number of devices, one direction."""

    def __init__(self, place, devices, size, is_write):
        self.runs = {'fio %d' % d: lambda d=d: fio(devices, size, d, is_write) for d in (1, 4, 16)}
        self.runs.update({'fio %d fixed' % d: lambda d=d: fio(devices, size, d, is_write, ('--fixedbufs', '--registerfiles')) for d in (4, 16)})
        self.runs['dd'] = lambda: dd(devices, size, is_write)
        first = {name: [run(), run()] for name, run in self.runs.items()}
        self.own = lambda: platter(place, devices, size, is_write)
        self.best = max(first, key=lambda n: sum(r for r, _ in first[n]))
        self.leanest = max((n for n in first if n != 'dd'), key=lambda n: sum(c for _, c in first[n]))


def comparisons(place):
    size = int(place.options.get('size', 1024 * MIB)) // MIB * MIB
    with Loops(place, size) as loops:
        for n in [int(word) for word in place.options.get('devices', '1,2,3,4').split(',')]:
            for is_write in (True, False):
                c = Contest(place, loops.take(n), size, is_write)
                for rival, unit, k in (c.best, 'MB/s', 0), (c.leanest, 'MB / CPU s', 1):
                    yield Comparison('%s %d, %s' % ('writing' if is_write else 'reading', n, rival), unit, 1e-6, lambda: c.runs[rival]()[k],
                                     lambda: c.own()[k], at_least=True, by_median=True)
        device = loops.take(1)[0]
        yield Comparison('writing at 32 MB/s', 'MB/s', 1e-6, lambda: paced_fio(device), lambda: paced_platter(place, device))
