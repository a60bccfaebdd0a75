// Triangles of a glTF document in world space at a time of an animation, computed from what glTF-Transform reads:
// node hierarchy, morph targets, skins. Independent of Kiln.

import { mat4, vec3, quat } from './math.mjs';

/** Sets the animated properties of all nodes; returns the morph weights by node. */
function animate(animation, time) {
  const weights = new Map();
  for (const channel of animation.listChannels()) {
    const node = channel.getTargetNode();
    const sampler = channel.getSampler();
    if (!node || !sampler) continue;
    const value = sample(sampler, channel.getTargetPath(), time);
    switch (channel.getTargetPath()) {
      case 'translation': node.setTranslation(value); break;
      case 'rotation': node.setRotation(value); break;
      case 'scale': node.setScale(value); break;
      case 'weights': weights.set(node, value); break;
    }
  }
  return weights;
}

function sample(sampler, path, time) {
  const input = sampler.getInput(), output = sampler.getOutput();
  const count = input.getCount(), kind = sampler.getInterpolation();
  const size = output.getElementSize() * output.getCount() / count / (kind === 'CUBICSPLINE' ? 3 : 1);
  const flat = Array.from({ length: output.getCount() }, (_, i) => output.getElement(i, [])).flat();
  const key = (k, part = 0) => {
    const stride = kind === 'CUBICSPLINE' ? size * 3 : size;
    return flat.slice(k * stride + part * size, k * stride + part * size + size);
  };
  const middle = kind === 'CUBICSPLINE' ? 1 : 0;
  const at = k => input.getScalar(k);
  if (time <= at(0)) return key(0, middle);
  if (time >= at(count - 1)) return key(count - 1, middle);
  let k = 0;
  while (at(k + 1) <= time) k++;
  const length = at(k + 1) - at(k), t = (time - at(k)) / length;
  if (kind === 'STEP') return key(k);
  if (kind === 'CUBICSPLINE') {
    const [p, m, q, n] = [key(k, 1), key(k, 2), key(k + 1, 1), key(k + 1, 0)];
    const value = p.map((_, i) =>
      (2 * t ** 3 - 3 * t ** 2 + 1) * p[i] + length * (t ** 3 - 2 * t ** 2 + t) * m[i] +
      (-2 * t ** 3 + 3 * t ** 2) * q[i] + length * (t ** 3 - t ** 2) * n[i]);
    return path === 'rotation' ? quat.normalize(value) : value;
  }
  return path === 'rotation' ? quat.slerp(key(k), key(k + 1), t) : key(k).map((a, i) => a + (key(k + 1)[i] - a) * t);
}

/** The times at which an animation is compared. */
export function times(animation) {
  const ends = animation.listSamplers().map(s => s.getInput().getScalar(s.getInput().getCount() - 1));
  const end = Math.max(...ends, 0);
  return [0, 0.31, 0.5, 0.77, 1].map(share => share * end);
}

/** Returns [x0 y0 z0 x1 ...] of all triangles of the default scene. */
export function triangles(document, animation, time) {
  const weights = animation ? animate(animation, time) : new Map();
  const root = document.getRoot();
  const scene = root.getDefaultScene() ?? root.listScenes()[0];
  const found = [];
  scene?.traverse(node => {
    const mesh = node.getMesh();
    if (!mesh) return;
    const world = node.getWorldMatrix(), skin = node.getSkin();
    const joints = skin?.listJoints().map((joint, i) => {
      const bind = skin.getInverseBindMatrices()?.getElement(i, []) ?? mat4.identity();
      return mat4.multiply(joint.getWorldMatrix(), bind);
    });
    const own = weights.get(node) ?? (node.getWeights().length ? node.getWeights() : mesh.getWeights());
    for (const primitive of mesh.listPrimitives()) {
      const position = primitive.getAttribute('POSITION');
      if (primitive.getMode() < 4 || !position) continue;
      const count = position.getCount(), placed = new Float64Array(count * 3);
      const sets = [];
      for (let s = 0; primitive.getAttribute(`JOINTS_${s}`); s++) {
        sets.push([primitive.getAttribute(`JOINTS_${s}`), primitive.getAttribute(`WEIGHTS_${s}`)]);
      }
      const targets = primitive.listTargets().map(target => target.getAttribute('POSITION'));
      for (let i = 0; i < count; i++) {
        let p = position.getElement(i, []);
        targets.forEach((target, t) => {
          const d = target?.getElement(i, []);
          if (d) p = p.map((x, axis) => x + (own[t] ?? 0) * d[axis]);
        });
        if (skin && sets.length) {
          const sum = [0, 0, 0];
          let total = 0;
          for (const [j, w] of sets) {
            const index = j.getElement(i, []), weight = w.getElement(i, []);
            for (let c = 0; c < 4; c++) {
              if (!weight[c]) continue;
              const moved = vec3.transform(joints[index[c]], p);
              total += weight[c];
              moved.forEach((x, axis) => sum[axis] += weight[c] * x);
            }
          }
          p = sum.map(x => x / (total || 1));
        } else {
          p = vec3.transform(world, p);
        }
        placed.set(p, i * 3);
      }
      const indices = primitive.getIndices();
      const order = indices ? Array.from(indices.getArray()) : Array.from({ length: count }, (_, i) => i);
      const corner = i => [placed[i * 3], placed[i * 3 + 1], placed[i * 3 + 2]];
      const push = (a, b, c) => found.push([...corner(a), ...corner(b), ...corner(c)]);
      if (primitive.getMode() === 4) for (let i = 0; i + 2 < order.length; i += 3) push(order[i], order[i + 1], order[i + 2]);
      if (primitive.getMode() === 5) for (let i = 0; i + 2 < order.length; i++) i % 2 ? push(order[i], order[i + 2], order[i + 1]) : push(order[i], order[i + 1], order[i + 2]);
      if (primitive.getMode() === 6) for (let i = 1; i + 1 < order.length; i++) push(order[i], order[i + 1], order[0]);
    }
  });
  return found;
}

/** Returns the longest side of the bounding box of triangles. */
export function extent(list) {
  const least = [Infinity, Infinity, Infinity], most = [-Infinity, -Infinity, -Infinity];
  for (const t of list) t.forEach((x, i) => { least[i % 3] = Math.min(least[i % 3], x); most[i % 3] = Math.max(most[i % 3], x); });
  return list.length ? Math.max(...most.map((x, i) => x - least[i])) : 0;
}

/** Pairs triangles one to one within `tolerance`, whatever their order and first corner. Returns the largest distance of
 *  paired corners along an axis, and the number of triangles without a pair. */
export function compare(source, result, tolerance) {
  const cell = Math.max(tolerance * 4, 1e-12), grid = new Map();
  const centre = t => [0, 1, 2].map(axis => Math.floor((t[axis] + t[axis + 3] + t[axis + 6]) / 3 / cell));
  result.forEach(t => {
    const key = centre(t).join();
    grid.has(key) ? grid.get(key).push(t) : grid.set(key, [t]);
  });
  const distance = (a, b, turn) => {
    let most = 0;
    for (let i = 0; i < 9; i++) most = Math.max(most, Math.abs(a[i] - b[(i + turn * 3) % 9]));
    return most;
  };
  let worst = 0, lost = 0;
  for (const t of source) {
    const [x, y, z] = centre(t);
    let best = Infinity, at, list;
    for (let n = 0; n < 27 && best > 0; n++) {
      const near = grid.get([x + n % 3 - 1, y + Math.floor(n / 3) % 3 - 1, z + Math.floor(n / 9) - 1].join()) ?? [];
      near.forEach((other, i) => {
        const found = Math.min(distance(t, other, 0), distance(t, other, 1), distance(t, other, 2));
        if (found < best) [best, at, list] = [found, i, near];
      });
    }
    if (best > tolerance) { lost++; continue; }
    list.splice(at, 1);
    worst = Math.max(worst, best);
  }
  return { worst, lost };
}
