#!/usr/bin/env python3
"""Counts the instructions of six jobs and compares them with a table, so that a regression is found without a clock.

    instructions.py [--check | --write] [--target DIR] [--job NAME]...

The executables are those that CI compiles anyway, with `CARGO_INCREMENTAL=0`, because incremental compilation generates other
code: `assetc` of the release profile, and `pak` and `unity-assetdb` of the dev profile, which the tests build and in which
the libraries that they share with `assetc` are hardly optimised. Each job of `jobs.py` runs on one thread under
`valgrind --tool=callgrind`. Valgrind shows every program the same virtual processor, whatever the machine has (one with AVX2
and without AVX-512 and SHA extensions), so the instruction set of the encoders, of the C library and of every other dispatch
at run time is pinned.

The table is `bench/instructions.json`: the toolchain that it is valid for, and the count and tolerance of each job. `--check`
exits with 1 if a job needs more than its count and tolerance, and `--write` replaces the counts. With another toolchain, on
another architecture, or without Valgrind nothing is compared, which is said: NOT CHECKED.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from jobs import EXECUTABLES, JOBS, ROOT, run

TABLE = ROOT / "bench/instructions.json"
# Directories below the target directory.
PROFILES = {"assetc": "release", "pak": "debug", "unity-assetdb": "debug"}
# In percent, for a job that is new in the table. Hash seeds, addresses and the lengths of temporary paths change the counts
# by less than one.
TOLERANCE = 2
ADVICE = """If the cost is not wanted, profile the job (bench/flamegraphs.py, or callgrind_annotate) and remove it.
If it buys something, say so in the commit and store the new counts: bench/instructions.py --write"""


def toolchain():
    """Everything besides the sources that decides the counts."""
    first_line = lambda *command: subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0]
    return [first_line("rustc", "--version"), first_line("cc", "--version"), " ".join(platform.libc_ver())]


def not_comparable(known, tools):
    """Returns the reason why counts cannot be made here, or be compared with a table of the toolchain `known`."""
    if shutil.which("valgrind") is None:
        return "Valgrind is not installed"
    if platform.machine() != "x86_64" or "avx2" not in Path("/proc/cpuinfo").read_text():
        return "the processor is not an x86-64 with AVX2"
    if missing := [str(path) for path in tools.values() if not path.exists()]:
        return f"there is no {', '.join(missing)}"
    if known and known != toolchain():
        return f"the table is for {known}, this is {toolchain()}"
    return None


def count(job, tools):
    """Returns the number of instructions that a job executes."""
    with tempfile.TemporaryDirectory(prefix="kiln-instructions-") as place:
        command = JOBS[job](Path(place), tools, 1)
        valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=no"]
        done = run(valgrind + command, place)
        return int(re.search(r"Collected *: *(\d+)", done.stderr).group(1))


def compare(job, new, known):
    """Prints a job's count beside the known one, and returns whether it needs more than allowed."""
    if known is None:
        print(f"{job}: {new:,} instructions, not in the table")
        return False
    change, allowed = 100 * (new / known["instructions"] - 1), known["tolerance_percent"]
    verdict = "MORE THAN ALLOWED" if change > allowed else "fewer: lower the table with --write" if change < -allowed else "ok"
    print(f"{job}: {new:,} instructions, {change:+.2f} % (tolerance {allowed} %): {verdict}")
    return change > allowed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="exit with 1 if a job needs more than the table allows")
    mode.add_argument("--write", action="store_true", help="replace the counts in the table")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--target", type=Path, default=target, help="target directory of the executables")
    parser.add_argument("--job", action="append", choices=list(JOBS), help="count this job only")
    arguments = parser.parse_args()
    tools = {name: (arguments.target / PROFILES[name] / name).resolve() for name in EXECUTABLES}
    table = json.loads(TABLE.read_text()) if TABLE.exists() else {"jobs": {}}
    known = table["jobs"]
    if why := not_comparable(table.get("toolchain") if arguments.check else None, tools):
        print(f"NOT CHECKED: instruction counts; {why}")
        return 0
    chosen = arguments.job or list(JOBS)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(chosen, pool.map(lambda job: count(job, tools), chosen)))
    worse = [job for job, new in counts.items() if compare(job, new, known.get(job))]
    if arguments.write:
        for job, new in counts.items():
            known[job] = {"tolerance_percent": TOLERANCE} | known.get(job, {}) | {"instructions": new}
        TABLE.write_text(json.dumps({"toolchain": toolchain(), "jobs": known}, indent=2) + "\n")
    elif arguments.check and worse:
        print(f"error: {', '.join(worse)}: more instructions than {TABLE.relative_to(ROOT)} allows\n{ADVICE}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
