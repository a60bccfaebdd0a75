"""Six representative jobs of the three executables, for `instructions.py` and `flamegraphs.py`.

A job prepares an empty directory and returns the command that is measured. Inputs are files of `examples`, or are generated
without randomness and without a math library. `scale` is 1 for counting instructions; profiles need more work.
"""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXECUTABLES = ["assetc", "pak", "unity-assetdb"]
SHOWCASE = ROOT / "examples/showcase/assets"
# At scale 1: sources of the no-op build, copies of the Unity project, quads along an edge of the terrain.
WARM_SOURCES = 500
UNITY_COPIES = 60
QUADS = 40


def environment():
    """The variables of a measured process: no cache, no configuration of the user."""
    env = {key: value for key, value in os.environ.items() if not key.startswith("KILN_")}
    return env | {"KILN_CACHE": "off", "KILN_CONFIG_DIR": "/nonexistent", "LC_ALL": "C"}


def run(command, cwd):
    """Runs a command; ends the program if it fails."""
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def copy(source, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, path)


def terrain(folder, quads):
    """Writes `terrain.gltf`: a grid with heights, normals and UVs, two triangles for each quad."""
    side = quads + 1
    height = lambda x, y: (x * (quads - x) + y * (quads - y)) / (2 * quads) + (x * 37 + y * 57) % 11 / 11
    positions, normals, uvs, indices = bytearray(), bytearray(), bytearray(), bytearray()
    for y in range(side):
        for x in range(side):
            positions += struct.pack("<3f", x, height(x, y), y)
            # Heights are gentle: an upright normal leaves the same work as an exact one.
            normals += struct.pack("<3f", 0, 1, 0)
            uvs += struct.pack("<2f", x / quads, y / quads)
    for y in range(quads):
        for x in range(quads):
            at = y * side + x
            indices += struct.pack("<6I", at, at + side, at + 1, at + 1, at + side, at + side + 1)
    parts = [positions, normals, uvs, indices]
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    top = max(height(x, y) for y in range(side) for x in range(side))
    bottom = min(height(x, y) for y in range(side) for x in range(side))
    bounds = {"min": [0, bottom, 0], "max": [quads, top, quads]}
    kinds = [(5126, "VEC3", side * side), (5126, "VEC3", side * side), (5126, "VEC2", side * side), (5125, "SCALAR", 6 * quads**2)]
    accessors = [{"bufferView": i, "componentType": c, "type": t, "count": n} for i, (c, t, n) in enumerate(kinds)]
    accessors[0] |= bounds
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}, "indices": 3}]}],
        "accessors": accessors,
        "bufferViews": [{"buffer": 0, "byteOffset": at, "byteLength": len(part)} for at, part in zip(starts, parts)],
        "buffers": [{"uri": "terrain.bin", "byteLength": sum(map(len, parts))}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "terrain.gltf").write_text(json.dumps(document))
    (folder / "terrain.bin").write_bytes(b"".join(parts))


def texture(place, tools, scale):
    """Colour images from nothing: decode, mip chain, UASTC, Zstd. At scale 1 a smaller one."""
    for name in ["planks.jpg", "bricks.png", "plating.png"][: 1 if scale == 1 else 3]:
        copy(SHOWCASE / "textures" / name, place / "assets" / name)
    if scale == 1:
        (place / "assetc.yml").write_text("default: {texture: {max_size: 256}}\n")
    return [tools["assetc"], "-q", "-j1", "--no-cache"]


def normal_map(place, tools, _scale):
    """A normal map at quality `high`."""
    copy(SHOWCASE / "textures/plating.n.png", place / "assets/plating.n.png")
    (place / "assetc.yml").write_text("default: {texture: {quality: high, max_size: 128}}\n")
    return [tools["assetc"], "-q", "-j1", "--no-cache"]


def model(place, tools, scale):
    """A glTF mesh from nothing: tangents, vertex order, meshlets, LODs."""
    terrain(place / "assets", QUADS * scale)
    return [tools["assetc"], "-q", "-j1", "--no-cache"]


def warm(place, tools, scale):
    """A build with nothing to do."""
    for n in range(WARM_SOURCES * scale):
        copy(SHOWCASE / "ui/font.png", place / f"assets/set_{n // 100}/icon_{n}.png")
    command = [tools["assetc"], "-q", "-j1"]
    # The second build finds nothing to do and records that; the measured one compares timestamps.
    for _ in range(3):
        run(["sleep", "0.1"], place)
        run(command, place)
    return command


def pak_bake(place, tools, scale):
    """Bitmaps, a mesh, a scene and a blob, compressed with LZ4."""
    shutil.copytree(ROOT / "examples/game/art", place / "art")
    terrain(place / "art", QUADS * scale // 2)
    copy(SHOWCASE / "luts/warm.lut.cube", place / "art/warm.cube")
    images = ["plating.png"] if scale == 1 else ["plating.png", "bricks.png", "bricks.n.png", "planks.jpg", "planks.n.png"]
    for name in images:
        copy(SHOWCASE / "textures" / name, place / "art" / name)
    listed = ["*.toml", "terrain.gltf", "warm.cube", *images]
    (place / "art/game_art.toml").write_text(f"[content]\ncompression = 'lz4'\n[[content.group]]\nassets = {listed}\n")
    return [tools["pak"], "bake", "-q", "-j1", "--no-cache", "art/game_art.toml", "game_art.pak"]


def unity_bake(place, tools, scale):
    """The index of a Unity project from nothing."""
    shutil.copytree(ROOT / "examples/unity", place, dirs_exist_ok=True)
    for n in range(UNITY_COPIES * scale):
        folder = place / f"Assets/Set{n // 100}/Copy{n}"
        for name in ("Art/Flag.png", "Pole.prefab"):
            source = place / "Assets" / name
            copy(source, folder / source.name)
            meta = Path(f"{source}.meta").read_text()
            guid = lambda found: f"guid: {found.group(1)[:24]}{n:08x}"
            (folder / f"{source.name}.meta").write_text(re.sub(r"guid: ([0-9a-f]{32})", guid, meta))
    return [tools["unity-assetdb"], "bake", "-j1", "--no-cache"]


JOBS = {
    "texture": texture,
    "normal map": normal_map,
    "model": model,
    "no-op build": warm,
    "pak bake": pak_bake,
    "unity bake": unity_bake,
}
