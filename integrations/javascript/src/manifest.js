// `.hman`: maps the hash of an asset reference to a path. The layout is in docs/reference/formats/hman.md.

import { Reader, bytesOf, decodePath, require } from "./bytes.js";

const KINDS = ["texture", "mesh", "material", "lut", "shader", "embed", "animation", "font"];

/** Returns the hash of an asset reference: FNV-1a 64 of its UTF-8 bytes after ASCII lowercasing. */
export function hashReference(reference) {
  let hash = 0xcbf29ce484222325n;
  for (let byte of new TextEncoder().encode(reference)) {
    if (byte >= 0x41 && byte <= 0x5a) byte += 32;
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  }
  return hash;
}

/** Reads a manifest: its entries in order, and a lookup by hash. */
export function readManifest(data) {
  const reader = new Reader(bytesOf(data));
  reader.check(0, 16);
  require(reader.tag(0) === "HMAN", "magic", "not a manifest");
  const version = reader.u32(4);
  require(version === 1, "version", `manifest version ${version}; this reader knows version 1`);
  require(reader.u32(12) === 0, "value", "unknown flags in the header of the manifest");
  const entries = [];
  const byHash = new Map();
  let at = 16;
  for (let i = reader.u32(8); i > 0; i--) {
    const [hash, kind, srgb] = [reader.hash(at), reader.u8(at + 8), reader.u8(at + 9)];
    const path = decodePath(reader.slice(at + 12, reader.u16(at + 10)));
    at += 12 + reader.u16(at + 10);
    require(kind < KINDS.length && srgb <= 1, "value", `invalid kind or colour space of ${path}`);
    const entry = { hash, kind: KINDS[kind], isSrgb: srgb === 1, path };
    const last = entries.at(-1);
    require(!last || last.hash <= hash, "order", `the entry ${path} is out of order`);
    entries.push(entry);
    if (!byHash.has(hash)) byHash.set(hash, entry);
  }
  require(at === reader.length, "trailing", "trailing bytes in the manifest");
  return { entries, find: (hash) => byHash.get(hash) };
}
