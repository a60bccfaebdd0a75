//! Planning: parses a content file and every description into a graph of assets and resolves all references. Nothing is
//! baked.
//!
//! An asset is a node, and equal descriptions are one node, however many keys name it. Rejects files with no or several
//! asset tables, references to missing files or to the wrong kind, circular references, paths that leave the root, and
//! duplicate keys.

mod angelcode;
pub(crate) mod animation;
pub(crate) mod bitmap;
mod bitmap_font;
mod gltf_material;
pub(crate) mod material;
pub(crate) mod mesh;
pub(crate) mod scene;

use super::compression::{Compression, has_compressed_extension};
use super::content::{self, Listed};
use super::gltf_materials::GltfMaterials;
use super::toml_document::{Document, Fields, Value};
use animation::AnimationSpec;
use bitmap::{BitmapSpec, ImageUse};
use kiln_engine::{Code, Diag, Inputs, RelPath, Tree};
use kiln_format::pak::Kind;
use material::{MaterialSpec, ParamsSpec};
use mesh::MeshSpec;
use scene::SceneSpec;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

/// The index of a node in its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) usize);

/// One asset of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The name in the journal and in diagnostics: the file that describes the asset, and the place in it.
    pub(crate) name: RelPath,
    pub(crate) kind: Kind,
    pub(crate) recipe: Recipe,
    pub(crate) compression: Compression,
    /// Everything that determines the payload beside the content of the files it reads.
    pub(crate) fingerprint: String,
    /// The first file of the content file whose plan has this node.
    pub(crate) listed: Option<Listed>,
}

/// The recipe of an asset: its kind of source and settings.
#[derive(Clone, Debug)]
pub(crate) enum Recipe {
    /// A file, unchanged.
    Blob(RelPath),
    /// A file unchanged, after its headers were checked.
    Sound(RelPath),
    /// An image file or an image of a glTF file.
    Bitmap(BitmapSpec),
    /// A bitmap of one texel in sRGB.
    Solid([u8; 4]),
    /// A parameter bitmap: up to four images, one per channel.
    Params(Box<ParamsSpec>),
    /// A mesh, and the blob of its `data`.
    Mesh(MeshSpec, Option<NodeId>),
    /// An animation of a glTF file.
    Animation(AnimationSpec),
    /// A bitmap font: its definition and its pages.
    Font(String, Vec<NodeId>),
    /// A material: bitmaps and flags.
    Material(MaterialSpec),
    /// A scene: placed references and geometries.
    Scene(SceneSpec),
}

impl Recipe {
    /// Returns the nodes that the asset refers to, in the order of its reference indices.
    pub(crate) fn refs(&self) -> Vec<NodeId> {
        match self {
            Recipe::Mesh(_, data) => data.iter().copied().collect(),
            Recipe::Font(_, pages) => pages.clone(),
            Recipe::Scene(scene) => scene.refs.clone(),
            _ => Vec::new(),
        }
    }
}

/// The version of the baker, part of every fingerprint. Incremented when the same description bakes to other bytes.
pub(crate) const VERSION: u32 = 7;

/// The result of planning: all assets and keys of a pak.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// The node of each key, and the file that the key comes from.
    pub(crate) keys: BTreeMap<String, (NodeId, RelPath)>,
    /// The warnings of planning.
    pub(crate) warnings: Vec<Diag>,
    /// The files that do not exist, if they are accepted.
    pub(crate) missing: BTreeSet<RelPath>,
}

/// Plans a bake. `name` and `text` are those of the content file; everything else is read through `inputs`.
pub(crate) fn plan(
    name: String,
    text: &str,
    inputs: &mut Inputs<'_>,
    tree: &Tree,
    own: &dyn Fn(&RelPath) -> bool,
    missing_files: MissingFiles,
) -> Result<Plan, Vec<Diag>> {
    let document = Document::parse(name, None, text).map_err(|diag| vec![diag])?;
    let listed = content::listed(&document, tree, own).map_err(|diag| vec![diag])?;
    plan_listed(&listed, document.take_warnings(), inputs, tree, missing_files)
}

/// Plans the files that a content file lists. `warnings` are those about the content file.
pub(crate) fn plan_listed(
    listed: &[Listed],
    warnings: Vec<Diag>,
    inputs: &mut Inputs<'_>,
    tree: &Tree,
    missing_files: MissingFiles,
) -> Result<Plan, Vec<Diag>> {
    let mut planner = Planner {
        inputs,
        tree,
        plan: Plan::default(),
        known: HashMap::new(),
        files: HashMap::new(),
        names: HashSet::new(),
        open: Vec::new(),
        gltf_files: HashMap::new(),
        mesh_slots: HashMap::new(),
        reported: HashSet::new(),
        missing_files,
        listed: None,
    };
    planner.report(warnings);
    let mut problems = Vec::new();
    // Collects the errors of all descriptions instead of stopping at the first.
    for Listed { path, compression } in listed {
        planner.listed = Some(Listed { path: path.clone(), compression: *compression });
        problems.extend(planner.authored(path, *compression).err());
    }
    if problems.is_empty() {
        return Ok(planner.plan);
    }
    let mut all = planner.plan.warnings;
    all.extend(problems);
    Err(all)
}

/// The treatment of references to files that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MissingFiles {
    /// An error.
    Reject,
    /// Accepted, for a list of source files. The plan cannot be baked.
    Accept,
}

/// The part of a glTF file that is a mesh: file, name and scene name.
type MeshSelection = (RelPath, Option<String>, Option<String>);

/// The state of planning.
pub(crate) struct Planner<'a, 'c> {
    inputs: &'a mut Inputs<'c>,
    tree: &'a Tree,
    plan: Plan,
    /// The nodes by fingerprint.
    known: HashMap<String, NodeId>,
    /// The nodes of files that were listed or referenced, by path and compression.
    files: HashMap<(RelPath, String), NodeId>,
    /// The node names in use.
    names: HashSet<RelPath>,
    /// The stack of descriptions being parsed, each referenced by the one before.
    open: Vec<RelPath>,
    /// The materials of glTF files.
    gltf_files: HashMap<RelPath, Rc<GltfMaterials>>,
    /// The material slots of meshes.
    mesh_slots: HashMap<MeshSelection, Rc<[Option<usize>]>>,
    /// The materials of glTF files whose warnings are reported.
    reported: HashSet<RelPath>,
    missing_files: MissingFiles,
    /// The listed file whose nodes are being added.
    listed: Option<Listed>,
}

/// The maximum depth of references between descriptions. A scene, its material and the bitmap of that are three.
const MAX_DEPTH: usize = 16;

/// A reference to a file, or to an item of a glTF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) path: RelPath,
    /// The fragment after `#`: the name or index of an item in a glTF file.
    pub(crate) part: Option<String>,
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.part {
            Some(part) => write!(f, "{}#{part}", self.path),
            None => write!(f, "{}", self.path),
        }
    }
}

impl Planner<'_, '_> {
    /// Adds a file that the content file lists or another asset refers to, with its key.
    fn authored(&mut self, path: &RelPath, compression: Compression) -> Result<NodeId, Diag> {
        let node = self.file(path, compression)?;
        let key = without_toml(path).to_owned();
        match self.plan.keys.get(&key) {
            Some((_, other)) if other != path => {
                let message = format!("the key {key:?} of this file is also the key of {other}");
                Err(Diag::new(Code::PakKey, message)
                    .path(path)
                    .hint("rename one of the files, or exclude it"))
            }
            _ => {
                self.plan.keys.insert(key, (node, path.clone()));
                Ok(node)
            }
        }
    }

    /// Returns the node of a file, by its description or its extension.
    fn file(&mut self, path: &RelPath, compression: Compression) -> Result<NodeId, Diag> {
        let place = (path.clone(), compression.line());
        if let Some(node) = self.files.get(&place) {
            return Ok(*node);
        }
        let node = match extension(path).as_str() {
            "toml" => self.opened(path, compression)?,
            "glb" | "gltf" => self.mesh_node(path, MeshSpec::plain(path.clone()), None, compression),
            ext if bitmap::is_extension(ext) => {
                let spec = BitmapSpec::plain(Reference { path: path.clone(), part: None }, ImageUse::Color);
                self.bitmap_node(path, spec, compression)
            }
            _ => self.blob_node(path, path.clone(), compression),
        };
        self.files.insert(place, node);
        Ok(node)
    }

    /// Returns the node that a TOML file describes; fails on circular or too deep references.
    fn opened(&mut self, path: &RelPath, compression: Compression) -> Result<NodeId, Diag> {
        if let Some(at) = self.open.iter().position(|open| open == path) {
            let cycle: Vec<&str> = self.open[at..].iter().chain([path]).map(RelPath::as_str).collect();
            let message = format!("the description refers to itself: {}", cycle.join(" → "));
            return Err(Diag::new(Code::PakCycle, message).path(path).hint("remove one of these references"));
        }
        if self.open.len() == MAX_DEPTH {
            let message =
                format!("the references to this description are nested more than {MAX_DEPTH} levels deep");
            return Err(Diag::new(Code::PakCycle, message).path(path));
        }
        self.open.push(path.clone());
        let node = self.described(path, compression);
        self.open.pop();
        node
    }

    /// Adds warnings that are not yet reported. The warning about `euler` is given once.
    fn report(&mut self, warnings: Vec<Diag>) {
        for warning in warnings {
            let known = |known: &Diag| {
                *known == warning || (known.code, warning.code) == (Code::PakEuler, known.code)
            };
            if !self.plan.warnings.iter().any(known) {
                self.plan.warnings.push(warning);
            }
        }
    }

    /// Returns `true` if a file does not exist and the plan is for a list of source files.
    fn is_accepted_missing(&self, path: &RelPath) -> bool {
        self.missing_files == MissingFiles::Accept && self.tree.stamp(path.as_str()).is_none()
    }

    /// Parses a TOML file and returns the node that it describes.
    fn described(&mut self, path: &RelPath, compression: Compression) -> Result<NodeId, Diag> {
        let text = self.text(path)?;
        let document = Document::parse(path.to_string(), path.parent(), &text)?;
        let node = self.described_by(path, &document, compression);
        self.report(document.take_warnings());
        node
    }

    fn described_by(
        &mut self,
        path: &RelPath,
        document: &Document<'_>,
        compression: Compression,
    ) -> Result<NodeId, Diag> {
        let file = document.fields();
        let tables: Vec<(&str, Value<'_>)> =
            TABLES.iter().filter_map(|name| Some((*name, file.get(name)?))).collect();
        let [(name, value)] = tables.as_slice() else {
            let names: Vec<String> = tables.iter().map(|(name, _)| format!("[{name}]")).collect();
            let message = match names.len() {
                0 => "the file has no asset table".to_owned(),
                _ => format!("the file has more than one asset table: {}", names.join(" and ")),
            };
            file.finish();
            let all: Vec<String> = TABLES.iter().map(|name| format!("[{name}]")).collect();
            return Err(Diag::new(Code::PakTable, message)
                .path(path)
                .hint(format!("a description has exactly one of {}", all.join(", "))));
        };
        let fields = value.fields()?;
        let node = match *name {
            "animation" => self.animation(path, fields, compression)?,
            "bitmap" => {
                let spec = self.bitmap(path, fields, ImageUse::Color)?;
                self.bitmap_node(path, spec, compression)
            }
            "bitmap-font" => self.font(path, fields, compression)?,
            "blob" => {
                let default = RelPath::new(without_toml(path)).ok().filter(|own| own != path);
                let src = match fields.get("src") {
                    Some(value) => self.path(&value)?,
                    None => self.beside(&fields, default.into_iter().collect())?,
                };
                fields.finish();
                self.blob_node(path, src, compression)
            }
            "material" => self.material(path, fields, compression)?,
            "sound" => {
                let src = self.src(path, &fields, &SOUNDS)?;
                fields.finish();
                let compression =
                    if has_compressed_extension(src.as_str()) { Compression::default() } else { compression };
                let lines = format!("sound\nsrc={src}\n");
                self.node(path, Kind::Blob, Recipe::Sound(src), compression, &lines)
            }
            "mesh" => self.mesh(path, fields, compression)?,
            _ => self.scene(path, fields, compression)?,
        };
        file.finish();
        Ok(node)
    }

    /// Reads a text file.
    fn text(&mut self, path: &RelPath) -> Result<String, Diag> {
        let bytes = self.inputs.read(path)?;
        String::from_utf8(bytes)
            .map_err(|_| Diag::new(Code::Unreadable, "the file is not valid UTF-8").path(path))
    }

    /// Returns the node with this fingerprint; adds it if there is none.
    fn node(
        &mut self,
        name: &RelPath,
        kind: Kind,
        recipe: Recipe,
        compression: Compression,
        lines: &str,
    ) -> NodeId {
        let fingerprint = format!("kind={}\nversion={VERSION}\n{}{lines}", kind.name(), compression.line());
        if let Some(node) = self.known.get(&fingerprint) {
            return *node;
        }
        let id = NodeId(self.plan.nodes.len());
        self.known.insert(fingerprint.clone(), id);
        let name = self.unused(name, kind);
        let listed = self.listed.clone();
        self.plan.nodes.push(Node { name, kind, recipe, compression, fingerprint, listed });
        id
    }

    /// Returns a unique node name, which is its key in the journal.
    fn unused(&mut self, name: &RelPath, kind: Kind) -> RelPath {
        let numbered = (1..).filter_map(|n| RelPath::new(format!("{name} ({} {n})", kind.name())).ok());
        let mut free =
            std::iter::once(name.clone()).chain(numbered).filter(|name| !self.names.contains(name));
        let free = free.next().unwrap_or_else(|| name.clone());
        self.names.insert(free.clone());
        free
    }

    fn blob_node(&mut self, name: &RelPath, src: RelPath, compression: Compression) -> NodeId {
        let compression =
            if has_compressed_extension(src.as_str()) { Compression::default() } else { compression };
        let lines = format!("src={src}\n");
        self.node(name, Kind::Blob, Recipe::Blob(src), compression, &lines)
    }

    fn bitmap_node(&mut self, name: &RelPath, spec: BitmapSpec, compression: Compression) -> NodeId {
        let lines = spec.lines();
        // The blocks of other formats than UASTC are uploaded as they are, and have the compression of the group.
        let compression = if spec.is_supercompressed() { Compression::default() } else { compression };
        self.node(name, Kind::Bitmap, Recipe::Bitmap(spec), compression, &lines)
    }

    fn mesh_node(
        &mut self,
        name: &RelPath,
        spec: MeshSpec,
        data: Option<NodeId>,
        compression: Compression,
    ) -> NodeId {
        let lines = format!("{}data={data:?}\n", spec.lines());
        self.node(name, Kind::Mesh, Recipe::Mesh(spec, data), compression, &lines)
    }

    /// Resolves a path: relative to the description, or to the root after a leading `/`. The file exists.
    fn path(&mut self, value: &Value<'_>) -> Result<RelPath, Diag> {
        let reference = self.reference(value)?;
        match reference.part {
            None => Ok(reference.path),
            Some(_) => Err(value.expected("the path of a file without #")),
        }
    }

    /// Resolves a path with an optional `#` fragment. The file exists.
    fn reference(&mut self, value: &Value<'_>) -> Result<Reference, Diag> {
        let text = value.string()?;
        let (path, part) = match text.split_once('#') {
            Some((path, part)) if is_gltf(path) => (path, Some(part.to_owned())),
            _ => (text, None),
        };
        let resolved = match path.strip_prefix('/') {
            Some(rest) => RelPath::resolve(None, rest),
            None => RelPath::resolve(value.dir(), path),
        };
        let path = resolved.map_err(|why| {
            value
                .error(Code::PakPath, format_args!("{text:?} is not a path inside the root directory: {why}"))
                .hint("paths are relative to this file, or to the root directory if they start with /")
        })?;
        if self.is_accepted_missing(&path) {
            self.plan.missing.insert(path.clone());
        } else if self.tree.stamp(path.as_str()).is_none() {
            if let Some(link) = self.ignored_link(&path) {
                let message = format!("the file {path} is not read: {}: {}", link.0, link.1);
                return Err(value
                    .error(Code::PakMissing, message)
                    .hint("move the target below the root directory, or copy it there"));
            }
            if self.tree.get(path.as_str()).is_some() {
                let message = format!("{path} is a directory, expected a file");
                return Err(value.error(Code::PakMissing, message).hint("name a file in it"));
            }
            let files = self.tree.files().map(|(path, _)| path.as_str());
            let diag = value.error(Code::PakMissing, format_args!("the file {path} does not exist"));
            return Err(match kiln_engine::nearest(path.as_str(), files) {
                Some(near) => diag.hint(format!("did you mean /{near}?")),
                None => diag
                    .hint("paths are relative to this file, or to the root directory if they start with /"),
            });
        }
        Ok(Reference { path, part })
    }

    /// Returns the symbolic link that a path leads through and the reason why it is not followed.
    fn ignored_link(&self, path: &RelPath) -> Option<(String, String)> {
        let through = |link: &str| {
            path.as_str().strip_prefix(link).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.tree.problems.iter().find_map(|problem| {
            let link = problem.path.as_deref().filter(|_| problem.code == Code::SymlinkIgnored)?;
            through(link).then(|| (link.to_owned(), problem.message.clone()))
        })
    }

    /// Returns the first of several files that exists.
    fn beside(&mut self, fields: &Fields<'_>, candidates: Vec<RelPath>) -> Result<RelPath, Diag> {
        let mut found = candidates.iter().find(|path| self.tree.stamp(path.as_str()).is_some()).cloned();
        if found.is_none() && self.missing_files == MissingFiles::Accept {
            found = candidates.first().cloned();
            self.plan.missing.extend(found.clone());
        }
        found.ok_or_else(|| {
            let names: Vec<&str> = candidates.iter().map(RelPath::as_str).collect();
            fields
                .error(Code::PakMissing, format!("src is not set, and none of {} exists", names.join(", ")))
                .hint("set src = '…' to the source file")
        })
    }

    /// Returns the file that `src` names, or the one beside the description with its name and one of these extensions.
    fn src(&mut self, path: &RelPath, fields: &Fields<'_>, extensions: &[&str]) -> Result<RelPath, Diag> {
        match fields.get("src") {
            Some(value) => self.path(&value),
            None => self.beside(fields, siblings(path, extensions)),
        }
    }

    /// Returns the node that a path refers to, which has to be of a kind.
    fn asset(&mut self, value: &Value<'_>, kind: Kind, compression: Compression) -> Result<NodeId, Diag> {
        let path = self.path(value)?;
        if self.is_accepted_missing(&path) {
            return Ok(self.blob_node(&path, path.clone(), compression));
        }
        let described = extension(&path) == "toml";
        let node =
            if described { self.authored(&path, compression)? } else { self.file(&path, compression)? };
        self.of_kind(value, node, kind)
    }

    fn of_kind(&self, value: &Value<'_>, node: NodeId, kind: Kind) -> Result<NodeId, Diag> {
        let found = self.plan.nodes[node.0].kind;
        if found != kind {
            let message = format!("expected a {}, found a {}", kind.name(), found.name());
            return Err(value.error(Code::PakKind, message));
        }
        Ok(node)
    }
}

const TABLES: [&str; 8] =
    ["animation", "bitmap", "bitmap-font", "blob", "material", "mesh", "scene", "sound"];

/// The extensions of sounds.
const SOUNDS: [&str; 6] = ["ogg", "oga", "opus", "mp3", "wav", "flac"];

/// Returns the extension of a path in lower case; empty if it has none.
pub(crate) fn extension(path: &RelPath) -> String {
    path.file_name()
        .rsplit_once('.')
        .map_or_else(String::new, |(_, extension)| extension.to_ascii_lowercase())
}

/// Returns a path without the extension of a description, in any case.
fn without_toml(path: &RelPath) -> &str {
    let path = path.as_str();
    match path.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case("toml") => stem,
        _ => path,
    }
}

fn is_gltf(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".glb") || path.ends_with(".gltf")
}

/// Returns the file names that a description without `src` may refer to.
fn siblings(path: &RelPath, extensions: &[&str]) -> Vec<RelPath> {
    let stem = without_toml(path);
    // A description may also be named after the full name of its source: `a.png.toml`.
    let own = RelPath::new(stem).ok().filter(|own| extensions.contains(&&*extension(own)));
    let others = extensions.iter().filter_map(|extension| RelPath::new(format!("{stem}.{extension}")).ok());
    own.into_iter().chain(others).collect()
}

/// Returns the node name of a part of a description.
fn part(path: &RelPath, part: impl std::fmt::Display) -> RelPath {
    RelPath::new(format!("{path}#{part}")).unwrap_or_else(|_| path.clone())
}
