// Embedded PNG images as bitmaps, and the shared WebGL context.
// Browsers limit the number of contexts, so there is one; its output is copied to the visible 2D canvas.

const bitmaps = new Map();

/** Returns an embedded image as a bitmap; caches the last 300. */
function bitmap(id) {
  let found = bitmaps.get(id);
  if (!found) {
    const blob = new Blob([blobBytes(id)], { type: "image/png" });
    found = createImageBitmap(blob, { premultiplyAlpha: "none", colorSpaceConversion: "none" });
    bitmaps.set(id, found);
    if (bitmaps.size > 300) bitmaps.delete(bitmaps.keys().next().value);
  }
  return found;
}

/** The shared WebGL 2 context, or null without WebGL 2. */
const gpu = (() => {
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: true });
  if (!gl) return null;
  const compile = (vertex, fragment) => {
    const program = gl.createProgram();
    for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, "#version 300 es\nprecision highp float;\n" + text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const uniforms = {};
    for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(program, i);
      uniforms[name] = gl.getUniformLocation(program, name);
    }
    return { program, uniforms };
  };
  /** Draws, and copies the result to a 2D canvas. */
  const show = (target, draw) => {
    const { width, height } = target;
    if (canvas.width < width || canvas.height < height) {
      canvas.width = Math.max(canvas.width, width);
      canvas.height = Math.max(canvas.height, height);
    }
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    draw();
    const context = target.getContext("2d");
    context.clearRect(0, 0, width, height);
    context.drawImage(canvas, 0, canvas.height - height, width, height, 0, 0, width, height);
  };
  return { gl, compile, show };
})();

/** Channel views: a name, and a predicate on the channels that a texture holds. */
const CHANNELS = [
  { name: "RGB", help: "colour", fits: () => true },
  { name: "RGBA", help: "colour over a checkerboard, by alpha", fits: (c) => c === "RGBA" },
  { name: "R", help: "red channel", fits: () => true },
  { name: "G", help: "green channel", fits: (c) => c !== "RRR" && c !== "R" },
  { name: "B", help: "blue channel", fits: (c) => c === "RGB" || c === "RGBA" },
  { name: "A", help: "alpha channel", fits: (c) => c === "RGBA" || c === "RRRG" },
  { name: "XYZ", help: "normal map, z reconstructed from x and y", fits: (c) => c === "RG" },
];

const painter = gpu && gpu.compile(`
  out vec2 at;
  void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    at = vec2(corner.x, 1.0 - corner.y);
    gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
  }`, `
  uniform sampler2D image;
  uniform int channels;
  in vec2 at;
  out vec4 color;
  void main() {
    vec4 t = texture(image, at);
    color = vec4(t.rgb, 1.0);
    if (channels == 1) color = vec4(t.rgb * t.a, t.a);
    if (channels >= 2 && channels <= 5) color = vec4(vec3(t[channels - 2]), 1.0);
    if (channels == 6) {
      vec2 xy = t.rg * 2.0 - 1.0;
      color = vec4(t.rg, sqrt(max(0.0, 1.0 - dot(xy, xy))) * 0.5 + 0.5, 1.0);
    }
  }`);

/** Paints an image, texel by texel, with the selected channels. */
function paint(target, image, channels) {
  target.width = image.width;
  target.height = image.height;
  if (!gpu) {
    target.getContext("2d").drawImage(image, 0, 0);
    return;
  }
  const { gl } = gpu;
  const texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, image);
  for (const [name, value] of [["MIN_FILTER", "NEAREST"], ["MAG_FILTER", "NEAREST"], ["WRAP_S", "CLAMP_TO_EDGE"], ["WRAP_T", "CLAMP_TO_EDGE"]]) {
    gl.texParameteri(gl.TEXTURE_2D, gl["TEXTURE_" + name], gl[value]);
  }
  gpu.show(target, () => {
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.BLEND);
    gl.disable(gl.CULL_FACE);
    gl.bindVertexArray(null);
    gl.useProgram(painter.program);
    gl.uniform1i(painter.uniforms.image, 0);
    gl.uniform1i(painter.uniforms.channels, Math.max(0, CHANNELS.findIndex((c) => c.name === channels)));
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
  });
  gl.deleteTexture(texture);
}

/** Returns the image ID of a layer, face and slice of a mip level. */
function imageOf(file, level, { layer = 0, face = 0, slice = 0 }) {
  const { faces } = file.facts, images = file.levels[level].images;
  const slices = file.levels[level].dims[2];
  return images[(layer * faces + face) * slices + Math.min(slice, slices - 1)];
}

/** Positions of the faces +X, -X, +Y, -Y, +Z, -Z in the unfolded cubemap, in units of the face size. */
const CROSS = [[2, 1], [0, 1], [1, 0], [1, 2], [1, 1], [3, 1]];

/** Paints all faces of a cubemap into one canvas. */
async function paintCross(target, file, level, layer, channels) {
  const faces = await Promise.all(CROSS.map((_, face) => bitmap(imageOf(file, level, { layer, face }))));
  const side = faces[0].width, part = document.createElement("canvas");
  target.width = 4 * side;
  target.height = 3 * side;
  faces.forEach((image, face) => {
    paint(part, image, channels);
    target.getContext("2d").drawImage(part, CROSS[face][0] * side, CROSS[face][1] * side);
  });
}
