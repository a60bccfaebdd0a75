// Decoders of meshoptimizer's streams (vertices, triangles, index sequences) and of compressed meshes, `.hmesh` version 3.

import { FormatError, Reader, bytesOf, require } from "./bytes.js";

const HEADER = 32;
const ROW = 24;
const MAX_RATIO = 1024;
const MAX_DECODED_SIZE = 2 ** 32;
const ENDS = "the meshopt stream ends before its last element";
const WIDTHS = [[0, 2, 4, 8], [0, 1, 2, 4], [1, 2, 4, 8]];

/** A position in a stream; each read checks its range. */
class Input {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
    this.end = bytes.length;
  }

  take(size) {
    require(size <= this.end - this.at, "truncated", ENDS);
    this.at += size;
    return this.at - size;
  }

  byte() {
    return this.bytes[this.take(1)];
  }

  /** Reads a number of up to five groups of seven bits. */
  number() {
    let number = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      number |= (byte & 127) << shift;
      if (byte < 128) break;
    }
    return number;
  }

  finish() {
    require(this.at === this.end, "trailing", "the meshopt stream has trailing bytes after its last element");
  }
}

function isHeader(stream, tag) {
  require(stream.length > 0 && stream[0] >> 1 === tag >> 1, "version", "the meshopt stream does not start with the byte of a known version");
  return stream[0] & 1;
}

const unzigzag = (number) => (number >>> 1) ^ -(number & 1);

/** Decodes the deltas of one byte of the vertices of a block. */
function decodeColumn(input, widths, column, groups) {
  const header = input.take((groups + 3) >> 2);
  const { bytes, end } = input;
  let at = input.at;
  for (let group = 0, out = 0; group < groups; group++, out += 16) {
    const width = widths[(bytes[header + (group >> 2)] >> ((group & 3) * 2)) & 3];
    // At most 24 bytes are read, so a group needs one check.
    require(end - at >= 24, "truncated", ENDS);
    if (width === 0) {
      for (let i = 0; i < 16; i++) column[out + i] = 0;
    } else if (width === 8) {
      for (let i = 0; i < 16; i++) column[out + i] = bytes[at + i];
      at += 16;
    } else {
      const most = (1 << width) - 1;
      const start = at;
      at += 2 * width;
      for (let i = 0; i < 16; i++) {
        const shift = width === 1 ? i & 7 : 8 - width - ((i * width) & 7);
        const value = (bytes[start + ((i * width) >> 3)] >> shift) & most;
        column[out + i] = value === most ? bytes[at++] : value;
      }
    }
  }
  input.at = at;
}

/** Decodes records of `stride` bytes, as many as fit into `out`. */
function decodeVertices(stream, stride, out) {
  const version = isHeader(stream, 0xa0);
  const input = new Input(stream);
  input.take(1);
  const channels = stride / 4;
  const tail = stride + (version ? channels : 0);
  const padded = Math.max(tail, version ? 24 : 32);
  require(stream.length - 1 >= padded, "truncated", ENDS);
  const first = new DataView(stream.buffer, stream.byteOffset + stream.length - tail, tail);
  const last = Uint32Array.from({ length: channels }, (_, k) => first.getUint32(4 * k, true));
  const target = new DataView(out.buffer, out.byteOffset, out.length);
  const columns = [0, 1, 2, 3].map(() => new Uint8Array(256));
  const [a, b, c, d] = columns;
  const block = Math.min(256, Math.floor(8192 / stride / 16) * 16);
  for (let done = 0, count = out.length / stride; done < count; done += block) {
    const rows = Math.min(block, count - done);
    const groups = (rows + 15) >> 4;
    const controls = input.take(version ? channels : 0);
    for (let k = 0; k < channels; k++) {
      const control = version ? stream[controls + k] : 0;
      const kind = version ? first.getUint8(stride + k) : 0;
      columns.forEach((column, i) => {
        const code = (control >> (2 * i)) & 3;
        if (code === 2) column.fill(0);
        else if (code === 3) {
          const at = input.take(rows);
          column.set(stream.subarray(at, at + rows));
        } else decodeColumn(input, WIDTHS[version ? 1 + code : 0], column, groups);
      });
      require((kind & 3) !== 3, "value", "the meshopt stream has a channel of an unknown kind");
      const part = (kind & 3) === 0 ? 8 : 16;
      const high = (part === 8 ? 0x80808080 : 0x80008000) | 0;
      const [ones, right] = [high >>> (part - 1), kind >> 4];
      let value = last[k] | 0;
      const rotate = (kind & 3) === 2;
      for (let j = 0, at = done * stride + 4 * k; j < rows; j++, at += stride) {
        const word = a[j] | (b[j] << 8) | (c[j] << 16) | (d[j] << 24);
        if (rotate) value ^= (word >>> right) | (word << ((32 - right) & 31));
        else {
          const sign = word & ones;
          const delta = ((word >>> 1) & ~high) ^ (((sign << part) - sign) | 0);
          value = (((value & ~high) + (delta & ~high)) | 0) ^ ((value ^ delta) & high);
        }
        target.setInt32(at, value, true);
      }
      last[k] = value;
    }
  }
  require(input.end - input.at === padded, "trailing", "the meshopt stream has trailing bytes after its last element");
}

/** Decodes `count` triangles; `each` gets the three indices of each, in an array that is used again. */
function decodeTriangles(stream, count, each) {
  const mostBack = isHeader(stream, 0xe0) ? 13 : 15;
  const input = new Input(stream);
  input.take(1);
  const codes = input.take(count);
  input.take(16);
  input.at -= 16;
  input.end -= 16;
  const [edges, vertices] = [new Uint32Array(32).fill(-1), new Uint32Array(16).fill(-1)];
  let [nextEdge, nextVertex, next, last] = [0, 0, 0, 0];
  const pushEdge = (from, to) => {
    edges[2 * (nextEdge & 15)] = from;
    edges[2 * (nextEdge++ & 15) + 1] = to;
  };
  const pushVertex = (vertex, isNew) => {
    vertices[nextVertex & 15] = vertex;
    nextVertex += isNew;
  };
  const corners = [0, 0, 0];
  const v = [0, 0, 0];
  for (let i = 0; i < count; i++) {
    const code = stream[codes + i];
    if (code < 0xf0) {
      const edge = 2 * ((nextEdge - 1 - (code >> 4)) & 15);
      const k = code & 15;
      v[0] = edges[edge];
      v[1] = edges[edge + 1];
      if (k < mostBack) {
        v[2] = k === 0 ? next++ : vertices[(nextVertex - 1 - k) & 15];
        pushVertex(v[2], k === 0 ? 1 : 0);
      } else {
        last = (last + (k === 13 ? -1 : k === 14 ? 1 : unzigzag(input.number()))) >>> 0;
        v[2] = last;
        pushVertex(last, 1);
      }
    } else {
      const pair = code < 0xfe ? stream[input.end + (code & 15)] : input.byte();
      if (code >= 0xfe && pair === 0) next = 0;
      corners[0] = code === 0xff ? 15 : 0;
      corners[1] = pair >> 4;
      corners[2] = pair & 15;
      for (let c = 0; c < 3; c++) v[c] = corners[c] === 0 ? next++ : vertices[(nextVertex - corners[c]) & 15];
      for (let c = 0; c < 3; c++) if (corners[c] === 15) v[c] = last = (last + unzigzag(input.number())) >>> 0;
      for (let c = 0; c < 3; c++) pushVertex(v[c], corners[c] === 0 || corners[c] === 15 ? 1 : 0);
      pushEdge(v[1], v[0]);
    }
    pushEdge(v[2], v[1]);
    pushEdge(v[0], v[2]);
    each(v, i);
  }
  input.finish();
}

/** Decodes `count` indices; `each` gets each. */
function decodeSequence(stream, count, each) {
  isHeader(stream, 0xd0);
  const input = new Input(stream);
  input.take(5);
  input.at = 1;
  input.end -= 4;
  const last = new Uint32Array(2);
  for (let i = 0; i < count; i++) {
    const number = input.number();
    last[number & 1] += unzigzag(number >>> 1);
    each(last[number & 1], i);
  }
  input.finish();
}

/** Returns a function that writes indices of a width, and rejects larger ones. */
function indexWriter(out, width) {
  const view = new DataView(out.buffer, out.byteOffset, out.length);
  if (width === 4) return (index, i) => view.setUint32(i * 4, index, true);
  const end = 2 ** (8 * width);
  return (index, i) => {
    require(index >= 0 && index < end, "value", "an index is larger than its type");
    if (width === 2) view.setUint16(i * 2, index, true);
    else view.setUint8(i, index);
  };
}

/** The chunks of a compressed mesh with their places in the decoded file, and its size. */
function layout(bytes) {
  const reader = new Reader(bytes);
  reader.check(0, HEADER);
  const count = reader.u32(8);
  const reserved = reader.u32(12) === 0 && reader.hash(16) === 0n && reader.hash(24) === 0n;
  require(reserved && count <= 256, "value", "invalid header of the mesh");
  reader.check(HEADER, count * ROW);
  const align = (at) => Math.ceil(at / 16) * 16;
  let [end, decodedEnd] = [HEADER + count * ROW, HEADER + count * ROW];
  const chunks = Array.from({ length: count }, (_, i) => {
    const row = HEADER + i * ROW;
    const [tag, codec, offset, length] = [reader.tag(row), reader.u32(row + 4), reader.u64(row + 8), reader.u64(row + 16)];
    require(offset === align(end), "value", `the chunk ${tag} is not in the order of the table`);
    reader.check(offset, length);
    end = offset + length;
    const chunk = { tag, codec, data: bytes.subarray(offset, end), count: 0, stride: 0, size: length, place: align(decodedEnd) };
    if (codec !== 0) {
      require(length >= 8, "truncated", `the chunk ${tag} has no stream header`);
      const [elements, stride] = [reader.u32(offset), reader.u32(offset + 4)];
      const isStride = [false, stride % 4 === 0 && stride >= 4 && stride <= 256, stride === 2 || stride === 4, stride === 2 || stride === 4, stride === 1 && tag === "MLTR"][codec];
      const isWhole = (codec !== 2 && codec !== 4) || elements % 3 === 0;
      require(isStride && isWhole, "value", `the chunk ${tag} has an invalid codec, stride or count`);
      // Elements of vertices have no bytes where all are equal, a triangle and an index have at least one.
      const most = (length - 8) * [0, MAX_RATIO / stride, 3, 1, 3][codec];
      require(elements <= most, "value", `the chunk ${tag} cannot have ${elements} elements`);
      Object.assign(chunk, { data: bytes.subarray(offset + 8, end), count: elements, stride, size: elements * stride });
    }
    decodedEnd = chunk.place + chunk.size;
    return chunk;
  });
  require(end === bytes.length, "trailing", "trailing bytes after the mesh");
  return { chunks, size: decodedEnd };
}

/** Allocates memory for a size that a file states. */
function allocate(size) {
  try {
    return new Uint8Array(size);
  } catch {
    throw new FormatError("value", `the decoded mesh of ${size} bytes does not fit in the memory`);
  }
}

/** Returns whether a file is a compressed mesh, by its header. */
export function isCompressedMesh(data) {
  const bytes = bytesOf(data);
  return bytes.length >= 8 && String.fromCharCode(...bytes.subarray(0, 4)) === "HMSH" && new Reader(bytes).u32(4) === 3;
}

/** Decodes a compressed mesh, `.hmesh` version 3, to a file of version 2. */
export function decodeMesh(data) {
  const bytes = bytesOf(data);
  require(isCompressedMesh(bytes), "version", "not a compressed mesh");
  const { chunks, size } = layout(bytes);
  require(chunks.some(({ codec }) => codec !== 0), "version", "no chunk of the compressed mesh is encoded");
  require(chunks.filter(({ codec }) => codec === 4).length <= 1, "value", "two chunks have the triangles of meshlets");
  require(size <= MAX_DECODED_SIZE, "value", `the decoded mesh would have ${size} bytes`);
  const out = allocate(size);
  const view = new DataView(out.buffer);
  out.set(bytes.subarray(0, HEADER));
  view.setUint32(4, 2, true);
  chunks.forEach(({ tag, place, size }, i) => {
    const row = HEADER + i * ROW;
    for (let c = 0; c < 4; c++) out[row + c] = tag.charCodeAt(c);
    view.setBigUint64(row + 8, BigInt(place), true);
    view.setBigUint64(row + 16, BigInt(size), true);
  });
  const target = ({ place, size }) => out.subarray(place, place + size);
  for (const chunk of chunks) {
    const { codec, data, count, stride } = chunk;
    const put = codec === 2 || codec === 3 ? indexWriter(target(chunk), stride) : null;
    if (codec === 0) target(chunk).set(data);
    else if (codec === 1) decodeVertices(data, stride, target(chunk));
    else if (codec === 2) decodeTriangles(data, count / 3, (v, i) => { for (let c = 0; c < 3; c++) put(v[c], 3 * i + c); });
    else if (codec === 3) decodeSequence(data, count, put);
  }
  // The triangles of meshlets need the meshlets, which may follow.
  const triangles = chunks.findLast(({ codec }) => codec === 4);
  if (triangles) {
    const meshlets = chunks.findLast(({ tag }) => tag === "MLET");
    require(meshlets, "missing", "the chunk MLET is missing");
    const put = indexWriter(target(triangles), 1);
    const end = meshlets.place + Math.floor(meshlets.size / 16) * 16;
    let [row, first, left] = [meshlets.place, 0, 0];
    decodeTriangles(triangles.data, triangles.count / 3, (v, i) => {
      for (; left === 0; row += 16) {
        require(row < end, "value", "a triangle belongs to no meshlet");
        [first, left] = [view.getUint32(row, true), view.getUint32(row + 12, true)];
      }
      left--;
      for (let c = 0; c < 3; c++) put((v[c] - first) >>> 0, 3 * i + c);
    });
  }
  return out;
}
