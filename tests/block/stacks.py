#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks of block devices drawn at random, and the write gate before each: stacks.py TOOL FOLDER SEED COUNT [despite]

A model here knows which bytes of which file each device has, by drawing the stack; it shares no code with the gate. A device is refused if, and only
if, something else has, or uses, bytes of it. What is refused was not written, and for a reason that is true; what is let through was.
Loop devices (over files, by other names of them, and over devices, with places and sizes of their own), partitions, file systems with files in them,
mounts here and in other name spaces, swaps, programs that have it open or mapped, mappings of dmsetup where there are any.
"""
import ctypes, fcntl, mmap, os, random, re, shutil, signal, struct, subprocess, sys, time

tool, folder, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
despite = ["-i", sys.argv[5]] if len(sys.argv) > 5 else []
libc = ctypes.CDLL(None, use_errno=True)
MIB = 1 << 20
rng = random.Random(seed)
has_dm = os.path.exists("/dev/mapper/control") and shutil.which("dmsetup")


def check(r, what):
    if r < 0:
        raise OSError(ctypes.get_errno(), what)
    return r


class Node:
    """A device or a file: its name, and its bytes as pieces (place here, file at the bottom, place there, bytes)."""

    def __init__(self, name, pieces, lowers=(), kind="file"):
        self.name, self.pieces, self.kind = name, pieces, kind
        self.lowers = list(lowers)
        self.size = sum(p[3] for p in pieces)
        self.ours = {self}  # itself and all that holds its bytes
        for low in lowers:
            self.ours |= low.ours

    def cut(self, first, size):
        out = []
        for at, bottom, there, n in self.pieces:
            a, b = max(at, first), min(at + n, first + size)
            if a < b:
                out.append((a - first, bottom, there + a - at, b - a))
        return out

    def meets(self, other):
        return any(p[1] == q[1] and p[2] < q[2] + q[3] and q[2] < p[2] + p[3] for p in self.pieces for q in other.pieces)


class Stack:
    def __init__(self, number):
        self.folder = f"{folder}/{number}"
        os.mkdir(self.folder)
        self.undo, self.nodes, self.uses, self.number = [], [], [], number

    def done(self):
        for f in reversed(self.undo):
            for _ in range(50):
                try:
                    f()
                    break
                except OSError:
                    time.sleep(0.02)
            else:
                print("FAIL: litter", f)
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---- what is built ----

    def file(self, where=None, size=16 * MIB):
        path = f"{where or self.folder}/f{len(self.nodes)}"
        with open(path, "wb") as f:
            f.truncate(size)
        self.nodes.append(Node(path, [(0, path, 0, size)]))
        return self.nodes[-1]

    def other_name(self, node):
        if node.kind != "file":
            return node.name
        name = f"{node.name}.{rng.randrange(10**9)}"
        how = rng.choice(["hard", "symbolic", "bind", "same", "gone"])
        if how == "hard" or how == "gone":
            os.link(node.name, name)
            if how == "gone":
                self.gone.append(name)
        elif how == "symbolic":
            os.symlink(node.name, name)
        elif how == "bind":
            open(name, "w").close()
            self.mount(node.name, name, None, 4096)
        else:
            return node.name
        return name

    def loop(self, low):
        first = rng.choice([0, 0, 0, 1, 2, 4]) * MIB
        if first + 4 * MIB > low.size:
            first = 0
        limit = rng.choice([0, 0, 0, 4, 6]) * MIB
        size = min(low.size - first, limit or low.size)
        self.gone = []
        fd = os.open(self.other_name(low), os.O_RDWR)
        ctl = os.open("/dev/loop-control", os.O_RDWR)
        fcntl.flock(ctl, fcntl.LOCK_EX)  # as loop_new of lib.sh
        try:
            n = fcntl.ioctl(ctl, 0x4C82)
            dev = os.open(f"/dev/loop{n}", os.O_RDWR)
            info = struct.pack("QQQQQIIII64s64s32sQQ", 0, 0, 0, first, limit, 0, 0, 0, 0, b"", b"", b"", 0, 0)
            fcntl.ioctl(dev, 0x4C0A, struct.pack("II", fd, 0) + info + bytes(64))
            os.close(dev)
        finally:
            os.close(ctl)
            os.close(fd)
        for name in self.gone:
            os.unlink(name)

        def undo():
            dev = os.open(f"/dev/loop{n}", os.O_RDWR)
            try:
                fcntl.ioctl(dev, 0x4C01)
            finally:
                os.close(dev)

        self.undo.append(undo)
        self.nodes.append(Node(f"/dev/loop{n}", low.cut(first, size), [low], "loop"))

    def partition(self, disk):
        if disk.size < 4 * MIB:
            return
        number = 1 + sum(n.kind == "part" and n.lowers[0] is disk for n in self.nodes)
        taken = [n for n in self.nodes if n.kind == "part" and n.lowers[0] is disk]
        first = rng.randrange(disk.size // MIB - 3) * MIB
        size = min(rng.choice([4, 6]) * MIB, disk.size - first)
        part = Node(f"{disk.name}p{number}", disk.cut(first, size), [disk], "part")
        if number > 2 or any(part.meets(t) for t in taken):
            return
        subprocess.run(["addpart", disk.name, str(number), str(first // 512), str(size // 512)], check=True)
        self.undo.append(lambda: subprocess.run(["delpart", disk.name, str(number)], check=True, stderr=subprocess.DEVNULL) and None)
        for _ in range(100):
            if os.path.exists(part.name):
                break
            time.sleep(0.01)
        self.nodes.append(part)

    def mapping(self, low):
        """linear, as `dmsetup` makes them"""
        half = low.size // 2 // MIB * MIB
        pieces = rng.choice([[(0, low.size)], [(MIB, low.size - MIB)], [(0, half), (half, low.size - half)], [(0, half)]])
        table, at, parts = "", 0, []
        for first, size in pieces:
            table += f"{at // 512} {size // 512} linear {low.name} {first // 512}\n"
            parts += [(at + a, b, c, n) for a, b, c, n in low.cut(first, size)]
            at += size
        name = f"st{os.getpid()}-{self.number}-{len(self.nodes)}"
        if subprocess.run(["dmsetup", "create", name], input=table, text=True, capture_output=True).returncode:
            return  # it is mounted, or otherwise claimed
        self.undo.append(lambda: subprocess.run(["dmsetup", "remove", "--retry", name], check=True) and None)
        self.nodes.append(Node(f"/dev/mapper/{name}", parts, [low], "dm"))

    def mount(self, what, where, kind, flags):
        check(libc.mount(what.encode(), where.encode(), kind and kind.encode(), flags, None), f"mount {what}")
        self.undo.append(lambda: check(libc.umount2(where.encode(), 0), f"umount {where}"))

    # ---- who uses it ----

    def use(self, node, kind, word):
        self.uses.append((node, kind, word))

    def mounted(self, node, is_elsewhere):
        if node.size < 4 * MIB or node.kind == "file":
            return
        dd(f"{folder}/ext4", node.name)
        where = f"{self.folder}/m{len(self.undo)}"
        os.mkdir(where)
        try:
            if not is_elsewhere:
                self.mount(node.name, where, "ext4", 1 << 10)
                self.use(node, "mount", "is mounted on")
                if rng.random() < 0.5:
                    self.file(where, 2 * MIB)
                return
        except OSError:
            return  # claimed by a mapping, or mounted through another
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            ok = libc.unshare(0x20000) == 0 and libc.mount(b"none", b"/", None, 0x44000, None) == 0
            ok = ok and libc.mount(node.name.encode(), where.encode(), b"ext4", 1 << 10, None) == 0
            os.write(tell, b"y" if ok else b"n")
            signal.pause()
            os._exit(0)
        self.ended(pid)
        if os.read(ready, 1) == b"y":
            self.use(node, "mount elsewhere", "in use")
        os.close(ready)
        os.close(tell)

    def ended(self, pid):
        def undo():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

        self.undo.append(undo)

    def writer(self, node, is_mapped):
        ready, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            fd = os.open(node.name, os.O_RDWR)
            if is_mapped:
                m = mmap.mmap(fd, 4096)  # which has a descriptor of its own
                libc.close(fd)
                for own in os.listdir("/proc/self/fd"):
                    try:
                        if os.readlink(f"/proc/self/fd/{own}") == node.name:
                            os.close(int(own))
                    except OSError:
                        pass
            os.write(tell, b"y")
            signal.pause()
            os._exit(0)
        self.ended(pid)
        os.read(ready, 1)
        os.close(ready)
        os.close(tell)
        self.use(node, "mapped" if is_mapped else "open", "open for writing")

    def swap(self, node):
        if node.kind == "file":
            return
        made = subprocess.run(["mkswap", "-q", node.name], capture_output=True).returncode == 0  # not what is claimed
        if made and libc.swapon(node.name.encode(), 0) == 0:
            self.undo.append(lambda: check(libc.swapoff(node.name.encode()), "swapoff"))
            self.use(node, "swap", "swap")

    # ---- the question ----

    def draw(self):
        self.file()
        for _ in range(rng.randrange(1, 6)):
            low = rng.choice(self.nodes[-3:])
            disks = [n for n in self.nodes if n.kind == "loop"]
            what = rng.random()
            if what < 0.2 and disks:
                self.partition(rng.choice(disks))
            elif what < 0.45 and has_dm and low.kind != "file":
                self.mapping(low)
            elif what < 0.55 and low.kind != "file" and not self.uses:
                self.mounted(low, False)
            else:
                self.loop(low)
        node = rng.choice(self.nodes)
        what = rng.random()
        if what < 0.15:
            self.mounted(node, False)
        elif what < 0.35:
            self.mounted(node, True)
        elif what < 0.45:
            self.swap(node)
        elif what < 0.55:
            self.writer(node, False)
        elif what < 0.65:
            self.writer(node, True)

    def reasons(self, target):
        """words, one of which a refusal has to say; none: it is not to be refused"""
        words = [w for n, _, w in self.uses if n.meets(target)]
        for n in self.nodes:
            if n not in target.ours and n.meets(target):
                if n.kind == "loop":
                    words.append("is a loop device over")
                if n.kind == "dm":
                    words.append("is part of")
        return words

    def ask(self):
        targets = [n for n in self.nodes if n.kind != "file"]
        if not targets:
            return None
        target = rng.choice(targets)
        words = self.reasons(target)
        subprocess.run(["sync", "-d", target.name], check=True)
        alias = os.path.basename(target.name)
        signs = sum((["-s", s] for s in ("ext4", "swap", "dos", "gpt")), [])
        p = subprocess.run([tool, *despite, "-c", alias, *signs, target.name], capture_output=True, text=True)
        marked = self.marked(target)
        about = f"stack {self.number} of seed {seed}: {target.name}, {describe(self)}"
        if words:
            if p.returncode != 3 or marked:
                return f"{about}: WRITTEN THROUGH, status {p.returncode}, should say one of {words}: {p.stderr}"
            if not any(w in p.stderr for w in words):
                return f"{about}: refused, but none of {words} is said: {p.stderr}"
        elif p.returncode == 3 and not marked and "is in use" in p.stderr and self.is_beside_partitions(target):
            seen["beside partitions"] = seen.get("beside partitions", 0) + 1
        elif p.returncode or not marked:
            return f"{about}: status {p.returncode} without a reason: {p.stderr}"
        seen["written" if not words else "refused"] += 1
        depth = max(depth_of(target), *(depth_of(n) for n in self.nodes))
        seen["deepest"] = max(seen["deepest"], depth)
        for _, kind, _ in self.uses:
            seen[kind] = seen.get(kind, 0) + 1
        return None

    def is_beside_partitions(self, target):
        """a disk below, of which the target has a part where no partition is: the kernel does not tell whether it is the disk that is held, or one of them"""
        for disk in target.ours:
            parts = [n for n in self.nodes if n.kind == "part" and n.lowers[0] is disk]
            if parts and not any(n.meets(target) for n in parts) and any(u.meets(n) for n in parts for u, _, _ in self.uses):
                return True
        return False

    def marked(self, target):
        fd = os.open(target.name, os.O_RDONLY | os.O_DIRECT)
        buf = mmap.mmap(-1, 4096)
        os.preadv(fd, [buf], target.size // 2 // 4096 * 4096)
        os.close(fd)
        return buf[:] == b"\xa5" * 4096


def depth_of(node):
    return 1 + max((depth_of(n) for n in node.lowers), default=0)


def describe(stack):
    return ", ".join([f"{n.name}({','.join(l.name for l in n.lowers)})={n.pieces}" for n in stack.nodes] +
                     [f"{k} of {n.name}" for n, k, _ in stack.uses])


def dd(a, b):
    with open(a, "rb") as src, open(b, "r+b") as dst:
        dst.write(src.read())
        dst.flush()
        os.fsync(dst.fileno())


seen = {"written": 0, "refused": 0, "deepest": 0}
failures = 0
subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0,nodiscard", f"{folder}/ext4", "4M"], check=True)
for number in range(count):
    stack = Stack(number)
    try:
        stack.draw()
        wrong = stack.ask()
    finally:
        stack.done()
    if wrong:
        failures += 1
        print("FAIL:", wrong)
print(f"{count} stacks, {seen}")
sys.exit(failures > 0 or seen["written"] < count // 10 or seen["refused"] < count // 10)
