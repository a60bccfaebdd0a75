// The page itself: what is shown of the data, and how it is searched, sorted and looked into.
// Every text from the data goes to the page as a text node or an attribute, never as markup.

const report = JSON.parse(document.getElementById("kiln-report").textContent);
const files = report.files;
const byPath = new Map(files.map((file) => [file.path, file]));
files.forEach((file, place) => {
  file.place = place;
  file.name = file.path.slice(file.path.lastIndexOf("/") + 1);
  file.folder = file.path.split("/").slice(-2, -1).join("");
  file.delta = "was" in file ? file.size - (file.was ? file.was.size : 0) : 0;
  file.grown = "was" in file && (!file.was || file.was.changed);
});
const $ = (id) => document.getElementById(id);

/** An element with properties, attributes (names with a dash or in `attrs`) and children. */
function el(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

function size(bytes) {
  if (bytes < 1024) return bytes + " B";
  let unit = -1;
  for (; bytes >= 1023.95 && unit < 4; unit++) bytes /= 1024;
  return bytes.toFixed(1) + " " + ["KB", "MB", "GB", "TB", "PB"][unit];
}
const number = (n) => n.toLocaleString("en-GB");
const signed = (bytes) => (bytes < 0 ? "−" : "+") + size(Math.abs(bytes));
const plural = (n, one, many) => `${number(n)} ${n === 1 ? one : many}`;
const words = (name) => name.replaceAll("_", " ");

const HUES = { ktx2: 205, hmesh: 155, hmat: 28, hanim: 330, spv: 265, hman: 50, hpack: 185, hfont: 95, "": 0 };
const kindOf = (ext) => report.kinds.find((kind) => kind.ext === ext);
const tone = (ext) => { const h = HUES[ext] ?? [...ext].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7) % 360; return `hsl(${h} ${ext ? 62 : 6}% var(--tone))`; };
const dot_ = (ext) => { const made = el("i", { class: "dot" }); made.style.background = tone(ext); return made; };

/* ---- The head of the page ---- */

$("title").textContent = report.title;
function head() {
  const tile = (value, label, note, mood) => el("div", { class: "tile" + (mood ? " " + mood : "") }, el("b", {}, value), el("span", {}, label), note && el("small", {}, note));
  const since = report.since, grown = since ? report.size - since.size : 0;
  $("tiles").append(tile(size(report.size), "in all", since && `${signed(grown)} since ${since.title}`, grown > 0 && since ? "up" : grown < 0 ? "down" : ""));
  $("tiles").append(tile(number(files.length), "files", since && `${since.added} new, ${since.changed} changed, ${since.removed} gone`));
  for (const kind of report.kinds) {
    const totals = Object.entries(kind.totals).slice(0, 2).map(([name, n]) => `${number(n)} ${words(name)}`).join(" · ");
    const made = tile(number(kind.files), kind.files === 1 ? kind.noun : kind.title, totals || size(kind.size));
    made.firstChild.prepend(dot_(kind.ext));
    const by = kind.was === null ? 0 : kind.size - kind.was;
    if (by) made.children[1].append(" ", el("em", { class: by > 0 ? "up" : "down" }, signed(by)));
    $("tiles").append(made);
  }
  for (const kind of report.kinds.filter((k) => k.size > 0)) {
    const share = 100 * kind.size / Math.max(1, report.size);
    const part = el("button", { title: `${kind.title}: ${size(kind.size)}, ${share.toFixed(1)} %`, onclick: () => choose({ kind: kind.ext }) }, share > 7 ? el("span", {}, `${kind.title} ${size(kind.size)}`) : "");
    part.style.flexGrow = String(kind.size);
    part.style.background = tone(kind.ext);
    $("bar").append(part);
  }
  const broken = files.filter((file) => file.error);
  if (broken.length) {
    $("messages").append(el("div", { class: "message bad" }, el("b", {}, plural(broken.length, "file is", "files are") + " damaged: "),
      ...broken.slice(0, 8).flatMap((file) => [el("a", { href: link(file) }, file.path), " "]), broken.length > 8 ? "…" : ""));
  }
  for (const text of report.problems) $("messages").append(el("div", { class: "message bad" }, text));
  for (const text of report.notes) $("messages").append(el("div", { class: "message" }, text + "."));
  if (since && since.gone.length) {
    const gone = [...since.gone].sort((a, b) => b.size - a.size);
    $("messages").append(el("details", { class: "message" }, el("summary", {}, plural(gone.length, "file is", "files are") + ` gone (${size(gone.reduce((sum, f) => sum + f.size, 0))})`),
      el("ul", {}, gone.slice(0, 500).map((f) => el("li", {}, f.path, " ", el("small", {}, size(f.size)))))));
  }
}

/* ---- The list ---- */

const SORTS = {
  path: ["Path", (a, b) => (a.path < b.path ? -1 : 1)],
  size: ["Size", (a, b) => b.size - a.size],
  kind: ["Kind", (a, b) => a.ext.localeCompare(b.ext)],
  ...(report.since ? { growth: ["Growth", (a, b) => b.delta - a.delta] } : {}),
};
const state = { query: "", kind: null, sort: "path", view: "gallery", open: null };
let shown = [];

/** All words of the query are in the path or the line that tells of the file. */
function matches(file) {
  if (state.kind === "changed" ? !file.grown : state.kind === "broken" ? !file.error : state.kind !== null && file.ext !== state.kind) return false;
  const text = `${file.path} ${file.line || ""} ${file.error || ""}`.toLowerCase();
  return state.query.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

function choose(change) {
  if ("kind" in change && change.kind === state.kind) change.kind = null;
  Object.assign(state, change);
  render();
}

function delta(file) {
  if (!report.since || !file.grown) return null;
  if (!file.was) return el("em", { class: "up" }, "new");
  return el("em", { class: file.delta > 0 ? "up" : file.delta < 0 ? "down" : "" }, file.delta ? signed(file.delta) : "changed");
}

function render() {
  shown = files.filter(matches).sort((a, b) => SORTS[state.sort][1](a, b) || (a.path < b.path ? -1 : 1));
  $("count").textContent = `${plural(shown.length, "file", "files")}, ${size(shown.reduce((sum, f) => sum + f.size, 0))}`;
  for (const chip of $("kinds").children) chip.setAttribute("aria-pressed", String(chip.kind === state.kind));
  for (const button of $("views").children) button.setAttribute("aria-pressed", String(button.view === state.view));
  $("sort").value = state.sort;
  covers.disconnect();
  const list = $("list");
  list.className = state.view;
  list.replaceChildren(state.view === "gallery" ? gallery() : table());
  if (!shown.length) list.append(el("p", { class: "nothing" }, "No file matches."));
  mark();
}

function gallery() {
  return el("div", { class: "cards" }, shown.map((file) => {
    const cover = el("div", { class: "cover", "data-ext": file.ext });
    const card = el("a", { class: "card" + (file.error ? " broken" : ""), href: link(file), title: file.path, tabIndex: -1 },
      cover, el("b", {}, file.name), el("span", {}, dot_(file.ext), size(file.size), delta(file), el("small", {}, file.folder)));
    card.file = file;
    cover.file = file;
    covers.observe(cover);
    return card;
  }));
}

function table() {
  const row = (file) => {
    const made = el("tr", { class: file.error ? "broken" : "" },
      el("td", {}, el("a", { href: link(file), tabIndex: -1 }, dot_(file.ext), file.path)),
      el("td", {}, file.error ? "damaged: " + file.error : file.line || ""),
      el("td", { class: "n" }, size(file.size)), report.since && el("td", { class: "n" }, delta(file)));
    made.querySelector("a").file = file;
    return made;
  };
  const head = (key, text, n) => {
    const sorted = state.sort === key;
    return el("th", { class: n, "aria-sort": sorted ? "ascending" : "none" }, el("button", { onclick: () => choose({ sort: key }) }, text, sorted ? " ▾" : ""));
  };
  return el("table", {}, el("thead", {}, el("tr", {}, head("path", "Path"), el("th", {}, "What it is"), head("size", "Size", "n"), report.since && head("growth", "Growth", "n"))),
    el("tbody", {}, shown.map(row)));
}

/** Covers are made when they come into view. */
const covers = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    covers.unobserve(target);
    const { file } = target;
    if (file.error) target.append(el("strong", {}, "damaged"));
    else Promise.resolve((COVERS[file.ext] || plainCover)(file, target)).catch(() => plainCover(file, target));
  }
}, { rootMargin: "400px" });

/* ---- Covers, by extension: a new format gets the plain one until it has its own ---- */

function plainCover(file, into) {
  into.replaceChildren(el("code", {}, file.ext || (file.name.includes(".") ? file.name.split(".").pop() : "file")));
}

const COVERS = {
  async ktx2(file, into) {
    const cube = file.facts.faces === 6;
    const canvas = el("canvas", { class: cube ? "" : "checkers" });
    const level = Math.max(0, file.levels.findIndex((l) => l.shown[0] && Math.max(...l.shown) <= 256));
    if (cube) await paintCross(canvas, file, level, 0, "RGB");
    else paint(canvas, await bitmap(pictureOf(file, level, { slice: Math.floor(file.levels[level].dims[2] / 2) })), channelsOf(file));
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

/** The channels to start with. */
const channelsOf = (file) => ({ RG: "XYZ", RRR: "R", RGBA: "RGBA" })[file.facts.channels] || "RGB";

/* ---- Meshes and materials ---- */

const viewer = gpu && createViewer((place) => {
  const file = files[place];
  if (!file || !file.levels || !file.levels[0].images.length) return null;
  return { picture: bitmap(file.levels[0].images[0]), srgb: file.facts.transfer === "sRGB" };
});
const models = new Map();
let ballMesh = null;

/** A mesh on the GPU, with the materials beside it. The last few are kept. */
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

/** How a mesh is first looked at. */
function viewState(mesh) {
  const { center, radius } = mesh.bounds, r = radius || 1;
  return { yaw: 0.6, pitch: 0.35, distance: r / Math.sin(0.35) * 1.08, target: [...center], radius: r, mode: "material", textures: true, lod: 0 };
}

async function ball(material, canvas) {
  ballMesh = ballMesh || viewer.load(sphere(), []);
  await viewer.settled([material]);
  viewer.draw({ ...ballMesh, materials: [material] }, { ...viewState(ballMesh.mesh), pitch: 0.2 }, canvas, () => {});
}

/* ---- Details, by extension; `facts` does for what has no more ---- */

const PANELS = { ktx2: texturePanel, hmesh: meshPanel, hmat: materialPanel, hanim: animationPanel };
let close = () => {};

function openFile(file) {
  close();
  close = () => {};
  const panel = $("detail");
  const changed = state.open !== file;
  state.open = file;
  panel.hidden = !file;
  document.body.classList.toggle("detailed", !!file);
  mark();
  if (!file) return;
  const keys = {};
  const body = el("div", { class: "panel" });
  panel.replaceChildren(el("header", {}, el("h2", { tabIndex: -1 }, file.path),
    el("button", { title: "Close (Esc)", "aria-label": "Close", onclick: () => go(null) }, "✕")), body);
  body.append(el("p", { class: "line" }, dot_(file.ext), `${(kindOf(file.ext) || {}).noun || "file"} · ${size(file.size)} `, delta(file),
    file.was && file.was.changed ? el("small", {}, ` was ${size(file.was.size)}`) : ""));
  if (file.error) body.append(el("p", { class: "message bad" }, "Damaged: " + file.error));
  else {
    try {
      const ended = (PANELS[file.ext] || (() => {}))(file, body, keys);
      if (ended) close = ended;
    } catch (error) {
      body.append(el("p", { class: "message bad" }, "This cannot be shown: " + error.message));
    }
  }
  panel.keys = keys;
  if (file.facts) body.append(factTable(file.facts));
  if (file.hash) body.append(el("p", { class: "hash" }, "content ", el("code", {}, file.hash)));
  if (changed) panel.scrollTop = 0;
  const current = links().find((a) => a.file === file);
  if (current) current.scrollIntoView({ block: "nearest" });
}

/** Plain facts as one table, rows of facts as tables of their own. */
function factTable(facts) {
  const plain = Object.entries(facts).filter(([, value]) => !Array.isArray(value));
  const rows = Object.entries(facts).filter(([, value]) => Array.isArray(value) && value.length);
  const show = (value) => (typeof value === "number" ? number(value) : String(value));
  return el("div", { class: "facts" },
    rows.map(([name, list]) => {
      const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
      return el("section", {}, el("h3", {}, words(name)), el("div", { class: "wide" }, el("table", { class: "rows" },
        el("thead", {}, el("tr", {}, columns.map((c) => el("th", {}, words(c))))),
        el("tbody", {}, list.map((row) => el("tr", {}, columns.map((c) => el("td", {}, c in row ? show(row[c]) : ""))))))));
    }),
    el("h3", {}, "facts"), el("dl", {}, plain.map(([name, value]) => el("div", {}, el("dt", {}, words(name)), el("dd", {}, show(value))))));
}

/** Buttons of which one is on. `set` is called with its name; the result steps through them. */
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

/** A number that is stepped through. */
function stepper(label, count, tell, set) {
  let at = 0;
  const text = el("output", {}, tell(0));
  const to = (n) => { at = Math.min(count - 1, Math.max(0, n)); text.textContent = tell(at); range.value = at; set(at); };
  const range = el("input", { type: "range", min: 0, max: count - 1, value: 0, "aria-label": label, oninput: () => to(Number(range.value)) });
  const made = el("div", { class: "stepper" }, el("span", {}, label), el("button", { "aria-label": label + " before", onclick: () => to(at - 1) }, "‹"),
    range, el("button", { "aria-label": label + " after", onclick: () => to(at + 1) }, "›"), text);
  made.by = (d) => to(at + d);
  return made;
}

function texturePanel(file, body, keys) {
  const { facts, levels } = file, view = { level: 0, layer: 0, face: 0, slice: 0, channels: channelsOf(file), cross: facts.faces === 6 };
  const canvas = el("canvas", { class: "checkers" }), frame = el("div", { class: "frame", tabIndex: 0, "aria-label": "Picture" }, canvas), note = el("p", { class: "note" });
  let zoom = "fit", turn = 0;
  const draw = async () => {
    const mine = ++turn, level = levels[view.level], there = level.images.length > 0, from = there ? view.level : 0;
    canvas.classList.toggle("checkers", !view.cross);
    if (view.cross) await paintCross(canvas, file, from, view.layer, view.channels);
    else {
      const id = pictureOf(file, from, view);
      if (id === undefined) { note.textContent = "This image is not in the report."; return; }
      const picture = await bitmap(id);
      if (mine !== turn) return;
      paint(canvas, picture, view.channels);
    }
    const [w, h] = level.dims, told = levels[from].shown;
    canvas.dataset.level = view.level;
    note.textContent = !there ? `Level ${view.level} (${w} × ${h}) is larger than the report embeds; this is level 0, reduced to ${told[0]} × ${told[1]}.`
      : told[0] !== w || told[1] !== h ? `Reduced from ${w} × ${h} to ${told[0]} × ${told[1]}.` : "";
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
  const channels = segments("Channels", CHANNELS.filter((c) => c.fits(facts.channels)).map((c) => [c.name, c.name, c.help]), view.channels, (name) => change({ channels: name }));
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
  const step = (label, count, tell, set, before, after) => {
    if (count <= 1) return;
    const made = stepper(label, count, tell, set);
    steps.append(made);
    keys[before] = () => made.by(-1);
    keys[after] = () => made.by(1);
  };
  step("Level", levels.length, (n) => `${n} · ${levels[n].dims.slice(0, facts.depth ? 3 : 2).join(" × ")} · ${size(levels[n].size)}`, (n) => change({ level: n }), "[", "]");
  step("Face", facts.faces, (n) => ["+X", "−X", "+Y", "−Y", "+Z", "−Z"][n], (n) => { view.face = n; cross.pick(false); }, ",", ".");
  step("Layer", facts.layers, (n) => `${n} of ${facts.layers}`, (n) => change({ layer: n }), "<", ">");
  step("Slice", facts.depth, (n) => `${n} of ${facts.depth}`, (n) => change({ slice: n }), ",", ".");
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
    body.append(el("p", { class: "message" }, "This mesh is not in the report, so that the report stays small."));
    return undefined;
  }
  const mesh = viewer ? modelOf(file).mesh : readMesh(blobBytes(file.blob));
  if (!viewer) body.append(el("p", { class: "message" }, "This browser has no WebGL 2, so meshes cannot be drawn."));
  const view = viewState(mesh), canvas = el("canvas", { class: "view", tabIndex: 0, "aria-label": "Mesh: drag or use the arrow keys to turn, + and - to come nearer" });
  let open = true, asked = 0, last = 0, playing = false;
  const frame = (now) => {
    asked = 0;
    if (!open || !viewer) return;
    if (playing && view.clip) {
      view.time = (view.time + Math.min(0.1, (now - last) / 1000)) % Math.max(view.clip.duration, 1e-3);
      scrub.value = view.time;
      told.textContent = `${view.time.toFixed(2)} / ${view.clip.duration.toFixed(2)} s`;
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
  canvas.addEventListener("dblclick", () => change(viewFrom(mesh)));
  canvas.addEventListener("keydown", (e) => {
    const moves = { ArrowLeft: [-0.12, 0], ArrowRight: [0.12, 0], ArrowUp: [0, 0.12], ArrowDown: [0, -0.12] };
    if (moves[e.key]) turn(...moves[e.key]); else if (e.key === "+" || e.key === "=") nearer(0.88); else if (e.key === "-") nearer(1.14); else return;
    e.preventDefault();
    e.stopPropagation();
  });
  const modes = [["material", "Material"], ["clay", "Clay"], ["normals", "Normals"], ["uv", "UV"]];
  if (mesh.meshletCount) modes.push(["meshlets", "Meshlets", `${mesh.meshletCount} meshlets, each in a colour`]);
  if (mesh.lods) modes.push(["lod", "LOD", "Each level of detail in a colour"]);
  const shading = segments("Shading", modes, "material", (mode) => change({ mode }));
  const toggle = (name, text, key, on = false) => {
    const button = el("button", { title: `${text} (${key})`, "aria-pressed": String(on), onclick: () => {
      change({ [name]: !view[name] });
      button.setAttribute("aria-pressed", String(!!view[name]));
    } }, text);
    keys[key] = () => button.click();
    return button;
  };
  const toggles = el("div", { class: "segments", role: "group", "aria-label": "Layers" }, toggle("textures", "Textures", "t", true), toggle("wire", "Wires", "w"),
    toggle("bounds", "Bounds", "b"), toggle("normals", "Normal lines", "n"), mesh.joints.length ? toggle("skeleton", "Skeleton", "s") : null);
  keys.m = () => shading.step();
  body.append(canvas, el("div", { class: "controls" }, shading, toggles));
  if (mesh.lods) {
    const triangles = (n) => mesh.submeshes.reduce((sum, sub) => sum + sub.levels[n].count / 3, 0);
    const lod = stepper("LOD", mesh.lods + 1, (n) => `${n} · ${plural(triangles(n), "triangle", "triangles")}`, (n) => change({ lod: n }));
    body.append(el("div", { class: "controls column" }, lod));
    keys["["] = () => lod.by(-1);
    keys["]"] = () => lod.by(1);
  }
  const animation = byPath.get(beside(file, "hanim"));
  const scrub = el("input", { type: "range", min: 0, max: 1, step: 0.001, value: 0, "aria-label": "Time", oninput: () => change({ time: Number(scrub.value) }) });
  const told = el("output", {}, "");
  if (animation && "blob" in animation && mesh.joints.length) {
    const clips = readAnimation(blobBytes(animation.blob));
    const play = el("button", { title: "Play or pause (Space)", onclick: () => {
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
    keys[" "] = () => play.click();
    view.time = 0;
    body.append(el("div", { class: "controls player" }, play, select, scrub, told));
  }
  const names = ["base", "mr", "normal", "occ", "emissive"];
  const materials = materialsOf(file);
  body.append(el("h3", {}, "submeshes"), el("div", { class: "wide" }, el("table", { class: "rows" },
    el("thead", {}, el("tr", {}, ["#", "triangles", "meshlets", "material"].map((t) => el("th", {}, t)))),
    el("tbody", {}, mesh.submeshes.slice(0, 200).map((sub, n) => el("tr", {}, el("td", {}, n), el("td", {}, sub.levels.map((l) => number(l.count / 3)).join(" → ")),
      el("td", {}, sub.meshletCount), el("td", {}, sub.material === 0xffffffff ? "none" : swatch(materials[sub.material], sub.material, names))))))));
  const watch = new ResizeObserver(redraw);
  watch.observe(canvas);
  redraw();
  return () => { open = false; watch.disconnect(); };
}
const viewFrom = (mesh) => { const { yaw, pitch, distance, target } = viewState(mesh); return { yaw, pitch, distance, target }; };

/** A material in a line: its colour, and links to its textures. */
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
          el("dd", {}, typeof t === "number" ? el("a", { href: link(files[t]) }, files[t].path) : el("em", { class: "up" }, t + " is not there"))))))));
    if (viewer) ball(material, canvas);
  });
  const mesh = byPath.get(beside(file, "hmesh"));
  if (mesh) body.append(el("p", {}, "Mesh: ", el("a", { href: link(mesh) }, mesh.path)));
}

function animationPanel(file, body) {
  const mesh = byPath.get(beside(file, "hmesh"));
  if (mesh) body.append(el("p", {}, "Played on ", el("a", { href: link(mesh) }, mesh.path)));
  if (!("blob" in file)) return;
  body.append(el("h3", {}, "clips"), el("table", { class: "rows" }, el("thead", {}, el("tr", {}, ["name", "seconds", "channels", "keys"].map((t) => el("th", {}, t)))),
    el("tbody", {}, readAnimation(blobBytes(file.blob)).map((clip) => el("tr", {}, el("td", {}, clip.name || "—"), el("td", {}, clip.duration.toFixed(3)),
      el("td", {}, clip.channels.length), el("td", {}, number(clip.channels.reduce((sum, c) => sum + c.times.length, 0))))))));
}

/* ---- Where we are, and keys ---- */

const link = (file) => "#" + encodeURIComponent(file.path);
function go(file) {
  const to = file ? link(file) : "#";
  if (location.hash !== to) history.replaceState(null, "", to);
  openFile(file);
}
function fromHash() {
  let path = "";
  try { path = decodeURIComponent(location.hash.slice(1)); } catch { /* not one of ours */ }
  const file = byPath.get(path) || null;
  if (file !== state.open) openFile(file);
}

/** The links of the list, in order. One of them is in the tab order: the open one, or the first. */
const links = () => [...$("list").querySelectorAll("a")];
function mark() {
  const all = links(), current = all.find((a) => a.file === state.open) || all[0];
  for (const a of all) {
    a.tabIndex = a === current ? 0 : -1;
    a.toggleAttribute("aria-current", a.file === state.open);
  }
}
function move(by) {
  const all = links(), here = all.indexOf(document.activeElement);
  const at = here >= 0 ? here : all.findIndex((a) => a.file === state.open);
  const next = all[Math.min(all.length - 1, Math.max(0, at < 0 ? 0 : at + by))];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  if (state.open) go(next.file);
}
/** How many cards there are in a row. */
function columns() {
  const all = links();
  return state.view === "table" ? 1 : Math.max(1, all.findIndex((a) => a.offsetTop > all[0].offsetTop));
}

const KEYS = {
  "/": ["search", () => $("search").focus()],
  j: ["next file", () => move(1)], k: ["file before", () => move(-1)],
  ArrowRight: ["next file", () => move(1)], ArrowLeft: ["file before", () => move(-1)],
  ArrowDown: ["a row down", () => move(columns())], ArrowUp: ["a row up", () => move(-columns())],
  v: ["gallery or table", () => choose({ view: state.view === "gallery" ? "table" : "gallery" })],
  o: ["next order", () => { const all = Object.keys(SORTS); choose({ sort: all[(all.indexOf(state.sort) + 1) % all.length] }); }],
  "?": ["these keys", () => $("help").showModal()],
  Escape: ["close the details, or clear the search", () => (state.open ? go(null) : choose({ query: $("search").value = "", kind: null }))],
};
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  const typing = e.target.matches("input[type=search], select"), sliding = e.target.matches("input[type=range]");
  if (e.key === "Escape" && e.target === $("search")) { $("search").blur(); if (!$("search").value) return; }
  if ((typing && e.key !== "Escape") || (sliding && e.key.startsWith("Arrow")) || (e.key === " " && e.target.matches("button, summary"))) return;
  const own = state.open && ($("detail").keys || {})[e.key];
  const act = own || (KEYS[e.key] && KEYS[e.key][1]);
  if (!act) return;
  e.preventDefault();
  act();
});

function help() {
  const row = (key, text) => el("div", {}, el("dt", {}, el("kbd", {}, key)), el("dd", {}, text));
  const names = { ArrowRight: "→", ArrowLeft: "←", ArrowDown: "↓", ArrowUp: "↑", Escape: "Esc" };
  $("help").append(el("form", { method: "dialog" }, el("h2", {}, "Keys"), el("dl", {}, Object.entries(KEYS).map(([key, [text]]) => row(names[key] || key, text)), row("Enter", "open a file")),
    el("h3", {}, "Textures"), el("dl", {}, row("[ ]", "level"), row(", .", "face or slice"), row("< >", "layer"), row("c", "channels"), row("z", "zoom"), row("u", "unfold a cube")),
    el("h3", {}, "Meshes"), el("dl", {}, row("m", "shading"), row("[ ]", "level of detail"), row("t w b n s", "textures, wires, bounds, normals, skeleton"), row("Space", "play")),
    el("button", { autofocus: true }, "Close")));
}

function tools() {
  const chip = (kind, text) => { const made = el("button", { onclick: () => choose({ kind }) }, text); made.kind = kind; return made; };
  $("kinds").append(...report.kinds.map((kind) => { const made = chip(kind.ext, `${kind.title} ${kind.files}`); made.prepend(dot_(kind.ext)); return made; }));
  const changed = files.filter((file) => file.grown).length, broken = files.filter((file) => file.error).length;
  if (report.since) $("kinds").append(chip("changed", `changed ${changed}`));
  if (broken) $("kinds").append(chip("broken", `damaged ${broken}`));
  $("sort").append(...Object.entries(SORTS).map(([key, [text]]) => el("option", { value: key }, text)));
  $("sort").addEventListener("change", () => choose({ sort: $("sort").value }));
  $("views").append(...["gallery", "table"].map((view) => { const made = el("button", { onclick: () => choose({ view }) }, view); made.view = view; return made; }));
  $("search").addEventListener("input", () => choose({ query: $("search").value }));
  $("search").addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === "ArrowDown") { e.preventDefault(); const first = links()[0]; if (first) first.focus(); } });
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
    document.documentElement.style.colorScheme = dark ? "light" : "dark";
    document.documentElement.dataset.theme = dark ? "light" : "dark";
  });
  addEventListener("hashchange", fromHash);
}

head();
tools();
help();
render();
fromHash();
