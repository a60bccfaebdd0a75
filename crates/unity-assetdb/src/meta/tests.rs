//! `.meta` files as Unity writes them and as accidents leave them.

use super::*;
use crate::guid;

const GUID: &str = "8f57b4a070f7b43bbb3925467e6752ab";

fn with(body: &str) -> String {
    format!("fileFormatVersion: 2\nguid: {GUID}\n{body}")
}

fn faults(text: &[u8]) -> Vec<(u32, FaultKind)> {
    parse(text).faults.into_iter().map(|fault| (fault.line, fault.kind)).collect()
}

#[test]
fn parses_minimal_meta() {
    let text = with("");
    let meta = parse(text.as_bytes());
    assert_eq!(meta, Meta { guid: guid::parse(GUID), ..Meta::default() });
    let text = with("folderAsset: yes\nDefaultImporter:\n  userData: \n");
    let meta = parse(text.as_bytes());
    assert!(meta.folder);
    assert_eq!(meta.importer, "DefaultImporter");
}

#[test]
fn parses_sprite_sheets_by_indentation() {
    // A sheet as Unity 2021 writes it: nested lists with dashes at the indent of the item's keys, and keys of the
    // sheet after the list, among them an internalID.
    let text = with(concat!(
        "TextureImporter:\n  internalIDToNameTable:\n  - first:\n      213: 21300000\n    second: old_0\n",
        "  - first:\n      213: -77\n    second: 'it''s'\n  externalObjects: {}\n  spriteMode: 2\n",
        "  textureType: 8\n  textureShape: 1\n  spriteSheet:\n    serializedVersion: 2\n    sprites:\n",
        "    - serializedVersion: 2\n      name: first\n      rect:\n        serializedVersion: 2\n        name: inner\n",
        "      outline:\n      - - {x: 1, y: 2}\n        - {x: 3, y: 4}\n      physicsShape:\n      - - {x: 1, y: 2}\n",
        "      bones:\n      - name: bone\n        internalID: 99\n      spriteID: abc\n      internalID: -42\n      vertices: []\n",
        "    - name: \"\\u30C6\"\n      internalID: 7\n    - serializedVersion: 2\n      name: last\n      internalID: 8\n",
        "    outline: []\n    physicsShape: []\n    bones: []\n    spriteID: xyz\n    internalID: 0\n    vertices: []\n",
        "    nameFileIdTable:\n      first: -42\n      'a: b': 9\n      last: 8\n  spritePackingTag: \n  userData: \n",
    ));
    let meta = parse(text.as_bytes());
    assert_eq!(meta.sprites, [("first".into(), -42), ("テ".into(), 7), ("last".into(), 8)]);
    assert_eq!(meta.name_table, [("first".into(), -42), ("a: b".into(), 9), ("last".into(), 8)]);
    assert_eq!(meta.id_table, [(213, 21_300_000, "old_0".into()), (213, -77, "it's".into())]);
    assert_eq!((meta.sprite_mode, meta.texture_type, meta.texture_shape), (Some(2), Some(8), Some(1)));
}

#[test]
fn crlf_parses_like_lf() {
    let text = with(concat!(
        "TextureImporter:\n  spriteSheet:\n    sprites:\n    - name: a b\n      internalID: 3\n",
        "    nameFileIdTable:\n      a b: 3\n  spriteMode: 1\n",
    ));
    let crlf = text.replace('\n', "\r\n");
    let mut read = parse(crlf.as_bytes());
    assert_eq!(read.faults, [Fault { line: 1, kind: FaultKind::Crlf }]);
    read.faults.clear();
    assert_eq!(parse(text.as_bytes()), read);
    assert_eq!(parse(crlf.as_bytes()).sprites, [("a b".into(), 3)]);
}

#[test]
fn parses_old_name_tables_and_clips() {
    let text = with(concat!(
        "ModelImporter:\n  serializedVersion: 22\n  fileIDToRecycleName:\n    100000: //RootNode\n    4300000: Body\n",
        "    7400000: 'Take: 001'\n  animations:\n    clipAnimations:\n    - serializedVersion: 16\n      name: Walk\n",
        "      takeName: Take 001\n      internalID: -203655887218126122\n      curves: []\n      events:\n",
        "      - time: 0\n        name: inner\n    - name: Run\n    isReadable: 1\n  meshes:\n    preserveHierarchy: 1\n",
    ));
    let meta = parse(text.as_bytes());
    assert_eq!(
        meta.recycled,
        [(100_000, "//RootNode".into()), (4_300_000, "Body".into()), (7_400_000, "Take: 001".into())]
    );
    assert_eq!(meta.clips, [("Walk".into(), -203_655_887_218_126_122), ("Run".into(), 0)]);
    assert!(meta.preserve_hierarchy);
}

#[test]
fn parses_main_object_file_id() {
    let main =
        |line: &str| parse(with(&format!("NativeFormatImporter:\n  {line}\n")).as_bytes()).main_file_id;
    assert_eq!(main("mainObjectFileID: 11400000"), Some(11_400_000));
    assert_eq!(main("mainObjectFileID: 0"), None);
    assert_eq!(main("  mainObjectFileID: 5"), None);
}

#[test]
fn reports_faults_with_their_lines() {
    assert_eq!(faults(b""), [(1, FaultKind::Empty)]);
    assert_eq!(faults(b"fileFormatVersion: 2\n"), [(1, FaultKind::NoGuid)]);
    assert_eq!(
        faults(format!("{}\noid sha256:1\n", String::from_utf8_lossy(LFS)).as_bytes()),
        [(1, FaultKind::LfsPointer)]
    );
    let bad = |guid: &str| faults(format!("fileFormatVersion: 2\nguid: {guid}\n").as_bytes());
    assert_eq!(bad(&GUID[1..]), [(2, FaultKind::BadGuid(GUID[1..].into()))]);
    assert_eq!(bad(&format!("{GUID}0")), [(2, FaultKind::BadGuid(format!("{GUID}0")))]);
    assert_eq!(bad(&"0".repeat(32)), [(2, FaultKind::ZeroGuid)]);
    assert_eq!(bad(&format!("{GUID} # a remark")), []);
    assert_eq!(faults(format!("\u{feff}guid: {GUID}\n").as_bytes()), [(1, FaultKind::Bom)]);
    assert_eq!(faults(&[b"guid: ", GUID.as_bytes(), b"\n\nA\xffb:\n"].concat()), [(3, FaultKind::NotUtf8)]);
}

#[test]
fn merge_conflict_keeps_a_guid_common_to_both_sides() {
    let other = GUID.replace('8', "9");
    let merge = |theirs: &str| {
        format!("fileFormatVersion: 2\n<<<<<<< HEAD\nguid: {GUID}\n=======\nguid: {theirs}\n>>>>>>> x\n")
    };
    let text = merge(GUID);
    let meta = parse(text.as_bytes());
    assert_eq!(meta.guid, guid::parse(GUID));
    assert_eq!(faults(text.as_bytes()), [(2, FaultKind::Conflict)]);
    let text = merge(&other);
    assert_eq!(parse(text.as_bytes()).guid, None);
    assert_eq!(faults(text.as_bytes()).len(), 2);
    let text = with("MonoImporter:\n  a: 1\n<<<<<<< HEAD\n  b: 1\n=======\n  b: 2\n>>>>>>> x\n");
    assert_eq!(faults(text.as_bytes()), [(5, FaultKind::Conflict)]);
}

#[test]
fn never_panics_on_truncated_input() {
    let text = with(
        "TextureImporter:\n  spriteSheet:\n    sprites:\n    - name: 'a\n      internalID: x\n    -\n  - : :\n",
    );
    for end in 0..text.len() {
        parse(&text.as_bytes()[..end]);
    }
    parse(&vec![b'\n'; 100_000]);
    parse(&vec![b'-'; 100_000]);
}

#[test]
fn skips_lines_of_lists_without_relevant_keys() {
    // Deeper than the eight bytes that are compared at once, with lines that look like those of the list.
    let text = with(concat!(
        "ModelImporter:\n          clipAnimations:\n          - serializedVersion: 16\n            name: run\n",
        "            takeName: 'a\n              name: no'\n            curves:\n            - name: inner\n",
        "              internalID: 3\n\n            internalID: 5\n            events: []\n          - name: jump\n",
        "            mask: 0\n            internalID: 7\n          name: after\n  animationType: 2\n",
    ));
    let meta = parse(text.as_bytes());
    let clips: Vec<(&str, i64)> = meta.clips.iter().map(|(name, id)| (&**name, *id)).collect();
    assert_eq!(clips, [("run", 5), ("jump", 7)]);
    assert_eq!(meta.animation_type, Some(2));
}
