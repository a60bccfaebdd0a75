//! Tests of whole pages: their data is compared with the files, using independent parsers and decoders.

#[path = "../../format/tests/hmesh/meshes.rs"]
#[allow(dead_code, reason = "the meshes are shared with the tests of the format")]
mod meshes;

use basisu::{DecodeFlags, TargetFormat, Transcoder};
use kiln_format::hmat::{self, GpuMaterial};
use kiln_format::ktx2::{self, Channels, Desc, Payload, Shape, Supercompression, Transfer};
use kiln_format::refs::hash_asset_ref;
use kiln_format::{hman, hmesh};
use kiln_report::{Files, Options, PreviousReport, PreviousReportError, Report, Tiles, report};
use kiln_uastc::{View, bc7, blocks_high, encode_rows, encoded_len};
use meshes::{Mesh, MeshSpec};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;

type Tree = BTreeMap<String, Vec<u8>>;

fn page(tree: &Tree, options: &Options) -> Report {
    let list: Vec<_> = tree.iter().map(|(path, bytes)| (path.clone(), bytes.len() as u64)).collect();
    let read = |path: &str| tree.get(path).cloned().ok_or(io::ErrorKind::NotFound.into());
    report(&Files { title: "runtime", list: &list, read: &read, problems: &[] }, options)
}

/// Parses the data of a page with an independent JSON parser.
fn data(html: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"kiln-report\">";
    let data = html.split(start).nth(1).unwrap().split("</script>").next().unwrap();
    serde_json::from_str(data).unwrap()
}

fn file<'a>(data: &'a Value, path: &str) -> &'a Value {
    data["files"].as_array().unwrap().iter().find(|f| f["path"] == path).unwrap_or_else(|| panic!("{path}"))
}

/// Decodes a blob of a page with an independent base64 decoder.
fn blob(html: &str, id: &Value) -> Vec<u8> {
    let tag = format!("<script type=\"text/plain\" id=\"b{}\">", id.as_u64().unwrap());
    let text = html.split(&tag).nth(1).unwrap().split("</script>").next().unwrap();
    let digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut out, mut bits, mut word) = (Vec::new(), 0, 0u32);
    for c in text.trim_end_matches('=').chars() {
        word = word << 6 | digits.find(c).expect("a digit of base64") as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits) as u8);
            word &= (1 << bits) - 1;
        }
    }
    out
}

/// Decodes a PNG to RGBA.
fn rgba(png: &[u8]) -> (u32, u32, Vec<[u8; 4]>) {
    let mut reader = png::Decoder::new(io::Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let channels = info.color_type.samples();
    let texels = bytes[..info.buffer_size()].chunks_exact(channels).map(|t| match t {
        [v] => [*v, *v, *v, 255],
        [r, g, b] => [*r, *g, *b, 255],
        t => [t[0], t[1], t[2], t[3]],
    });
    (info.width, info.height, texels.collect())
}

fn texture(shape: Shape, payload: Payload, transfer: Transfer, zstd: bool, levels: &[Vec<u8>]) -> Vec<u8> {
    let stored: Vec<Vec<u8>> =
        levels.iter().map(|l| if zstd { zstd::bulk::compress(l, 3).unwrap() } else { l.clone() }).collect();
    let supercompression = if zstd { Supercompression::Zstd } else { Supercompression::None };
    let desc = Desc { shape, payload, transfer, supercompression, writer: "test", oriented: true };
    ktx2::write(&desc, &stored.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap()
}

/// Returns a test image with edges and gradients in all channels.
fn painted(width: u32, height: u32, seed: u32) -> Vec<u8> {
    let texel = |x: u32, y: u32| {
        let wave = (x * x / 7 + y * 5 + seed * 40) as u8;
        [
            wave,
            (x * 3) as u8,
            if (x / 5 + y / 3).is_multiple_of(2) { 240 } else { (y * 9) as u8 },
            255 - (y * 2 + seed) as u8,
        ]
    };
    (0..height).flat_map(|y| (0..width).flat_map(move |x| texel(x, y))).collect()
}

fn blocks(pixels: &[u8], width: u32, height: u32) -> Vec<u8> {
    let view = View::tight(pixels, width, height).unwrap();
    let mut out = vec![0; encoded_len(width, height).unwrap()];
    encode_rows(&view, 0..blocks_high(height), &Default::default(), &mut out);
    out
}

const UASTC: Payload = Payload::Uastc { channels: Channels::Rgba };

/// Returns a block-compressed cubemap with two mip levels of awkward size.
fn cube() -> Vec<u8> {
    let faces = |side| (0..6).flat_map(|face| blocks(&painted(side, side, face), side, side)).collect();
    texture(Shape::cube(22), UASTC, Transfer::Srgb, true, &[faces(22), faces(11)])
}

fn mesh() -> Vec<u8> {
    let spec = MeshSpec {
        positions: vec![[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -3.0]],
        submeshes: vec![(vec![[0, 1, 2], [0, 2, 3]], true), (vec![[0, 3, 4]], false)],
        has_tangents: true,
        has_meshlets: true,
        joints: vec![0, 0, 1],
        lod_count: 2,
    };
    hmesh::write(&Mesh::build(&spec).parts()).unwrap()
}

fn tree() -> Tree {
    let base = GpuMaterial { base_color_tex: hash_asset_ref("m/skin"), ..GpuMaterial::default() };
    let lost = GpuMaterial { emissive_tex: 7, metallic_factor: 0.8, ..GpuMaterial::default() };
    let entry = |path| hman::ManifestEntry {
        hash: hash_asset_ref("m/skin"),
        kind: hman::ManifestKind::Texture,
        colorspace: hman::Colorspace::Srgb,
        path,
    };
    let flat = texture(Shape::flat(4, 2), Payload::Rgba8, Transfer::Srgb, false, &[painted(4, 2, 9)]);
    Tree::from([
        ("assets.hman".to_owned(), hman::write(&[entry("elsewhere.ktx2")]).unwrap()),
        ("elsewhere.ktx2".to_owned(), flat),
        ("m/skin.hmat".to_owned(), hmat::write(&[base, lost]).unwrap()),
        ("m/skin.hmesh".to_owned(), mesh()),
        ("sky.env.ktx2".to_owned(), cube()),
        ("readme.txt".to_owned(), b"hello".to_vec()),
    ])
}

#[test]
fn compressed_mesh_is_embedded_decoded() {
    // Without an encoder every chunk is stored as it is, in a file of version 3.
    let packed = hmesh::write_compressed(&mesh(), |_| None).unwrap();
    let tree = Tree::from([("packed.hmesh".to_owned(), packed)]);
    let made = page(&tree, &Options::default());
    assert_eq!(blob(&made.html, &file(&data(&made.html), "packed.hmesh")["blob"]), mesh());
}

#[test]
fn page_lists_every_file() {
    let tree = tree();
    let made = page(&tree, &Options::default());
    let data = data(&made.html);
    assert_eq!(data["kiln_report"], 1);
    assert_eq!(data["title"], "runtime");
    let paths: Vec<&str> =
        data["files"].as_array().unwrap().iter().map(|f| f["path"].as_str().unwrap()).collect();
    assert_eq!(paths, tree.keys().map(String::as_str).collect::<Vec<_>>());
    let size: usize = tree.values().map(Vec::len).sum();
    assert_eq!((data["size"].as_u64().unwrap(), made.size, made.files), (size as u64, size as u64, 6));
    let kinds = data["kinds"].as_array().unwrap();
    assert_eq!(kinds.iter().map(|k| k["size"].as_u64().unwrap()).sum::<u64>(), size as u64);
    let textures = kinds.iter().find(|k| k["ext"] == "ktx2").unwrap();
    assert_eq!(
        (&textures["files"], &textures["totals"]["texels"]),
        (&2.into(), &(8 + 6 * (22 * 22 + 11 * 11)).into())
    );
    assert_eq!((made.broken, made.notes.len(), made.change), (0, 0, None));
    assert_eq!(data["since"], Value::Null);

    // A mesh is embedded unchanged.
    assert_eq!(blob(&made.html, &file(&data, "m/skin.hmesh")["blob"]), tree["m/skin.hmesh"]);
    // The manifest resolves the texture; an unknown hash is reported.
    let materials = &file(&data, "m/skin.hmat")["materials"];
    assert_eq!(paths[materials[0]["textures"]["base"].as_u64().unwrap() as usize], "elsewhere.ktx2");
    assert_eq!(materials[0]["textures"]["normal"], Value::Null);
    assert_eq!(materials[1]["textures"]["emissive"], "0x0000000000000007");
    assert_eq!(materials[1]["metallic"], 0.8);
}

#[test]
fn hashes_paths_without_manifest() {
    let mut tree = tree();
    tree.remove("assets.hman");
    let skin = tree.remove("elsewhere.ktx2").unwrap();
    tree.insert("m/Skin.ktx2".to_owned(), skin);
    let data = data(&page(&tree, &Options::default()).html);
    let place = file(&data, "m/skin.hmat")["materials"][0]["textures"]["base"].as_u64().unwrap();
    assert_eq!(data["files"][place as usize]["path"], "m/Skin.ktx2");
}

#[test]
fn uastc_images_match_independent_decoder() {
    let html = page(&tree(), &Options::default()).html;
    let data = data(&html);
    let cube = cube();
    let levels = file(&data, "sky.env.ktx2")["levels"].as_array().unwrap();
    let oracle = Transcoder::new(&cube).unwrap();
    assert_eq!(levels.len(), 2);
    for (number, (level, side)) in levels.iter().zip([22u32, 11]).enumerate() {
        assert_eq!(level["dims"], serde_json::json!([side, side, 1]));
        assert_eq!(level["shown"], serde_json::json!([side, side]));
        assert_eq!(level["images"].as_array().unwrap().len(), 6);
        for face in 0..6 {
            let theirs = oracle
                .transcode_image(number as u32, 0, face, TargetFormat::Rgba32, DecodeFlags::NONE)
                .unwrap();
            let (width, height, texels) = rgba(&blob(&html, &level["images"][face as usize]));
            assert_eq!((width, height), (side, side));
            assert!(texels.as_flattened() == theirs, "level {number}, face {face}");
        }
    }
    let flat = &file(&data, "elsewhere.ktx2")["levels"][0];
    assert_eq!(rgba(&blob(&html, &flat["images"][0])).2.as_flattened(), painted(4, 2, 9));
}

#[test]
fn bc7_images_match_independent_decoder() {
    let pixels = painted(10, 7, 3);
    let view = View::tight(&pixels, 10, 7).unwrap();
    let mut level = vec![0; encoded_len(10, 7).unwrap()];
    bc7::encode_rows(&view, 0..blocks_high(7), bc7::Bc7Options::default(), &mut level);
    let mut theirs = vec![0; 12 * 8 * 4];
    for (i, block) in level.chunks_exact(16).enumerate() {
        bcdec_rs::bc7(block, &mut theirs[i / 3 * 12 * 16 + i % 3 * 16..], 12 * 4);
    }
    let theirs: Vec<u8> =
        theirs.chunks_exact(12 * 4).take(7).flat_map(|row| &row[..10 * 4]).copied().collect();
    let file_of =
        |level: &[u8]| texture(Shape::flat(10, 7), Payload::Bc7, Transfer::Srgb, true, &[level.to_vec()]);
    let html = page(&Tree::from([("a.ktx2".into(), file_of(&level))]), &Options::default()).html;
    let read = data(&html);
    let shown = &file(&read, "a.ktx2")["levels"][0]["images"][0];
    assert!(rgba(&blob(&html, shown)).2.as_flattened() == theirs);
    // A block of the reserved mode is reported, not shown.
    level[0] = 0;
    let made = page(&Tree::from([("a.ktx2".into(), file_of(&level))]), &Options::default());
    assert_eq!(
        file(&data(&made.html), "a.ktx2")["error"],
        "mip level 0: the mip level has a block with an invalid mode"
    );
}

#[test]
fn shows_3d_array_and_float_textures() {
    let slices: Vec<u8> = (0..3).flat_map(|z| painted(3, 3, z)).collect();
    let layers: Vec<u8> = (0..300u32).flat_map(|l| [l as u8, 1, 2, 255]).collect();
    let halves = [0x3c00u16, 0x3800, 0xbc00, 0x3c00, 0x7c00, 0x7e00, 0x3400, 0x3800];
    let halves: Vec<u8> = halves.iter().flat_map(|h| h.to_le_bytes()).collect();
    let tree = Tree::from([
        (
            "a.ktx2".into(),
            texture(
                Shape::volume(3, 3, 3),
                Payload::Rgba8,
                Transfer::Linear,
                true,
                std::slice::from_ref(&slices),
            ),
        ),
        ("b.ktx2".into(), texture(Shape::array(1, 1, 300), Payload::Rgba8, Transfer::Srgb, false, &[layers])),
        (
            "c.ktx2".into(),
            texture(
                Shape::flat(2, 1),
                Payload::Rgba16F,
                Transfer::Linear,
                true,
                std::slice::from_ref(&halves),
            ),
        ),
        (
            "d.ktx2".into(),
            texture(Shape::volume(2, 1, 1), Payload::Rgba16F, Transfer::Linear, false, &[halves]),
        ),
    ]);
    let made = page(&tree, &Options::default());
    let data = data(&made.html);
    let image =
        |path: &str, n: usize| rgba(&blob(&made.html, &file(&data, path)["levels"][0]["images"][n])).2;
    for (z, slice) in slices.chunks_exact(36).enumerate() {
        assert_eq!(image("a.ktx2", z).as_flattened(), slice);
    }
    assert_eq!(
        file(&data, "b.ktx2")["levels"][0]["images"].as_array().unwrap().len(),
        256,
        "the omitted images are reported"
    );
    assert_eq!(image("b.ktx2", 255), [[255, 1, 2, 255]]);
    assert_eq!(made.notes, ["only the first 256 images of each mip level are shown for 1 texture"]);
    // HDR values get the sRGB transfer function (0.5 is 188, 0.25 is 137); a lookup table is shown unchanged.
    assert_eq!(image("c.ktx2", 0), [[255, 188, 0, 255], [255, 0, 137, 128]]);
    assert_eq!(image("d.ktx2", 0), [[255, 128, 0, 255], [255, 0, 64, 128]]);
}

#[test]
fn stretches_16_bit_textures_to_the_range_of_their_values() {
    let bytes = |values: &[u16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let flat = |payload, values: &[u16]| {
        texture(Shape::flat(2, 1), payload, Transfer::Linear, true, &[bytes(values)])
    };
    let tree = Tree::from([
        ("height.ktx2".into(), flat(Payload::R16, &[1000, 1300])),
        ("constant.ktx2".into(), flat(Payload::R16, &[0x8080, 0x8080])),
        ("rg.ktx2".into(), flat(Payload::Rg16, &[100, 200, 200, 150])),
        ("rgba.ktx2".into(), flat(Payload::Rgba16, &[0, 0x8080, 0xffff, 0x8080, 0x101, 0x202, 0x303, 0])),
    ]);
    let made = page(&tree, &Options::default());
    let data = data(&made.html);
    let image = |path: &str| rgba(&blob(&made.html, &file(&data, path)["levels"][0]["images"][0])).2;
    assert_eq!(image("height.ktx2"), [[0, 0, 0, 255], [255; 4]]);
    assert_eq!(file(&data, "height.ktx2")["range"], serde_json::json!([1000, 1300]));
    assert_eq!(image("constant.ktx2"), [[128, 128, 128, 255]; 2]);
    assert_eq!(file(&data, "constant.ktx2")["range"], serde_json::json!([0x8080, 0x8080]));
    assert_eq!(image("rg.ktx2"), [[0, 255, 0, 255], [255, 128, 0, 255]]);
    assert_eq!(image("rgba.ktx2"), [[0, 128, 255, 128], [1, 2, 3, 0]]);
}

/// The tiles of a report, by name.
type TileImages = BTreeMap<String, Vec<u8>>;

/// Builds a report with tiles in the folder `t`, which already has `present`; returns its data and the written tiles.
fn with_tiles(tree: &Tree, max_texture: u32, max_side: u32, present: &TileImages) -> (Value, TileImages) {
    with_few_tiles(tree, max_texture, max_side, u64::MAX, present)
}

fn with_few_tiles(
    tree: &Tree,
    max_texture: u32,
    max_side: u32,
    max_texels: u64,
    present: &TileImages,
) -> (Value, TileImages) {
    let list: Vec<(String, u64)> =
        tree.iter().map(|(path, bytes)| (path.clone(), bytes.len() as u64)).collect();
    let read = |path: &str| Ok(tree[path].clone());
    let files = Files { title: "tiles", list: &list, read: &read, problems: &[] };
    let written = std::sync::Mutex::new(BTreeMap::new());
    let write = |name: &str, bytes: &[u8]| {
        assert!(written.lock().unwrap().insert(name.to_owned(), bytes.to_vec()).is_none(), "written twice");
        Ok(())
    };
    let contains = |name: &str| present.contains_key(name);
    let tiles = Tiles { folder: "t", max_side, max_texels, contains: &contains, write: &write };
    let options = Options::default().max_texture(max_texture);
    let made = kiln_report::report_with_tiles(&files, &options, Some(&tiles));
    let written = written.into_inner().unwrap();
    assert_eq!(made.broken, 0);
    assert!(written.keys().all(|name| made.tiles.contains(name)), "{:?}", made.tiles);
    (data(&made.html), written)
}

fn tile_name(data: &Value, path: &str) -> String {
    file(data, path)["tile"].as_str().unwrap()["t/".len()..].to_owned()
}

#[test]
fn textures_with_the_same_content_share_a_tile() {
    let level = |side: u32| painted(side, side, 1);
    let levels: Vec<_> = [64, 32, 16].map(level).to_vec();
    let mips = texture(Shape::flat(64, 64), Payload::Rgba8, Transfer::Srgb, true, &levels);
    let other = texture(Shape::flat(64, 64), Payload::Rgba8, Transfer::Srgb, true, &levels[..1]);
    let mut tree =
        Tree::from([("a.ktx2".into(), mips.clone()), ("b.ktx2".into(), mips), ("c.ktx2".into(), other)]);
    let (data, mut written) = with_tiles(&tree, 16, 32, &BTreeMap::new());
    assert_eq!(written.len(), 2);
    assert_eq!(tile_name(&data, "a.ktx2"), tile_name(&data, "b.ktx2"));
    // The mip level of the largest size is taken where there is one, and the base level is downsampled elsewhere.
    let (width, _, texels) = rgba(&written[&tile_name(&data, "a.ktx2")]);
    assert!(width == 32 && texels.as_flattened() == levels[1]);
    let (width, _, texels) = rgba(&written[&tile_name(&data, "c.ktx2")]);
    assert!(width == 32 && texels.as_flattened() != levels[1]);
    assert_eq!(file(&data, "c.ktx2")["tile_size"], serde_json::json!([32, 32]));

    // The next report writes the tiles of changed textures only; the page is the same for the others.
    let again = with_tiles(&tree, 16, 32, &written);
    assert!(again.1.is_empty() && again.0 == data);
    let changed = texture(Shape::flat(64, 64), Payload::Rgba8, Transfer::Srgb, true, &[painted(64, 64, 2)]);
    tree.insert("c.ktx2".into(), changed);
    written.remove(&tile_name(&data, "c.ktx2"));
    let (data, more) = with_tiles(&tree, 16, 32, &written);
    assert_eq!(more.keys().collect::<Vec<_>>(), [&tile_name(&data, "c.ktx2")]);

    // The page has the whole texture, or an image that is as large as the tile would be.
    for (max_texture, max_side) in [(64, 64), (32, 32), (32, 16)] {
        let (data, written) = with_tiles(&tree, max_texture, max_side, &BTreeMap::new());
        assert!(written.is_empty() && file(&data, "a.ktx2").get("tile").is_none());
    }
    // All tiles together have a limit, too.
    for (max_texels, side) in [(3 * 64 * 64, 64), (3 * 64 * 64 - 1, 32)] {
        let (data, _) = with_few_tiles(&tree, 16, 64, max_texels, &BTreeMap::new());
        assert_eq!(file(&data, "a.ktx2")["tile_size"], serde_json::json!([side, side]));
        let notes =
            data["notes"].as_array().unwrap().iter().filter(|note| note.as_str().unwrap().contains("tiles"));
        assert_eq!(notes.count(), usize::from(side < 64));
    }
    // Another limit is another tile.
    let (data, written) = with_tiles(&tree, 16, 64, &written);
    assert_eq!((written.len(), &file(&data, "a.ktx2")["tile_size"]), (2, &serde_json::json!([64, 64])));
}

#[test]
fn tiles_of_deep_textures_come_from_the_mip_level_of_their_size() {
    // Level 0 is black, so that a tile of it would differ.
    let deep = |side: usize, texel: &[u8]| texel.repeat(side * side);
    let half = [0x00, 0x38, 0x00, 0x3c, 0x00, 0x00, 0x00, 0x3c];
    let hdr = [deep(64, &[0; 8]), deep(32, &half), deep(16, &half)];
    let mut rows = deep(32, &0x1234u16.to_le_bytes());
    rows[..2].copy_from_slice(&0u16.to_le_bytes());
    let sixteen = [deep(64, &[0; 2]), rows, deep(16, &[0; 2])];
    let tree = Tree::from([
        ("hdr.ktx2".into(), texture(Shape::flat(64, 64), Payload::Rgba16F, Transfer::Linear, false, &hdr)),
        ("height.ktx2".into(), texture(Shape::flat(64, 64), Payload::R16, Transfer::Linear, false, &sixteen)),
        (
            "sky.ktx2".into(),
            texture(Shape::cube(64), Payload::Rgba16F, Transfer::Linear, false, &[deep(64, &half).repeat(6)]),
        ),
    ]);
    let (data, written) = with_tiles(&tree, 16, 32, &BTreeMap::new());
    assert_eq!(written.len(), 2, "a cubemap has no tile");
    let (width, _, texels) = rgba(&written[&tile_name(&data, "hdr.ktx2")]);
    // 0.5 in sRGB is 188.
    assert!(width == 32 && texels.iter().all(|texel| *texel == [188, 255, 0, 255]));
    let (width, _, texels) = rgba(&written[&tile_name(&data, "height.ktx2")]);
    assert!(width == 32 && texels[0] == [0, 0, 0, 255] && texels[1..].iter().all(|texel| *texel == [255; 4]));
}

#[test]
fn downsamples_and_reports_large_textures() {
    let level = |side: u32| [[200u8, 100, 50, 255]; 1].concat().repeat((side * side) as usize);
    let levels: Vec<_> = [64, 32, 16].map(level).to_vec();
    let mut tree = tree();
    tree.insert(
        "big.ktx2".into(),
        texture(Shape::flat(64, 64), Payload::Rgba8, Transfer::Srgb, false, &levels),
    );
    let made = page(&tree, &Options::default().max_texture(16));
    let page_data = data(&made.html);
    let levels = &file(&page_data, "big.ktx2")["levels"];
    assert_eq!(levels[0]["shown"], serde_json::json!([16, 16]));
    assert_eq!(levels[1]["images"], serde_json::json!([]));
    assert_eq!(levels[2]["shown"], serde_json::json!([16, 16]));
    let (width, height, texels) = rgba(&blob(&made.html, &levels[0]["images"][0]));
    assert!((width, height) == (16, 16) && texels.iter().all(|t| *t == [200, 100, 50, 255]));
    assert_eq!(
        made.notes,
        ["2 textures are downsampled to at most 16 texels in width and height (see --max-texture)"]
    );

    // With almost no budget the mesh is omitted, and images have the minimum size.
    let made = page(&tree, &Options::default().max_bytes(64));
    let page_data = data(&made.html);
    assert_eq!(file(&page_data, "m/skin.hmesh")["blob"], Value::Null);
    assert_eq!(file(&page_data, "m/skin.hmesh")["facts"]["triangles"], 3);
    assert_eq!(file(&page_data, "big.ktx2")["levels"][0]["shown"], serde_json::json!([16, 16]));
    assert_eq!(made.notes.len(), 2);
    assert!(made.notes[0].contains("1 mesh or animation file is not embedded"), "{:?}", made.notes);
    assert_eq!(Value::from(made.notes), page_data["notes"]);
}

#[test]
fn lists_grown_files() {
    let mut tree = tree();
    let before = page(&tree, &Options::default());
    tree.remove("readme.txt");
    tree.insert("m/skin.hmat".into(), hmat::write(&[GpuMaterial::default()]).unwrap());
    let last = tree.get_mut("assets.hman").unwrap().last_mut().unwrap();
    *last = b'3';
    tree.insert("new.txt".into(), vec![1; 10]);
    let since = PreviousReport::read(&before.html).unwrap();
    let made = page(&tree, &Options::default().since(Some(since)));
    let change = made.change.unwrap();
    assert_eq!((change.size_before, change.added, change.removed, change.changed), (before.size, 1, 1, 2));
    assert_eq!(made.size, before.size - 96 - 5 + 10);
    let data = data(&made.html);
    assert_eq!(data["since"]["gone"], serde_json::json!([{"path": "readme.txt", "ext": "", "size": 5}]));
    assert_eq!(data["since"]["size"], before.size);
    assert_eq!(file(&data, "m/skin.hmat")["was"], serde_json::json!({"size": 16 + 2 * 96, "changed": true}));
    assert_eq!(file(&data, "assets.hman")["was"]["changed"], true, "same size, other bytes");
    assert_eq!(file(&data, "m/skin.hmesh")["was"]["changed"], false);
    assert_eq!(file(&data, "new.txt")["was"], Value::Null);
    let kind = data["kinds"].as_array().unwrap().iter().find(|k| k["ext"] == "hmat").unwrap();
    assert_eq!((&kind["size"], &kind["was"]), (&(16 + 96).into(), &(16 + 2 * 96).into()));

    // A report can be compared with a report; other pages are rejected.
    assert_eq!(
        page(&tree, &Options::default().since(Some(PreviousReport::read(&made.html).unwrap())))
            .change
            .unwrap()
            .changed,
        0
    );
    assert_eq!(PreviousReport::read("<html></html>"), Err(PreviousReportError::NoData));
}

#[test]
fn escapes_file_names() {
    let markup_names = [
        "</script><script>window.pwned=1</script>.ktx2",
        "\"><img src=x onerror=window.pwned=1>.hmesh",
        "'-window.pwned=1-'.hmat",
        "<!--<script>.spv",
        "{{data}}]]>\u{2028}&amp;.txt",
        "javascript:window.pwned=1",
    ];
    let clean = page(&Tree::new(), &Options::default()).html;
    let tree: Tree = markup_names.iter().map(|name| ((*name).to_owned(), name.as_bytes().to_vec())).collect();
    let list: Vec<_> = tree.iter().map(|(path, bytes)| (path.clone(), bytes.len() as u64)).collect();
    let read = |path: &str| {
        if path.contains("img") { Err(io::Error::other(markup_names[0])) } else { Ok(tree[path].clone()) }
    };
    let problems = [markup_names[0].to_owned()];
    let options = Options::default();
    let made =
        report(&Files { title: markup_names[0], list: &list, read: &read, problems: &problems }, &options);
    // The page has no more tags than a page about no files.
    assert_eq!(made.html.matches('<').count(), clean.matches('<').count());
    let data = data(&made.html);
    for name in markup_names {
        assert!(!name.contains(['<', '>', '\'']) || !made.html.contains(name), "{name}");
        assert_eq!(file(&data, name)["path"], name);
    }
    assert_eq!((&data["title"], made.broken), (&markup_names[0].into(), 4));
    // Its own report is accepted as the previous one.
    let since = PreviousReport::read(&made.html).unwrap();
    let again =
        report(&Files { title: "t", list: &list, read: &read, problems: &[] }, &options.since(Some(since)));
    assert_eq!(again.html.matches('<').count(), clean.matches('<').count());
    assert_eq!(again.change.map(|c| (c.added, c.removed, c.changed)), Some((0, 0, 0)));
}

#[test]
fn reports_damaged_files_and_shows_others() {
    let good = tree();
    for path in ["sky.env.ktx2", "m/skin.hmesh", "m/skin.hmat", "assets.hman"] {
        for keep in [0, 1, 40, good[path].len() - 1] {
            let mut tree = good.clone();
            tree.get_mut(path).unwrap().truncate(keep);
            let made = page(&tree, &Options::default());
            let data = data(&made.html);
            assert_eq!(made.broken, 1, "{path} cut to {keep}");
            assert!(file(&data, path)["error"].as_str().unwrap().len() > 5);
            assert_eq!(file(&data, "elsewhere.ktx2")["levels"].as_array().unwrap().len(), 1);
        }
    }
    // Damage that only decompression finds: the frame declares its size, but its contents are missing.
    let mut tree = good.clone();
    let bytes = tree.get_mut("sky.env.ktx2").unwrap();
    let end = bytes.len();
    bytes[end - 400..end - 200].fill(0x5a);
    let made = page(&tree, &Options::default());
    let page_data = data(&made.html);
    assert_eq!(made.broken, 1);
    assert!(file(&page_data, "sky.env.ktx2")["error"].as_str().unwrap().starts_with("mip level 0: "));

    // A block of the reserved mode: the reserved prefix.
    let mut bad = blocks(&painted(8, 4, 1), 8, 4);
    bad[16] = 0x45;
    let tree =
        Tree::from([("bad.ktx2".into(), texture(Shape::flat(8, 4), UASTC, Transfer::Linear, false, &[bad]))]);
    let made = page(&tree, &Options::default());
    assert_eq!(
        file(&data(&made.html), "bad.ktx2")["error"],
        "mip level 0: the mip level has a block with an invalid mode"
    );
}

#[test]
fn output_is_deterministic() {
    let (a, b) = (page(&tree(), &Options::default()), page(&tree(), &Options::default()));
    assert!(a.html == b.html);
    // The policy allows the script and the style by hash, and no other resource.
    let policy =
        a.html.split("Content-Security-Policy\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(policy.starts_with("default-src 'none'; img-src blob: data:; style-src 'sha256-"));
    assert!(!policy.contains("unsafe") && !policy.contains("http"));
}
