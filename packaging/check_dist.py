#!/usr/bin/env python3
"""Checks a release archive that `dist.py` made.

    packaging/check_dist.py ARCHIVE [--rebuild]

Sums, entries, executables (stripped, no path of the build machine, the C library alone), `--version`, manual pages,
completions, licences and SBOM; the `setup-kiln` action installs the archive; and the unpacked tools build the showcase in a
root directory that has nothing but the C library. `--rebuild` clones the commit into another directory, builds the archive
there and compares the bytes. What this machine cannot check is named, NOT CHECKED.
"""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
C_LIBRARY = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-[a-z0-9-]+)\.so\.\d+$")
# Directories of people's and runners' machines, of cargo and rustup; `dist.py` replaces its own by /kiln, /cargo, /target and
# /rustc. A name such as `//RootNode/root/` is no such directory.
MACHINE_PATHS = [rb"(?<![\w./-])/(root|home|Users)/", rb"[A-Z]:\\Users\\", rb"\.cargo/", rb"\.rustup/", rb"registry/src/"]
SHELLS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"], "powershell": ["pwsh", "-NoProfile", "-File"]}

faults = []
# The faults when a check last ended.
reported = 0


def expect(holds, message):
    """Notes a fault unless `holds`."""
    if not holds:
        faults.append(message)
        print(f"FAILED: {message}")


def output(*command, **options):
    """Returns the standard output of a command; a failure is a fault with its messages."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, **options)
    expect(done.returncode == 0, f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def passed(message):
    """Ends a check: it passed if there is no fault since the last one ended."""
    global reported
    if len(faults) == reported:
        print(f"passed: {message}")
    reported = len(faults)


def not_checked(message):
    print(f"NOT CHECKED: {message}")


def check_entries(archive):
    """The archive's own sum, and entries that depend on nothing but the commit."""
    stated = pathlib.Path(f"{archive}.sha256").read_text().split()
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    expect(stated == [digest, archive.name], f"{archive.name}.sha256 states {stated}, the archive has {digest}")
    with tarfile.open(archive) as tar:
        entries = tar.getmembers()
    expect([e.name for e in entries] == sorted(e.name for e in entries), "the entries are not sorted")
    expect(len({e.mtime for e in entries}) == 1, "the entries have different times")
    for entry in entries:
        expect(entry.isfile() and (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", ""), f"{entry.name}: owner or kind")
        expect(entry.mode == (0o755 if "/bin/" in entry.name else 0o644), f"{entry.name}: mode {entry.mode:o}")
    passed(f"{len(entries)} files, {archive.stat().st_size:,} bytes, SHA-256 {digest}")


def check_sums(folder):
    """`SHA256SUMS` names every file but itself."""
    stated = dict(reversed(line.split("  ", 1)) for line in (folder / "SHA256SUMS").read_text().splitlines())
    found = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_file() and p.name != "SHA256SUMS"}
    expect(stated.keys() == found.keys(), f"SHA256SUMS and the files differ: {sorted(stated.keys() ^ found.keys())}")
    for name in stated.keys() & found.keys():
        expect(hashlib.sha256(found[name].read_bytes()).hexdigest() == stated[name], f"{name} does not have the sum in SHA256SUMS")
    passed(f"SHA256SUMS: {len(stated)} files")


def check_linkage(folder):
    """Executables without symbols and machine paths, which load the C library alone."""
    for path in sorted((folder / "bin").iterdir()):
        content = path.read_bytes()
        found = re.search(rb"|".join([*MACHINE_PATHS, re.escape(str(ROOT).encode()) + rb"/"]) + rb"[\x20-\x7e]{0,60}", content)
        expect(not found, f"{path.name} contains {found and found.group()}")
        if not content.startswith(b"\x7fELF"):
            not_checked(f"{path.name}: symbols and libraries of a file that is not ELF")
            continue
        sections = re.findall(r"^\s*\[ *\d+\] (\S+)", output("readelf", "-SW", path), re.MULTILINE)
        extra = [name for name in sections if name == ".symtab" or name.startswith(".debug")]
        expect(not extra, f"{path.name} is not stripped: {extra}")
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-dW", path))
        expect(needed and all(map(C_LIBRARY.match, needed)), f"{path.name} needs {needed}")
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "-VW", path))
        newest = max((int(major), int(minor)) for major, minor in versions)
        passed(f"{path.name}: {len(content):,} bytes, stripped, needs {', '.join(needed)} (glibc {newest[0]}.{newest[1]})")


def check_versions(folder, version, revision, date):
    """`--version` with the commit and its date, as a line and as JSON."""
    for path in sorted((folder / "bin").iterdir()):
        name = path.stem
        line = output(path, "--version").strip()
        expect(line == f"{name} {version} ({revision[:12]} {date})", f"{name} --version: {line}")
        stated = json.loads(output(path, "--version", "--json"))
        wanted = {"name": name, "version": version, "commit": revision, "date": date}
        expect(wanted.items() <= stated.items(), f"{name} --version --json: {stated}")
        passed(line)


def check_documents(folder):
    """Manual pages that groff formats without a warning, completions that their shells parse."""
    pages = sorted((folder / "share/man/man1").glob("*.1"))
    names = {path.stem for path in (folder / "bin").iterdir()}
    expect(names <= {page.stem for page in pages}, f"no manual page of {names - {page.stem for page in pages}}")
    if shutil.which("groff"):
        for page in pages:
            done = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
            expect(done.returncode == 0 and not done.stderr, f"{page.name}: {done.stderr.strip()[:500]}")
        passed(f"{len(pages)} manual pages")
    else:
        not_checked(f"{len(pages)} manual pages: there is no groff")
    for shell, command in SHELLS.items():
        scripts = sorted((folder / "share/completions" / shell).iterdir())
        expect(len(scripts) == len(names), f"{shell}: {len(scripts)} completions of {len(names)} tools")
        if shutil.which(command[0]):
            for script in scripts:
                output(*command, script)
            passed(f"completions of {shell}: {len(scripts)}")
        else:
            not_checked(f"completions of {shell}: {len(scripts)}, not parsed: it is not installed")


def check_licences(folder):
    """Every component of the SBOM is in the lock file with its sum, and in the list of licences."""
    bom = json.loads((folder / "kiln.cdx.json").read_text())
    texts = (folder / "THIRD-PARTY-LICENSES.txt").read_text()
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(p["name"], p["version"]): p.get("checksum") for p in lock}
    for component in bom["components"]:
        name, version = component["name"], component["version"]
        expect(component.get("licenses"), f"{name} has no licence in the SBOM")
        expect(f"\n{name} {version} (" in texts, f"{name} {version} is not in THIRD-PARTY-LICENSES.txt")
        stated = [h["content"] for h in component.get("hashes", [])]
        expect(stated == [sums.get((name, version))], f"{name} {version}: the SBOM states {stated}")
    without = len(re.findall(r"^This package includes no licence text", texts, re.MULTILINE))
    passed(f"licences and SBOM: {len(bom['components'])} packages, {without} of them without a licence text of their own")
    try:
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        not_checked("the SBOM against its schema: pip install 'cyclonedx-python-lib[json-validation]'")
        return
    error = JsonStrictValidator(SchemaVersion.V1_5).validate_str(json.dumps(bom))
    expect(error is None, f"the SBOM is not valid CycloneDX 1.5: {error}")
    passed("the SBOM is valid CycloneDX 1.5")


def check_action(archive, scratch, system):
    """The `setup-kiln` action installs the archive, and refuses it if the expected sum is another."""
    version = re.match(r"kiln-(\d+\.\d+\.\d+[^-]*)-", archive.name).group(1)
    script = ROOT / ".github/actions/setup-kiln/install.sh"
    env = os.environ | {"VERSION": version, "REPOSITORY": "none/none", "EXPECTED": "", "SYSTEM": system}
    env |= {"DESTINATION": str(scratch / "action"), "GITHUB_PATH": str(scratch / "path"), "KILN_ARCHIVES": str(archive.parent)}
    output(script, env=env)
    tools = pathlib.Path((scratch / "path").read_text().strip())
    for path in sorted(tools.iterdir()):
        output(path, "--version")
    refused = subprocess.run([script], env=env | {"EXPECTED": "0" * 64}, capture_output=True, text=True)
    expect(refused.returncode == 1 and "::error::" in refused.stdout, f"setup-kiln took a wrong sum: {refused.stdout}")
    passed("setup-kiln installs the archive, and refuses another sum")


def check_chroot(folder, scratch):
    """The tools in a root directory with the C library alone build the showcase, a pak and an index."""
    # Full paths: inside, PATH is another.
    chroot, unshare = shutil.which("chroot") or "/usr/sbin/chroot", shutil.which("unshare") or "/usr/bin/unshare"
    change_root = [chroot] if os.geteuid() == 0 else [unshare, "--map-root-user", chroot]
    if subprocess.run([*change_root, "/", "true"], capture_output=True).returncode:
        not_checked("the tools in a root directory of their own: needs root or user namespaces")
        return
    jail = scratch / "jail"
    shutil.copytree(folder, jail / "kiln")
    libraries = set()
    for path in (folder / "bin").iterdir():
        libraries |= set(re.findall(r"(/\S+)", output("ldd", path)))
    for library in libraries:
        target = jail / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    (jail / "tmp").mkdir()
    shutil.copytree(ROOT / "examples/showcase/assets", jail / "showcase/assets")
    shutil.copy(ROOT / "examples/showcase/assetc.yml", jail / "showcase")
    files = sorted(p.relative_to(jail).as_posix() for p in jail.rglob("*.so*"))

    def inside(tool, *arguments):
        return output(*change_root, jail, f"/kiln/bin/{tool}", *arguments, env={"HOME": "/", "PATH": "/kiln/bin"})

    tools = {path.name for path in (folder / "bin").iterdir()}
    if "assetc" in tools:
        first = json.loads(inside("assetc", "-C", "/showcase", "--pack", "--json"))
        expect(first["built"] > 0 and first["failed"] == 0, f"the showcase: {first}")
        second = json.loads(inside("assetc", "-C", "/showcase", "--json"))
        expect(second["built"] == 0, f"the second build of the showcase built {second['built']}")
        inside("assetc", "-C", "/showcase", "check")
        inside("assetc", "-C", "/showcase", "check", "/showcase/runtime/desktop.hpack")
        passed(f"assetc in a root directory with {', '.join(files)}: {first['built']} assets of the showcase, its pack, check")
    if "pak" in tools:
        (jail / "art").mkdir()
        (jail / "art/greeting.bin").write_text("hello")
        (jail / "art/all.toml").write_text("[content]\n[[content.group]]\nassets = ['*.bin']\n")
        inside("pak", "bake", "/art/all.toml", "/art/all.pak")
        inside("pak", "verify", "/art/all.pak")
        expect("greeting" in inside("pak", "list", "/art/all.pak"), "pak list does not name the asset")
        passed("pak there: bake, verify, list")
    if "unity-assetdb" in tools:
        guid = "8f57b4a070f7b43bbb3925467e6752ab"
        (jail / "unity/Assets").mkdir(parents=True)
        (jail / "unity/ProjectSettings").mkdir()
        (jail / "unity/Assets/Flag.png").touch()
        (jail / "unity/Assets/Flag.png.meta").write_text(f"fileFormatVersion: 2\nguid: {guid}\n")
        inside("unity-assetdb", "bake", "--project", "/unity")
        expect("Assets/Flag.png" in inside("unity-assetdb", "resolve", "--project", "/unity", guid), "unity-assetdb resolve")
        passed("unity-assetdb there: bake, resolve")


def check_rebuild(archive, folder, revision, target, scratch):
    """A second build, of a clone in another directory, has the same bytes."""
    clone, out = scratch / "another" / "clone", scratch / "another" / "out"
    output("git", "clone", "-q", "--no-checkout", ROOT, clone)
    output("git", "-C", clone, "checkout", "-q", revision)
    tools = [flag for path in sorted((folder / "bin").iterdir()) for flag in ("--only", path.stem)]
    output(clone / "packaging/dist.py", "--target", target, "--out", out, "--build-dir", scratch / "elsewhere", *tools)
    if (out / archive.name).read_bytes() == archive.read_bytes():
        passed(f"a build of {', '.join(tools[1::2])} in another directory has the same bytes")
        return
    with tarfile.open(archive) as first, tarfile.open(out / archive.name) as second:
        contents = [{e.name: tar.extractfile(e).read() for e in tar.getmembers()} for tar in (first, second)]
    other = sorted(name for name in contents[0].keys() | contents[1].keys() if contents[0].get(name) != contents[1].get(name))
    expect(False, f"a build in another directory has other bytes: {', '.join(other)}")


def main():
    parser = argparse.ArgumentParser(description="Check a release archive of Kiln")
    parser.add_argument("archive", type=pathlib.Path)
    parser.add_argument("--rebuild", action="store_true", help="build it again in another directory and compare the bytes")
    arguments = parser.parse_args()
    archive = arguments.archive.resolve()
    version, target = re.match(r"kiln-(\d+\.\d+\.\d+(?:-[a-z0-9.]+)?)-((?:x86_64|aarch64)-.*)\.tar\.gz", archive.name).groups()
    with tempfile.TemporaryDirectory(prefix="kiln-dist-") as directory:
        scratch = pathlib.Path(directory)
        check_entries(archive)
        with tarfile.open(archive) as tar:
            tar.extractall(scratch, filter="data")
        folder = scratch / f"kiln-{version}-{target}"
        bom = json.loads((folder / "kiln.cdx.json").read_text())
        revision = next(p["value"] for p in bom["metadata"]["properties"] if p["name"] == "kiln:commit")
        check_sums(folder)
        check_linkage(folder)
        check_licences(folder)
        host = output("rustc", "-vV").split("host: ")[1].split()[0]
        if target == host:
            check_versions(folder, version, revision, bom["metadata"]["timestamp"][:10])
            check_documents(folder)
            arch = {"x86_64": "X64", "aarch64": "ARM64", "arm64": "ARM64"}[platform.machine()]
            check_action(archive, scratch, {"Linux": "Linux", "Darwin": "macOS"}.get(platform.system(), "Windows") + f"-{arch}")
            if platform.system() == "Linux":
                check_chroot(folder, scratch)
            else:
                not_checked("the tools in a root directory of their own: not Linux")
        else:
            not_checked(f"what the executables of {target} do: this machine is {host}")
        if arguments.rebuild:
            check_rebuild(archive, folder, revision, target, scratch)
        else:
            not_checked("a second build in another directory: --rebuild")
    if faults:
        sys.exit(f"{len(faults)} faults")
    print("the archive passed")


if __name__ == "__main__":
    main()
