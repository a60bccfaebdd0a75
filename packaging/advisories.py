"""Advisories about packages of a lock file, from a clone of the RustSec database, for machines without cargo-deny.

An advisory is a file `crates/NAME/RUSTSEC-YYYY-NNNN.md` that starts with a block of TOML. It concerns every version that no
requirement in `patched` or `unaffected` matches.
"""

import re
import tomllib

VERSION = re.compile(r"(\d+)(?:\.(\d+|\*))?(?:\.(\d+|\*))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")


def order(numbers, pre):
    """Returns a key that sorts like versions: a pre-release comes before its release, its numbers before its words.

    >>> order((1, 0, 0), "alpha.9") < order((1, 0, 0), "alpha.10") < order((1, 0, 0), "alpha.x") < order((1, 0, 0), None)
    True
    """
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in pre.split(".")] if pre else []
    return tuple(numbers), not pre, parts


def parse(text):
    """Returns the numbers that a version states, at most three, and its pre-release.

    >>> parse("1.2.3-rc.1+build"), parse("1.*")
    (([1, 2, 3], 'rc.1'), ([1], None))
    """
    found = VERSION.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is not a version")
    numbers = [int(number) for number in found.groups()[:3] if number not in (None, "*")]
    return numbers, found[4]


def matches(requirement, version):
    """Tells whether a version meets a requirement of Cargo, such as `>= 0.11.6, < 0.12.0`, by order alone.

    A pre-release meets what its order meets: `1.1.0-rc.1` is patched by `>= 1.0`.

    >>> matches(">= 0.11.6, < 0.12.0", "0.11.9"), matches(">= 0.11.6, < 0.12.0", "0.12.0")
    (True, False)
    >>> matches("^0.2.3", "0.2.9"), matches("0.2.3", "0.3.0"), matches("~1.2", "1.3.0"), matches("1", "1.9.0")
    (True, False, False, True)
    >>> matches("> 1.2", "1.2.9"), matches("<= 1.2", "1.2.9"), matches("= 1.2", "1.2.9"), matches("*", "3.0.0")
    (False, True, True, True)
    """
    numbers, pre = parse(version)
    key = order(numbers, pre)
    return all(meets(comparator.strip(), key) for comparator in requirement.split(","))


def meets(comparator, key):
    """Tells whether the version with this key meets one comparator."""
    operator, text = re.fullmatch(r"(>=|<=|>|<|=|~|\^|)\s*(.+)", comparator).groups()
    if text == "*":
        return True
    stated, pre = parse(text)
    lowest = order(stated + [0] * (3 - len(stated)), pre)
    # The first version after all that begin with the stated numbers; for a whole version itself alone.
    after = order(stated[:-1] + [stated[-1] + 1] + [0] * (3 - len(stated)), "0") if len(stated) < 3 else None
    up_to_stated = key < after if after else key <= lowest
    if operator in (">=", "<"):
        return (key >= lowest) == (operator == ">=")
    if operator in (">", "<="):
        return up_to_stated == (operator == "<=")
    if operator == "=" or (not operator and "*" in text):
        return key >= lowest and up_to_stated
    # `^` keeps the first number that is not zero, `~` the second one.
    kept = 1 if len(stated) == 1 else 2
    if operator != "~":
        kept = next((index + 1 for index, number in enumerate(stated) if number), len(stated))
    above = order(stated[: kept - 1] + [stated[kept - 1] + 1] + [0] * (3 - kept), "0")
    return lowest <= key < above


def advisories(database, name):
    """Returns the advisories about a package that were neither withdrawn nor superseded by another file.

    Raises `ValueError` for a file that states no advisory, because it must not pass for none.
    """
    found = []
    for path in sorted((database / "crates" / name).glob("RUSTSEC-*.md")):
        block = re.match(r"```toml\n(.*?)\n```", path.read_text(encoding="utf-8"), re.DOTALL)
        if not block:
            raise ValueError(f"{path} does not start with a block of TOML")
        stated = tomllib.loads(block[1])
        # The placeholder of a draft has no number yet.
        if "withdrawn" not in stated["advisory"] and path.stem != "RUSTSEC-0000-0000":
            found.append(stated)
    return found


def violations(packages, policy, database):
    """Returns what the database states about packages of a lock file, except what `deny.toml` ignores: a line for each.

    Unsound and unmaintained packages count like vulnerable ones, as in cargo-deny.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> database = pathlib.Path(folder.name)
    >>> for number, kind in [("0001", ""), ("0002", 'informational = "unmaintained"'), ("0003", 'withdrawn = "2025-01-02"')]:
    ...     path = database / "crates" / "loose" / f"RUSTSEC-2025-{number}.md"
    ...     path.parent.mkdir(parents=True, exist_ok=True)
    ...     text = f'[advisory]\\nid = "{path.stem}"\\n{kind}\\n[versions]\\npatched = [">= 1.2"]\\nunaffected = ["< 1.0"]'
    ...     _ = path.write_text(f"```toml\\n{text}\\n```")
    >>> lock = [{"name": "loose", "version": version, "source": "registry"} for version in ("0.9.0", "1.1.9", "1.2.0")]
    >>> policy = {"advisories": {"ignore": [{"id": "RUSTSEC-2025-0002"}]}}
    >>> violations(lock, policy, database)
    ['loose 1.1.9: RUSTSEC-2025-0001 (vulnerability), patched in >= 1.2']
    >>> [fault.split()[2] for fault in violations(lock, {}, database)]
    ['RUSTSEC-2025-0001', 'RUSTSEC-2025-0002']
    """
    if not next(database.glob("crates/*/RUSTSEC-*.md"), None):
        raise ValueError(f"{database} is not a clone of the advisory database: it has no crates/*/RUSTSEC-*.md")
    ignored = {entry["id"] if isinstance(entry, dict) else entry for entry in policy.get("advisories", {}).get("ignore", [])}
    faults = []
    for package in packages:
        if "source" not in package:
            continue
        for stated in advisories(database, package["name"]):
            advisory, versions = stated["advisory"], stated.get("versions", {})
            fixed = versions.get("patched", []) + versions.get("unaffected", [])
            if advisory["id"] in ignored or any(matches(requirement, package["version"]) for requirement in fixed):
                continue
            kind = advisory.get("informational", "vulnerability")
            patched = ", ".join(versions.get("patched", [])) or "no version"
            faults.append(f"{package['name']} {package['version']}: {advisory['id']} ({kind}), patched in {patched}")
    return faults
