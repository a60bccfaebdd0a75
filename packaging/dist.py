#!/usr/bin/env python3
"""Builds the release archive of Kiln for one target.

    packaging/dist.py [--target TRIPLE] [--out DIR] [--build-dir DIR] [--only EXECUTABLE]...

The archive holds the three executables, manual pages, shell completions, the licence texts of Kiln and of every
dependency, a CycloneDX SBOM and a list of SHA-256 sums. It is reproducible: the same commit and toolchain give the same
bytes in every directory. Needs Rust, a C++ compiler and Python 3.11; nothing is downloaded except crates.
"""

import argparse
import datetime
import gzip
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile

from sbom import bill_of_materials, linked_packages, licence_texts

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Package, features besides the default ones, executable.
EXECUTABLES = [("assetc", [], "assetc"), ("kiln-pak", ["cli"], "pak"), ("kiln-unity-assetdb", [], "unity-assetdb")]
SHELLS = {"bash": "{}.bash", "zsh": "_{}", "fish": "{}.fish", "powershell": "{}.ps1"}


def run(*command, env=None):
    """Runs a command in the project's root and returns its standard output; ends the program if it fails."""
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))} failed with exit code {done.returncode}")
    return done.stdout


def host():
    """Returns the target triple of this machine."""
    lines = run("rustc", "-vV").decode().splitlines()
    return next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))


def commit():
    """Returns the commit and its date (Unix time); refuses a modified tree, whose archive could not be made again."""
    if run("git", "status", "--porcelain", "--untracked-files=no"):
        sys.exit("error: the working tree has changes; commit them first, because a release names its commit")
    return run("git", "rev-parse", "HEAD").decode().strip(), int(run("git", "log", "-1", "--format=%ct"))


def static_runtime(build_dir):
    """Returns a directory in which a linker finds the C++ runtime and the unwinder as archives only.

    Build scripts ask for `-lstdc++` and Rust's standard library for `-lgcc_s`, whatever the environment says. The linker
    takes the first directory that has either form, so the executables need no more than the C library at run time.
    """
    folder = build_dir / "static-runtime"
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "libstdc++.a"
    if not archive.exists():
        archive.symlink_to(run(os.environ.get("CXX", "g++"), "-print-file-name=libstdc++.a").decode().strip())
    # A linker script in place of the library.
    (folder / "libgcc_s.so").write_text("INPUT(-lgcc_eh -lgcc)\n")
    return folder


def path_remaps(build_dir):
    """Returns what replaces the paths of the build machine in an executable, in panics and in debug information of C.

    The last prefix that matches counts, and the build directory is usually inside the project. The registry's directory is
    named after its address, and the standard library's sources are in the sysroot only where they are installed.
    """
    cargo_home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    sysroot = run("rustc", "--print", "sysroot").decode().strip()
    compiler = run("rustc", "-vV").decode().split("commit-hash: ")[1].split()[0]
    remaps = [(str(ROOT), "/kiln"), (str(build_dir), "/target"), (cargo_home, "/cargo"), (sysroot, "/rust")]
    remaps += [(f"{sysroot}/lib/rustlib/src/rust", f"/rustc/{compiler}")]
    registries = sorted(pathlib.Path(cargo_home, "registry", "src").glob("*"))
    return remaps + [(str(folder), "/cargo") for folder in registries]


def build(executables, target, build_dir, revision, date):
    """Builds the executables and returns their paths."""
    remaps = path_remaps(build_dir)
    flags = [f"--remap-path-prefix={old}={new}" for old, new in remaps] + ["-Cstrip=symbols"]
    c_flags = " ".join(f"-ffile-prefix-map={old}={new}" for old, new in remaps)
    if target.endswith("linux-gnu"):
        flags += [f"-Lnative={static_runtime(build_dir)}"]
    elif target.endswith("windows-msvc"):
        # The C runtime is linked in, and the linker writes a digest in place of the time.
        flags += ["-Ctarget-feature=+crt-static", "-Clink-arg=/Brepro"]
        c_flags = "/Brepro"
    elif target.endswith("windows-gnu"):
        flags += ["-Clink-arg=-static", "-Clink-arg=-Wl,--no-insert-timestamp"]
    env = os.environ | {
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_TARGET_DIR": str(build_dir),
        "CARGO_INCREMENTAL": "0",
        "CFLAGS": c_flags,
        "CXXFLAGS": c_flags,
        "KILN_COMMIT": revision,
        "KILN_COMMIT_DATE": date,
        "SOURCE_DATE_EPOCH": "0",
        "ZERO_AR_DATE": "1",
    }
    suffix = ".exe" if "windows" in target else ""
    paths = []
    for package, features, name in executables:
        # One call for each: features of one executable must not change another.
        command = ["cargo", "build", "--release", "--locked", "--target", target, "-p", package, "--bin", name]
        run(*command, *(["--features", ",".join(features)] if features else []), env=env)
        paths.append(build_dir / target / "release" / (name + suffix))
    return paths


def manual(executable, name, scratch):
    """Returns the manual pages and completion scripts of an executable: path in the archive, content."""
    pages = scratch / name
    run(executable, "man", pages)
    for page in sorted(pages.iterdir()):
        yield f"share/man/man1/{page.name}", page.read_bytes()
    for shell, pattern in SHELLS.items():
        yield f"share/completions/{shell}/{pattern.format(name)}", run(executable, "completions", shell)


def check_executables(executables, build_dir):
    """Ends the program if an executable contains a path of this machine or needs more than the C library."""
    for path, content in executables:
        for folder, _ in path_remaps(build_dir):
            if folder.encode() + b"/" in content:
                sys.exit(f"error: {path} contains the path {folder}")
        if content.startswith(b"\x7fELF") and (b"libstdc++.so" in content or b"libgcc_s.so" in content):
            sys.exit(f"error: {path} is linked to libstdc++ or libgcc_s dynamically")


def archive(files, top, date):
    """Returns a .tar.gz of `files` (path, content, executable) in a fixed order with fixed owners and times."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, content, executable in sorted(files):
            entry = tarfile.TarInfo(f"{top}/{path}")
            entry.size, entry.mtime, entry.mode = len(content), date, 0o755 if executable else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(raw.getvalue(), compresslevel=9, mtime=0)


def main():
    parser = argparse.ArgumentParser(description="Build the release archive of Kiln for one target")
    parser.add_argument("--target", default=host(), help="target triple (default: this machine's)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target" / "dist", help="where the archive goes")
    parser.add_argument("--build-dir", type=pathlib.Path, default=ROOT / "target" / "dist-build")
    names = [name for _, _, name in EXECUTABLES]
    parser.add_argument("--only", action="append", choices=names, help="build this executable only; may be repeated")
    arguments = parser.parse_args()
    executables = [row for row in EXECUTABLES if not arguments.only or row[2] in arguments.only]
    target, out, build_dir = arguments.target, arguments.out.resolve(), arguments.build_dir.resolve()
    revision, seconds = commit()
    day = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d")
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version=1", "--filter-platform", target))
    version = next(p["version"] for p in metadata["packages"] if p["name"] == "assetc")
    packages = linked_packages(run, [(package, features) for package, features, _ in executables], target, metadata)

    files = []
    for path in build(executables, target, build_dir, revision, day):
        files.append((f"bin/{path.name}", path.read_bytes(), True))
        if target == host():
            files += [(name, content, False) for name, content in manual(path, path.stem, build_dir / "man")]
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"]:
        files.append((name, (ROOT / name).read_bytes(), False))
    files.append(("include/kiln.h", (ROOT / "crates/format/include/kiln.h").read_bytes(), False))
    files.append(("THIRD-PARTY-LICENSES.txt", licence_texts(packages).encode(), False))
    sbom = json.dumps(bill_of_materials(packages, ROOT / "Cargo.lock", version, revision, seconds), indent=2) + "\n"
    files.append(("kiln.cdx.json", sbom.encode(), False))
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content, _ in sorted(files))
    files.append(("SHA256SUMS", sums.encode(), False))

    check_executables([(path, content) for path, content, executable in files if executable], build_dir)
    top = f"kiln-{version}-{target}"
    packed = archive(files, top, seconds)
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{top}.tar.gz").write_bytes(packed)
    digest = hashlib.sha256(packed).hexdigest()
    (out / f"{top}.tar.gz.sha256").write_text(f"{digest}  {top}.tar.gz\n")
    print(f"{out / top}.tar.gz: {len(packed):,} bytes, {len(files)} files, {len(packages)} dependencies, SHA-256 {digest}")


if __name__ == "__main__":
    main()
