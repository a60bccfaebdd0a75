// `.hscn`: the scene of a model. The layout is in docs/reference/formats/hscn.md.

import { Reader, bytesOf, decodeText, require } from "./bytes.js";
import { readChunks } from "./chunks.js";

/** The known chunks, with the size of a record in bytes. */
const CHUNKS = {
  SCEN: 24, NODE: 108, MESH: 24, SKIN: 24, JNTS: 68, CAMR: 36, LGHT: 48, INST: 40, MTRX: 64, WGHT: 4, CLIP: 28, CHAN: 24,
  TIME: 4, VALU: 4, TEXT: 1,
};
const CAMERAS = ["perspective", "orthographic"];
const LIGHTS = ["directional", "point", "spot"];
const PATHS = ["translation", "rotation", "scale", "weights"];
const INTERPOLATIONS = ["step", "linear", "cubic spline"];

/** Reads a scene. The arrays of keyframes are views of `data`. */
export function readScene(data) {
  const reader = new Reader(bytesOf(data));
  const chunks = readChunks(reader, { magic: "HSCN", version: 1, noun: "scene", known: CHUNKS, required: ["SCEN"] });
  const chunk = (tag) => chunks.get(tag) ?? { offset: 0, size: 0 };
  const count = (tag) => {
    require(chunk(tag).size % CHUNKS[tag] === 0, "value", `the chunk ${tag} has an incomplete record`);
    return chunk(tag).size / CHUNKS[tag];
  };
  Object.keys(CHUNKS).forEach(count);
  require(count("SCEN") === 1, "value", "a scene has one record SCEN");
  const table = (tag, read) => Array.from({ length: count(tag) }, (_, i) => read(chunk(tag).offset + i * CHUNKS[tag], i));
  const range = (tag, first, size, what) => {
    require(first + size <= count(tag), "value", `${what} is out of range`);
    return chunk(tag).offset + first * CHUNKS[tag];
  };
  const index = (at, of, what) => {
    const found = reader.i32(at);
    require(found >= -1 && found < of, "value", `${what} ${found} is out of range`);
    return found;
  };
  const floats = (tag, first, size, what) => reader.array(Float32Array, range(tag, first, size, what), size);
  const text = (at) => {
    const [offset, size] = [reader.u32(at), reader.u32(at + 4)];
    const found = decodeText(reader.slice(range("TEXT", offset, size, "a string"), size));
    require(found !== undefined, "path", "a string is not UTF-8");
    return found;
  };
  const labels = (at) => ({ name: text(at), extras: text(at + 8) });
  const transform = (at) => ({
    translation: reader.floats(at, 3), rotation: reader.floats(at + 12, 4), scale: reader.floats(at + 28, 3),
  });
  const known = (names, number, what) => {
    require(number < names.length, "value", `unknown ${what} ${number}`);
    return names[number];
  };

  const meshes = table("MESH", (at) => ({
    ...labels(at), weights: floats("WGHT", reader.u32(at + 16), reader.u32(at + 20), "a morph target weight"),
  }));
  const nodes = table("NODE", (at, i) => {
    const mesh = index(at + 20, meshes.length, "mesh");
    const weights = floats("WGHT", reader.u32(at + 60), reader.u32(at + 64), "a morph target weight");
    const matrix = index(at + 36, count("MTRX"), "matrix");
    const [firstInstance, instanceCount] = [reader.u32(at + 52), reader.u32(at + 56)];
    const instances = range("INST", firstInstance, instanceCount, "an instance");
    return {
      ...labels(at),
      parent: index(at + 16, i, "parent"), mesh,
      skin: index(at + 24, count("SKIN"), "skin"), camera: index(at + 28, count("CAMR"), "camera"),
      light: index(at + 32, count("LGHT"), "light"),
      isDrawn: (reader.u32(at + 40) & 1) !== 0,
      firstSubmesh: reader.u32(at + 44), submeshCount: reader.u32(at + 48),
      instances: Array.from({ length: instanceCount }, (_, k) => transform(instances + k * CHUNKS.INST)),
      weights: weights.length > 0 ? weights : (meshes[mesh]?.weights ?? weights),
      matrix: matrix < 0 ? null : reader.floats(range("MTRX", matrix, 1, "a matrix"), 16),
      transform: transform(at + 68),
    };
  });
  const clips = table("CLIP", (at) => {
    const [first, size] = [reader.u32(at + 20), reader.u32(at + 24)];
    const channels = range("CHAN", first, size, "a channel");
    return {
      ...labels(at), duration: reader.f32(at + 16),
      channels: Array.from({ length: size }, (_, i) => {
        const row = channels + i * CHUNKS.CHAN;
        const [node, components, keys] = [reader.u32(row), reader.u32(row + 8), reader.u32(row + 12)];
        const interpolation = known(INTERPOLATIONS, reader.u8(row + 5), "interpolation");
        require(node < nodes.length && keys > 0 && components > 0, "value", `invalid channel of node ${node}`);
        const perKey = components * (interpolation === "cubic spline" ? 3 : 1);
        return {
          node, path: known(PATHS, reader.u8(row + 4), "path"), interpolation, components,
          times: floats("TIME", reader.u32(row + 16), keys, "a time"),
          values: floats("VALU", reader.u32(row + 20), keys * perKey, "a value"),
        };
      }),
    };
  });
  const info = chunk("SCEN").offset;
  return {
    ...labels(info), documentExtras: text(info + 16), nodes, meshes, clips,
    skins: table("SKIN", (at) => {
      const [first, size] = [reader.u32(at + 16), reader.u32(at + 20)];
      const joints = range("JNTS", first, size, "a joint");
      return {
        ...labels(at),
        joints: Array.from({ length: size }, (_, i) => {
          const node = reader.u32(joints + i * CHUNKS.JNTS);
          require(node < nodes.length, "value", `joint ${i} is node ${node}`);
          return { node, inverseBind: reader.floats(joints + i * CHUNKS.JNTS + 4, 16) };
        }),
      };
    }),
    cameras: table("CAMR", (at) => ({
      ...labels(at), kind: known(CAMERAS, reader.u32(at + 16), "camera"),
      x: reader.f32(at + 20), y: reader.f32(at + 24), zNear: reader.f32(at + 28), zFar: reader.f32(at + 32),
    })),
    lights: table("LGHT", (at) => ({
      ...labels(at), kind: known(LIGHTS, reader.u32(at + 16), "light"), color: reader.floats(at + 20, 3),
      intensity: reader.f32(at + 32), range: reader.f32(at + 36), innerConeAngle: reader.f32(at + 40), outerConeAngle: reader.f32(at + 44),
    })),
  };
}

function slerp(a, b, t) {
  const dot = a.reduce((sum, v, i) => sum + v * b[i], 0);
  const angle = Math.acos(Math.min(1, Math.abs(dot)));
  const [x, y] = angle < 1e-6 ? [1 - t, t] : [Math.sin((1 - t) * angle) / Math.sin(angle), Math.sin(t * angle) / Math.sin(angle)];
  return a.map((v, i) => x * v + (dot < 0 ? -y : y) * b[i]);
}

/** Returns the value of a channel at a time in seconds: `components` numbers. */
export function sampleChannel(channel, time) {
  const { times, values, components, interpolation } = channel;
  const cubic = interpolation === "cubic spline";
  const part = (key, which) => Array.from(values.subarray((key * (cubic ? 3 : 1) + which) * components).subarray(0, components));
  const value = (key) => part(key, cubic ? 1 : 0);
  const next = times.findIndex((t) => t > time);
  if (next === 0) return value(0);
  if (next < 0) return value(times.length - 1);
  const [a, b, span] = [value(next - 1), value(next), times[next] - times[next - 1]];
  const t = (time - times[next - 1]) / span;
  if (interpolation === "step") return a;
  if (!cubic) return channel.path === "rotation" ? slerp(a, b, t) : a.map((v, i) => v + t * (b[i] - v));
  const [out, into] = [part(next - 1, 2), part(next, 0)];
  const spline = a.map((v, i) => {
    const [d0, d1] = [span * out[i], span * into[i]];
    return v + t * (d0 + t * (3 * (b[i] - v) - 2 * d0 - d1 + t * (2 * (v - b[i]) + d0 + d1)));
  });
  if (channel.path !== "rotation") return spline;
  const length = Math.hypot(...spline) || 1;
  return spline.map((v) => v / length);
}
