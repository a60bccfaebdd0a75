#!/usr/bin/env python3
"""Measures `assetc` on generated trees of many sources: tiny images, one in a hundred of them replaced by a model.

    scale.py ASSETC SOURCES... [--floor BENCH_ASSETC] [--runs N] [--only STEP]... [--dir DIR]

Steps, in this order: cold (an empty output), warm (nothing to do; the median of N runs in turn with the floor, a bare
parallel walk that stats every file of both trees, `bench-assetc walk`), change (one source), rename (a directory of a hundred
sources), check, pack, fill (an empty output and an empty cache), fetch (an empty output and the filled cache), shards (1/8
to 8/8 in turn into one cache, then the whole build). For each: wall time, CPU time, peak memory, system calls for each source
(with strace) and bytes of the journal. Absolute times belong to the machine; read CPU for each source, and ratios.
"""

import argparse
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

FOLDER = 100
STEPS = ["cold", "warm", "change", "rename", "check", "pack", "fill", "fetch", "shards"]


def image(seed):
    """A PNG of 8x8 texels that no other seed has."""
    state, rows = (seed * 0x9E3779B9) & 0xFFFFFFFF | 1, bytearray()
    for _ in range(8):
        rows.append(0)
        for _ in range(24):
            state ^= (state << 13) & 0xFFFFFFFF
            state ^= state >> 17
            state ^= (state << 5) & 0xFFFFFFFF
            rows.append(state & 255)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(rows), 1)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def model(seed):
    """A tetrahedron whose size depends on the seed."""
    size = 1 + seed / 1e6
    corners = [(0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size)]
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in corners]
    return "\n".join(lines + ["f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4", ""]).encode()


def generate(place, sources):
    for n in range(sources):
        folder = place / f"assets/set_{n // FOLDER:05}"
        if n % FOLDER == 0:
            folder.mkdir(parents=True)
        name, content = (f"model_{n:07}.obj", model(n)) if n % 100 == 99 else (f"texture_{n:07}.png", image(n))
        (folder / name).write_bytes(content)


class Cost:
    def __init__(self, wall, usage, status):
        self.wall, self.status = wall, status
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss * 1024 / 1e6


def run(command, env=None):
    """Runs a program. Its peak memory is at least that of this process, about 15 MB."""
    full = {**os.environ, "KILN_CACHE": "off", "KILN_CONFIG_DIR": "/nonexistent", **(env or {})}
    start = time.monotonic()
    child = subprocess.Popen(list(map(str, command)), env=full, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    cost = Cost(time.monotonic() - start, usage, status)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}: failed")
    return cost


def system_calls(command, env=None):
    """Counts the system calls of a run; None without strace."""
    if shutil.which("strace") is None:
        return None
    with tempfile.NamedTemporaryFile() as log:
        run(["strace", "-f", "-c", "-o", log.name] + command, env)
        total = re.findall(r"(\d+)(?: +\d+)? total", Path(log.name).read_text())
        return int(total[-1]) if total else None


def median(values):
    return sorted(values)[len(values) // 2]


class Bench:
    def __init__(self, args, sources, place):
        self.args, self.sources, self.place = args, sources, place
        self.out = place / "runtime"
        self.build = [args.assetc, "-q", "-C", str(place)]
        self.cache = {"KILN_CACHE": "on", "KILN_CACHE_DIR": str(place / "cache")}

    def row(self, step, cost, calls=None, note="", sources=None):
        """Prints a step, by default of all sources."""
        journal = self.out / ".assetc-cache"
        size = journal.stat().st_size if journal.exists() else 0
        per = f"{calls / self.sources:.1f}" if calls else ""
        print(
            f"| {self.sources:,} | {step} | {cost.wall:.2f} | {cost.cpu:.2f} | {cost.cpu / (sources or self.sources) * 1e6:.1f} "
            f"| {cost.memory:.0f} | {per} | {size:,} | {note} |",
            flush=True,
        )

    def clean(self, *more):
        for path in (self.out, *more):
            shutil.rmtree(path, ignore_errors=True)

    def settle(self):
        """Builds until nothing is out of date and no timestamp is recent."""
        for _ in range(2):
            time.sleep(0.1)
            run(self.build)

    def cold(self):
        self.clean()
        cost = run(self.build)
        calls = None
        if self.sources <= 10_000:
            self.clean()
            calls = system_calls(self.build)
        self.row("cold", cost, calls)

    def warm(self):
        self.settle()
        ours, floor = [], []
        for _ in range(self.args.runs):
            if self.args.floor:
                floor.append(run([self.args.floor, "walk", self.place / "assets", self.out]))
            ours.append(run(self.build))
        cost = ours[0]
        cost.cpu, cost.wall = median([c.cpu for c in ours]), median([c.wall for c in ours])
        note = ""
        if floor:
            cpu, wall = median([c.cpu for c in floor]), median([c.wall for c in floor])
            note = f"floor {wall:.3f} s, CPU {cpu:.3f} s: {cost.wall / wall:.2f}x wall, {cost.cpu / cpu:.2f}x CPU"
        self.row("warm", cost, system_calls(self.build), note)

    def change(self):
        path = self.place / "assets/set_00000/texture_0000000.png"
        path.write_bytes(image(self.sources + 7))
        self.row("one change", run(self.build))

    def rename(self):
        self.settle()
        (self.place / "assets/set_00000").rename(self.place / "assets/renamed")
        self.row("renamed directory", run(self.build))

    def check(self):
        self.row("check", run([self.args.assetc, "-q", "-C", self.place, "check"]))

    def pack(self):
        self.row("pack", run(self.build + ["--pack"]))
        self.row("pack, unchanged", run(self.build + ["--pack"]))

    def fill(self):
        self.clean(self.place / "cache")
        self.row("cache filled", run(self.build, self.cache))

    def fetch(self):
        self.clean()
        self.row("cache read", run(self.build, self.cache))

    def shards(self):
        self.clean(self.place / "cache")
        costs = [run(self.build + ["--shard", f"{n}/8"], self.cache) for n in range(1, 9)]
        worst = max(costs, key=lambda cost: cost.cpu)
        self.row("largest of 8 shards", worst, sources=self.sources / 8, note=f"CPU of all: {sum(c.cpu for c in costs):.2f} s")
        self.clean()
        self.row("build after shards", run(self.build, self.cache))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assetc", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("sources", type=int, nargs="+")
    parser.add_argument("--floor", type=lambda path: str(Path(path).resolve()), help="path of bench-assetc")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--only", action="append", choices=STEPS)
    parser.add_argument("--dir", help="parent of the temporary directory")
    args = parser.parse_args()
    print("| sources | step | wall, s | CPU, s | CPU per source, µs | peak memory, MB | system calls per source | journal, bytes | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for sources in args.sources:
        with tempfile.TemporaryDirectory(prefix="kiln-scale-", dir=args.dir) as place:
            bench = Bench(args, sources, Path(place))
            generate(bench.place, sources)
            for step in STEPS:
                if not args.only or step in args.only:
                    getattr(bench, step)()


if __name__ == "__main__":
    main()
