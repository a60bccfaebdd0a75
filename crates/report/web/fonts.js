// Fonts: text layout and rendering from an .hfont and its SDF or MSDF atlas; see docs/reference/formats/hfont.md.

/** Reads metrics, glyphs and kerning pairs of an .hfont. */
function readFont(bytes) {
  const view = new DataView(bytes.buffer);
  const u32 = (at) => view.getUint32(at, true), f32 = (at) => view.getFloat32(at, true);
  if (String.fromCharCode(...bytes.subarray(0, 4)) !== "HFNT" || u32(4) !== 1) throw new Error("not an .hfont file of version 1");
  const [glyphCount, pairCount] = [u32(8), u32(12)];
  if (bytes.length !== 52 + 40 * glyphCount + 12 * pairCount) throw new Error("the file size does not match the glyph and kerning counts");
  const four = (at) => [0, 4, 8, 12].map((i) => f32(at + i));
  const font = {
    ascent: f32(24), descent: f32(28), gap: f32(32), range: f32(36), edge: f32(40),
    side: [view.getUint16(44, true), view.getUint16(46, true)], multi: (u32(48) & 1) !== 0, glyphs: new Map(), pairs: new Map(),
  };
  for (let i = 0, at = 52; i < glyphCount; i++, at += 40) font.glyphs.set(u32(at), { advance: f32(at + 4), plane: four(at + 8), uv: four(at + 24) });
  for (let i = 0, at = 52 + 40 * glyphCount; i < pairCount; i++, at += 12) font.pairs.set(u32(at) * 0x110000 + u32(at + 4), f32(at + 8));
  return font;
}

/** Lays out a string: returns its quads in em, y down from the top of the first line, wrapped at `width`, and its width and height. */
function setText(font, text, width = Infinity, kerning = true) {
  const quads = [], line = font.ascent - font.descent + font.gap;
  let x = 0, y = font.ascent, widest = 0, last = null;
  const feed = () => { x = 0; y += line; last = null; };
  for (const word of text.split(/(?<=[\s])/u)) {
    const codes = [...word].map((c) => c.codePointAt(0));
    const glyph = (code) => font.glyphs.get(code) || font.glyphs.get(0);
    const long = codes.reduce((sum, code) => sum + (code === 10 ? 0 : glyph(code).advance), 0);
    if (x > 0 && x + long > width) feed();
    for (const code of codes) {
      if (code === 10) { feed(); continue; }
      const { advance, plane, uv } = glyph(code);
      if (kerning && last !== null) x += font.pairs.get(last * 0x110000 + code) || 0;
      if (plane[0] < plane[2]) quads.push({ box: [x + plane[0], y - plane[3], x + plane[2], y - plane[1]], uv });
      x += advance;
      widest = Math.max(widest, x);
      last = code;
    }
  }
  return { quads, width: widest, height: y - font.descent };
}

const typesetter = gpu && gpu.compile(`
  uniform vec2 size;
  uniform vec4 box, part;
  out vec2 at;
  void main() {
    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
    at = mix(part.xy, part.zw, corner);
    vec2 place = mix(box.xy, box.zw, corner) / size;
    gl_Position = vec4(place.x * 2.0 - 1.0, 1.0 - place.y * 2.0, 0.0, 1.0);
  }`, `
  uniform sampler2D atlas;
  uniform vec4 ink;
  uniform float edge, range, scale;
  in vec2 at;
  out vec4 color;
  void main() {
    vec4 t = texture(atlas, at);
    float value = max(min(t.r, t.g), min(max(t.r, t.g), t.b));
    float cover = clamp((value - edge) * range * scale + 0.5, 0.0, 1.0);
    color = ink * cover;
  }`);

/** Draws a text layout at a font size in pixels, at a position. */
function drawText(target, font, atlas, set, pixels, place, ink) {
  const { gl } = gpu, { program, uniforms } = typesetter, texture = gl.createTexture();
  gl.activeTexture(gl.TEXTURE0);
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.pixelStorei(gl.UNPACK_COLORSPACE_CONVERSION_WEBGL, gl.NONE);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, atlas);
  for (const [name, value] of [["MIN_FILTER", "LINEAR"], ["MAG_FILTER", "LINEAR"], ["WRAP_S", "CLAMP_TO_EDGE"], ["WRAP_T", "CLAMP_TO_EDGE"]]) {
    gl.texParameteri(gl.TEXTURE_2D, gl["TEXTURE_" + name], gl[value]);
  }
  gpu.show(target, () => {
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.bindVertexArray(null);
    gl.useProgram(program);
    gl.uniform1i(uniforms.atlas, 0);
    gl.uniform2f(uniforms.size, target.width, target.height);
    gl.uniform4f(uniforms.ink, ...ink, 1);
    gl.uniform1f(uniforms.edge, font.edge);
    gl.uniform1f(uniforms.range, font.range);
    for (const { box, uv } of set.quads) {
      // Screen pixels per atlas texel, which scales the distance range.
      const texels = (uv[2] - uv[0]) * font.side[0];
      gl.uniform1f(uniforms.scale, texels > 0 ? ((box[2] - box[0]) * pixels) / texels : 1);
      gl.uniform4f(uniforms.box, ...box.map((n, i) => n * pixels + place[i % 2]));
      gl.uniform4f(uniforms.part, ...uv);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
    gl.disable(gl.BLEND);
  });
  gl.deleteTexture(texture);
}

/** Returns the text colour of the page's theme as RGB from 0 to 1. */
function inkOf(element) {
  const channels = getComputedStyle(element).color.match(/[\d.]+/g) || [0, 0, 0];
  return channels.slice(0, 3).map((c) => Number(c) / 255);
}

const atlasOf = (file) => byPath.get(beside(file, "ktx2"));
const canRender = (file) => gpu && "blob" in file && atlasOf(file) && atlasOf(file).levels && atlasOf(file).levels[0].images.length > 0;

async function fontCover(file, into) {
  if (!canRender(file)) return plainCover(file, into);
  const font = readFont(blobBytes(file.blob)), atlas = await bitmap(atlasOf(file).levels[0].images[0]);
  const canvas = el("canvas", { width: 320, height: 320 }), set = setText(font, "Ag");
  into.append(canvas, el("small", {}, plural(file.facts.glyphs, "glyph", "glyphs")));
  const pixels = Math.min(280 / set.width, 200), place = [(320 - set.width * pixels) / 2, (320 - set.height * pixels) / 2];
  drawText(canvas, font, atlas, set, pixels, place, inkOf(into));
  return undefined;
}

const SIZES = [12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256];

function fontPanel(file, body, keys) {
  if (!canRender(file)) {
    body.append(el("p", { class: "message" }, gpu ? "This font or its atlas is not embedded, to limit the size of the report." : "This browser does not support WebGL 2, so text cannot be rendered."));
    return undefined;
  }
  const font = readFont(blobBytes(file.blob)), characters = [...font.glyphs.keys()].filter((code) => code > 32).map((code) => String.fromCodePoint(code));
  const sample = [..."Hamburgefonstiv AVATAR To. We, Ty\n0123456789 “€ & £” §½ ÄÖÅ æøß"].filter((c) => c === "\n" || font.glyphs.has(c.codePointAt(0))).join("");
  const view = { text: sample, pixels: 40, kerning: true };
  const canvas = el("canvas", { class: "view text", "aria-label": "Text rendered in this font" }), status = el("p", { class: "note" });
  let atlas = null, asked = 0;
  const draw = () => {
    asked = 0;
    if (!atlas) return;
    const ratio = Math.min(2, devicePixelRatio || 1), pixels = view.pixels * ratio, margin = 12 * ratio;
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    const set = setText(font, view.text, (canvas.width - 2 * margin) / pixels, view.kerning);
    canvas.height = Math.min(4096, Math.ceil(set.height * pixels + 2 * margin));
    canvas.style.height = canvas.height / ratio + "px";
    drawText(canvas, font, atlas, set, pixels, [margin, margin], inkOf(body));
    canvas.dataset.frames = Number(canvas.dataset.frames || 0) + 1;
    const missing = [...new Set([...view.text].filter((c) => c !== "\n" && !font.glyphs.has(c.codePointAt(0))))];
    status.textContent = missing.length ? `Missing glyphs: ${missing.join(" ")}` : "";
  };
  const redraw = () => { asked = asked || requestAnimationFrame(draw); };
  const change = (part) => { Object.assign(view, part); redraw(); };
  const input = el("textarea", { rows: 2, spellcheck: false, "aria-label": "Text to render", value: sample, oninput: () => change({ text: input.value }) });
  const shown = segments("Text", [["sample", "Sample"], ["all", "All characters"]], "sample", (name) => {
    input.value = name === "all" ? characters.join(" ") : sample;
    change({ text: input.value });
  });
  const sizes = stepper("Size", SIZES.length, (n) => `${SIZES[n]} pixels`, (n) => change({ pixels: SIZES[n] }));
  const kern = el("button", { title: "Kerning (k)", "aria-pressed": "true", onclick: () => {
    change({ kerning: !view.kerning });
    kern.setAttribute("aria-pressed", String(view.kerning));
  } }, "Kerning");
  keys.k = () => kern.click();
  keys.a = () => shown.step();
  keys["["] = () => sizes.by(-1);
  keys["]"] = () => sizes.by(1);
  body.append(input, canvas, status, el("div", { class: "controls" }, shown, el("div", { class: "segments" }, kern)), el("div", { class: "controls column" }, sizes),
    el("p", {}, "Atlas: ", el("a", { href: link(atlasOf(file)) }, atlasOf(file).path)));
  sizes.by(SIZES.indexOf(view.pixels));
  bitmap(atlasOf(file).levels[0].images[0]).then((image) => { atlas = image; redraw(); });
  const watch = new ResizeObserver(redraw);
  watch.observe(body);
  return () => watch.disconnect();
}
