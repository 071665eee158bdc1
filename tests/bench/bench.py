#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What platter costs beside fio, dd, hdparm and zcav, on this machine. Run by `meson test --benchmark`; needs root.

Every comparison is interleaved (A B C, C B A, ...). A figure is the median over the rounds; a ratio is the median of the
ratios within each round, with its 95 % interval by order statistics (of 6 rounds: their range). CPU is that of the whole
process and its children (rusage.c), less what the same command needs for one request.

Exit status: 0 done, 77 cannot run here. It judges nothing: the goals stand beside the figures in README.md.
"""
import argparse
import bisect
import json
import math
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

SKIP = 77
DMA_LATENCY = "/dev/cpu_dma_latency"
CAN_WAKE = os.access(DMA_LATENCY, os.W_OK)


class Run:
    """One process: output, wall time, CPU and peak memory of it and its children."""

    launcher = report = None  # rusage.c and the file that it writes

    def __init__(self, argv):
        done = subprocess.run([self.launcher, self.report, *argv], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)
        self.out, self.err = done.stdout.decode(), done.stderr.decode()
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {self.err.strip()[:300]}")
        with open(self.report) as f:
            wall_ns, user_us, system_us, rss_kib = map(int, f.read().split())
        self.wall, self.user, self.system, self.rss = wall_ns / 1e9, user_us / 1e6, system_us / 1e6, rss_kib << 10
        self.cpu = self.user + self.system


class Loop:
    """A loop device over a file of ours."""

    def __init__(self, path):
        for _ in range(5):  # other programs take numbers too
            try:
                self.dev = subprocess.check_output(["flock", "/dev/loop-control", "losetup", "-f", "--show", "--direct-io=on", path],
                                                   stderr=subprocess.PIPE, text=True).strip()
                return
            except subprocess.CalledProcessError as e:
                error = e.stderr.strip()
                time.sleep(0.2)
        raise RuntimeError(f"no loop device for {path}: {error}")

    def close(self):
        subprocess.run(["losetup", "-d", self.dev], check=False)


class Awake:
    """Keeps the CPUs out of idle states that take time to leave, as platter does where it measures times of requests."""

    def __enter__(self):
        self.file = open(DMA_LATENCY, "wb", buffering=0)
        self.file.write((0).to_bytes(4, "little"))

    def __exit__(self, *_):
        self.file.close()


def sparse_file(path, size):
    with open(path, "wb") as f:
        f.truncate(size)
    return path


def full_file(path, size):
    block = os.urandom(1 << 20)
    with open(path, "wb") as f:
        for i in range(size >> 20):
            f.write(i.to_bytes(8, "little") + block[8:])
        os.fsync(f.fileno())
    return path


# ---- the contestants ----

class Bench:
    def __init__(self, args, tmp):
        self.args = args
        self.tmp = tmp
        self.startup = {}
        self.tools = {"fio": self.fio, "platter": self.platter}

    def fio(self, dev, options, seconds):
        run = Run(["fio", "--name=x", f"--filename={dev}", "--readonly", "--direct=1", "--output-format=json",
                   *([f"--runtime={seconds * 1000:.0f}ms", "--time_based"] if seconds else ["--number_ios=1"]), *options])
        job = json.loads(run.out[run.out.index("{"):])["jobs"][0]["read"]
        return run, {"ops": job["total_ios"], "iops": job["iops"], "bytes_per_s": job["bw_bytes"],
                     "bytes": job["io_bytes"]}

    def platter(self, dev, options, seconds):
        devs = dev if isinstance(dev, list) else [dev]
        run = Run([self.args.loadbench, *(["-t", str(seconds)] if seconds else ["-n", "1"]), *options, *devs])
        return run, json.loads(run.out)

    def start_cpu(self, who, dev, options):
        key = (who, tuple(options))
        if key not in self.startup:
            # The least: what a disturbance adds to a start is no part of it.
            self.startup[key] = min(self.tools[who](dev, options, 0)[0].cpu for _ in range(5))
        return self.startup[key]

    def cost(self, who, dev, options, seconds):
        """One run of fio or platter with the CPU of its start taken off."""
        start = self.start_cpu(who, dev, options)
        run, r = self.tools[who](dev, options, seconds)
        cpu = max(run.cpu - start, 0)
        r["cpu_us_per_io"] = cpu / r["ops"] * 1e6
        r["cpu_us_per_mib"] = cpu / (r["bytes"] / (1 << 20)) * 1e6
        # How much of it is the kernel's is sampled by the tick; the sum is exact.
        r["user_share"] = run.user / run.cpu if run.cpu else 0
        return r


def awake(fn):
    """fn with the CPUs kept awake."""
    def run():
        with Awake():
            return fn()
    return run


def rounds_of(entries, rounds):
    """entries: {name: function}. Returns {name: [result per round]}, measured forth and back in turn."""
    results = {name: [] for name in entries}
    for i in range(rounds):
        order = list(entries.items())
        for name, fn in order if i % 2 == 0 else reversed(order):
            results[name].append(fn())
    return results


def median_interval(r):
    """95 % interval of the median by order statistics (binomial); the range when there are fewer than 6. r sorted."""
    n, k, tail = len(r), 0, 0.5**len(r)
    while tail + math.comb(n, k + 1) * 0.5**n <= 0.025:
        k += 1
        tail += math.comb(n, k) * 0.5**n
    return r[k], r[n - 1 - k]


def ratio(results, name, base, key):
    r = sorted(a[key] / b[key] for a, b in zip(results[name], results[base]) if b[key])
    if not r:
        return "-"
    low, high = median_interval(r)
    return f"{statistics.median(r):.2f} [{low:.2f}..{high:.2f}]"


def med(results, name, key):
    return statistics.median(r[key] for r in results[name])


def table(title, head, rows):
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(c) for c in row) + " |")
    sys.stdout.flush()


# ---- costs per I/O ----

FIO_RING = ["--rw=randread", "--bs=4k", "--ioengine=io_uring", "--iodepth=128"]
FIO_FIXED = [*FIO_RING, "--fixedbufs", "--registerfiles"]
FIO_BATCH = [*FIO_FIXED, "--iodepth_batch_submit=32", "--iodepth_batch_complete_min=32",
             "--iodepth_batch_complete_max=32"]


def per_io(b, dev, what, is_short=False):
    s = b.args.seconds
    fio = {
        "fio io_uring, plain": FIO_RING,
        "fio io_uring, fixedbufs + registerfiles": FIO_FIXED,
        "fio io_uring, the same + batches of 32": FIO_BATCH,
        "fio libaio": ["--rw=randread", "--bs=4k", "--ioengine=libaio", "--iodepth=128"],
        "fio psync": ["--rw=randread", "--bs=4k", "--ioengine=psync"],
    }
    own = {
        "platter uring": ["-e", "uring"],
        "platter libaio": ["-e", "libaio"],
        "platter sync": ["-e", "sync"],
    }
    entries = {n: lambda o=o: b.cost("fio", dev, o, s) for n, o in fio.items()}
    entries.update({n: lambda o=o: b.cost("platter", dev, o, s) for n, o in own.items()})
    plain, best = "fio io_uring, plain", "fio io_uring, the same + batches of 32"
    few = {n: entries[n] for n in (plain, best, "platter uring")}
    if is_short:  # close together in time: for machines with other work on them
        entries = few
    if CAN_WAKE:
        entries = entries | {f"{n}, CPUs awake": awake(fn) for n, fn in few.items()}
    res = rounds_of(entries, b.args.rounds)
    base = {n: (f"{plain}, CPUs awake", f"{best}, CPUs awake") if n.endswith("awake") else (plain, best) for n in entries}
    table(f"4 KiB random reads, 128 in flight (sync: 1), {what}",
          ["", "kIOPS", "CPU us/IO", "user share", "IOPS / fio plain", "CPU / fio plain", "IOPS / fio best",
           "CPU / fio best"],
          [[n, f"{med(res, n, 'iops') / 1e3:.0f}", f"{med(res, n, 'cpu_us_per_io'):.2f}",
            f"{med(res, n, 'user_share'):.2f}",
            *(ratio(res, n, to, key) for to in base[n] for key in ("iops", "cpu_us_per_io"))] for n in entries])


# ---- start-up ----

def startup(b, dev):
    def one(argv):
        run = Run(argv)
        return {"wall_ms": run.wall * 1e3, "cpu_ms": run.cpu * 1e3, "rss_mib": run.rss / (1 << 20)}

    entries = {
        "fio psync, one 4 KiB read": lambda: one(
            ["fio", "--name=x", f"--filename={dev}", "--readonly", "--rw=read", "--bs=4k", "--direct=1",
             "--number_ios=1", "--ioengine=psync"]),
        "platter's loop, one 4 KiB read": lambda: one([b.args.loadbench, "-e", "uring", "-d", "1", "-n", "1", dev]),
        "platter's loop, 128 buffers": lambda: one([b.args.loadbench, "-e", "uring", "-n", "1", dev]),
    }
    if b.args.platter:
        entries["platter --version"] = lambda: one([b.args.platter, "--version"])
        info = [b.args.platter, "info", dev]
        if subprocess.run(info, capture_output=True, check=False).returncode == 0:
            entries["platter info"] = lambda: one(info)
    entries["/bin/true"] = lambda: one(["/bin/true"])
    res = rounds_of(entries, 2 * b.args.rounds)
    table("Start-up", ["", "wall ms", "CPU ms", "peak memory MiB"],
          [[n, f"{med(res, n, 'wall_ms'):.1f}", f"{med(res, n, 'cpu_ms'):.1f}", f"{med(res, n, 'rss_mib'):.1f}"]
           for n in entries])


# ---- sequential ----

def other_seq(argv, size, pattern=None):
    run = Run(argv)
    rate = size / run.wall
    if pattern:
        m = re.search(pattern, run.out + run.err)
        rate = float(m.group(1)) * 1e6 if m else rate
        size = size if size else rate * 3
    return {"bytes_per_s": rate, "cpu_us_per_mib": run.cpu / (size / (1 << 20)) * 1e6}


def sequential(b, dev, what):
    s, size = b.args.seconds, os.stat(dev).st_rdev and int(
        subprocess.check_output(["blockdev", "--getsize64", dev], text=True))
    entries = {}
    for d in (1, 2, 4, 8, 16):
        ring = ["--rw=read", "--bs=1m", "--ioengine=io_uring", f"--iodepth={d}"]
        entries[f"fio io_uring, {d}"] = lambda o=ring: b.cost("fio", dev, o, s)
        entries[f"platter, {d}"] = lambda d=d: b.cost("platter", dev, ["-s", "-b", "1048576", "-d", str(d)], s)
        if d == 4 and CAN_WAKE:
            entries.update({f"{n}, CPUs awake": awake(entries[n]) for n in ("fio io_uring, 4", "platter, 4")})
    count = min(size >> 20, 2048)
    entries["dd, direct"] = lambda: other_seq(
        ["dd", f"if={dev}", "of=/dev/null", "bs=1M", f"count={count}", "iflag=direct"], count << 20)
    if shutil.which("hdparm"):
        entries["hdparm -t --direct"] = lambda: other_seq(["hdparm", "-t", "--direct", dev], 0,
                                                          r"=\s*([0-9.]+) MB/sec")
    if shutil.which("zcav"):
        entries["zcav (through the page cache)"] = lambda: other_seq(
            ["zcav", "-b", "256", "-r", str(min(count, 1024)), dev], min(count, 1024) << 20)
    res = rounds_of(entries, b.args.rounds)
    rows = []
    for n in entries:
        base = n.replace("platter", "fio io_uring") if n.startswith("platter") else None
        rows.append([n, f"{med(res, n, 'bytes_per_s') / 1e6:.0f}", f"{med(res, n, 'cpu_us_per_mib'):.0f}",
                     ratio(res, n, base, "bytes_per_s") if base else "",
                     ratio(res, n, base, "cpu_us_per_mib") if base else ""])
    table(f"1 MiB sequential reads by requests in flight, {what}",
          ["", "MB/s", "CPU us/MiB", "rate / fio at that depth", "CPU / fio at that depth"], rows)


# ---- pacing ----

class Trace:
    """Times at which the block layer saw requests for a device (tracepoint block_bio_queue), on CLOCK_MONOTONIC."""

    def __init__(self, b, dev):
        self.dir = os.path.join(b.tmp, "trace")
        self.dev = os.stat(dev).st_rdev

    def __enter__(self):
        os.makedirs(self.dir, exist_ok=True)
        subprocess.run(["mount", "-t", "tracefs", "none", self.dir], check=True)
        self.instance = os.path.join(self.dir, "instances", f"bench{os.getpid()}")
        try:
            os.mkdir(self.instance)
            self.put("trace_clock", "mono")
            self.put("buffer_size_kb", "4096")
            event = "events/block/block_bio_queue/"
            self.put(event + "filter", f"dev == {os.major(self.dev) << 20 | os.minor(self.dev)}")
            self.put(event + "enable", "1")
        except OSError:
            self.__exit__()
            raise
        return self

    def put(self, name, text):
        with open(os.path.join(self.instance, name), "w") as f:
            f.write(text)

    def times(self):
        with open(os.path.join(self.instance, "trace")) as f:
            return [float(m.group(1)) for m in re.finditer(r"(\d+\.\d{6}): block_bio_queue", f.read())]

    def __exit__(self, *_):
        if os.path.isdir(self.instance):
            os.rmdir(self.instance)
        subprocess.run(["umount", self.dir], check=False)


class Steal:
    """What the host takes from this virtual machine, looked at ten times a second while something runs."""

    def __enter__(self):
        self.at, self.ticks, self.done = [], [], threading.Event()
        self.look()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def look(self):
        with open("/proc/stat") as f:
            self.ticks.append(int(f.readline().split()[8]))
        self.at.append(time.monotonic())

    def watch(self):
        while not self.done.wait(0.1):
            self.look()

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
        self.look()

    def is_calm(self, t):
        """Was nothing taken between the looks around t, and the looks around those?"""
        i = bisect.bisect(self.at, t)
        return self.ticks[max(i - 2, 0)] == self.ticks[min(i + 1, len(self.ticks) - 1)]


def jitter(times, interval, steal):
    """Rate error from the median slope over half the run; deviations from the ideal grid, anchored at its earliest request."""
    n = len(times)
    if n < 100:
        raise RuntimeError(f"only {n} requests were traced")
    half = n // 2
    slope = statistics.median((times[i + half] - times[i]) / half for i in range(n - half))
    late = [t - i * interval for i, t in enumerate(times)]
    first = min(late)
    late = [(d - first) * 1e6 for d in late]
    return {"ppm": (interval / slope - 1) * 1e6, "late": late,
            "calm": [d for d, t in zip(late, times) if steal.is_calm(t)]}


def paced(b, dev, who, options, interval):
    b.start_cpu(who, dev, options)  # its requests would be traced, too
    with Trace(b, dev) as trace, Steal() as steal:
        r = b.cost(who, dev, options, b.args.pace_seconds)
        times = trace.times()
    if len(times) > 1.5 * r["ops"]:  # each request was split in two: the first halves count
        times = times[::2]
    return r | jitter(times, interval, steal)


def spread(late):
    """The quantiles of the requests of all rounds, as cells."""
    late = sorted(late)
    return [f"{late[len(late) // 2]:.1f}", f"{late[len(late) * 99 // 100]:.0f}"] if len(late) >= 200 else ["-", "-"]


def pacing(b, dev, rate, block):
    interval = block / rate
    fio = ["--rw=read", f"--bs={block}", f"--rate={rate}"]
    own = ["-s", "-b", str(block), "-r", str(rate), "-d", "16"]
    runs = {
        "fio psync": ("fio", [*fio, "--ioengine=psync"]),
        "fio io_uring, 16": ("fio", [*fio, "--ioengine=io_uring", "--iodepth=16"]),
        "platter": ("platter", own),
    }
    entries = {n: lambda w=w, o=o: paced(b, dev, w, o, interval) for n, (w, o) in runs.items()}
    if CAN_WAKE:
        entries.update({f"{n}, CPUs awake": awake(fn) for n, fn in list(entries.items()) if n != "fio psync"})
    res = rounds_of(entries, b.args.rounds)
    rows = []
    for n in entries:
        late, calm = ([d for r in res[n] for d in r[key]] for key in ("late", "calm"))
        rows.append([n, f"{med(res, n, 'ppm'):+.1f}", *spread(late), f"{max(late):.0f}", *spread(calm),
                     f"{len(calm) / len(late):.2f}",
                     " / ".join(f"{med(res, n, f'late_{q}_ns') / 1e3:.1f}" for q in ("p50", "p99", "max"))
                     if n.startswith("platter") else "",
                     f"{med(res, n, 'cpu_us_per_io'):.0f}"])
    table(f"Pacing: {rate / 1e6:.0f} MB/s in blocks of {block} ({rate / block:.1f}/s), as the block layer saw it",
          ["", "rate error ppm", "late p50 us", "p99 us", "max us", "p50 us where nothing was stolen", "p99 us there",
           "share there", "p50 / p99 / max us by its own clock", "CPU us/IO"], rows)


# ---- many disks ----

def busy(fn):
    """fn with the processors' time that all of the machine took meanwhile: the loop devices work in threads of the kernel."""
    def look():
        with open("/proc/stat") as f:
            ticks = [int(word) for word in f.readline().split()[1:9]]
        return sum(ticks), ticks[3] + ticks[4]  # all; idle and waiting

    def run():
        before = look()
        r = fn()
        total, idle = (b - a for a, b in zip(before, look()))
        return r | {"busy": 1 - idle / total if total else 0}
    return run


def many(b, count):
    loops = []
    try:
        for i in range(count):
            loops.append(Loop(sparse_file(os.path.join(b.tmp, f"many{i}"), 1 << 30)))
        devs = [loop.dev for loop in loops]
        s = b.args.seconds
        entries = {
            "platter, 1 device, 128 in flight": lambda: b.cost("platter", devs[:1], ["-e", "uring"], s),
            f"platter, {count} devices, 4 each": lambda: b.cost("platter", devs, ["-e", "uring", "-d", str(4 * count)], s),
            f"platter, {count} devices, 32 each": lambda: b.cost("platter", devs, ["-e", "uring", "-d", str(32 * count)], s),
            f"fio, 1 job, {count} devices, {4 * count} in flight": lambda: b.cost(
                "fio", ":".join(devs), [*FIO_RING[:-1], f"--iodepth={4 * count}"], s),
        }
        for fn in entries.values():
            fn()  # what a start costs is measured the first time: it is no part of what is watched
        res = rounds_of({n: busy(fn) for n, fn in entries.items()}, min(b.args.rounds, 4))
        table(f"{count} loop devices at once, one process, one thread, 4 KiB random reads",
              ["", "kIOPS", "CPU us/IO", "of one CPU", "all CPUs busy"],
              [[n, f"{med(res, n, 'iops') / 1e3:.0f}", f"{med(res, n, 'cpu_us_per_io'):.2f}",
                f"{med(res, n, 'iops') * med(res, n, 'cpu_us_per_io') / 1e6:.2f}", f"{med(res, n, 'busy'):.2f}"] for n in entries])
    finally:
        for loop in loops:
            loop.close()


def skip(why):
    print(why)
    sys.exit(SKIP)


def head():
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    cpu = "?"
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                cpu = line.split(":")[1].strip()
    fio = subprocess.check_output(["fio", "--version"], text=True).strip()
    print(f"Linux {os.uname().release}, {os.cpu_count()} CPUs ({cpu}), {fio}; load average at the start {load}")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--loadbench", required=True)
    p.add_argument("--rusage", required=True)
    p.add_argument("--platter")
    p.add_argument("--seconds", type=float, default=2)
    p.add_argument("--pace-seconds", type=float, default=5)
    p.add_argument("--rounds", type=int, default=6)
    p.add_argument("--dir", help="where the files go (default: the temporary directory)")
    p.add_argument("parts", nargs="*", help="io io-short real-io startup seq real-seq pace many (default: all)")
    args = p.parse_args()
    parts = args.parts or ["io", "real-io", "startup", "seq", "real-seq", "pace", "many"]
    if os.geteuid() != 0:
        skip("skipped: loop devices need root")
    if not shutil.which("fio"):
        skip("skipped: fio is not installed")
    with tempfile.TemporaryDirectory(prefix="platter-bench-", dir=args.dir) as tmp:
        b = Bench(args, tmp)
        Run.launcher, Run.report = args.rusage, os.path.join(tmp, "rusage")
        loops = []
        try:
            sparse = Loop(sparse_file(os.path.join(tmp, "sparse"), 4 << 30))
            loops.append(sparse)
            real = None
            if {"real-io", "real-seq"} & set(parts):
                real = Loop(full_file(os.path.join(tmp, "real"), 1 << 30))
                loops.append(real)
            head()
            for part in parts:
                if part == "io":
                    per_io(b, sparse.dev, "loop device over a sparse file")
                elif part == "io-short":
                    per_io(b, sparse.dev, "loop device over a sparse file", is_short=True)
                elif part == "real-io":
                    per_io(b, real.dev, "loop device over a real file")
                elif part == "startup":
                    startup(b, sparse.dev)
                elif part == "seq":
                    sequential(b, sparse.dev, "loop device over a sparse file")
                elif part == "real-seq":
                    sequential(b, real.dev, "loop device over a real file")
                elif part == "pace":
                    pacing(b, sparse.dev, 32000000, 40960)
                    pacing(b, sparse.dev, 500000000, 1 << 20)
                elif part == "many":
                    many(b, 32)
                else:
                    p.error(f"no part {part}")
        except RuntimeError as e:
            sys.exit(f"bench: {e}")
        finally:
            for loop in loops:
                loop.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was made is removed
    main()
