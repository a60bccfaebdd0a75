// Reports in a real browser: `node browser.mjs <assetc> <output directory> [directory for screenshots]`.
//
// Makes a report over a copy of the output in which some files are damaged and some have names that would be markup,
// opens it from the disk in headless Chromium, and works with it: clicks, keys, canvases, and what the network saw.
// Speaks the DevTools protocol over a pipe, so that it needs Node and Chromium and nothing else.

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

/* ---- The files ---- */

const tree = join(room, "tree"), old = join(room, "old.html"), page = join(room, "new.html");
cpSync(output, tree, { recursive: true });
rmSync(join(tree, ".assetc-cache"), { force: true });
const run = (...args) => spawnSync(assetc, args, { encoding: "utf8", cwd: room });
const first = run("report", tree, "--out", old);
check("a report of a sound output succeeds", first.status === 0, first.stderr);
const all = readdirSync(tree, { recursive: true, withFileTypes: true }).filter((e) => e.isFile()).map((e) => join(e.parentPath ?? e.path, e.name));
const some = (ext, n = 0) => all.filter((f) => f.endsWith(ext)).sort()[n];
const hostile = ['"><img src=x onerror=window.pwned=1>.ktx2', "<", "'onmouseover='window.pwned=1.hmesh"];
cpSync(some(".ktx2"), join(tree, hostile[0]));
mkdirSync(join(tree, hostile[1]));
cpSync(some(".ktx2"), join(tree, hostile[1], "script><script>window.pwned=1<.ktx2"));
writeFileSync(join(tree, hostile[2]), "HMSH and nothing more");
const cut = some(".ktx2", 1);
truncateSync(cut, 300);
rmSync(some(".ktx2", 2));
const second = run("report", tree, "--out", page, "--since", old, "--json");
check("a report of a damaged output is written all the same, and fails", second.status === 1, second.stderr);
const told = JSON.parse(second.stdout);
check("it says what is broken and what changed", told.broken === 2 && told.since.added === 3 && told.since.removed === 1 && told.since.changed === 1, told);
const data = JSON.parse(readFileSync(page, "utf8").split('id="kiln-report">')[1].split("</script>")[0]);

/* ---- The browser ---- */

const names = [process.env.CHROMIUM, "chromium", "chromium-browser", "google-chrome"].filter(Boolean);
const program = names.find((name) => spawnSync(name, ["--version"]).status === 0);
if (!program) throw new Error("there is no Chromium; set CHROMIUM to one");
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
/** What a canvas shows, as a number, and how much of it is drawn. */
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
  check("the page comes up", await until('document.querySelectorAll("#list .card").length > 0'));
  const count = data.files.length;
  check("there is a card for every file", await ask('document.querySelectorAll("#list .card").length') === count);
  check("the sizes are those of the data", (await ask('document.getElementById("tiles").textContent')).includes("files"));
  check("covers are painted", await until('document.querySelectorAll(".cover canvas").length >= 12'));
  await sleep(1500);
  await shot("gallery");

  // Names that would be markup.
  check("no name became markup", await ask("window.pwned === undefined && document.images.length === 0"));
  check("and they are shown as they are", await ask(`[...document.querySelectorAll(".card b")].some((b) => b.textContent === ${JSON.stringify(hostile[0])})`));
  check("damage is told", await ask('document.querySelector("#messages .bad").textContent') .then((t) => t.includes("2 files are damaged")));
  await click(card(hostile[2]));
  check("with its reason", (await ask('document.querySelector("#detail .bad").textContent')).startsWith("Damaged: "));
  await press("Escape");
  check("what is gone is listed", (await ask('document.getElementById("messages").textContent')).includes("1 file is gone"));

  // Search, kinds, order and views, with keys.
  await press("/");
  for (const c of "bricks") await press(c);
  const bricks = data.files.filter((f) => `${f.path} ${f.line || ""} ${f.error || ""}`.toLowerCase().includes("bricks")).length;
  check("search narrows the list", await ask('document.querySelectorAll("#list .card").length') === bricks && bricks > 0 && bricks < count);
  await press("Escape");
  await press("Escape");
  check("escape brings all back", await ask('document.querySelectorAll("#list .card").length') === count);
  await press("v");
  check("there is a table", await ask('document.querySelectorAll("#list tbody tr").length') === count);
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
  check("arrows move through the list", await ask("document.activeElement.title") !== start);
  await press("Enter");
  check("enter opens", await until('!document.getElementById("detail").hidden'));
  await press("j");
  check("j goes on to the next", await ask("document.activeElement.title === document.querySelector('#detail h2').textContent"));
  await press("?");
  check("? shows the keys", await ask('document.getElementById("help").open'));
  await press("Escape");
  await press("Escape");
  check("escape closes", await ask('document.getElementById("detail").hidden'));

  // A texture with levels.
  const sound = (f) => !f.error && !f.path.includes("pwned");
  const mipped = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.levels.length > 2 && f.facts.faces === 1 && f.facts.layers === 1 && f.holds === "RGB");
  await click(card(mipped.path));
  await until('document.querySelector("#detail .frame canvas")?.dataset.level === "0"');
  const zero = await look("#detail .frame canvas");
  check("a texture is painted at its size", zero.width === mipped.levels[0].shown[0] && zero.drawn === 1, zero);
  const same = await ask(`(async () => {
    const bytes = Uint8Array.from(atob(document.getElementById("b${mipped.levels[0].images[0]}").textContent), (c) => c.charCodeAt(0));
    const picture = await createImageBitmap(new Blob([bytes]), { colorSpaceConversion: "none" }), c = document.createElement("canvas");
    c.width = picture.width; c.height = picture.height;
    c.getContext("2d").drawImage(picture, 0, 0);
    const at = (c) => c.getContext("2d").getImageData(0, 0, c.width, c.height).data, a = at(c), b = at(document.querySelector("#detail .frame canvas"));
    let most = 0;
    for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
    return most;
  })()`);
  check("texel by texel", same === 0, same);
  await press("]");
  await until('document.querySelector("#detail .frame canvas").dataset.level === "1"');
  const one = await look("#detail .frame canvas");
  check("its levels are stepped through", one.width === mipped.levels[1].shown[0] && one.hash !== zero.hash, one);
  await press("[");
  await click('#detail [aria-label="Channels"] button:nth-child(2)');
  await sleep(200);
  const red = await look("#detail .frame canvas");
  check("its channels can be seen alone", red.hash !== zero.hash && red.drawn === 1);
  await shot("texture");
  const normals = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.holds === "RG");
  if (normals) {
    await click(card(normals.path));
    await until('document.querySelector("#detail .frame canvas")?.dataset.level === "0"');
    const blue = await ask(`(() => { const c = document.querySelector("#detail .frame canvas"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let sum = 0; for (let i = 2; i < d.length; i += 4) sum += d[i]; return sum / (d.length / 4); })()`);
    check("normals get their third part", blue > 180, blue);
  }
  const cube = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.facts.faces === 6);
  if (cube) {
    await click(card(cube.path));
    await until(`document.querySelector("#detail .frame canvas")?.width === ${4 * cube.levels[0].shown[0]}`);
    const cross = await look("#detail .frame canvas");
    check("a cube is unfolded", cross.height === 3 * cube.levels[0].shown[0] && Math.abs(cross.drawn - 0.5) < 0.01, cross);
    await shot("cube");
    await press("u");
    await sleep(200);
    const plus = await look("#detail .frame canvas");
    await press(".");
    await sleep(200);
    const minus = await look("#detail .frame canvas");
    check("its faces are stepped through", plus.width === cube.levels[0].shown[0] && plus.hash !== minus.hash);
  }
  const layered = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.facts.layers > 1);
  if (layered) {
    await click(card(layered.path));
    await sleep(300);
    const before = await look("#detail .frame canvas");
    await press(">");
    await sleep(300);
    check("layers are stepped through", (await look("#detail .frame canvas")).hash !== before.hash);
  }
  const volume = data.files.find((f) => f.ext === "ktx2" && sound(f) && f.facts.depth > 1);
  if (volume) {
    await click(card(volume.path));
    await sleep(300);
    const before = await look("#detail .frame canvas");
    await press(".");
    await sleep(300);
    check("slices are stepped through", (await look("#detail .frame canvas")).hash !== before.hash);
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
    check(`${mesh.path}: every shading is another picture`, seen.size === modes, [seen.size, modes]);
    await click('#detail [aria-label="Shading"] button:nth-child(2)');
    let before = await settled();
    for (const key of ["w", "b", "n"]) {
      await press(key);
      const after = await settled();
      check(`${mesh.path}: ${key} changes what is seen`, after.hash !== before.hash);
      before = after;
    }
    await shot("layers-" + mesh.path.replaceAll("/", "-"));
    for (const key of ["w", "b", "n"]) await press(key);
    before = await settled();
    await ask(`document.querySelector("${view}").focus()`);
    await press("ArrowLeft");
    check(`${mesh.path}: arrows turn it`, (await settled()).hash !== before.hash);
    if (mesh.facts.lods) {
      const told = await ask(`document.querySelector('#detail .stepper output').textContent`);
      check(`${mesh.path}: the script counts the triangles that the tool counts`, told === `0 · ${mesh.facts.tris.toLocaleString("en-GB")} ${mesh.facts.tris === 1 ? "triangle" : "triangles"}`, told);
      await press("w");
      before = await settled();
      for (let i = 0; i < mesh.facts.lods; i++) await press("]");
      const fewer = (await ask(`document.querySelector('#detail .stepper output').textContent`)).split(" · ")[1] !== told.split(" · ")[1];
      check(`${mesh.path}: levels of detail are drawn`, ((await settled()).hash !== before.hash) === fewer);
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
      check(`${mesh.path}: its clip plays`, later.hash !== before.hash && (await frames()) > n && (await look(view)).hash !== later.hash);
      await shot("playing");
      await press("p");
      const still = await settled();
      await sleep(300);
      check(`${mesh.path}: and stops`, (await look(view)).hash === still.hash);
      await press("s");
      check(`${mesh.path}: its skeleton is drawn`, (await settled()).hash !== still.hash);
    }
  }

  // Materials, animations, shaders.
  const table = data.files.find((f) => f.ext === "hmat" && !f.error);
  if (table) {
    await click(card(table.path));
    await sleep(800);
    check("materials are balls", (await look("#detail .ball")).drawn > 0.4);
    await shot("material");
  }
  const font = data.files.find((f) => f.ext === "hfont" && !f.error);
  if (font) {
    await click(card(font.path));
    await until(`document.querySelector("${view}")?.dataset.frames > 0`);
    const set = await settled();
    check("text is set in a font", set.drawn > 0.02 && set.drawn < 0.5, set);
    await shot("font");
    const after = async (act) => { const n = await frames(); await act(); await until(`document.querySelector("${view}").dataset.frames > ${n}`); return settled(); };
    // A canvas that was read back is drawn on the processor from then on, which rounds otherwise: the first is not compared.
    const hashes = [];
    for (let i = 0; i < 4; i++) hashes.push((await after(() => press("k"))).hash);
    check("kerning moves it, and back", hashes[0] !== hashes[1] && hashes[0] === hashes[2] && hashes[1] === hashes[3], hashes);
    check("sizes are stepped through", (await after(() => press("]"))).height !== set.height);
    await after(() => ask(`((t) => { t.value = "A☃"; t.dispatchEvent(new Event("input")); })(document.querySelector("#detail textarea"))`));
    const missing = await ask(`document.querySelector("#detail .note").textContent`);
    check("a character that is missing is told", missing === "Not in this font: ☃", missing);
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
  check("nothing is wider than a narrow window", await ask("document.documentElement.scrollWidth <= innerWidth"), await ask("[document.documentElement.scrollWidth, innerWidth]"));
  await shot("narrow");

  const requests = events.filter((e) => e.method === "Network.requestWillBeSent").map((e) => e.params.request.url);
  check("nothing was loaded but the page", requests.every((url) => url.startsWith("file://" ) && url.endsWith("new.html") || url.startsWith("blob:") || url.startsWith("data:")), requests);
  // It does complain about how often this test reads canvases back.
  const own = (e) => JSON.stringify(e.params).includes("willReadFrequently");
  const faults = events.filter((e) => !own(e)).filter((e) => e.method === "Runtime.exceptionThrown" || (e.method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(e.params.type)) || (e.method === "Log.entryAdded" && ["error", "warning"].includes(e.params.entry.level)));
  check("the browser has nothing to complain about", faults.length === 0, faults.slice(0, 5).map((e) => e.params.exceptionDetails?.exception?.description || e.params.entry?.text || e.params.args));
  check("and still no name became markup", await ask("window.pwned === undefined"));
} catch (error) {
  check("the test itself", false, String(error.stack || error));
} finally {
  browser.kill();
  await sleep(300);
  rmSync(room, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
