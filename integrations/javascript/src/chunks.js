// The container of tagged chunks of `.hmesh` and `.hscn`.

import { require } from "./bytes.js";

const HEADER = 32;
const ROW = 24;
const MAX_CHUNKS = 256;

/** Returns the known chunks of a file by tag, with offset and size. Unknown ones are skipped. */
export function readChunks(reader, { magic, version, noun, known, required }) {
  reader.check(0, HEADER);
  require(reader.tag(0) === magic, "magic", `not a ${noun}`);
  const found = reader.u32(4);
  require(found === version, "version", `${noun} version ${found}; this reader knows version ${version}`);
  const reserved = reader.u32(12) === 0 && reader.hash(16) === 0n && reader.hash(24) === 0n;
  require(reserved, "value", `unknown flags in the header of the ${noun}`);
  const count = reader.u32(8);
  require(count <= MAX_CHUNKS, "value", `${count} chunks; at most ${MAX_CHUNKS} are allowed`);
  reader.check(HEADER, count * ROW);
  const chunks = new Map();
  for (let i = 0; i < count; i++) {
    const row = HEADER + i * ROW;
    const [tag, offset, size] = [reader.tag(row), reader.u64(row + 8), reader.u64(row + 16)];
    require(offset % 16 === 0, "value", `the chunk ${tag} is not aligned`);
    require(offset >= HEADER + count * ROW, "truncated", `the chunk ${tag} overlaps the table`);
    reader.check(offset, size);
    if (!Object.hasOwn(known, tag)) continue;
    require(reader.u32(row + 4) === 0, "value", `unknown flags of the chunk ${tag}`);
    require(!chunks.has(tag), "missing", `duplicate chunk ${tag}`);
    chunks.set(tag, { offset, size });
  }
  required.forEach((tag) => require(chunks.has(tag), "missing", `the chunk ${tag} is missing`));
  return chunks;
}
