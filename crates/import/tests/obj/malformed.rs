//! Files that are wrong or damaged: an error with its line or a valid model, never a panic.

use crate::{import, import_with};
use kiln_import::Code;
use proptest::prelude::*;

const GOOD: &str = "# cube\nmtllib m.mtl\no box\nv 0 0 0\nv 1.5e0 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 0.25 -1\n\
vt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\nvn 0 1 0\ns 1\nusemtl a\nf 1/1/1 2/2/1 3/3/1 4/1/2\nf -5 -4 -3\ns off\nusemtl b\n\
f 1//1 2//2 5//1\nf 1/1 2/2 3/3 4/1 5/2\nl 1 2\np 1\n";
const LIBRARY: &str =
    "newmtl a\nKd 0.5 0.5 0.5\nmap_Kd -s 1 1 1 a.png\nd 0.5\nnewmtl b\nPr 0.5\nmap_Bump -bm 2 a.png\n";

#[test]
fn errors_name_their_line() {
    for (text, code, line, word) in [
        ("v 0 0", "obj-syntax", 1, "the end of the line"),
        ("\nv 0 0 x", "obj-syntax", 2, "\"x\""),
        ("v 0 0 nan", "obj-syntax", 1, "nan"),
        ("v 0 inf 0", "obj-syntax", 1, "inf"),
        ("v 0 1e39 0", "obj-syntax", 1, "1e39"),
        ("v 1,5 0 0", "obj-syntax", 1, "1,5"),
        ("v 0 0 0 x", "obj-syntax", 1, "\"x\""),
        ("vt", "obj-syntax", 1, "the end of the line"),
        ("v 1 2 3\nvt \n", "obj-syntax", 2, "the end of the line"),
        ("vn 1 2", "obj-syntax", 1, "the end of the line"),
        ("vn 1 2 3 4", "obj-syntax", 1, "\"4\""),
        ("vt 1 2 3 4", "obj-syntax", 1, "\"4\""),
        ("v 0 0 0\nf 1 1 0", "obj-index", 2, "position index 0 is out of range"),
        ("v 0 0 0\nf 1 1 -2", "obj-index", 2, "-2"),
        ("v 0 0 0\nf 1 1 2\n\nf 1 1 9\n", "obj-index", 4, "position index 9 is out of range: the file has 1"),
        ("v 0 0 0\nf 1/1 1/1 1/1", "obj-index", 2, "UV index"),
        ("v 0 0 0\nf 1//-1 1//1 1//1", "obj-index", 2, "normal"),
        ("v 0 0 0\nf 1 1 99999999999999999999", "obj-index", 2, "position"),
        ("v 0 0 0\nf 1 1 -99999999999999999999", "obj-index", 2, "position"),
        ("v 0 0 0\nf 1 1 1/2/3/4", "obj-syntax", 2, "1/2/3/4"),
        ("v 0 0 0\nf 1 1 1.5", "obj-syntax", 2, "1.5"),
        ("v 0 0 0\nf 1 1 a", "obj-syntax", 2, "\"a\""),
        ("v 0 0 0\nf 1 1 /1", "obj-syntax", 2, "/1"),
        ("v 0 0 0\ns x\n", "obj-syntax", 2, "smoothing"),
        ("<!DOCTYPE html>\n<html>", "obj-syntax", 1, "DOCTYPE"),
        ("ply\nformat ascii 1.0\n", "obj-syntax", 1, "ply"),
        ("\0\0\0\0", "obj-syntax", 1, "\\0"),
    ] {
        let error = import(text).err().unwrap_or_else(|| panic!("{text:?} is read"));
        assert_eq!((error.code.as_str(), error.at), (code, Some(format!("line {line}"))), "{text:?}");
        assert!(error.message.contains(word), "{text:?}: {}", error.message);
        assert_eq!(error.path.as_deref(), Some("models/m.obj"));
    }
    assert_eq!(import("").unwrap_err().code, Code::FileEmpty);
    let libraries: String = (0..300).map(|i| format!("mtllib {i}.mtl\n")).collect();
    assert_eq!(import(&libraries).unwrap_err().code, Code::ObjTooLarge);
}

fn holds(model: &[u8], library: &str) {
    let files = [("models/m.mtl", library), ("models/a.png", "image")];
    match import_with(model, &files).0 {
        Ok(found) => {
            let parts = &found.value.meshes[0].primitives;
            assert!(parts.iter().all(|part| part.triangles() > 0));
        }
        Err(error) => {
            assert!(!error.message.is_empty() && error.path.is_some(), "{error}");
            assert!(
                error.at.as_deref().is_some_and(|at| at.starts_with("line "))
                    || error.code == Code::FileEmpty,
                "{error}"
            );
        }
    }
}

#[test]
fn every_truncation_is_handled() {
    for end in 0..=GOOD.len() {
        holds(&GOOD.as_bytes()[..end], LIBRARY);
    }
    for end in 0..=LIBRARY.len() {
        holds(GOOD.as_bytes(), &LIBRARY[..end]);
    }
    let whole =
        import_with(GOOD.as_bytes(), &[("models/m.mtl", LIBRARY), ("models/a.png", "image")]).0.unwrap();
    assert_eq!(whole.value.meshes[0].primitives.len(), 2);
}

#[test]
fn huge_numbers_take_no_memory() {
    let many = format!("v 0 0 0\nf {}\n", "1 ".repeat(50_000));
    let found = import(&many).unwrap();
    assert_eq!(found.value.meshes[0].primitives[0].triangles(), 49_998);
    // Many vertices at one position are no slower than others.
    let fan: String = (1..=30_000).map(|i| format!("vt {i} 0\nf 1/{i} 1/{i} 1/{i}\n")).collect();
    let found = import(&format!("v 0 0 0\n{fan}{fan}")).unwrap();
    assert_eq!(found.value.meshes[0].primitives[0].positions.len(), 30_000);
    // A material for every face.
    let split: String = (0..20_000).map(|i| format!("usemtl m{i}\nf 1 2 3\n")).collect();
    let found = import(&format!("v 0 0 0\nv 1 0 0\nv 0 1 0\n{split}")).unwrap();
    assert_eq!(found.value.meshes[0].primitives.len(), 20_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn flipped_bytes_are_handled(changes in prop::collection::vec((0usize..1000, any::<u8>(), 0u8..4), 1..6)) {
        let mut bytes = GOOD.as_bytes().to_vec();
        for (at, value, kind) in changes {
            let at = at % bytes.len();
            match kind {
                0 => bytes[at] = value,
                1 => bytes[at] = b"0123456789/-+.e \\\n#vft"[usize::from(value) % 22],
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, b"0123456789/-+.e \\\n#vft"[usize::from(value) % 22]),
            }
        }
        holds(&bytes, LIBRARY);
    }

    #[test]
    fn lines_may_come_in_any_order(picks in prop::collection::vec(0usize..24, 0..40)) {
        let lines: Vec<&str> = GOOD.lines().collect();
        let text: String = picks.iter().map(|&i| format!("{}\n", lines[i % lines.len()])).collect();
        holds(text.as_bytes(), LIBRARY);
    }

    #[test]
    fn libraries_may_change(at in 0usize..200, value in any::<char>()) {
        let mut library: Vec<char> = LIBRARY.chars().collect();
        let at = at % library.len();
        library[at] = value;
        holds(GOOD.as_bytes(), &library.into_iter().collect::<String>());
    }
}
