#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/examples.py PLATTER PLATTER-SIM PLATTER-SIMDISK: every command line that README, the tutorial and the manual pages show runs as it is printed.

A device is a simulated disk with the serial number that the line names, a directory one of the test's. What takes minutes is only planned
(--dry-run). Each call of platter ends with 0, or with another status that its page documents and that is a result: 4, 5 or 6. What is no command is a profile, or Python.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
RESULTS = {0, 4, 5, 6}
NO_COMMANDS = ('# table NAME', 'R Hit 2992396 4 13670.0 35942.0')  # of formats
MOST_S = 30  # of one line
PLANNED = re.compile(r'^(?:smr|mark) [^-]|^sustain (?:[^-]|--write)|--memory=|--cpu=|--sweep|--size=1G')  # takes minutes, on a machine or on the simulator's processor
SHORT = ((r'--time=\d+m$', '--time=1s'), (r'--file-size=\d+MB$', '--file-size=64MB'))  # of streams to files, which the next example plays
HERE = re.compile(r'(?<![\w.$/])/(dev|srv|data\d?|disk\d|mnt|var)\b')  # folders of a reader's machine


def plain(line):
    return re.sub(r'\\[&|^]', '', line).replace('\\-', '-').replace('\\e', '\\').replace('\\(aq', "'")


def commands(block):
    """Those of a literal block: each begins with a prompt; where none does, each line is one that no backslash continues."""
    if re.match(r'[#$] ', block):
        return re.split(r'\n(?=[#$] )', block.strip())
    return re.sub(r' *\\\n\s*', ' ', block.strip()).split('\n')


def of_page(path):
    """(line, is a command) of .Dl and of literal blocks."""
    source = path.read_text(encoding='utf-8')
    for m in re.finditer(r'^\.Dl ([^\n]*)$|^\.Bd -literal[^\n]*\n(.*?)^\.Ed$', source, re.M | re.S):
        if m.group(1) and m.group(1) not in NO_COMMANDS:
            yield plain(m.group(1)), True
        elif not m.group(1) and re.match(r'(?:[#$] )?(?:platter(?:-simdisk)?|jq) ', m.group(2)):
            yield from ((line, True) for line in commands(plain(m.group(2))))
        elif not m.group(1) and 'EXAMPLES' in source[:m.start()] and '.Sh SEE ALSO' not in source[:m.start()]:
            yield plain(m.group(2)), False


def of_text(path):
    """The indented commands of README, without what a reader is shown behind them; and those of a tutorial's blocks."""
    source = path.read_text(encoding='utf-8')
    if path.suffix == '.md':
        source = '\n'.join('    ' + line for block in re.findall(r'^```sh\n(.*?)^```', source, re.M | re.S) for line in block.splitlines())
    for line in source.splitlines():
        m = re.match(r'    (?:[^`]*?   )?((?:platter [a-z]+|tools/\S+|meson) .*?|tools/\S+)(?:   .*)?$', line)
        if m:
            yield m.group(1), True


def statuses(command):
    """Those that a page documents."""
    source = (TOP / 'man' / ('platter-%s.8' % command)).read_text(encoding='utf-8')
    own = re.search(r'^\.Sh EXIT STATUS\n(.*?)^\.Sh ', source, re.M | re.S).group(1)
    return {int(n) for n in re.findall(r'\b(\d)\b', own)} | {0}


def profile(path, serial, name):
    text = (TOP / 'tools' / 'simdisk' / 'profiles' / (name + '.disk')).read_text(encoding='utf-8')
    path.write_text(re.sub(r'^(serial|name) .*$', r'\1 %s' % serial, text, flags=re.M), encoding='utf-8')


class Place:
    """A folder that stands for the reader's machine, with platter in front of its path."""

    def __init__(self, folder, platter, sim, simdisk):
        self.folder, self.platter, self.sim = Path(folder), platter, sim
        self.calls = self.folder / 'calls'
        for name in ('bin', 'dev', 'srv', 'data', 'data1', 'data2', 'disk1', 'disk2', 'mnt/usb', 'var/lib/platter', 'var/tmp', 'home/2025', 'home/2026', 'home/all'):
            (self.folder / name).mkdir(parents=True)
        self.home = self.folder / 'home'
        for name in ['sda', 'sdb', 'sdc', 'sdb2', 'sdc2', 'vdb', 'nvme0n1', 'nvme1n1']:
            (self.folder / 'dev' / name).touch()
        self.env = dict(os.environ, LC_ALL='C.UTF-8', PATH='%s:/usr/bin:/bin' % (self.folder / 'bin'), DISK='/dev/sdb', DIR=str(self.folder / 'var/tmp'),
                        EXAMPLES='\n'.join([str(self.folder), platter, sim]), PLATTER_SIM_DISKS='', PYTHONPATH=str(TOP / 'tests'), PYTHONDONTWRITEBYTECODE='1')
        self.write('bin/platter', '#!/bin/sh\nexec /usr/bin/python3 -c "import sys, examples; sys.exit(examples.call(sys.argv[1:]))" "$@"\n')
        for name in ('systemctl', 'hdparm'):
            self.write('bin/' + name, '#!/bin/sh\nexit 0\n')
        self.write('bin/mail', '#!/bin/sh\ncat >/dev/null\n')
        (self.folder / 'bin' / 'platter-simdisk').symlink_to(simdisk)
        self.documents()

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding='utf-8')
        (self.folder / name).chmod(0o755)

    def documents(self):
        """What the reader has from earlier: three runs on one disk, and a trace."""
        places = (['2025/sdb.json', 'all/sdb.json', 'a.json', '../var/lib/platter/1.json'], ['2026/sdb.json', 'b.json', '../var/lib/platter/2.json'],
                  ['zones.json', 'runs.jsonl', '../var/lib/platter/3.json'])
        for seed, names in enumerate(places):
            made = self.home / names[0]
            subprocess.run([self.sim, 'zones', '--zones=start,middle,end', '--seed=%d' % seed, '--quiet', '--json=%s' % made, 'sim:tiny'], check=True, env=self.env)
            text = made.read_text(encoding='utf-8').replace('"fault_totals": {}', '"fault_totals": {"media": 1}')
            for name in names[1:]:
                (self.home / name).write_text(text.replace('\n', ' ') if name.endswith('l') else text, encoding='utf-8')
        (self.home / 'ibm18es.trace').write_text(''.join('R Miss %d 4 %d.0 9000.0\n' % (i * 700, i * 20000) for i in range(5010)), encoding='utf-8')

    def run(self, line):
        """Its problems."""
        self.calls.write_text('', encoding='utf-8')
        line = re.sub(r'^platter-simdisk run (\S+) -- platter (.*)\{1\}', r'platter-simdisk truth \1 && platter \2/dev/sdb', line)  # which would need root
        line = HERE.sub(lambda m: '%s/%s' % (self.folder, m.group(1)), line.replace('$DISK', '/dev/sdb'))
        try:
            run = subprocess.run(['bash', '-c', line], cwd=self.home, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MOST_S, check=False)
        except subprocess.TimeoutExpired:
            return ['not done in %d s' % MOST_S]
        found = []
        for call in self.calls.read_text(encoding='utf-8').splitlines():
            status, command = call.split()[:2]
            if int(status) not in RESULTS & statuses(command):
                found.append('status %s of %s' % (status, command))
        if 'platter ' in line and not self.calls.read_text(encoding='utf-8'):
            found.append('platter was not called')
        if run.returncode and 'platter ' not in line or run.stdout.strip() in ('null', '{}') or re.search(r'not found|syntax error|Usage', run.stderr):
            found.append('status %d' % run.returncode)
        return [one + ': ' + (run.stderr.strip().splitlines() or run.stdout.strip().splitlines() or [''])[-1] for one in found]


def call(args):
    """What stands for `platter ARGS`: the simulator where a device is among the targets."""
    folder, platter, sim = os.environ['EXAMPLES'].split('\n')
    names = [m.group(1) for m in (re.match(r'--(?:destroy|rewrite)-data=(.+)', a) for a in args) if m]
    made, devices = [], 0
    for arg in args:
        if arg.startswith(folder + '/dev/'):
            path = Path(folder) / (Path(arg).name + '.disk')
            kind = 'ssd-sata' if 'nvme' in arg else 'barracuda' if 'write-cache' in ' '.join(args) else 'tiny'
            profile(path, names[devices] if devices < len(names) else 'SIM0' + Path(arg).name, kind)
            arg, devices = 'sim:%s' % path, devices + 1
        made.append(arg)
    if PLANNED.search(' '.join(args)):
        made.append('--dry-run')
    if args[0] == 'stream' and not devices:
        for pattern, short in SHORT:
            made = [re.sub(pattern, short, arg) for arg in made]
    if args[0] == 'transactions' and '--count' not in ' '.join(args) and not devices:
        made.append('--time=1s')
    status = subprocess.run([sim if devices else platter, *made], check=False).returncode
    with open(Path(folder) / 'calls', 'a', encoding='utf-8') as f:
        f.write('%d %s\n' % (status, ' '.join(args)))
    return status


def check_other(place, text):
    """A profile, or Python."""
    if 'import' in text:
        try:
            import pandas  # noqa: F401 pylint: disable=import-outside-toplevel,unused-import
        except ImportError:
            return []
        return [] if subprocess.run([sys.executable, '-c', text], cwd=place.home, check=False).returncode == 0 else ['it fails']
    (place.folder / 'example.disk').write_text('name example\nserial E1\n' + text, encoding='utf-8')
    run = subprocess.run([place.folder / 'bin' / 'platter-simdisk', 'truth', place.folder / 'example.disk'], capture_output=True, text=True, check=False)
    return [] if run.returncode == 0 else [run.stderr]


def check_screen(sim):
    """The screen of `check` in README is one of today, numbers aside."""
    def words(text):
        return ' '.join(re.sub(r'[\d.]+', '0', text).split())
    run = subprocess.run([sim, 'check', 'sim:failing'], capture_output=True, text=True, check=False, env=dict(os.environ, PLATTER_SIM_DISKS='', NO_COLOR='1'))
    is_there = words(run.stdout) in words((TOP / 'README').read_text(encoding='utf-8'))
    return [] if is_there else ['README: platter check sim:failing prints another screen:\n' + run.stdout]


def main():
    problems, lines, same = check_screen(sys.argv[2]), 0, set()
    pages = [(path, list(of_page(path))) for path in sorted((TOP / 'man').glob('*.[1-9]'))]
    texts = [(path, list(of_text(path))) for path in (TOP / 'README', TOP / 'contrib' / 'tutorial.md')]
    for path, examples in pages + texts:
        with tempfile.TemporaryDirectory() as folder:
            place = Place(folder, *(str(Path(a).resolve()) for a in sys.argv[1:4]))
            for text, is_command in examples:
                line = re.sub(r'^[#$] ', '', text)
                if line.startswith('tools/') or line.startswith('meson'):
                    found = [] if (TOP / line.split()[0]).exists() or line.startswith('meson') else ['there is no such file']
                elif line in same and 'check ' in line:  # of minutes of a disk, and nothing follows from it on this page
                    found = []
                else:
                    found = place.run(line) if is_command else check_other(place, text)
                problems += ['%s: %s\n  %s' % (path.name, line, one) for one in found]
                lines += 1
                same.add(line)
    print('\n'.join(problems))
    print('examples: %d, problems: %d' % (lines, len(problems)))
    return 1 if problems or lines < 80 else 0


if __name__ == '__main__':
    sys.exit(main())
