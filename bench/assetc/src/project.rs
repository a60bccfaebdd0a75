//! Benchmark inputs: generated projects of many small images, the same every time, and trees that are given.

use std::fs;
use std::path::{Path, PathBuf};

/// A tree with a name for its rows.
pub struct Tree {
    pub name: String,
    pub path: PathBuf,
    /// Scale factors of the tree; empty if it is built unchanged.
    pub sizes: Vec<usize>,
}

/// The trees of `name=path` and `name*1,2,4=path`.
pub fn trees(words: &[&str]) -> Vec<Tree> {
    let one = |word: &&str| {
        let (name, path) = word.split_once('=').expect("name=tree");
        let (name, sizes) = name.split_once('*').unwrap_or((name, ""));
        let sizes = sizes.split(',').filter_map(|size| size.parse().ok()).collect();
        Tree { name: name.to_owned(), path: PathBuf::from(path), sizes }
    };
    words.iter().map(one).collect()
}

/// Writes every image below `from` as often as it says, each time shifted sideways, so that no two are the same.
pub fn multiply(from: &Path, times: usize, to: &Path) {
    fs::create_dir_all(to).expect("folders can be made");
    for entry in fs::read_dir(from).expect("a folder of images").flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|e| e != "png") {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let mut reader = png::Decoder::new(std::io::BufReader::new(fs::File::open(&path).expect("an image")))
            .read_info()
            .expect("a PNG");
        let mut texels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut texels).expect("texels");
        let row = info.line_size;
        for time in 0..times {
            let by = row / info.width as usize * 52 * time;
            let shifted: Vec<u8> = texels[..row * info.height as usize]
                .chunks_exact(row)
                .flat_map(|row| row.iter().cycle().skip(by).take(row.len()))
                .copied()
                .collect();
            let file = fs::File::create(to.join(format!("{stem}_{time}.png"))).expect("room for an image");
            let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), info.width, info.height);
            encoder.set_color(info.color_type);
            encoder.set_depth(info.bit_depth);
            encoder.write_header().and_then(|mut w| w.write_image_data(&shifted)).expect("room for an image");
        }
    }
}

/// Counts the files below a folder and their bytes.
pub fn size(dir: &Path) -> (usize, u64) {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            let below = size(&entry.path());
            (files, bytes) = (files + below.0, bytes + below.1);
        } else {
            (files, bytes) = (files + 1, bytes + entry.metadata().map_or(0, |meta| meta.len()));
        }
    }
    (files, bytes)
}

/// Writes `count` images in folders of a hundred.
pub fn generate(dir: &Path, count: usize) {
    for index in 0..count {
        let folder = dir.join(format!("set_{:03}", index / 100));
        if index.is_multiple_of(100) {
            fs::create_dir_all(&folder).expect("folders can be made");
        }
        fs::write(folder.join(format!("texture_{index:05}.png")), image(index as u32))
            .expect("images can be written");
    }
}

fn image(seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) | 1;
    let samples: Vec<u8> = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    })
    .take(8 * 8 * 3)
    .collect();
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, 8, 8);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().expect("a header");
    writer.write_image_data(&samples).expect("texels");
    writer.finish().expect("an end");
    bytes
}
