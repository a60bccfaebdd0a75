//! The corpus: sources that both tools bake to the same content. Everything comes from one seed.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as u32
    }
}

/// Writes the corpus, or one in so many of its images and models and less of the rest, and returns the bytes of its
/// sources. The largest model is always there.
pub fn generate(root: &Path, part: u32) -> u64 {
    let mut random = Random(7);
    for dir in ["tex", "mesh", "mat", "sound", "scene", "data"] {
        fs::create_dir_all(root.join(dir)).expect("a folder");
    }
    for n in 0..36 / part {
        image(&root.join(format!("tex/t{n}.png")), 1024, n, &mut random);
    }
    for n in 0..12 / part {
        terrain(&root.join(format!("mesh/m{n}.glb")), 96, n as f32);
        fs::write(root.join(format!("mesh/m{n}.toml")), format!("[mesh]\nsrc = 'm{n}.glb'\n"))
            .expect("a file");
    }
    terrain(&root.join("mesh/terrain.glb"), 362, 99.0);
    fs::write(root.join("mesh/terrain.toml"), "[mesh]\nsrc = 'terrain.glb'\n").expect("a file");
    for n in 0..120 / part {
        let text = format!(
            "[material]\ncolor = '/tex/t{}.png'\nnormal = '/tex/t{}.png'\nmetal = 0.{}\nrough = 0.5\n",
            n % (18 / part),
            18 / part + n % (18 / part),
            10 + n % 80
        );
        fs::write(root.join(format!("mat/mat{n}.toml")), text).expect("a file");
    }
    // Text-like data, and sound that is compressed already.
    for n in 0..6_u32.div_ceil(part) {
        let words: String = (0..260_000).fold(String::new(), |mut text, _| {
            let _ = write!(
                text,
                "{} ",
                ["level", "door", "key", "spawn", "4711", "0.25"][random.next() as usize % 6]
            );
            text
        });
        fs::write(root.join(format!("data/d{n}.txt")), words).expect("a file");
        let noise: Vec<u8> = (0..1_500_000).map(|_| random.next() as u8).collect();
        fs::write(root.join(format!("sound/s{n}.ogg")), noise).expect("a file");
    }
    let mut scene = "[scene]\n".to_owned();
    for n in 0..2000 / part {
        let _ = writeln!(
            scene,
            "[[scene.ref]]\nid = 'r{n}'\nmesh = '/mesh/m{}.toml'\nmaterials = ['/mat/mat{}.toml']\ntranslation = [{}.5, 0.0, 1.0]\ntags = ['a', 'b{}']\ndata.hp = {n}",
            n % (12 / part),
            n % (120 / part),
            n,
            n % 7
        );
    }
    fs::write(root.join("scene/level.toml"), scene).expect("a file");
    for codec in ["none", "snap", "brotli"] {
        let line = if codec == "none" { String::new() } else { format!("compression = '{codec}'\n") };
        let text = format!(
            "[content]\n{line}\n[[content.group]]\nassets = ['tex/*.png', 'mesh/*.toml', 'mat/*.toml', 'data/*.txt', 'sound/*.ogg', 'scene/*.toml']\n"
        );
        fs::write(root.join(format!("{codec}.toml")), text).expect("a file");
    }
    size(root)
}

/// A root with `count` keys, each a few bytes.
pub fn keys(root: &Path, count: usize) {
    fs::create_dir_all(root.join("k")).expect("a folder");
    for n in 0..count {
        fs::write(root.join(format!("k/some-asset-{n:05}.bin")), format!("{n}")).expect("a file");
    }
    fs::write(root.join("none.toml"), "[content]\n[[content.group]]\nassets = ['k/*.bin']\n")
        .expect("a file");
}

/// Reads every file below a folder, on two threads.
pub fn read(root: &Path) {
    let files = Mutex::new(Vec::new());
    list(root, &mut files.lock().expect("nobody panics"));
    let next = || files.lock().expect("nobody panics").pop();
    let reader = || {
        while let Some(path) = next() {
            std::hint::black_box(fs::read(path).expect("a file"));
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(reader);
        reader();
    });
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}

fn size(dir: &Path) -> u64 {
    let entries = fs::read_dir(dir).expect("a folder");
    let one = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.expect("an entry");
        if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().map_or(0, |m| m.len()) }
    };
    entries.map(one).sum()
}

/// Smooth shapes with some grain: neither flat nor noise.
fn image(path: &Path, side: u32, seed: u32, random: &mut Random) {
    let mut texels = Vec::with_capacity((side * side * 3) as usize);
    for y in 0..side {
        for x in 0..side {
            let (u, v) = (x as f32 / side as f32, y as f32 / side as f32);
            let wave = ((u * (9.0 + seed as f32)).sin() * (v * 13.0).cos() + 1.0) * 100.0;
            let grain = random.next() % 24;
            texels.extend([
                wave as u8 + grain as u8,
                (u * 220.0) as u8 + grain as u8,
                (v * 220.0) as u8 + (grain / 2) as u8,
            ]);
        }
    }
    let file = fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), side, side);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::Balanced);
    encoder.write_header().expect("a header").write_image_data(&texels).expect("texels");
}

/// A grid of hills in one node, as a binary glTF file.
fn terrain(path: &Path, side: u32, seed: f32) {
    let (mut position, mut normal, mut uv, mut indices) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let height = |x: f32, z: f32| (x * 0.11 + seed).sin() * (z * 0.07).cos() * 3.0 + (x * 0.7).cos() * 0.2;
    for z in 0..=side {
        for x in 0..=side {
            let (x, z) = (x as f32, z as f32);
            position.extend([x, height(x, z), z]);
            let (dx, dz) = (height(x + 0.1, z) - height(x - 0.1, z), height(x, z + 0.1) - height(x, z - 0.1));
            let length = (dx * dx + 0.04 + dz * dz).sqrt();
            normal.extend([-dx / length, 0.2 / length, -dz / length]);
            uv.extend([x / side as f32, z / side as f32]);
        }
    }
    for z in 0..side {
        for x in 0..side {
            let at = z * (side + 1) + x;
            indices.extend([at, at + side + 1, at + 1, at + 1, at + side + 1, at + side + 2]);
        }
    }
    let count = position.len() / 3;
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let parts = [
        floats(&position),
        floats(&normal),
        floats(&uv),
        indices.iter().flat_map(|i: &u32| i.to_le_bytes()).collect(),
    ];
    let mut views = String::new();
    let mut at = 0;
    for part in &parts {
        let _ = write!(
            views,
            "{}{{\"buffer\":0,\"byteOffset\":{at},\"byteLength\":{}}}",
            if at > 0 { "," } else { "" },
            part.len()
        );
        at += part.len();
    }
    let low = position.iter().skip(1).step_by(3).copied().fold(f32::INFINITY, f32::min);
    let high = position.iter().skip(1).step_by(3).copied().fold(f32::NEG_INFINITY, f32::max);
    let json = format!(
        "{{\"asset\":{{\"version\":\"2.0\"}},\"buffers\":[{{\"byteLength\":{at}}}],\"bufferViews\":[{views}],\"accessors\":[\
         {{\"bufferView\":0,\"componentType\":5126,\"count\":{count},\"type\":\"VEC3\",\"min\":[0,{low},0],\"max\":[{side},{high},{side}]}},\
         {{\"bufferView\":1,\"componentType\":5126,\"count\":{count},\"type\":\"VEC3\"}},\
         {{\"bufferView\":2,\"componentType\":5126,\"count\":{count},\"type\":\"VEC2\"}},\
         {{\"bufferView\":3,\"componentType\":5125,\"count\":{},\"type\":\"SCALAR\"}}],\
         \"meshes\":[{{\"name\":\"m\",\"primitives\":[{{\"attributes\":{{\"POSITION\":0,\"NORMAL\":1,\"TEXCOORD_0\":2}},\"indices\":3}}]}}],\
         \"nodes\":[{{\"name\":\"m\",\"mesh\":0}}],\"scenes\":[{{\"nodes\":[0]}}],\"scene\":0}}",
        indices.len()
    );
    let mut json = json.into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let total = 12 + 8 + json.len() + 8 + at;
    let mut out = b"glTF\x02\0\0\0".to_vec();
    out.extend((total as u32).to_le_bytes());
    out.extend((json.len() as u32).to_le_bytes());
    out.extend(b"JSON");
    out.extend(json);
    out.extend((at as u32).to_le_bytes());
    out.extend(b"BIN\0");
    parts.iter().for_each(|part| out.extend(part));
    fs::write(path, out).expect("a file");
}
