# SPDX-License-Identifier: GPL-2.0-or-later
"""Longbottom 1997, "Disk and Transaction Random Access Test" (diskrand): tables 9.2 to 9.5, 10.1 and 10.2, those of the Pentium Pro.

Its disk is the profile quantum-fireball-tm2110a, its file the first 40 MB. Of 20 requests of a transaction 12 go to the disk, as the paper has it (13 MB
of cache for 40 MB: a miss rate of 0.61 in section 11); 8 are the cache's and with the other work of a request 20 ms of processor time, and a
unit of processor time is 100 ms. That makes 0.18 and 0.28 s for one user in tables 9.3 and 9.4, where the paper has 0.18 and 0.27.

The truth of batches of equal transactions without thought is the asymptotic bound min(N / D, 1 / D_max): they interleave without waiting. That of random
work is exact mean value analysis (Reiser and Lavenberg 1980), which is for exponential service; ours varies less, so that queues are shorter and responses
are up to a fifth below it. The service of the disk is that of `platter-simdisk truth`.

In table 9.5 the programs' memory takes from the file cache, which is 4 MB when they have 16: so it is 20 MB less theirs here, and what it misses of
40 MB goes to the disk. Its last rows (20 and 24 MB, where responses of 57 and 115 s appear) are left out: their subject is the paging of Windows NT.
"""
from . import column

DISK = 'quantum-fireball-tm2110a'
SPAN = 40000000
UNIT, DRIVING, MISSES = 0.1, 0.02, 12


def row(what, paper, truth, measured, within, unit, **more):
    return {'what': what, 'paper': paper, 'truth': truth, 'measured': measured, 'within': within, 'unit': unit, **more}


def bound(n, demands):
    rate = min(n / sum(demands), 1 / max(demands))
    return rate, n / rate


def mva(n, demands, think):
    """Throughput and response of n users at stations with these demands."""
    queue = [0.0] * len(demands)
    for k in range(1, n + 1):
        response = [d * (1 + q) for d, q in zip(demands, queue)]
        rate = k / (think + sum(response))
        queue = [rate * r for r in response]
    return rate, sum(response)


class Machine:
    def __init__(self, c):
        self.c = c
        self.service = [r['service_ns'] for r in c.truth(DISK)['random'] if r['span_bytes'] == SPAN][0] * 1e-9

    def figures(self, *words):
        return self.c.run_in_virtual_time('sda=' + DISK, 'transactions', '--range=-%d' % SPAN, '--seed=101', *words, 'sda')

    def batch(self, users, ios, cpu, *words):
        f = self.figures('--users=%d' % users, '--ios=%d' % ios, '--cpu=%dms' % round(1000 * cpu), *words)['figures']
        return f['transactions_per_s'], f['response_mean_ns'] * 1e-9, f


def rows(users, paper, truth, measured, within, heading):
    yield row('%d user%s: throughput' % (users, 's' if users > 1 else ''), paper[0], truth[0], measured[0], within[0], '/s', heading=heading)
    yield row('  response, mean', paper[1], truth[1], measured[1], within[1], 's')


def batch_table(m, heading, ios, cpu, within, paper):
    """No think time. One and the same work for each transaction."""
    seen = {}
    for users, figures in paper.items():
        seen[users] = m.batch(users, ios, cpu, '--count=200')
        yield from rows(users, figures, bound(users, [cpu, ios * m.service]), seen[users], within, heading)
        heading = None
    ratio = seen[4][1] / seen[2][1]
    yield row('  response of 4 over that of 2', paper[4][1] / paper[2][1], 2.0, ratio, 0.05, '', note='linear, and the throughput constant, once something is full')


def table_9_2(m):
    yield from batch_table(m, 'Table 9.2: all processor, next to no disk', 1, UNIT, (0.03, 0.03), {1: (9.09, 0.11), 2: (9.52, 0.18), 4: (10.00, 0.34)})
    one, two, four = (m.batch(n, 1, UNIT, '--count=200')[0] for n in (1, 2, 4))
    yield row('  throughput of 4 over that of 2', 10.00 / 9.52, 1.0, four / two, 0.02, '', note='constant: the processor is full')


def table_9_3(m):
    return batch_table(m, 'Table 9.3: all disk', MISSES, DRIVING, (0.03, 0.03), {1: (5.56, 0.18), 2: (6.25, 0.32), 4: (6.56, 0.60)})


def table_9_4(m):
    return batch_table(m, 'Table 9.4: both', MISSES, UNIT + DRIVING, (0.03, 0.03), {1: (3.70, 0.27), 2: (4.65, 0.42), 4: (5.26, 0.73)})


def table_9_5(m):
    heading, first = 'Table 9.5: four tasks, their memory taken from the file cache', None
    for extra, paper in {4: (4.76, 0.80), 8: (4.26, 0.92), 12: (3.96, 0.99), 16: (3.36, 1.14)}.items():
        misses = round(20 * (1 - (20 - extra) / 40))
        measured = m.batch(4, misses, UNIT + DRIVING, '--count=200')
        first = first or (paper, measured)
        fall = paper[0] / first[0][0], measured[0] / first[1][0]
        yield row('%d MB more: throughput' % extra, paper[0], bound(4, [UNIT + DRIVING, misses * m.service])[0], measured[0], 0.03, '/s', heading=heading)
        yield row('  of that with 4 MB more', fall[0], None, fall[1], None, '', holds=abs(fall[1] - fall[0]) <= 0.1)
        yield row('  response, mean', paper[1], bound(4, [UNIT + DRIVING, misses * m.service])[1], measured[1], 0.03, 's')
        heading = None


YREAD = ['--randomise=work', '--think=5s', '--class=law=uniform', '--time=2000s']


def table_10_1(m):
    heading = 'Table 10.1: random work, 5 s of thought'
    demands = [UNIT + DRIVING, MISSES * m.service]
    knee = (sum(demands) + 5.0) / max(demands)
    for users, paper in {18: (2.96, 0.53), 24: (3.85, 0.67), 30: (4.64, 0.91), 36: (5.16, 1.39), 60: (None, None)}.items():
        measured = m.batch(users, MISSES, UNIT + DRIVING, *YREAD)
        yield from rows(users, paper, mva(users, demands, 5.0), measured, (0.04, 0.25), heading)
        if users == 30:
            yield row('  95 % over the mean', 3.04 / 0.91, 3.0, measured[2]['response_p95_ns'] / measured[2]['response_mean_ns'], 0.2, '')
        heading = None
    low, high = (m.batch(n, MISSES, UNIT + DRIVING, *YREAD) for n in (int(knee / 3), int(2 * knee)))
    yield row('knee: users where queues begin', None, knee, measured[2]['law_knee_users'], 0.1, '', note='by (D + Z) / D_max, D from the run with 60')
    yield row('  a third of them: response', None, mva(int(knee / 3), demands, 5.0)[1], low[1], 0.2, 's', note='think time hides the disk')
    yield row('  twice as many: response', None, int(2 * knee) * max(demands) - 5.0, high[1], 0.05, 's', note='N D_max - Z: it does not any more')
    yield row('  and throughput', None, 1 / max(demands), high[0], 0.03, '/s')


def table_10_2(m):
    document = m.figures('--randomise=work', '--time=3000s',
                         '--class=name=light,users=30,ios=%d,think=5s,law=uniform,cpu=%dms' % (MISSES, 1000 * (UNIT + DRIVING)),
                         '--class=name=heavy,users=2,ios=%d,think=4s,law=uniform,cpu=%dms' % (3 * MISSES, 1000 * 3 * (UNIT + DRIVING)))
    mean = [ns * 1e-9 for ns in column(document, 'classes', 'mean_ns')]
    rate = column(document, 'classes', 'transactions_per_s')
    yield row('30 light users: throughput', 4.50, None, rate[0], None, '/s', heading='Table 10.2: two heavy users among thirty')
    yield row('  response, mean', 1.18, None, mean[0], None, 's', holds=0.7 < mean[0] / 1.18 < 1.6)
    yield row('2 heavy users: throughput', 0.29, None, rate[1], None, '/s')
    yield row('  response, mean', 2.97, None, mean[1], None, 's', holds=0.7 < mean[1] / 2.97 < 1.6)
    yield row('  heavy over light', 2.97 / 1.18, None, mean[1] / mean[0], None, '', holds=2.2 < mean[1] / mean[0] < 3.2, note='three times the work')


def tables(c):
    m = Machine(c)
    for number, table in [('9.2', table_9_2), ('9.3', table_9_3), ('9.4', table_9_4), ('9.5', table_9_5), ('10.1', table_10_1), ('10.2', table_10_2)]:
        if c.wants(number):
            yield from table(m)
