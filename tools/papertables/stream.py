# SPDX-License-Identifier: GPL-2.0-or-later
"""Mujunen 2001, "The Sustained Disk Streaming Performance of COTS Linux PCs": tables 1, 2, 3, 5 and 7.

The paper's disks carry 2 GB partitions at their start and end and a large one between; 40960-byte blocks, a ring of 4000 of them. Here every run lasts
seconds instead of minutes. The truth of one disk is its profile's rate there; of several in turn, the slowest one's times their number (nothing else is
in the way here; the paper's bus took 400 Mbit/s, so its fast pairs and threes stay below); of several in balance, their sum. A drive's write cache takes
its 512 KiB at once, which the bounds of short runs allow for.
"""
from . import column

BLOCK, RING = 40960, 4000 * 40960
RATE = 32000000
PROFILES = {'IBM': 'ibm-deskstar-60gxp', 'Max': 'maxtor-diamondmax-80', 'IB2': 'ibm-deskstar-60gxp'}
EDGE = 2 * 10**9


class Disk:
    def __init__(self, c, name):
        self.c, self.profile = c, PROFILES[name]
        size = c.truth(self.profile)['size_bytes']
        end = (size - EDGE) // 4096 * 4096
        self.first = {'s': 0, 'm': EDGE, 'e': end}
        places = [(0, EDGE), (EDGE, end - EDGE), (end, EDGE)]
        self.node = c.disk(name, self.profile, *['--partition=%d,%d' % p for p in places])
        self.parts = {'s': self.node + 'p1', 'm': self.node + 'p2', 'e': self.node + 'p3'}

    def true_rate(self, place, size):
        return self.c.true_rate(self.profile, self.first[place], int(size))


class Setup:
    """The three drives, each started when it is first asked for."""
    def __init__(self, c):
        self.c, self.made = c, {}

    def __getitem__(self, name):
        if name not in self.made:
            self.made[name] = Disk(self.c, name)
        return self.made[name]

    def record(self, where, *words, read=False):
        """where: 'IBM s, Max e'."""
        parts = [self[w.split()[0]].parts[w.split()[1]] for w in where.split(', ')]
        consent = ['--read'] if read else ['--write', *['--destroy-data=' + p.split('/')[-1] for p in parts]]
        return self.c.run('stream', *consent, '--block=%d' % BLOCK, *words, *parts)

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
    doc = disks.record(where, '--rate=%d' % RATE, '--layout=roundrobin', '--buffer=%d' % ring, '--time=%gs' % (seconds or disks.c.seconds), *words,
                       read=read)
    return doc['figures']


def table_5(disks):
    """The peaks of the paper are those of Linux 2.4 and its page cache; what has to be true here is that they are small and nothing is lost."""
    f = sustained(disks, 'IBM m, Max m', seconds=2 * disks.c.seconds)
    yield row('IBM m, Max m, 32 MB/s', 255.992, RATE * 8e-6, f['rate_bytes_per_s'] * 8e-6, 100e-6, heading='Table 5: 256 Mbit/s through the ring, writing')
    yield row('  most in the ring', 8.41, None, f['peak_bytes'] * 1e-6, None, 'MB', holds=f['sustained'] == 1 and f['peak_bytes'] < 9e6,
              note='sustained, nothing lost' if f['sustained'] == 1 else 'NOT sustained')


def alone(disks, place, share, heading):
    """One disk at a rate that it cannot hold: the ring fills at what comes less what the disk takes. It is a `share` of the paper's, to be full soon."""
    ring = int(RING * share) // BLOCK * BLOCK
    true = disks['Max'].true_rate(place, 10**8)
    truth = ring / (RATE - true)
    seconds = truth + disks.c.seconds
    f = sustained(disks, 'Max ' + place, seconds=seconds, ring=ring)
    # 2 % of the disk's rate is allowed; how much that is of the difference depends on how near the two rates are.
    within = 0.02 * true / (RATE - true) + 0.005
    yield row('Max %s alone: overflow at' % place, None, truth, f['first_overflow_s'] or 0.0, within, 's', heading=heading,
              note='"2147483042 (2GB) ... overflow" in the paper, whose counter was full' if place == 'm' else '')
    yield row('  dropped by the end', None, ((RATE - true) * seconds - ring) * 1e-6, f['dropped_bytes'] * 1e-6, 1.5 * within, 'MB')


def table_7(disks):
    """Through the page cache, as in the paper: it takes what is written at once, but has to wait for what is read."""
    heading = 'Table 7: most in the ring at 256 Mbit/s, through the page cache as then'
    for where, paper in [('IBM m, IB2 m', (6.9, 22.9)), ('IBM m, Max m', (34.8, 52.0))]:
        write = sustained(disks, where, '--cached')
        read = sustained(disks, where, '--cached', read=True)
        yield row(where + ', writing', paper[0], None, write['peak_bytes'] * 1e-6, None, 'MB', heading=heading, holds=write['sustained'] == 1)
        yield row('  the same, playing back', paper[1], None, read['peak_bytes'] * 1e-6, None, 'MB',
                  holds=read['sustained'] == 1 and read['peak_bytes'] > write['peak_bytes'])
        heading = None
    yield from alone(disks, 'm', 0.1, 'Table 7: one disk alone overflows (direct, a smaller ring)')
    yield from alone(disks, 'e', 0.1, None)


def tables(c):
    disks = Setup(c)
    for number, table in [(1, table_1), (2, table_2), (3, table_3), (5, table_5), (7, table_7)]:
        if c.wants(number):
            yield from table(disks)
