//! Files that already exist at the output path of a bake.

use kiln_fault_injection::test_dir::TestDir;

const PAK: &str = env!("CARGO_BIN_EXE_pak");

#[test]
fn replaces_only_paks_and_owned_files() {
    let dir = TestDir::create();
    dir.write("pak.toml", "[content]\n[[content.group]]\nassets = ['art/*']\n")
        .write("art/notes.txt", "hello");
    let bake = |more: &[&str]| dir.run(PAK, &[&["bake", "pak.toml", "a.pak"], more].concat());
    dir.write("a.pak", "mine");
    for more in [&[][..], &["--no-cache"], &["--cache", "elsewhere"]] {
        bake(more).refused(1, "output-not-owned", &["a.pak", "--overwrite"]);
        assert_eq!(dir.read("a.pak"), b"mine");
    }
    bake(&["--overwrite"]).expect(0);
    let pak = dir.read("a.pak");
    assert!(pak.starts_with(b"KPAK"));
    // A recorded output is replaced even if damaged, and any pak is, also without a journal.
    dir.write("a.pak", "damaged");
    bake(&[]).expect(0);
    assert!(dir.read("a.pak") == pak);
    dir.write("a.pak", b"KPAK of another bake").remove(".a.pak.cache");
    bake(&[]).expect(0);
    assert!(dir.read("a.pak") == pak);
    // A directory is refused before anything is baked.
    dir.write("folder/file", "mine");
    for path in ["folder", "art"] {
        let ran = dir.run(PAK, &["bake", "pak.toml", path, "--no-cache"]).expect(1);
        let refused = format!("error[unwritable]: {path}: cannot write the pak: a directory is at its path");
        assert!(ran.stderr.contains(&refused) && !ran.stderr.contains("built"), "{}", ran.stderr);
    }
    #[cfg(unix)]
    {
        dir.remove("a.pak").write("theirs", &pak).link("theirs", "a.pak");
        for more in [&[][..], &["--overwrite", "--no-cache"]] {
            bake(more).refused(1, "output-not-regular", &["a.pak", "symbolic link"]);
            assert!(dir.read("theirs") == pak && dir.is_link("a.pak"));
        }
        dir.remove("a.pak").pipe("a.pak");
        bake(&["--overwrite"]).refused(1, "output-not-regular", &["a.pak"]);
    }
}
