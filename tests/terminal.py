#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""tests/terminal.py COLUMNS LINES PROGRAM [ARGUMENT...]: what a program prints on a terminal of that size."""
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import threading

END = b'\0'
MOST_S = 60  # between two pieces of output


def on_terminal(args, columns, lines, env=None):
    """All of it: this end of the terminal stays open and gets a mark when the program has ended, since what is unread when the last end closes may be lost."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', lines, columns, 0, 0))
    with subprocess.Popen(args, stdin=terminal, stdout=terminal, stderr=terminal, env=env) as run:
        waiter = threading.Thread(target=lambda: (run.wait(), os.write(terminal, END)))
        waiter.start()
        text = b''
        while not text.endswith(END):
            if not select.select([reader], [], [], MOST_S)[0]:
                run.kill()
                raise TimeoutError('nothing was printed for %d s: %s' % (MOST_S, ' '.join(args)))
            text += os.read(reader, 1 << 16)
        waiter.join()
    os.close(reader)
    os.close(terminal)
    return text[:-len(END)].decode().replace('\r', '')


if __name__ == '__main__':
    sys.stdout.write(on_terminal(sys.argv[3:], int(sys.argv[1]), int(sys.argv[2])))
