//! A loader written for `pak` 0.7.6, which has to compile and run with this crate. It uses every public item of 0.7.6
//! that `docs/reference/pak-0.7-api.md` lists as the same or as shimmed, with the types that 0.7.6 gives it.

use pak::anim::{Animation, Channel, Interpolation, Outputs};
use pak::bitmap::{Bitmap, BitmapColor, BitmapFormat};
use pak::bitmap_font::BitmapFont;
use pak::index::{IndexBuffer, IndexType};
use pak::mesh::{Joint, Mesh, Primitive, Skin, VertexType};
use pak::scene::{DataRef, GeometryRef, ReferenceRef, Scene};
use pak::{
    AnimationId, BitmapFontId, BitmapId, BlobId, BlobStream, Mat4, MaterialId, MaterialInfo,
    MaterialParameterFlags, MeshId, Pak, PakBuf, Quat, SceneId, Stream, Vec3,
};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

/// A part of a mesh as the loader keeps it: vertex stride, indices, vertex data.
type Part = (usize, Vec<u32>, Vec<u8>);

/// The assets that a game keeps of a pak.
#[derive(Default)]
struct Loaded {
    textures: HashMap<BitmapId, (u32, u32, Vec<u8>)>,
    meshes: BTreeMap<MeshId, Vec<Part>>,
    spawns: Vec<(String, Vec3, Quat)>,
    music: Vec<u8>,
}

fn load_texture(pak: &mut impl Pak, loaded: &mut Loaded, id: BitmapId) -> io::Result<()> {
    let bitmap: Bitmap = pak.read_bitmap_id(id)?;
    let (width, height): (u32, u32) = bitmap.extent();
    assert_eq!((width, height), (bitmap.width(), bitmap.height()));
    assert_eq!(bitmap.stride(), width as usize * bitmap.format().byte_len());
    assert_eq!(bitmap.pixel(0, 0), &bitmap.pixels()[..bitmap.format().byte_len()]);
    assert!(bitmap.mip_levels() >= 1);
    let srgb = match bitmap.color() {
        BitmapColor::Linear => false,
        BitmapColor::Srgb => true,
    };
    assert!(srgb && !bitmap.format().has_alpha());
    let rgba: Vec<u8> = bitmap.pixels_as_format(BitmapFormat::Rgba).collect();
    loaded.textures.insert(id, (width, height, rgba));
    Ok(())
}

fn load_material(pak: &mut impl Pak, loaded: &mut Loaded, id: MaterialId) -> io::Result<()> {
    let info: MaterialInfo =
        pak.read_material_id(id).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let copy = info;
    assert_eq!(copy, info);
    let _: (bool, Option<BitmapId>, Option<BitmapId>, Option<BitmapId>) =
        (info.alpha_test, info.emissive, info.normal, info.params);
    let mut used: MaterialParameterFlags = info.params_used;
    used.insert(MaterialParameterFlags::METAL);
    used.remove(MaterialParameterFlags::ROUGH | MaterialParameterFlags::HEIGHT);
    assert!(used.contains(MaterialParameterFlags::METAL) && !used.is_empty());
    assert!(!used.intersects(MaterialParameterFlags::TRANSMISSION));
    assert_eq!(MaterialParameterFlags::from_bits(used.bits()), Some(used));
    load_texture(pak, loaded, info.color)
}

fn load_mesh(pak: &mut impl Pak, loaded: &mut Loaded, id: MeshId) -> io::Result<()> {
    let mesh: Mesh = pak.read_mesh_id(id)?;
    let _: Option<BlobId> = mesh.data();
    if let Some(skin) = mesh.skin() {
        for Joint { inverse_bind, name, parent_index } in skin.joints() {
            let _: (&Mat4, &String, &usize) = (inverse_bind, name, parent_index);
        }
    }
    for primitive in mesh.primitives() {
        let vertex_type: VertexType = primitive.vertex_type();
        assert_eq!(primitive.vertex_data().len(), primitive.vertex_count() * vertex_type.stride());
        if !vertex_type.contains(VertexType::POSITION | VertexType::NORMAL) {
            continue;
        }
        let lod: &IndexBuffer = &primitive.lods()[0];
        let indices: Vec<u32> = match lod.index_type() {
            IndexType::U8 => lod.as_u8().unwrap().into_iter().map(u32::from).collect(),
            IndexType::U16 => lod.as_u16().unwrap().into_iter().map(u32::from).collect(),
            IndexType::U32 => lod.as_u32(),
        };
        assert_eq!(lod.index_count(), lod.triangle_count() * 3);
        assert!(lod.index_type().stride() <= 4);
        let part = (primitive.material() as usize, indices, primitive.vertex_data().to_vec());
        loaded.meshes.entry(id).or_default().push(part);
    }
    Ok(())
}

fn read_data(data: DataRef<'_>) -> String {
    if data.is_bool() {
        data.expect_bool().to_string()
    } else if data.is_f32() {
        format!("{:.1}", data.expect_f32())
    } else if data.is_i32() {
        data.expect_i32().to_string()
    } else if data.is_str() {
        data.expect_str().to_owned()
    } else {
        assert!(data.is_iter() && data.as_iter().unwrap().len() == data.expect_iter().len());
        data.expect_iter().map(read_data).collect::<Vec<_>>().join("+")
    }
}

fn load_reference(
    pak: &mut impl Pak,
    loaded: &mut Loaded,
    reference: ReferenceRef<'_>,
) -> io::Result<Vec<String>> {
    let materials: &[MaterialId] = reference.materials();
    for id in materials {
        load_material(pak, loaded, *id)?;
    }
    if let Some(mesh) = reference.mesh() {
        load_mesh(pak, loaded, mesh)?;
    }
    if reference.has_tag("spawn") {
        let name = reference.id().unwrap_or_default().to_owned();
        loaded.spawns.push((name, reference.translation(), reference.rotation()));
    }
    assert_eq!(reference.tags().len(), reference.tags().count());
    let keys = ["number", "float", "text", "flag", "list"];
    Ok(keys.iter().filter_map(|key| reference.data(key)).map(read_data).collect())
}

fn load_geometry(geometry: GeometryRef<'_>) -> (usize, usize) {
    let indices: &IndexBuffer = geometry.index_buf();
    let _: (Vec3, Quat, bool) = (geometry.translation(), geometry.rotation(), geometry.has_tag("nav"));
    let _: (Option<&str>, Option<DataRef<'_>>, usize) =
        (geometry.id(), geometry.data("x"), geometry.tags().len());
    (indices.triangle_count(), geometry.vertex_data().len())
}

fn load_scene(pak: &mut PakBuf, key: &str, loaded: &mut Loaded) -> io::Result<Vec<String>> {
    let scene: Scene = pak.read_scene(key)?;
    let mut data = Vec::new();
    for reference in scene.refs() {
        data.extend(load_reference(pak, loaded, reference)?);
    }
    assert_eq!(scene.refs().len(), 1);
    assert_eq!(scene.geometries().map(load_geometry).collect::<Vec<_>>(), [(1, 36)]);
    Ok(data)
}

fn animate(animation: &Animation) -> usize {
    let keys = |channel: &Channel| {
        let _: (&str, Interpolation) = (channel.target(), channel.interpolation());
        match channel.outputs() {
            Outputs::Rotations(quats) => quats.len(),
            Outputs::Scales(scales) => scales.len(),
            Outputs::Translations(moves) => moves.len(),
        }
    };
    animation.channels().iter().map(keys).sum()
}

fn read_music(pak: &PakBuf) -> io::Result<Vec<u8>> {
    let mut stream: BlobStream<'_> = pak.stream_blob("music.ogg")?;
    assert_eq!((stream.len(), stream.is_empty()), (5, false));
    stream.seek(SeekFrom::Start(1))?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn loader_of_0_7_compiles_and_reads() -> io::Result<()> {
    let bytes: &'static [u8] = Vec::leak(baked_pak());
    let mut pak = PakBuf::from_stream(Cursor::new(bytes))?;
    assert_eq!((pak.mesh_count(), pak.bitmap_count(), pak.material_count(), pak.scene_count()), (1, 1, 1, 1));
    assert_eq!((pak.blob_count(), pak.animation_count(), pak.bitmap_font_count()), (1, 0, 0));
    assert_eq!(pak.keys().collect::<Vec<&str>>(), ["level", "music.ogg"]);
    assert!(pak.validate_hash()?);
    let mut loaded = Loaded::default();
    let data = load_scene(&mut pak, "level", &mut loaded)?;
    assert_eq!(data, ["7", "0.5", "hello", "true", "1+2"]);
    assert_eq!(loaded.spawns, [("door".to_owned(), [1.0, 2.0, 3.0], [0.0, 0.0, 0.0, 1.0])]);
    assert_eq!(loaded.textures[&BitmapId(0)], (1, 1, vec![9, 8, 7, 255]));
    assert_eq!(loaded.meshes[&MeshId(0)][0].1, [0, 1, 2]);
    loaded.music = pak.read_blob("music.ogg")?.into();
    assert_eq!(pak.read_blob_id(BlobId(0))?, loaded.music);
    assert_eq!(loaded.music, pak.read_blob("music.ogg")?);
    assert_eq!(read_music(&pak)?, b"usic");
    assert_eq!(
        pak.read_blob("none").map_err(io::Error::from).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    assert_eq!(pak.read_mesh("level").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert_eq!(PakBuf::open("no such file").unwrap_err().kind(), io::ErrorKind::NotFound);
    let ids: (Option<AnimationId>, Option<BitmapFontId>, Option<SceneId>) =
        (pak.animation_id("level"), pak.bitmap_font_id("level"), pak.scene_id("level"));
    assert_eq!(ids, (None, None, Some(SceneId(0))));
    let reopened: Box<dyn Stream> = Stream::open(&Cursor::new(bytes))?;
    drop(reopened);
    Ok(())
}

#[test]
fn constructors_of_0_7() {
    let bitmap = Bitmap::new(BitmapColor::Linear, BitmapFormat::Rg, 2, 1, vec![1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((bitmap.extent(), bitmap.pixel(1, 1)), ((2, 2), &[7, 8][..]));
    let font = BitmapFont::new("info".to_owned(), vec![bitmap.clone()]);
    assert_eq!((font.def(), font.pages().len(), font.pages().next()), ("info", 1, Some(&bitmap)));
    let positions: Vec<u8> = (0..9).flat_map(|n| (n as f32).to_le_bytes()).collect();
    let mut primitive = Primitive::new(3, &positions, VertexType::POSITION);
    primitive.push_lod(IndexBuffer::new(&[0, 1, 2]).unwrap());
    assert_eq!((primitive.vertex_count(), primitive.lods().len(), primitive.material()), (3, 1, 3));
    assert_eq!((primitive.bounds().min, primitive.bounds().max), ([0.0, 1.0, 2.0], [6.0, 7.0, 8.0]));
    let joint = Joint { inverse_bind: [0.0; 16], name: "root".to_owned(), parent_index: 0 };
    let mut mesh = Mesh::new(vec![primitive], Some(Skin::new(vec![joint])));
    mesh.set_data(BlobId(4));
    assert_eq!((mesh.data(), mesh.skin().unwrap().joints().len()), (Some(BlobId(4)), 1));
    assert!(IndexBuffer::new(&[0, 1]).is_err());
    assert_eq!(Interpolation::Linear as u8, 1);
    let _: fn(&Animation) -> usize = animate;
}

#[test]
fn sixteen_bit_texels_convert_to_eight_bits() {
    let project = tempfile::tempdir().unwrap();
    let texel: Vec<u8> = [65535u16, 0x1234, 257 * 128].iter().flat_map(|v| v.to_be_bytes()).collect();
    put(project.path(), "a.png", &png(png::BitDepth::Sixteen, &texel));
    put(project.path(), "pak.toml", b"[content]\n[[content.group]]\nassets = ['a.png']\n");
    PakBuf::bake(project.path().join("pak.toml"), project.path().join("a.pak")).unwrap();
    let pak = PakBuf::open(project.path().join("a.pak")).unwrap();
    let bitmap = pak.read_bitmap("a.png").unwrap();
    assert_eq!((bitmap.texel_len(), bitmap.stride()), (6, 6));
    assert_eq!(bitmap.pixels_as_format(BitmapFormat::Rgba).collect::<Vec<_>>(), [255, 0x12, 128, 255]);
}

fn put(folder: &Path, name: &str, content: &[u8]) {
    std::fs::write(folder.join(name), content).unwrap();
}

/// Returns an RGB image of one texel.
fn png(depth: png::BitDepth, texel: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, 1, 1);
    encoder.set_depth(depth);
    encoder.set_color(png::ColorType::Rgb);
    encoder.write_header().unwrap().write_image_data(texel).unwrap();
    out
}

/// Returns a pak with a scene of one mesh and one geometry, and a blob.
fn baked_pak() -> Vec<u8> {
    let project = tempfile::tempdir().unwrap();
    let root = project.path();
    let positions: Vec<u8> =
        [0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    put(root, "m.bin", &positions);
    let model = serde_json::json!({
        "asset": {"version": "2.0"},
        "buffers": [{"uri": "m.bin", "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3",
            "min": [0, 0, 0], "max": [1, 1, 0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    });
    put(root, "m.gltf", model.to_string().as_bytes());
    put(root, "c.png", &png(png::BitDepth::Eight, &[9, 8, 7]));
    put(root, "music.ogg", b"music");
    let scene = "[scene]\n[[scene.ref]]\nid = 'door'\nmesh = 'm.gltf'\nmaterials = ['c.png']\n\
                 translation = [1, 2, 3]\ntags = ['Spawn']\ndata.number = 7\ndata.float = 0.5\n\
                 data.text = 'hello'\ndata.flag = true\ndata.list = [1, 2]\n\
                 [[scene.geometry]]\nvertices = [0, 0, 0, 1, 0, 0, 0, 0, 1]\nindices = [0, 2, 1]\n";
    put(root, "level.toml", scene.as_bytes());
    let content = "[content]\n[[content.group]]\nassets = ['level.toml', '*.ogg']\n";
    put(root, "pak.toml", content.as_bytes());
    PakBuf::bake(root.join("pak.toml"), root.join("a.pak")).unwrap();
    std::fs::read(root.join("a.pak")).unwrap()
}
