// `.hmesh`: geometry with GPU layout. The layout is in docs/reference/formats/hmesh.md.

import { Reader, bytesOf, require } from "./bytes.js";
import { readChunks } from "./chunks.js";
import { decodeMesh, isCompressedMesh } from "./meshopt.js";

const VERTEX = 28;
const NO_MATERIAL = 0xffffffff;
/** The known chunks, with the size of an element in bytes. Unknown ones are skipped. */
const CHUNKS = {
  DESC: 32, BNDS: 40, VTXS: VERTEX, IDXS: 0, MLET: 16, MLVR: 4, MLTR: 3,
  MLBN: 32, MTRL: 8, SUBM: 64, SKIN: 24, SKEL: 112, LODI: 4, LODT: 8,
};
const REQUIRED = ["DESC", "BNDS", "VTXS", "IDXS", "SUBM"];

function readBounds(reader, at) {
  return {
    min: reader.floats(at, 3),
    max: reader.floats(at + 12, 3),
    center: reader.floats(at + 24, 3),
    radius: reader.f32(at + 36),
  };
}

/** Reads a mesh. Its arrays are views of `data`, or of memory that it was decoded to, if it is compressed. Vertex and joint indices are not checked: see `checkIndices`. */
export function readMesh(data) {
  const reader = new Reader(isCompressedMesh(data) ? decodeMesh(data) : bytesOf(data));
  const chunks = readChunks(reader, { magic: "HMSH", version: 2, noun: "mesh", known: CHUNKS, required: REQUIRED });
  const chunk = (tag) => chunks.get(tag) ?? { offset: 0, size: 0 };
  /** Returns the offset of a chunk with exactly `count` elements. */
  const rows = (tag, count, element = CHUNKS[tag]) => {
    require(chunk(tag).size === count * element, "value", `the chunk ${tag} has ${chunk(tag).size} bytes, not ${count * element}`);
    return chunk(tag).offset;
  };
  const countOf = (tag) => {
    const count = Math.floor(chunk(tag).size / CHUNKS[tag]);
    rows(tag, count);
    return count;
  };
  const desc = rows("DESC", 1);
  const [vertexCount, indexCount, meshletCount, submeshCount, materialCount] = [0, 4, 8, 12, 16].map((at) => reader.u32(desc + at));
  const [stride, indexWidth, flags, maxVertices] = [reader.u16(desc + 20), reader.u8(desc + 22), reader.u8(desc + 23), reader.u32(desc + 24)];
  require(submeshCount > 0 && stride === VERTEX && flags <= 1 && maxVertices <= 256, "value", "invalid mesh description");
  require(indexWidth === 2 || indexWidth === 4, "value", `indices of ${indexWidth} bytes`);
  const bounds = readBounds(reader, rows("BNDS", 1));

  const submeshes = [];
  let [indices, meshlets] = [0, 0];
  for (let i = 0, at = rows("SUBM", submeshCount); i < submeshCount; i++, at += CHUNKS.SUBM) {
    const [firstIndex, count, firstMeshlet, meshletsOf, slot, base] = [0, 4, 8, 12, 16, 20].map((field) => reader.u32(at + field));
    const inOrder = firstIndex === indices && count % 3 === 0 && firstMeshlet === meshlets && base === 0;
    require(inOrder, "value", `submesh ${i} does not follow the one before it`);
    require(slot === NO_MATERIAL || slot < materialCount, "value", `submesh ${i} has no material ${slot}`);
    indices += count;
    meshlets += meshletsOf;
    submeshes.push({
      firstIndex, indexCount: count, firstMeshlet, meshletCount: meshletsOf,
      material: slot === NO_MATERIAL ? null : slot, bounds: readBounds(reader, at + 24), lods: [],
    });
  }
  require(indices === indexCount && meshlets === meshletCount, "value", "submeshes do not cover all indices and meshlets");

  const lodIndexCount = countOf("LODI");
  let lodCount = 0;
  if (chunks.has("LODT")) {
    const at = chunk("LODT").offset;
    require(chunk("LODT").size >= 8, "value", "the table of LODs is too short");
    lodCount = reader.u32(at);
    require(reader.u32(at + 4) === submeshCount, "value", "the table of LODs has another number of submeshes");
    require(chunk("LODT").size === 8 + lodCount * submeshCount * 8, "value", "the table of LODs has the wrong length");
    let next = 0;
    for (let row = 0; row < lodCount * submeshCount; row++) {
      const [firstIndex, count] = [reader.u32(at + 8 + row * 8), reader.u32(at + 12 + row * 8)];
      require(firstIndex === (count === 0 ? 0 : next) && count % 3 === 0, "value", `LOD ${row} does not follow the one before it`);
      next += count;
      submeshes[Math.floor(row / lodCount)].lods.push({ firstIndex, indexCount: count });
    }
    require(next === lodIndexCount, "value", "LODs do not cover all their indices");
  } else {
    require(lodIndexCount === 0, "value", "indices of LODs without a table");
  }

  const joints = readJoints(reader, chunks, chunk("SKEL").offset, countOf("SKEL"));
  if (chunks.has("SKIN")) require(joints.length > 0, "missing", "a skin without a skeleton");
  const skin = chunks.has("SKIN") ? rows("SKIN", vertexCount) : null;
  return {
    vertexCount, indexCount, indexWidth, meshletCount, materialCount, lodCount, bounds, submeshes, joints,
    hasTangents: (flags & 1) !== 0,
    /** The vertices as bytes with a stride of 28: the vertex buffer. */
    vertexData: reader.slice(rows("VTXS", vertexCount), vertexCount * VERTEX),
    indices: reader.array(indexWidth === 2 ? Uint16Array : Uint32Array, rows("IDXS", indexCount, indexWidth), indexCount),
    lodIndices: reader.array(Uint32Array, chunk("LODI").offset, lodIndexCount),
    /** The hash of the reference of each material. */
    materials: reader.array(BigUint64Array, rows("MTRL", materialCount), materialCount),
    /** Rows of four: first vertex, vertices, first triangle, triangles. */
    meshlets: reader.array(Uint32Array, rows("MLET", meshletCount), meshletCount * 4),
    meshletVertices: reader.array(Uint32Array, chunk("MLVR").offset, countOf("MLVR")),
    meshletTriangles: reader.slice(chunk("MLTR").offset, countOf("MLTR") * 3),
    meshletBounds: reader.array(Float32Array, rows("MLBN", meshletCount), meshletCount * 8),
    skinData: skin === null ? null : reader.slice(skin, vertexCount * CHUNKS.SKIN),
  };
}

function readJoints(reader, chunks, at, count) {
  if (!chunks.has("SKEL")) return [];
  require(count >= 1 && count <= 65536, "value", `a skeleton of ${count} joints`);
  const joints = Array.from({ length: count }, (_, i) => {
    const joint = at + i * CHUNKS.SKEL;
    return {
      inverseBind: reader.floats(joint, 16),
      translation: reader.floats(joint + 64, 3),
      rotation: reader.floats(joint + 76, 4),
      scale: reader.floats(joint + 92, 3),
      parent: reader.i32(joint + 104),
    };
  });
  // Each walk ends at a root or at a joint that is known to reach one.
  const reachesRoot = new Uint8Array(count);
  for (let i = 0; i < count; i++) {
    const walk = [];
    for (let next = i; next !== -1 && !reachesRoot[next]; next = joints[next].parent) {
      const parent = joints[next].parent;
      require(parent >= -1 && parent < count, "value", `joint ${next} has the parent ${parent}`);
      require(walk.length < count, "value", `joint ${i} is its own ancestor`);
      walk.push(next);
    }
    walk.forEach((joint) => (reachesRoot[joint] = 1));
  }
  return joints;
}

/** Throws unless every vertex, joint and meshlet index is in range: for files from untrusted sources. */
export function checkIndices(mesh) {
  const inRange = (indices, what) => {
    for (const index of indices) require(index < mesh.vertexCount, "value", `${what} ${index} is out of range`);
  };
  inRange(mesh.indices, "index");
  inRange(mesh.lodIndices, "index of a LOD");
  inRange(mesh.meshletVertices, "vertex of a meshlet");
  let [vertices, triangles] = [0, 0];
  for (let i = 0; i < mesh.meshletCount; i++) {
    const [firstVertex, vertexCount, firstTriangle, triangleCount] = mesh.meshlets.subarray(i * 4, i * 4 + 4);
    require(firstVertex === vertices && firstTriangle === triangles, "value", `meshlet ${i} does not follow the one before it`);
    vertices += vertexCount;
    triangles += triangleCount;
    require(triangles * 3 <= mesh.meshletTriangles.length, "value", `meshlet ${i} is out of range`);
    for (const corner of mesh.meshletTriangles.subarray(firstTriangle * 3, triangles * 3)) {
      require(corner < vertexCount, "value", `corner ${corner} of meshlet ${i} is out of range`);
    }
  }
  const covered = vertices === mesh.meshletVertices.length && triangles * 3 === mesh.meshletTriangles.length;
  require(covered, "value", "meshlets do not cover their arrays");
  if (mesh.skinData) {
    const reader = new Reader(mesh.skinData);
    for (let i = 0; i < mesh.vertexCount * 4; i++) {
      const joint = reader.u16((i >> 2) * 24 + (i & 3) * 2);
      require(joint < mesh.joints.length, "value", `joint ${joint} is out of range`);
    }
  }
}

function octahedral(u, v, out, at) {
  let [x, y] = [Math.max(u / 32767, -1), Math.max(v / 32767, -1)];
  const z = 1 - Math.abs(x) - Math.abs(y);
  if (z < 0) [x, y] = [(1 - Math.abs(y)) * (x >= 0 ? 1 : -1), (1 - Math.abs(x)) * (y >= 0 ? 1 : -1)];
  const length = Math.hypot(x, y, z);
  [out[at], out[at + 1], out[at + 2]] = [x / length, y / length, z / length];
}

/**
 * Unpacks the vertices to one array for each attribute, as three.js and others take them. `tangents` has four numbers
 * for each vertex, the last one the handedness; null if the mesh has none.
 */
export function unpackVertices(mesh) {
  const { vertexCount, vertexData, hasTangents } = mesh;
  const view = new DataView(vertexData.buffer, vertexData.byteOffset, vertexData.byteLength);
  const [positions, normals, uvs] = [3, 3, 2].map((size) => new Float32Array(vertexCount * size));
  const tangents = hasTangents ? new Float32Array(vertexCount * 4) : null;
  for (let i = 0; i < vertexCount; i++) {
    const at = i * VERTEX;
    for (let c = 0; c < 3; c++) positions[i * 3 + c] = view.getFloat32(at + c * 4, true);
    octahedral(view.getInt16(at + 12, true), view.getInt16(at + 14, true), normals, i * 3);
    if (tangents) {
      const u = view.getInt16(at + 16, true);
      octahedral(u, view.getInt16(at + 18, true), tangents, i * 4);
      tangents[i * 4 + 3] = u & 1 ? -1 : 1;
    }
    for (let c = 0; c < 2; c++) uvs[i * 2 + c] = view.getFloat32(at + 20 + c * 4, true);
  }
  return { positions, normals, tangents, uvs };
}
