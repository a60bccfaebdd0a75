#!/usr/bin/env python3
"""Compares the references that `unity-assetdb uses` finds with a raw search for GUIDs in all text files of a project.

    guid_search.py UNITY_ASSETDB PROJECT...

Every GUID of the project that occurs as 32 hexadecimal digits in a text file is expected to be a reference of that file,
except in its own `.meta`. Files with other occurrences are listed by their extension and by the key before the GUID.
"""

import collections
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from names_reference import Project  # noqa: E402

DIGITS = re.compile(rb"(?<![0-9A-Fa-f])[0-9A-Fa-f]{32}(?![0-9A-Fa-f])")


def occurrences(project):
    """The files in which each GUID of the project occurs, with the text before it."""
    found = collections.defaultdict(dict)
    own = {path + ".meta": guid for guid, path in project.files.items()}
    for top in ("Assets", "Packages", "ProjectSettings"):
        for folder, dirs, names in os.walk(os.path.join(project.root, top)):
            dirs[:] = [d for d in dirs if not d.startswith(".") and not d.endswith("~")]
            for name in names:
                path = os.path.join(folder, name)
                data = open(path, "rb").read()
                if name.startswith(".") or b"\0" in data[:1024]:
                    continue
                for match in DIGITS.finditer(data):
                    guid = match[0].decode().lower()
                    if guid in project.files and own.get(path) != guid and project.files[guid] != path:
                        before = data[max(0, match.start() - 40):match.start()].decode("utf-8", "replace")
                        found[guid].setdefault(os.path.relpath(path, project.root), before)
    return found


def main():
    tool = os.path.abspath(sys.argv[1])
    for root in sys.argv[2:]:
        project = Project(os.path.abspath(root))
        found = occurrences(project)
        with tempfile.TemporaryDirectory() as out:
            base = [tool, "--project", project.root, "--out-dir", out, "-q"]
            subprocess.run(base + ["bake"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

            def uses(guid):
                run = subprocess.run(base + ["--no-refresh", "uses", guid], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                return guid, {line.split("\t")[0] for line in run.stdout.decode().splitlines()}

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                edges = dict(pool.map(uses, found))
        total = sum(len(files) for files in found.values())
        missed = [(path, before, guid) for guid, files in found.items() for path, before in files.items()
                  if path not in edges[guid]]
        print(f"{os.path.basename(project.root)}: {total} pairs of a file and a GUID in it, {len(missed)} of them no reference")
        reasons = collections.Counter()
        example = {}
        for path, before, guid in missed:
            key = re.search(r"([\w.]+)[\W]*$", before)
            reason = (os.path.splitext(path)[1], key[1] if key else "")
            reasons[reason] += 1
            example.setdefault(reason, f"{path}: {before.splitlines()[-1].strip() if before.strip() else ''}{guid}")
        for (ext, key), count in reasons.most_common(25):
            print(f"  {count:6} {ext:12} after {key!r:30} {example[(ext, key)]}")


if __name__ == "__main__":
    main()
