"""The dependencies of a release: which packages are linked, their licence texts, and a CycloneDX 1.5 SBOM."""

import datetime
import hashlib
import pathlib
import tomllib
import uuid

CODE = (".rs", ".c", ".h", ".py")
LICENCE_NAMES = ("license", "licence", "copying", "copyright", "notice", "unlicense")


def linked_packages(run, roots, target, metadata):
    """Returns the packages that the executables link, from `cargo metadata`, sorted by name and version.

    `cargo tree` resolves features as a build does; build and development dependencies are left out.
    """
    wanted = set()
    for package, features in roots:
        command = ["cargo", "tree", "--locked", "-p", package, "-e", "normal", "--prefix", "none", "--no-dedupe"]
        command += ["--target", target, "--format", "{p}"] + (["--features", ",".join(features)] if features else [])
        for line in run(*command).decode().splitlines():
            name, version = line.split()[:2]
            wanted.add((name, version.removeprefix("v")))
    ours = set(metadata["workspace_members"])
    found = [p for p in metadata["packages"] if (p["name"], p["version"]) in wanted and p["id"] not in ours]
    return sorted(found, key=lambda p: (p["name"], p["version"]))


def licence_files(package):
    """Returns the licence files in the source of a package, sorted by path; also those of C libraries inside it."""
    source = pathlib.Path(package["manifest_path"]).parent
    is_licence = lambda p: p.name.lower().startswith(LICENCE_NAMES) and p.suffix.lower() not in CODE and p.is_file()
    return sorted(filter(is_licence, source.rglob("*")), key=lambda p: p.relative_to(source).as_posix())


def licence_texts(packages):
    """Returns one text with the licence of every package; equal texts are printed once."""
    users, order = {}, []
    for package in packages:
        title = f"{package['name']} {package['version']} ({package['license'] or 'see text'})"
        files = licence_files(package)
        if not files:
            # The expression is binding; the texts of these licences are below, from packages that include them.
            authors = ", ".join(package.get("authors") or [f"the authors of {package['name']}"])
            text = f"This package includes no licence text; its licence is {package['license']}.\nCopyright {authors}\n"
            files_text = [text]
        else:
            files_text = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        for text in files_text:
            key = hashlib.sha256(" ".join(text.split()).encode()).digest()
            if key not in users:
                users[key] = []
                order.append((key, text))
            users[key].append(title)
    head = "Kiln contains the packages below. Their licences follow, each after the packages it applies to.\n"
    rule = "\n" + "-" * 100 + "\n"
    return head + "".join(rule + "\n".join(users[key]) + "\n\n" + text.strip() + "\n" for key, text in order)


def bill_of_materials(packages, lock, version, revision, seconds):
    """Returns a CycloneDX 1.5 document with the sums of the lock file. It depends on the commit, not on the time."""
    sums = {(p["name"], p["version"]): p["checksum"] for p in tomllib.loads(lock.read_text())["package"] if "checksum" in p}
    components = []
    for package in packages:
        purl = f"pkg:cargo/{package['name']}@{package['version']}"
        component = {"type": "library", "bom-ref": purl, "name": package["name"], "version": package["version"]}
        component["hashes"] = [{"alg": "SHA-256", "content": sums[package["name"], package["version"]]}]
        if package["license"]:
            # Cargo once allowed `MIT/Apache-2.0` for `OR`, which SPDX does not.
            component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
        component["purl"] = purl
        if package.get("repository"):
            component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
        components.append(component)
    stamp = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'kiln:{revision}')}",
        "version": 1,
        "metadata": {
            "timestamp": stamp,
            "component": {"type": "application", "bom-ref": "kiln", "name": "kiln", "version": version},
            "properties": [{"name": "kiln:commit", "value": revision}],
        },
        "components": components,
        "dependencies": [{"ref": "kiln", "dependsOn": [c["bom-ref"] for c in components]}],
    }
