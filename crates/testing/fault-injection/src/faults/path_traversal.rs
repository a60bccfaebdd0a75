//! Path traversal: paths in files that lead out of the project, in every known spelling and through every field that
//! contains paths. The system call trace proves that nothing outside was opened, created, renamed or removed.
//!
//! Files that must not be touched are named `decoy`, and are wherever a spelling could lead.

use super::case::{Case, NotRun};
use super::files::{self, Files};
use super::report::quoted;
use super::sample::{OBJ, flat, triangle};
use super::tool::{self, Tools, command};
use super::trace::{self, Call, Threads, traced};
use super::{Setup, Suite};
use crate::file_contents::pak_with;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The `path-traversal` suite.
pub const SUITE: Suite = Suite {
    name: "path-traversal",
    summary: "paths that lead out of the project, in every known spelling",
    unit: "names",
    cases,
};

/// The spellings. `{}` is the name of the decoy, `{abs}` the parent directory of the project; the file that contains the
/// path is two directories below the project directory.
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

/// A field of a file format that contains a path.
struct PathField {
    what: &'static str,
    /// The extension of the referenced file.
    ext: &'static str,
    /// Generates the files that contain a path.
    files: fn(&str) -> Files,
    /// The runs that read the field: a tool and its arguments.
    runs: &'static [(Which, &'static [&'static str])],
    /// True if a path inside the project is opened; otherwise it is only compared.
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

const PATH_FIELDS: [PathField; 18] = [
    PathField {
        what: "buffer of a glTF",
        ext: "bin",
        files: |name| model("assets/a/m", name, "inside.png"),
        runs: BUILD,
        opens: true,
    },
    PathField {
        what: "image of a glTF",
        ext: "png",
        files: |name| model("assets/a/m", "inside.bin", name),
        runs: BUILD,
        opens: true,
    },
    PathField {
        what: "material library of an OBJ",
        ext: "mtl",
        files: |name| obj(name, None),
        runs: BUILD,
        opens: true,
    },
    PathField {
        what: "texture of an MTL",
        ext: "png",
        files: |name| obj("inside.mtl", Some(name)),
        runs: BUILD,
        opens: true,
    },
    PathField {
        what: "texture of a .mat",
        ext: "png",
        files: |name| one("assets/a/m/x.mat", format!("textures: {{base_color: {}}}\n", quoted(name))),
        runs: BUILD,
        opens: true,
    },
    PathField { what: "include of a shader", ext: "glsl", files: shader, runs: BUILD, opens: true },
    PathField {
        what: "bitmap of a pak",
        ext: "png",
        files: |name| described("bitmap", "src", name),
        runs: BAKE,
        opens: true,
    },
    PathField {
        what: "mesh of a pak",
        ext: "gltf",
        files: |name| described("mesh", "src", name),
        runs: BAKE,
        opens: true,
    },
    PathField {
        what: "animation of a pak",
        ext: "gltf",
        files: |name| described("animation", "src", name),
        runs: BAKE,
        opens: true,
    },
    PathField {
        what: "font of a pak",
        ext: "fnt",
        files: |name| described("bitmap-font", "src", name),
        runs: BAKE,
        opens: true,
    },
    PathField { what: "page of a font", ext: "png", files: font, runs: BAKE, opens: true },
    PathField {
        what: "color of a material of a pak",
        ext: "png",
        files: |name| described("material", "color", name),
        runs: BAKE,
        opens: true,
    },
    PathField {
        what: "mesh of a scene of a pak",
        ext: "gltf",
        files: |name| one("assets/a/m/x.toml", format!("[scene]\n[[scene.ref]]\nmesh = {}\n", quoted(name))),
        runs: BAKE,
        opens: true,
    },
    PathField { what: "asset of a content file", ext: "txt", files: content, runs: BAKE, opens: true },
    PathField {
        what: "buffer of a glTF of a pak",
        ext: "bin",
        files: |name| model("assets/a/m", name, "inside.png"),
        runs: BAKE,
        opens: true,
    },
    PathField {
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
    PathField {
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
    PathField {
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

/// Returns a shader directory beside the included file.
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

/// Returns a content file in the root directory, where its paths start.
fn content(name: &str) -> Files {
    let name = if name.starts_with("inside") { format!("a/m/{name}") } else { name.replacen("../", "", 1) };
    one("assets/pak.toml", format!("[content]\n[[content.group]]\nassets = [{}]\n", quoted(&name)))
}

/// Returns a pack with one entry of this path, by the format specification.
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

/// Returns a manifest with one texture of this path, by the format specification.
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
    for field in &PATH_FIELDS {
        let control = Arc::clone(&tools);
        cases.push(Case::counted(format!("{}: inside", field.what), move |dir| {
            inside(field, &control, dir);
            0
        }));
        for form in FORMS {
            number += 1;
            if setup.short && !number.is_multiple_of(23) {
                continue;
            }
            let tools = Arc::clone(&tools);
            cases.push(Case::new(format!("{}: {form}", field.what), move |dir| {
                attack(field, form, &tools, dir)
            }));
        }
    }
    Ok(cases)
}

/// Writes the project, the referenced files inside it, and decoys around it.
fn lay_out(field: &PathField, name: &str, dir: &Path) {
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
    for (path, bytes) in (field.files)(name) {
        files::write(&p.join(path), bytes);
    }
    let model = include_str!("path_traversal/inside.gltf");
    files::write(&inside.join("inside.gltf"), model);
    let plain = font("inside.png").remove("assets/a/m/page.fnt").unwrap();
    files::write(&inside.join("inside.fnt"), plain);
    // The directory that a pak is extracted to contains symbolic links as well.
    std::fs::create_dir_all(p.join("out/a/m")).unwrap();
    for place in [inside, p.join("out/a/m")] {
        symlink(dir.join("outside"), place.join("link")).unwrap();
        let linked = place.join(format!("linked.{}", field.ext));
        symlink(dir.join(format!("decoy.{}", field.ext)), linked).unwrap();
    }
}

fn program(which: Which, tools: &Tools) -> &PathBuf {
    match which {
        Assetc => &tools.assetc,
        Pak => &tools.pak,
    }
}

fn calls(field: &PathField, tools: &Tools, dir: &Path) -> (Vec<Call>, Vec<i32>) {
    let (mut all, mut codes) = (Vec::new(), Vec::new());
    for (number, (which, args)) in field.runs.iter().enumerate() {
        let log = dir.join(format!("log{number}"));
        let plain = command(program(*which, tools), &dir.join("p"), args);
        let ran = tool::run(traced(&plain, &log, Threads::All, &trace::PATH_CALLS, None)).assert_no_crash();
        codes.push(ran.code());
        all.extend(trace::read(&log, Threads::All));
    }
    (all, codes)
}

/// Asserts that the same file works with a path inside the project, so that other failures are due to the path.
fn inside(field: &PathField, tools: &Tools, dir: &Path) {
    let name = format!("inside.{}", field.ext);
    lay_out(field, &name, dir);
    let (calls, codes) = calls(field, tools, dir);
    assert!(!field.opens || codes.iter().all(|code| *code == 0), "{}: exit codes {codes:?}", field.what);
    let used = |call: &Call| {
        ["open", "rename"].iter().any(|verb| call.name.starts_with(verb)) && call.line.contains(&name)
    };
    assert!(calls.iter().any(used) || !field.opens, "{}: {name} was not opened", field.what);
}

/// The input directory, to which paths may refer, and the directory that a pak is extracted to. No decoy is there, but for
/// links.
const HOMES: [&str; 2] = ["p/assets/", "p/out/a/m/"];

/// Returns `true` if the kernel resolves the path of a call inside a directory that paths may refer to, without links.
fn is_confined(call: &Call, dir: &Path) -> bool {
    let is_home = |root: &String| HOMES.iter().any(|home| Path::new(root) == dir.join(home));
    call.line.contains("resolve=RESOLVE_NO_SYMLINKS|RESOLVE_BENEATH")
        && call.paths().first().is_some_and(is_home)
}

/// Returns `true` if the path of a call is inside a directory that paths may refer to.
fn is_inside(path: &str, dir: &Path) -> bool {
    let homes = HOMES.map(|home| dir.join(home));
    let rest = homes.iter().find_map(|home| path.strip_prefix(&*home.to_string_lossy()));
    rest.is_some_and(|rest| {
        !rest.split('/').any(|part| [".", "..", "link"].contains(&part)) && !rest.starts_with("linked")
    })
}

fn attack(field: &PathField, form: &str, tools: &Tools, dir: &Path) {
    let name = form.replace("{abs}", &dir.to_string_lossy()).replace("{ext}", field.ext);
    let name = name.replace("{}", &format!("decoy.{}", field.ext));
    lay_out(field, &name, dir);
    let before = around(dir);
    let (calls, _) = calls(field, tools, dir);
    for call in calls.iter().filter(|call| !is_confined(call, dir)) {
        let touches =
            |word: &str| call.paths().iter().any(|path| path.contains(word) && !is_inside(path, dir));
        for word in ["decoy", "/etc/passwd", "/proc/self/environ", "/dev/stdin", "/outside"] {
            assert!(!touches(word), "the path {name:?} led to {}", call.line);
        }
        // Shaders are compiled by a worker process of the tool itself.
        let ours = |path: &String| path.starts_with(&*tools.assetc.with_file_name("").to_string_lossy());
        assert!(
            call.name != "execve" || call.paths().first().is_some_and(ours),
            "the path {name:?} led to {}",
            call.line
        );
        assert!(
            !["socket", "connect"].contains(&call.name.as_str()),
            "the path {name:?} led to {}",
            call.line
        );
    }
    assert!(around(dir) == before, "the path {name:?} changed a file outside the project");
}

/// Returns the files beside the project and directly in it.
fn around(dir: &Path) -> Files {
    let mut files = files::tree(dir);
    let ours = |path: &String| {
        ["p/runtime/", "p/out/", "p/runtime.hpack", "log"].iter().any(|own| path.starts_with(own))
    };
    files.retain(|path, _| !ours(path));
    files
}
