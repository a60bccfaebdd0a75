"""What `deny.toml` says about licences and sources, for machines without cargo-deny."""

import re

REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression, allowed):
    """Evaluates an SPDX expression: `AND` needs both sides, `OR` one of them.

    >>> is_allowed("MIT OR GPL-3.0-only", {"MIT"}), is_allowed("MIT AND GPL-3.0-only", {"MIT"})
    (True, False)
    >>> is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", {"MIT", "Unicode-3.0"}), is_allowed("MIT/Apache-2.0", {"MIT"})
    (True, True)
    >>> is_allowed("Apache-2.0 WITH LLVM-exception", {"Apache-2.0"})
    False
    """
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def alternatives(at):
        holds, at = conjunction(at)
        while at < len(tokens) and tokens[at] == "OR":
            other, at = conjunction(at + 1)
            holds = holds or other
        return holds, at

    def conjunction(at):
        holds, at = term(at)
        while at < len(tokens) and tokens[at] == "AND":
            other, at = term(at + 1)
            holds = holds and other
        return holds, at

    def term(at):
        if tokens[at] == "(":
            holds, at = alternatives(at + 1)
            return holds, at + 1
        name, at = tokens[at], at + 1
        if at < len(tokens) and tokens[at] == "WITH":
            name, at = f"{name} WITH {tokens[at + 1]}", at + 2
        return name in allowed, at

    holds, at = alternatives(0)
    return holds and at == len(tokens)


def violations(metadata, policy):
    """Returns what is wrong with the packages of `cargo metadata` that are not ours: a line for each."""
    ours = set(metadata["workspace_members"])
    allowed = set(policy["licenses"]["allow"])
    for package in metadata["packages"]:
        if package["id"] in ours:
            for dependency in package["dependencies"]:
                if dependency["req"] == "*" and not dependency.get("path"):
                    yield f"{package['name']}: any version of {dependency['name']}"
            continue
        name = f"{package['name']} {package['version']}"
        if package["source"] != REGISTRY:
            yield f"{name}: its source is {package['source']}"
        if not package["license"] or not is_allowed(package["license"], allowed):
            yield f"{name}: the licence {package['license']} is not in deny.toml"
