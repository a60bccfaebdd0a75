// Little-endian reads that check every range before they read it.

/** The error of a file that is damaged or of another format. `code` is stable, `message` is for people. */
export class FormatError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "FormatError";
    this.code = code;
  }
}

/** Returns a `Uint8Array` over an `ArrayBuffer` or any view of one, without a copy. */
export function bytesOf(data) {
  if (data instanceof Uint8Array) return data;
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer || (typeof SharedArrayBuffer !== "undefined" && data instanceof SharedArrayBuffer)) {
    return new Uint8Array(data);
  }
  throw new TypeError("expected an ArrayBuffer or a view of one");
}

/** Reads numbers of a file. Offsets come from the file, so each read checks them. */
export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  get length() {
    return this.bytes.byteLength;
  }

  /** Throws unless `size` bytes are at `offset`. */
  check(offset, size) {
    if (offset < 0 || size < 0 || offset + size > this.length) {
      throw new FormatError("truncated", `unexpected end of file: ${size} bytes at ${offset} of ${this.length}`);
    }
  }

  slice(offset, size) {
    this.check(offset, size);
    return this.bytes.subarray(offset, offset + size);
  }

  u8(offset) {
    this.check(offset, 1);
    return this.view.getUint8(offset);
  }

  u16(offset) {
    this.check(offset, 2);
    return this.view.getUint16(offset, true);
  }

  u32(offset) {
    this.check(offset, 4);
    return this.view.getUint32(offset, true);
  }

  i32(offset) {
    this.check(offset, 4);
    return this.view.getInt32(offset, true);
  }

  f32(offset) {
    this.check(offset, 4);
    return this.view.getFloat32(offset, true);
  }

  /** Returns a 64-bit number that is a length or an offset. No file has one that a double cannot hold. */
  u64(offset) {
    const value = this.hash(offset);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) {
      throw new FormatError("truncated", `a length or offset of ${value} bytes is beyond the end of the file`);
    }
    return Number(value);
  }

  /** Returns a 64-bit hash. */
  hash(offset) {
    this.check(offset, 8);
    return this.view.getBigUint64(offset, true);
  }

  floats(offset, count) {
    return Array.from({ length: count }, (_, i) => this.f32(offset + 4 * i));
  }

  tag(offset) {
    return String.fromCharCode(...this.slice(offset, 4));
  }

  /** Returns a typed array over the file, or a copy where the file is not aligned in its buffer. */
  array(Type, offset, count) {
    const size = count * Type.BYTES_PER_ELEMENT;
    const bytes = this.slice(offset, size);
    if (bytes.byteOffset % Type.BYTES_PER_ELEMENT === 0) return new Type(bytes.buffer, bytes.byteOffset, count);
    return new Type(bytes.slice().buffer, 0, count);
  }
}

/** Throws unless a condition of the format holds. */
export function require(condition, code, message) {
  if (!condition) throw new FormatError(code, message);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes a path, and rejects paths that could leave the root that they are joined to. */
export function decodePath(bytes) {
  let path;
  try {
    path = utf8.decode(bytes);
  } catch {
    throw new FormatError("path", "a path is not UTF-8");
  }
  const isPart = (part) => part !== "" && part !== "." && part !== "..";
  // eslint-disable-next-line no-control-regex
  require(path.split("/").every(isPart) && !/[\\:\u0000-\u001f\u007f-\u009f]/.test(path), "path", `invalid path ${JSON.stringify(path)}`);
  return path;
}

/** Decodes a string, or returns undefined if it is not UTF-8. */
export function decodeText(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Compares byte strings. */
export function compareBytes(a, b) {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    if (a[i] !== b[i]) return a[i] - b[i];
  }
  return a.length - b.length;
}
