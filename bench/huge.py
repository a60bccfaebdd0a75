#!/usr/bin/env python3
"""Builds one huge texture with `assetc` and measures how busy it keeps the processors, and its peak memory.

    huge.py ASSETC IMAGES [--side 16384] [--jobs 2] [--settings LINE]... [--image FILE] [--dir DIR] [--trace FILE]

IMAGES is a directory of photographs of one size as PNG (RGB, 8 bits). The texture is a mosaic of them, each tile shifted
by another distance, so that no two tiles are equal. Its PNG has the filters of a common writer and Deflate level 6.

The number of threads that can run is sampled a hundred times a second, together with the CPU time of the process. Each
interval of CPU time counts as that time divided by its number of runnable threads: the time that it would take on idle
processors. So the utilisation, CPU time divided by the sum of these times and by the number of threads, does not depend on
the load of the machine. Linux only.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

HERTZ = os.sysconf("SC_CLK_TCK")


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def read_png(path):
    """Returns the size and the rows of an RGB image without interlacing."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            if (depth, colour, interlaced) != (8, 2, 0):
                sys.exit(f"{path}: not an RGB image of 8 bits")
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    raw, stride = zlib.decompress(packed), width * 3
    rows, above = [], bytes(stride)
    for y in range(height):
        start = y * (stride + 1)
        row, filtered = bytearray(raw[start + 1 : start + 1 + stride]), raw[start]
        for i in range(stride):
            a, b, c = (row[i - 3] if i >= 3 else 0), above[i], (above[i - 3] if i >= 3 else 0)
            row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth(a, b, c))[filtered]) & 255
        above = bytes(row)
        rows.append(above)
    return width, height, rows


def paeth(a, b, c):
    p = a + b - c
    pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
    return a if pa <= pb and pa <= pc else b if pb <= pc else c


class Photograph:
    """A photograph on a torus, with the Paeth residuals of every row."""

    def __init__(self, path):
        self.width, self.height, self.rows = read_png(path)
        self.residuals = []
        for y, row in enumerate(self.rows):
            above = self.rows[y - 1]
            left, corner = row[-3:] + row[:-3], above[-3:] + above[:-3]
            self.residuals.append(bytes((x - paeth(a, b, c)) & 255 for x, a, b, c in zip(row, left, above, corner)))


def mosaic(photographs, side, path):
    """Writes the texture. Rows of tiles start with the filter Sub, all other rows have Paeth."""
    width, height = photographs[0].width, photographs[0].height
    columns, deflate = -(-side // width), zlib.compressobj(6)
    with path.open("wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)))
        for y in range(side):
            tile_row, inside = divmod(y, height)
            before, row, raw_row, above = None, bytearray(), bytearray(), bytearray()
            for column in range(columns):
                n = tile_row * columns + column
                photograph = photographs[(column * 3 + tile_row * 5) % len(photographs)]
                dx, dy = n * 37 % width * 3, n * 61 % height
                at = (inside + dy) % height
                turned = lambda data: data[dx:] + data[:dx]
                texels, upper = turned(photograph.rows[at]), turned(photograph.rows[at - 1])
                if inside == 0:
                    raw_row += texels
                    continue
                piece = bytearray(turned(photograph.residuals[at]))
                for i in range(3):
                    a, c = (before[0][i - 3], before[1][i - 3]) if before else (0, 0)
                    piece[i] = (texels[i] - paeth(a, upper[i], c)) & 255
                before = texels, upper
                row += piece
            if inside == 0:
                row = bytearray((x - a) & 255 for x, a in zip(raw_row, b"\0\0\0" + raw_row))
            data = deflate.compress(bytes([1 if inside == 0 else 4]) + row[: side * 3])
            if data:
                file.write(chunk(b"IDAT", data))
        file.write(chunk(b"IDAT", deflate.flush()) + chunk(b"IEND", b""))


def threads_of(pid):
    """Returns the runnable threads and the CPU time of all, in seconds."""
    runnable, cpu = 0, 0
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            fields = Path(f"/proc/{pid}/task/{task}/stat").read_text().rpartition(")")[2].split()
            runnable += fields[0] in "RD"
            nanoseconds = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[0]
            cpu += int(nanoseconds) / 1e9
    except OSError:
        return None
    return runnable, cpu


def measure(command, jobs, trace):
    env = {**os.environ, "KILN_CACHE": "off", "KILN_CONFIG_DIR": "/nonexistent"}
    start = time.monotonic()
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    ideal, before = 0.0, 0.0
    # The CPU time of intervals by their number of runnable threads.
    by_threads = {}
    while True:
        done, status, usage = os.wait4(child.pid, os.WNOHANG)
        if done:
            break
        found = threads_of(child.pid)
        if found:
            runnable, cpu = found
            runnable = max(1, min(runnable, jobs))
            spent, before = max(0.0, cpu - before), max(before, cpu)
            ideal += spent / runnable
            by_threads[runnable] = by_threads.get(runnable, 0.0) + spent
            if trace:
                pages = int(Path(f"/proc/{child.pid}/statm").read_text().split()[1])
                trace.write(f"{time.monotonic() - start:.2f} {runnable} {cpu:.2f} {pages * 4096 / 1e6:.0f}\n")
        time.sleep(0.01)
    if status != 0:
        sys.exit(f"{' '.join(command)}: failed")
    cpu = usage.ru_utime + usage.ru_stime
    return time.monotonic() - start, cpu, usage.ru_maxrss * 1024, ideal, by_threads


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assetc", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("images", type=Path)
    parser.add_argument("--side", type=int, default=16384)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--settings", action="append", help="lines of the section `texture` of assetc.yml")
    parser.add_argument("--dir", help="parent of the temporary directory")
    parser.add_argument("--image", type=Path, help="a copy of the texture, made if there is none")
    parser.add_argument("--trace", type=Path, help="writes time, runnable threads, CPU time and memory of each sample")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kiln-huge-", dir=args.dir) as place:
        source = Path(place) / "assets/huge.png"
        source.parent.mkdir()
        made = args.image or source
        if not made.exists():
            mosaic([Photograph(path) for path in sorted(args.images.glob("*.png"))], args.side, made)
        if made != source:
            shutil.copyfile(made, source)
        if args.settings:
            lines = "".join(f"    {line}\n" for line in args.settings)
            (Path(place) / "assetc.yml").write_text(f"default:\n  texture:\n{lines}")
        decoded = args.side**2 * 4
        trace = args.trace.open("w") if args.trace else None
        command = [args.assetc, "-q", "-C", place, "-j", str(args.jobs)]
        wall, cpu, memory, ideal, by_threads = measure(command, args.jobs, trace)
        output = sum(path.stat().st_size for path in Path(place).glob("runtime/*.ktx2"))
        print(f"source {source.stat().st_size / 1e6:.0f} MB, decoded {decoded / 1e6:.0f} MB, output {output / 1e6:.1f} MB")
        print(f"wall {wall:.1f} s, CPU {cpu:.1f} s, peak memory {memory / 1e6:.0f} MB: {memory / decoded:.2f} times the decoded size")
        shares = ", ".join(f"{count} threads {spent:.1f} s" for count, spent in sorted(by_threads.items()))
        busy = sum(by_threads.values()) / ideal / args.jobs
        print(f"utilisation of {args.jobs} threads: {busy:.1%} (CPU: {shares})")


if __name__ == "__main__":
    main()
