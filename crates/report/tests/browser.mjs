// End-to-end test of reports in a browser: `node browser.mjs <assetc> <output directory> [directory for screenshots]`.
//
// Writes a report on a copy of the output in which some files are damaged and some have names that contain markup,
// opens it from disk in headless Chromium and checks clicks, keys, canvases and network requests.
// Uses the DevTools protocol over a pipe, so that it needs only Node and Chromium.

import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [assetc, output, shots] = process.argv.slice(2).map((path) => resolve(path));
if (!assetc || !output) throw new Error("usage: browser.mjs <assetc> <output directory> [screenshots]");
const room = mkdtempSync(join(tmpdir(), "kiln-report-"));
let failed = 0, passed = 0;
const check = (what, good, seen = "") => {
  if (good) passed++; else failed++;
  console.log(`${good ? "ok  " : "FAIL"} ${what}${good ? "" : "  " + JSON.stringify(seen)}`);
};

/** Returns a glTF of a coloured quad whose upper edge a morph target moves, and of a clip. */
function animatedModel() {
  const arrays = [
    new Float32Array([-1, 0, 0, 1, 0, 0, 1, 1, 0, -1, 1, 0]),
    new Float32Array([0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1]),
    new Float32Array([1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 1]),
    new Uint16Array([0, 1, 2, 0, 2, 3]),
    new Float32Array([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0]),
    new Float32Array([0, 1, 2]),
    new Float32Array([0, 0, 0, 1, 0, 0.7071068, 0, 0.7071068, 0, 0, 0, 1]),
    new Float32Array([0, 1, 0]),
  ];
  const types = ["VEC3", "VEC3", "VEC4", "SCALAR", "VEC3", "SCALAR", "VEC4", "SCALAR"], width = { SCALAR: 1, VEC3: 3, VEC4: 4 };
  const bytes = Buffer.concat(arrays.map((array) => Buffer.from(array.buffer)));
  let offset = 0;
  const bufferViews = arrays.map((array) => ({ buffer: 0, byteOffset: (offset += array.byteLength) - array.byteLength, byteLength: array.byteLength }));
  const accessors = arrays.map((array, n) => ({ bufferView: n, componentType: n === 3 ? 5123 : 5126, count: array.length / width[types[n]], type: types[n] }));
  Object.assign(accessors[0], { min: [-1, 0, 0], max: [1, 1, 0] });
  Object.assign(accessors[4], { min: [0, 0, 0], max: [0, 1, 0] });
  Object.assign(accessors[5], { min: [0], max: [2] });
  return {
    asset: { version: "2.0" }, scene: 0, scenes: [{ nodes: [0] }], nodes: [{ name: "pole", mesh: 0 }],
    meshes: [{ primitives: [{ attributes: { POSITION: 0, NORMAL: 1, COLOR_0: 2 }, indices: 3, targets: [{ POSITION: 4 }] }], weights: [0], extras: { targetNames: ["raise"] } }],
    animations: [{
      name: "wave", samplers: [{ input: 5, output: 6 }, { input: 5, output: 7 }],
      channels: [{ sampler: 0, target: { node: 0, path: "rotation" } }, { sampler: 1, target: { node: 0, path: "weights" } }],
    }],
    accessors, bufferViews, buffers: [{ byteLength: bytes.length, uri: "data:application/octet-stream;base64," + bytes.toString("base64") }],
  };
}

/* ---- Test files ---- */

const tree = join(room, "tree"), old = join(room, "old.html"), page = join(room, "new.html");
cpSync(output, tree, { recursive: true });
rmSync(join(tree, ".assetc-cache"), { force: true });
const run = (...args) => spawnSync(assetc, args, { encoding: "utf8", cwd: room });
const first = run("report", tree, "--out", old);
check("a report on a valid output succeeds", first.status === 0, first.stderr);
const all = readdirSync(tree, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).map((e) => join(e.parentPath ?? e.path, e.name));
const some = (ext, n = 0) => all.filter((f) => f.endsWith(ext)).sort()[n];
// A model with vertex colours, a morph target, and a clip that rotates its node and moves the weight.
const scene = join(room, "scene");
mkdirSync(join(scene, "assets"), { recursive: true });
writeFileSync(join(scene, "assets", "flag.gltf"), JSON.stringify(animatedModel()));
writeFileSync(join(scene, "assetc.yml"), "default: {mesh: {merge: false, scene_data: true}}\n");
const built = spawnSync(assetc, ["-q"], { encoding: "utf8", cwd: scene });
check("a model with morph targets and node animation compiles", built.status === 0, built.stderr);
const parts = readdirSync(join(scene, "runtime")).filter((name) => name.startsWith("flag."));
for (const name of parts) cpSync(join(scene, "runtime", name), join(tree, name));
const markupNames = ['"><img src=x onerror=window.pwned=1>.ktx2', "<", "'onmouseover='window.pwned=1.hmesh"];
cpSync(some(".ktx2"), join(tree, markupNames[0]));
mkdirSync(join(tree, markupNames[1]));
cpSync(some(".ktx2"), join(tree, markupNames[1], "script><script>window.pwned=1<.ktx2"));
writeFileSync(join(tree, markupNames[2]), "HMSH and nothing more");
const cut = some(".ktx2", 1);
truncateSync(cut, 300);
rmSync(some(".ktx2", 2));
const second = run("report", tree, "--out", page, "--since", old, "--json");
check("a report on a damaged output is written, and the exit code is 1", second.status === 1, second.stderr);
const summary = JSON.parse(second.stdout);
check("the JSON summary counts damaged and changed files", summary.broken === 2 && summary.since.added === 3 + parts.length && summary.since.removed === 1 && summary.since.changed === 1, summary);
const data = JSON.parse(readFileSync(page, "utf8").split('id="kiln-report">')[1].split("</script>")[0]);

/* ---- The browser ---- */

const names = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].filter(Boolean);
const program = names.find((name) => spawnSync(name, ["--version"]).status === 0);
if (!program) throw new Error("Chromium was not found; set CHROMIUM to its path");
const browser = spawn(program, ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
  "--hide-scrollbars", "--force-color-profile=srgb", `--user-data-dir=${join(room, "profile")}`, "--remote-debugging-pipe", "about:blank"],
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [, , , into, from] = browser.stdio;
const waiting = new Map(), events = [];
let last = 0, text = "";
from.setEncoding("utf8").on("data", (part) => {
  text += part;
  for (let end; (end = text.indexOf("\0")) >= 0; text = text.slice(end + 1)) {
    const message = JSON.parse(text.slice(0, end));
    if (message.id) waiting.get(message.id)?.(message); else events.push(message);
  }
});
let session;
const send = (method, params = {}) => new Promise((done, fail) => {
  const id = ++last;
  waiting.set(id, (m) => { waiting.delete(id); if (m.error) fail(new Error(`${method}: ${m.error.message}`)); else done(m.result); });
  into.write(JSON.stringify({ id, method, params, sessionId: session }) + "\0");
});
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const ask = async (expression) => {
  const { result, exceptionDetails } = await send("Runtime.evaluate", { expression: `(async () => { return ${expression} })()`, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(expression + ": " + (exceptionDetails.exception?.description || exceptionDetails.text));
  return result.value;
};
/** Waits until an expression is true. */
const until = async (expression, ms = 15000) => {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(60)) if (await ask(expression)) return true;
  return false;
};
const CODES = { Enter: 13, Escape: 27, Tab: 9, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, " ": 32 };
const press = async (key) => {
  const printable = key.length === 1 ? key : key === "Enter" ? "\r" : undefined;
  const event = { key, text: printable, windowsVirtualKeyCode: CODES[key] ?? key.toUpperCase().charCodeAt(0) };
  await send("Input.dispatchKeyEvent", { type: printable ? "keyDown" : "rawKeyDown", ...event });
  await send("Input.dispatchKeyEvent", { type: "keyUp", ...event, text: undefined });
  await sleep(40);
};
const click = async (selector) => {
  const at = await ask(`(() => { const e = document.querySelector(${JSON.stringify(selector)}); if (!e) return null; e.scrollIntoView({ block: "center" }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`);
  if (!at) throw new Error("nothing to click: " + selector);
  for (const type of ["mousePressed", "mouseReleased"]) await send("Input.dispatchMouseEvent", { type, x: at[0], y: at[1], button: "left", clickCount: 1 });
  await sleep(80);
};
const card = (path) => `#list a[href="#${CSS_escape(encodeURIComponent(path))}"]`;
const CSS_escape = (t) => t.replace(/["\\]/g, "\\$&");
/** Returns a hash of a canvas and the fraction of it that is drawn. */
const look = (selector) => ask(`(() => {
  const c = document.querySelector(${JSON.stringify(selector)}), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
  let hash = 0, drawn = 0;
  for (let i = 0; i < d.length; i += 4) { hash = (Math.imul(hash, 31) + d[i] * 7 + d[i + 1] * 5 + d[i + 2] * 3 + d[i + 3]) | 0; drawn += d[i + 3] > 0; }
  return { hash, drawn: drawn / (d.length / 4), width: c.width, height: c.height };
})()`);
const shot = async (name) => {
  if (!shots) return;
  mkdirSync(shots, { recursive: true });
  const { data } = await send("Page.captureScreenshot", { format: "png" });
  writeFileSync(join(shots, name + ".png"), Buffer.from(data, "base64"));
};

try {
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  session = (await send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
  for (const domain of ["Page", "Runtime", "Network", "Log"]) await send(domain + ".enable");
  await send("Emulation.setDeviceMetricsOverride", { width: 1440, height: 900, deviceScaleFactor: 1, mobile: false });
  await send("Page.navigate", { url: pathToFileURL(page).href });
  check("the page loads", await until('document.querySelectorAll("#list .card").length > 0'));
  const count = data.files.length;
  check("every file has a card", await ask('document.querySelectorAll("#list .card").length') === count);
  check("the sizes are those of the data", (await ask('document.getElementById("tiles").textContent')).includes("files"));
  check("thumbnails are rendered", await until('document.querySelectorAll(".cover canvas").length >= 12'));
  await sleep(1500);
  await shot("gallery");

  // Names that contain markup.
  check("file names are not parsed as markup", await ask("window.pwned === undefined && document.images.length === 0"));
  check("file names with markup are shown literally", await ask(`[...document.querySelectorAll(".card b")].some((b) => b.textContent === ${JSON.stringify(markupNames[0])})`));
  check("damaged files are reported", await ask('document.querySelector("#messages .bad").textContent') .then((t) => t.includes("2 files are damaged")));
  await click(card(markupNames[2]));
  check("the error of a damaged file is shown", (await ask('document.querySelector("#detail .bad").textContent')).startsWith("Damaged: "));
  await press("Escape");
  check("removed files are listed", (await ask('document.getElementById("messages").textContent')).includes("1 file is removed since the previous report"));

  // Search, kinds, order and views, with keys.
  await press("/");
  for (const c of "bricks") await press(c);
  const bricks = data.files.filter((f) => `${f.path} ${f.line || ""} ${f.error || ""}`.toLowerCase().includes("bricks")).length;
  check("search narrows the list", await ask('document.querySelectorAll("#list .card").length') === bricks && bricks > 0 && bricks < count);
  await press("Escape");
  await press("Escape");
  check("Escape clears the search", await ask('document.querySelectorAll("#list .card").length') === count);
  await press("v");
  check("the table view lists all files", await ask('document.querySelectorAll("#list tbody tr").length') === count);
  await click("#list th:nth-child(3) button");
  const biggest = [...data.files].sort((a, b) => b.size - a.size)[0].path;
  check("the table sorts by size", await ask('document.querySelector("#list tbody a").textContent') === biggest);
  await shot("table");
  await press("v");
  await click('#kinds button:nth-child(1)');
  check("a kind narrows the list", await ask('document.querySelectorAll("#list .card").length') === data.kinds[0].files);
  await click('#kinds button:nth-child(1)');
  await ask('(document.activeElement.blur(), document.querySelector("#list a[tabindex=\\"0\\"]").focus())');
  const start = await ask("document.activeElement.title");
  await press("ArrowRight");
  check("arrow keys move through the list", await ask("document.activeElement.title") !== start);
  await press("Enter");
  check("Enter opens a file", await until('!document.getElementById("detail").hidden'));
  await press("j");
  check("j opens the next file", await ask("document.activeElement.title === document.querySelector('#detail h2').textContent"));
  await press("?");
  check("? shows the keyboard shortcuts", await ask('document.getElementById("help").open'));
  await press("Escape");
  await press("Escape");
  check("Escape closes the details", await ask('document.getElementById("detail").hidden'));

  // A texture with a mip chain.
  const sound = (f) => !f.error && !f.path.includes("pwned");
  const mipped = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.levels.length > 2 && f.facts.faces === 1 && f.facts.layers === 1 && f.holds === "RGB");
  await click(card(mipped.path));
  await until('document.querySelector("#detail .frame canvas")?.dataset.level === "0"');
  const zero = await look("#detail .frame canvas");
  check("a texture is shown in its size", zero.width === mipped.levels[0].shown[0] && zero.drawn === 1, zero);
  const same = await ask(`(async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("b${mipped.levels[0].images[0]}").textContent), (c) => c.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]), { colorSpaceConversion: "none" }), c = document.createElement("canvas");
    c.width = image.width; c.height = image.height;
    c.getContext("2d").drawImage(image, 0, 0);
    const at = (c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data, a = at(c), b = at(document.querySelector("#detail .frame canvas"));
    let most = 0;
    for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
    return most;
  })()`);
  check("the texels are those of the PNG", same === 0, same);
  await press("]");
  await until('document.querySelector("#detail .frame canvas").dataset.level === "1"');
  const one = await look("#detail .frame canvas");
  check("mip levels can be selected", one.width === mipped.levels[1].shown[0] && one.hash !== zero.hash, one);
  await press("[");
  await click('#detail [aria-label="Channels"] button:nth-child(2)');
  await sleep(200);
  const red = await look("#detail .frame canvas");
  check("single channels can be shown", red.hash !== zero.hash && red.drawn === 1);
  await shot("texture");
  const normals = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.holds === "RG");
  if (normals) {
    await click(card(normals.path));
    await until('document.querySelector("#detail .frame canvas")?.dataset.level === "0"');
    const blue = await ask(`(() => { const c = document.querySelector("#detail .frame canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let sum = 0; for (let i = 2; i < d.length; i += 4) sum += d[i]; return sum / (d.length / 4); })()`);
    check("z of normal maps is reconstructed", blue > 180, blue);
  }
  const cube = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.facts.faces === 6);
  if (cube) {
    await click(card(cube.path));
    await until(`document.querySelector("#detail .frame canvas")?.width === ${4 * cube.levels[0].shown[0]}`);
    const cross = await look("#detail .frame canvas");
    check("a cubemap is unfolded", cross.height === 3 * cube.levels[0].shown[0] && Math.abs(cross.drawn - 0.5) < 0.01, cross);
    await shot("cube");
    await press("u");
    await sleep(200);
    const plus = await look("#detail .frame canvas");
    await press(".");
    await sleep(200);
    const minus = await look("#detail .frame canvas");
    check("faces can be selected", plus.width === cube.levels[0].shown[0] && plus.hash !== minus.hash);
  }
  const layered = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.facts.layers > 1);
  if (layered) {
    await click(card(layered.path));
    await sleep(300);
    const before = await look("#detail .frame canvas");
    await press(">");
    await sleep(300);
    check("layers can be selected", (await look("#detail .frame canvas")).hash !== before.hash);
  }
  const volume = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.facts.depth > 1);
  if (volume) {
    await click(card(volume.path));
    await sleep(300);
    const before = await look("#detail .frame canvas");
    await press(".");
    await sleep(300);
    check("slices can be selected", (await look("#detail .frame canvas")).hash !== before.hash);
  }

  // Meshes.
  const view = "#detail .view";
  const frames = () => ask(`Number(document.querySelector("${view}").dataset.frames || 0)`);
  const settled = async () => { for (let seen = -1, now = await frames(); now !== seen; now = await frames()) { seen = now; await sleep(350); } return look(view); };
  const meshes = data.files.filter((f) => f.ext === "hmesh" && !f.error);
  for (const mesh of meshes) {
    await click(card(mesh.path));
    await until(`document.querySelector("${view}")?.dataset.frames > 0`);
    const material = await settled();
    check(`${mesh.path} is drawn`, material.drawn > 0.02 && material.drawn < 0.98, material);
    const modes = await ask(`document.querySelectorAll('#detail [aria-label="Shading"] button').length`);
    const seen = new Set([material.hash]);
    for (let i = 2; i <= modes; i++) {
      await click(`#detail [aria-label="Shading"] button:nth-child(${i})`);
      seen.add((await settled()).hash);
      if (i === 5 && mesh.facts.meshlets > 3) await shot("meshlets-" + mesh.path.replaceAll("/", "-"));
    }
    check(`${mesh.path}: every shading mode gives another image`, seen.size === modes, [seen.size, modes]);
    await click('#detail [aria-label="Shading"] button:nth-child(2)');
    let before = await settled();
    for (const key of ["w", "b", "n"]) {
      await press(key);
      const after = await settled();
      check(`${mesh.path}: key ${key} changes the image`, after.hash !== before.hash);
      before = after;
    }
    await shot("layers-" + mesh.path.replaceAll("/", "-"));
    for (const key of ["w", "b", "n"]) await press(key);
    before = await settled();
    await ask(`document.querySelector("${view}").focus()`);
    await press("ArrowLeft");
    check(`${mesh.path}: arrow keys rotate the mesh`, (await settled()).hash !== before.hash);
    if (mesh.facts.lods) {
      const label = await ask(`document.querySelector('#detail .stepper output').textContent`);
      check(`${mesh.path}: the triangle count matches the facts`, label === `0 · ${mesh.facts.triangles.toLocaleString("en-GB")} ${mesh.facts.triangles === 1 ? "triangle" : "triangles"}`, label);
      await press("w");
      before = await settled();
      for (let i = 0; i < mesh.facts.lods; i++) await press("]");
      const fewer = (await ask(`document.querySelector('#detail .stepper output').textContent`)).split(" · ")[1] !== label.split(" · ")[1];
      check(`${mesh.path}: LODs are drawn`, ((await settled()).hash !== before.hash) === fewer);
      await press("w");
    }
    await click('#detail [aria-label="Shading"] button:nth-child(1)');
    await settled();
    await shot("mesh-" + mesh.path.replaceAll("/", "-"));
    if (data.files.some((f) => f.path === mesh.path.replace(/hmesh$/, "hanim"))) {
      before = await settled();
      await press("p");
      await sleep(900);
      const later = await look(view), n = await frames();
      await sleep(500);
      check(`${mesh.path}: the clip plays`, later.hash !== before.hash && (await frames()) > n && (await look(view)).hash !== later.hash);
      await shot("playing");
      await press("p");
      const still = await settled();
      await sleep(300);
      check(`${mesh.path}: the clip pauses`, (await look(view)).hash === still.hash);
      await press("s");
      check(`${mesh.path}: the skeleton is drawn`, (await settled()).hash !== still.hash);
    }
  }

  // Vertex colours, morph targets and the clips of a scene.
  await click(card("flag.hmesh"));
  await until(`document.querySelector("${view}")?.dataset.frames > 0`);
  const modeNames = await ask(`[...document.querySelectorAll('#detail [aria-label="Shading"] button')].map((b) => b.textContent)`);
  const colours = modeNames.findIndex((name) => name.startsWith("Colours"));
  check("vertex colours are a shading mode", colours >= 0, modeNames);
  await click(`#detail [aria-label="Shading"] button:nth-child(${colours + 1})`);
  const resting = await settled();
  const hues = await ask(`(() => { const c = document.querySelector("${view}"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, found = new Set();
    for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) found.add([d[i], d[i + 1], d[i + 2]].map((v) => v > 170 ? 1 : 0).join("")); return [...found]; })()`);
  check("the colours of the vertices are drawn", ["100", "010", "001"].every((hue) => hues.includes(hue)), hues);
  const slide = async (label, value) => { await ask(`((i) => { i.value = ${value}; i.dispatchEvent(new Event("input")); })(document.querySelector('#detail input[aria-label="${label}"]'))`); return settled(); };
  check("a slider has the name of its morph target", await ask(`document.querySelector('#detail .morphs label').textContent`).then((t) => t.startsWith("raise")));
  const raised = await slide("Morph target raise", 1);
  check("a morph target moves vertices", raised.hash !== resting.hash && raised.drawn > 1.2 * resting.drawn, [raised, resting]);
  check("a morph target moves them back", (await slide("Morph target raise", 0)).drawn === resting.drawn);
  await shot("morphs");
  await ask(`((s) => { s.value = 0; s.dispatchEvent(new Event("change")); })(document.querySelector('#detail select[aria-label="Clip"]'))`);
  const turned = await slide("Time", 1);
  check("a clip moves the weights of its node", turned.drawn > 1.2 * resting.drawn, [turned, resting]);
  check("a clip rotates its node", turned.hash !== raised.hash, [turned, raised]);
  await shot("node-animation");
  check("a clip ends as it started", Math.abs((await slide("Time", 2)).drawn - resting.drawn) < 0.02, resting);

  // Materials, animations, shaders.
  const table = data.files.find((f) => f.ext === "hmat" && !f.error);
  if (table) {
    await click(card(table.path));
    await sleep(800);
    check("material previews are drawn", (await look("#detail .ball")).drawn > 0.4);
    await shot("material");
  }
  const font = data.files.find((f) => f.ext === "hfont" && !f.error);
  if (font) {
    await click(card(font.path));
    await until(`document.querySelector("${view}")?.dataset.frames > 0`);
    const set = await settled();
    check("text is rendered in a font", set.drawn > 0.02 && set.drawn < 0.5, set);
    await shot("font");
    const after = async (act) => { const n = await frames(); await act(); await until(`document.querySelector("${view}").dataset.frames > ${n}`); return settled(); };
    // After a read-back a canvas is drawn on the CPU, which rounds differently: the first image is not compared.
    const hashes = [];
    for (let i = 0; i < 4; i++) hashes.push((await after(() => press("k"))).hash);
    check("kerning changes the text reproducibly", hashes[0] !== hashes[1] && hashes[0] === hashes[2] && hashes[1] === hashes[3], hashes);
    check("font sizes can be selected", (await after(() => press("]"))).height !== set.height);
    await after(() => ask(`((t) => { t.value = "A☃"; t.dispatchEvent(new Event("input")); })(document.querySelector("#detail textarea"))`));
    const missing = await ask(`document.querySelector("#detail .note").textContent`);
    check("missing glyphs are reported", missing === "Missing glyphs: ☃", missing);
  }
  const shader = data.files.find((f) => f.ext === "spv" && !f.error && f.facts.bindings?.length);
  if (shader) {
    await click(card(shader.path));
    const rows = await ask(`[...document.querySelectorAll("#detail section")].find((s) => s.querySelector("h3").textContent === "bindings").querySelectorAll("tbody tr").length`);
    check("the bindings of a shader are listed", rows === shader.facts.bindings.length, rows);
    await shot("shader");
  }
  await click("#theme");
  await press("Escape");
  await ask("scrollTo(0, 0)");
  await sleep(800);
  await shot("other-theme");
  await send("Emulation.setDeviceMetricsOverride", { width: 420, height: 800, deviceScaleFactor: 1, mobile: false });
  await sleep(300);
  check("a narrow window needs no horizontal scrolling", await ask("document.documentElement.scrollWidth <= innerWidth"), await ask("[document.documentElement.scrollWidth, innerWidth]"));
  await shot("narrow");

  const requests = events.filter((e) => e.method === "Network.requestWillBeSent").map((e) => e.params.request.url);
  check("no other resource is loaded", requests.every((url) => url.startsWith("file://" ) && url.endsWith("new.html") || url.startsWith("blob:") || url.startsWith("data:")), requests);
  // This test reads canvases back often, which Chromium warns about.
  const own = (e) => JSON.stringify(e.params).includes("willReadFrequently");
  const faults = events.filter((e) => !own(e)).filter((e) => e.method === "Runtime.exceptionThrown" || (e.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(e.params.type)) || (e.method === "Log.entryAdded" && ["error", "warning"].includes(e.params.entry.level)));
  check("the browser console has no errors or warnings", faults.length === 0, faults.slice(0, 5).map((e) => e.params.exceptionDetails?.exception?.description || e.params.entry?.text || e.params.args));
  check("file names are still not parsed as markup", await ask("window.pwned === undefined"));
} catch (error) {
  check("the test runs to its end", false, String(error.stack || error));
} finally {
  browser.kill();
  await sleep(300);
  rmSync(room, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
