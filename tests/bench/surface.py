#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What programs that read a whole disk find of planted faults, in how long and at what cost.

    tests/bench/surface.py --platter build/src/platter --simdisk build/tools/simdisk/platter-simdisk
    tests/bench/surface.py ... --user=100      what a scan costs somebody with 20 random reads a second, for so many s each

The disk is simulated, in real time (platter-simdisk(8)); root. Programs that are not installed are left out. Prints tables in Markdown."""
import argparse, json, mmap, os, random, re, resource, shutil, subprocess, sys, tempfile, time

SLOW = ((1000000, 1), (2000000, 1), (2600000, 4))  # LBA, revolutions; 8 sectors each
BAD = (3200000, 4400000)


def run(words, **more):
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(['chrt', '-f', '15'] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors='replace', **more)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done, time.monotonic() - start, cpu


class Disk:
    def __init__(self, simdisk, profile, work, is_whole):
        self.simdisk, self.work = simdisk, work
        path = os.path.join(work, 'planted.disk')
        with open(profile) as f, open(path, 'w') as out:
            out.write(f.read() if is_whole else re.sub(r'(?m)^capacity_lba .*$', 'capacity_lba 6000000', f.read()))
            for lba, revolutions in SLOW:
                out.write('slow %d 8 1 %d\n' % (lba, revolutions))
            for lba in BAD:
                out.write('bad %d 8 r 30\n' % lba)
        self.words = ['--run-dir', os.path.join(work, 'run')]
        done = subprocess.run([simdisk, 'start'] + self.words + ['--watch=%d' % os.getpid(), '--max-life=40m', '--name=bench', path],
                              stdout=subprocess.PIPE, text=True, check=True)
        self.device = done.stdout.strip()

    def stop(self):
        subprocess.run([self.simdisk, 'stop'] + self.words + ['bench', '--force'])


def rows(document, table):
    t = document['tables'].get(table, {'columns': [], 'rows': []})
    return [dict(zip([c['key'] for c in t['columns']], r)) for r in t['rows']]


def platter(args, disk, more=()):
    path = os.path.join(disk.work, 'surface.json')
    done, took, cpu = run([args.platter, 'surface', '--quiet', '--without=files', '--json=' + path, *more, disk.device])
    document = json.load(open(path))
    kinds = {(r['lba'], r['kind']) for r in rows(document, 'slow')}
    slow = sum((lba, 'always') in kinds for lba, _ in SLOW)
    bad = sum((lba, 'unreadable') in kinds for lba in BAD)
    false = sum(k in ('always', 'unreadable') for _, k in kinds) - slow - bad
    rate = document['figures']['rate_bytes_per_s'] / 1e6
    return took, cpu, '%d of %d weak, %d of %d unreadable, by LBA; %d false; %.1f MB/s scanning' % (
        slow, len(SLOW), bad, len(BAD), false, rate)


def badblocks(args, disk):
    done, took, cpu = run(['badblocks', '-b', '4096', '-sv', disk.device])
    found = {int(word) for word in done.stdout.split() if word.isdigit()}
    return took, cpu, '%d of %d unreadable, by block of 4096; %d false; no times' % (
        sum(lba // 8 in found for lba in BAD), len(BAD), len(found - {lba // 8 for lba in BAD}))


def fio(args, disk):
    done, took, cpu = run(['fio', '--name=r', '--rw=read', '--bs=1M', '--iodepth=4', '--ioengine=libaio', '--direct=1', '--continue_on_error=read',
                           '--output-format=json', '--filename=' + disk.device])
    job = json.loads(done.stdout[done.stdout.index('{'):])['jobs'][0]
    return took, cpu, '%s failed requests, no places; longest %.0f ms' % (job.get('total_err', '?'), job['read']['clat_ns']['max'] / 1e6)


def diskscan(args, disk):
    out = os.path.join(disk.work, 'diskscan.json')
    done, took, cpu = run(['diskscan', '-o', out, disk.device], stdin=subprocess.DEVNULL)
    if not os.path.exists(out) or not os.path.getsize(out):
        return took, cpu, 'refused: ' + ' '.join((done.stdout + done.stderr).strip().splitlines()[-2:])
    said = re.findall(r'(?im)^.*error.*$', done.stdout + done.stderr)
    return took, cpu, '%d lines of errors' % len(said)


def faults(args, disk):
    print('| program | time | CPU | finds |\n|---|---|---|---|')
    for name, fn in (('platter surface', platter), ('badblocks -sv', badblocks), ('fio, 1 MiB, 4 in flight', fio), ('diskscan', diskscan)):
        if name.split()[0].strip(',') != 'platter' and not shutil.which(name.split()[0].strip(',')):
            print('| %s | not installed | | |' % name)
            continue
        took, cpu, what = fn(args, disk)
        print('| %s | %.1f s | %.1f s | %s |' % (name, took, cpu, what), flush=True)


def user_reads(device, seconds):
    """Milliseconds that each of somebody's random reads took, sorted."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(15))
    dice, buf, took = random.Random(23), mmap.mmap(-1, 4096), []
    fd = os.open(device, os.O_RDONLY | os.O_DIRECT)
    blocks = os.lseek(fd, 0, os.SEEK_END) // 4096
    now = end = time.monotonic()
    end += seconds
    while now < end:
        due = now + dice.expovariate(20)
        time.sleep(max(0, due - time.monotonic()))
        begin = time.monotonic()
        os.preadv(fd, [buf], dice.randrange(blocks) * 4096)
        now = time.monotonic()
        took.append((now - begin) * 1e3)
    os.close(fd)
    return sorted(took)


def user(args, disk):
    print('| beside it | reads | median | 99 % | times that alone | scanned |\n|---|---|---|---|---|---|')
    alone = None
    for name, words in (('nothing', None), ('platter surface --idle', ['--idle']), ('nothing', None), ('platter surface --idle', ['--idle']),
                        ('nothing', None), ('platter surface', [])):
        path, scan = os.path.join(disk.work, 'surface.json'), None
        if words is not None:
            scan = subprocess.Popen(['chrt', '-f', '15', args.platter, 'surface', '--quiet', '--without=files', '--time=%ds' % (args.user + 2), '--json=' + path,
                                     *words, disk.device], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(1)
        took = user_reads(disk.device, args.user)
        if scan:
            scan.wait()
        p99 = took[len(took) * 99 // 100]
        alone = alone or p99
        scanned = '%.0f MB' % (json.load(open(path))['figures']['scanned_bytes'] / 1e6) if scan else ''
        print('| %s | %d | %.1f ms | %.1f ms | %.2f | %s |' % (name, len(took), took[len(took) // 2], p99, p99 / alone, scanned), flush=True)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--platter', required=True)
    p.add_argument('--simdisk', required=True)
    p.add_argument('--profile', default=os.path.join(here, '../../tools/simdisk/profiles/modern-4tb.disk'))
    p.add_argument('--user', type=int, default=0)
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as work:
        disk = Disk(args.simdisk, args.profile, work, args.user > 0)
        try:
            (user if args.user else faults)(args, disk)
        finally:
            disk.stop()


if __name__ == '__main__':
    sys.exit(main())
