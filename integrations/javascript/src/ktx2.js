// KTX 2.0: header, mip levels, data format descriptor and key/value data of any KTX2 file. Levels are not decompressed:
// `Transcoder` does that for UASTC.

import { Reader, bytesOf, decodeText, require } from "./bytes.js";

const IDENTIFIER = [0xab, 0x4b, 0x54, 0x58, 0x20, 0x32, 0x30, 0xbb, 0x0d, 0x0a, 0x1a, 0x0a];
const HEADER = 80;
const SCHEMES = ["none", "basislz", "zstd", "zlib"];

function readDescriptor(reader, offset, size) {
  // The total size, then the basic descriptor block, which KTX2 requires to be the first one.
  require(size >= 28, "value", `a data format descriptor of ${size} bytes`);
  reader.check(offset, size);
  require(reader.u32(offset) === size && reader.u32(offset + 4) === 0, "value", "invalid data format descriptor");
  const blockSize = reader.u16(offset + 10);
  require(blockSize >= 24 && (blockSize - 24) % 16 === 0 && blockSize + 4 <= size, "value", "invalid data format descriptor");
  const samples = [];
  for (let at = offset + 28; at < offset + 4 + blockSize; at += 16) {
    const channel = reader.u8(at + 3);
    samples.push({
      bitOffset: reader.u16(at), bitLength: reader.u8(at + 2) + 1,
      channel: channel & 15, isLinear: (channel & 0x10) !== 0, isSigned: (channel & 0x40) !== 0, isFloat: (channel & 0x80) !== 0,
      lower: reader.u32(at + 8), upper: reader.u32(at + 12),
    });
  }
  return {
    model: reader.u8(offset + 12), primaries: reader.u8(offset + 13), transfer: reader.u8(offset + 14),
    isPremultiplied: (reader.u8(offset + 15) & 1) !== 0,
    blockWidth: reader.u8(offset + 16) + 1, blockHeight: reader.u8(offset + 17) + 1, blockBytes: reader.u8(offset + 20),
    samples,
  };
}

function readKeyValues(reader, offset, size) {
  const pairs = new Map();
  reader.check(offset, size);
  for (let at = offset; at < offset + size; ) {
    const length = reader.u32(at);
    require(at + 4 + length <= offset + size, "truncated", "unexpected end of the key/value data");
    const pair = reader.slice(at + 4, length);
    const zero = pair.indexOf(0);
    require(zero > 0, "value", "a key without a terminating zero");
    pairs.set(decodeText(pair.subarray(0, zero)) ?? "", pair.subarray(zero + 1));
    at += 4 + Math.ceil(length / 4) * 4;
  }
  return pairs;
}

/**
 * Reads the header of a KTX2 file. `data` may be a prefix of the file: `fileSize` is then the size of the whole file,
 * and levels that the prefix does not hold are described but have no bytes.
 */
export function readKtx2(data, fileSize) {
  const bytes = bytesOf(data);
  const reader = new Reader(bytes);
  const total = fileSize ?? bytes.byteLength;
  reader.check(0, HEADER);
  require(IDENTIFIER.every((byte, i) => bytes[i] === byte), "magic", "not a KTX2 file");
  const field = (at) => reader.u32(at);
  const [vkFormat, typeSize, width, height, depth, layerCount, faceCount, levelCount, scheme] =
    [12, 16, 20, 24, 28, 32, 36, 40, 44].map(field);
  require(width > 0, "value", "a texture without texels");
  require(faceCount === 1 || (faceCount === 6 && width === height), "value", `${faceCount} faces`);
  const side = Math.max(width, height, depth);
  // No levels: one is stored, and the application generates the others.
  require(levelCount <= 32 && Math.floor(side / 2 ** Math.max(0, levelCount - 1)) > 0, "value", `${levelCount} mip levels`);
  const levels = [];
  for (let i = 0; i < Math.max(1, levelCount); i++) {
    const row = HEADER + i * 24;
    const [offset, size, uncompressedSize] = [reader.u64(row), reader.u64(row + 8), reader.u64(row + 16)];
    require(offset + size <= total, "truncated", `mip level ${i} is beyond the end of the file`);
    levels.push({
      width: Math.max(1, Math.floor(width / 2 ** i)),
      height: Math.max(1, Math.floor(height / 2 ** i)),
      depth: Math.max(1, Math.floor(depth / 2 ** i)),
      offset, size, uncompressedSize,
      bytes: offset + size <= bytes.byteLength ? bytes.subarray(offset, offset + size) : null,
    });
  }
  const descriptor = readDescriptor(reader, field(48), field(52));
  return {
    vkFormat, typeSize, width, height, depth, layerCount, faceCount, levelCount, levels, descriptor,
    supercompression: SCHEMES[scheme] ?? scheme,
    isSrgb: descriptor.transfer === 2,
    isUastc: vkFormat === 0 && descriptor.model === 166,
    keyValues: readKeyValues(reader, field(56), field(60)),
  };
}

/** Returns the value of a key as a string without its terminating zero; undefined if there is none. */
export function keyValueText(texture, key) {
  const value = texture.keyValues.get(key);
  return value && decodeText(value)?.replace(/\0$/, "");
}
