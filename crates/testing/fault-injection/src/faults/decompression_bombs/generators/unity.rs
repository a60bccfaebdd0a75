//! Files of a Unity project.

use super::images::zlib_zeros;
use super::{Bomb, aliases, one};

/// Adds the bombs.
pub(super) fn add(all: &mut Vec<Bomb>) {
    let bomb = |name: &str, path: &'static str, make: fn() -> Vec<u8>| {
        let runs = vec![vec!["bake"], vec!["list", "--no-refresh"], vec!["check"]];
        let files = Box::new(move || one(path, make()));
        Bomb { name: name.to_owned(), tool: "unity", runs, files, rejected: false }
    };
    all.push(bomb("Unity: meta file with YAML alias expansion", "Assets/Art/Flag.png.meta", || {
        aliases().into_bytes()
    }));
    all.push(bomb("Unity: meta file of 200,000 nested lists", "Assets/Art/Flag.png.meta", || {
        format!("guid: {}", "[".repeat(200_000)).into_bytes()
    }));
    all.push(bomb("Unity: prefab of 200,000 nested maps", "Assets/Pole.prefab", || {
        format!("%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: {}", "{a: ".repeat(200_000)).into_bytes()
    }));
    all.push(bomb("Unity: prefab 100,000 levels deep", "Assets/Pole.prefab", || {
        let mut text = "%YAML 1.1\n--- !u!1 &100\nGameObject:\n".to_owned();
        (1..3000).for_each(|n| text += &format!("{}a:\n", " ".repeat(n)));
        text.into_bytes()
    }));
    all.push(bomb("Unity: prefab of a million documents", "Assets/Pole.prefab", || {
        "--- !u!1 &1\nGameObject:\n".repeat(1_000_000).into_bytes()
    }));
    all.push(bomb("Unity: prefab of one line of 64 MB", "Assets/Pole.prefab", || {
        [b"%YAML 1.1\n--- !u!1 &100\nGameObject:\n  m_Name: ".to_vec(), b"x".repeat(64 << 20)].concat()
    }));
    all.push(bomb("Unity: database of 2^62 entries", "Library/unity-assetdb/asset-db.bin", || {
        [&b"UADB"[..], &[0xff; 200]].concat()
    }));
    all.push(bomb("Unity: FBX with an array of 4 GB", "Assets/Art/Flag.png", || {
        let mut bytes = b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0".to_vec();
        bytes.extend([0xff, 0xff, 0xff, 0x7f, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f, 1, b'x', b'd']);
        bytes.extend([0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f]);
        bytes.extend(zlib_zeros(1 << 30));
        bytes
    }));
    let mut model = bomb("Unity: FBX with deeply nested nodes", "Assets/m.fbx", || {
        let mut bytes = b"Kaydara FBX Binary  \0\x1a\0\xe8\x1c\0\0".to_vec();
        let head = |end: u32| [&end.to_le_bytes()[..], &[0; 8], &[1, b'x']].concat();
        (0..200_000).for_each(|_| bytes.extend(head(200_000 * 14 + 27)));
        bytes
    });
    model.rejected = false;
    all.push(model);
}
