#!/usr/bin/env python3
"""Counts the instructions of six jobs and compares them with a table, so that a regression is found without a clock.

    instructions.py [--target DIR] [--write] [--job NAME]...

The executables `assetc`, `pak` and `unity-assetdb` are taken from DIR (default: `target/debug` of the repository, as
`.ci/run` builds them) and run on one thread under `valgrind --tool=callgrind`. Valgrind shows every program the same
virtual processor, whatever the machine has (one with AVX2 and without AVX-512 and SHA extensions), so the instruction set
is pinned. The table is `bench/instructions.json`: for each profile, the compiler that it is valid
for, and the count and tolerance of each job. `--write` replaces the counts of this profile.

The exit code is 1 if a job needs more than its count and tolerance. A job that needs less is reported, so that the table can
be lowered. With another compiler, on another architecture, or without Valgrind nothing is compared, which is said.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "bench/instructions.json"
# In percent. Hash seeds, addresses and the lengths of temporary paths change the counts by less than one.
TOLERANCE = 4
# Files of the no-op build, and copies of the Unity project.
WARM_SOURCES = 600
UNITY_COPIES = 150

SHOWCASE = ROOT / "examples/showcase/assets"


def environment():
    env = {key: value for key, value in os.environ.items() if not key.startswith("KILN_")}
    env["KILN_CACHE"] = "off"
    env["KILN_CONFIG_DIR"] = "/nonexistent"
    env["LC_ALL"] = "C"
    return env


def run(command, cwd):
    done = subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def project(place, sources):
    """Makes a project of copies of files."""
    for name, source in sources.items():
        path = place / "assets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)
    return place


# Each job prepares its directory and returns the command that is counted.


def texture(place, tools):
    project(place, {"bricks.png": SHOWCASE / "textures/planks.jpg"})
    return [tools / "assetc", "-q", "-j1"]


def normal_map(place, tools):
    project(place, {"plating.n.png": SHOWCASE / "textures/plating.n.png"})
    (place / "assetc.yml").write_text("default: {texture: {quality: high, max_size: 128}}\n")
    return [tools / "assetc", "-q", "-j1"]


def model(place, tools):
    models = SHOWCASE / "models"
    project(place, {"lantern.gltf": models / "lantern.gltf", "lantern.bin": models / "lantern.bin"})
    # The textures are dropped: the job is about geometry.
    document = json.loads((place / "assets/lantern.gltf").read_text())
    for key in ("images", "textures", "materials"):
        document.pop(key, None)
    for mesh in document.get("meshes", []):
        for primitive in mesh["primitives"]:
            primitive.pop("material", None)
    (place / "assets/lantern.gltf").write_text(json.dumps(document))
    return [tools / "assetc", "-q", "-j1"]


def warm(place, tools):
    icon = SHOWCASE / "ui/font.png"
    project(place, {f"set_{n // 100}/icon_{n}.png": icon for n in range(WARM_SOURCES)})
    command = [tools / "assetc", "-q", "-j1"]
    # The second build finds nothing to do and records that; the counted one compares timestamps.
    for _ in range(3):
        run(["sleep", "0.1"], place)
        run(command, place)
    return command


def pak_bake(place, tools):
    shutil.copytree(ROOT / "examples/game/art", place / "art")
    return [tools / "pak", "bake", "-q", "-j1", "art/game_art.toml", "game_art.pak"]


def unity_bake(place, tools):
    shutil.copytree(ROOT / "examples/unity", place, dirs_exist_ok=True)
    for n in range(UNITY_COPIES):
        copy = place / f"Assets/Copy{n}"
        copy.mkdir()
        for name in ("Art/Flag.png", "Pole.prefab"):
            source = place / "Assets" / name
            shutil.copy(source, copy / source.name)
            meta = Path(f"{source}.meta").read_text()
            guid = lambda found: f"guid: {found.group(1)[:24]}{n:08x}"
            (copy / f"{source.name}.meta").write_text(re.sub(r"guid: ([0-9a-f]{32})", guid, meta))
    return [tools / "unity-assetdb", "bake", "-j1"]


JOBS = {
    "texture": texture,
    "normal map": normal_map,
    "model": model,
    "no-op build": warm,
    "pak bake": pak_bake,
    "unity bake": unity_bake,
}


def count(job, tools):
    with tempfile.TemporaryDirectory(prefix="kiln-instructions-") as place:
        command = JOBS[job](Path(place), tools)
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no"]
        done = run(valgrind + command, place)
        return int(re.search(r"Collected *: *(\d+)", done.stderr).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", type=Path, default=ROOT / "target/debug", help="directory of the executables")
    parser.add_argument("--write", action="store_true", help="replace the counts of this profile")
    parser.add_argument("--job", action="append", choices=list(JOBS), help="count this job only")
    args = parser.parse_args()
    tools = args.target.resolve()
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {}
    compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True).stdout.strip()
    old = table.get(tools.name, {})
    why = None
    if shutil.which("valgrind") is None:
        why = "Valgrind is not installed"
    elif platform.machine() != "x86_64" or "avx2" not in Path("/proc/cpuinfo").read_text():
        why = "the processor is not an x86-64 with AVX2"
    elif not args.write and old.get("compiler") != compiler:
        why = f"the table is for {old.get('compiler', 'no compiler')}, not for {compiler}"
    if why:
        print(f"NOT COMPARED: instruction counts; {why}")
        return 0
    counts, worse = {}, 0
    for job in args.job or JOBS:
        new = counts[job] = count(job, tools)
        known = old.get("jobs", {}).get(job)
        if known is None:
            print(f"{job}: {new:,} instructions")
            continue
        change = 100 * (new / known["instructions"] - 1)
        allowed = known["tolerance_percent"]
        verdict = "more than allowed" if change > allowed else "fewer: lower the table" if change < -allowed else "ok"
        worse += change > allowed
        print(f"{job}: {new:,} instructions, {change:+.1f} % (tolerance {allowed} %): {verdict}")
    if args.write:
        jobs = old.get("jobs", {})
        jobs.update({job: {"instructions": n, "tolerance_percent": TOLERANCE} for job, n in counts.items()})
        table[tools.name] = {"compiler": compiler, "jobs": jobs}
        TABLE.write_text(json.dumps(table, indent=2) + "\n")
        return 0
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
