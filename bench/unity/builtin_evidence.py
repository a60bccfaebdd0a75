#!/usr/bin/env python3
"""Prints the evidence that projects have for names of built-in resources and of scripts of packages.

    builtin_evidence.py resources PROJECT...   how each built-in resource is used: property, names of the objects that use it
    builtin_evidence.py scripts PROJECT...     rows of `crates/unity-assetdb/src/builtin/scripts.tsv`

A script row is a `(guid, fileID)` that no asset of the project has, whose documents all state the same class in
`m_EditorClassIdentifier`; the evidence is that identifier and the number of documents.
"""

import collections
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names_reference import HEADER, Project  # noqa: E402

RESOURCE = re.compile(
    r"^ *(?:- )?(\w+): \{fileID: (-?\d+), guid: (0000000000000000[0-9a-f]0{15}), type: \d\}", re.M)
SCRIPT = re.compile(
    r"^  m_Script: \{fileID: (-?\d+), guid: ([0-9a-f]{32}),\s+type: \d\}\n(?:  .*\n)*?  m_EditorClassIdentifier: ?(.*)$", re.M)


def documents(root):
    for folder, _, names in os.walk(root):
        for name in sorted(names):
            if name.endswith((".prefab", ".unity", ".mat", ".asset", ".controller", ".vfx", ".playable")):
                text = open(os.path.join(folder, name), "rb").read().decode("utf-8", "replace")
                heads = list(HEADER.finditer(text))
                yield [(int(h[1]), int(h[2]), text[h.end():a.start() if a else None])
                       for h, a in zip(heads, heads[1:] + [None])]


def resources(roots):
    found = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    for root in roots:
        for docs in documents(root):
            names = {fid: m[1] for _, fid, body in docs if (m := re.search(r"^  m_Name: (.+)$", body, re.M))}
            for kind, fid, body in docs:
                owner = re.search(r"m_GameObject: \{fileID: (-?\d+)", body)
                name = names.get(int(owner[1]) if owner and int(owner[1]) else fid, "")
                for key, resource, guid in RESOURCE.findall(body):
                    properties, users = found[(guid[16], int(resource))]
                    properties[f"{kind}.{key}"] += 1
                    users[re.sub(r" ?\(\d+\)$", "", name)] += 1
    for (digit, resource), (properties, users) in sorted(found.items()):
        print(digit, resource, dict(properties.most_common(3)), dict(users.most_common(5)), sep="\t")


def scripts(roots):
    found = collections.defaultdict(collections.Counter)
    for root in roots:
        own = set(Project(root).files)
        for docs in documents(root):
            for _, _, body in docs:
                for fid, guid, identifier in SCRIPT.findall(body):
                    if identifier.strip() and guid not in own:
                        found[(guid, int(fid))][identifier.strip()] += 1
    for (guid, fid), identifiers in sorted(found.items()):
        if len(identifiers) == 1:
            identifier, count = next(iter(identifiers.items()))
            print(guid, fid, re.split(r"[.:/+]", identifier)[-1], identifier, count, sep="\t")


if __name__ == "__main__":
    {"resources": resources, "scripts": scripts}[sys.argv[1]](sys.argv[2:])
