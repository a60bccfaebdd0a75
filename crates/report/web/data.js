// The data of the report, and how things are said and put on the page.
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
// Files of some size with the same content, which a hash of 64 bits tells well enough for a hint.
const twins = new Map();
for (const file of files) {
  const key = file.hash && file.size > 256 && !file.error ? file.hash + file.size : null;
  if (key) twins.set(key, [...(twins.get(key) || []), file]);
  file.twins = () => (twins.get(key) || []).filter((other) => other !== file);
}
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
