//! From a content file to a graph of assets: every description is read, every reference resolved, nothing baked.
//!
//! An asset is a node, and equal descriptions are one node, however many keys name it. Refused are files with none or
//! several asset tables, references to nothing or to the wrong kind, paths that leave the root, and keys that two
//! files would share.

pub(crate) mod animation;
pub(crate) mod bitmap;
mod font;
pub(crate) mod material;
pub(crate) mod mesh;
pub(crate) mod scene;

use super::compress::{Packing, is_compressed};
use super::content::{self, Listed};
use super::document::{Document, Fields, Value};
use animation::AnimationSpec;
use bitmap::{BitmapSpec, Use};
use kiln_engine::{Code, Diag, Inputs, RelPath, Tree};
use kiln_format::pak::Kind;
use kiln_import::image::IMAGE_EXTENSIONS;
use kiln_import::light::LIGHT_EXTENSIONS;
use material::{MaterialSpec, ParamsSpec};
use mesh::MeshSpec;
use scene::SceneSpec;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Which node of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId(pub(crate) usize);

/// One asset.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// What the journal and messages call it: the file that describes it, and where in it.
    pub(crate) name: RelPath,
    pub(crate) kind: Kind,
    pub(crate) recipe: Recipe,
    pub(crate) packing: Packing,
    /// Everything that decides its bytes beside the files it reads.
    pub(crate) fingerprint: String,
}

/// How an asset is made.
#[derive(Clone, Debug)]
pub(crate) enum Recipe {
    /// A file as it is.
    Blob(RelPath),
    /// A picture.
    Bitmap(BitmapSpec),
    /// One texel.
    Solid([u8; 4]),
    /// Up to four pictures in one.
    Params(Box<ParamsSpec>),
    /// Triangles, and the blob that goes with them.
    Mesh(MeshSpec, Option<NodeId>),
    /// Keys.
    Animation(AnimationSpec),
    /// A definition and its pages.
    Font(String, Vec<NodeId>),
    /// Pictures and flags.
    Material(MaterialSpec),
    /// Places.
    Scene(SceneSpec),
}

impl Recipe {
    /// The nodes it refers to, in the order of its own numbering.
    pub(crate) fn refs(&self) -> Vec<NodeId> {
        match self {
            Recipe::Mesh(_, data) => data.iter().copied().collect(),
            Recipe::Font(_, pages) => pages.clone(),
            Recipe::Scene(scene) => scene.refs.clone(),
            _ => Vec::new(),
        }
    }
}

/// Raised when the same description comes out differently than before.
pub(crate) const VERSION: u32 = 1;

/// Everything that is to be baked.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// What each key names, and the file it comes from.
    pub(crate) keys: BTreeMap<String, (NodeId, RelPath)>,
    /// What deserves a look.
    pub(crate) warnings: Vec<Diag>,
}

/// Makes a plan. `name` and `text` are those of the content file; everything else is read through `inputs`.
pub(crate) fn plan(
    name: String,
    text: &str,
    inputs: &mut Inputs<'_>,
    tree: &Tree,
    own: &dyn Fn(&RelPath) -> bool,
) -> Result<Plan, Vec<Diag>> {
    let document = Document::parse(name, None, text).map_err(|diag| vec![diag])?;
    let listed = content::listed(&document, tree, own).map_err(|diag| vec![diag])?;
    let mut planner = Planner {
        inputs,
        tree,
        plan: Plan::default(),
        known: HashMap::new(),
        files: HashMap::new(),
        names: HashSet::new(),
        open: Vec::new(),
    };
    let mut problems = Vec::new();
    // One bad description does not hide the next one's mistakes.
    for Listed { path, packing } in &listed {
        problems.extend(planner.authored(path, *packing).err());
    }
    if problems.is_empty() { Ok(planner.plan) } else { Err(problems) }
}

/// What a plan is made with.
pub(crate) struct Planner<'a, 'c> {
    inputs: &'a mut Inputs<'c>,
    tree: &'a Tree,
    plan: Plan,
    /// Nodes by what decides their bytes.
    known: HashMap<String, NodeId>,
    /// Nodes of files that were referred to or listed.
    files: HashMap<(RelPath, String), NodeId>,
    /// Names of nodes.
    names: HashSet<RelPath>,
    /// The descriptions that are being read, each because the one before refers to it.
    open: Vec<RelPath>,
}

/// How many descriptions may refer to each other in a row. A scene, its material and the picture of that are three.
const DEEPEST: usize = 16;

/// A file, and perhaps something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) path: RelPath,
    /// What stands behind the `#`: the name or number of something in a glTF file.
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
    /// A file that the content file lists, or that another asset names: it gets its key.
    fn authored(&mut self, path: &RelPath, packing: Packing) -> Result<NodeId, Diag> {
        let node = self.file(path, packing)?;
        let key = path.as_str().strip_suffix(".toml").unwrap_or(path.as_str()).to_owned();
        match self.plan.keys.get(&key) {
            Some((_, other)) if other != path => {
                let message = format!("its key {key:?} is that of {other} too");
                Err(Diag::new(Code::PakKey, message).path(path).hint("rename one of them, or exclude it"))
            }
            _ => {
                self.plan.keys.insert(key, (node, path.clone()));
                Ok(node)
            }
        }
    }

    /// The asset of a file, by its description or by its extension.
    fn file(&mut self, path: &RelPath, packing: Packing) -> Result<NodeId, Diag> {
        let place = (path.clone(), packing.line());
        if let Some(node) = self.files.get(&place) {
            return Ok(*node);
        }
        let node = match extension(path).as_str() {
            "toml" => self.opened(path, packing)?,
            "glb" | "gltf" => self.mesh_node(path, MeshSpec::plain(path.clone()), None, packing),
            ext if LIGHT_EXTENSIONS.contains(&ext) || IMAGE_EXTENSIONS.contains(&ext) => {
                let spec = BitmapSpec::plain(Reference { path: path.clone(), part: None }, Use::Color);
                self.bitmap_node(path, spec, packing)
            }
            _ => self.blob_node(path, path.clone(), packing),
        };
        self.files.insert(place, node);
        Ok(node)
    }

    /// The asset that a TOML file describes, unless that is asked for while finding out.
    fn opened(&mut self, path: &RelPath, packing: Packing) -> Result<NodeId, Diag> {
        if let Some(at) = self.open.iter().position(|open| open == path) {
            let circle: Vec<&str> = self.open[at..].iter().chain([path]).map(RelPath::as_str).collect();
            let message = format!("it refers to itself: {}", circle.join(" → "));
            return Err(Diag::new(Code::PakCircle, message)
                .path(path)
                .hint("take one of these references out"));
        }
        if self.open.len() == DEEPEST {
            let message =
                format!("{DEEPEST} descriptions refer to each other in a row, and the last one to this");
            return Err(Diag::new(Code::PakCircle, message).path(path));
        }
        self.open.push(path.clone());
        let node = self.described(path, packing);
        self.open.pop();
        node
    }

    /// The asset that a TOML file describes.
    fn described(&mut self, path: &RelPath, packing: Packing) -> Result<NodeId, Diag> {
        let text = self.text(path)?;
        let document = Document::parse(path.to_string(), path.parent(), &text)?;
        let file = document.fields();
        let tables: Vec<(&str, Value<'_>)> =
            TABLES.iter().filter_map(|name| Some((*name, file.get(name)?))).collect();
        let [(name, value)] = tables.as_slice() else {
            let names: Vec<String> = tables.iter().map(|(name, _)| format!("[{name}]")).collect();
            let message = match names.len() {
                0 => "there is no asset table".to_owned(),
                _ => format!("{} are in one file", names.join(" and ")),
            };
            file.finish()?;
            let all: Vec<String> = TABLES.iter().map(|name| format!("[{name}]")).collect();
            return Err(Diag::new(Code::PakTable, message)
                .path(path)
                .hint(format!("an asset is described by one of {}", all.join(", "))));
        };
        let fields = value.fields()?;
        let node = match *name {
            "animation" => self.animation(path, fields, packing)?,
            "bitmap" => {
                let spec = self.bitmap(path, fields, Use::Color)?;
                self.bitmap_node(path, spec, packing)
            }
            "bitmap-font" => self.font(path, fields, packing)?,
            "blob" => {
                let default = path.as_str().strip_suffix(".toml").and_then(|own| RelPath::new(own).ok());
                let src = match fields.get("src") {
                    Some(value) => self.path(&value)?,
                    None => self.beside(&fields, default.into_iter().collect())?,
                };
                fields.finish()?;
                self.blob_node(path, src, packing)
            }
            "material" => self.material(path, fields, packing)?,
            "mesh" => self.mesh(path, fields, packing)?,
            _ => self.scene(path, fields, packing)?,
        };
        file.finish()?;
        Ok(node)
    }

    /// The text of a file.
    fn text(&mut self, path: &RelPath) -> Result<String, Diag> {
        let bytes = self.inputs.read(path)?;
        String::from_utf8(bytes).map_err(|_| Diag::new(Code::Unreadable, "it is not UTF-8").path(path))
    }

    /// A node; the one there is, if its bytes are decided by the same.
    fn node(&mut self, name: &RelPath, kind: Kind, recipe: Recipe, packing: Packing, lines: &str) -> NodeId {
        let fingerprint = format!("kind={}\nversion={VERSION}\n{}{lines}", kind.name(), packing.line());
        if let Some(node) = self.known.get(&fingerprint) {
            return *node;
        }
        let id = NodeId(self.plan.nodes.len());
        self.known.insert(fingerprint.clone(), id);
        let name = self.unused(name, kind);
        self.plan.nodes.push(Node { name, kind, recipe, packing, fingerprint });
        id
    }

    /// A name that no other node has: the journal knows nodes by it.
    fn unused(&mut self, name: &RelPath, kind: Kind) -> RelPath {
        let numbered = (1..).filter_map(|n| RelPath::new(format!("{name} ({} {n})", kind.name())).ok());
        let mut free =
            std::iter::once(name.clone()).chain(numbered).filter(|name| !self.names.contains(name));
        let free = free.next().unwrap_or_else(|| name.clone());
        self.names.insert(free.clone());
        free
    }

    fn blob_node(&mut self, name: &RelPath, src: RelPath, packing: Packing) -> NodeId {
        let packing = if is_compressed(src.as_str()) { Packing::default() } else { packing };
        let lines = format!("src={src}\n");
        self.node(name, Kind::Blob, Recipe::Blob(src), packing, &lines)
    }

    fn bitmap_node(&mut self, name: &RelPath, spec: BitmapSpec, packing: Packing) -> NodeId {
        let lines = spec.lines();
        // Blocks for the GPU are packed by their own container.
        let packing = if spec.uastc { Packing::default() } else { packing };
        self.node(name, Kind::Bitmap, Recipe::Bitmap(spec), packing, &lines)
    }

    fn mesh_node(
        &mut self,
        name: &RelPath,
        spec: MeshSpec,
        data: Option<NodeId>,
        packing: Packing,
    ) -> NodeId {
        let lines = format!("{}data={data:?}\n", spec.lines());
        self.node(name, Kind::Mesh, Recipe::Mesh(spec, data), packing, &lines)
    }

    /// The path that a value names: relative to the description, or to the root after a `/`. The file is there.
    fn path(&self, value: &Value<'_>) -> Result<RelPath, Diag> {
        let reference = self.reference(value)?;
        match reference.part {
            None => Ok(reference.path),
            Some(_) => Err(value.wanted("the path of a whole file")),
        }
    }

    /// The file that a value names, and what in it.
    fn reference(&self, value: &Value<'_>) -> Result<Reference, Diag> {
        let text = value.text()?;
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
                .fault(Code::PakPath, format_args!("{text:?} is not a path inside the root: {why}"))
                .hint("paths are relative to this file, or start with / for the root")
        })?;
        if self.tree.stamp(path.as_str()).is_none() {
            let files = self.tree.files().map(|(path, _)| path.as_str());
            let diag = value.fault(Code::PakMissing, format_args!("there is no file {path}"));
            return Err(match kiln_engine::nearest(path.as_str(), files) {
                Some(near) => diag.hint(format!("did you mean /{near}?")),
                None => diag.hint("paths are relative to this file, or start with / for the root"),
            });
        }
        Ok(Reference { path, part })
    }

    /// The first of some files that is there.
    fn beside(&self, fields: &Fields<'_>, candidates: Vec<RelPath>) -> Result<RelPath, Diag> {
        let found = candidates.iter().find(|path| self.tree.stamp(path.as_str()).is_some()).cloned();
        found.ok_or_else(|| {
            let names: Vec<&str> = candidates.iter().map(RelPath::as_str).collect();
            fields
                .fault(
                    Code::PakMissing,
                    format!("there is no src, and none of {} is there", names.join(", ")),
                )
                .hint("say which file it is: src = '…'")
        })
    }

    /// The file that `src` names, or the one beside the description with its name and one of these extensions.
    fn src(&self, path: &RelPath, fields: &Fields<'_>, extensions: &[&str]) -> Result<RelPath, Diag> {
        match fields.get("src") {
            Some(value) => self.path(&value),
            None => self.beside(fields, siblings(path, extensions)),
        }
    }

    /// The asset that a path names, which has to be of a kind.
    fn asset(&mut self, value: &Value<'_>, kind: Kind, packing: Packing) -> Result<NodeId, Diag> {
        let path = self.path(value)?;
        let described = extension(&path) == "toml";
        let node = if described { self.authored(&path, packing)? } else { self.file(&path, packing)? };
        self.of_kind(value, node, kind)
    }

    fn of_kind(&self, value: &Value<'_>, node: NodeId, kind: Kind) -> Result<NodeId, Diag> {
        let found = self.plan.nodes[node.0].kind;
        if found != kind {
            let message = format!("it is a {}, and a {} is wanted", found.name(), kind.name());
            return Err(value.fault(Code::PakKind, message));
        }
        Ok(node)
    }
}

const TABLES: [&str; 7] = ["animation", "bitmap", "bitmap-font", "blob", "material", "mesh", "scene"];

/// The extension of a path in lower case; empty when it has none.
pub(crate) fn extension(path: &RelPath) -> String {
    path.file_name()
        .rsplit_once('.')
        .map_or_else(String::new, |(_, extension)| extension.to_ascii_lowercase())
}

fn is_gltf(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.ends_with(".glb") || path.ends_with(".gltf")
}

/// The files with the name of a description and one of these extensions.
fn siblings(path: &RelPath, extensions: &[&str]) -> Vec<RelPath> {
    let stem = path.as_str().strip_suffix(".toml").unwrap_or(path.as_str());
    // A description may also carry the whole name of what it describes: `a.png.toml`.
    let own = RelPath::new(stem).ok().filter(|own| extensions.contains(&&*extension(own)));
    let others = extensions.iter().filter_map(|extension| RelPath::new(format!("{stem}.{extension}")).ok());
    own.into_iter().chain(others).collect()
}

/// A name for a part of what a file describes.
fn part(path: &RelPath, part: impl std::fmt::Display) -> RelPath {
    RelPath::new(format!("{path}#{part}")).unwrap_or_else(|_| path.clone())
}
