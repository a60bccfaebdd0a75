// `.hpack`: all runtime files of a build in one file. The layout is in docs/reference/formats/hpack.md.

import { FormatError, Reader, bytesOf, compareBytes, decodePath, require } from "./bytes.js";

const HEADER = 24;
// The length of a record without its path, by version.
const RECORD = { 2: 19, 3: 27 };
// Against decompression bombs: the largest ratio of content to payload, and the length that may have any ratio.
const MAX_RATIO = 1024;
const UNLIMITED_CONTENT = 1 << 20;
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
  require(version in RECORD, "version", `pack version ${version}; this reader knows versions 2 and 3`);
  require(reader.u32(12) === 0, "value", "unknown flags in the header of the pack");
  return { version, count: reader.u32(8), tocEnd: HEADER + reader.u64(16) };
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
  const { version, count, tocEnd } = readHeader(reader);
  const record = RECORD[version];
  require(tocEnd <= fileSize, "truncated", "unexpected end of file in the table of contents");
  reader.check(0, tocEnd);
  const entries = [];
  let at = HEADER;
  let end = tocEnd;
  let last = null;
  for (let i = 0; i < count; i++) {
    require(at + record <= tocEnd, "truncated", "unexpected end of the table of contents");
    const [offset, size, kind] = [reader.u64(at), reader.u64(at + 8), reader.u8(at + record - 3)];
    const contentSize = version === 3 ? reader.u64(at + 16) : size;
    const pathEnd = at + record + reader.u16(at + record - 2);
    require(pathEnd <= tocEnd, "truncated", "unexpected end of the table of contents");
    const name = reader.slice(at + record, pathEnd - at - record);
    at = pathEnd;
    const path = decodePath(name);
    require(last === null || compareBytes(last, name) < 0, "order", `the entry ${path} is out of order`);
    last = name;
    require(kind === kindOf(path), "value", `the kind ${kind} of ${path} does not match its extension`);
    const limit = Math.max(size * MAX_RATIO, UNLIMITED_CONTENT);
    const accepted = contentSize === size || (size > 0 && contentSize > size && contentSize <= limit);
    require(accepted, "value", `the content size ${contentSize} of ${path} is out of range`);
    if (offset === Math.ceil(end / 16) * 16) {
      require(offset + size <= fileSize, "truncated", `${path} is beyond the end of the pack`);
      end = offset + size;
    } else {
      // Files with identical content share one payload, which is inside those before this one.
      const shared = size > 0 && offset % 16 === 0 && offset >= tocEnd && offset + size <= end;
      require(shared, "value", `the offset of ${path} is neither the next one nor inside an earlier payload`);
    }
    entries.push({ path, kind: KINDS[kind], offset, size, contentSize });
  }
  require(at === tocEnd && end === fileSize, "trailing", "trailing bytes in the pack");
  return entries;
}

/**
 * Returns the content of a payload, which is a Zstandard frame if it is shorter than its content. `decompress` is called
 * with the frame and the length of its content: `(frame) => zstdDecompressSync(frame)` of `node:zlib`, or a decompressor
 * for browsers.
 */
export function unpackPayload(entry, payload, decompress) {
  require(payload.byteLength === entry.size, "truncated", `the payload of ${entry.path} has not ${entry.size} bytes`);
  if (entry.size === entry.contentSize) return payload;
  if (!decompress) throw new FormatError("compressed", `${entry.path} is compressed: pass a function that decompresses Zstandard`);
  let content;
  try {
    content = bytesOf(decompress(payload, entry.contentSize));
  } catch (error) {
    throw new FormatError("invalidZstd", `the Zstandard frame of ${entry.path} is invalid: ${error.message}`);
  }
  require(content.byteLength === entry.contentSize, "invalidZstd", `the content of ${entry.path} has not ${entry.contentSize} bytes`);
  return content;
}

/** A pack in memory. */
export class Pack {
  #bytes;
  #byPath;
  #decompress;

  constructor(data, { decompress } = {}) {
    this.#bytes = bytesOf(data);
    this.#decompress = decompress;
    this.entries = readPackDirectory(this.#bytes, this.#bytes.byteLength);
    this.#byPath = new Map(this.entries.map((entry) => [entry.path, entry]));
  }

  /** Returns whether the pack has a file. */
  has(path) {
    return this.#byPath.has(path);
  }

  /** Returns the bytes of a file, without a copy if it is not compressed; throws if there is no such file. */
  read(path) {
    const entry = this.#byPath.get(path);
    if (!entry) throw new FormatError("missing", `the pack has no file ${path}`);
    const payload = this.#bytes.subarray(entry.offset, entry.offset + entry.size);
    return unpackPayload(entry, payload, this.#decompress);
  }
}

/** Reads a pack. `options.decompress` decompresses Zstandard: see `unpackPayload`. */
export function readPack(data, options) {
  return new Pack(data, options);
}
