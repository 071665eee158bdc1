# SPDX-License-Identifier: GPL-2.0-or-later
"""Mujunen 2001, "The Sustained Disk Streaming Performance of COTS Linux PCs": tables 1, 2, 3, 5 and 7.

The paper's disks carry 2 GB partitions at their start and end and a large one between; 40960-byte blocks, a ring of 4000 of them. Here every run lasts
seconds instead of minutes. The truth of one disk is its profile's rate there; of several in turn, the slowest one's times their number (nothing else is
in the way here; the paper's bus took 400 Mbit/s, so its fast pairs and threes stay below); of several in balance, their sum. A drive's write cache takes
its 512 KiB at once, which the bounds of short runs allow for.
"""
import os

from . import column

BLOCK, RING = 40960, 4000 * 40960
RATE = 32000000
PROFILES = {'IBM': 'ibm-deskstar-60gxp', 'Max': 'maxtor-diamondmax-80', 'IB2': 'ibm-deskstar-60gxp'}
EDGE = 2 * 10**9
# A sector in the middle partition that takes 24 turns (0.2 s) of trying, and a write-back cache that holds what comes meanwhile (16 MB/s, half full).
RETRY = ['write_cache_kb 8192', 'slow %d 1 1 24' % ((EDGE + 6000000) // 512)]


def with_retry(c, profile):
    """The profile with such a place and cache: a file of its own."""
    text = open(os.path.join(os.environ['PLATTER_SIMDISK_PROFILES'], profile + '.disk')).read()
    path = os.path.join(c.dir, profile + '-retry.disk')
    with open(path, 'w') as f:
        f.write('\n'.join([line for line in text.splitlines() if not line.startswith('write_cache_kb')] + RETRY) + '\n')
    return path


class Disk:
    def __init__(self, c, name, profile):
        self.c, self.profile = c, profile
        size = c.truth(self.profile)['size_bytes']
        end = (size - EDGE) // 4096 * 4096
        self.first = {'s': 0, 'm': EDGE, 'e': end}
        places = [(0, EDGE), (EDGE, end - EDGE), (end, EDGE)]
        self.node = c.disk(name, self.profile, *['--partition=%d,%d' % p for p in places])
        self.parts = {'s': self.node + 'p1', 'm': self.node + 'p2', 'e': self.node + 'p3'}

    def true_rate(self, place, size):
        return self.c.true_rate(self.profile, self.first[place], int(size))


class Setup:
    """The three drives, each started when it is first asked for. Those with retries are drives of their own, the rest are the others'."""
    def __init__(self, c, retries=(), others=None):
        self.c, self.made, self.retries, self.others = c, {}, retries, others

    def __getitem__(self, name):
        if self.others and name not in self.retries:
            return self.others[name]
        if name not in self.made:
            is_slow = name in self.retries
            profile = with_retry(self.c, PROFILES[name]) if is_slow else PROFILES[name]
            self.made[name] = Disk(self.c, name + '-retry' * is_slow, profile)
        return self.made[name]

    def record(self, where, *words, read=False):
        """where: 'IBM s, Max e'."""
        parts = [self[w.split()[0]].parts[w.split()[1]] for w in where.split(', ')]
        consent = ['--read'] if read else ['--write', *['--destroy-data=' + p.split('/')[-1] for p in parts]]
        return self.c.run('stream', *consent, '--block=%d' % BLOCK, '--depth=4', *words, *parts)

    def full_speed(self, where, layout):
        """Mbit/s measured and true, of the window in which all were busy."""
        doc = self.record(where, '--layout=' + layout, '--time=%gs' % self.c.seconds)
        moved = column(doc, 'targets', 'bytes')
        rates = [self[w.split()[0]].true_rate(w.split()[1], max(m, BLOCK)) for w, m in zip(where.split(', '), moved)]
        truth = len(rates) * min(rates) if layout == 'roundrobin' else sum(rates)
        return doc['figures']['rate_bytes_per_s'] * 8e-6, truth * 8e-6


def bound(c, least, truth_mbit):
    """The least, and what the write cache adds to a run of this length."""
    return least + 2**19 / (truth_mbit / 8e-6 * c.seconds)


def row(what, paper, truth, measured, within, unit='Mbit/s', **more):
    return {'what': what, 'paper': paper, 'truth': truth, 'measured': measured, 'within': within, 'unit': unit, **more}


def table_1(disks):
    heading = 'Table 1: writing, by place on the disk'
    for where, paper in [('IBM s', 268.3), ('IBM e', 142.6), ('Max s', 233.6), ('Max e', 131.0)]:
        measured, truth = disks.full_speed(where, 'balance')
        yield row(where, paper, truth, measured, bound(disks.c, 0.02, truth), heading=heading)
        heading = None


def several(disks, heading, pairs):
    for where, paper, layout, note in pairs:
        measured, truth = disks.full_speed(where, layout)
        what = where + (', in turn' if layout == 'roundrobin' else ', balanced')
        yield row(what, paper, truth, measured, bound(disks.c, 0.03, truth / 3), heading=heading, note=note)
        heading = None


def table_2(disks):
    return several(disks, 'Table 2: two disks at once', [
        ('IBM s, Max s', 407.66, 'roundrobin', ''),
        ('IBM s, Max e', 294.28, 'roundrobin', ''),
        ('IBM e, Max s', 282.17, 'roundrobin', ''),
        ('IBM e, Max e', 274.49, 'roundrobin', ''),
        ('IBM s, Max e', None, 'balance', 'the slow one does not bind the fast one'),
    ])


def table_3(disks):
    return several(disks, 'Table 3: three disks at once', [
        ('IBM s, Max s, IB2 s', 416.7, 'roundrobin', "the paper's bus was full"),
        ('IBM e, Max e, IB2 e', 360.9, 'roundrobin', ''),
        ('IBM e, Max e, IB2 e', None, 'balance', ''),
    ])


def sustained(disks, where, *words, read=False, seconds=None, ring=RING):
    doc = disks.record(where, '--rate=%dB' % RATE, '--layout=roundrobin', '--buffer=%d' % ring, '--time=%gs' % (seconds or disks.c.seconds), *words,
                       read=read)
    return doc['figures']


def table_5(disks):
    """The peaks of the paper are those of Linux 2.4 and its page cache; what has to be true here is that they are small and nothing is lost."""
    f = sustained(disks, 'IBM m, Max m', seconds=2 * disks.c.seconds)
    yield row('IBM m, Max m, 32 MB/s', 255.992, RATE * 8e-6, f['rate_bytes_per_s'] * 8e-6, 100e-6, heading='Table 5: 256 Mbit/s through the ring, writing')
    yield row('  most in the ring', 8.41, None, f['peak_bytes'] * 1e-6, None, 'MB', holds=f['sustained'] == 1 and f['peak_bytes'] < 9e6,
              note='sustained, nothing lost' if f['sustained'] == 1 else 'NOT sustained')


def alone(disks, place, share, heading):
    """One disk at a rate that it cannot hold: the ring fills at what comes less what the disk takes. It is a `share` of the paper's, to be full soon.
    Where the two rates are near each other a small error of the one is a large one of the moment: the disk's rate, which moment and bytes tell, is judged."""
    ring = int(RING * share) // BLOCK * BLOCK
    true = disks['Max'].true_rate(place, 10**8)
    at = ring / (RATE - true)
    seconds = at + disks.c.seconds
    f = sustained(disks, 'Max ' + place, seconds=seconds, ring=ring)
    when = f['first_overflow_s'] or seconds
    note = '"2147483042 (2GB) ... overflow" in the paper, whose counter was full; ' if place == 'm' else ''
    cache = 2**19 / true
    yield row('Max %s alone, until it overflowed' % place, None, true * 8e-6, (RATE - ring / when) * 8e-6, 0.02 + cache / when, heading=heading,
              note=note + 'full after %.2f s, %.2f s by the truth' % (when, at))
    yield row('  by what was dropped until the end', None, true * 8e-6, (RATE - (ring + f['dropped_bytes']) / seconds) * 8e-6, 0.02 + cache / seconds,
              note='%.2f MB, %.2f MB by the truth' % (f['dropped_bytes'] * 1e-6, ((RATE - true) * seconds - ring) * 1e-6))


def table_7(disks):
    """What is written is in the drive's write-back cache at once: a place that the drive has to try again and again is hidden there. Nothing hides it from
    who reads: each block is wanted in its time. So playing back fills the ring more, by the time of the trying. One such place is in the way here."""
    heading = 'Table 7: most in the ring at 256 Mbit/s; 0.2 s of retries on the way, direct I/O'
    slow = Setup(disks.c, retries=['IBM'], others=disks)
    least = 0.15 * RATE
    for where, paper in [('IBM m, IB2 m', (6.9, 22.9)), ('IBM m, Max m', (34.8, 52.0))]:
        write = sustained(slow, where)
        read = sustained(slow, where, read=True)
        yield row(where + ', writing', paper[0], None, write['peak_bytes'] * 1e-6, None, 'MB', heading=heading, holds=write['sustained'] == 1 and write['peak_bytes'] < least)
        yield row('  the same, playing back', paper[1], None, read['peak_bytes'] * 1e-6, None, 'MB',
                  holds=read['sustained'] == 1 and read['peak_bytes'] > least)
        heading = None
    yield from alone(disks, 'm', 0.06, 'Table 7: one disk alone overflows (a smaller ring)')
    yield from alone(disks, 'e', 0.1, None)


def tables(c):
    disks = Setup(c)
    for number, table in [(1, table_1), (2, table_2), (3, table_3), (5, table_5), (7, table_7)]:
        if c.wants(number):
            yield from table(disks)
