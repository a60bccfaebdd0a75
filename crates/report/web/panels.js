// Per-format views: the thumbnail in the gallery, and the detail panel.

/* ---- Thumbnails by extension; formats without an own one get the plain one ---- */

function plainCover(file, into) {
  into.replaceChildren(el("code", {}, file.ext || (file.name.includes(".") ? file.name.split(".").pop() : "file")));
}

const COVERS = {
  async ktx2(file, into) {
    const cube = file.facts.faces === 6;
    const canvas = el("canvas", { class: cube ? "" : "checkers" });
    const level = Math.max(0, file.levels.findIndex((l) => l.shown[0] && Math.max(...l.shown) <= 256));
    if (cube) await paintCross(canvas, file, level, 0, "RGB");
    else paint(canvas, await bitmap(imageOf(file, level, { slice: Math.floor(file.levels[level].dims[2] / 2) })), channelsOf(file));
    if (canvas.width < 64 && canvas.height < 64) canvas.classList.add("pixels");
    into.append(canvas);
    const many = file.facts.layers > 1 ? `${file.facts.layers} layers` : file.facts.depth > 1 ? `${file.facts.depth} slices` : cube ? "cube" : "";
    if (many) into.append(el("small", {}, many));
  },
  async hmesh(file, into) {
    if (!viewer || !("blob" in file)) return plainCover(file, into);
    const canvas = el("canvas", { width: 320, height: 320 });
    await viewer.settled(materialsOf(file));
    const model = modelOf(file);
    viewer.draw(model, viewState(model.mesh), canvas, () => {});
    into.append(canvas);
    return undefined;
  },
  async hmat(file, into) {
    if (!viewer || !file.materials.length) return plainCover(file, into);
    const canvas = el("canvas", { width: 320, height: 320 });
    await ball(file.materials[0], canvas);
    into.append(canvas);
    if (file.materials.length > 1) into.append(el("small", {}, `${file.materials.length} materials`));
    return undefined;
  },
  hfont: fontCover,
  spv(file, into) {
    const { entry_points: entries = [], bindings = [] } = file.facts;
    into.append(el("code", {}, entries.map((e) => e.stage).join(" ") || "spv"), el("small", {}, plural(bindings.length, "binding", "bindings")));
  },
  async hanim(file, into) {
    const mesh = byPath.get(beside(file, "hmesh"));
    if (viewer && mesh && "blob" in mesh && "blob" in file) {
      const model = modelOf(mesh), canvas = el("canvas", { width: 320, height: 320 }), clip = readAnimation(blobBytes(file.blob))[0];
      viewer.draw(model, { ...viewState(model.mesh), mode: "clay", skeleton: true, clip, time: clip ? clip.duration / 3 : 0 }, canvas, () => {});
      into.append(canvas);
    } else into.append(el("code", {}, "▶"));
    into.append(el("small", {}, "▶ " + plural(file.facts.clips, "clip", "clips")));
  },
};

/** Returns the initial channel view of a texture. */
const channelsOf = (file) => ({ RG: "XYZ", R: "R", RRR: "R", RGBA: "RGBA" })[file.holds] || "RGB";

/* ---- Meshes and materials ---- */

const viewer = gpu && createViewer((place) => {
  const file = files[place];
  if (!file || !file.levels || !file.levels[0].images.length) return null;
  return { image: bitmap(file.levels[0].images[0]), srgb: file.facts.transfer === "sRGB" };
});
const models = new Map();
let ballMesh = null;

/** Returns a mesh on the GPU with its companion materials; caches the last 12. */
function modelOf(file) {
  let model = models.get(file.place);
  if (!model) {
    model = viewer.load(readMesh(blobBytes(file.blob)), materialsOf(file));
    models.set(file.place, model);
    if (models.size > 12) {
      const [oldest, gone] = models.entries().next().value;
      viewer.drop(gone);
      models.delete(oldest);
    }
  }
  return model;
}

const materialsOf = (mesh) => (byPath.get(beside(mesh, "hmat")) || {}).materials || [];
const beside = (file, ext) => file.path.slice(0, file.path.length - file.ext.length) + ext;

/** Returns the initial view state of a mesh. */
function viewState(mesh) {
  const { center, radius } = mesh.bounds, r = radius || 1;
  return { yaw: 0.6, pitch: 0.35, distance: r / Math.sin(0.35) * 1.08, target: [...center], radius: r, mode: "material", textures: true, lod: 0 };
}

async function ball(material, canvas) {
  ballMesh = ballMesh || viewer.load(sphere(), []);
  await viewer.settled([material]);
  viewer.draw({ ...ballMesh, materials: [material] }, { ...viewState(ballMesh.mesh), pitch: 0.2 }, canvas, () => {});
}

/* ---- Detail panels by extension; formats without one show their facts only ---- */

const PANELS = { ktx2: texturePanel, hmesh: meshPanel, hmat: materialPanel, hanim: animationPanel, hfont: fontPanel };

/** Creates a group of exclusive buttons. `set` is called with the name of the pressed one; `step` advances to the next. */
function segments(label, options, chosen, set) {
  const group = el("div", { class: "segments", role: "group", "aria-label": label }, options.map(([name, text, help]) => {
    const button = el("button", { title: help || text, onclick: () => pick(name) }, text);
    button.name_ = name;
    return button;
  }));
  const pick = (name) => {
    group.chosen = name;
    for (const button of group.children) button.setAttribute("aria-pressed", String(button.name_ === name));
    set(name);
  };
  group.pick = pick;
  group.step = () => { const names = options.map(([name]) => name); pick(names[(names.indexOf(group.chosen) + 1) % names.length]); };
  group.chosen = chosen;
  for (const button of group.children) button.setAttribute("aria-pressed", String(button.name_ === chosen));
  return group;
}

/** Creates a slider with buttons for the previous and next value. */
function stepper(label, count, format, set) {
  let at = 0;
  const text = el("output", {}, format(0));
  const to = (n) => { at = Math.min(count - 1, Math.max(0, n)); text.textContent = format(at); range.value = at; set(at); };
  const range = el("input", { type: "range", min: 0, max: count - 1, value: 0, "aria-label": label, oninput: () => to(Number(range.value)) });
  const made = el("div", { class: "stepper" }, el("span", {}, label), el("button", { "aria-label": "Previous " + label, onclick: () => to(at - 1) }, "‹"),
    range, el("button", { "aria-label": "Next " + label, onclick: () => to(at + 1) }, "›"), text);
  made.by = (d) => to(at + d);
  return made;
}

function texturePanel(file, body, keys) {
  const { facts, levels } = file, view = { level: 0, layer: 0, face: 0, slice: 0, channels: channelsOf(file), cross: facts.faces === 6 };
  const canvas = el("canvas", { class: "checkers" }), frame = el("div", { class: "frame", tabIndex: 0, "aria-label": "Texture" }, canvas), note = el("p", { class: "note" });
  let zoom = "fit", turn = 0;
  const draw = async () => {
    const mine = ++turn, level = levels[view.level], there = level.images.length > 0, from = there ? view.level : 0;
    canvas.classList.toggle("checkers", !view.cross);
    if (view.cross) await paintCross(canvas, file, from, view.layer, view.channels);
    else {
      const id = imageOf(file, from, view);
      if (id === undefined) { note.textContent = "This image is not embedded in the report."; return; }
      const image = await bitmap(id);
      if (mine !== turn) return;
      paint(canvas, image, view.channels);
    }
    const [w, h] = level.dims, shownSize = levels[from].shown;
    canvas.dataset.level = view.level;
    note.textContent = !there ? `Mip level ${view.level} (${w} × ${h}) is too large to be embedded; this is mip level 0, downsampled to ${shownSize[0]} × ${shownSize[1]}.`
      : shownSize[0] !== w || shownSize[1] !== h ? `Downsampled from ${w} × ${h} to ${shownSize[0]} × ${shownSize[1]}.` : "";
    place();
  };
  const place = () => {
    const fit = Math.min(frame.clientWidth / canvas.width, Math.max(260, frame.clientHeight) / canvas.height);
    const scale = zoom === "fit" ? (fit > 1 ? Math.max(1, Math.floor(fit)) : fit) : zoom;
    canvas.style.width = canvas.width * scale + "px";
    canvas.style.height = canvas.height * scale + "px";
    canvas.classList.toggle("pixels", scale > 1);
  };
  const change = (part) => { Object.assign(view, part); draw(); };
  const tools = el("div", { class: "controls" });
  const channels = segments("Channels", CHANNELS.filter((c) => c.fits(file.holds)).map((c) => [c.name, c.name, c.help]), view.channels, (name) => change({ channels: name }));
  const zooms = segments("Zoom", [["fit", "Fit"], [1, "1×"], [2, "2×"], [4, "4×"], [8, "8×"]], "fit", (name) => { zoom = name; place(); });
  tools.append(channels, zooms);
  keys.c = () => channels.step();
  keys.z = () => zooms.step();
  let cross = null;
  if (facts.faces === 6) {
    cross = segments("Faces", [[true, "Unfolded"], [false, "One face"]], true, (on) => change({ cross: on }));
    tools.append(cross);
    keys.u = () => cross.step();
  }
  const steps = el("div", { class: "controls column" });
  const step = (label, count, format, set, before, after) => {
    if (count <= 1) return;
    const made = stepper(label, count, format, set);
    steps.append(made);
    keys[before] = () => made.by(-1);
    keys[after] = () => made.by(1);
  };
  step("Mip level", levels.length, (n) => `${n} · ${levels[n].dims.slice(0, facts.depth ? 3 : 2).join(" × ")} · ${size(levels[n].size)}`, (n) => change({ level: n }), "[", "]");
  step("Face", facts.faces, (n) => ["+X", "−X", "+Y", "−Y", "+Z", "−Z"][n], (n) => { view.face = n; cross.pick(false); }, ",", ".");
  step("Layer", facts.layers, (n) => `${n} of ${facts.layers}`, (n) => change({ layer: n }), "<", ">");
  step("Slice", facts.depth, (n) => `${n} of ${facts.depth}`, (n) => change({ slice: n }), ",", ".");
  if (file.tile) {
    const [wide, high] = file.tile_size;
    const name = wide === levels[0].dims[0] && high === levels[0].dims[1] ? "Full resolution" : `${wide} × ${high}`;
    const full = el("button", { onclick: () => { frame.replaceChildren(el("img", { src: file.tile, alt: file.path })); note.textContent = `${name === "Full resolution" ? `${name}, ${wide} × ${high}` : name}, loaded from ${file.tile}.`; full.remove(); } }, name);
    tools.append(full);
  }
  if (file.range) {
    const [least, most] = file.range;
    tools.append(el("p", {}, `16-bit values from ${least} to ${most}` + (most > least ? ", shown as black to white." : ".")));
  }
  body.append(frame, note, tools, steps);
  const users = files.filter((f) => (f.materials || []).some((m) => Object.values(m.textures).includes(file.place)));
  if (users.length) body.append(el("p", {}, "Used by ", users.flatMap((f) => [el("a", { href: link(f) }, f.path), " "])));
  draw();
  const watch = new ResizeObserver(place);
  watch.observe(frame);
  return () => watch.disconnect();
}

function meshPanel(file, body, keys) {
  if (!("blob" in file)) {
    body.append(el("p", { class: "message" }, "This mesh is not embedded, to limit the size of the report."));
    return undefined;
  }
  const mesh = viewer ? modelOf(file).mesh : readMesh(blobBytes(file.blob));
  if (!viewer) body.append(el("p", { class: "message" }, "This browser does not support WebGL 2, so meshes cannot be rendered."));
  const view = viewState(mesh), canvas = el("canvas", { class: "view", tabIndex: 0, "aria-label": "Mesh: drag or use the arrow keys to rotate, + and - to zoom" });
  let open = true, asked = 0, last = 0, playing = false, framed = mesh;
  const frame = (now) => {
    asked = 0;
    if (!open || !viewer) return;
    if (playing && view.clip) {
      view.time = (view.time + Math.min(0.1, (now - last) / 1000)) % Math.max(view.clip.duration, 1e-3);
      scrub.value = view.time;
      timeLabel.textContent = `${view.time.toFixed(2)} / ${view.clip.duration.toFixed(2)} s`;
    }
    last = now;
    const ratio = Math.min(2, devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(canvas.clientWidth * ratio));
    canvas.height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    viewer.draw(modelOf(file), view, canvas, redraw);
    canvas.dataset.frames = Number(canvas.dataset.frames || 0) + 1;
    if (playing) redraw();
  };
  const redraw = () => { asked = asked || requestAnimationFrame(frame); };
  const change = (part) => { Object.assign(view, part); redraw(); };
  const turn = (dx, dy) => change({ yaw: view.yaw - dx, pitch: Math.max(-1.5, Math.min(1.5, view.pitch + dy)) });
  const nearer = (by) => change({ distance: Math.max(view.radius * 0.15, Math.min(view.radius * 20, view.distance * by)) });
  canvas.addEventListener("pointerdown", (e) => canvas.setPointerCapture(e.pointerId));
  canvas.addEventListener("pointermove", (e) => { if (e.buttons) turn(e.movementX * 0.008, e.movementY * 0.008); });
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); nearer(Math.exp(e.deltaY * 0.001)); }, { passive: false });
  canvas.addEventListener("dblclick", () => change(viewFrom(framed)));
  canvas.addEventListener("keydown", (e) => {
    const moves = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, 0.12], ArrowDown: [0, -0.12] };
    if (moves[e.key]) turn(...moves[e.key]); else if (e.key === "+" || e.key === "=") nearer(0.88); else if (e.key === "-") nearer(1.14); else return;
    e.preventDefault();
    e.stopPropagation();
  });
  const modes = [["material", "Material"], ["clay", "Clay"], ["normals", "Normals"], ["uv", "UV"]];
  if (mesh.meshletCount) modes.push(["meshlets", "Meshlets", `${plural(mesh.meshletCount, "meshlet", "meshlets")}, each in its own colour`]);
  if (mesh.colors) modes.push(["colors", "Colours", "The vertex colours"]);
  if (mesh.lods) modes.push(["lod", "LOD", "Each LOD in its own colour"]);
  const shading = segments("Shading", modes, "material", (mode) => change({ mode }));
  const toggle = (name, text, key, on = false) => {
    const button = el("button", { title: `${text} (${key})`, "aria-pressed": String(on), onclick: () => {
      change({ [name]: !view[name] });
      button.setAttribute("aria-pressed", String(!!view[name]));
    } }, text);
    keys[key] = () => button.click();
    return button;
  };
  const toggles = el("div", { class: "segments", role: "group", "aria-label": "Layers" }, toggle("textures", "Textures", "t", true), toggle("wire", "Wireframe", "w"),
    toggle("bounds", "Bounds", "b"), toggle("normals", "Normal vectors", "n"), mesh.joints.length ? toggle("skeleton", "Skeleton", "s") : null);
  keys.m = () => shading.step();
  body.append(canvas, el("div", { class: "controls" }, shading, toggles));
  if (mesh.lods) {
    const triangles = (n) => mesh.submeshes.reduce((sum, sub) => sum + sub.levels[n].count / 3, 0);
    const lod = stepper("LOD", mesh.lods + 1, (n) => `${n} · ${plural(triangles(n), "triangle", "triangles")}`, (n) => change({ lod: n }));
    body.append(el("div", { class: "controls column" }, lod));
    keys["["] = () => lod.by(-1);
    keys["]"] = () => lod.by(1);
  }
  const animation = byPath.get(beside(file, "hanim")), sceneFile = byPath.get(beside(file, "hscn"));
  const scene = sceneFile && "blob" in sceneFile ? readScene(blobBytes(sceneFile.blob)) : null;
  // Nodes place submeshes only where the mesh is not merged.
  if (scene && scene.nodes.some((node) => node.submeshes) && !mesh.joints.length) {
    framed = { bounds: sceneBounds(mesh, scene) };
    change({ scene, radius: framed.bounds.radius || 1, ...viewFrom(framed) });
  }
  const scrub = el("input", { type: "range", min: 0, max: 1, step: 0.001, value: 0, "aria-label": "Time", oninput: () => change({ time: Number(scrub.value) }) });
  const timeLabel = el("output", {}, "");
  const moves = animation && "blob" in animation && mesh.joints.length;
  if (moves || view.scene && scene.clips.length) {
    const clips = moves ? readAnimation(blobBytes(animation.blob)) : scene.clips;
    const play = el("button", { title: "Play or pause (p)", onclick: () => {
      if (!view.clip) pick(0);
      playing = !playing;
      play.textContent = playing ? "❚❚" : "▶";
      play.setAttribute("aria-pressed", String(playing));
      last = performance.now();
      redraw();
    }, "aria-pressed": "false" }, "▶");
    const pick = (n) => { select.value = n; const clip = clips[n]; scrub.max = clip ? clip.duration : 1; change({ clip, time: 0 }); };
    const select = el("select", { "aria-label": "Clip", onchange: () => pick(Number(select.value)) }, el("option", { value: -1 }, "bind pose"),
      clips.map((clip, n) => el("option", { value: n }, `${clip.name || "clip " + n} (${clip.duration.toFixed(2)} s)`)));
    keys[" "] = keys.p = () => play.click();
    view.time = 0;
    body.append(el("div", { class: "controls player" }, play, select, scrub, timeLabel));
  }
  if (mesh.morphTargets.length) {
    view.weights = mesh.morphTargets.map((target) => target.weight);
    const slider = (target, n) => {
      const value = el("output", {}, target.weight.toFixed(2));
      const input = el("input", { type: "range", min: 0, max: 1, step: 0.01, value: target.weight, "aria-label": `Morph target ${target.name || n}`, oninput: () => {
        value.textContent = Number(input.value).toFixed(2);
        change({ weights: view.weights.map((weight, i) => (i === n ? Number(input.value) : weight)) });
      } });
      return el("label", {}, target.name || `morph target ${n}`, input, value);
    };
    body.append(el("div", { class: "controls column morphs" }, mesh.morphTargets.slice(0, 64).map(slider)));
  }
  const names = ["base", "mr", "normal", "occ", "emissive"];
  const materials = materialsOf(file);
  body.append(el("h3", {}, "submeshes"), el("div", { class: "wide" }, el("table", { class: "rows" },
    el("thead", {}, el("tr", {}, ["#", "triangles", "meshlets", "material"].map((t) => el("th", {}, t)))),
    el("tbody", {}, mesh.submeshes.slice(0, 200).map((sub, n) => el("tr", {}, el("td", {}, n), el("td", {}, sub.levels.map((l) => number(l.count / 3)).join(" → ")),
      el("td", {}, sub.meshletCount), el("td", {}, sub.material === 0xffffffff ? "none" : swatch(materials[sub.material], sub.material, names))))))));
  const extras = [];
  if (mesh.colorBytes) extras.push(`vertex colours (${{ 4: "8-bit", 8: "16-bit", 16: "float" }[mesh.colorBytes] || "unknown format"})`);
  if (mesh.uvSets > 1) extras.push(`${mesh.uvSets} UV sets`);
  if (extras.length) body.append(el("p", {}, `This mesh has ${extras.join(" and ")}.`));
  const list = (title, columns, rows) => body.append(el("h3", {}, title), el("div", { class: "wide" }, el("table", { class: "rows" },
    el("thead", {}, el("tr", {}, columns.map((t) => el("th", {}, t)))), el("tbody", {}, rows.slice(0, 200).map((row) => el("tr", {}, row.map((cell) => el("td", {}, cell))))))));
  if (mesh.morphTargets.length) {
    list(plural(mesh.morphTargets.length, "morph target", "morph targets"), ["#", "name", "default weight", "vertices"],
      mesh.morphTargets.map((target, n) => [n, target.name || "—", +target.weight.toFixed(3), number(target.vertices)]));
  }
  if (mesh.nodes.length) {
    const drawn = (node) => (node.submeshes ? (node.submeshes > 1 ? `${node.submesh} to ${node.submesh + node.submeshes - 1}` : node.submesh) : "—");
    list(plural(mesh.nodes.length, "node", "nodes"), ["#", "name", "parent", "submeshes"],
      mesh.nodes.map((node, n) => [n, node.name || "—", node.parent < 0 ? "—" : node.parent, drawn(node)]));
  }
  const watch = new ResizeObserver(redraw);
  watch.observe(canvas);
  redraw();
  return () => { open = false; watch.disconnect(); };
}
const viewFrom = (mesh) => { const { yaw, pitch, distance, target } = viewState(mesh); return { yaw, pitch, distance, target }; };

/** Returns a one-line summary of a material: its colour, and links to its textures. */
function swatch(material, slot, names) {
  const chip = el("i", { class: "dot" });
  const encode = (c) => Math.round(255 * (c <= 0.0031308 ? c * 12.92 : 1.055 * c ** (1 / 2.4) - 0.055));
  if (material) chip.style.background = `rgb(${material.base_color.slice(0, 3).map((c) => encode(Math.min(1, Math.max(0, c)))).join(" ")})`;
  return [chip, `${slot} `, ...(material ? names : []).flatMap((name) => {
    const texture = material.textures[name];
    if (texture === null) return [];
    return [typeof texture === "number" ? el("a", { href: link(files[texture]) }, name) : el("em", { class: "up", title: texture }, name + " missing"), " "];
  })];
}

function materialPanel(file, body) {
  file.materials.slice(0, 64).forEach((material, n) => {
    const canvas = el("canvas", { width: 260, height: 260, class: "ball" });
    const { textures, ...factors } = material;
    const show = (value) => (Array.isArray(value) ? value.map((v) => +v.toFixed(3)).join(", ") : String(value));
    body.append(el("section", { class: "material" }, canvas, el("div", {}, el("h3", {}, `material ${n}`),
      el("dl", {}, Object.entries(factors).map(([name, value]) => el("div", {}, el("dt", {}, words(name)), el("dd", {}, show(value)))),
        Object.entries(textures).filter(([, t]) => t !== null).map(([name, t]) => el("div", {}, el("dt", {}, name),
          el("dd", {}, typeof t === "number" ? el("a", { href: link(files[t]) }, files[t].path) : el("em", { class: "up" }, t + " is missing"))))))));
    if (viewer) ball(material, canvas);
  });
  const mesh = byPath.get(beside(file, "hmesh"));
  if (mesh) body.append(el("p", {}, "Mesh: ", el("a", { href: link(mesh) }, mesh.path)));
}

function animationPanel(file, body) {
  const mesh = byPath.get(beside(file, "hmesh"));
  if (mesh) body.append(el("p", {}, "Skeleton: ", el("a", { href: link(mesh) }, mesh.path)));
  if (!("blob" in file)) return;
  body.append(el("h3", {}, "clips"), el("table", { class: "rows" }, el("thead", {}, el("tr", {}, ["name", "seconds", "channels", "keys"].map((t) => el("th", {}, t)))),
    el("tbody", {}, readAnimation(blobBytes(file.blob)).map((clip) => el("tr", {}, el("td", {}, clip.name || "—"), el("td", {}, clip.duration.toFixed(3)),
      el("td", {}, clip.channels.length), el("td", {}, number(clip.channels.reduce((sum, c) => sum + c.times.length, 0))))))));
}
