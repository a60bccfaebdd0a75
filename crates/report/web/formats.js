// Readers of runtime files; see docs/reference/formats/hmesh.md, hanim.md and hscn.md.
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
  mesh.colors = { 4: () => array("COLR", Uint8Array), 8: () => array("COLR", Uint16Array), 16: () => array("COLR", Float32Array) }[mesh.colorBytes]?.() || null;
  mesh.uvSets = 1 + perVertex("UVST") / 8;
  const rows = (tag, size, row) => Array.from({ length: chunks[tag] ? Math.floor(chunks[tag].size / size) : 0 }, (_, i) => row(chunks[tag].offset + size * i));
  const name = (at) => {
    const { offset = 0, size = 0 } = chunks.NAME || {}, start = Math.min(u32(at), size), end = Math.min(start + u32(at + 4), size);
    return new TextDecoder().decode(bytes.subarray(offset + start, offset + end));
  };
  mesh.morphTargets = rows("MTGT", 20, (at) => ({ name: name(at), weight: view.getFloat32(at + 8, true), first: u32(at + 12), vertices: u32(at + 16) }));
  mesh.morphSets = rows("MSET", 16, (at) => ({ submesh: u32(at), submeshes: u32(at + 4), first: u32(at + 8), count: u32(at + 12) }));
  // Rows of four: the vertex, and the displacement of its position.
  mesh.morphVertices = array("MDLT", Uint32Array, 16);
  mesh.morphPositions = array("MDLT", Float32Array, 16);
  mesh.nodes = rows("NODE", 60, (at) => ({ name: name(at), parent: view.getInt32(at + 8, true), submesh: u32(at + 12), submeshes: u32(at + 16) }));
  return mesh;
}

/** Returns the vertices of a mesh with its morph targets at these weights. Normals stay those of the base. */
function morphed(mesh, weights) {
  const vertices = mesh.vertices.slice(), view = new DataView(vertices.buffer);
  mesh.morphTargets.forEach((target, n) => {
    if (!weights[n]) return;
    for (let d = target.first; d < target.first + target.vertices; d++) {
      const at = 28 * mesh.morphVertices[4 * d];
      if (!(at + 12 <= vertices.length)) continue;
      for (let c = 0; c < 3; c++) view.setFloat32(at + 4 * c, view.getFloat32(at + 4 * c, true) + weights[n] * mesh.morphPositions[4 * d + 1 + c], true);
    }
  });
  return vertices;
}

/** Reads the nodes and clips of an .hscn. */
function readScene(bytes) {
  const view = new DataView(bytes.buffer), u32 = (at) => view.getUint32(at, true), i32 = (at) => view.getInt32(at, true);
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== "HSCN" || u32(4) !== 1) throw new Error("not an .hscn file of version 1");
  const chunks = {};
  for (let i = 0; i < u32(8); i++) {
    const row = 32 + 24 * i;
    chunks[String.fromCharCode(...bytes.subarray(row, row + 4))] = { offset: Number(view.getBigUint64(row + 8, true)), size: Number(view.getBigUint64(row + 16, true)) };
  }
  const rows = (tag, size, row) => Array.from({ length: chunks[tag] ? Math.floor(chunks[tag].size / size) : 0 }, (_, i) => row(chunks[tag].offset + size * i));
  const floats = (tag) => (chunks[tag] ? new Float32Array(bytes.buffer, chunks[tag].offset, chunks[tag].size >> 2) : new Float32Array(0));
  const text = (at) => {
    const { offset = 0, size = 0 } = chunks.TEXT || {}, start = Math.min(u32(at), size), end = Math.min(start + u32(at + 4), size);
    return new TextDecoder().decode(bytes.subarray(offset + start, offset + end));
  };
  const list = (at, count) => Array.from({ length: count }, (_, i) => view.getFloat32(at + 4 * i, true));
  const [times, values, weights, matrices] = ["TIME", "VALU", "WGHT", "MTRX"].map(floats);
  const part = (of, first, count) => of.subarray(first, first + count);
  const meshes = rows("MESH", 24, (at) => ({ weights: [...part(weights, u32(at + 16), u32(at + 20))] }));
  const nodes = rows("NODE", 108, (at) => {
    const own = [...part(weights, u32(at + 60), u32(at + 64))], mesh = meshes[i32(at + 20)], matrix = i32(at + 36);
    return {
      name: text(at), parent: i32(at + 16), camera: i32(at + 28), light: i32(at + 32), drawn: (u32(at + 40) & 1) !== 0,
      submesh: u32(at + 44), submeshes: u32(at + 48), weights: own.length || !mesh ? own : mesh.weights,
      matrix: matrix < 0 ? null : [...part(matrices, 16 * matrix, 16)], t: list(at + 68, 3), r: list(at + 80, 4), s: list(at + 96, 3),
    };
  });
  const channels = rows("CHAN", 24, (at) => {
    const mode = view.getUint8(at + 5), components = u32(at + 8), keys = u32(at + 12);
    return {
      node: u32(at), path: view.getUint8(at + 4), step: mode === 0, cubic: mode === 2, components,
      times: part(times, u32(at + 16), keys), values: part(values, u32(at + 20), keys * components * (mode === 2 ? 3 : 1)),
    };
  });
  const clips = rows("CLIP", 28, (at) => ({
    name: text(at), duration: view.getFloat32(at + 16, true), channels: channels.slice(u32(at + 20), u32(at + 20) + u32(at + 24)),
  }));
  const labelled = (tag, size) => rows(tag, size, (at) => ({ name: text(at), kind: u32(at + 16) }));
  return { nodes, clips, cameras: labelled("CAMR", 36), lights: labelled("LGHT", 48) };
}

/** Returns the world matrices and morph target weights of all nodes at a time of a clip, or as stored without a clip. */
function scenePose(scene, clip, time) {
  const parts = scene.nodes.map((node) => [node.t, node.r, node.s, node.weights]), moved = new Set();
  for (const channel of clip ? clip.channels : []) {
    if (!parts[channel.node]) continue;
    parts[channel.node][channel.path] = sample(channel, time);
    if (channel.path < 3) moved.add(channel.node);
  }
  const world = [];
  scene.nodes.forEach((node, n) => {
    const [t, r, s] = parts[n], local = node.matrix && !moved.has(n) ? node.matrix : compose(t, r, s), parent = world[node.parent];
    world.push(parent ? multiply(parent, local) : local);
  });
  return { world, weights: parts.map((part) => part[3]) };
}

/** Returns the bounds of the submeshes that the nodes of a scene place. */
function sceneBounds(mesh, scene) {
  const { world } = scenePose(scene, null, 0), min = [Infinity, Infinity, Infinity], max = [-Infinity, -Infinity, -Infinity];
  scene.nodes.forEach((node, n) => {
    for (const { bounds } of node.drawn ? mesh.submeshes.slice(node.submesh, node.submesh + node.submeshes) : []) {
      const m = world[n], scale = Math.max(...[0, 4, 8].map((c) => Math.hypot(m[c], m[c + 1], m[c + 2])));
      for (let i = 0; i < 3; i++) {
        const at = m[i] * bounds.center[0] + m[4 + i] * bounds.center[1] + m[8 + i] * bounds.center[2] + m[12 + i];
        min[i] = Math.min(min[i], at - scale * bounds.radius);
        max[i] = Math.max(max[i], at + scale * bounds.radius);
      }
    }
  });
  if (!(min[0] <= max[0])) return mesh.bounds;
  return { min, max, center: min.map((v, i) => (v + max[i]) / 2), radius: Math.hypot(...min.map((v, i) => (max[i] - v) / 2)) };
}

/** Returns the weight of every morph target of a mesh: those of the nodes that draw it. */
function nodeWeights(mesh, scene, weights) {
  const found = mesh.morphTargets.map((target) => target.weight);
  for (const set of mesh.morphSets) {
    const n = scene.nodes.findIndex((node) => node.drawn && node.submeshes && node.submesh <= set.submesh && set.submesh < node.submesh + node.submeshes);
    if (n >= 0) for (let i = 0; i < set.count; i++) found[set.first + i] = weights[n][i] ?? found[set.first + i];
  }
  return found;
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
  const { times, values, components: n, cubic } = channel;
  let low = 0, high = times.length - 1;
  // A key of a cubic spline has an in-tangent, a value and an out-tangent.
  const part = (k, which) => Array.from(values.subarray((3 * k + which) * n, (3 * k + which + 1) * n));
  const at = (k) => (cubic ? part(k, 1) : Array.from(values.subarray(k * n, k * n + n)));
  if (time <= times[0]) return at(0);
  if (time >= times[high]) return at(high);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle; else high = middle;
  }
  const a = at(low), b = at(high);
  if (channel.step) return a;
  const span = times[high] - times[low], x = (time - times[low]) / span;
  if (cubic) {
    const out = part(low, 2), into = part(high, 0);
    const spline = a.map((v, i) => v + x * (span * out[i] + x * (3 * (b[i] - v) - span * (2 * out[i] + into[i]) + x * (2 * (v - b[i]) + span * (out[i] + into[i])))));
    const length = channel.path === 1 ? Math.hypot(...spline) || 1 : 1;
    return spline.map((v) => v / length);
  }
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
