#!/usr/bin/env python3
"""Compares the names that `unity-assetdb annotate` gives to references with an independent, slow computation.

    names_reference.py UNITY_ASSETDB PROJECT... [--list KIND] [--limit N]

For every `{fileID, guid}` in the YAML files and `.meta` files of a project, the expected name and type are computed from
the documents alone: every file is split into documents with regular expressions, overrides of `m_Name` are applied along
the chain of prefab instances (the outermost wins), and fileIDs of imported objects are the xxHash64 of their class and
name. Nothing is shared with the implementation but the definition. The exit code is 1 if one name is wrong.

Kinds of results, counted by occurrence:
  right       the name and the type are as computed
  wrong       another name or type
  unnamed     the computation has a name, the tool has none
  unexpected  the tool has a name, the computation has none
  dangling    the target file is here and has no such object (both agree)
  opaque      the target file is empty, binary or of an unread format: neither can know (both agree)
  absent      no file has the GUID, and the tool gives no name (a package that is not on disk)
"""

import argparse
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

MAX = (1 << 63) - 1
PRIMES = (11400714785074694791, 14029467366897019727, 1609587929392839161, 9650029242287828579, 2870177450012600261)
M64 = (1 << 64) - 1


def rotl(x, r):
    return ((x << r) | (x >> (64 - r))) & M64


def xxh64(data):
    """xxHash64 with seed 0, as its specification has it."""
    p1, p2, p3, p4, p5 = PRIMES
    rnd = lambda acc, lane: rotl((acc + lane * p2) & M64, 31) * p1 & M64
    at, n = 0, len(data)
    if n >= 32:
        v = [(p1 + p2) & M64, p2, 0, -p1 & M64]
        while at + 32 <= n:
            v = [rnd(a, l) for a, l in zip(v, struct.unpack_from("<4Q", data, at))]
            at += 32
        h = (rotl(v[0], 1) + rotl(v[1], 7) + rotl(v[2], 12) + rotl(v[3], 18)) & M64
        for a in v:
            h = ((h ^ rnd(0, a)) * p1 + p4) & M64
    else:
        h = p5
    h = (h + n) & M64
    while at + 8 <= n:
        h = (rotl(h ^ rnd(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & M64
        at += 8
    if at + 4 <= n:
        h = (rotl(h ^ struct.unpack_from("<I", data, at)[0] * p1 & M64, 23) * p2 + p3) & M64
        at += 4
    while at < n:
        h = rotl(h ^ data[at] * p5 & M64, 11) * p1 & M64
        at += 1
    h = (h ^ h >> 33) * p2 & M64
    h = (h ^ h >> 29) * p3 & M64
    return h ^ h >> 32


def file_id(kind, name, count=0):
    value = xxh64(f"Type:{kind}->{name}{count}".encode())
    return value - (1 << 64) if value > MAX else value


REF = re.compile(r"\{fileID:\s+(-?\d+),\s+guid:\s+([0-9a-fA-F]{32}),\s+type:\s+-?\d+\}")
HEADER = re.compile(r"^--- !u!(\d+) &(-?\d+)( stripped)?[ \r]*$", re.M)
MODIFICATION = re.compile(
    r"^    - target: \{fileID:\s+(-?\d+),\s+guid:\s+([0-9a-fA-F]{32}),\s+type:\s+\d+\}\n"
    r"      propertyPath: m_Name\n      value: ?(.*(?:\n {8,}.*)*)\n", re.M)


def scalar(text):
    """The value of a YAML scalar as Unity writes them: plain, single-quoted or double-quoted, perhaps folded."""
    text = re.sub(r" *\r?\n *", " ", text.strip())
    if text.startswith("'") and text.endswith("'") and len(text) > 1:
        return text[1:-1].replace("''", "'")
    if text.startswith('"') and text.endswith('"') and len(text) > 1:
        try:
            return json.loads(re.sub(r"\\x([0-9A-Fa-f]{2})", r"\\u00\1", text).replace("\\ ", " "))
        except ValueError:
            return text[1:-1]
    return text


class Doc:
    def __init__(self, kind, stripped, body):
        self.kind, self.stripped = kind, stripped
        found = re.search(r"^  m_Name:(.*(?:\n {4,}.*)*)$", body, re.M)
        self.name = scalar(found[1]) if found else None
        ref = lambda key: (m := re.search(rf"^  {key}:\s+\{{fileID:\s+(-?\d+)(?:,\s+guid:\s+([0-9a-fA-F]{{32}}))?", body, re.M)) and (int(m[1]), m[2])
        owner = ref("m_GameObject")
        self.owner = owner[0] if owner and owner[0] else None
        script = ref("m_Script")
        self.script = script[1].lower() if script and script[1] else None
        self.script_id = script[0] if script else 0
        identifier = re.search(r"^  m_EditorClassIdentifier: ?(.+)$", body, re.M)
        self.identifier = identifier[1].strip() if identifier else ""
        source = ref("m_CorrespondingSourceObject") or ref("m_PrefabParentObject")
        self.source = source if source and source[1] else None
        instance = ref("m_PrefabInstance") or ref("m_PrefabInternal")
        self.instance = instance[0] if instance else None
        prefab = ref("m_SourcePrefab") or ref("m_ParentPrefab") if kind == 1001 else None
        self.prefab = prefab[1] if prefab else None
        self.names = {}
        if kind == 1001:
            for fid, guid, value in MODIFICATION.findall(body):
                self.names[(guid.lower(), int(fid))] = scalar(value)


class Project:
    def __init__(self, root):
        self.root, self.files, self.docs, self.memo = root, {}, {}, {}
        self.metas, self.tables, self.known, self.resources, self.all_identifiers = {}, {}, {}, {}, None
        roots = [os.path.join(root, "Assets"), os.path.join(root, "Packages")]
        cache = os.path.join(root, "Library", "PackageCache")
        roots.append(cache)
        for name in ("manifest.json", "packages-lock.json"):
            try:
                listed = json.load(open(os.path.join(root, "Packages", name)))["dependencies"]
            except (OSError, ValueError, KeyError):
                continue
            for version in listed.values():
                version = version if isinstance(version, str) else version.get("version", "")
                if version.startswith("file:"):
                    roots.append(os.path.normpath(os.path.join(root, "Packages", version[5:])))
        self.external = set()
        for top in roots:
            for folder, dirs, names in os.walk(top, followlinks=True):
                hidden = lambda n: n.startswith(".") or n.endswith("~") or n.lower() == "cvs" or n.endswith(".tmp")
                dirs[:] = [d for d in dirs if not hidden(d)]
                for name in names:
                    if not name.endswith(".meta") or hidden(name[:-5]):
                        continue
                    path = os.path.join(folder, name[:-5])
                    text = open(path + ".meta", "rb").read().decode("utf-8", "replace")
                    guid = re.search(r"^guid: ([0-9a-fA-F]{32})", text, re.M)
                    if guid and os.path.exists(path):
                        self.files.setdefault(guid[1].lower(), path)
                        self.metas[guid[1].lower()] = text
                        if top not in roots[:2]:
                            self.external.add(guid[1].lower())

    def documents(self, guid):
        """The objects of a YAML file by fileID, or None."""
        if guid not in self.docs:
            self.docs[guid] = None
            path = self.files.get(guid)
            if path and os.path.isfile(path) and not path.endswith(".cs"):
                data = open(path, "rb").read()
                if re.match(rb"(\xef\xbb\xbf)?(%YAML|--- )", data):
                    text = data.decode("utf-8", "replace").replace("\r\n", "\n")
                    heads = list(HEADER.finditer(text))
                    docs = {}
                    for head, after in zip(heads, heads[1:] + [None]):
                        body = text[head.end():after.start() if after else None]
                        docs.setdefault(int(head[2]), Doc(int(head[1]), bool(head[3]), body))
                    self.docs[guid] = docs
        return self.docs[guid]

    def object_of(self, guid, fid, depth=0):
        """(class, script, name, GameObject's fileID or None) of an object, with the names of this file's own overrides."""
        key = (guid, fid)
        if key not in self.memo:
            self.memo[key] = None
            self.memo[key] = self.compute(guid, fid, depth)
        return self.memo[key]

    def compute(self, guid, fid, depth):
        if depth > 20:
            return None
        docs = self.documents(guid)
        if docs is None:
            return self.imported(guid, fid)
        doc = docs.get(fid)
        if doc and not doc.stripped:
            if doc.owner:
                owner = self.object_of(guid, doc.owner, depth + 1)
                return (doc.kind, doc, owner[2] if owner else "", doc.owner)
            return (doc.kind, doc, doc.name or "", fid if doc.kind == 1 else None)
        if doc and doc.source:
            found = self.through(guid, doc.instance, doc.source[1].lower(), doc.source[0], depth)
            return found or (doc.kind, doc, "", None)
        for instance, each in docs.items():
            if each.kind == 1001 and each.prefab:
                mixed = fid ^ instance
                for source in (mixed & MAX, (mixed & MAX) - (1 << 63)):
                    found = self.through(guid, instance, each.prefab.lower(), source, depth)
                    if found:
                        return found
        return None

    def through(self, guid, instance, source_guid, source, depth):
        """An object of a prefab instance in a file: the source's, renamed by the instance."""
        found = self.object_of(source_guid, source, depth + 1)
        holder = self.documents(guid).get(instance)
        if not found:
            # An object of a base that cannot be read is still known by the name that the instance gives to it.
            name = holder and holder.names.get((source_guid, source))
            return (1, None, name, (source ^ instance) & MAX) if name and not self.lists_all(source_guid) else None
        kind, doc, name, owner = found
        if holder and owner is not None:
            name = holder.names.get((source_guid, owner), name)
        elif holder:
            name = holder.names.get((source_guid, source), name)
        mixed = None if owner is None else ((owner ^ instance) & MAX)
        return (kind, doc, name, mixed)

    def imported(self, guid, fid):
        """An object that an importer makes of a file: (class, None, name, GameObject), from the table of all of them."""
        if guid not in self.tables:
            self.tables[guid] = self.table(guid) if guid in self.files else {}
        found = self.tables[guid].get(fid)
        return found and (found[0], None, found[1], found[2])

    def table(self, guid):
        text, path, stem = self.metas[guid], self.files[guid], self.stem(guid)
        importer = (re.findall(r"^([A-Z]\w+):$", text, re.M) or [""])[0]
        table = {}
        if importer == "ModelImporter":
            for fid, (kind, name, owner) in model_objects(path, text, stem).items():
                table[fid] = (kind, name, owner)
        if importer == "TrueTypeFontImporter":
            table.update({2100000: (21, "Font Material", None), 2800000: (28, "Font Texture", None)})
        if importer == "TextureImporter" and "\n  textureType: 8\n" in text and "\n  spriteMode: 1\n" in text:
            table[21300000] = (213, stem, None)
        for fid, name in re.findall(r"^    (-?\d+): (.+)$", section(text, "fileIDToRecycleName"), re.M):
            table[int(fid)] = (int(fid) // 100000, stem if scalar(name) == "//RootNode" else scalar(name), None)
        ids = re.findall(r"first:\n\s+(\d+): (-?\d+)\n\s+second: (.*)$", section(text, "internalIDToNameTable"), re.M)
        for kind, fid, name in ids:
            table[int(fid)] = (int(kind), stem if scalar(name) == "//RootNode" else scalar(name), None)
        for name, fid in re.findall(r"^      ?(.+): (-?\d+)$", section(text, "nameFileIdTable", 4), re.M):
            table[int(fid)] = (213, scalar(name), None)
        for item in re.split(r"^    - serializedVersion", section(text, "sprites", 4), flags=re.M)[1:]:
            name = re.search(r"^      name: (.*)$", item, re.M)
            fid = re.search(r"^      internalID: (-?\d+)$", item, re.M)
            if name and fid and int(fid[1]):
                table[int(fid[1])] = (213, scalar(name[1]), None)
        if path.endswith(".inputactions") and os.path.getsize(path):
            for each in json.load(open(path, encoding="utf-8-sig"))["maps"]:
                for action in each["actions"]:
                    table[file_id("MonoBehaviour", action["id"])] = (114, f"{each['name']}/{action['name']}", None)
        roots = {fid for fid, (kind, name, _) in table.items() if kind == 1}
        if importer == "ModelImporter":
            for fid, (kind, name, owner) in list(table.items()):
                if owner is None and kind in COMPONENTS:
                    same = [go for go in roots if table[go][1] == name]
                    table[fid] = (kind, name, same[0] if len(same) == 1 else None)
        return table

    def main_ids(self, guid):
        """The fileIDs that stand for the asset itself."""
        path, text = self.files[guid], self.metas[guid]
        ext = os.path.splitext(path)[1].lower()
        ids = {0, 100100000, 102900000}
        ids.update({".cs": {11500000}, ".shader": {4800000}, ".compute": {7200000}, ".wav": {8300000}, ".mp3": {8300000},
                    ".ogg": {8300000}, ".ttf": {12800000}, ".otf": {12800000}, ".txt": {4900000}, ".json": {4900000},
                    ".bytes": {4900000}, ".room": {4900000}, ".mp4": {32900000}, ".dll": set(),
                    ".shadergraph": {file_id("Shader", "MainAsset")},
                    ".shadersubgraph": {file_id("MonoBehaviour", "MainAsset")},
                    ".uxml": {file_id("MonoBehaviour", "tree")}, ".uss": {file_id("MonoBehaviour", "stylesheet")},
                    ".tss": {-4733365628477956816}, ".inputactions": {file_id("MonoBehaviour", "<root>")},
                    ".vfx": {8926484042661614526}}.get(ext, set()))
        # A file whose documents cannot be read.
        ids.update({".anim": {7400000}, ".mat": {2100000}, ".controller": {9100000}, ".mesh": {4300000},
                    ".shadervariants": {20000000}}.get(ext, set()))
        main = re.search(r"^  mainObjectFileID: (-?\d+)$", text, re.M)
        if main:
            ids.add(int(main[1]))
        if re.search(r"^(TextureImporter|IHVImageFormatImporter):", text, re.M):
            ids.update({2800000, 8900000, 11700000, 18700000})
        if "ModelImporter:" in text:
            named = section(text, "fileIDToRecycleName")
            ids.update(fid for kind in (1, 4) for fid in root_ids(kind) if f" {fid}: " not in named)
        return ids

    def script_name(self, doc):
        if doc.script in self.files and doc.script_id == 11500000:
            return self.stem(doc.script)
        if doc.identifier:
            return re.split(r"[.:/+]", doc.identifier)[-1]
        return self.identifiers().get((doc.script, doc.script_id)) or self.known.get((doc.script, doc.script_id))

    def identifiers(self):
        """The class identifiers that any document of the project states for a script."""
        if self.all_identifiers is None:
            self.all_identifiers = {}
            for guid in self.files:
                for doc in (self.documents(guid) or {}).values():
                    if doc.script and doc.identifier:
                        self.all_identifiers[(doc.script, doc.script_id)] = re.split(r"[.:/+]", doc.identifier)[-1]
        return self.all_identifiers

    def type_of(self, kind, doc):
        name = CLASSES.get(kind, str(kind))
        if doc is None or kind != 114 or not doc.script:
            return name
        script = self.script_name(doc)
        return f"{name}: {script}" if script else name

    def lists_all(self, guid, depth=0):
        """Whether every object of a file is known: it is YAML, and so are the bases of its instances."""
        docs = self.documents(guid) if guid in self.files else None
        if not docs:
            text = self.metas.get(guid, "")
            return "MonoImporter:" in text or ("TextureImporter:" in text and not self.files[guid].lower().endswith((".psb", ".psd")))
        return depth < 20 and all(self.lists_all(doc.prefab.lower(), depth + 1)
                                  for doc in docs.values() if doc.kind == 1001 and doc.prefab)

    def expected(self, guid, fid):
        """(status, name, type or None) of a reference."""
        if re.fullmatch(r"0{16}[0-9a-f]0{15}", guid):
            name, kind = self.resources.get((guid, fid), ("", ""))
            return ("built-in" if name else "unknown built-in", name, kind)
        if guid not in self.files:
            name = self.identifiers().get((guid, fid)) or self.known.get((guid, fid))
            return ("known script", name, "MonoScript") if name else ("absent", "", "")
        docs = self.documents(guid)
        found = self.object_of(guid, fid)
        is_yaml_main = docs is not None and fid in docs and fid == self.main_document(guid)
        if fid in self.main_ids(guid) and not (found and docs is None and found[0] not in (1, 4)) or is_yaml_main:
            return ("named", self.stem(guid), None)
        if found and found[2]:
            return ("named", found[2], self.type_of(found[0], found[1]))
        if found and self.lists_all(guid):
            return ("named", self.stem(guid), self.type_of(found[0], found[1]))
        if found:
            return ("opaque", "", self.type_of(found[0], found[1]))
        return ("dangling" if self.lists_all(guid) else "opaque", "", "")

    def main_document(self, guid):
        """The fileID of the main object of a YAML asset other than a prefab or a scene."""
        path, docs = self.files[guid], self.documents(guid)
        if path.endswith((".prefab", ".unity", ".vfx")):
            return None
        main = re.search(r"^  mainObjectFileID: (-?\d+)$", self.metas[guid], re.M)
        if main and int(main[1]) in docs:
            return int(main[1])
        return next((fid for fid, doc in docs.items() if fid == doc.kind * 100000),
                    next((fid for fid, doc in docs.items() if not doc.stripped), None))

    def stem(self, guid):
        name = os.path.basename(self.files[guid])
        return name if os.path.isdir(self.files[guid]) else os.path.splitext(name)[0]


def section(text, key, indent=2):
    """The lines below a key, which are indented deeper or are items of its list."""
    found = re.search(rf"^ {{{indent}}}{key}:\n((?: {{{indent}}}[ -].*\n)*)", text, re.M)
    return found[1] if found else ""


CLASSES = {}
COMPONENTS = {4: "Transform", 33: "MeshFilter", 23: "MeshRenderer", 137: "SkinnedMeshRenderer", 95: "Animator",
              111: "Animation", 205: "LODGroup", 64: "MeshCollider", 20: "Camera", 108: "Light"}


def root_ids(kind):
    name = CLASSES[kind]
    suffix = "" if kind == 1 else "/" + name
    return {kind * 100000, file_id(name, "//RootNode"), file_id(name, "//RootNode/root" + suffix)}


def model_objects(path, meta, stem):
    """All objects that a model may have: (class, name, GameObject) by fileID."""
    second = re.search(r"fileIdsGeneration: 2$", meta, re.M)
    objects, counts = {}, collections.Counter()

    def put(kind, key, name, owner):
        fid = file_id(CLASSES[kind], key, counts[(kind, key)])
        counts[(kind, key)] += 1
        objects[fid] = (kind, name, owner)
        return fid

    def node(node_path, name):
        game_object = put(1, node_path, name, None)
        objects[game_object] = (1, name, game_object)
        for kind, kind_name in COMPONENTS.items():
            put(kind, f"{node_path}/{kind_name}" if second else node_path, name, game_object)

    root = "//RootNode/root" if second else "//RootNode"
    node(root, stem)
    for kind in [1, *COMPONENTS]:
        for fid in root_ids(kind):
            objects.setdefault(fid, (kind, stem, None))
    objects[9000000] = (90, stem + "Avatar", None)
    data = open(path, "rb").read() if path.lower().endswith((".fbx", ".obj")) else b""
    if path.lower().endswith(".obj"):
        groups, current = [], "default"
        for line in data.decode("utf-8", "replace").splitlines():
            if line[:2] in ("g ", "o "):
                current = line[2:].strip()
            elif line.startswith("f ") and (not groups or groups[-1] != current):
                groups.append(current)
        nodes = [(n, name, None) for n, name in enumerate(groups)]
        materials, clips = sorted(set(re.findall(r"^usemtl (.+?)\s*$", data.decode("utf-8", "replace"), re.M))), []
    else:
        nodes, materials, clips = fbx(data)
    parents = {fid: parent for fid, _, parent in nodes}
    names = {fid: name for fid, name, _ in nodes}
    tops = [fid for fid, _, parent in nodes if parent not in names]
    folded = tops[0] if len(tops) == 1 and "preserveHierarchy: 1" not in meta else None
    for fid, name, _ in nodes:
        steps, at = [], fid
        while at in names and at != folded and len(steps) < 600:
            steps.append(names[at])
            at = parents[at]
        if fid != folded:
            node("/".join([root, *reversed(steps)]), name)
    for fid, name, _ in nodes:
        put(43, name, name, None)
    for name in materials:
        put(21, name, name, None)
    for name in clips:
        put(74, name, name, None)
    for name, fid in re.findall(r"      name: (.+)\n(?:      .*\n)*?      internalID: (-?\d+)", section(meta.replace("\n    clipAnimations:", "\n  clipAnimations:"), "clipAnimations")):
        objects[int(fid)] = (74, scalar(name), None)
    return objects


def fbx(data):
    """The nodes (id, name, parent id), materials and clips of an FBX file, binary or text."""
    models, materials, clips, links = [], [], [], {}
    if data.startswith(b"Kaydara FBX Binary"):
        wide = struct.unpack_from("<I", data, 23)[0] >= 7500
        head, size = ("<QQQB", 25) if wide else ("<IIIB", 13)

        def read(at, end, path):
            while at + size <= end:
                stop, count, length, chars = struct.unpack_from(head, data, at)
                if not stop:
                    return
                name = data[at + size:at + size + chars].decode()
                values, place = [], at + size + chars
                for _ in range(count):
                    kind, place = chr(data[place]), place + 1
                    if kind in "SR":
                        n = struct.unpack_from("<I", data, place)[0]
                        values.append(data[place + 4:place + 4 + n])
                        place += 4 + n
                    elif kind in "fdlib":
                        place += 12 + struct.unpack_from("<III", data, place)[2]
                        values.append(None)
                    else:
                        code = {"Y": "<h", "C": "<b", "I": "<i", "F": "<f", "D": "<d", "L": "<q"}[kind]
                        values.append(struct.unpack_from(code, data, place)[0])
                        place += struct.calcsize(code)
                take(path, name, values)
                if name in ("Objects", "Connections") and not path:
                    read(at + size + chars + length, stop, path + (name,))
                at = stop

        def take(path, name, values):
            text = lambda v: v.split(b"\0")[0].decode("utf-8", "replace")
            if path == ("Objects",) and name in ("Model", "Material", "AnimationStack"):
                if len(values) > 2:
                    add(name, values[0], text(values[1]))
            elif path == ("Connections",) and name == "C" and values[0] == b"OO":
                links.setdefault(values[1], []).append(values[2])

        def add(kind, fid, name):
            (models.append((fid, name)) if kind == "Model" else (materials if kind == "Material" else clips).append(name))

        read(27, len(data), ())
    else:
        text = data.decode("utf-8", "replace")
        for kind, fid, name in re.findall(r'^\t(Model|Material|AnimationStack): (\d+), "(?:\w+::)?([^"]*)"', text, re.M):
            (models.append((int(fid), name)) if kind == "Model" else (materials if kind == "Material" else clips).append(name))
        for child, parent in re.findall(r'C: "OO",(\d+),(\d+)', text):
            links.setdefault(int(child), []).append(int(parent))
    ids = {fid for fid, _ in models}
    parent = lambda fid: next((up for up in links.get(fid, []) if up in ids), None)
    return [(fid, name, parent(fid)) for fid, name in models], materials, clips


def references(project):
    """Counts every reference of the YAML files and `.meta` files of the project itself."""
    counts = collections.Counter()
    tops = [os.path.join(project.root, top) for top in ("Assets", "Packages", "ProjectSettings")]
    for top in tops:
        for folder, dirs, names in os.walk(top):
            dirs[:] = [d for d in dirs if not d.startswith(".") and not d.endswith("~")]
            for name in names:
                if name.startswith(".") or name.endswith(("~", ".cs")):
                    continue
                data = open(os.path.join(folder, name), "rb").read()
                if b"guid:" in data:
                    for fid, guid in REF.findall(data.decode("utf-8", "replace")):
                        if int(guid, 16):
                            counts[(guid.lower(), int(fid))] += 1
    return counts


def tool_answers(tool, project, keys):
    """The label that `annotate` replaces each reference with."""
    lines = "".join(f"{{fileID: {fid}, guid: {guid}, type: 3}}\n" for guid, fid in keys)
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run([tool, "--project", project.root, "--out-dir", out, "annotate"], input=lines.encode(),
                             stdout=subprocess.PIPE, check=True)
    return dict(zip(keys, (line[1:-1] for line in run.stdout.decode().splitlines())))


def compare(project, key, label):
    """The kind of a result, and what was expected."""
    guid, fid = key
    status, name, kind = project.expected(guid, fid)
    path = os.path.relpath(project.files[guid], project.root) if guid in project.files else ""
    if label.startswith("fileID:"):
        got = None
    elif label.startswith("built-in, unknown name"):
        got = ("", "")
    else:
        rest = label[:-len(path) - 1] if path and label.endswith(" " + path) else re.sub(r" (built-in|not on disk)$", "", label)
        found = re.fullmatch(r"(.*) \(([^()]*)\)", rest, re.S)
        got = (found[1], found[2]) if found else (rest, "")
        if re.fullmatch(r"object -?\d+", got[0]):
            got = ("", got[1])
    is_named = bool(got and got[0])
    if status in ("named", "built-in", "known script"):
        if not is_named:
            return "unnamed", (name, kind)
        # A name that several assets share has a suffix in the database.
        same = got[0] == name or re.match(re.escape(name) + r"(@[^^]*|\.\w+)?\^", got[0])
        return ("right" if same and kind in (None, got[1]) else "wrong"), (name, kind)
    if is_named:
        return "unexpected", (name, kind)
    return status, (name, kind)


def load_tables(project):
    tables = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/unity-assetdb/src/builtin")
    rows = lambda name: [line.rstrip("\n").split("\t") for line in open(os.path.join(tables, name)) if line[0] != "#"]
    project.known = {(row[0], int(row[1])): row[2] for row in rows("scripts.tsv")}
    project.resources = {("0" * 16 + row[0] + "0" * 15, int(row[1])): (row[2], row[3]) for row in rows("resources.tsv")}
    for key, name in project.known.items():
        if key[0].startswith("0" * 16):
            project.resources.setdefault(key, (name, "MonoScript"))
    for key, (name, kind) in project.resources.items():
        if kind == "MonoScript":
            project.known.setdefault(key, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("projects", nargs="+")
    parser.add_argument("--list", action="append", default=[], metavar="KIND", help="print the references of a kind")
    parser.add_argument("--limit", type=int, default=20)
    args = parser.parse_args()
    failed = False
    for root in args.projects:
        project = Project(os.path.abspath(root))
        load_tables(project)
        counts = references(project)
        labels = tool_answers(os.path.abspath(args.tool), project, list(counts))
        sums, distinct, rows = collections.Counter(), collections.Counter(), collections.defaultdict(list)
        for key, count in counts.items():
            kind, expected = compare(project, key, labels[key])
            where = "in project" if key[0] in project.files and key[0] not in project.external else \
                "in packages" if key[0] in project.files else "elsewhere"
            sums[(where, kind)] += count
            distinct[(where, kind)] += 1
            rows[kind].append((count, key, labels[key], expected))
        print(os.path.basename(project.root))
        for where in ("in project", "in packages", "elsewhere"):
            total = sum(count for (place, _), count in sums.items() if place == where)
            if not total:
                continue
            right = sums[(where, "right")]
            bad = sum(sums[(where, kind)] for kind in ("wrong", "unnamed", "unexpected"))
            print(f"  {where}: {total} references, right {right} ({right / total:.2%}), "
                  f"right of those that can be known {right / max(right + bad, 1):.2%}")
            for (place, kind), count in sorted(sums.items(), key=lambda each: -each[1]):
                if place == where:
                    print(f"    {kind:17}{count:8} references to {distinct[(place, kind)]} objects")
        failed |= any(sums[(where, kind)] for where in ("in project", "in packages", "elsewhere")
                      for kind in ("wrong", "unnamed", "unexpected"))
        for kind in args.list:
            for count, (guid, fid), label, expected in sorted(rows[kind], key=lambda row: -row[0])[:args.limit]:
                print(f"  {kind}: {count} {{fileID: {fid}, guid: {guid}}} tool: {label!r} expected: {expected}")
    return failed


def load_classes():
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/unity-assetdb/src/class_id/table.rs")
    for name, number in re.findall(r"(\w+) = (\d+),", open(source).read()):
        CLASSES[int(number)] = name


load_classes()
if __name__ == "__main__":
    sys.exit(main())
