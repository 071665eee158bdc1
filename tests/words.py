#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/words.py [--update] [PLATTER-SIM]: what platter says keeps to the style guide of src/README.

Of every text in src (literals of two words and more: notices, labels, clauses, errors, help): no word of the list "Not:" there, no sentence over 30 words. Files that
are not there yet are in tests/words.txt with their number of offences, which may only shrink. With the simulator first screens are drawn: none
wider than the terminal, no minus zero, no empty table, and where a disk has bad places they are there. Status 1: something is over.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
KNOWN = TOP / 'tests' / 'words.txt'
MOST_WORDS = 30
ALLOWED = re.compile(r'\b(?:cannot|can|could not) tell\b|\bthere (?:is|are) no\b|^.*@media.*', re.I | re.S)  # a style sheet is not English
WIDTHS = (80, 100, 120)
COMMANDS = [
    'info sim:samsung-hd103sj', 'surface sim:failing', 'zones --quick sim:failing', 'zones --quick sim:ssd-sata', 'zones --quick sim:modern-4tb', 'seek --quick sim:tiny',
    'seek --quick sim:ssd-sata', 'surface sim:tiny', 'buffer sim:tiny', 'buffer sim:ssd-sata', 'smr sim:tiny', 'smr sim:ssd-sata',
    'geometry --quick sim:quantum-fireball-tm2110a', 'stream --read --rate=20MB --time=30s sim:tiny', 'stream --read --rate=64Mbit --time=30s sim:modern-4tb',
    'transactions --users=4 --count=20 sim:tiny', 'sustain --random --rate=20MB --time=20s sim:ssd-sata',
]


def banned():
    """The words after "Not:" in src/README, with commas, up to the next empty line."""
    text = (TOP / 'src' / 'README').read_text(encoding='utf-8')
    words = re.search(r'^Not: (.*?)\n\n', text, re.S | re.M).group(1)
    return [' '.join(w.split()) for w in words.split(',')]


def literals(source):
    """(line, text) of neighbouring C literals as one; comments and includes are blank."""
    source = re.sub(r'/\*.*?\*/', lambda m: re.sub(r'[^\n]', ' ', m.group()), source, flags=re.S)
    source = re.sub(r'^#include.*$', '', source, flags=re.M)
    piece = r'"(?:\\.|[^"\\\n])*"'
    between = r'\s*(?:PRI[udxX](?:64|32)\s*)?'
    for m in re.finditer(piece + '(?:' + between + piece + ')*', source):
        parts = re.findall(piece, m.group())
        text = ''.join(p[1:-1] for p in parts).replace('\\n', '\n').replace('\\"', '"')
        yield source.count('\n', 0, m.start()) + 1, text


def sentences(text):
    return re.split(r'(?<=[.!?;:])\s+|\n', text)


def offences(path, words):
    found = []
    for line, text in literals(path.read_text(encoding='utf-8')):
        text = ALLOWED.sub('', text)
        if len(text.split()) < 2 or not re.search('[a-z]{2}', text):
            continue
        for word in words:
            if re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(word), text, re.I):
                found.append('%s:%d: "%s" in "%s"' % (path.relative_to(TOP), line, word, text))
        for sentence in sentences(text):
            if len(sentence.split()) > MOST_WORDS:
                found.append('%s:%d: %d words: %s' % (path.relative_to(TOP), line, len(sentence.split()), sentence))
    return found


def check_sources(is_update):
    words = banned()
    known = dict(re.findall(r'^(\S+) (\d+)$', KNOWN.read_text(encoding='utf-8') if KNOWN.exists() else '', re.M))
    problems, now = [], {}
    for path in sorted((TOP / 'src').rglob('*.[ch]')):
        name = str(path.relative_to(TOP))
        found = offences(path, words)
        if len(found) > int(known.get(name, 0)):
            problems += found
        if found:
            now[name] = min(len(found), int(known.get(name, len(found))))
        if len(found) < int(known.get(name, 0)) and not is_update:
            problems.append('%s: better than tests/words.txt says: tests/words.py --update' % name)
    if is_update:
        KNOWN.write_text(''.join('%s %d\n' % item for item in sorted(now.items())), encoding='utf-8')
    print('words: %d offences in %d files' % (sum(now.values()), len(now)))
    return problems


def check_screen(sim, command, folder):
    """Measured once, then drawn in several widths."""
    env = {'LC_ALL': 'C.UTF-8', 'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', 'PLATTER_SIM_DISKS': ''}
    document = Path(folder) / 'document.json'
    document.unlink(missing_ok=True)
    subprocess.run([sim, *command.split(), '--quiet', '--json=%s' % document], stderr=subprocess.DEVNULL, env=env, check=False)
    problems = []
    for columns in WIDTHS:
        run = subprocess.run([sim, 'report', str(document)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             env={**env, 'COLUMNS': str(columns)}, check=False)
        where = '%s, %d columns' % (command, columns)
        if len(run.stdout.splitlines()) < 4:
            problems.append('%s: no screen: %s' % (where, run.stderr))
        for line in run.stdout.splitlines():
            if len(line) > columns:
                problems.append('%s: %d columns: %s' % (where, len(line), line))
            if re.search(r'(?<![\w.-])-0(?:\.0+)?(?![\w.])', line):
                problems.append('%s: minus zero: %s' % (where, line))
            if '(0 rows)' in line:
                problems.append('%s: an empty table: %s' % (where, line))
        # A disk with bad places shows where they are, in a picture, a table or the answer.
        if 'failing' in command and not re.search(r'^ +[\^! ]*[\^!]|LBA|Unreadable', run.stdout, re.M):
            problems.append('%s: where are the bad places?' % where)
    return problems


def main():
    args = [a for a in sys.argv[1:] if a != '--update']
    problems = check_sources('--update' in sys.argv)
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS if args else []:
            problems += check_screen(args[0], command, folder)
    print('\n'.join(problems))
    return 1 if problems else 0


sys.exit(main())
