//! Files at the path of the pak before a bake writes there.

use kiln_fault_injection::room::Room;

const PAK: &str = env!("CARGO_BIN_EXE_pak");

#[test]
fn a_pak_replaces_paks_only() {
    let room = Room::create();
    room.write("pak.toml", "[content]\n[[content.group]]\nassets = ['art/*']\n")
        .write("art/notes.txt", "hello");
    let bake = |more: &[&str]| room.run(PAK, &[&["bake", "pak.toml", "a.pak"], more].concat());
    room.write("a.pak", "mine");
    for more in [&[][..], &["--no-cache"], &["--cache", "elsewhere"]] {
        bake(more).refused(1, "output-not-owned", &["a.pak", "--overwrite"]);
        assert_eq!(room.read("a.pak"), b"mine");
    }
    bake(&["--overwrite"]).expect(0);
    let pak = room.read("a.pak");
    assert!(pak.starts_with(b"KPAK"));
    // Ours now, damaged or not; and any pak is, also without a journal.
    room.write("a.pak", "damaged");
    bake(&[]).expect(0);
    assert!(room.read("a.pak") == pak);
    room.write("a.pak", b"KPAK of another bake").remove(".a.pak.cache");
    bake(&[]).expect(0);
    assert!(room.read("a.pak") == pak);
    #[cfg(unix)]
    {
        room.remove("a.pak").write("theirs", &pak).link("theirs", "a.pak");
        for more in [&[][..], &["--overwrite", "--no-cache"]] {
            bake(more).refused(1, "output-not-regular", &["a.pak", "symbolic link"]);
            assert!(room.read("theirs") == pak && room.is_link("a.pak"));
        }
        room.remove("a.pak").pipe("a.pak");
        bake(&["--overwrite"]).refused(1, "output-not-regular", &["a.pak"]);
    }
}
