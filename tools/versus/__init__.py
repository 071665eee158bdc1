# SPDX-License-Identifier: GPL-2.0-or-later
"""What the comparisons with fio share. A measurement is one file here with a function comparisons(place), which yields Comparison objects.

A comparison has two functions without arguments that each run one program once and return a number; tools/vs-fio runs them in turn.
"""
import contextlib
import json
import math
import os
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass
from typing import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
BARELOOP = os.path.join(HERE, '..', '..', 'build', 'tests', 'bench', 'bareloop')
T_975 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179]


def student(df):
    """97.5 % point; beyond the table by Cornish and Fisher's expansion, good to 0.001 there."""
    return T_975[df - 1] if df <= len(T_975) else 1.95996 + 2.3724 / df + 2.8225 / df ** 2 + 2.556 / df ** 3


@dataclass
class Comparison:
    label: str
    unit: str
    scale: float  # of what the functions return, for printing
    fio: Callable[[], float]
    platter: Callable[[], float]
    tolerance: float = 0.03  # of the ratio, which is fine within it whatever the interval
    at_least: bool = False  # platter may be better (larger) by any amount
    by_median: bool = False  # of 6 pairs and more the ratio is the median, which one disturbed run does not move
    times: int = 1  # as many pairs for each that was asked: of short runs, where the machine's own noise is large


class NotReported(Exception):
    """A figure that one of the two did not give this time, as happens on a disturbed machine."""


class Place:
    """Where the comparisons run: the target, a directory for files of their own, the program, and options of the command line."""

    def __init__(self, target, options):
        self.target = target
        self.program = options.get('platter') or os.path.join(HERE, '..', '..', 'build', 'src', 'platter')
        self.pairs = int(options.get('pairs', 5))
        self.size = int(options.get('size', 64 << 20))
        self.seconds = float(options.get('seconds', 5))
        self.parent = options.get('dir')
        self.options = options

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix='platter-versus-', dir=self.parent)
        self.dir = self.folder.name
        # platter keeps the processors awake where latency is measured; so it has to be for fio.
        try:
            self.awake = open('/dev/cpu_dma_latency', 'wb', buffering=0)
            self.awake.write((0).to_bytes(4, 'little'))
        except OSError:
            self.awake = None
        return self

    def __exit__(self, *_):
        if self.awake:
            self.awake.close()
        self.folder.cleanup()

    def target_size(self):
        with open(self.target, 'rb') as f:
            return f.seek(0, os.SEEK_END)

    def path(self, name):
        return os.path.join(self.dir, name)

    @contextlib.contextmanager
    def huge_pages(self, size):
        """fio's arguments for buffers of so many bytes in huge pages, which the kernel keeps ready meanwhile; none where it cannot."""
        path = '/proc/sys/vm/nr_hugepages'
        try:
            with open('/proc/meminfo') as f:
                each = next(int(line.split()[1]) << 10 for line in f if line.startswith('Hugepagesize'))
            with open(path) as f:
                before = int(f.read())
            with open(path, 'w') as f:
                f.write(str(before + math.ceil(size / each)))
        except (OSError, StopIteration):
            yield []
            return
        try:
            with open(path) as f:
                is_enough = int(f.read()) >= before + math.ceil(size / each)
            yield ['--iomem=shmhuge'] if is_enough else []
        finally:
            with open(path, 'w') as f:
                f.write(str(before))

    def fio(self, *args, readonly=True):
        """One job as fio's JSON."""
        return self.fio_jobs(*args, readonly=readonly)[0]

    def fio_jobs(self, *args, readonly=True):
        guard = ['--readonly'] if readonly else []
        out = subprocess.run(['fio', *guard, '--output-format=json', *args], check=True, capture_output=True, text=True, cwd=self.dir).stdout
        return json.loads(out[out.index('{'):])['jobs']

    def platter(self, *args):
        """One run as its document. Disk errors, a verdict of no, and none (4, 5, 6) are results, too."""
        path = self.path('result.json')
        done = subprocess.run([self.program, *args, '--quiet', '--json=' + path], capture_output=True, text=True)
        if done.returncode not in (0, 4, 5, 6):
            raise RuntimeError('platter %s: %s' % (' '.join(args), done.stderr.strip()))
        with open(path) as f:
            return json.load(f)

    def lasting_name(self, device):
        """By what name consent is given to writing on it."""
        found = re.search("--destroy-data=('[^']*'|[^ ;]*)", self.platter('info', device)['figures']['write'])
        if not found:
            raise RuntimeError('%s may not be written' % device)
        return found.group(1).strip("'")


def bareloop(how, record, path, *more):
    """Bytes per second of a loop of nothing but the system calls (tests/bench/bareloop)."""
    done = subprocess.run([BARELOOP, how, str(record), path, *more], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[1])


def rows_of(document, table):
    """The rows of a table as dicts."""
    t = document['tables'][table]
    keys = [c['key'] for c in t['columns']]
    return [dict(zip(keys, r)) for r in t['rows']]


def interval(ratios, by_median):
    """Their mean or median with its 95 % interval: by Student's t on their logarithms (2 is as far from 1 as 1/2); of a median of 6 or more, by order
    statistics."""
    n = len(ratios)
    if by_median and n >= 6:
        below, k = 0.0, 0  # the largest k with P(fewer than k of n lie below the median) <= 0.025
        while below + math.comb(n, k) * 0.5 ** n <= 0.025:
            below += math.comb(n, k) * 0.5 ** n
            k += 1
        return statistics.median(ratios), sorted(ratios)[k - 1], sorted(ratios)[n - k]
    logs = [math.log(r) for r in ratios]
    mean = statistics.mean(logs)
    half = student(n - 1) * statistics.stdev(logs) / math.sqrt(n) if n > 1 else math.nan
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def compare(measurement, comparison, pairs):
    """Forth and back in turn. The ratio is platter over fio, of the pairs."""
    got = {comparison.fio: [], comparison.platter: []}
    for k in range(pairs * comparison.times):
        for f in (comparison.fio, comparison.platter) if k % 2 == 0 else (comparison.platter, comparison.fio):
            got[f].append(f())
            if got[f][-1] is None:
                raise NotReported(comparison.label)
    mean, low, high = interval([b / a for a, b in zip(got[comparison.fio], got[comparison.platter])], comparison.by_median)
    n = pairs * comparison.times
    agree = abs(mean - 1) <= comparison.tolerance or low <= 1 <= high or (comparison.at_least and mean > 1)
    return {'measurement': measurement, 'label': comparison.label, 'unit': comparison.unit, 'pairs': n, 'agree': agree,
            'fio': sum(got[comparison.fio]) / n * comparison.scale, 'platter': sum(got[comparison.platter]) / n * comparison.scale,
            'ratio': mean, 'low': None if n < 2 else low, 'high': None if n < 2 else high}
