#!/usr/bin/env python3
"""Draws flame graphs of the main jobs: one SVG for each, and the functions and crates that take most of the time.

    flamegraphs.py --bin DIR [--out docs/internals/profiles] [--job NAME]... [--folded FILE]

DIR has release executables with symbols: `CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo build --release …`. The jobs of
`jobs.py` run on one thread under `perf record`, which needs permission for it (root, or `kernel.perf_event_paranoid` of 2 at
most; the kernel's part shows only to root). Frames of the standard library, of the thread pool and of generic glue are left
out, so that a stack reads as what the tool does. Time as a share of all samples goes from left to right, callers are below.
`--folded` draws a file of folded stacks (`a;b;c 12`) instead, from whatever profiler.
"""

import argparse
import collections
import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from jobs import EXECUTABLES, JOBS, ROOT, environment

# Name of the SVG, scale and runs: one to two seconds of CPU each.
PROFILES = {
    "texture": ("texture-build", 2, 3),
    "model": ("mesh-build", 8, 2),
    "no-op build": ("no-op-build", 20, 12),
    "pak bake": ("pak-bake", 10, 3),
    "unity bake": ("unity-bake", 200, 2),
}
# Frames that say how, and not what, is called.
GLUE = re.compile(
    r"^(\[unknown\]|_start|__libc_start|main$|std::(rt|panicking|panic|sys|thread|io::Write|sync)|core::|alloc::|<?(&?(mut )?F|T|I|impl)\b"
    r"|<?(core|alloc|std)::|rayon|crossbeam|__rust|clone3?$|start_thread|entry_SYSCALL|do_syscall|x64_sys_call|__x64_sys|ret_from_fork"
    r"|syscall$|__GI_|\[perf|asm_|exc_|<?\w+ as core::(ops|iter|convert))"
)
KERNEL = " [kernel]"
# The system call and what it does; deeper frames are those of the kernel's allocator and caches.
KERNEL_FRAMES = 4
WIDTH, ROW, LEFT, TOP = 1200, 17, 10, 44
# Narrower frames are not drawn, in pixels.
NARROW = 0.6


def name_of(symbol):
    """Returns a frame's name without hash, arguments of types and offset."""
    symbol = re.sub(r"\+0x[0-9a-f]+$", "", symbol)
    symbol = re.sub(r"::h[0-9a-f]{16}$", "", symbol)
    # `<kiln_engine::Foo as Bar<T>>::baz` is `kiln_engine::Foo::baz`; arguments of types go, innermost first.
    while (shorter := re.sub(r"(?<!^)(?<![<& (])<[^<>]*>", "", symbol)) != symbol:
        symbol = shorter
    symbol = re.sub(r"^<&?(?:mut )?([\w:]+)(?: as [^>]+)?>", r"\1", symbol)
    return symbol.replace("::{{closure}}", "").replace("::_{{closure}}", "")


def folded(script):
    """Folds the output of `perf script`: a counter of stacks, outermost frame first."""
    stacks = collections.Counter()
    for sample in script.split("\n\n"):
        frames, in_kernel = [], 0
        # Innermost first in the file.
        for line in reversed(sample.splitlines()[1:]):
            if not (found := re.match(r"\s+[0-9a-f]+ (.+) \((.*)\)$", line)):
                continue
            symbol, place = found.groups()
            name = name_of(symbol)
            if GLUE.match(symbol) or GLUE.match(name):
                continue
            if place.startswith("[kernel"):
                in_kernel += 1
                name += KERNEL
            if in_kernel <= KERNEL_FRAMES and (not frames or frames[-1] != name):
                frames.append(name)
        stacks[tuple(frames) or ("other",)] += 1
    return stacks


def record(job, tools):
    """Runs a job under perf and returns its folded stacks."""
    _, scale, runs = PROFILES[job]
    with tempfile.TemporaryDirectory(prefix="kiln-profile-") as place:
        command = JOBS[job](Path(place), tools, scale)
        data = Path(place, "perf.data")
        stacks = collections.Counter()
        for _ in range(runs):
            perf = ["perf", "record", "-q", "-F", "997", "--call-graph", "dwarf,32768", "-o", data, "--"]
            done = subprocess.run(perf + command, cwd=place, env=environment(), capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{job}: exit code {done.returncode}\n{done.stderr}")
            script = subprocess.run(
                ["perf", "script", "--no-inline", "-F", "comm,ip,sym,dso", "-i", data], capture_output=True, text=True, errors="replace"
            )
            stacks += folded(script.stdout)
        return stacks


def tree(stacks):
    """Returns the call tree: name, samples, children by name."""
    root = ["all", 0, {}]
    for stack, count in sorted(stacks.items()):
        root[1] += count
        node = root
        for name in stack:
            node = node[2].setdefault(name, [name, 0, {}])
            node[1] += count
    return root


def colour(name):
    """Returns the colour of a frame by whose code it is."""
    if name.endswith(KERNEL):
        return "#c9c9c9"
    if re.match(r"(kiln_|assetc|pak|unity_assetdb)", name):
        return "#f0a860"
    return "#9ec3a5" if "::" in name else "#d9cfae"


def draw(title, stacks):
    """Returns the SVG of a counter of stacks."""
    root, rects, depth = tree(stacks), [], 0
    total = root[1]

    def visit(node, x, level):
        nonlocal depth
        width = node[1] / total * (WIDTH - 2 * LEFT)
        if width < NARROW:
            return
        depth = max(depth, level)
        rects.append((node[0], node[1], x, width, level))
        for child in sorted(node[2].values()):
            visit(child, x, level + 1)
            x += child[1] / total * (WIDTH - 2 * LEFT)

    visit(root, LEFT, 0)
    height = TOP + (depth + 1) * ROW + LEFT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{WIDTH / 2}" y="18" text-anchor="middle" font-size="14">{html.escape(title)}</text>',
        f'<text x="{WIDTH / 2}" y="34" text-anchor="middle" fill="#555">{total:,} samples; orange: Kiln, green: libraries,'
        " grey: the kernel, beige: C and the C library</text>",
    ]
    for name, count, x, width, level in rects:
        y = height - LEFT - (level + 1) * ROW
        label = f"{name}: {100 * count / total:.1f} %"
        lines.append(f'<g><title>{html.escape(label)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 1}" fill="{colour(name)}"/>')
        letters = int((width - 4) / 6.7)
        if letters >= 4:
            # The whole name is in the title; here the type and the function, then the function alone.
            short = next((s for s in (name, "::".join(name.split("::")[-2:])) if len(s) <= letters), name.split("::")[-1])
            short = short if len(short) <= letters else short[: letters - 1] + "…"
            lines.append(f'<text x="{x + 2:.1f}" y="{y + 12}">{html.escape(short)}</text>')
        lines.append("</g>")
    return "\n".join(lines + ["</svg>", ""])


def summary(stacks):
    """Prints the functions that take most of the time: in themselves, and with what they call."""
    total = sum(stacks.values())
    itself, inclusive = collections.Counter(), collections.Counter()
    for stack, count in stacks.items():
        # A system call counts as a whole.
        itself[next((name for name in stack if name.endswith(KERNEL)), stack[-1])] += count
        for name in set(stack):
            inclusive[name] += count
    for title, counter in [("itself", itself), ("with its callees", inclusive)]:
        print(f"  {title}:")
        for name, count in counter.most_common(16):
            print(f"  {100 * count / total:6.1f} %  {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, help="directory of the executables")
    parser.add_argument("--out", type=Path, default=ROOT / "docs/internals/profiles")
    parser.add_argument("--job", action="append", choices=list(PROFILES), help="draw this job only")
    parser.add_argument("--folded", type=Path, help="draw these folded stacks instead")
    arguments = parser.parse_args()
    if arguments.folded:
        lines = (line.rsplit(" ", 1) for line in arguments.folded.read_text().splitlines())
        stacks = collections.Counter({tuple(stack.split(";")): int(count) for stack, count in lines})
        print(draw(arguments.folded.stem, stacks), end="")
        return
    if not arguments.bin:
        parser.error("--bin or --folded is required")
    tools = {name: (arguments.bin / name).resolve() for name in EXECUTABLES}
    arguments.out.mkdir(parents=True, exist_ok=True)
    for job in arguments.job or PROFILES:
        stacks = record(job, tools)
        path = arguments.out / f"{PROFILES[job][0]}.svg"
        path.write_text(draw(job, stacks))
        print(f"{job}: {sum(stacks.values()):,} samples, {path}")
        summary(stacks)


if __name__ == "__main__":
    main()
