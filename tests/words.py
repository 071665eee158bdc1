#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/words.py [PLATTER-SIM [PLATTER]]: what platter says keeps to the style guide of src/README.

Of every text in src (literals of two words and more: notices, labels, clauses, errors, help), of every comment and of the documents: no word of the list "Not:"
there, no sentence over 25 words (30 in comments and documents, lists aside); none of these words in a name. Of what tests and tools print the words alone.
With the simulator each command is run on disks of each kind, and its first screen drawn on terminals of three sizes, and as a page: the first line names the
disk, the answer follows, nothing is wider than the terminal, numbers have units, bad places are there, and the commands that it names can be typed. With the
program the same of what measures files. Status 1: something is over.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from terminal import on_terminal  # noqa: E402

TOP = Path(__file__).resolve().parent.parent
MOST_WORDS, MOST_IN_COMMENTS = 25, 30
MOST_COMMAS = 5  # of a sentence: with more it is a list
ALLOWED = re.compile(r'\b(?:cannot|can|could not) tell\b|\bthere (?:is|are) no\b|\b(?:is|are) no (?:longer|more)\b|\bverdict is no\b|^.*@media.*', re.I | re.S)  # a style sheet is not English
NAMES = re.compile(r'\b(?!can_tell\b)(?:\w+_)?(?:tell|tells|told|telling)(?:_\w+)?\b')
SIZES = ((80, 24), (80, 40), (120, 44))  # of terminals: columns and lines, two of which are the shell's
KINDS = {'failing': 'failing', 'healthy': 'modern-4tb', 'shingled': 'archive-8tb', 'ssd': 'ssd-sata', 'cloud': 'cloud-gp2-100g', 'bridge': 'tiny', 'tiny': 'tiny'}
MORE = {'bridge': 'bridge_kb 64\n'}  # on top of the profile
COMMANDS = [
    'info', 'zones --quick', 'seek --quick', 'geometry --quick', 'buffer', 'surface --sample --time=20s', 'surface --range=0-256MiB', 'smr',
    'smr --write --destroy-data={serial} --range=0-256MiB', 'sustain --random --rate=20MB --time=20s', 'check --time=30s', 'stream --read --rate=20MB --time=20s',
    'stream --read --tradeoff --size=64MB --buffer=8MB', 'stream --read --rate=64Mbit --time=10s', 'stream --read --find --time=20s', 'transactions --users=4 --count=20',
]
ON_FILES = ['passes --size=1M --repeat=3', 'mark --time=20ms --repeat=1', 'cache --size=1M-2M --block=16K-32K --repeat=3 --slice=1ms --without=knee']
MOST_S = 60  # of one run
BAD_ON_SCREEN = re.compile(r'^ {9,}[\^! ]*[\^!]|^ *[\d.]+ [kMGT]?B .*!|\bLBA\b|^(?:Slow regions|Unreadable regions|Bad places)|unreadable place', re.M)
BAD_ON_PAGE = re.compile(r'class="(?:mark m|heat ring)|Errors of the disk|unreadable place')


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


def comments(source):
    """(line, text) of each comment, its lines joined."""
    for m in re.finditer(r'"(?:\\.|[^"\\\n])*"|/\*(.*?)\*/', source, re.S):
        if m.group(1):
            yield source.count('\n', 0, m.start()) + 1, ' '.join(re.sub(r'\n\s*\*', ' ', m.group(1)).split())


def sentences(text):
    return re.split(r'(?<=[.!?;:])\s+|\n', text)


def offences(path, words):
    found = []
    source = path.read_text(encoding='utf-8')
    for line, text, most in [(*one, MOST_WORDS) for one in literals(source)] + [(*one, MOST_IN_COMMENTS) for one in comments(source)]:
        text = ALLOWED.sub('', text)
        if len(text.split()) < 2 or not re.search('[a-z]{2}', text):
            continue
        for word in words:
            if re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(word), text, re.I):
                found.append('%s:%d: "%s" in "%s"' % (path.relative_to(TOP), line, word, text))
        if most == MOST_WORDS and re.search(r'(?<!of )%(?:zu|d|u)? (?!bytes)[a-z]+s (?:are|were|have|do|differ)\b', text):
            found.append('%s:%d: of one it would be wrong: %s' % (path.relative_to(TOP), line, text))
        for sentence in sentences(text):
            if len(sentence.split()) > most:
                found.append('%s:%d: %d words: %s' % (path.relative_to(TOP), line, len(sentence.split()), sentence))
    for name in re.findall(NAMES, re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', '', source, flags=re.S)):
        found.append('%s: the name %s' % (path.relative_to(TOP), name))
    return found


def prose(path):
    """The sentences of a document, what is to be typed and tables aside."""
    text = path.read_text(encoding='utf-8')
    if path.suffix in ('.5', '.8'):
        text = re.sub(r'^\.Bd -literal.*?^\.Ed|^\.Rs.*?^\.Re|^\.Sh SEE ALSO.*', '\n\n', text, flags=re.M | re.S)
        text = re.sub(r'^\.(?:S[hs]|Pp|It|[BE]l|D[1ldt]|Os|N[dm]|Op|\\).*$', '\n', text, flags=re.M)
        text = re.sub(r'^\.\w+ |\b(?:Fl|Ar|Cm|Sy|Va|Ns|Pq|Dq|Xr|Pa|Ql) ', '', text, flags=re.M)
    text = re.sub(r'^```.*?^```|^(?: {4}|\||[-=]+$).*?$', '\n\n', text, flags=re.M | re.S)
    for paragraph in re.split(r'\n\s*\n', text):
        yield from sentences(' '.join(paragraph.split()))


def check_documents(words):
    found = []
    for path in [*sorted((TOP / 'man').glob('*.[1-9]')), TOP / 'README', TOP / 'tests' / 'README.md', *sorted((TOP / 'contrib').glob('*.md')), TOP / 'contrib' / 'NEWS']:
        for sentence in prose(path):
            found += ['%s: "%s" in "%s"' % (path.name, word, sentence) for word in words
                      if re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(word), ALLOWED.sub('', sentence), re.I)]
            if len(sentence.split()) > MOST_IN_COMMENTS and sentence.count(',') <= MOST_COMMAS:
                found.append('%s: %d words: %s' % (path.name, len(sentence.split()), sentence))
    return found


def check_sources():
    words = banned()
    found = [one for path in sorted((TOP / 'src').rglob('*.[ch]')) for one in offences(path, words)] + check_documents(words)
    for path in [*(TOP / 'tests').rglob('*.[ch]'), *(TOP / 'tools').rglob('*.[ch]')]:
        for line, text in literals(path.read_text(encoding='utf-8')):
            found += ['%s:%d: "%s" in "%s"' % (path.relative_to(TOP), line, word, text) for word in words
                      if ' ' in text and re.search(r'(?<![\w-])%s(?![\w-])' % re.escape(word), ALLOWED.sub('', text), re.I)]
    return found


def check_text(text, document, columns, lines):
    """Problems of a first screen."""
    rows = text.splitlines()
    answer = document.get('answer', '')
    found = ['%d columns: %s' % (len(row), row) for row in rows if len(row) > columns]
    found += ['an interval of nothing: ' + row for row in rows if re.search(r'± 0(?:\.0+)?(?!\S)', row)]
    found += ['minus zero: ' + row for row in rows if re.search(r'(?<![\w.-])-0(?:\.0+)?(?![\w.])', row)]
    if not 3 < len(rows) <= lines - 2:
        found.append('%d lines' % len(rows))
    if '(0 rows)' in text:
        found.append('an empty table')
    if not re.match(r'(?:platter \w+: |[A-Z]+  (?:as far as .*\n +)?)(?:sim:|/)\S+(?:  |\n)', text):
        found.append('its first line does not name the disk: ' + rows[0])
    if not text.startswith(('KEEP', 'DOUBT', 'REJECT')) and answer[:20] not in ''.join(rows[1:3]):
        found.append('the answer does not follow: ' + answer)
    for number in re.finditer(r'(?<![\w.-])\d[\d.]*(?=[;,]|\.?$)', re.sub(r'\b(?:LBA|head)\b[^;.]*|--\S+', '', answer)):
        found.append('a number without a unit, %s: %s' % (number.group(), answer))
    if re.search(r'^(?:DOUBT|REJECT)', text, re.M) and not re.search(r'platter (?:check|surface)\b', text):
        found.append('no next command')
    has_bad = any(document['tables'].get(name, {}).get('rows') for name in ('slow', 'slow_regions', 'unreadable'))
    if has_bad and not BAD_ON_SCREEN.search(text):
        found.append('where are the bad places?\n' + text)
    return found, has_bad


ENV = {'LC_ALL': 'C.UTF-8', 'PATH': '/usr/bin:/bin', 'HOME': '/nonexistent', 'PLATTER_SIM_DISKS': '', 'NO_COLOR': '1', 'TERM': 'xterm'}


def check_commands(program, document, where):
    """What the reader is asked to type can be typed."""
    texts = [document['figures'].get('next_command') or '', *(notice['text'] for notice in document['notices'])]
    found = []
    for command in {m.group(1) for text in texts for m in re.finditer(r'platter ((?:[a-z]+)(?: --\S+)* (?:sim:|/)\S*[\w/])', text)}:
        words = command.split()
        dry = [] if words[0] in ('info', 'check') else ['--dry-run']
        run = subprocess.run([program, *words, *dry], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENV, check=False, timeout=MOST_S)
        if run.returncode in (1, 2, 3):
            found.append('%s: platter %s cannot be typed: %s' % (where, command, run.stderr))
    return found


def check_run(program, words, target, where, folder):
    """Measured once, then drawn on terminals of several sizes and as a page."""
    path, page = Path(folder) / 'document.json', Path(folder) / 'page.html'
    path.unlink(missing_ok=True)
    try:
        run = subprocess.run([program, *words, target, '--quiet', '--json=%s' % path], stderr=subprocess.PIPE, text=True, env=ENV, check=False, timeout=MOST_S)
    except subprocess.TimeoutExpired:
        return ['%s: not done in %d s' % (where, MOST_S)]
    if not path.exists():
        return ['%s: no document: %s' % (where, run.stderr)]
    document = json.loads(path.read_text(encoding='utf-8'))
    problems = check_commands(program, document, where)
    for columns, lines in SIZES:
        text = on_terminal([program, 'report', str(path)], columns, lines, ENV)
        found, has_bad = check_text(text, document, columns, lines)
        problems += ['%s, %dx%d: %s' % (where, columns, lines, one) for one in found]
    subprocess.run([program, 'report', str(path), '-o', str(page), '--force'], env=ENV, check=True, timeout=MOST_S)
    html = page.read_text(encoding='utf-8')
    title = '%s %s' % (document['targets'][0].get('model') or target, document['targets'][0].get('serial') or '')
    if '<title>platter %s: %s</title>' % (words[0], title.strip()) not in html:
        problems.append('%s: the title of its page is not %s' % (where, title))
    if has_bad and not BAD_ON_PAGE.search(html):
        problems.append('%s: where are the bad places on its page?' % where)
    return problems


def check_disk(sim, command, kind, folder):
    profile = (TOP / 'tools' / 'simdisk' / 'profiles' / (KINDS[kind] + '.disk')).read_text(encoding='utf-8') + MORE.get(kind, '')
    words = command.format(serial=re.search(r'^serial +(\S+)', profile, re.M).group(1)).split()
    disk = Path(folder) / (kind + '.disk')
    disk.write_text(profile, encoding='utf-8')
    return check_run(sim, words, 'sim:%s' % disk, '%s of a %s disk' % (command, kind), folder)


def main():
    args = sys.argv[1:]
    problems = check_sources()
    with tempfile.TemporaryDirectory() as folder:
        for i, command in enumerate(COMMANDS if args else []):
            for k, kind in enumerate(KINDS):  # a failing disk always, of the others every third; all of them in a long run
                if k == 0 or (i + k) % 3 == 0 or os.environ.get('PLATTER_LONG'):
                    problems += check_disk(args[0], command, kind, folder)
        for command in ON_FILES if args[1:] else []:
            problems += check_run(args[1], command.split(), folder, '%s of files' % command, folder)
    print('\n'.join(problems))
    return 1 if problems else 0


sys.exit(main())
