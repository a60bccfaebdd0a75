//! Shipping: signatures, delta patches and merges through the executable and the library.

use crate::Project;
use pak::{Error, Options, Overlay, Pak, PakBuf, PublicKey};
use std::sync::Arc;

fn read(project: &Project, name: &str) -> Vec<u8> {
    std::fs::read(project.path(name)).unwrap()
}

/// Incompressible bytes.
pub(crate) fn noise(seed: u32, len: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn signed_pak_verifies_and_tampering_is_detected() {
    let project = Project::new();
    project.put("art/noise.bin", noise(1, 100_000));
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    project.stdout_of(&["keygen", "game.key"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(project.path("game.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "only the owner reads the secret key");
    }
    let (code, _, err) = project.pak(&["keygen", "game.key"]);
    assert!(code == 2 && err.contains("never replaced"), "{err}");
    let (code, _, err) = project.pak(&["verify", "a.pak", "--key", "game.key.pub"]);
    assert!(code == 1 && err.contains("pak-signature") && err.contains("a.pak.sig"), "{err}");
    project.stdout_of(&["sign", "a.pak", "--key", "game.key"]);
    let stdout = project.stdout_of(&["verify", "a.pak", "--key", "game.key.pub"]);
    assert!(stdout.contains("ok, the signature is valid"), "{stdout}");

    // The file without its signature is as before; the secret key is not a public key, and another key does not verify.
    project.stdout_of(&["verify", "a.pak"]);
    let (code, _, err) = project.pak(&["verify", "a.pak", "--key", "game.key"]);
    assert!(code == 2 && err.contains("pak-key-file"), "{err}");
    assert!(err.contains("expected a public key; the file is a secret key") && err.contains(".pub"), "{err}");
    let (code, _, err) = project.pak(&["sign", "a.pak", "--key", "game.key.pub"]);
    assert!(code == 2 && err.contains("expected a secret key; the file is a public key"), "{err}");
    let (code, _, err) = project.pak(&["sign", "a.pak", "--key", "a.pak.sig"]);
    assert!(code == 2 && err.contains("cannot read the secret key"), "{err}");
    project.stdout_of(&["keygen", "other.key"]);
    let (code, _, err) = project.pak(&["verify", "a.pak", "--key", "other.key.pub"]);
    assert!(code == 1 && err.contains("signed with another key"), "{err}");

    // An attacker replaces the content and recomputes every checksum, which are not cryptographic.
    let key = PublicKey::parse(&String::from_utf8(read(&project, "game.key.pub")).unwrap()).unwrap();
    let open = || PakBuf::open_signed(project.path("a.pak"), &key, Options::default().checksums(false));
    assert_eq!(*open().unwrap().read_blob("art/noise.bin").unwrap(), *noise(1, 100_000));
    let original = read(&project, "a.pak");
    project.put("art/noise.bin", noise(2, 100_000));
    project.stdout_of(&["bake", "pak.toml", "a.pak"]);
    assert!(matches!(open(), Err(Error::Signature { .. })), "another index");
    let pak = PakBuf::from_bytes(&original).unwrap();
    let entry = pak.entries().find(|entry| entry.key == "art/noise.bin").unwrap();
    assert_eq!(entry.stored_len, 100_000);
    let at = original.windows(16).position(|bytes| *bytes == noise(1, 16)).unwrap();
    let mut tampered = original.clone();
    tampered[at + 50_000] ^= 1;
    project.put("a.pak", &tampered);
    let pak = open().expect("header and index are as signed");
    let error = pak.read_blob("art/noise.bin").unwrap_err().to_string();
    assert!(error.contains("does not match the signature"), "{error}");
    assert!(std::io::copy(&mut pak.stream_blob("art/noise.bin").unwrap(), &mut std::io::sink()).is_err());
    assert!(!pak.validate_hash().unwrap());
    assert_eq!(project.pak(&["verify", "a.pak", "--key", "game.key.pub"]).0, 1);

    // Every bit of the signature file counts.
    project.put("a.pak", &original);
    let signature = read(&project, "a.pak.sig");
    for at in (0..signature.len()).step_by(7) {
        let mut bad = signature.clone();
        bad[at] ^= 0x10;
        let signed = PakBuf::from_bytes(&original).unwrap().with_signature(&bad, &key);
        assert!(matches!(signed, Err(Error::Signature { .. })), "{at}");
    }
}

/// An Ed25519 signature is deterministic: the test vectors of RFC 8032 are public, this one is section 7.1, test 1.
#[test]
fn key_pair_matches_rfc_8032() {
    let secret = "kiln-secret-ed25519 9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
    let public = "kiln-public-ed25519 d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    assert_eq!(pak::SecretKey::parse(secret).unwrap().public_key().to_text(), public);
    assert!(PublicKey::parse(secret).is_none() && PublicKey::parse(&public[..80]).is_none());
}

#[test]
fn patch_is_small_and_applies_offline_and_on_the_fly() {
    let project = Project::new();
    for number in 0..20 {
        project.put(&format!("art/{number}.bin"), noise(number, 50_000));
    }
    project.stdout_of(&["bake", "pak.toml", "old.pak"]);
    // A changed, a longer, a new and a removed asset, and a changed material with its scene.
    let mut changed = noise(3, 50_000);
    changed[20_000..20_100].copy_from_slice(&noise(100, 100));
    project.put("art/3.bin", changed);
    project.put("art/5.bin", [&noise(101, 777)[..], &noise(5, 50_000)].concat());
    project.put("art/new.bin", noise(102, 10_000));
    std::fs::remove_file(project.path("art/7.bin")).unwrap();
    project.put("art/red.toml", "[material]\ncolor = '#0f0'\n");
    project.stdout_of(&["bake", "pak.toml", "new.pak"]);
    let stdout = project.stdout_of(&["patch", "old.pak", "new.pak", "-o", "p.pak"]);
    assert!(stdout.contains("p.pak written"), "{stdout}");
    let len = read(&project, "p.pak").len();
    assert!((10_877..14_000).contains(&len), "10,877 bytes are new, the patch has {len}");
    project.stdout_of(&["verify", "p.pak"]);
    let (_, stdout, _) = project.pak(&["diff", "old.pak", "new.pak", "--patch-size", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["patch"], len);

    project.stdout_of(&["apply", "old.pak", "p.pak", "-o", "applied.pak"]);
    assert!(read(&project, "applied.pak") == read(&project, "new.pak"), "byte-identical");
    let new = PakBuf::open(project.path("new.pak")).unwrap();
    let open = |name: &str| PakBuf::open(project.path(name)).unwrap();
    let mut overlay = Overlay::new();
    overlay.push(open("old.pak"));
    overlay.patch(0, open("p.pak"), Options::default()).unwrap();
    assert!(overlay.keys().eq(new.keys()));
    for key in ["art/3.bin", "art/5.bin", "art/new.bin", "art/19.bin", "art/notes.txt"] {
        assert_eq!(*overlay.read_blob(key).unwrap(), *new.read_blob(key).unwrap(), "{key}");
    }
    assert!(overlay.read_blob("art/7.bin").is_err());
    assert_eq!(overlay.read_material("art/red"), new.read_material("art/red"));

    // The same pak: nothing but the head. Another base, something that is no patch, a damaged base.
    project.stdout_of(&["patch", "new.pak", "new.pak", "-o", "same.pak"]);
    assert!(read(&project, "same.pak").len() < 400);
    let (code, _, err) = project.pak(&["apply", "new.pak", "p.pak", "-o", "x.pak"]);
    assert!(code != 0 && err.contains("pak-patch") && err.contains("another pak"), "{err}");
    let (code, _, err) = project.pak(&["apply", "old.pak", "new.pak", "-o", "x.pak"]);
    assert!(code != 0 && err.contains("not a patch"), "{err}");
    // A damaged patch; a patch among paks to merge; an output that would replace what it is made from.
    let mut damaged = read(&project, "p.pak");
    damaged[100] ^= 1;
    project.put("bad.pak", damaged);
    let (code, _, err) = project.pak(&["apply", "old.pak", "bad.pak", "-o", "x.pak"]);
    assert!(code == 1 && err.contains("pak-damaged") && err.contains("get the patch again"), "{err}");
    for command in [&["merge", "old.pak", "p.pak", "-o", "x.pak"][..], &["append", "applied.pak", "p.pak"]] {
        let (code, _, err) = project.pak(command);
        assert!(
            code == 2 && err.contains("pak-patch") && err.contains("p.pak: the pak is a delta patch"),
            "{err}"
        );
    }
    for (command, out) in [
        (["patch", "old.pak", "new.pak"], "old.pak"),
        (["patch", "old.pak", "new.pak"], "./new.pak"),
        (["apply", "old.pak", "p.pak"], "p.pak"),
    ] {
        let (code, _, err) = project.pak(&[&command[..], &["-o", out]].concat());
        assert!(code == 2 && err.contains("would replace one of the inputs"), "{err}");
    }
    assert!(
        read(&project, "applied.pak") == read(&project, "new.pak") && read(&project, "p.pak").len() == len
    );
    project.put("update.pak", read(&project, "old.pak"));
    project.stdout_of(&["apply", "update.pak", "p.pak", "-o", "update.pak"]);
    assert!(read(&project, "update.pak") == read(&project, "new.pak"), "updated in place");
    let mut damaged = read(&project, "old.pak");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    project.put("old.pak", damaged);
    let (code, _, err) = project.pak(&["apply", "old.pak", "p.pak", "-o", "x.pak"]);
    assert!(code == 1 && err.contains("pak-damaged"), "{err}");
    assert!(!project.path("x.pak").exists());
    project.put("mine.txt", "mine");
    let (code, _, err) = project.pak(&["patch", "new.pak", "new.pak", "-o", "mine.txt"]);
    assert!(code != 0 && err.contains("output-not-owned"), "{err}");
}

#[test]
fn merged_pak_reads_as_the_overlay() {
    let project = Project::new();
    project.stdout_of(&["bake", "pak.toml", "base.pak"]);
    // A mod replaces the material, which the scene of the base refers to, and adds a blob.
    project.put("mod/pak.toml", "[content]\n[[content.group]]\nassets = ['art/*']\n");
    project.put("mod/art/red.toml", "[material]\ncolor = '#00f'\ndouble-sided = true\n");
    project.put("mod/art/more.bin", noise(1, 5000));
    project.stdout_of(&["bake", "mod/pak.toml", "mod.pak"]);
    let stdout = project.stdout_of(&["merge", "base.pak", "mod.pak", "-o", "all.pak"]);
    assert!(stdout.contains("all.pak written: 4 keys"), "{stdout}");
    project.stdout_of(&["verify", "all.pak"]);
    let open = |name: &str| Arc::new(PakBuf::open(project.path(name)).unwrap());
    let (merged, mut overlay) = (open("all.pak"), Overlay::new());
    overlay.push(open("base.pak"));
    overlay.push(open("mod.pak"));
    assert!(merged.keys().eq(overlay.keys()));
    let material = |pak: &dyn Fn() -> Option<pak::MaterialInfo>| pak().unwrap();
    let (found, expected) =
        (material(&|| merged.read_material("art/red")), material(&|| overlay.read_material("art/red")));
    assert!(found.double_sided && expected.double_sided);
    let texel = merged.read_bitmap_id(found.color).unwrap();
    assert_eq!(texel.pixels()[..3], [0, 0, 255]);
    let scene = merged.read_scene("art/level").unwrap();
    let used = scene.refs().next().unwrap().materials()[0];
    assert_eq!(Some(used), merged.material_id("art/red"), "references follow the override");
    assert_eq!(merged.bitmap_count(), 1, "the overridden bitmap is left out");
    assert_eq!(*merged.read_blob("art/more.bin").unwrap(), *noise(1, 5000));

    project.stdout_of(&["append", "base.pak", "mod.pak"]);
    assert!(read(&project, "base.pak") == read(&project, "all.pak"));
    // A merge of one pak keeps everything that keys lead to.
    project.stdout_of(&["merge", "all.pak", "-o", "again.pak"]);
    assert!(read(&project, "again.pak") == read(&project, "all.pak"));
}
