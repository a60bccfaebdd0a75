#!/usr/bin/env python3
"""Computes the showcase's models: a lantern (glTF), swaying reeds (GLB with a skin and a clip), a crate (OBJ).

Needs numpy. Same output every time.
"""
import json
import math
import struct
from pathlib import Path

import numpy as np

MODELS = Path(__file__).parent / "assets" / "models"


class Gltf:
    """A glTF document and its one buffer."""

    def __init__(self, name):
        self.json = {"asset": {"version": "2.0", "generator": "Kiln showcase"}, "scene": 0, "scenes": [{"name": name, "nodes": []}]}
        self.data = bytearray()

    def add(self, kind, value):
        self.json.setdefault(kind, []).append(value)
        return len(self.json[kind]) - 1

    def accessor(self, array, bounds=False):
        array = np.ascontiguousarray(array)
        self.data += b"\0" * (-len(self.data) % 4)
        view = self.add("bufferViews", {"buffer": 0, "byteOffset": len(self.data), "byteLength": array.nbytes})
        self.data += array.tobytes()
        component = {"float32": 5126, "uint32": 5125, "uint16": 5123, "uint8": 5121}[array.dtype.name]
        shape = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}[1 if array.ndim == 1 else array.shape[1]]
        value = {"bufferView": view, "componentType": component, "count": len(array), "type": shape}
        if bounds:
            low, high = np.atleast_1d(array.min(axis=0)), np.atleast_1d(array.max(axis=0))
            value |= {"min": low.tolist(), "max": high.tolist()}
        return self.add("accessors", value)

    def primitive(self, shape, material, **extra):
        positions, normals, uvs, indices = shape
        attributes = {
            "POSITION": self.accessor(positions.astype("float32"), bounds=True),
            "NORMAL": self.accessor(normals.astype("float32")),
            "TEXCOORD_0": self.accessor(uvs.astype("float32")),
        }
        attributes |= {name: self.accessor(array) for name, array in extra.items()}
        width = "uint16" if len(positions) < 65536 else "uint32"
        return {"attributes": attributes, "indices": self.accessor(indices.astype(width)), "material": material}

    def save_text(self, path):
        path.with_suffix(".bin").write_bytes(self.data)
        self.json["buffers"] = [{"byteLength": len(self.data), "uri": path.with_suffix(".bin").name}]
        path.write_text(json.dumps(self.json, indent=1) + "\n")

    def save_binary(self, path):
        self.json["buffers"] = [{"byteLength": len(self.data)}]
        text = json.dumps(self.json, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
        path.write_bytes(head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data)


def lathe(profile, around=48, tiles=4.0):
    """A profile of (radius, height) turned about the y axis, with normals across the profile's segments."""
    profile = np.array(profile, dtype=float)
    length = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(profile, axis=0).T))])
    positions, normals, uvs, indices = [], [], [], []
    for k in range(len(profile) - 1):
        (r0, y0), (r1, y1) = profile[k], profile[k + 1]
        out = np.array([y1 - y0, r0 - r1])
        out /= np.hypot(*out)
        base = len(positions)
        for i in range(around + 1):
            angle = 2 * math.pi * i / around
            c, s = math.cos(angle), math.sin(angle)
            for (r, y), v in [((r0, y0), length[k]), ((r1, y1), length[k + 1])]:
                positions.append([r * c, y, -r * s])
                normals.append([out[0] * c, out[1], -out[0] * s])
                uvs.append([tiles * i / around, 1 - v])
        for i in range(around):
            a = base + 2 * i
            indices += [a, a + 2, a + 1, a + 1, a + 2, a + 3]
    return np.array(positions), np.array(normals), np.array(uvs), np.array(indices)


def lantern():
    """Brass and glass: instanced posts, a mirrored handle, transparency, an emitter above one."""
    g = Gltf("lantern")
    image = g.add("images", {"uri": "../textures/plating.n.png", "name": "hammered"})
    texture = g.add("textures", {"source": image})
    brass = g.add("materials", {
        "name": "Brass", "normalTexture": {"index": texture, "scale": 0.6},
        "pbrMetallicRoughness": {"baseColorFactor": [0.78, 0.57, 0.2, 1], "metallicFactor": 1.0, "roughnessFactor": 0.32},
    })
    glass = g.add("materials", {
        "name": "Glass", "alphaMode": "BLEND", "doubleSided": True,
        "pbrMetallicRoughness": {"baseColorFactor": [0.9, 0.95, 1.0, 0.18], "metallicFactor": 0.0, "roughnessFactor": 0.04},
    })
    flame = g.add("materials", {
        "name": "Flame", "emissiveFactor": [1.0, 0.55, 0.16], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 12.0}},
        "pbrMetallicRoughness": {"baseColorFactor": [1, 0.7, 0.3, 1], "metallicFactor": 0.0},
    })
    g.json["extensionsUsed"] = ["KHR_materials_emissive_strength"]
    base = lathe([(0, 0), (0.52, 0), (0.56, 0.05), (0.5, 0.1), (0.46, 0.16), (0.46, 0.22), (0, 0.22)])
    roof = lathe([(0, 1.12), (0.5, 1.12), (0.55, 1.16), (0.5, 1.2), (0.3, 1.38), (0.12, 1.46), (0.12, 1.56), (0, 1.58)])
    pane = lathe([(0.4, 0.22), (0.43, 0.45), (0.44, 0.67), (0.43, 0.9), (0.4, 1.12)], tiles=1)
    drop = lathe([(0, 0.3), (0.05, 0.34), (0.09, 0.43), (0.08, 0.53), (0.04, 0.65), (0, 0.76)], around=24, tiles=1)
    post = lathe([(0.035, 0.22), (0.028, 0.67), (0.035, 1.12)], around=16, tiles=1)
    arm = lathe([(0.03, 0), (0.03, 0.45)], around=16, tiles=1)
    body = g.add("meshes", {"name": "body", "primitives": [g.primitive(base, brass), g.primitive(roof, brass), g.primitive(drop, flame), g.primitive(pane, glass)]})
    rod = g.add("meshes", {"name": "post", "primitives": [g.primitive(post, brass)]})
    handle = g.add("meshes", {"name": "handle", "primitives": [g.primitive(arm, brass)]})
    children = [g.add("nodes", {"name": "body", "mesh": body})]
    for k in range(4):
        angle = math.pi / 4 + k * math.pi / 2
        children.append(g.add("nodes", {"name": f"post {k}", "mesh": rod, "translation": [0.46 * math.cos(angle), 0, 0.46 * math.sin(angle)]}))
    tilt = math.radians(-38) / 2
    for name, scale in [("handle right", 1), ("handle left", -1)]:
        arm = g.add("nodes", {"name": name + " arm", "mesh": handle, "translation": [0.12, 1.52, 0], "rotation": [0, 0, math.sin(tilt), math.cos(tilt)]})
        children.append(g.add("nodes", {"name": name, "children": [arm], "scale": [scale, 1, 1]}))
    g.json["scenes"][0]["nodes"] = [g.add("nodes", {"name": "lantern", "children": children})]
    g.save_text(MODELS / "lantern.gltf")


def reeds():
    """A stalk with leaves on five joints, below a node that is no joint, and a clip in which it sways."""
    g = Gltf("reeds")
    image = g.add("images", {"uri": "../foliage/sprig.png", "name": "sprig"})
    texture = g.add("textures", {"source": image})
    stalk = g.add("materials", {"name": "Stalk", "pbrMetallicRoughness": {"baseColorFactor": [0.24, 0.36, 0.12, 1], "metallicFactor": 0, "roughnessFactor": 0.8}})
    leaf = g.add("materials", {
        "name": "Leaf", "alphaMode": "MASK", "alphaCutoff": 0.5, "doubleSided": True,
        "pbrMetallicRoughness": {"baseColorTexture": {"index": texture}, "metallicFactor": 0, "roughnessFactor": 0.7},
    })
    joints, height = 5, 2.0
    step = height / joints

    def weigh(positions):
        at = np.clip(positions[:, 1] / step - 0.5, 0, joints - 1 - 1e-6)
        low = np.floor(at).astype(int)
        part = (at - low).astype("float32")
        zero = np.zeros_like(part)
        names = np.stack([low, np.minimum(low + 1, joints - 1), 0 * low, 0 * low], axis=1).astype("uint8")
        return names, np.stack([1 - part, part, zero, zero], axis=1)

    rings = [(0.035 * (1 - 0.6 * y / height), y) for y in np.linspace(0, height, 41)]
    tube = lathe(rings + [(0.0, height + 0.02)], around=16, tiles=1)
    quads = [[], [], [], []]
    for k in range(6):
        y, turn = 0.5 + 0.27 * k, 2.4 * k
        across = np.array([math.cos(turn), 0.35, math.sin(turn)])
        up = np.array([-0.3 * math.cos(turn), 1.0, -0.3 * math.sin(turn)])
        side = np.cross(across, up)
        side /= np.linalg.norm(side)
        start = len(quads[0])
        for u, v in [(0, 0), (1, 0), (1, 1), (0, 1)]:
            quads[0].append(np.array([0, y, 0]) + across * 0.5 * u + up * 0.4 * (v - 0.5))
            quads[1].append(side)
            quads[2].append([u, 1 - v])
        quads[3] += [start, start + 1, start + 2, start, start + 2, start + 3]
    blades = tuple(np.array(q) for q in quads)
    primitives = []
    for shape, material in [(tube, stalk), (blades, leaf)]:
        names, weights = weigh(shape[0])
        primitives.append(g.primitive(shape, material, JOINTS_0=names, WEIGHTS_0=weights))
    mesh = g.add("meshes", {"name": "reeds", "primitives": primitives})
    bones = []
    for k in range(joints):
        node = {"name": f"bone {k}"}
        if k:
            node["translation"] = [0, step, 0]
        bones.append(g.add("nodes", node))
        if k:
            g.json["nodes"][bones[k - 1]]["children"] = [bones[k]]
    inverse = np.tile(np.eye(4, dtype="float32"), (joints, 1, 1))
    inverse[:, 3, 1] = [-k * step for k in range(joints)]
    skin = g.add("skins", {"name": "stalk", "joints": bones, "inverseBindMatrices": g.accessor(inverse.reshape(joints, 16))})
    drawn = g.add("nodes", {"name": "reeds", "mesh": mesh, "skin": skin})
    root = g.add("nodes", {"name": "armature", "children": [bones[0]]})
    g.json["scenes"][0]["nodes"] = [root, drawn]
    times = np.linspace(0, 4, 33, dtype="float32")
    clip = {"name": "Sway", "channels": [], "samplers": []}
    when = g.accessor(times, bounds=True)
    for k, bone in enumerate(bones):
        angle = math.radians(4 + 2 * k) * np.sin(2 * math.pi * times / 4 - 0.5 * k) / 2
        zero = np.zeros_like(times)
        turns = np.stack([zero, zero, np.sin(angle), np.cos(angle)], axis=1).astype("float32")
        clip["samplers"].append({"input": when, "output": g.accessor(turns), "interpolation": "LINEAR"})
        clip["channels"].append({"sampler": k, "target": {"node": bone, "path": "rotation"}})
    g.add("animations", clip)
    g.save_binary(MODELS / "reeds.glb")


def crate():
    """Boards around a box, in quads: the planks of the texture folder on its sides, plates at its corners."""
    vertices, uvs, normals, faces = [], [], [], {"Boards": [], "Corners": []}

    def box(material, centre, half):
        for axis in range(3):
            for sign in (1, -1):
                a, b = (axis + 1) % 3, (axis + 2) % 3
                normal = np.zeros(3)
                normal[axis] = sign
                normals.append(normal)
                face = []
                for u, v in [(0, 0), (1, 0), (1, 1), (0, 1)]:
                    p = np.array(centre, dtype=float)
                    p[axis] += sign * half[axis]
                    p[a] += sign * (2 * u - 1) * half[a]
                    p[b] += (2 * v - 1) * half[b]
                    vertices.append(p)
                    uvs.append([u * half[a] * 2, v * half[b] * 2])
                    face.append((len(vertices), len(uvs), len(normals)))
                faces[material].append(face)

    box("Boards", [0, 0.5, 0], [0.48, 0.48, 0.48])
    for x in (-1, 1):
        for y in (0, 1):
            for z in (-1, 1):
                box("Corners", [x * 0.45, 0.05 + y * 0.9, z * 0.45], [0.06, 0.06, 0.06])
    lines = ["# A crate, computed.", "mtllib crate.mtl", "o crate"]
    lines += [f"v {x:.4f} {y:.4f} {z:.4f}" for x, y, z in vertices]
    lines += [f"vt {u:.4f} {v:.4f}" for u, v in uvs]
    lines += [f"vn {x:.0f} {y:.0f} {z:.0f}" for x, y, z in normals]
    for material, list_ in faces.items():
        lines.append(f"usemtl {material}")
        lines += ["f " + " ".join(f"{v}/{t}/{n}" for v, t, n in face) for face in list_]
    (MODELS / "crate.obj").write_text("\n".join(lines) + "\n")
    (MODELS / "crate.mtl").write_text(
        "newmtl Boards\nKd 1 1 1\nmap_Kd ../textures/planks.jpg\nnorm ../textures/planks.n.png\nPr 0.8\nPm 0\n\n"
        "newmtl Corners\nKd 0.45 0.44 0.42\nPr 0.35\nPm 1\n"
    )


if __name__ == "__main__":
    MODELS.mkdir(parents=True, exist_ok=True)
    lantern()
    reeds()
    crate()
