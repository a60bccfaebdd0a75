//! Path traversal: names in files that try to lead out of the tree, in every known form and through everything that has
//! names in it. The trace of system calls proves that nothing outside was opened, made, renamed or removed.
//!
//! What must not be touched is called `decoy`, and lies wherever a form could lead.

use super::case::{Case, NotRun};
use super::files::{self, Files};
use super::report::quoted;
use super::sample::{OBJ, flat, triangle};
use super::tool::{self, Tools, command};
use super::trace::{self, Call, Threads, traced};
use super::{Row, Setup};
use crate::contents::pak_with;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// This row.
pub const ROW: Row = Row {
    name: "traversal",
    what: "names that lead out of the tree, in every known form",
    unit: "names",
    cases,
};

/// Ways out. `{}` is the name of the decoy, `{abs}` the directory around the project; the file that says it lies two
/// directories below the project's.
const FORMS: [&str; 92] = [
    "../../{}",
    "../../../{}",
    "../../outside/{}",
    "../../../../../../../../../../../../etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "///etc/passwd",
    "{abs}/{}",
    "{abs}/outside/{}",
    "/{abs}/{}",
    "file:///etc/passwd",
    "file://{abs}/{}",
    "file:{abs}/{}",
    "FILE:///etc/passwd",
    "file://localhost/etc/passwd",
    "file:../../{}",
    "..%2f..%2f{}",
    "..%2F..%2F{}",
    "%2e%2e/%2e%2e/{}",
    "%2e%2e%2f%2e%2e%2f{}",
    "..%252f..%252f{}",
    "%252e%252e/%252e%252e/{}",
    ".%2e/.%2e/{}",
    "%2E./%2E./{}",
    "%2fetc%2fpasswd",
    "..\\..\\{}",
    "..%5c..%5c{}",
    "..\\/..\\/{}",
    "\\etc\\passwd",
    "....//....//{}",
    "..././..././{}",
    ".../.../{}",
    "./../../{}",
    "./.././../{}",
    "x/../../../{}",
    "x/./.././../../{}",
    "x/y/../../../../{}",
    "../m/../../{}",
    "..//..//{}",
    "..///../{}",
    "%c0%ae%c0%ae/%c0%ae%c0%ae/{}",
    "..%c0%af..%c0%af{}",
    "..%ef%bc%8f..%ef%bc%8f{}",
    "\u{ff0e}\u{ff0e}/\u{ff0e}\u{ff0e}/{}",
    "\u{2025}/\u{2025}/{}",
    "..\u{2215}..\u{2215}{}",
    "..%u2215..%u2215{}",
    "..%00/../{}",
    "../../{}%00.png",
    "../../{}?x",
    "../../{}#x",
    "?../../{}",
    "#../../{}",
    ".. /.. /{}",
    "../../{} ",
    " ../../{}",
    "../../{}.",
    "../../{}::$DATA",
    "C:\\..\\{}",
    "C:/{}",
    "c:{}",
    "C:/../../{}",
    "\\\\?\\C:\\{}",
    "\\\\.\\{}",
    "\\\\server\\share\\{}",
    "//server/share/{}",
    "http://127.0.0.1:9/{}",
    "https://127.0.0.1:9/{}",
    "ftp://127.0.0.1/{}",
    "~/{}",
    "~root/{}",
    "$HOME/{}",
    "${HOME}/{}",
    "%HOME%/{}",
    "`cat {}`",
    "|cat ../../{}",
    "link/{}",
    "link/../{}",
    "link/../../{}",
    "linked.{ext}",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/proc/self/cwd/../{}",
    "/dev/stdin",
    "../../{}/",
    "..",
    "../..",
    "/",
    "..;/..;/{}",
    "\u{202e}../../{}",
    "../../p/../{}",
    "../../../p/assets/../../{}",
];

/// Something that has names in it.
struct Vehicle {
    what: &'static str,
    /// The extension of what is named.
    ext: &'static str,
    /// The files around a name.
    files: fn(&str) -> Files,
    /// The runs that meet it: a tool and its arguments.
    runs: &'static [(Which, &'static [&'static str])],
    /// Whether the name of a file inside is opened; elsewhere names are only compared.
    opens: bool,
}

#[derive(Clone, Copy)]
enum Which {
    Assetc,
    Pak,
}
use Which::{Assetc, Pak};

const BUILD: &[(Which, &[&str])] = &[(Assetc, &["-j", "1"])];
const BAKE: &[(Which, &[&str])] = &[(Pak, &["bake", "assets/pak.toml", "out/a.pak", "-j", "1"])];

const VEHICLES: [Vehicle; 18] = [
    Vehicle {
        what: "buffer of a glTF",
        ext: "bin",
        files: |name| model("assets/a/m", name, "inside.png"),
        runs: BUILD,
        opens: true,
    },
    Vehicle {
        what: "image of a glTF",
        ext: "png",
        files: |name| model("assets/a/m", "inside.bin", name),
        runs: BUILD,
        opens: true,
    },
    Vehicle {
        what: "library of an OBJ",
        ext: "mtl",
        files: |name| obj(name, None),
        runs: BUILD,
        opens: true,
    },
    Vehicle {
        what: "map of an MTL",
        ext: "png",
        files: |name| obj("inside.mtl", Some(name)),
        runs: BUILD,
        opens: true,
    },
    Vehicle {
        what: "texture of a .mat",
        ext: "png",
        files: |name| one("assets/a/m/x.mat", format!("textures: {{base_color: {}}}\n", quoted(name))),
        runs: BUILD,
        opens: true,
    },
    Vehicle { what: "include of a shader", ext: "glsl", files: shader, runs: BUILD, opens: true },
    Vehicle {
        what: "bitmap of a pak",
        ext: "png",
        files: |name| described("bitmap", "src", name),
        runs: BAKE,
        opens: true,
    },
    Vehicle {
        what: "mesh of a pak",
        ext: "gltf",
        files: |name| described("mesh", "src", name),
        runs: BAKE,
        opens: true,
    },
    Vehicle {
        what: "animation of a pak",
        ext: "gltf",
        files: |name| described("animation", "src", name),
        runs: BAKE,
        opens: true,
    },
    Vehicle {
        what: "font of a pak",
        ext: "fnt",
        files: |name| described("bitmap-font", "src", name),
        runs: BAKE,
        opens: true,
    },
    Vehicle { what: "page of a font", ext: "png", files: font, runs: BAKE, opens: true },
    Vehicle {
        what: "colour of a material of a pak",
        ext: "png",
        files: |name| described("material", "color", name),
        runs: BAKE,
        opens: true,
    },
    Vehicle {
        what: "mesh of a scene of a pak",
        ext: "gltf",
        files: |name| one("assets/a/m/x.toml", format!("[scene]\n[[scene.ref]]\nmesh = {}\n", quoted(name))),
        runs: BAKE,
        opens: true,
    },
    Vehicle { what: "asset of a content file", ext: "txt", files: content, runs: BAKE, opens: true },
    Vehicle {
        what: "buffer of a glTF of a pak",
        ext: "bin",
        files: |name| model("assets/a/m", name, "inside.png"),
        runs: BAKE,
        opens: true,
    },
    Vehicle {
        what: "key of a pak",
        ext: "txt",
        files: |name| bytes("x.pak", pak_with(name)),
        runs: &[
            (Pak, &["extract", "x.pak", "out/a/m"]),
            (Pak, &["verify", "x.pak"]),
            (Pak, &["list", "x.pak"]),
        ],
        opens: true,
    },
    Vehicle {
        what: "entry of a pack",
        ext: "ktx2",
        files: |name| bytes("x.hpack", pack_with(name)),
        runs: &[
            (Assetc, &["check", "x.hpack"]),
            (Assetc, &["info", "x.hpack", "-v"]),
            (Assetc, &["pack", "info", "x.hpack"]),
        ],
        opens: false,
    },
    Vehicle {
        what: "entry of a manifest",
        ext: "ktx2",
        files: |name| bytes("runtime/assets.hman", manifest_with(name)),
        runs: &[(Assetc, &["check"]), (Assetc, &["info", "-v"])],
        opens: false,
    },
];

fn one(path: &str, text: String) -> Files {
    Files::from([(path.to_owned(), text.into_bytes())])
}

fn bytes(path: &str, bytes: Vec<u8>) -> Files {
    Files::from([(path.to_owned(), bytes)])
}

fn model(dir: &str, buffer: &str, image: &str) -> Files {
    one(&format!("{dir}/x.gltf"), triangle(buffer, image).0)
}

fn obj(library: &str, map: Option<&str>) -> Files {
    let mut files = one("assets/a/m/x.obj", OBJ.replace("box.mtl", library));
    if let Some(map) = map {
        files.insert("assets/a/m/inside.mtl".into(), format!("newmtl wood\nmap_Kd {map}\n").into_bytes());
    }
    files
}

/// The shader's folder lies beside what is inside.
fn shader(name: &str) -> Files {
    let beside = ["inside", "link", "x/"].iter().any(|start| name.starts_with(start));
    let name = if beside { format!("../{name}") } else { name.to_owned() };
    let text = format!("#version 450\n#include \"{name}\"\nvoid main() {{}}\n");
    one("assets/a/m/x.shader/x.vert", text)
}

fn described(table: &str, key: &str, name: &str) -> Files {
    one("assets/a/m/x.toml", format!("[{table}]\n{key} = {}\n", quoted(name)))
}

fn font(page: &str) -> Files {
    let mut files = described("bitmap-font", "src", "page.fnt");
    let text = format!(
        "info face=\"x\" size=8\ncommon lineHeight=8 base=8 scaleW=4 scaleH=4 pages=1 packed=0\npage id=0 file=\"{page}\"\nchars count=1\nchar id=65 x=0 y=0 width=4 height=4 xoffset=0 yoffset=0 xadvance=4 page=0 chnl=15\n"
    );
    files.insert("assets/a/m/page.fnt".into(), text.into_bytes());
    files
}

/// The content file lies in the root: its names start there.
fn content(name: &str) -> Files {
    let name = if name.starts_with("inside") { format!("a/m/{name}") } else { name.replacen("../", "", 1) };
    one("assets/pak.toml", format!("[content]\n[[content.group]]\nassets = [{}]\n", quoted(&name)))
}

/// A pack with one file under this path, by its document.
fn pack_with(path: &str) -> Vec<u8> {
    let toc = 19 + path.len();
    let at = (24 + toc).next_multiple_of(16);
    let mut out = b"HPAK".to_vec();
    out.extend([2_u32, 1, 0].iter().flat_map(|n| n.to_le_bytes()));
    out.extend((toc as u64).to_le_bytes());
    out.extend([at as u64, 4].iter().flat_map(|n| n.to_le_bytes()));
    out.push(0);
    out.extend((path.len() as u16).to_le_bytes());
    out.extend(path.as_bytes());
    out.resize(at, 0);
    out.extend(b"evil");
    out
}

/// A manifest with one texture under this path, by its document.
fn manifest_with(path: &str) -> Vec<u8> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in path.strip_suffix(".ktx2").unwrap_or(path).bytes() {
        hash = (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x100_0000_01b3);
    }
    let mut out = b"HMAN".to_vec();
    out.extend([1_u32, 1, 0].iter().flat_map(|n| n.to_le_bytes()));
    out.extend(hash.to_le_bytes());
    out.extend([0, 1]);
    out.extend((path.len() as u16).to_le_bytes());
    out.extend(path.as_bytes());
    out
}

fn cases(setup: &Setup) -> Result<Vec<Case>, NotRun> {
    trace::available()?;
    let tools = Arc::new(setup.tools.clone());
    let mut cases = Vec::new();
    let mut number = setup.seed as usize;
    for vehicle in &VEHICLES {
        let control = Arc::clone(&tools);
        cases.push(Case::counted(format!("{}: inside", vehicle.what), move |dir| {
            inside(vehicle, &control, dir);
            0
        }));
        for form in FORMS {
            number += 1;
            if setup.short && !number.is_multiple_of(23) {
                continue;
            }
            let tools = Arc::clone(&tools);
            cases.push(Case::new(format!("{}: {form}", vehicle.what), move |dir| {
                attack(vehicle, form, &tools, dir)
            }));
        }
    }
    Ok(cases)
}

/// The project with decoys all around it, and what is inside.
fn lay_out(vehicle: &Vehicle, name: &str, dir: &Path) {
    let p = dir.join("p");
    let (gltf, buffer) = triangle("tri.bin", "tri.png");
    for place in [dir, &dir.join("outside"), &p, &p.join("out")] {
        let contents: [(&str, &[u8]); 8] = [
            ("png", &flat(1, 4)),
            ("bin", &buffer),
            ("mtl", b"newmtl wood\n"),
            ("gltf", gltf.as_bytes()),
            ("fnt", b"x"),
            ("txt", b"x"),
            ("ktx2", b"x"),
            ("glsl", b"const int decoy = 1;\n"),
        ];
        for (ext, bytes) in contents {
            files::write(&place.join(format!("decoy.{ext}")), bytes);
        }
    }
    let inside = p.join("assets/a/m");
    files::write(&inside.join("inside.png"), flat(2, 4));
    files::write(&inside.join("inside.bin"), &buffer);
    files::write(&inside.join("inside.mtl"), "newmtl wood\n");
    files::write(&inside.join("inside.txt"), "x");
    files::write(&inside.join("inside.glsl"), "const int inside = 1;\n");
    files::write(&p.join("assets/pak.toml"), "[content]\n[[content.group]]\nassets = ['a/m/x.*']\n");
    for (path, bytes) in (vehicle.files)(name) {
        files::write(&p.join(path), bytes);
    }
    let model = include_str!("traversal/inside.gltf");
    files::write(&inside.join("inside.gltf"), model);
    let plain = font("inside.png").remove("assets/a/m/page.fnt").unwrap();
    files::write(&inside.join("inside.fnt"), plain);
    // Where a pak is unpacked, links lie as well.
    std::fs::create_dir_all(p.join("out/a/m")).unwrap();
    for place in [inside, p.join("out/a/m")] {
        symlink(dir.join("outside"), place.join("link")).unwrap();
        let linked = place.join(format!("linked.{}", vehicle.ext));
        symlink(dir.join(format!("decoy.{}", vehicle.ext)), linked).unwrap();
    }
}

fn program(which: Which, tools: &Tools) -> &PathBuf {
    match which {
        Assetc => &tools.assetc,
        Pak => &tools.pak,
    }
}

fn calls(vehicle: &Vehicle, tools: &Tools, dir: &Path) -> (Vec<Call>, Vec<i32>) {
    let (mut all, mut codes) = (Vec::new(), Vec::new());
    for (number, (which, args)) in vehicle.runs.iter().enumerate() {
        let log = dir.join(format!("log{number}"));
        let plain = command(program(*which, tools), &dir.join("p"), args);
        let ran = tool::run(traced(&plain, &log, Threads::All, &trace::PATH_CALLS, None)).calm();
        codes.push(ran.code());
        all.extend(trace::read(&log, Threads::All));
    }
    (all, codes)
}

/// With a name that stays inside all is well: whatever else is wrong is the name's fault.
fn inside(vehicle: &Vehicle, tools: &Tools, dir: &Path) {
    let name = format!("inside.{}", vehicle.ext);
    lay_out(vehicle, &name, dir);
    let (calls, codes) = calls(vehicle, tools, dir);
    assert!(!vehicle.opens || codes.iter().all(|code| *code == 0), "{}: exit codes {codes:?}", vehicle.what);
    let used = |call: &Call| {
        ["open", "rename"].iter().any(|verb| call.name.starts_with(verb)) && call.line.contains(&name)
    };
    assert!(calls.iter().any(used) || !vehicle.opens, "{}: {name} was not opened", vehicle.what);
}

/// Whether a path, as a call has it, stays where names may lead: beside the file that says them.
fn is_inside(path: &str, dir: &Path) -> bool {
    let homes = ["p/assets/a/m/", "p/out/a/m/"].map(|home| dir.join(home));
    let rest = homes.iter().find_map(|home| path.strip_prefix(&*home.to_string_lossy()));
    rest.is_some_and(|rest| {
        !rest.split('/').any(|part| [".", "..", "link"].contains(&part)) && !rest.starts_with("linked")
    })
}

fn attack(vehicle: &Vehicle, form: &str, tools: &Tools, dir: &Path) {
    let name = form.replace("{abs}", &dir.to_string_lossy()).replace("{ext}", vehicle.ext);
    let name = name.replace("{}", &format!("decoy.{}", vehicle.ext));
    lay_out(vehicle, &name, dir);
    let before = around(dir);
    let (calls, _) = calls(vehicle, tools, dir);
    for call in &calls {
        let touches =
            |word: &str| call.paths().iter().any(|path| path.contains(word) && !is_inside(path, dir));
        for word in ["decoy", "/etc/passwd", "/proc/self/environ", "/dev/stdin", "/outside"] {
            assert!(!touches(word), "{name:?} led to {}", call.line);
        }
        // A shader is compiled by another process of the tool itself.
        let ours = |path: &String| path.starts_with(&*tools.assetc.with_file_name("").to_string_lossy());
        assert!(
            call.name != "execve" || call.paths().first().is_some_and(ours),
            "{name:?} led to {}",
            call.line
        );
        assert!(!["socket", "connect"].contains(&call.name.as_str()), "{name:?} led to {}", call.line);
    }
    assert!(around(dir) == before, "{name:?} changed something around the project");
}

/// Everything beside the project, and directly in it.
fn around(dir: &Path) -> Files {
    let mut files = files::tree(dir);
    let ours = |path: &String| {
        ["p/runtime/", "p/out/", "p/runtime.hpack", "log"].iter().any(|own| path.starts_with(own))
    };
    files.retain(|path, _| !ours(path));
    files
}
