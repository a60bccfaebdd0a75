// The page: header, file list, detail panel and keyboard shortcuts.

/* ---- Page header ---- */

$("title").textContent = report.title;
function head() {
  const tile = (value, label, note, mood) => el("div", { class: "tile" + (mood ? " " + mood : "") }, el("b", {}, value), el("span", {}, label), note && el("small", {}, note));
  const since = report.since, grown = since ? report.size - since.size : 0;
  $("tiles").append(tile(size(report.size), "total", since && `${signed(grown)} since ${since.title}`, grown > 0 && since ? "up" : grown < 0 ? "down" : ""));
  $("tiles").append(tile(number(files.length), "files", since && `${since.added} new, ${since.changed} changed, ${since.removed} removed`));
  for (const kind of report.kinds) {
    const totals = Object.entries(kind.totals).filter(([name]) => name !== "gpu_bytes").slice(0, 2).map(([name, n]) => `${number(n)} ${words(name)}`).join(" · ");
    const memory = kind.totals.gpu_bytes || 0;
    const made = tile(number(kind.files), kind.files === 1 ? kind.noun : kind.title, memory ? `${kind.ext === "ktx2" ? size(kind.size) : totals} · ${size(memory)} GPU memory` : totals || size(kind.size));
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
  const warnings = report.warnings || [];
  if (warnings.length) {
    $("messages").append(el("details", { class: "message" }, el("summary", {}, plural(warnings.length, "warning", "warnings") + " of the build"),
      el("ul", {}, warnings.slice(0, 1000).map((text) => el("li", {}, text)))));
  }
  for (const text of report.problems) $("messages").append(el("div", { class: "message bad" }, text));
  const spare = [...duplicates.values()].filter((group) => group.length > 1);
  if (spare.length) {
    const wasted = spare.reduce((sum, group) => sum + group[0].size * (group.length - 1), 0);
    $("messages").append(el("details", { class: "message" }, el("summary", {}, `${size(wasted)} in duplicate files`),
      el("ul", {}, spare.slice(0, 200).map((group) => el("li", {}, group.slice(0, 20).flatMap((f) => [el("a", { href: link(f) }, f.path), " "]), el("small", {}, size(group[0].size)))))));
  }
  for (const text of report.notes) $("messages").append(el("div", { class: "message" }, text + "."));
  if (since && since.gone.length) {
    const gone = [...since.gone].sort((a, b) => b.size - a.size);
    $("messages").append(el("details", { class: "message" }, el("summary", {}, plural(gone.length, "file is", "files are") + ` removed since the previous report (${size(gone.reduce((sum, f) => sum + f.size, 0))})`),
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

/** Returns whether all words of the query are in the path, the description or the error of the file. */
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
  if (!shown.length) list.append(el("p", { class: "nothing" }, "No files match."));
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
      el("td", {}, el("a", { href: link(file), title: file.path, tabIndex: -1 }, dot_(file.ext), file.path)),
      el("td", {}, file.error ? "damaged: " + file.error : file.line || ""),
      el("td", { class: "n" }, size(file.size)), report.since && el("td", { class: "n" }, delta(file)));
    made.querySelector("a").file = file;
    return made;
  };
  const head = (key, text, n) => {
    const sorted = state.sort === key;
    return el("th", { class: n, "aria-sort": sorted ? "ascending" : "none" }, el("button", { onclick: () => choose({ sort: key }) }, text, sorted ? " ▾" : ""));
  };
  return el("table", {}, el("thead", {}, el("tr", {}, head("path", "Path"), el("th", {}, "Description"), head("size", "Size", "n"), report.since && head("growth", "Growth", "n"))),
    el("tbody", {}, shown.map(row)));
}

/** Renders thumbnails when they scroll into view. */
const covers = new IntersectionObserver((seen) => {
  for (const { target, isIntersecting } of seen) {
    if (!isIntersecting) continue;
    covers.unobserve(target);
    const { file } = target;
    if (file.error) target.append(el("strong", {}, "damaged"));
    else Promise.resolve((COVERS[file.ext] || plainCover)(file, target)).catch(() => plainCover(file, target));
  }
}, { rootMargin: "400px" });

/* ---- Details ---- */

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
  panel.replaceChildren(el("header", {}, el("h2", { tabIndex: -1, title: file.path }, file.path),
    el("button", { title: "Close (Esc)", "aria-label": "Close", onclick: () => go(null) }, "✕")), body);
  body.append(el("p", { class: "line" }, dot_(file.ext), `${(kindOf(file.ext) || {}).noun || "file"} · ${size(file.size)} `, delta(file),
    file.was && file.was.changed ? el("small", {}, ` was ${size(file.was.size)}`) : ""));
  if (file.error) body.append(el("p", { class: "message bad" }, "Damaged: " + file.error));
  else {
    try {
      const ended = (PANELS[file.ext] || (() => {}))(file, body, keys);
      if (ended) close = ended;
    } catch (error) {
      body.append(el("p", { class: "message bad" }, "The file cannot be shown: " + error.message));
    }
  }
  panel.keys = keys;
  if (file.facts) body.append(factTable(file.facts));
  if (file.duplicates().length) body.append(el("p", { class: "message" }, "Duplicate of ", file.duplicates().slice(0, 20).flatMap((f) => [el("a", { href: link(f) }, f.path), " "])));
  if (file.hash) body.append(el("p", { class: "hash" }, "hash ", el("code", {}, file.hash)));
  if (changed) panel.scrollTop = 0;
  const current = links().find((a) => a.file === file);
  if (current) current.scrollIntoView({ block: "nearest" });
}

/** Shows scalar facts in one table, and each list of rows in its own table. */
function factTable(facts) {
  const plain = Object.entries(facts).filter(([, value]) => !Array.isArray(value));
  const rows = Object.entries(facts).filter(([, value]) => Array.isArray(value) && value.length);
  const show = (value, name = "") => (typeof value === "number" ? (name.endsWith("_bytes") ? `${size(value)} (${number(value)} B)` : number(value)) : String(value));
  const title = (name) => (name === "gpu_bytes" ? "GPU memory" : words(name));
  return el("div", { class: "facts" },
    rows.map(([name, list]) => {
      const columns = [...new Set(list.flatMap((row) => Object.keys(row)))];
      return el("section", {}, el("h3", {}, words(name)), el("div", { class: "wide" }, el("table", { class: "rows" },
        el("thead", {}, el("tr", {}, columns.map((c) => el("th", {}, words(c))))),
        el("tbody", {}, list.map((row) => el("tr", {}, columns.map((c) => el("td", {}, c in row ? show(row[c]) : ""))))))));
    }),
    el("h3", {}, "facts"), el("dl", {}, plain.map(([name, value]) => el("div", {}, el("dt", {}, title(name)), el("dd", {}, show(value, name))))));
}

/* ---- Navigation and keyboard shortcuts ---- */

const link = (file) => "#" + encodeURIComponent(file.path);
function go(file) {
  const to = file ? link(file) : "#";
  if (location.hash !== to) history.replaceState(null, "", to);
  openFile(file);
}
function fromHash() {
  let path = "";
  try { path = decodeURIComponent(location.hash.slice(1)); } catch { /* not a valid fragment */ }
  const file = byPath.get(path) || null;
  if (file !== state.open) openFile(file);
}

/** Returns the links of the list in order. One is in the tab order: the open one, or the first. */
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
/** Returns the number of cards per row. */
function columns() {
  const all = links();
  return state.view === "table" ? 1 : Math.max(1, all.findIndex((a) => a.offsetTop > all[0].offsetTop));
}

const KEYS = {
  "/": ["search", () => $("search").focus()],
  j: ["next file", () => move(1)], k: ["previous file", () => move(-1)],
  ArrowRight: ["next file", () => move(1)], ArrowLeft: ["previous file", () => move(-1)],
  ArrowDown: ["next row", () => move(columns())], ArrowUp: ["previous row", () => move(-columns())],
  v: ["gallery or table", () => choose({ view: state.view === "gallery" ? "table" : "gallery" })],
  o: ["next order", () => { const all = Object.keys(SORTS); choose({ sort: all[(all.indexOf(state.sort) + 1) % all.length] }); }],
  "?": ["these keys", () => $("help").showModal()],
  Escape: ["close the details, or clear the search", () => (state.open ? go(null) : choose({ query: $("search").value = "", kind: null }))],
};
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || $("help").open) return;
  const typing = e.target.matches("input[type=search], select, textarea"), sliding = e.target.matches("input[type=range]");
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
  $("help").append(el("form", { method: "dialog" }, el("h2", {}, "Keyboard shortcuts"), el("dl", {}, Object.entries(KEYS).map(([key, [text]]) => row(names[key] || key, text)), row("Enter", "open a file")),
    el("h3", {}, "Textures"), el("dl", {}, row("[ ]", "mip level"), row(", .", "face or slice"), row("< >", "layer"), row("c", "channels"), row("z", "zoom"), row("u", "unfold a cubemap")),
    el("h3", {}, "Meshes"), el("dl", {}, row("m", "shading"), row("[ ]", "level of detail"), row("t w b n s", "textures, wireframe, bounds, normals, skeleton"), row("p", "play or pause a clip")),
    el("h3", {}, "Fonts"), el("dl", {}, row("[ ]", "size"), row("k", "kerning"), row("a", "all characters")),
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
  // Sticky elements below the toolbar need its height.
  const bar = document.querySelector(".tools");
  new ResizeObserver(() => document.documentElement.style.setProperty("--tools", bar.offsetHeight + "px")).observe(bar);
  addEventListener("hashchange", fromHash);
}

head();
tools();
help();
render();
fromHash();
