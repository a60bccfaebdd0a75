//! Benchmark inputs by class: photographs, the textures of models, and what is derived from them or drawn where the data
//! has too few, cut to squares that the reference gets through.

#[path = "images/class.rs"]
mod class;
#[path = "images/drawn.rs"]
mod drawn;

pub use class::{Class, Half, fnv};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of `--data DIR` and the other arguments.
#[allow(dead_code, reason = "not every bench takes words")]
pub fn arguments() -> (PathBuf, Vec<String>) {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let at = words.iter().position(|word| word == "--data").filter(|at| at + 1 < words.len());
    let at = at.expect("--data DIR: a folder with images/, textures/ and gltf/");
    let data = words.remove(at + 1);
    words.remove(at);
    (data.into(), words)
}

/// An image of RGBA texels whose sides are multiples of four.
#[derive(Clone)]
pub struct Image {
    /// The name of the file, its derivation, and the number of the crop.
    pub name: String,
    /// The file that the image comes from, or `drawn`.
    pub file: String,
    pub width: usize,
    pub height: usize,
    pub rgba: Vec<u8>,
    pub class: Class,
    pub half: Half,
    pub has_alpha: bool,
}

/// The side of a crop.
const SIDE: usize = 256;
/// Crops of a file.
const CROPS: usize = 2;

/// Every image of the corpus under `root`, sorted by class and name: PNG files of at least 128 texels a side in `images/`,
/// `textures/` and `gltf/`, also inside `.glb` files, cut to the [`CROPS`] busiest squares; then derived and drawn ones.
pub fn load(root: &Path) -> Vec<Image> {
    let mut images = Vec::new();
    for folder in ["images", "textures", "gltf"] {
        for path in files(&root.join(folder)) {
            let Ok(bytes) = fs::read(&path) else { continue };
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            match path.extension().and_then(|e| e.to_str()) {
                Some("png") => push(&mut images, folder, &file, &bytes),
                Some("glb") => {
                    for (i, png) in embedded(&bytes).enumerate() {
                        push(&mut images, folder, &format!("{file}#{i}"), png);
                    }
                }
                _ => {}
            }
        }
    }
    derive(&mut images);
    draw(&mut images);
    images.sort_by(|a, b| (a.class, &a.name).cmp(&(b.class, &b.name)));
    images
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// PNG files inside another file.
fn embedded(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = |window: &[u8]| window == b"\x89PNG\r\n\x1a\n";
    bytes.windows(8).enumerate().filter(move |(_, w)| starts(w)).map(|(at, _)| &bytes[at..])
}

fn push(images: &mut Vec<Image>, folder: &str, file: &str, png: &[u8]) {
    let Some((width, height, rgba)) = decode(png) else { return };
    if width.min(height) < 128 {
        return;
    }
    let class = Class::of(folder, file, &rgba);
    for (i, (width, height, rgba)) in crops(width, height, &rgba).into_iter().enumerate() {
        if images.iter().any(|image| image.rgba == rgba) {
            continue;
        }
        let has_alpha = rgba.chunks_exact(4).any(|t| t[3] != 255);
        // A crop of a texture with alpha that has none is one of its colours.
        let class = if class == Class::Alpha && !has_alpha { Class::Interface } else { class };
        let (name, file) = (format!("{file}/{i}"), file.to_owned());
        images.push(Image { name, half: Half::of(&file), file, width, height, rgba, class, has_alpha });
    }
}

fn decode(png: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let mut buffer = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut buffer).ok()?;
    let buffer = &buffer[..info.buffer_size()];
    let rgba = match info.color_type.samples() {
        1 => buffer.iter().flat_map(|&v| [v, v, v, 255]).collect(),
        2 => buffer.chunks_exact(2).flat_map(|t| [t[0], t[0], t[0], t[1]]).collect(),
        3 => buffer.chunks_exact(3).flat_map(|t| [t[0], t[1], t[2], 255]).collect(),
        _ => buffer.to_vec(),
    };
    Some((info.width as usize, info.height as usize, rgba))
}

/// The squares with the fewest blocks of one colour that do not overlap; none that are mostly flat.
fn crops(width: usize, height: usize, rgba: &[u8]) -> Vec<(usize, usize, Vec<u8>)> {
    let (w, h) = (width.min(SIDE) / 4 * 4, height.min(SIDE) / 4 * 4);
    let mut places = Vec::new();
    for y in (0..=height - h).step_by(128) {
        for x in (0..=width - w).step_by(128) {
            places.push((busy(width, rgba, x, y, w, h), x, y));
        }
    }
    places.sort_by_key(|&(busy, x, y)| (std::cmp::Reverse(busy), y, x));
    let mut chosen: Vec<(usize, usize)> = Vec::new();
    for (busy, x, y) in places {
        let apart = chosen.iter().all(|&(a, b)| a.abs_diff(x) >= w || b.abs_diff(y) >= h);
        if apart && busy * 4 >= w * h / 16 && chosen.len() < CROPS {
            chosen.push((x, y));
        }
    }
    let cut = |(x, y): (usize, usize)| {
        (w, h, (y..y + h).flat_map(|y| &rgba[(y * width + x) * 4..][..w * 4]).copied().collect())
    };
    chosen.into_iter().map(cut).collect()
}

/// Counts the blocks of a window with more than one colour.
fn busy(width: usize, rgba: &[u8], x0: usize, y0: usize, w: usize, h: usize) -> usize {
    let texel = |x: usize, y: usize| &rgba[(y * width + x) * 4..][..4];
    let mut count = 0;
    for y in (y0..y0 + h).step_by(4) {
        for x in (x0..x0 + w).step_by(4) {
            let first = texel(x, y);
            count += usize::from((0..16).any(|i| texel(x + i % 4, y + i / 4) != first));
        }
    }
    count
}

/// Adds the ways in which games store maps, and classes of which the data has few, each from one file.
fn derive(images: &mut Vec<Image>) {
    let luma = |t: &[u8]| ((u32::from(t[0]) * 54 + u32::from(t[1]) * 183 + u32::from(t[2]) * 19) / 256) as u8;
    for image in images.clone() {
        let mut add = |class, what: &str, map: &dyn Fn(&[u8]) -> [u8; 4]| {
            let rgba: Vec<u8> = image.rgba.chunks_exact(4).flat_map(map).collect();
            if busy(image.width, &rgba, 0, 0, image.width, image.height) * 4 < rgba.len() / 64 {
                return;
            }
            let has_alpha = rgba.chunks_exact(4).any(|t| t[3] != 255);
            images.push(Image {
                name: format!("{} {what}", image.name),
                rgba,
                class,
                has_alpha,
                ..image.clone()
            });
        };
        match image.class {
            Class::Normal => add(Class::Normal, "rg01", &|t| [t[0], t[1], 0, 255]),
            Class::PackedOrm => {
                add(Class::SingleChannel, "roughness", &|t| [t[1], t[1], t[1], 255]);
            }
            Class::Photograph if image.name.ends_with("/0") => {
                add(Class::SingleChannel, "grayscale", &|t| [luma(t), luma(t), luma(t), 255]);
                // A tint of at most eight levels: rock, concrete and plaster look like this.
                add(Class::SingleChannel, "nearly grayscale", &|t| {
                    let tint =
                        |c: usize| (i32::from(luma(t)) + (i32::from(t[c]) - i32::from(luma(t))) / 16) as u8;
                    [tint(0), tint(1), tint(2), 255]
                });
            }
            Class::Photograph => {
                // Foliage: opaque where the photograph is dark, with soft edges.
                add(Class::Alpha, "cut out", &|t| {
                    let alpha = (128.0 - (f32::from(luma(t)) - 110.0) * 12.0).clamp(0.0, 255.0) as u8;
                    [t[0], t[1], t[2], alpha]
                });
                add(Class::Alpha, "blended", &|t| [t[0], t[1], t[2], 255 - luma(t)]);
            }
            _ => {}
        }
    }
}

/// Adds drawn images, half of them to each half of the corpus.
fn draw(images: &mut Vec<Image>) {
    for seed in 0..8 {
        let half = if seed < 4 { Half::Tuning } else { Half::Reported };
        let mut add = |class, name: &str, rgba: Vec<u8>| {
            let has_alpha = rgba.chunks_exact(4).any(|t| t[3] != 255);
            let (name, file) = (format!("{name} {seed}"), "drawn".to_owned());
            images.push(Image { name, file, width: SIDE, height: SIDE, rgba, class, half, has_alpha });
        };
        add(Class::Interface, "panel", drawn::panel(seed));
        if seed % 2 == 0 {
            add(Class::Alpha, "icons", drawn::icons(seed));
        }
    }
}

impl Image {
    /// The sixteen texels of every block, in order.
    pub fn blocks(&self) -> Vec<[u8; 64]> {
        let mut out = Vec::with_capacity(self.width * self.height / 16);
        for y in (0..self.height).step_by(4) {
            for x in (0..self.width).step_by(4) {
                let mut block = [0; 64];
                for row in 0..4 {
                    block[row * 16..][..16]
                        .copy_from_slice(&self.rgba[((y + row) * self.width + x) * 4..][..16]);
                }
                out.push(block);
            }
        }
        out
    }

    pub fn megapixels(&self) -> f64 {
        (self.width * self.height) as f64 / 1e6
    }
}
