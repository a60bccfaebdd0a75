// The mesh viewer: renders an .hmesh from its own bytes, and spheres as material previews.

const VERTEX = `
  layout(location = 0) in vec3 position;
  layout(location = 1) in vec2 normal;
  layout(location = 2) in ivec2 tangent;
  layout(location = 3) in vec2 uv;
  layout(location = 4) in uvec4 joints;
  layout(location = 5) in vec4 weights;
  layout(location = 6) in vec4 tint;
  uniform mat4 camera, place;
  uniform bool skinned;
  uniform highp sampler2D pose;
  uniform float extrude;
  out vec3 at, n, t;
  out float handed;
  out vec2 st;
  out vec4 color;
  vec3 octahedral(vec2 e) {
    e = clamp(e, -1.0, 1.0);
    vec3 v = vec3(e, 1.0 - abs(e.x) - abs(e.y));
    vec2 sign_of = vec2(e.x < 0.0 ? -1.0 : 1.0, e.y < 0.0 ? -1.0 : 1.0);
    if (v.z < 0.0) v.xy = (1.0 - abs(e.yx)) * sign_of;
    return normalize(v);
  }
  mat4 joint(uint j) {
    ivec2 first = ivec2(int(j % 256u) * 4, int(j / 256u));
    return mat4(texelFetch(pose, first, 0), texelFetch(pose, first + ivec2(1, 0), 0),
                texelFetch(pose, first + ivec2(2, 0), 0), texelFetch(pose, first + ivec2(3, 0), 0));
  }
  void main() {
    mat4 world = place;
    if (skinned) {
      world = joint(joints.x) * weights.x + joint(joints.y) * weights.y + joint(joints.z) * weights.z + joint(joints.w) * weights.w;
    }
    n = normalize(mat3(world) * octahedral(normal));
    t = mat3(world) * octahedral(vec2(tangent) / 32767.0);
    handed = (tangent.x & 1) == 1 ? -1.0 : 1.0;
    at = (world * vec4(position, 1.0)).xyz + n * extrude * float(gl_VertexID & 1);
    st = uv;
    color = tint;
    gl_Position = camera * vec4(at, 1.0);
  }`;

const SURFACE = `
  in vec3 at, n, t;
  in float handed;
  in vec2 st;
  in vec4 color;
  uniform int mode;            // 0 material, 1 clay, 2 normals, 3 UV, 4 tint, 5 vertex colours
  uniform vec3 eye;
  uniform vec4 base_color;
  uniform vec3 emissive;
  uniform vec4 factors;        // metallic, roughness, normal scale, occlusion
  uniform float cutoff;        // alpha cutoff; negative for none
  uniform bool see_through;
  uniform bvec4 has;           // base colour, metallic-roughness, normal, occlusion
  uniform bool has_emissive, has_tangents;
  uniform sampler2D base_map, mr_map, normal_map, occ_map, emissive_map;
  out vec4 result;
  vec3 shade(vec3 albedo, float metallic, float roughness, float occlusion, vec3 nn) {
    vec3 v = normalize(eye - at);
    vec3 right = normalize(cross(vec3(0.0, 1.0, 0.0), v) + vec3(1e-4, 0.0, 0.0)), up = cross(v, right);
    float a = max(0.05, roughness * roughness), nv = max(dot(nn, v), 1e-3);
    vec3 f0 = mix(vec3(0.04), albedo, metallic), diffuse = albedo * (1.0 - metallic), sum = vec3(0.0);
    vec3 lights[3] = vec3[3](normalize(v + up * 0.9 - right * 0.7), normalize(right * 1.2 + up * 0.2 + v * 0.2), normalize(-v + up * 0.6 - right * 0.8));
    vec3 powers[3] = vec3[3](vec3(2.6, 2.5, 2.35), vec3(0.45, 0.55, 0.75), vec3(0.6, 0.55, 0.5));
    for (int i = 0; i < 3; i++) {
      vec3 h = normalize(lights[i] + v);
      float nl = max(dot(nn, lights[i]), 0.0), nh = max(dot(nn, h), 0.0), vh = max(dot(v, h), 0.0);
      float d = a * a / (3.14159 * pow(nh * nh * (a * a - 1.0) + 1.0, 2.0));
      float k = a * 0.5, g = 1.0 / ((nl * (1.0 - k) + k) * (nv * (1.0 - k) + k) * 4.0);
      vec3 f = f0 + (1.0 - f0) * pow(1.0 - vh, 5.0);
      sum += (diffuse / 3.14159 * (1.0 - f) + f * d * g) * powers[i] * nl;
    }
    vec3 r = reflect(-v, nn);
    vec3 sky = mix(vec3(0.20, 0.18, 0.17), vec3(0.75, 0.82, 0.95), smoothstep(-0.6, 0.9, nn.y));
    vec3 mirror = mix(vec3(0.14, 0.12, 0.11), vec3(0.80, 0.88, 1.0), smoothstep(-0.35 - a, 0.35 + a, r.y));
    vec3 fresnel = f0 + (max(vec3(1.0 - roughness), f0) - f0) * pow(1.0 - nv, 5.0);
    return sum + (diffuse * sky * 0.45 + fresnel * mirror * 0.8) * occlusion;
  }
  vec3 encode(vec3 c) {
    c = c / (1.0 + max(max(c.r, c.g), c.b) * 0.18);
    return mix(c * 12.92, 1.055 * pow(max(c, 0.0), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
  }
  void main() {
    vec3 nn = normalize(n);
    if (!gl_FrontFacing) nn = -nn;
    vec4 base = mode == 0 ? base_color : vec4(0.62, 0.61, 0.60, 1.0);
    float metallic = 0.0, roughness = 0.62, occlusion = 1.0;
    vec3 glow = vec3(0.0);
    if (mode == 0) {
      if (has.x) base *= texture(base_map, st);
      metallic = factors.x;
      roughness = factors.y;
      if (has.y) { vec4 mr = texture(mr_map, st); roughness *= mr.g; metallic *= mr.b; }
      if (has.w) occlusion = mix(1.0, texture(occ_map, st).r, factors.w);
      glow = emissive;
      if (has_emissive) glow *= texture(emissive_map, st).rgb;
      if (has.z && has_tangents) {
        vec2 xy = (texture(normal_map, st).rg * 2.0 - 1.0) * factors.z;
        vec3 tt = normalize(t - nn * dot(t, nn)), b = cross(nn, tt) * handed;
        nn = normalize(tt * xy.x + b * xy.y + nn * sqrt(max(0.02, 1.0 - dot(xy, xy))));
      }
    }
    if (mode == 0 && base.a < cutoff) discard;
    float alpha = mode == 0 && see_through ? base.a : 1.0;
    vec3 lit;
    if (mode == 2) lit = nn * 0.5 + 0.5;
    else if (mode == 3) {
      vec2 cell = floor(st * 8.0);
      lit = vec3(fract(st), 0.35) * (mod(cell.x + cell.y, 2.0) < 0.5 ? 1.0 : 0.72);
    } else if (mode == 4) lit = encode(shade(pow(color.rgb, vec3(2.2)), 0.0, 0.7, 1.0, nn));
    else if (mode == 5) lit = encode(shade(color.rgb, 0.0, 0.7, 1.0, nn));
    else lit = encode(shade(base.rgb, metallic, roughness, occlusion, nn) + glow);
    result = vec4(lit * alpha, alpha);
  }`;

const LINE = `
  uniform vec4 ink;
  out vec4 result;
  void main() { result = vec4(ink.rgb * ink.a, ink.a); }`;

const MODES = ["material", "clay", "normals", "uv", "meshlets", "lod"];
const IDENTITY = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];

/** Returns a colour for an index; adjacent indices get distinct colours. */
function hue(n, light = 0.62) {
  const h = (n * 0.618034 + 0.08) % 1, c = (k) => light + 0.3 * Math.cos(6.2832 * (h + k));
  return [c(0), c(0.33), c(0.67)];
}

const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const minus = (a, b) => a.map((v, i) => v - b[i]);
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const l = Math.hypot(...a) || 1; return a.map((v) => v / l); };

/** Returns the view-projection matrix and the position of the camera of a view state. */
function camera(state, aspect) {
  const { yaw, pitch, distance, target, radius } = state;
  const back = [Math.sin(yaw) * Math.cos(pitch), Math.sin(pitch), Math.cos(yaw) * Math.cos(pitch)];
  const eye = target.map((v, i) => v + back[i] * distance);
  const right = unit(cross([0, 1, 0], back)), up = cross(back, right);
  const view = [right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0, -dot(right, eye), -dot(up, eye), -dot(back, eye), 1];
  const f = 1 / Math.tan(0.35) * Math.min(1, aspect), near = Math.max(distance - radius * 4, distance * 0.01), far = distance + radius * 6;
  const lens = [f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0];
  return { matrix: multiply(lens, view), eye };
}

/** Returns a unit sphere with UVs and tangents, in the layout of a mesh. */
function sphere() {
  const rows = 32, columns = 64, bytes = new Uint8Array((rows + 1) * (columns + 1) * 28), view = new DataView(bytes.buffer);
  const packed = (x, y, z) => {
    const l = Math.abs(x) + Math.abs(y) + Math.abs(z), s = (v) => (v < 0 ? -1 : 1);
    [x, y, z] = [x / l, y / l, z / l];
    const [u, v] = z >= 0 ? [x, y] : [(1 - Math.abs(y)) * s(x), (1 - Math.abs(x)) * s(y)];
    return [Math.round(u * 32767), Math.round(v * 32767)];
  };
  const indices = [];
  for (let r = 0; r <= rows; r++) {
    for (let c = 0; c <= columns; c++) {
      const a = Math.PI * r / rows, b = 2 * Math.PI * c / columns, at = (r * (columns + 1) + c) * 28;
      const p = [Math.sin(a) * Math.sin(b), Math.cos(a), Math.sin(a) * Math.cos(b)];
      p.forEach((v, i) => view.setFloat32(at + 4 * i, v, true));
      packed(...p).forEach((v, i) => view.setInt16(at + 12 + 2 * i, v, true));
      const [tu, tv] = packed(Math.cos(b), 0, -Math.sin(b));
      view.setInt16(at + 16, tu & ~1, true);
      view.setInt16(at + 18, tv, true);
      view.setFloat32(at + 20, 2 * c / columns, true);
      view.setFloat32(at + 24, r / rows, true);
      const here = r * (columns + 1) + c, below = here + columns + 1;
      if (r < rows && c < columns) indices.push(here, below, here + 1, here + 1, below, below + 1);
    }
  }
  const bounds = { min: [-1, -1, -1], max: [1, 1, 1], center: [0, 0, 0], radius: 1 };
  return {
    vertexCount: bytes.length / 28, meshletCount: 0, tangents: true, bounds, vertices: bytes, indices: Uint16Array.from(indices),
    meshlets: [], skin: new Uint8Array(0), joints: [], lods: 0,
    submeshes: [{ levels: [{ first: 0, count: indices.length, of: "base" }], material: 0, bounds }],
  };
}

/** Creates the mesh renderer. `textureOf` returns the image and the colour space of a texture by its index in the list of files. */
function createViewer(textureOf) {
  const { gl } = gpu;
  const surface = gpu.compile(VERTEX, SURFACE), line = gpu.compile(VERTEX, LINE);
  const textures = new Map(), scratch = gl.createBuffer(), scratchArray = gl.createVertexArray();
  // Default values of missing attributes, in the type that the shader declares.
  gl.vertexAttribI4i(2, 0, 0, 0, 0);
  gl.vertexAttribI4ui(4, 0, 0, 0, 0);

  const buffer = (target, data) => {
    const made = gl.createBuffer();
    gl.bindVertexArray(null);
    gl.bindBuffer(target, made);
    gl.bufferData(target, data, gl.STATIC_DRAW);
    return made;
  };
  const attributes = (vertices, skin, { stride = 28, tint = false, divisor = 0, colors = null } = {}) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, vertices);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, stride, 0);
    gl.vertexAttribPointer(1, 2, gl.SHORT, true, stride, 12);
    gl.vertexAttribIPointer(2, 2, gl.SHORT, stride, 16);
    gl.vertexAttribPointer(3, 2, gl.FLOAT, false, stride, 20);
    if (tint) gl.vertexAttribPointer(6, 4, gl.UNSIGNED_BYTE, true, stride, 28);
    const used = tint || colors ? [0, 1, 2, 3, 6] : [0, 1, 2, 3];
    if (colors) {
      const type = { 4: gl.UNSIGNED_BYTE, 8: gl.UNSIGNED_SHORT, 16: gl.FLOAT }[colors.bytes];
      gl.bindBuffer(gl.ARRAY_BUFFER, colors.buffer);
      gl.vertexAttribPointer(6, 4, type, colors.bytes < 16, colors.bytes, 0);
    }
    if (skin) {
      gl.bindBuffer(gl.ARRAY_BUFFER, skin);
      gl.vertexAttribIPointer(4, 4, gl.UNSIGNED_SHORT, 24, 0);
      gl.vertexAttribPointer(5, 4, gl.FLOAT, false, 24, 8);
      used.push(4, 5);
    }
    for (const i of used) {
      gl.enableVertexAttribArray(i);
      gl.vertexAttribDivisor(i, divisor);
    }
    gl.bindVertexArray(null);
    return array;
  };

  /** Uploads a mesh to the GPU. */
  const load = (mesh, materials) => {
    const model = { mesh, materials, made: [] };
    const keep = (made) => { model.made.push(made); return made; };
    model.vertices = keep(buffer(gl.ARRAY_BUFFER, mesh.vertices));
    model.skin = mesh.skin.length ? keep(buffer(gl.ARRAY_BUFFER, mesh.skin)) : null;
    model.array = attributes(model.vertices, model.skin);
    if (mesh.colors) {
      const colors = { buffer: keep(buffer(gl.ARRAY_BUFFER, mesh.colors)), bytes: mesh.colorBytes };
      model.colored = attributes(model.vertices, model.skin, { colors });
    }
    model.needles = attributes(model.vertices, model.skin, { divisor: 1 });
    model.base = keep(buffer(gl.ELEMENT_ARRAY_BUFFER, mesh.indices));
    model.lod = mesh.lodIndices ? keep(buffer(gl.ELEMENT_ARRAY_BUFFER, mesh.lodIndices)) : null;
    model.wide = mesh.indices.BYTES_PER_ELEMENT === 4;
    model.wires = new Map();
    if (mesh.joints.length) {
      model.pose = gl.createTexture();
      model.poseRows = Math.ceil(mesh.joints.length / 256);
    }
    return model;
  };

  /** Frees the GPU resources of a mesh. */
  const drop = (model) => {
    model.made.forEach((b) => gl.deleteBuffer(b));
    [model.array, model.needles, model.colored, model.tinted && model.tinted.array].forEach((a) => a && gl.deleteVertexArray(a));
    if (model.pose) gl.deleteTexture(model.pose);
  };

  /** Builds the triangles of the meshlets with unshared vertices in the meshlet's colour. */
  const tinted = (model) => {
    if (model.tinted) return model.tinted;
    const { mesh } = model, corners = mesh.meshletTriangles.length;
    const vertices = new Uint8Array(corners * 32), skin = new Uint8Array(model.skin ? corners * 24 : 0);
    let at = 0;
    for (let m = 0; m < mesh.meshletCount; m++) {
      const [first, , triangle, count] = mesh.meshlets.subarray(4 * m, 4 * m + 4);
      const color = hue(m).map((c) => Math.round(255 * Math.min(1, Math.max(0, c))));
      for (let i = 3 * triangle; i < 3 * (triangle + count); i++, at++) {
        const v = mesh.meshletVertices[first + mesh.meshletTriangles[i]];
        vertices.set(mesh.vertices.subarray(28 * v, 28 * v + 28), 32 * at);
        vertices.set([...color, 255], 32 * at + 28);
        if (model.skin) skin.set(mesh.skin.subarray(24 * v, 24 * v + 24), 24 * at);
      }
    }
    const buffers = [buffer(gl.ARRAY_BUFFER, vertices), model.skin ? buffer(gl.ARRAY_BUFFER, skin) : null];
    model.made.push(...buffers.filter(Boolean));
    model.tinted = { array: attributes(buffers[0], buffers[1], { stride: 32, tint: true }), count: corners };
    return model.tinted;
  };

  /** Returns the unique edges of the triangles of a LOD. */
  const wires = (model, lod) => {
    let found = model.wires.get(lod);
    if (!found) {
      const edges = new Set(), count = model.mesh.vertexCount;
      for (const sub of model.mesh.submeshes) {
        const level = sub.levels[Math.min(lod, sub.levels.length - 1)];
        const from = level.of === "base" ? model.mesh.indices : model.mesh.lodIndices;
        for (let i = level.first; i < level.first + level.count; i += 3) {
          for (let e = 0; e < 3; e++) {
            const a = from[i + e], b = from[i + (e + 1) % 3];
            edges.add(Math.min(a, b) * count + Math.max(a, b));
          }
        }
      }
      const lines = new Uint32Array(edges.size * 2);
      let at = 0;
      for (const edge of edges) {
        lines[at++] = Math.floor(edge / count);
        lines[at++] = edge % count;
      }
      found = { buffer: buffer(gl.ELEMENT_ARRAY_BUFFER, lines), count: lines.length };
      model.made.push(found.buffer);
      model.wires.set(lod, found);
    }
    return found;
  };

  /** Returns a texture by file index once it is loaded; calls `again` when loading finishes or fails. */
  const texture = (place, again) => {
    let entry = textures.get(place);
    if (!entry) {
      const from = textureOf(place);
      entry = { made: null, waiting: from ? [] : null };
      textures.set(place, entry);
      if (from) from.image.then((image) => { entry.made = upload(image, from.srgb); }).catch(() => {}).then(() => {
        const { waiting } = entry;
        entry.waiting = null;
        new Set(waiting).forEach((call) => call());
      });
    }
    if (entry.waiting) entry.waiting.push(again);
    return entry;
  };
  const upload = (image, srgb) => {
    const made = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, made);
    gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
    gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
    gl.texImage2D(gl.TEXTURE_2D, 0, srgb ? gl.SRGB8_ALPHA8 : gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, image);
    gl.generateMipmap(gl.TEXTURE_2D);
    return made;
  };

  const setPose = (model, state) => {
    if (!model.pose) return;
    const { joints } = model.mesh;
    const world = pose(joints, state.clip, state.time || 0);
    const texels = new Float32Array(model.poseRows * 256 * 16);
    joints.forEach((joint, j) => texels.set(multiply(world[j], joint.inverseBind), 16 * j));
    model.world = world;
    gl.activeTexture(gl.TEXTURE5);
    gl.bindTexture(gl.TEXTURE_2D, model.pose);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, 1024, model.poseRows, 0, gl.RGBA, gl.FLOAT, texels);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  };

  /** Moves the vertices to the weights of the view. */
  const setMorph = (model, weights) => {
    if (!weights || String(weights) === model.weights) return;
    model.weights = String(weights);
    gl.bindVertexArray(null);
    gl.bindBuffer(gl.ARRAY_BUFFER, model.vertices);
    gl.bufferData(gl.ARRAY_BUFFER, morphed(model.mesh, weights), gl.DYNAMIC_DRAW);
  };

  const setMaterial = (material, state, again) => {
    const u = surface.uniforms, m = material || {};
    const slots = m.textures || {};
    gl.uniform4fv(u.base_color, m.base_color || [0.8, 0.8, 0.8, 1]);
    gl.uniform3fv(u.emissive, m.emissive || [0, 0, 0]);
    gl.uniform4f(u.factors, m.metallic ?? 0, m.roughness ?? 0.6, m.normal_scale ?? 1, m.occlusion ?? 1);
    gl.uniform1f(u.cutoff, m.alpha === "mask" ? m.alpha_cutoff : -1);
    gl.uniform1i(u.see_through, m.alpha === "blend" ? 1 : 0);
    const bound = ["base", "mr", "normal", "occ", "emissive"].map((slot, i) => {
      const made = state.textures && typeof slots[slot] === "number" ? texture(slots[slot], again).made : null;
      gl.activeTexture(gl.TEXTURE0 + i);
      gl.bindTexture(gl.TEXTURE_2D, made);
      return made ? 1 : 0;
    });
    gl.uniform4i(u.has, ...bound.slice(0, 4));
    gl.uniform1i(u.has_emissive, bound[4]);
    if (m.double_sided || state.mode !== "material") gl.disable(gl.CULL_FACE); else gl.enable(gl.CULL_FACE);
  };

  const lines = (points, ink, matrix) => {
    gl.useProgram(line.program);
    gl.uniformMatrix4fv(line.uniforms.camera, false, matrix);
    gl.uniformMatrix4fv(line.uniforms.place, false, IDENTITY);
    gl.uniform1i(line.uniforms.skinned, 0);
    gl.uniform1i(line.uniforms.pose, 5);
    gl.uniform1f(line.uniforms.extrude, 0);
    gl.uniform4fv(line.uniforms.ink, ink);
    gl.bindVertexArray(scratchArray);
    gl.bindBuffer(gl.ARRAY_BUFFER, scratch);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.STREAM_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 12, 0);
    gl.drawArrays(gl.LINES, 0, points.length / 3);
  };

  /** Draws a model into a canvas. Calls `again` when a texture is loaded. */
  const draw = (model, state, target, again) => gpu.show(target, () => {
    const { mesh } = model, lod = state.lod || 0;
    const { matrix, eye } = camera(state, target.width / target.height);
    setPose(model, state);
    // Nodes of a scene place their submeshes; without a scene all are drawn where their vertices are.
    const scene = state.scene, posed = scene && scenePose(scene, state.clip, state.time || 0);
    const animated = scene && state.clip && state.clip.channels.some((channel) => channel.path === 3);
    setMorph(model, animated ? nodeWeights(mesh, scene, posed.weights) : state.weights);
    const placed = scene
      ? scene.nodes.flatMap((node, n) => (node.drawn ? mesh.submeshes.slice(node.submesh, node.submesh + node.submeshes).map((sub) => ({ sub, place: posed.world[n] })) : []))
      : mesh.submeshes.map((sub) => ({ sub, place: IDENTITY }));
    const skinned = model.pose && model.skin ? 1 : 0;
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(surface.program);
    const u = surface.uniforms, mode = MODES.indexOf(state.mode);
    gl.uniformMatrix4fv(u.camera, false, matrix);
    gl.uniform1i(u.skinned, skinned);
    gl.uniform1i(u.pose, 5);
    gl.uniform1f(u.extrude, 0);
    gl.uniform3fv(u.eye, eye);
    gl.uniformMatrix4fv(u.place, false, IDENTITY);
    gl.uniform1i(u.mode, state.mode === "colors" ? 5 : Math.min(mode, 4));
    gl.uniform1i(u.has_tangents, mesh.tangents ? 1 : 0);
    ["base_map", "mr_map", "normal_map", "occ_map", "emissive_map"].forEach((name, i) => gl.uniform1i(u[name], i));
    if (state.wire) { gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(1, 1); }
    if (state.mode === "meshlets" && mesh.meshletCount) {
      const { array, count } = tinted(model);
      setMaterial(null, state, again);
      gl.bindVertexArray(array);
      gl.drawArrays(gl.TRIANGLES, 0, count);
    } else {
      gl.bindVertexArray(state.mode === "colors" && model.colored ? model.colored : model.array);
      const see = (sub) => (model.materials[sub.material] || {}).alpha === "blend";
      for (const pass of [false, true]) {
        gl.depthMask(!pass || state.mode !== "material");
        for (const { sub, place } of placed) {
          if (see(sub) !== pass) continue;
          gl.uniformMatrix4fv(u.place, false, place);
          const number = Math.min(lod, sub.levels.length - 1), level = sub.levels[number];
          setMaterial(model.materials[sub.material], state, again);
          gl.vertexAttrib4f(6, ...hue(sub.levels.indexOf(level) + 3), 1);
          gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, level.of === "base" ? model.base : model.lod);
          const wide = level.of === "lod" || model.wide;
          gl.drawElements(gl.TRIANGLES, level.count, wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT, level.first * (wide ? 4 : 2));
        }
      }
      gl.depthMask(true);
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);

    const ink = (array, color, extrude) => {
      gl.useProgram(line.program);
      gl.uniformMatrix4fv(line.uniforms.camera, false, matrix);
      gl.uniformMatrix4fv(line.uniforms.place, false, IDENTITY);
      gl.uniform1i(line.uniforms.skinned, skinned);
      gl.uniform1i(line.uniforms.pose, 5);
      gl.uniform1f(line.uniforms.extrude, extrude);
      gl.uniform4fv(line.uniforms.ink, color);
      gl.bindVertexArray(array);
    };
    if (state.wire) {
      const edges = wires(model, state.mode === "meshlets" ? 0 : lod);
      ink(model.array, [0.05, 0.07, 0.1, 0.55], 0);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, edges.buffer);
      gl.drawElements(gl.LINES, edges.count, gl.UNSIGNED_INT, 0);
    }
    if (state.normals) {
      ink(model.needles, [0.25, 0.55, 1, 0.9], mesh.bounds.radius * 0.05);
      gl.drawArraysInstanced(gl.LINES, 0, 2, mesh.vertexCount);
    }
    if (state.bounds) {
      const each = mesh.submeshes.length > 1 ? mesh.submeshes.map((sub) => sub.bounds) : [];
      each.forEach((b, i) => lines(box(b), [...hue(i, 0.55), 0.8], matrix));
      lines(box(mesh.bounds), [0.98, 0.62, 0.12, 1], matrix);
      lines(rings(mesh.bounds), [0.98, 0.62, 0.12, 0.6], matrix);
    }
    if (state.skeleton && model.world) {
      gl.disable(gl.DEPTH_TEST);
      const bones = mesh.joints.flatMap((joint, j) => joint.parent < 0 ? [] : [...model.world[joint.parent].slice(12, 15), ...model.world[j].slice(12, 15)]);
      lines(bones.concat(model.world.flatMap((w) => star(w, mesh.bounds.radius * 0.02))), [0.9, 0.2, 0.55, 1], matrix);
    }
    gl.bindVertexArray(null);
  });

  /** Resolves when all textures of these materials are loaded or failed. */
  const settled = (materials) => Promise.all(materials.flatMap((m) => Object.values(m.textures)).filter((place) => typeof place === "number")
    .map((place) => new Promise((done) => { if (!texture(place, done).waiting) done(); })));

  return { load, drop, draw, settled };
}

function box({ min, max }) {
  const corner = (i) => [i & 1 ? max[0] : min[0], i & 2 ? max[1] : min[1], i & 4 ? max[2] : min[2]];
  return [0, 1, 2, 3, 4, 5, 6, 7].flatMap((i) => [1, 2, 4].filter((bit) => !(i & bit)).flatMap((bit) => [...corner(i), ...corner(i | bit)]));
}

function rings({ center, radius }) {
  const points = [];
  for (let axis = 0; axis < 3; axis++) {
    for (let i = 0; i < 96; i++) {
      for (const k of [i, i + 1]) {
        const p = [...center], a = 2 * Math.PI * k / 96;
        p[axis] += Math.cos(a) * radius;
        p[(axis + 1) % 3] += Math.sin(a) * radius;
        points.push(...p);
      }
    }
  }
  return points;
}

function star(matrix, size) {
  const p = matrix.slice(12, 15);
  return [0, 1, 2].flatMap((axis) => [-size, size].flatMap((d) => p.map((v, i) => v + (i === axis ? d : 0))));
}
