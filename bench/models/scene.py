#!/usr/bin/env python3
"""Compares scene files with an independent evaluation of their sources.

    bench/models/scene.py ASSETC SOURCES

Compiles every .gltf and .glb below SOURCES with `mesh.scene_data: true`, `merge: false` and `skins: all`, and reads the
.hscn beside each .hmesh with a reader of its own, from docs/reference/formats/hscn.md. Compares names, hierarchy, world
matrices, morph target weights, cameras, lights, skins and instances, and the poses and weights of every animation at
several times. Prints a line for each model that differs and the counts; ends with 1 when anything differs.

Sources whose animations, skins or instances are in compressed buffer views are counted and skipped: only the product
decodes them.
"""

import base64
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.parse

COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
TYPES = {5120: ("b", 1, 127), 5121: ("B", 1, 255), 5122: ("h", 2, 32767), 5123: ("H", 2, 65535), 5125: ("I", 4, 1),
         5126: ("f", 4, 1)}
SETTINGS = """default:
  mesh: {scene_data: true, merge: false, skins: all, lods: false, optimize: false}
  texture: {compress: false, mips: false, max_size: 4, supercompress: none}
"""


class Skip(Exception):
    """The source needs a decoder that this program does not have."""


def f32(number):
    """Rounds to single precision, in which files store numbers."""
    return struct.unpack("<f", struct.pack("<f", number))[0]


# ---- matrices as four columns ----

def multiply(a, b):
    return [[sum(a[k][r] * b[c][k] for k in range(4)) for r in range(4)] for c in range(4)]


def compose(translation, rotation, scale):
    x, y, z, w = rotation
    length = math.sqrt(x * x + y * y + z * z + w * w) or 1.0
    x, y, z, w = x / length, y / length, z / length, w / length
    axes = [[1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
            [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
            [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)]]
    return [[n * s for n in axis] + [0.0] for axis, s in zip(axes, scale)] + [list(translation) + [1.0]]


def columns(numbers):
    return [list(numbers[i:i + 4]) for i in (0, 4, 8, 12)]


# ---- keyframes ----

def interpolate(times, values, mode, is_rotation, time):
    """Evaluates keyframes; `values` has one list for each key, or three with a cubic spline."""
    cubic = mode == "CUBICSPLINE"
    value = (lambda key: values[3 * key + 1]) if cubic else (lambda key: values[key])
    if time <= times[0]:
        return value(0)
    if time >= times[-1]:
        return value(len(times) - 1)
    key = max(i for i, t in enumerate(times) if t <= time)
    span = times[key + 1] - times[key]
    t = (time - times[key]) / span
    a, b = value(key), value(key + 1)
    if mode == "STEP":
        return a
    if cubic:
        out, into = values[3 * key + 2], values[3 * key + 3]
        h = (2 * t**3 - 3 * t**2 + 1, t**3 - 2 * t**2 + t, -2 * t**3 + 3 * t**2, t**3 - t**2)
        return [h[0] * p + span * h[1] * m + h[2] * q + span * h[3] * n for p, m, q, n in zip(a, out, b, into)]
    if is_rotation:
        dot = sum(p * q for p, q in zip(a, b))
        sign = -1.0 if dot < 0 else 1.0
        angle = math.acos(min(abs(dot), 1.0))
        if angle > 1e-4:
            x, y = math.sin((1 - t) * angle) / math.sin(angle), math.sin(t * angle) / math.sin(angle)
            return [x * p + sign * y * q for p, q in zip(a, b)]
        return [(1 - t) * p + sign * t * q for p, q in zip(a, b)]
    return [(1 - t) * p + t * q for p, q in zip(a, b)]


# ---- the source ----

class Source:
    def __init__(self, path):
        data = open(path, "rb").read()
        self.blob = None
        if data[:4] == b"glTF":
            length = struct.unpack_from("<I", data, 12)[0]
            self.json = json.loads(data[20:20 + length])
            rest = data[20 + length:]
            if len(rest) > 8:
                self.blob = rest[8:8 + struct.unpack_from("<I", rest)[0]]
        else:
            self.json = json.loads(data.decode("utf-8-sig"))
        self.path, self.buffers, self.read = path, {}, {}

    def buffer(self, index):
        if index not in self.buffers:
            uri = self.json["buffers"][index].get("uri")
            if uri is None:
                self.buffers[index] = self.blob or b""
            elif uri.startswith("data:"):
                self.buffers[index] = base64.b64decode(uri.split(",", 1)[1])
            else:
                file = os.path.join(os.path.dirname(self.path), urllib.parse.unquote(uri))
                self.buffers[index] = open(file, "rb").read()
        return self.buffers[index]

    def elements(self, index):
        if index not in self.read:
            accessor = self.json["accessors"][index]
            letter, size, most = TYPES[accessor["componentType"]]
            width = COMPONENTS[accessor["type"]]
            if "sparse" in accessor:
                raise Skip("a sparse accessor")
            if "bufferView" not in accessor:
                return [[0.0] * width] * accessor["count"]
            view = self.json["bufferViews"][accessor["bufferView"]]
            if "EXT_meshopt_compression" in view.get("extensions", {}) or "KHR_meshopt_compression" in view.get("extensions", {}):
                raise Skip("a compressed buffer view")
            start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
            stride = view.get("byteStride", size * width)
            data, rows = self.buffer(view["buffer"]), []
            for i in range(accessor["count"]):
                row = struct.unpack_from(f"<{width}{letter}", data, start + i * stride)
                rows.append([max(n / most, -1.0) for n in row] if accessor.get("normalized") else list(row))
            self.read[index] = rows
        return self.read[index]

    def list(self, name):
        return self.json.get(name, [])

    def default_scene(self):
        scenes = self.list("scenes")
        return scenes[self.json.get("scene", 0)] if scenes else None

    def order(self):
        """The nodes in the order of the file: those of the scene depth first, then all others."""
        nodes = self.list("nodes")
        below = {child for node in nodes for child in node.get("children", [])}
        scene = self.default_scene()
        roots = scene.get("nodes", []) if scene else [i for i in range(len(nodes)) if i not in below]
        order, parents = [], []
        for start in (roots, [i for i in range(len(nodes)) if i not in below and i not in set(roots)]):
            waiting = [(root, -1) for root in reversed(start)]
            while waiting:
                node, parent = waiting.pop()
                order.append(node)
                parents.append(parent)
                waiting += [(child, len(order) - 1) for child in reversed(nodes[node].get("children", []))]
        return order, parents

    def targets(self, node):
        mesh = self.list("nodes")[node].get("mesh")
        primitives = self.list("meshes")[mesh]["primitives"] if mesh is not None else []
        return max((len(p.get("targets", [])) for p in primitives), default=0)

    def weights(self, node):
        entry = self.list("nodes")[node]
        count = self.targets(node)
        stated = entry.get("weights") or (self.list("meshes")[entry["mesh"]].get("weights") if "mesh" in entry else None)
        return [f32(w) for w in (stated or [0.0] * count)][:count]

    def pose(self, animation, time):
        """Local transforms and weights by node: of the document, with the values of an animation at a time."""
        nodes, moved = self.list("nodes"), {}
        if animation is not None:
            for channel in animation["channels"]:
                target = channel["target"]
                if "node" not in target or target["path"] not in ("translation", "rotation", "scale", "weights"):
                    continue
                sampler = animation["samplers"][channel["sampler"]]
                times = [row[0] for row in self.elements(sampler["input"])]
                values, path = self.elements(sampler["output"]), target["path"]
                mode = sampler.get("interpolation", "LINEAR")
                if path == "weights":
                    count = len(values) // len(times) // (3 if mode == "CUBICSPLINE" else 1)
                    if count != self.targets(target["node"]) or count == 0:
                        continue
                    flat = [row[0] for row in values]
                    values = [flat[i:i + count] for i in range(0, len(flat), count)]
                moved[target["node"], path] = interpolate(times, values, mode, path == "rotation", time)
        locals_, weights = [], []
        for i, node in enumerate(nodes):
            part = lambda path, default: moved.get((i, path)) or [f32(n) for n in node.get(path, default)]
            if "matrix" in node and not any((i, p) in moved for p in ("translation", "rotation", "scale")):
                locals_.append(columns([f32(n) for n in node["matrix"]]))
            else:
                locals_.append(compose(part("translation", [0, 0, 0]), part("rotation", [0, 0, 0, 1]), part("scale", [1, 1, 1])))
            weights.append(moved.get((i, "weights")) or self.weights(i))
        return locals_, weights


# ---- the scene file ----

class SceneFile:
    SIZES = {b"SCEN": 24, b"NODE": 108, b"MESH": 24, b"SKIN": 24, b"JNTS": 68, b"CAMR": 36, b"LGHT": 48, b"INST": 40,
             b"MTRX": 64, b"WGHT": 4, b"CLIP": 28, b"CHAN": 24, b"TIME": 4, b"VALU": 4, b"TEXT": 1}

    def __init__(self, data):
        assert data[:8] == b"HSCN\x01\0\0\0", "not a scene"
        self.chunks = {tag: b"" for tag in self.SIZES}
        for i in range(struct.unpack_from("<I", data, 8)[0]):
            tag, _, offset, size = struct.unpack_from("<4sIQQ", data, 32 + 24 * i)
            self.chunks[tag] = data[offset:offset + size]

    def rows(self, tag, layout):
        return list(struct.iter_unpack("<" + layout, self.chunks[tag]))

    def text(self, offset, size):
        return self.chunks[b"TEXT"][offset:offset + size].decode()

    def numbers(self, tag, start, count):
        return list(struct.unpack_from(f"<{count}f", self.chunks[tag], 4 * start))

    def nodes(self):
        """name, extras, parent, mesh, skin, camera, light, matrix, flags, submeshes, instances, weights, transform"""
        return self.rows(b"NODE", "IIII6i7I10f")

    def pose(self, clip, time):
        nodes, moved = self.nodes(), {}
        if clip is not None:
            *_, first, count = self.rows(b"CLIP", "IIIIfII")[clip]
            for node, path, mode, _, components, keys, start, value in self.rows(b"CHAN", "IBBHIIII")[first:first + count]:
                per_key = 3 if mode == 2 else 1
                flat = self.numbers(b"VALU", value, keys * components * per_key)
                values = [flat[i:i + components] for i in range(0, len(flat), components)]
                times = self.numbers(b"TIME", start, keys)
                mode = ("STEP", "LINEAR", "CUBICSPLINE")[mode]
                moved[node, path] = interpolate(times, values, mode, path == 1, time)
        meshes, locals_, weights = self.rows(b"MESH", "6I"), [], []
        for i, node in enumerate(nodes):
            transform = node[17:]
            if node[9] >= 0 and not any((i, path) in moved for path in range(3)):
                locals_.append(columns(self.numbers(b"MTRX", 16 * node[9], 16)))
            else:
                part = lambda path, a, b: moved.get((i, path)) or list(transform[a:b])
                locals_.append(compose(part(0, 0, 3), part(1, 3, 7), part(2, 7, 10)))
            start, count = node[15], node[16]
            if count == 0 and node[5] >= 0:
                start, count = meshes[node[5]][4:6]
            weights.append(moved.get((i, 3)) or self.numbers(b"WGHT", start, count))
        return locals_, weights


class Difference(Exception):
    pass


def near(found, wanted, what, scale=1.0):
    if len(found) != len(wanted):
        raise Difference(f"{what}: {len(found)} numbers, not {len(wanted)}")
    for a, b in zip(found, wanted):
        if abs(a - b) > 2e-5 * max(scale, abs(b)):
            raise Difference(f"{what}: {list(found)} instead of {list(wanted)}")


def equal(found, wanted, what):
    if found != wanted:
        raise Difference(f"{what}: {found!r} instead of {wanted!r}")


def worlds(locals_, parents):
    found = []
    for local, parent in zip(locals_, parents):
        found.append(local if parent < 0 else multiply(found[parent], local))
    return found


def compare(source, scene, counts):
    order, parents = source.order()
    sources, nodes = source.list("nodes"), scene.nodes()
    equal(len(nodes), len(sources), "nodes")
    place = {node: i for i, node in enumerate(order)}
    lights = source.json.get("extensions", {}).get("KHR_lights_punctual", {}).get("lights", [])
    for node, original, parent in zip(nodes, order, parents):
        entry = sources[original]
        what = f"node {original}"
        equal(scene.text(*node[0:2]), entry.get("name", ""), f"name of {what}")
        extras = scene.text(*node[2:4])
        equal(json.loads(extras) if extras else None, entry.get("extras"), f"extras of {what}")
        light = entry.get("extensions", {}).get("KHR_lights_punctual", {}).get("light", -1)
        wanted = (parent, entry.get("mesh", -1), entry.get("skin", -1), entry.get("camera", -1), light)
        equal(node[4:9], wanted, f"indices of {what}")
        instancing = entry.get("extensions", {}).get("EXT_mesh_gpu_instancing")
        if instancing:
            attributes = instancing["attributes"]
            for index, (name, a, b) in enumerate((("TRANSLATION", 0, 3), ("ROTATION", 3, 7), ("SCALE", 7, 10))):
                if name in attributes:
                    wanted = source.elements(attributes[name])
                    equal(node[14], len(wanted), f"instances of {what}")
                    for i, row in enumerate(wanted):
                        found = scene.numbers(b"INST", 10 * (node[13] + i), 10)[a:b]
                        near(found, row, f"instance {i} of {what}")
                        counts["instances"] += index == 0
        counts["nodes"] += 1
    for i, (camera, row) in enumerate(zip(source.list("cameras"), scene.rows(b"CAMR", "5I4f"))):
        kind = camera["type"]
        stated = camera[kind]
        keys = ("aspectRatio", "yfov", "znear", "zfar") if kind == "perspective" else ("xmag", "ymag", "znear", "zfar")
        equal(row[4], int(kind == "orthographic"), f"type of camera {i}")
        near(row[5:], [stated.get(key, 0.0) for key in keys], f"camera {i}")
        counts["cameras"] += 1
    for i, (light, row) in enumerate(zip(lights, scene.rows(b"LGHT", "5I7f"))):
        equal(row[4], ("directional", "point", "spot").index(light["type"]), f"type of light {i}")
        spot = light.get("spot", {})
        angles = (spot.get("innerConeAngle", 0.0), spot.get("outerConeAngle", math.pi / 4)) if light["type"] == "spot" else (0.0, 0.0)
        wanted = [*light.get("color", (1, 1, 1)), light.get("intensity", 1.0), light.get("range", 0.0), *angles]
        near(row[5:], wanted, f"light {i}")
        counts["lights"] += 1
    equal(len(scene.rows(b"CAMR", "5I4f")), len(source.list("cameras")), "cameras")
    equal(len(scene.rows(b"LGHT", "5I7f")), len(lights), "lights")
    joints = scene.rows(b"JNTS", "I16f")
    for i, (skin, row) in enumerate(zip(source.list("skins"), scene.rows(b"SKIN", "6I"))):
        found = joints[row[4]:row[4] + row[5]]
        equal([joint[0] for joint in found], [place[node] for node in skin["joints"]], f"joints of skin {i}")
        if "inverseBindMatrices" in skin:
            for joint, wanted in zip(found, source.elements(skin["inverseBindMatrices"])):
                near(joint[1:], wanted, f"inverse bind matrix of skin {i}")
        counts["skins"] += 1
    equal(len(scene.rows(b"SKIN", "6I")), len(source.list("skins")), "skins")

    animations, clips = source.list("animations"), scene.rows(b"CLIP", "IIIIfII")
    equal(len(clips), len(animations), "clips")
    moments = [(None, 0.0)] + [(i, clip[4] * part) for i, clip in enumerate(clips) for part in (0.0, 0.13, 0.5, 0.77, 1.0)]
    for clip, time in moments:
        wanted_locals, wanted_weights = source.pose(animations[clip] if clip is not None else None, time)
        locals_, weights = scene.pose(clip, time)
        wanted = worlds([wanted_locals[i] for i in order], parents)
        found = worlds(locals_, parents)
        what = f"at {time:.3f} s of animation {clip}"
        scale = max((abs(n) for world in wanted for column in world for n in column), default=1.0)
        for i, original in enumerate(order):
            flat = lambda matrix: [n for column in matrix for n in column]
            near(flat(found[i]), flat(wanted[i]), f"world matrix of node {original} {what}", scale)
            near(weights[i], wanted_weights[original], f"weights of node {original} {what}")
        counts["poses"] += 1
        counts["morphed poses"] += any(wanted_weights)
    counts["clips"] += len(clips)


def main():
    if len(sys.argv) != 3:
        print("usage: scene.py ASSETC SOURCES")
        return 2
    assetc, root = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    models = sorted(os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names
                    if name.endswith((".gltf", ".glb")))
    counts = dict.fromkeys(("models", "nodes", "cameras", "lights", "skins", "instances", "clips", "poses", "morphed poses"), 0)
    wrong, skipped, failed = 0, 0, 0
    with tempfile.TemporaryDirectory() as project:
        with open(os.path.join(project, "assetc.yml"), "w", encoding="utf-8") as config:
            config.write(SETTINGS)
        # A build reads nothing outside of its project.
        shutil.copytree(root, os.path.join(project, "assets"))
        runtime = os.path.join(project, "runtime")
        subprocess.run([assetc, "build", "-C", project], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        for path in models:
            name = os.path.relpath(path, root)
            output = os.path.join(runtime, os.path.splitext(name)[0] + ".hscn")
            if not os.path.exists(output):
                failed += 1
                print(f"none   {name}")
                continue
            try:
                compare(Source(path), SceneFile(open(output, "rb").read()), counts)
                counts["models"] += 1
            except Skip as why:
                skipped += 1
                print(f"skip   {name}: {why}")
            except Difference as why:
                wrong += 1
                print(f"WRONG  {name}: {str(why)[:300]}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    print(f"{len(models)} sources: {counts['models']} equal, {wrong} wrong, {skipped} skipped, {failed} without a scene file")
    return int(wrong > 0 or counts["models"] == 0)


if __name__ == "__main__":
    sys.exit(main())
