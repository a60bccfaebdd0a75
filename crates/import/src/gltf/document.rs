//! The top-level arrays of a document, its version and its extensions.
//!
//! Rejects versions other than 2, and documents that require an unknown extension that may change their geometry.

use kiln_diagnostics::{Code, Diag};

use super::json::Json;
use super::support::{self, Support};
use super::value::{List, Value};

/// Name parts, after the vendor prefix, of extensions that do not change geometry.
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

/// A document by its top-level arrays; absent ones are empty.
pub(super) struct Document<'a> {
    pub(super) root: Value<'a>,
    pub(super) accessors: List<'a>,
    pub(super) animations: List<'a>,
    pub(super) buffers: List<'a>,
    pub(super) buffer_views: List<'a>,
    pub(super) cameras: List<'a>,
    pub(super) images: List<'a>,
    /// The lights of `KHR_lights_punctual`.
    pub(super) lights: List<'a>,
    pub(super) materials: List<'a>,
    pub(super) meshes: List<'a>,
    pub(super) nodes: List<'a>,
    pub(super) samplers: List<'a>,
    pub(super) scenes: List<'a>,
    pub(super) skins: List<'a>,
    pub(super) textures: List<'a>,
}

impl<'a> Document<'a> {
    /// Reads the top level of a document, and checks its version and required extensions.
    pub(super) fn new(json: &'a Json<'a>) -> Result<Document<'a>, Diag> {
        let root = Value::new(json).object()?;
        check_version(root)?;
        for required in root.list("extensionsRequired")?.iter() {
            let name = required.string()?;
            if !may_be_required(name) {
                let message =
                    format!("the model requires {name}, which may change its geometry and is not supported");
                return Err(required
                    .error(Code::GltfExtensionRequired, message)
                    .hint("export the model without that extension"));
            }
        }
        Ok(Document {
            root,
            accessors: root.list("accessors")?,
            animations: root.list("animations")?,
            buffers: root.list("buffers")?,
            buffer_views: root.list("bufferViews")?,
            cameras: root.list("cameras")?,
            images: root.list("images")?,
            lights: root.extension("KHR_lights_punctual").unwrap_or(root).list("lights")?,
            materials: root.list("materials")?,
            meshes: root.list("meshes")?,
            nodes: root.list("nodes")?,
            samplers: root.list("samplers")?,
            scenes: root.list("scenes")?,
            skins: root.list("skins")?,
            textures: root.list("textures")?,
        })
    }

    /// Returns the unknown extensions that the document uses.
    pub(super) fn unknown_extensions(&self) -> Result<Vec<&'a str>, Diag> {
        let used = self.root.list("extensionsUsed")?;
        let names = used.iter().map(Value::string).collect::<Result<Vec<_>, _>>()?;
        // The extensions of a material are listed with the material.
        let is_listed = |name: &str| {
            support::extension(name).is_some()
                || name.split('_').nth(1).is_some_and(|word| word == "materials")
        };
        Ok(names.into_iter().filter(|name| !is_listed(name)).collect())
    }
}

fn check_version(root: Value<'_>) -> Result<(), Diag> {
    let asset = root.required("asset")?;
    let old = |at: Value<'_>, version: &str| {
        at.error(
            Code::GltfVersion,
            format!("the document has glTF version {version:?}, and only 2.0 is supported"),
        )
        .hint("export the model as glTF 2.0")
    };
    let version = asset.required("version")?;
    if version.string()?.split('.').next() != Some("2") {
        return Err(old(version, version.string()?));
    }
    let Some(least) = asset.get("minVersion") else { return Ok(()) };
    match parse_version(least.string()?) {
        Some(version) if version <= (2, 0) => Ok(()),
        Some(_) => Err(old(least, least.string()?)),
        None => {
            Err(least
                .invalid(format_args!("expected a version such as \"2.0\", found {:?}", least.string()?)))
        }
    }
}

/// Parses a version into its major and minor number.
pub(super) fn parse_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns `true` if a file that requires this extension can be imported.
fn may_be_required(name: &str) -> bool {
    support::extension(name).is_some_and(|extension| extension.support != Support::Dropped)
        || name.split('_').nth(1).is_some_and(|word| HARMLESS.contains(&word))
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

    fn rejected(text: &str, code: &str, at: &str) {
        assert_eq!(check(text), Err((code.to_owned(), at.to_owned())), "{text}");
    }

    #[test]
    fn rejects_unsupported_versions() {
        assert!(check(r#"{"asset": {"version": "2.0"}}"#).is_ok());
        assert!(check(r#"{"asset": {"version": "2.1", "minVersion": "2.0"}}"#).is_ok());
        assert!(check(r#"{"asset": {"version": "2.12", "minVersion": "1.0"}}"#).is_ok());
        rejected(r#"{"asset": {"version": "1.0"}}"#, "gltf-version", "/asset/version");
        rejected(r#"{"asset": {"version": "20"}}"#, "gltf-version", "/asset/version");
        rejected(
            r#"{"asset": {"version": "2.1", "minVersion": "2.1"}}"#,
            "gltf-version",
            "/asset/minVersion",
        );
        rejected(
            r#"{"asset": {"version": "2.1", "minVersion": "3.0"}}"#,
            "gltf-version",
            "/asset/minVersion",
        );
        rejected(r#"{"asset": {"version": "2.0", "minVersion": "new"}}"#, "gltf-value", "/asset/minVersion");
        rejected(r#"{"asset": {"version": 2.0}}"#, "gltf-value", "/asset/version");
        rejected(r#"{"asset": {}}"#, "gltf-value", "/asset/version");
        rejected("{}", "gltf-value", "/asset");
        rejected("[]", "gltf-value", "");
    }

    #[test]
    fn rejects_required_extensions_that_may_change_geometry() {
        let with =
            |list: &str, names: &str| format!(r#"{{"asset": {{"version": "2.0"}}, "{list}": {names}}}"#);
        let fine =
            r#"["KHR_materials_new", "EXT_meshopt_compression", "KHR_lights_punctual", "ADOBE_materials_x"]"#;
        assert_eq!(check(&with("extensionsRequired", fine)), Ok(vec![]));
        for name in ["KHR_gaussian_splatting", "NEW_mesh_lattice", "FB_geometry_metadata", "odd", ""] {
            let names = format!(r#"["KHR_materials_unlit", "{name}"]"#);
            rejected(&with("extensionsRequired", &names), "gltf-extension-required", "/extensionsRequired/1");
            let unknown = if support::extension(name).is_some() { vec![] } else { vec![name.to_owned()] };
            assert_eq!(check(&with("extensionsUsed", &names)), Ok(unknown));
        }
    }
}
