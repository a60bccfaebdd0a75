// Reads the showcase pack and compares everything with what `assetc` prints about it.
//
//   KILN_ASSETC=target/release/assetc KILN_PACK=examples/showcase/runtime/desktop.hpack node --test integrations/javascript/test/
//
// The transcoder is tested if `build` has made transcoder.wasm.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import zlib, { inflateSync } from "node:zlib";
import {
  FormatError, Target, Transcoder, checkIndices, hashReference, keyValueText, packDirectorySize, readKtx2, readManifest, readMesh,
  readPack, readPackDirectory, unpackVertices,
} from "../src/index.js";

const assetc = process.env.KILN_ASSETC;
const packPath = process.env.KILN_PACK;
const wasm = new URL("../transcoder.wasm", import.meta.url);
const run = (...args) => execFileSync(assetc, args, { maxBuffer: 1 << 28 });
const bytes = packPath && readFileSync(packPath);
const skip = !(assetc && packPath) && "KILN_ASSETC and KILN_PACK are not set";
const information = () => JSON.parse(run("info", "--json", packPath)).files;

/** Calls `read` with damaged files: each has to be read or rejected with a `FormatError`. Returns the number rejected. */
function damage(file, read) {
  let rejected = 0;
  const attempt = (damaged) => {
    try {
      read(damaged);
    } catch (error) {
      if (!(error instanceof FormatError)) throw error;
      rejected++;
    }
  };
  const step = Math.max(1, Math.floor(file.length / 500));
  for (let length = 0; length < file.length; length += step) attempt(file.slice(0, length));
  for (let at = 0; at < Math.min(file.length, 4096); at++) {
    const damaged = Uint8Array.from(file);
    damaged[at] ^= 1 << at % 8;
    attempt(damaged);
  }
  return rejected;
}

test("the entries of the pack are those of `pack info`", { skip }, () => {
  const pack = readPack(bytes);
  const expected = JSON.parse(run("pack", "info", packPath, "--json")).entries;
  const { entries } = pack;
  const entry = ({ path, kind, offset, size, stored }) => ({ path, kind, offset, size: stored ?? size, contentSize: size });
  assert.deepEqual(entries, expected.map(entry));
  assert.ok(pack.has("assets.hman") && !pack.has("nothing"));
  assert.throws(() => pack.read("nothing"), { code: "missing" });
  // Range requests: the header, then the table of contents, then one file.
  const size = packDirectorySize(bytes.subarray(0, 24));
  assert.deepEqual(readPackDirectory(bytes.subarray(0, size), bytes.length), entries);
});

test("files extracted by `assetc` have the same bytes", { skip }, () => {
  const dir = mkdtempSync(join(tmpdir(), "kiln-"));
  try {
    run("extract", packPath, "-o", join(dir, "out"));
    const pack = readPack(bytes);
    for (const { path } of pack.entries) assert.deepEqual(Buffer.from(pack.read(path)), readFileSync(join(dir, "out", path)), path);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

/** A project of two files of which one shrinks, packed with `pack_compress: zstd`; returns the pack and the directory. */
function compressedPack() {
  const dir = mkdtempSync(join(tmpdir(), "kiln-"));
  mkdirSync(join(dir, "assets"));
  writeFileSync(join(dir, "assetc.yml"), "pack_compress: zstd\nembed: ['*.txt', '*.bin']\n");
  writeFileSync(join(dir, "assets", "long.txt"), "Kiln ".repeat(5000));
  writeFileSync(join(dir, "assets", "same.txt"), "Kiln ".repeat(5000));
  writeFileSync(join(dir, "assets", "short.bin"), Uint8Array.from([1, 2, 3]));
  execFileSync(assetc, ["-C", dir, "-q", "--pack"]);
  return { dir, path: join(dir, "runtime.hpack"), bytes: readFileSync(join(dir, "runtime.hpack")) };
}

test("compressed packs are those of `pack info`, and damaged ones are rejected", { skip: !assetc && skip }, () => {
  const { dir, path, bytes } = compressedPack();
  try {
    const { pack_version, entries } = JSON.parse(run("pack", "info", path, "--json"));
    assert.equal(pack_version, 3);
    const entry = ({ path, kind, offset, size, stored }) => ({ path, kind, offset, size: stored, contentSize: size });
    assert.deepEqual(readPack(bytes).entries, entries.map(entry));
    const byPath = Object.fromEntries(readPack(bytes).entries.map((entry) => [entry.path, entry]));
    assert.ok(byPath["long.txt"].size < 1000 && byPath["long.txt"].contentSize === 25000);
    assert.equal(byPath["long.txt"].offset, byPath["same.txt"].offset);
    assert.deepEqual([...readPack(bytes).read("short.bin")], [1, 2, 3]);
    assert.throws(() => readPack(bytes).read("long.txt"), { code: "compressed" });
    const fails = () => { throw new Error("no"); };
    assert.throws(() => readPack(bytes, { decompress: fails }).read("long.txt"), { code: "invalidZstd" });
    assert.throws(() => readPack(bytes, { decompress: () => new Uint8Array(3) }).read("long.txt"), { code: "invalidZstd" });
    assert.ok(damage(bytes, (file) => readPack(file)) > 100);
    const bomb = Uint8Array.from(bytes);
    new DataView(bomb.buffer).setBigUint64(24 + 16, 1n << 40n, true);
    assert.throws(() => readPack(bomb), { code: "value" });
    // Decompressors: that of Node, where it has one, and the one beside the transcoder.
    const content = Buffer.from("Kiln ".repeat(5000));
    if (zlib.zstdDecompressSync) {
      const pack = readPack(bytes, { decompress: (frame) => zlib.zstdDecompressSync(frame) });
      assert.deepEqual(Buffer.from(pack.read("long.txt")), content);
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("the transcoder decompresses packs", { skip: (!assetc && skip) || (!existsSync(wasm) && "transcoder.wasm is not built") }, async () => {
  const { dir, bytes } = compressedPack();
  try {
    const transcoder = await Transcoder.load(readFileSync(wasm));
    const pack = readPack(bytes, { decompress: (frame, size) => transcoder.decompress(frame, size) });
    assert.deepEqual(Buffer.from(pack.read("long.txt")), Buffer.from("Kiln ".repeat(5000)));
    assert.ok(readManifest(pack.read("assets.hman")));
    const entry = pack.entries.find(({ path }) => path === "long.txt");
    const frame = bytes.slice(entry.offset, entry.offset + entry.size);
    for (const [damaged, size] of [[frame, 24999], [frame, 25001], [frame.subarray(1), 25000], [frame.subarray(0, -5), 25000]]) {
      assert.throws(() => transcoder.decompress(damaged, size), { code: "invalidZstd" });
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("meshes are those of `info`", { skip }, () => {
  const pack = readPack(bytes);
  const meshes = information().filter((file) => file.format === "hmesh");
  assert.ok(meshes.length > 0);
  for (const { path, facts } of meshes) {
    const mesh = readMesh(pack.read(path));
    checkIndices(mesh);
    const stalled = mesh.submeshes.flatMap((submesh) => submesh.lods).filter((lod) => lod.indexCount === 0).length;
    const found = {
      vertices: mesh.vertexCount, triangles: mesh.indexCount / 3, indices: mesh.indexCount, meshlets: mesh.meshletCount,
      submeshes: mesh.submeshes.length, materials: mesh.materialCount, index_width: mesh.indexWidth,
      tangents: Number(mesh.hasTangents), skinned: Number(mesh.skinData !== null), joints: mesh.joints.length,
      lods: mesh.lodCount, lod_indices: mesh.lodIndices.length, stalled_lods: stalled,
    };
    for (const [key, value] of Object.entries(found)) assert.equal(value, facts[key], `${path}: ${key}`);
    const { positions, normals, tangents, uvs } = unpackVertices(mesh);
    assert.equal(uvs.length, mesh.vertexCount * 2);
    for (let i = 0; i < positions.length; i++) {
      const slack = 1e-5 * Math.max(1, ...mesh.bounds.max.map((max, c) => max - mesh.bounds.min[c]));
      assert.ok(positions[i] >= mesh.bounds.min[i % 3] - slack && positions[i] <= mesh.bounds.max[i % 3] + slack, path);
    }
    for (let i = 0; i < mesh.vertexCount; i++) {
      const normal = normals.subarray(i * 3, i * 3 + 3);
      assert.ok(Math.abs(Math.hypot(...normal) - 1) < 1e-4, path);
      if (!tangents) continue;
      const tangent = tangents.subarray(i * 4, i * 4 + 3);
      assert.ok(Math.abs(normal[0] * tangent[0] + normal[1] * tangent[1] + normal[2] * tangent[2]) < 0.01, path);
      assert.ok(Math.abs(tangents[i * 4 + 3]) === 1, path);
    }
    // A buffer that is not aligned gives the same arrays.
    const shifted = new Uint8Array(pack.read(path).length + 1);
    shifted.set(pack.read(path), 1);
    assert.deepEqual(readMesh(shifted.subarray(1)).indices, mesh.indices);
  }
});

test("octahedral vectors are those of the documentation", () => {
  // Vector, packed normal, packed tangent with handedness -1: docs/reference/formats/hmesh.md.
  const rows = [
    [[0, 0, 1], [0, 0], [1, 0]], [[0, 0, -1], [32767, 32767], [32767, 32767]], [[1, 0, 0], [32767, 0], [32767, 0]],
    [[-1, 0, 0], [-32767, 0], [-32767, 0]], [[0.6, 0.8, 0], [14043, 18724], [14043, 18724]],
    [[-0.3, -0.4, -0.8660254], [-24398, -26490], [-24397, -26490]],
  ];
  for (const [vector, normal, tangent] of rows) {
    const data = new DataView(new ArrayBuffer(28));
    [...normal, ...tangent].forEach((value, i) => data.setInt16(12 + i * 2, value, true));
    const mesh = { vertexCount: 1, vertexData: new Uint8Array(data.buffer), hasTangents: true };
    const { normals, tangents } = unpackVertices(mesh);
    vector.forEach((value, c) => {
      assert.ok(Math.abs(normals[c] - value) < 1e-4, `${vector}: ${normals}`);
      assert.ok(Math.abs(tangents[c] - value) < 2e-4, `${vector}: ${tangents}`);
    });
    assert.equal(tangents[3], -1);
  }
});

test("textures are those of `info`", { skip }, () => {
  const pack = readPack(bytes);
  const textures = information().filter((file) => file.format === "ktx2");
  assert.ok(textures.length > 0);
  for (const { path, facts } of textures) {
    const texture = readKtx2(pack.read(path));
    const found = {
      width: texture.width, height: texture.height, depth: texture.depth, faces: texture.faceCount, mips: texture.levels.length,
      layers: Math.max(1, texture.layerCount), supercompression: texture.supercompression, transfer: texture.isSrgb ? "sRGB" : "linear",
      uncompressed_bytes: texture.levels.reduce((sum, level) => sum + level.uncompressedSize, 0),
    };
    for (const [key, value] of Object.entries(found)) assert.equal(value, facts[key], `${path}: ${key}`);
    if (facts.vk_format !== undefined) assert.equal(texture.vkFormat, facts.vk_format, path);
    assert.equal(texture.isUastc, facts.format.startsWith("UASTC"), path);
    assert.match(keyValueText(texture, "KTXwriter"), /assetc/);
    // The smallest mip levels come first, so a prefix holds some of them.
    const half = pack.read(path).subarray(0, Math.floor(pack.read(path).length / 2));
    if (texture.levels.length > 1) {
      const partial = readKtx2(half, pack.read(path).length);
      assert.equal(partial.levels[0].bytes, null);
      assert.deepEqual(partial.levels.at(-1).bytes, texture.levels.at(-1).bytes);
    }
  }
});

test("the manifest finds the textures of the pack", { skip }, () => {
  const pack = readPack(bytes);
  const manifest = readManifest(pack.read("assets.hman"));
  const { facts } = information().find((file) => file.format === "hman");
  assert.equal(manifest.entries.length, facts.entries);
  assert.equal(manifest.entries.filter((entry) => entry.isSrgb).length, facts.srgb_entries);
  for (const entry of manifest.entries) {
    assert.ok(pack.has(entry.path), entry.path);
    assert.equal(manifest.find(entry.hash).hash, entry.hash);
  }
  assert.equal(manifest.find(0n), undefined);
});

test("hashes are those of the documentation", () => {
  // docs/reference/formats/hmesh.md
  assert.equal(hashReference("models/chair/leather"), 0x5593b4deb18216f7n);
  assert.equal(hashReference("Models/Chair/material_0"), 0xbe1ae018fb5f8af0n);
});

test("damaged files are rejected with a FormatError", { skip }, () => {
  const pack = readPack(bytes);
  const smallest = (kind) => pack.entries.filter((entry) => entry.kind === kind).sort((a, b) => a.size - b.size)[0].path;
  const readAll = (data) => checkIndices(readMesh(data));
  for (const [path, read] of [[smallest("mesh"), readAll], [smallest("texture"), readKtx2], ["assets.hman", readManifest]]) {
    assert.ok(damage(pack.read(path), read) > 100, path);
  }
  const directory = bytes.subarray(0, packDirectorySize(bytes));
  assert.ok(damage(directory, (data) => readPackDirectory(data, bytes.length)) > 500);
  for (const path of ["../x", "/x", "a//b", "a\\b", "C:x", "a/./b"]) {
    const name = new TextEncoder().encode(path);
    const pack = new DataView(new ArrayBuffer(24 + 19 + name.length));
    [0x4b415048, 2, 1, 0, 19 + name.length].forEach((value, i) => pack.setUint32(i * 4, value, true));
    pack.setBigUint64(24, BigInt(Math.ceil(pack.byteLength / 16) * 16), true);
    pack.setUint16(24 + 17, name.length, true);
    new Uint8Array(pack.buffer).set(name, 24 + 19);
    assert.throws(() => readPack(pack), { code: "path" }, path);
  }
});

/** Decodes a PNG with 8 bits per channel to RGBA. */
function decodePng(png) {
  const parts = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height, depth, type] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]];
  assert.equal(depth, 8);
  const channels = { 0: 1, 2: 3, 4: 2, 6: 4 }[type];
  const data = inflateSync(Buffer.concat(parts));
  const stride = width * channels;
  const rows = Buffer.alloc(stride * height);
  const rgba = Buffer.alloc(width * height * 4);
  for (let y = 0; y < height; y++) {
    const filter = data[y * (stride + 1)];
    for (let x = 0; x < stride; x++) {
      const left = x >= channels ? rows[y * stride + x - channels] : 0;
      const up = y > 0 ? rows[(y - 1) * stride + x] : 0;
      const corner = x >= channels && y > 0 ? rows[(y - 1) * stride + x - channels] : 0;
      const [a, b, c] = [left, up, corner].map((value) => Math.abs(left + up - corner - value));
      const paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      const predicted = [0, left, up, (left + up) >> 1, paeth][filter];
      rows[y * stride + x] = data[y * (stride + 1) + 1 + x] + predicted;
    }
  }
  for (let i = 0; i < width * height; i++) {
    const texel = rows.subarray(i * channels, (i + 1) * channels);
    const color = channels < 3 ? [texel[0], texel[0], texel[0]] : texel.subarray(0, 3);
    rgba.set([...color, channels % 2 === 0 ? texel[channels - 1] : 255], i * 4);
  }
  return { width, height, rgba };
}

test("the transcoder decodes what `assetc extract` decodes", { skip: skip || (!existsSync(wasm) && "transcoder.wasm is not built") }, async () => {
  const transcoder = await Transcoder.load(readFileSync(wasm));
  const pack = readPack(bytes);
  const dir = mkdtempSync(join(tmpdir(), "kiln-"));
  try {
    let compared = 0;
    for (const { path, facts } of information().filter((file) => file.format === "ktx2" && file.facts.format.startsWith("UASTC"))) {
      const file = pack.read(path);
      const levels = readKtx2(file).levels;
      const loaded = transcoder.loadLevel(file, 0, Target.Rgba8);
      assert.deepEqual([loaded.width, loaded.height, loaded.levelCount], [facts.width, facts.height, facts.mips], path);
      const bc7 = transcoder.loadLevel(file, 0, Target.Bc7);
      assert.equal(bc7.bytes.length, levels[0].uncompressedSize, path);
      if (facts.type !== "2D" || compared >= 4) continue;
      run("extract", packPath.replace(/\.hpack$/, `/${path}`), "-o", join(dir, "level.png"));
      const png = decodePng(readFileSync(join(dir, "level.png")));
      assert.ok(Buffer.from(loaded.bytes).equals(png.rgba), `${path}: texels differ`);
      rmSync(join(dir, "level.png"));
      compared++;
      // A prefix with the smallest mip level only.
      const last = levels.at(-1);
      const prefix = file.subarray(0, last.offset + last.size);
      assert.equal(transcoder.loadLevel(prefix, levels.length - 1, Target.Rgba8).width, 1);
      assert.throws(() => transcoder.loadLevel(prefix, 0, Target.Rgba8), (error) => error.code === "needMoreBytes" && error.neededSize === levels[0].offset + levels[0].size);
    }
    assert.ok(compared > 0);
    assert.throws(() => transcoder.loadLevel(new Uint8Array(100), 0, Target.Rgba8), { code: "invalidFile" });
    assert.throws(() => transcoder.transcodeImage(new Uint8Array(15), 4, 4, Target.Bc7), { code: "wrongLength" });
    assert.equal(transcoder.transcodeImage(new Uint8Array(0), 0, 0, Target.Bc7).length, 0);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
