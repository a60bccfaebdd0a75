//! The malicious projects of the suite: one for each attack vector and spelling.

use crate::faults::files::Files;
use crate::faults::report::quoted;
use crate::faults::tool;

/// Spellings of a directory in the home directory, relative to the project. `{abs}` is the parent directory of both;
/// `link` is a symbolic link in the project to `home`.
const PLACES: [&str; 21] = [
    "../home/.ssh",
    "./../home/.ssh",
    "{abs}/home/.ssh",
    "/{abs}/home/.ssh",
    "runtime/../../home/.ssh",
    "runtime/./.././../home/.ssh",
    "..//home///.ssh/",
    "link/.ssh",
    "./link/./.ssh/",
    "link/docs/../.ssh",
    "deep/link/.ssh",
    "/proc/self/cwd/../home/.ssh",
    "{abs}/p/../home/.ssh",
    "{abs}/p/link/.ssh",
    "~/.ssh",
    "$HOME/.ssh",
    "..\\home\\.ssh",
    "C:\\Users\\me\\.ssh",
    "c:.ssh",
    "\\\\server\\share\\.ssh",
    "file://{abs}/home/.ssh",
];

/// The tool that a project attacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum For {
    Assetc,
    Pak,
    Unity,
}

/// One malicious project.
#[derive(Clone)]
pub(super) struct Attack {
    pub(super) name: String,
    pub(super) tool: For,
    /// The content of `assetc.yml`.
    pub(super) config: String,
    /// Symbolic links in the project: path, and target below the parent directory.
    pub(super) links: Vec<(String, String)>,
    /// Other files in the project.
    pub(super) files: Files,
    /// The owner of the project, if not the user who builds it.
    pub(super) owner: Option<u32>,
}

impl Attack {
    fn new(name: impl Into<String>, config: impl Into<String>) -> Attack {
        Attack {
            name: name.into(),
            tool: For::Assetc,
            config: config.into(),
            links: vec![],
            files: Files::new(),
            owner: None,
        }
    }

    fn link(mut self, path: &str, target: &str) -> Attack {
        self.links.push((path.to_owned(), target.to_owned()));
        self
    }

    fn file(mut self, path: &str, bytes: &[u8]) -> Attack {
        self.files.insert(path.to_owned(), bytes.to_vec());
        self
    }
}

const EMBED: &str = "embed: [\"authorized_keys\", \"docs/*\"]\n";

/// Returns all malicious projects.
pub(super) fn attacks() -> Vec<Attack> {
    let mut attacks = Vec::new();
    for place in PLACES {
        let text = quoted(place);
        let mut add = |key: &str, config: String| {
            let attack = Attack::new(format!("{key}: {place}"), config + EMBED);
            attacks.push(attack.link("link", "home").link("deep/link", "home"));
        };
        add("output", format!("output: {text}\n"));
        add("preset output", format!("preset: a\npresets: {{a: {{output: {text}}}}}\n"));
        add("input", format!("input: {text}\n"));
        add("cache.dir", format!("cache: {{dir: {text}}}\n"));
        add("tools", format!("tools: {{slangc: {}}}\n", quoted(&format!("{place}/evil"))));
    }
    attacks.extend(tool_attacks());
    attacks.extend(link_attacks());
    attacks.extend(cache_attacks());
    attacks.extend(other_tools());
    attacks
}

/// Returns projects that name or contain programs.
fn tool_attacks() -> Vec<Attack> {
    let named = |path: &str| {
        let tools =
            ["slangc", "dxc", "spirv-opt", "spirv-val"].map(|tool| format!("{tool}: {}", quoted(path)));
        format!("tools: {{{}}}\ndefault: {{shader: {{optimize: size}}}}\n", tools.join(", "))
    };
    let script = b"#!/bin/sh\necho evil > \"$HOME/docs/evil\"\n";
    let attack = |path: &str| Attack::new(format!("tools: {path}"), named(path)).file("evil", script);
    let mut attacks: Vec<Attack> =
        ["evil", "./evil", "assets/../evil", "{abs}/p/evil", "link/../p/evil", "/bin/sh"].map(attack).into();
    let beside = ["slangc", "dxc", "spirv-opt", "spirv-val", "bin/slangc", "assets/slangc"];
    let beside = beside
        .iter()
        .fold(Attack::new("programs beside the configuration", ""), |attack, name| attack.file(name, script));
    attacks.push(beside);
    if tool::is_root() {
        let foreign = Attack::new("configuration of another user", named("evil") + "cache: {dir: c}\n");
        attacks.push(Attack { owner: Some(12_345), ..foreign.file("evil", script) });
    }
    attacks
}

/// Returns projects with symbolic links where a build reads or writes.
fn link_attacks() -> Vec<Attack> {
    let link = |path: &str, target: &str| {
        Attack::new(format!("{path} -> {target}"), format!("{EMBED}output: runtime\n")).link(path, target)
    };
    vec![
        link("assets", "home/.ssh"),
        link("assets/more", "home/.ssh"),
        link("assets/id.png", "home/.ssh/id_rsa"),
        link("assets/docs/secret", "home/.ssh/id_rsa"),
        link("runtime", "home/docs"),
        link("runtime", "home/.ssh"),
        link("runtime/docs", "home/docs"),
        link("runtime/authorized_keys", "home/.ssh/authorized_keys"),
        link("runtime/a.ktx2", "home/.bashrc"),
        link("runtime/assets.hman", "home/.bashrc"),
        link("runtime/.assetc-cache", "home/.bashrc"),
        link("runtime/.assetc-cache", "home/new"),
        link("runtime.hpack", "home/.bashrc"),
        link("runtime.hpack", "home/new"),
        link("report.html", "home/.bashrc"),
        link("runtime.html", "home/.bashrc"),
        link("assetc-report.html", "home/new"),
    ]
}

/// Returns projects with a cache directory that leads elsewhere.
fn cache_attacks() -> Vec<Attack> {
    let tag = b"Signature: 8a477f597d28d172789f06886806bc55\n# Results of Kiln's tools; it may be removed.\n";
    let link = |path: &str, target: &str| {
        let attack = Attack::new(format!("cache {path} -> {target}"), "cache: {dir: c, max_size: 1}\n");
        let attack = attack.link(path, target);
        if path.starts_with("c/") && path != "c/CACHEDIR.TAG" {
            attack.file("c/CACHEDIR.TAG", tag)
        } else {
            attack
        }
    };
    let mut attacks = vec![
        link("c", "home"),
        link("c", "home/docs"),
        link("c/tmp", "home/docs"),
        link("c/swept", "home/.bashrc"),
        link("c/swept", "home/new"),
        link("c/CACHEDIR.TAG", "home/.bashrc"),
        link("c/CACHEDIR.TAG", "home/new"),
        link("c/ac", "home/docs"),
        link("c/cas", "home/docs"),
    ];
    for byte in 0..=255 {
        attacks[7] = attacks[7].clone().link(&format!("c/cas/{byte:02x}"), "home/docs");
    }
    attacks.push(link("c/ac/zz", "home/docs"));
    attacks.push(link("c/ac/00", "home/docs").link("c/cas/00", "home/docs"));
    attacks
}

/// Returns projects with symbolic links where `pak bake` and `unity-assetdb bake` write.
fn other_tools() -> Vec<Attack> {
    let link = |tool: For, path: &str, target: &str| {
        let name = if tool == For::Pak { "pak" } else { "unity-assetdb" };
        Attack { tool, ..Attack::new(format!("{name} {path} -> {target}"), "") }.link(path, target)
    };
    let pak = |path: &str, target: &str| link(For::Pak, path, target);
    let unity = |path: &str, target: &str| link(For::Unity, path, target);
    vec![
        pak("out/a.pak", "home/.bashrc"),
        pak("out/a.pak", "home/new"),
        pak("out/.a.pak.cache", "home/.bashrc"),
        pak("out/.a.pak.cache", "home/new"),
        pak("out/.a.pak.cache.kept", "home/.bashrc"),
        pak("art/secret.txt", "home/.ssh/id_rsa"),
        pak("art/more", "home/.ssh"),
        unity("Library", "home"),
        unity("Library", "home/docs"),
        unity("Library/unity-assetdb", "home/docs"),
        unity("Library/unity-assetdb/asset-db.bin", "home/.bashrc"),
        unity("Library/unity-assetdb/asset-db.bin", "home/new"),
        unity("Library/unity-assetdb/asset-db.cache.bin", "home/.bashrc"),
        unity("Library/unity-assetdb/.asset-db.lock", "home/.bashrc"),
        unity("Library/unity-assetdb/.asset-db.lock", "home/new"),
    ]
}
