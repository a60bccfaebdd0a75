// Readers of runtime files; see docs/reference/formats/hmesh.md and docs/reference/formats/hanim.md.
// The files were verified when the report was written; ranges are bounds-checked all the same.

/** Decodes an embedded blob. */
function blobBytes(id) {
  const text = atob(document.getElementById("b" + id).textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Reads an .hmesh as typed arrays, ready for upload to the GPU. */
function readMesh(bytes) {
  const view = new DataView(bytes.buffer);
  const u32 = (at) => view.getUint32(at, true);
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== "HMSH" || u32(4) !== 2) throw new Error("not an .hmesh file of version 2");
  const chunks = {};
  for (let i = 0; i < u32(8); i++) {
    const row = 32 + 24 * i;
    const tag = String.fromCharCode(...bytes.subarray(row, row + 4));
    const offset = Number(view.getBigUint64(row + 8, true)), size = Number(view.getBigUint64(row + 16, true));
    if (offset % 16 || offset + size > bytes.length) throw new Error("chunk " + tag + " is out of bounds");
    chunks[tag] = { offset, size };
  }
  const array = (tag, Type, item = Type.BYTES_PER_ELEMENT) => {
    const chunk = chunks[tag];
    return chunk ? new Type(bytes.buffer, chunk.offset, Math.floor(chunk.size / item) * (item / Type.BYTES_PER_ELEMENT)) : new Type(0);
  };
  const bounds = (at) => {
    const f = new Float32Array(10);
    for (let i = 0; i < 10; i++) f[i] = view.getFloat32(at + 4 * i, true);
    return { min: [...f.subarray(0, 3)], max: [...f.subarray(3, 6)], center: [...f.subarray(6, 9)], radius: f[9] };
  };
  const desc = chunks.DESC.offset;
  const wide = view.getUint8(desc + 22) === 4;
  const mesh = {
    vertexCount: u32(desc), meshletCount: u32(desc + 8), materialCount: u32(desc + 16),
    tangents: (view.getUint8(desc + 23) & 1) !== 0,
    bounds: bounds(chunks.BNDS.offset),
    vertices: array("VTXS", Uint8Array, 28),
    indices: wide ? array("IDXS", Uint32Array) : array("IDXS", Uint16Array),
    meshlets: array("MLET", Uint32Array, 16), meshletVertices: array("MLVR", Uint32Array),
    meshletTriangles: array("MLTR", Uint8Array, 3), meshletBounds: array("MLBN", Float32Array, 32),
    skin: array("SKIN", Uint8Array, 24), joints: [], submeshes: [], lods: 0,
  };
  for (let at = chunks.SUBM.offset; at + 64 <= chunks.SUBM.offset + chunks.SUBM.size; at += 64) {
    mesh.submeshes.push({
      levels: [{ first: u32(at), count: u32(at + 4), of: "base" }],
      firstMeshlet: u32(at + 8), meshletCount: u32(at + 12), material: u32(at + 16), bounds: bounds(at + 24),
    });
  }
  if (chunks.LODT && chunks.LODI) {
    mesh.lodIndices = array("LODI", Uint32Array);
    mesh.lods = u32(chunks.LODT.offset);
    mesh.submeshes.forEach((sub, s) => {
      for (let l = 0; l < mesh.lods; l++) {
        const at = chunks.LODT.offset + 8 + 8 * (s * mesh.lods + l);
        // An empty LOD stands for the preceding one.
        sub.levels.push(u32(at + 4) ? { first: u32(at), count: u32(at + 4), of: "lod" } : sub.levels[l]);
      }
    });
  }
  if (chunks.SKEL) {
    const f = array("SKEL", Float32Array), i = array("SKEL", Int32Array);
    for (let j = 0; 28 * j + 28 <= f.length; j++) {
      const at = 28 * j;
      mesh.joints.push({
        inverseBind: f.subarray(at, at + 16), t: [...f.subarray(at + 16, at + 19)], r: [...f.subarray(at + 19, at + 23)],
        s: [...f.subarray(at + 23, at + 26)], parent: i[at + 26],
      });
    }
  }
  const perVertex = (tag) => (chunks[tag] && mesh.vertexCount ? chunks[tag].size / mesh.vertexCount : 0);
  mesh.colorBytes = perVertex("COLR");
  mesh.uvSets = 1 + perVertex("UVST") / 8;
  const rows = (tag, size, row) => Array.from({ length: chunks[tag] ? Math.floor(chunks[tag].size / size) : 0 }, (_, i) => row(chunks[tag].offset + size * i));
  const name = (at) => {
    const { offset = 0, size = 0 } = chunks.NAME || {}, start = Math.min(u32(at), size), end = Math.min(start + u32(at + 4), size);
    return new TextDecoder().decode(bytes.subarray(offset + start, offset + end));
  };
  mesh.morphTargets = rows("MTGT", 20, (at) => ({ name: name(at), weight: view.getFloat32(at + 8, true), vertices: u32(at + 16) }));
  mesh.nodes = rows("NODE", 60, (at) => ({ name: name(at), parent: view.getInt32(at + 8, true), submesh: u32(at + 12), submeshes: u32(at + 16) }));
  return mesh;
}

/** Reads the clips of an .hanim. */
function readAnimation(bytes) {
  const view = new DataView(bytes.buffer);
  let at = 0;
  const take = (size) => { at += size; return at - size; };
  const u32 = () => view.getUint32(take(4), true), f32 = () => view.getFloat32(take(4), true);
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== "HANM") throw new Error("not an .hanim file");
  at = 8;
  const clips = [], count = u32();
  at = 16;
  for (let c = 0; c < count; c++) {
    const length = view.getUint16(take(2), true);
    const name = new TextDecoder().decode(bytes.subarray(at, take(length) + length));
    const clip = { name, duration: f32(), channels: [] };
    for (let n = u32(); n > 0; n--) {
      const channel = { joint: u32(), path: view.getUint8(take(1)), step: view.getUint8(take(1)) === 0 };
      const components = view.getUint8(take(2)), keys = u32();
      channel.times = new Float32Array(keys);
      channel.values = new Float32Array(keys * components);
      channel.components = components;
      for (let k = 0; k < keys; k++) {
        channel.times[k] = f32();
        for (let i = 0; i < components; i++) channel.values[k * components + i] = f32();
      }
      clip.channels.push(channel);
    }
    clips.push(clip);
  }
  return clips;
}

/** Samples a channel at a time in seconds. */
function sample(channel, time) {
  const { times, values, components: n } = channel;
  let low = 0, high = times.length - 1;
  const at = (k) => Array.from(values.subarray(k * n, k * n + n));
  if (time <= times[0]) return at(0);
  if (time >= times[high]) return at(high);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  const a = at(low), b = at(high);
  if (channel.step) return a;
  const x = (time - times[low]) / (times[high] - times[low]);
  if (channel.path !== 1) return a.map((v, i) => v + (b[i] - v) * x);
  // Spherical linear interpolation (slerp) on the shorter arc.
  let dot = a.reduce((sum, v, i) => sum + v * b[i], 0);
  const sign = dot < 0 ? -1 : 1;
  dot = Math.min(1, Math.abs(dot));
  const angle = Math.acos(dot), sine = Math.sin(angle);
  const [p, q] = sine < 1e-4 ? [1 - x, x] : [Math.sin((1 - x) * angle) / sine, Math.sin(x * angle) / sine];
  const mixed = a.map((v, i) => v * p + b[i] * q * sign);
  const norm = Math.hypot(...mixed) || 1;
  return mixed.map((v) => v / norm);
}

/** Composes translation, rotation and scale into a column-major matrix, as all matrices here. */
function compose([x, y, z], [a, b, c, d], [sx, sy, sz]) {
  return [
    (1 - 2 * (b * b + c * c)) * sx, 2 * (a * b + c * d) * sx, 2 * (a * c - b * d) * sx, 0,
    2 * (a * b - c * d) * sy, (1 - 2 * (a * a + c * c)) * sy, 2 * (b * c + a * d) * sy, 0,
    2 * (a * c + b * d) * sz, 2 * (b * c - a * d) * sz, (1 - 2 * (a * a + b * b)) * sz, 0,
    x, y, z, 1,
  ];
}

function multiply(a, b) {
  const out = new Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      out[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
    }
  }
  return out;
}

/** Returns the world matrices of all joints at a time of a clip, or in the bind pose without a clip. */
function pose(joints, clip, time) {
  const parts = joints.map((j) => [j.t, j.r, j.s]);
  for (const channel of clip ? clip.channels : []) {
    if (parts[channel.joint]) parts[channel.joint][channel.path] = sample(channel, time);
  }
  const world = new Array(joints.length);
  // A parent may come after its children.
  for (let start = 0; start < joints.length; start++) {
    const open = [];
    for (let j = start; j >= 0 && j < joints.length && !world[j] && open.length <= joints.length; j = joints[j].parent) open.push(j);
    for (let j = open.pop(); j !== undefined; j = open.pop()) {
      const local = compose(...parts[j]), parent = world[joints[j].parent];
      world[j] = parent ? multiply(parent, local) : local;
    }
  }
  return world;
}
