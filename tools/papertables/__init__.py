# SPDX-License-Identifier: GPL-2.0-or-later
"""What the papers' tables share: running platter, simulated disks as block devices, their truth, and the judgement of a row.

A paper is a file here with tables(context), a generator of rows: dicts with
    heading   of the table, in its first row only
    what      what the row is about
    paper     the published figure, or None
    truth     what has to come out, or None
    measured  what came out
    unit
    within    how far measured may lie from truth (a ratio), or None
    holds     instead of within: True or False, the shape is as it should be
    note      a line below it, or nothing
"""
import json
import os
import shutil
import subprocess
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..')


class CannotRun(Exception):
    """This machine lacks something."""


class Context:
    def __init__(self, options):
        self.seconds = float(options.get('seconds', 3))
        self.only = set(options['only'].split(',')) if options.get('only') else None
        self.platter = options.get('platter') or os.path.join(TOP, 'build', 'src', 'platter')
        self.simdisk = options.get('simdisk') or os.path.join(TOP, 'build', 'tools', 'simdisk', 'platter-simdisk')
        self.sim = options.get('sim') or os.path.join(os.path.dirname(self.platter), '..', 'tests', 'sim', 'platter-sim')
        self.disks = []

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix='paper-tables-')
        os.environ.setdefault('PLATTER_SIMDISK_PROFILES', os.path.join(TOP, 'tools', 'simdisk', 'profiles'))
        return self

    def __exit__(self, *_):
        for name in self.disks:
            subprocess.run([self.simdisk, 'stop', '--run-dir', self.run_dir, '--force', name], capture_output=True, check=False)
        shutil.rmtree(self.dir, ignore_errors=True)

    def wants(self, table):
        return self.only is None or str(table) in self.only

    @property
    def run_dir(self):
        return os.path.join(self.dir, 'simdisk')

    def disk(self, name, profile, *options):
        """A simulated disk until the end; its device."""
        if os.geteuid() != 0:
            raise CannotRun('simulated disks need root')
        if not os.path.exists('/dev/fuse'):
            raise CannotRun('there is no /dev/fuse')
        done = subprocess.run([self.simdisk, 'start', '--run-dir', self.run_dir, '--watch=%d' % os.getpid(), '--max-life=30m', '--name=' + name, *options,
                               profile], capture_output=True, text=True, check=False)
        if done.returncode:
            raise (CannotRun if 'permitted' in done.stderr or 'denied' in done.stderr else RuntimeError)(done.stderr.strip())
        self.disks.append(name)
        return done.stdout.split()[-1]

    def truth(self, profile, *options):
        done = subprocess.run([self.simdisk, 'truth', '--json', *options, profile], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    def true_rate(self, profile, first, size):
        """Bytes per second of streaming through a range."""
        return self.truth(profile, '--range=%d,%d' % (first, size))[0]['rate_bytes_per_s']

    def run_in_virtual_time(self, disks, *words):
        """The same on disks ("sda=PROFILE sdb=PROFILE") that exist in virtual time only."""
        return self.run(*words, program=self.sim, env={**os.environ, 'PLATTER_SIM_DISKS': disks})

    def run(self, *words, program=None, env=None):
        """platter with these words; its document. Exit statuses that are answers are fine."""
        path = os.path.join(self.dir, 'result.json')
        done = subprocess.run([program or self.platter, *words, '--quiet', '--json=' + path], capture_output=True, text=True, check=False, env=env)
        if done.returncode not in (0, 4, 5):
            raise RuntimeError('platter %s: %s' % (' '.join(words), done.stderr.strip()))
        with open(path) as f:
            return json.load(f)

    @staticmethod
    def judged(rows):
        for row in rows:
            off = row['off'] = row['measured'] / row['truth'] - 1 if row.get('within') is not None else None
            row['ok'] = bool(row['holds']) if 'holds' in row else off is None or abs(off) <= row['within']
            yield row


def column(document, table, key):
    """A column of a table of a document."""
    t = document['tables'][table]
    at = [c['key'] for c in t['columns']].index(key)
    return [r[at] for r in t['rows']]
