//! The lists of a document, and what it says of itself: its version and the extensions it uses.
//!
//! Refused are other versions than 2, and documents that require an extension which changes their geometry and is
//! not known here.

use kiln_engine::{Code, Diag};

use super::at::{At, List};
use super::json::Json;

/// Extensions that are read, whole or in part.
const READ: [&str; 8] = [
    "KHR_mesh_quantization",
    "KHR_meshopt_compression",
    "EXT_meshopt_compression",
    "KHR_draco_mesh_compression",
    "EXT_mesh_gpu_instancing",
    "KHR_texture_transform",
    "KHR_texture_basisu",
    "EXT_texture_webp",
];

/// What an extension may be about, after its prefix, without any effect on where triangles are.
const HARMLESS: [&str; 15] = [
    "materials",
    "texture",
    "lights",
    "animation",
    "node",
    "xmp",
    "audio",
    "physics",
    "collision",
    "interactivity",
    "environments",
    "structural",
    "instance",
    "camera",
    "lod",
];

/// A document by its lists; those it does not have are empty.
pub(super) struct Document<'a> {
    pub(super) root: At<'a>,
    pub(super) accessors: List<'a>,
    pub(super) animations: List<'a>,
    pub(super) buffers: List<'a>,
    pub(super) buffer_views: List<'a>,
    pub(super) images: List<'a>,
    pub(super) materials: List<'a>,
    pub(super) meshes: List<'a>,
    pub(super) nodes: List<'a>,
    pub(super) samplers: List<'a>,
    pub(super) scenes: List<'a>,
    pub(super) skins: List<'a>,
    pub(super) textures: List<'a>,
}

impl<'a> Document<'a> {
    /// Takes a document apart, if it is one that can be read.
    pub(super) fn new(json: &'a Json<'a>) -> Result<Document<'a>, Diag> {
        let root = At::new(json).object()?;
        check_version(root)?;
        for required in root.list("extensionsRequired")?.iter() {
            let name = required.text()?;
            if !is_known(name) {
                let message =
                    format!("the model requires {name}, which may change its geometry and is not supported");
                return Err(required
                    .fault(Code::GltfExtensionRequired, message)
                    .hint("export it without that extension"));
            }
        }
        Ok(Document {
            root,
            accessors: root.list("accessors")?,
            animations: root.list("animations")?,
            buffers: root.list("buffers")?,
            buffer_views: root.list("bufferViews")?,
            images: root.list("images")?,
            materials: root.list("materials")?,
            meshes: root.list("meshes")?,
            nodes: root.list("nodes")?,
            samplers: root.list("samplers")?,
            scenes: root.list("scenes")?,
            skins: root.list("skins")?,
            textures: root.list("textures")?,
        })
    }

    /// Extensions that the document uses and nobody here has heard of.
    pub(super) fn unknown_extensions(&self) -> Result<Vec<&'a str>, Diag> {
        let used = self.root.list("extensionsUsed")?;
        let names = used.iter().map(At::text).collect::<Result<Vec<_>, _>>()?;
        Ok(names.into_iter().filter(|name| !is_known(name)).collect())
    }
}

fn check_version(root: At<'_>) -> Result<(), Diag> {
    let asset = root.need("asset")?;
    let old = |at: At<'_>, version: &str| {
        at.fault(Code::GltfVersion, format!("this is glTF {version:?}, and 2.0 is what can be read"))
            .hint("export it as glTF 2.0")
    };
    let version = asset.need("version")?;
    if version.text()?.split('.').next() != Some("2") {
        return Err(old(version, version.text()?));
    }
    let Some(least) = asset.get("minVersion") else { return Ok(()) };
    match parse_version(least.text()?) {
        Some(version) if version <= (2, 0) => Ok(()),
        Some(_) => Err(old(least, least.text()?)),
        None => Err(least.bad(format_args!("{:?} is not a version such as \"2.0\"", least.text()?))),
    }
}

/// The major and the minor version.
pub(super) fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn is_known(name: &str) -> bool {
    let mut words = name.split('_').skip(1);
    READ.contains(&name) || words.next().is_some_and(|word| HARMLESS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::super::json;
    use super::*;

    fn check(text: &str) -> Result<Vec<String>, (String, String)> {
        let json = json::parse(text.as_bytes()).unwrap();
        let document = Document::new(&json).map_err(|d| (d.code.to_string(), d.at.unwrap_or_default()))?;
        Ok(document.unknown_extensions().unwrap().into_iter().map(str::to_owned).collect())
    }

    fn refused(text: &str, code: &str, at: &str) {
        assert_eq!(check(text), Err((code.to_owned(), at.to_owned())), "{text}");
    }

    #[test]
    fn versions() {
        assert!(check(r#"{"asset": {"version": "2.0"}}"#).is_ok());
        assert!(check(r#"{"asset": {"version": "2.1", "minVersion": "2.0"}}"#).is_ok());
        assert!(check(r#"{"asset": {"version": "2.12", "minVersion": "1.0"}}"#).is_ok());
        refused(r#"{"asset": {"version": "1.0"}}"#, "gltf-version", "/asset/version");
        refused(r#"{"asset": {"version": "20"}}"#, "gltf-version", "/asset/version");
        refused(r#"{"asset": {"version": "2.1", "minVersion": "2.1"}}"#, "gltf-version", "/asset/minVersion");
        refused(r#"{"asset": {"version": "2.1", "minVersion": "3.0"}}"#, "gltf-version", "/asset/minVersion");
        refused(r#"{"asset": {"version": "2.0", "minVersion": "new"}}"#, "gltf-value", "/asset/minVersion");
        refused(r#"{"asset": {"version": 2.0}}"#, "gltf-value", "/asset/version");
        refused(r#"{"asset": {}}"#, "gltf-value", "/asset/version");
        refused("{}", "gltf-value", "/asset");
        refused("[]", "gltf-value", "");
    }

    #[test]
    fn extensions() {
        let with =
            |list: &str, names: &str| format!(r#"{{"asset": {{"version": "2.0"}}, "{list}": {names}}}"#);
        let fine =
            r#"["KHR_materials_new", "EXT_meshopt_compression", "KHR_lights_punctual", "ADOBE_materials_x"]"#;
        assert_eq!(check(&with("extensionsRequired", fine)), Ok(vec![]));
        for name in ["KHR_gaussian_splatting", "NEW_mesh_lattice", "FB_geometry_metadata", "odd", ""] {
            let names = format!(r#"["KHR_materials_unlit", "{name}"]"#);
            refused(&with("extensionsRequired", &names), "gltf-extension-required", "/extensionsRequired/1");
            assert_eq!(check(&with("extensionsUsed", &names)), Ok(vec![name.to_owned()]));
        }
    }
}
