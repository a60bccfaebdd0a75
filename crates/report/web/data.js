// The report data, and helpers to format values and to create elements.
// Strings from the data are inserted as text nodes or attributes, never as markup.

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
// Groups of duplicate files of more than 256 bytes; a 64-bit hash is sufficient for a hint.
const duplicates = new Map();
for (const file of files) {
  const key = file.hash && file.size > 256 && !file.error ? file.hash + file.size : null;
  if (key) duplicates.set(key, [...(duplicates.get(key) || []), file]);
  file.duplicates = () => (duplicates.get(key) || []).filter((other) => other !== file);
}
const $ = (id) => document.getElementById(id);

/** Creates an element with properties, attributes (names with a dash or in `attrs`) and children. */
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
