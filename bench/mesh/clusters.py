#!/usr/bin/env python3
"""CPU time of cluster LODs beside plain LODs, on a sphere of a million triangles.

    bench/mesh/clusters.py target/release/assetc [runs] [triangles]

Runs `assetc convert` in turn with plain LODs, with cluster LODs and with neither, on one thread, and prints the medians
of user and system time. Times of whole processes: import, processing and writing.
"""

import json
import math
import os
import resource
import statistics
import struct
import subprocess
import sys
import tempfile

VARIANTS = {
    "no LODs": ["--mesh-lods", "0"],
    "plain LODs": [],
    "cluster LODs": ["--mesh-lods", "0", "--mesh-clusters", "true"],
}


def sphere(path, triangles):
    """Writes a sphere with a relief, which no simplification finds flat, as binary glTF."""
    rings = int(math.sqrt(triangles / 4))
    sectors = 2 * rings
    positions, normals, indices = bytearray(), bytearray(), bytearray()
    for ring in range(rings + 1):
        for sector in range(sectors + 1):
            a, b = math.pi * ring / rings, 2 * math.pi * (sector % sectors) / sectors
            r = 1 + 0.02 * math.sin(9 * a) * math.sin(11 * b) + 0.002 * math.sin(90 * a) * math.sin(110 * b)
            normal = [math.sin(a) * math.cos(b), math.cos(a), math.sin(a) * math.sin(b)]
            positions += struct.pack("<3f", *(r * x for x in normal))
            # Those of the sphere without its relief: shared by neighbours, as in a smooth model.
            normals += struct.pack("<3f", *normal)
    for ring in range(rings):
        for sector in range(sectors):
            at = ring * (sectors + 1) + sector
            below = at + sectors + 1
            indices += struct.pack("<6I", at, at + 1, below, at + 1, below + 1, below)
    count = len(positions) // 12
    document = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 2}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3", "min": [-1.1] * 3, "max": [1.1] * 3},
            {"bufferView": 1, "componentType": 5125, "count": len(indices) // 4, "type": "SCALAR"},
            {"bufferView": 2, "componentType": 5126, "count": count, "type": "VEC3"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": len(positions)},
            {"buffer": 0, "byteOffset": len(positions), "byteLength": len(indices)},
            {"buffer": 0, "byteOffset": len(positions) + len(indices), "byteLength": len(normals)},
        ],
        "buffers": [{"byteLength": len(positions) + len(indices) + len(normals)}],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary = bytes(positions + indices + normals)
    with open(path, "wb") as file:
        file.write(b"glTF" + struct.pack("<II", 2, 28 + len(text) + len(binary)))
        file.write(struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary)
    return len(indices) // 12


def main():
    assetc = os.path.abspath(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "sphere.glb"), os.path.join(folder, "sphere.hmesh")
        triangles = sphere(model, int(sys.argv[3]) if len(sys.argv) > 3 else 1_000_000)
        times, sizes = {name: [] for name in VARIANTS}, {}
        for _ in range(runs):
            for name, flags in VARIANTS.items():
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                command = [assetc, "convert", model, "--root", folder, "-o", out, "--overwrite", "-q", "-j", "1"]
                subprocess.run(command + flags, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                times[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                sizes[name] = os.path.getsize(out)
    print(f"{triangles} triangles, CPU seconds of one thread, median of {runs} interleaved runs (least-most)\n")
    print("| | CPU | size |\n|---|---:|---:|")
    for name, seconds in times.items():
        row = f"{statistics.median(seconds):.2f} s ({min(seconds):.2f}-{max(seconds):.2f})"
        print(f"| {name} | {row} | {sizes[name]} B |")


main()
