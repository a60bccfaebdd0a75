#!/usr/bin/env python3
"""Fills in the templates of the Homebrew formula and the Scoop manifest.

    packaging/manifests.py DIST --version VERSION --url URL --homepage URL

DIST has the archives' `.sha256` files, and gets `kiln.rb` and `kiln.json`. `--url` is the address of the release's files.
"""

import argparse
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATES = {"kiln.rb": "homebrew/kiln.rb.in", "kiln.json": "scoop/kiln.json.in"}
TARGETS = {
    "@SHA256_LINUX@": "x86_64-unknown-linux-gnu",
    "@SHA256_LINUX_ARM@": "aarch64-unknown-linux-gnu",
    "@SHA256_MACOS@": "aarch64-apple-darwin",
    "@SHA256_WINDOWS@": "x86_64-pc-windows-msvc",
}


def sum_of(dist, version, target):
    """Returns the SHA-256 in the file beside an archive; ends the program if there is none."""
    path = dist / f"kiln-{version}-{target}.tar.gz.sha256"
    if not path.exists():
        sys.exit(f"error: {path} does not exist; build the archive of {target} first")
    digest = path.read_text().split()[0]
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        sys.exit(f"error: {path} has no SHA-256")
    return digest


def fill(template, values):
    """Returns a template's text with its values; every value in @…@ has to be known."""
    return re.sub(r"@[A-Z0-9_]+@", lambda name: values[name.group()], (HERE / template).read_text())


def main():
    parser = argparse.ArgumentParser(description="Fill in the templates of package manifests")
    parser.add_argument("dist", type=pathlib.Path, help="directory of the archives' .sha256 files")
    parser.add_argument("--version", required=True)
    parser.add_argument("--url", required=True, help="address of the release's files")
    parser.add_argument("--homepage", required=True)
    arguments = parser.parse_args()
    values = {name: sum_of(arguments.dist, arguments.version, target) for name, target in TARGETS.items()}
    values |= {"@VERSION@": arguments.version, "@URL@": arguments.url.rstrip("/"), "@HOMEPAGE@": arguments.homepage}
    for name, template in TEMPLATES.items():
        (arguments.dist / name).write_text(fill(template, values))
        print(arguments.dist / name)


if __name__ == "__main__":
    main()
