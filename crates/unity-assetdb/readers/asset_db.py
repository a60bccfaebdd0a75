"""Reads asset-db.bin, the index of a Unity project that unity-assetdb bakes. No dependencies.

    >>> db = read("Library/unity-assetdb/asset-db.bin")
    >>> db.find("8f57b4a070f7b43bbb3925467e6752ab").path
    'Assets/Art/Flag.png'

As a program, prints one JSON object per asset: python asset_db.py asset-db.bin
The layout is in docs/reference/formats/assetdb.md.
"""

import bisect
import json
import sys
from dataclasses import dataclass

MAGIC = b"UADBIN__"
SCHEMA_VERSION = 6


class AssetDbError(Exception):
    """The file is no database, is damaged, or has another schema version."""


@dataclass(frozen=True)
class SubAsset:
    file_id: int
    class_id: int
    name: str


@dataclass(frozen=True)
class Asset:
    guid: str
    class_id: "int | None"  # None if the asset is a ScriptableObject
    script: "str | None"  # the GUID of the script of a ScriptableObject
    name: str
    sub_assets: "tuple[SubAsset, ...]"
    path: str


class AssetDb:
    def __init__(self, assets):
        self.assets = assets
        self._guids = [asset.guid for asset in assets]

    def find(self, guid):
        """Returns the asset with a GUID of 32 lower-case digits, or None."""
        at = bisect.bisect_left(self._guids, guid)
        return self.assets[at] if at < len(self.assets) and self._guids[at] == guid else None


class _Reader:
    """Decodes the variable-length integers and strings of bincode 2."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        end = self.at + count
        if end > len(self.data):
            raise AssetDbError("unexpected end of file at byte %d" % len(self.data))
        part, self.at = self.data[self.at:end], end
        return part

    def uint(self):
        first = self.take(1)[0]
        if first < 251:
            return first
        if first == 255:
            raise AssetDbError("invalid integer at byte %d" % (self.at - 1))
        return int.from_bytes(self.take(2 << (first - 251)), "little")

    def int(self):
        value = self.uint()
        return value >> 1 if value % 2 == 0 else -(value >> 1) - 1

    def count(self):
        count = self.uint()
        # Each item takes at least one byte.
        if count > len(self.data) - self.at:
            raise AssetDbError("a length exceeds the file at byte %d" % self.at)
        return count

    def str(self):
        try:
            return self.take(self.count()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise AssetDbError("a string is not UTF-8 at byte %d" % self.at) from error


def decode(data):
    """Decodes the bytes of a database."""
    if data[:8] != MAGIC:
        raise AssetDbError("not an asset-db.bin")
    reader = _Reader(data[8:])
    version = reader.uint()
    if version != SCHEMA_VERSION:
        raise AssetDbError("schema version %d, expected %d; bake again" % (version, SCHEMA_VERSION))
    scripts = ["%032x" % reader.uint() for _ in range(reader.count())]
    assets = []
    for _ in range(reader.count()):
        guid = "%032x" % reader.uint()
        tag, value = reader.uint(), reader.uint()
        if tag > 1 or tag == 1 and value >= len(scripts):
            raise AssetDbError("invalid type of asset %s" % guid)
        name = reader.str()
        subs = tuple(SubAsset(reader.int(), reader.uint(), reader.str()) for _ in range(reader.count()))
        class_id, script = (value, None) if tag == 0 else (None, scripts[value])
        assets.append(Asset(guid, class_id, script, name, subs, reader.str()))
    return AssetDb(assets)


def read(path):
    """Reads a database file."""
    with open(path, "rb") as file:
        return decode(file.read())


def main():
    for asset in read(sys.argv[1]).assets:
        subs = [[str(sub.file_id), sub.class_id, sub.name] for sub in asset.sub_assets]
        row = [asset.guid, asset.class_id, asset.script, asset.name, subs, asset.path]
        print(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
