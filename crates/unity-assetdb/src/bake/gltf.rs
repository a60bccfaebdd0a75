//! Reads the names of the meshes and animations of a glTF file, `.gltf` or `.glb`, that the package glTFast imports.
//!
//! glTFast identifies a mesh as `meshes/NAME` and a clip as `animations/NAME`, and Unity derives the fileID from the class and
//! the identifier, as for the objects of every ScriptedImporter. Objects without a name are left out, and so is the second of
//! two with one name: its identifier has a suffix that depends on the version of the package. Damaged JSON has no objects.

use super::model::file_id;
use crate::class_id::ClassId;
use kiln_engine::Json;

/// The size of the header of a `.glb` file and of its first chunk, in bytes.
pub(crate) const HEAD: usize = 20;
/// The maximum size of the JSON that is parsed, in bytes.
const MAX_JSON_SIZE: u64 = 16 << 20;

/// Returns the number of bytes at the start of a file that contain its JSON: all of a `.gltf`, the first chunk of a `.glb`; 0 if
/// there is none or it is too long.
pub(crate) fn json_end(head: &[u8], file_len: u64) -> u64 {
    let end = match glb_json_len(head) {
        Some(len) => HEAD as u64 + len,
        None => file_len,
    };
    if end <= MAX_JSON_SIZE.min(file_len) { end } else { 0 }
}

/// Returns the length of the JSON in a `.glb` file of version 2.
fn glb_json_len(head: &[u8]) -> Option<u64> {
    let number = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let is_glb = head.starts_with(b"glTF") && number(4)? == 2 && head.get(16..HEAD)? == b"JSON";
    is_glb.then(|| number(12).map(u64::from)).flatten()
}

/// Calls `put` with the fileID, class and name of each mesh and clip. `bytes` is the file up to the end of its JSON.
pub(crate) fn for_each_object(bytes: &[u8], mut put: impl FnMut(i64, ClassId, &str)) {
    let json = if glb_json_len(bytes).is_some() { &bytes[HEAD..] } else { bytes };
    let Ok(text) = std::str::from_utf8(json) else { return };
    // Exporters pad the chunk with spaces, some of them with zeros.
    let text = text.trim_start_matches('\u{feff}').trim_end_matches(['\0', ' ', '\n', '\r', '\t']);
    let Ok(document) = Json::parse(text) else { return };
    for (key, class) in [("meshes", ClassId::Mesh), ("animations", ClassId::AnimationClip)] {
        let Some(Json::List(items)) = document.get(key) else { continue };
        let names = items.iter().filter_map(|item| item.get("name")?.text());
        for name in names.filter(|name| !name.is_empty()) {
            put(file_id(class.name(), &format!("{key}/{name}"), 0), class, name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"asset": {"version": "2.0"}, "meshes": [{"name": "Plane.001"}, {}, {"name": ""}],
        "animations": [{"name": "Push"}], "nodes": [{"name": "no"}]}"#;

    fn objects(bytes: &[u8]) -> Vec<(i64, ClassId, String)> {
        let mut found = Vec::new();
        for_each_object(bytes, |id, class, name| found.push((id, class, name.to_owned())));
        found
    }

    fn glb(json: &str) -> Vec<u8> {
        let len = |n: usize| (n as u32).to_le_bytes();
        let parts =
            [&b"glTF"[..], &len(2), &len(HEAD + json.len()), &len(json.len()), b"JSON", json.as_bytes()];
        parts.concat()
    }

    /// `GliderProp.glb` and `Push.glb` of github.com/decentraland/unity-explorer, to whose mesh and clip prefabs and
    /// controllers refer by these fileIDs.
    #[test]
    fn meshes_and_clips_have_identifiers_of_gltfast() {
        let expected = [
            (6_360_135_341_456_839_332, ClassId::Mesh, "Plane.001".to_owned()),
            (3_183_994_717_084_848_310, ClassId::AnimationClip, "Push".to_owned()),
        ];
        assert_eq!(objects(JSON.as_bytes()), expected);
        assert_eq!(objects(&glb(JSON)), expected);
        assert_eq!(objects(&glb(&format!("{JSON}\0\0 "))), expected);
    }

    #[test]
    fn finds_the_end_of_the_json() {
        let file = glb(JSON);
        assert_eq!(json_end(&file[..HEAD], file.len() as u64 + 500), file.len() as u64);
        assert_eq!(json_end(&file[..HEAD], file.len() as u64 - 1), 0, "the chunk is longer than the file");
        assert_eq!(json_end(b"{\"asset\"", 300), 300);
        assert_eq!(json_end(b"{", MAX_JSON_SIZE + 1), 0);
    }

    #[test]
    fn damaged_files_have_no_objects() {
        let file = glb(JSON);
        for end in 0..file.len() {
            assert!(objects(&file[..end]).is_empty(), "{end}");
        }
        assert!(objects(&[0xff; 64]).is_empty());
        assert!(objects("[".repeat(100_000).as_bytes()).is_empty());
    }
}
