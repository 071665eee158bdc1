#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""How long platter, fio and zcav take to know the rates of a disk's places equally well.

    tests/bench/zones.py --platter build/src/platter --simdisk build/tools/simdisk/platter-simdisk [PROFILE...]

The disk is simulated, in real time (platter-simdisk(8)); root. platter zones runs once; the median half width of the intervals of its places is what the others
have to reach. fio states none: it reads SECONDS of eight places, RUNS times each, beginning elsewhere in the place each time; from the scatter of these follows how many
such runs each place needs. zcav reads all, once: what it would take follows from its first part. Prints a table in Markdown."""
import argparse, json, os, random, statistics, subprocess, sys, tempfile, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../tools'))
from versus import student  # noqa: E402

PLACES, RUNS, SECONDS, ZCAV_S = 8, 6, (0.25, 1.0), 60


def run(words):
    start = time.monotonic()
    done = subprocess.run(['chrt', '-f', '15'] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace')
    return done, time.monotonic() - start


def platter(args, device, work):
    path = os.path.join(work, 'zones.json')
    _, took = run([args.platter, 'zones', '--quiet', '--json=' + path, device])
    curve = json.load(open(path))['tables']['curve']
    rows = [dict(zip([c['key'] for c in curve['columns']], r)) for r in curve['rows']]
    return took, [(r['offset_bytes'], r['rate_bytes_per_s'], (r['high'] - r['low']) / 2 / r['rate_bytes_per_s']) for r in rows]


def needed(scatter, width):
    """Runs, of which the mean's 95 % interval by Student's t is this wide."""
    for n in range(2, 100000):
        if student(n - 1) * scatter / n ** 0.5 <= width:
            return n


def fio(device, rows, seconds, width, rng):
    costs, scatters = [], []
    for offset, rate, _ in rows[:: max(1, len(rows) // PLACES)][:PLACES]:
        size = max(1 << 20, int(rate * seconds) >> 20 << 20)
        got = []
        for _ in range(RUNS):
            at = offset + (rng.randrange(0, 4 * size) >> 12 << 12 if offset == rows[0][0] else -(rng.randrange(0, 4 * size) >> 12 << 12))
            done, took = run(['fio', '--name=r', '--rw=read', '--bs=1M', '--iodepth=4', '--ioengine=libaio', '--direct=1', '--output-format=json',
                              '--offset=%d' % max(0, at), '--size=%d' % size, '--filename=' + device])
            got.append(json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]['read']['bw_bytes'])
            costs.append(took)
        scatters.append(statistics.stdev(got) / statistics.mean(got))
    scatter = statistics.median(scatters)
    return scatter, needed(scatter, width) * len(rows) * statistics.mean(costs)


def zcav(device, size):
    """Seconds for all of the disk, from what it reads in the first ZCAV_S; None: not installed."""
    try:
        done = subprocess.Popen(['zcav', '-u', 'root', device], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError:
        return None
    start = time.monotonic()
    try:
        done.communicate(timeout=ZCAV_S)
        return time.monotonic() - start
    except subprocess.TimeoutExpired:
        pass
    with open('/proc/%d/io' % done.pid) as f:
        read = int(dict(line.split(': ') for line in f)['read_bytes'])
    done.kill()
    done.communicate()
    return ZCAV_S * size / read if read else None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--platter', required=True)
    p.add_argument('--simdisk', required=True)
    p.add_argument('profiles', nargs='*', default=['ibm-deskstar-60gxp', 'modern-4tb', 'nearline-20tb'])
    args = p.parse_args()
    rng = random.Random(1)
    print('| disk | half width of a place | platter zones | ' + ' | '.join('fio, runs of %g s (scatter)' % s for s in SECONDS) + ' | zcav, no interval |')
    print('|---' * (4 + len(SECONDS)) + '|')
    for name in args.profiles:
        with tempfile.TemporaryDirectory() as work:
            words = ['--run-dir', os.path.join(work, 'run')]
            device = subprocess.run([args.simdisk, 'start'] + words + ['--watch=%d' % os.getpid(), '--max-life=60m', '--name=bench', name],
                                    stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
            try:
                took, rows = platter(args, device, work)
                width = statistics.median(w for _, _, w in rows)
                size = int(subprocess.run(['blockdev', '--getsize64', device], stdout=subprocess.PIPE, text=True, check=True).stdout)
                cells = ['%s (%.1f %%)' % (show(s), 100 * scatter) for scatter, s in (fio(device, rows, seconds, width, rng) for seconds in SECONDS)]
                whole = zcav(device, size)
                print('| `%s` | %.2f %% | %s | %s | %s |' % (name, 100 * width, show(took), ' | '.join(cells), show(whole) if whole else 'not installed'), flush=True)
            finally:
                subprocess.run([args.simdisk, 'stop'] + words + ['bench', '--force'])


def show(s):
    return '%.0f s' % s if s < 600 else '%.0f min' % (s / 60) if s < 7200 else '%.1f h' % (s / 3600)


sys.exit(main())
