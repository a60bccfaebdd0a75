// `.hpack`: all runtime files of a build in one file. The layout is in docs/reference/formats/hpack.md.

import { FormatError, Reader, bytesOf, compareBytes, decodePath, require } from "./bytes.js";

const HEADER = 24;
const RECORD = 19;
const KINDS = ["other", "mesh", "material", "manifest", "animation", "texture", "shader", "font"];
const EXTENSIONS = { hmesh: 1, hmat: 2, hman: 3, hanim: 4, ktx2: 5, spv: 6, hfont: 7 };

function kindOf(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 ? name.slice(dot + 1) : "";
  return Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : 0;
}

function readHeader(reader) {
  reader.check(0, HEADER);
  require(reader.tag(0) === "HPAK", "magic", "not a pack");
  const version = reader.u32(4);
  require(version === 2, "version", `pack version ${version}; this reader knows version 2`);
  require(reader.u32(12) === 0, "value", "unknown flags in the header of the pack");
  return { count: reader.u32(8), tocEnd: HEADER + reader.u64(16) };
}

/**
 * Returns the number of bytes from the start of a pack that hold its table of contents: for range requests. `prefix`
 * has to be at least 24 bytes long.
 */
export function packDirectorySize(prefix) {
  return readHeader(new Reader(bytesOf(prefix))).tocEnd;
}

/**
 * Reads the table of contents of a pack of `fileSize` bytes from a prefix that is at least `packDirectorySize` long.
 * Payloads are not read, so they can be fetched one by one.
 */
export function readPackDirectory(prefix, fileSize) {
  const reader = new Reader(bytesOf(prefix));
  const { count, tocEnd } = readHeader(reader);
  require(tocEnd <= fileSize, "truncated", "unexpected end of file in the table of contents");
  reader.check(0, tocEnd);
  const entries = [];
  let at = HEADER;
  let end = tocEnd;
  let last = null;
  for (let i = 0; i < count; i++) {
    require(at + RECORD <= tocEnd, "truncated", "unexpected end of the table of contents");
    const [offset, size, kind] = [reader.u64(at), reader.u64(at + 8), reader.u8(at + 16)];
    const pathEnd = at + RECORD + reader.u16(at + 17);
    require(pathEnd <= tocEnd, "truncated", "unexpected end of the table of contents");
    const name = reader.slice(at + RECORD, pathEnd - at - RECORD);
    at = pathEnd;
    const path = decodePath(name);
    require(last === null || compareBytes(last, name) < 0, "order", `the entry ${path} is out of order`);
    last = name;
    require(kind === kindOf(path), "value", `the kind ${kind} of ${path} does not match its extension`);
    if (offset === Math.ceil(end / 16) * 16) {
      require(offset + size <= fileSize, "truncated", `${path} is beyond the end of the pack`);
      end = offset + size;
    } else {
      // Files with identical content share one payload, which is inside those before this one.
      const shared = size > 0 && offset % 16 === 0 && offset >= tocEnd && offset + size <= end;
      require(shared, "value", `the offset of ${path} is neither the next one nor inside an earlier payload`);
    }
    entries.push({ path, kind: KINDS[kind], offset, size });
  }
  require(at === tocEnd && end === fileSize, "trailing", "trailing bytes in the pack");
  return entries;
}

/** A pack in memory. */
export class Pack {
  #bytes;
  #byPath;

  constructor(data) {
    this.#bytes = bytesOf(data);
    this.entries = readPackDirectory(this.#bytes, this.#bytes.byteLength);
    this.#byPath = new Map(this.entries.map((entry) => [entry.path, entry]));
  }

  /** Returns whether the pack has a file. */
  has(path) {
    return this.#byPath.has(path);
  }

  /** Returns the bytes of a file without a copy; throws if there is no such file. */
  read(path) {
    const entry = this.#byPath.get(path);
    if (!entry) throw new FormatError("missing", `the pack has no file ${path}`);
    return this.#bytes.subarray(entry.offset, entry.offset + entry.size);
  }
}

/** Reads a pack. */
export function readPack(data) {
  return new Pack(data);
}
