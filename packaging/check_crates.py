#!/usr/bin/env python3
"""Packages every crate that can be published, in the order of their dependencies, and checks the archives.

    packaging/check_crates.py [--publish]

Each has to contain its licences and a README, and to state its description, licence, keywords and categories; with
`--publish` also the repository, whose address is that of whoever publishes. Nothing is compiled: the archives have the files
that the workspace's tests compile.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES = ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "Cargo.toml", "src/lib.rs"]
FIELDS = ["description", "license", "keywords", "categories", "readme", "rust_version"]


def cargo(*arguments):
    """Runs cargo in the project's root and returns its standard output; ends the program if it fails."""
    done = subprocess.run(["cargo", *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"error: cargo {arguments[0]} failed:\n{done.stderr}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description="Package every publishable crate and check the archives")
    parser.add_argument("--publish", action="store_true", help="require what a registry's page needs: the repository")
    fields = FIELDS + (["repository"] if parser.parse_args().publish else [])
    metadata = json.loads(cargo("metadata", "--locked", "--format-version=1", "--no-deps"))
    published = [package for package in metadata["packages"] if package["publish"] is None]
    private = [package["name"] for package in metadata["packages"] if package["publish"] is not None]
    excluded = [flag for name in private for flag in ("--exclude", name)]
    cargo("package", "--workspace", *excluded, "--locked", "--no-verify", "--allow-dirty")
    faults = []
    for package in published:
        name = f"{package['name']}-{package['version']}"
        faults += [f"{name}: no {field} in its manifest" for field in fields if not package.get(field)]
        with tarfile.open(pathlib.Path(metadata["target_directory"]) / "package" / f"{name}.crate") as archive:
            files = {entry.name.removeprefix(f"{name}/"): entry for entry in archive.getmembers()}
        # A link would point out of the archive.
        faults += [f"{name}: no {file}" for file in FILES if file not in files or not files[file].isfile()]
        faults += [f"{name}: {file} is not a regular file" for file, entry in files.items() if not entry.isfile()]
    if faults:
        sys.exit("error: " + "\n".join(faults))
    print(f"{len(published)} crates packaged, each with its licences and README; not published: {', '.join(private)}")


if __name__ == "__main__":
    main()
