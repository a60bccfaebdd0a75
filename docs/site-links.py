#!/usr/bin/env python3
"""mdBook preprocessor: links to files of the repository outside docs/ become text that names the file.

The site has the pages of docs/ alone, so such a link would lead nowhere. With the argument `check` and the directory of a
built site, reports every relative link of its pages that has no target; exit code 1 if there is one."""
import html.parser
import json
import os
import posixpath
import re
import sys

LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s]+)\)")


def without_outside_links(text, directory):
    def replaced(match):
        label, target = match.groups()
        path = posixpath.normpath(posixpath.join("docs", directory, target.split("#")[0]))
        if "://" in target or target.startswith("#") or path.startswith("docs/") or path == "docs":
            return match.group(0)
        name = label.strip("`")
        return label if name == path else f"{label} (`{path}` in the repository)"

    # Code blocks stay as they are.
    parts = re.split(r"(^```.*?^```)", text, flags=re.M | re.S)
    return "".join(part if n % 2 else LINK.sub(replaced, part) for n, part in enumerate(parts))


def convert(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            path = chapter.get("path")
            if path:
                chapter["content"] = without_outside_links(chapter["content"], posixpath.dirname(path))
            convert(chapter["sub_items"])


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.anchors.add(value)
            if value and ((tag == "a" and name == "href") or (tag in ("img", "script") and name == "src")):
                self.targets.append(value)


def check(site):
    pages = {}
    for directory, _, names in os.walk(site):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(directory, name)
                page = pages[os.path.normpath(path)] = Page()
                page.feed(open(path, encoding="utf-8").read())
    # mdBook resolves the links of its page for missing pages and of the printed book from elsewhere.
    skipped = {os.path.normpath(os.path.join(site, name)) for name in ("404.html", "print.html", "toc.html")}
    broken, links = [], 0
    for path, page in sorted(pages.items()):
        if path in skipped:
            continue
        for target in page.targets:
            if re.match(r"[a-z]+:", target):
                continue
            links += 1
            to, _, anchor = target.partition("#")
            to = os.path.normpath(os.path.join(os.path.dirname(path), to)) if to else path
            if not os.path.exists(to):
                broken.append(f"{os.path.relpath(path, site)}: {target}: no such file")
            elif anchor and to in pages and anchor not in pages[to].anchors:
                broken.append(f"{os.path.relpath(path, site)}: {target}: no such heading")
    print("\n".join(broken), end="\n" if broken else "")
    print(f"{len(pages)} pages, {links} links, {len(broken)} broken")
    return 1 if broken or not pages else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["supports"]:
        sys.exit(0)
    if sys.argv[1:2] == ["check"]:
        sys.exit(check(sys.argv[2]))
    _, book = json.load(sys.stdin)
    convert(book.get("items") or book.get("sections"))
    json.dump(book, sys.stdout)
