//! Benchmark inputs: photographs, and the textures of models, cut to a size that the reference gets through.

use std::fs;
use std::path::{Path, PathBuf};

/// The use of a texture, which decides the error metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Colour,
    Normal,
    Grey,
}

/// An image of RGBA texels whose sides are multiples of four.
pub struct Image {
    pub name: String,
    pub width: usize,
    pub height: usize,
    pub rgba: Vec<u8>,
    pub purpose: Use,
    pub has_alpha: bool,
}

const SIDE: usize = 512;

/// Every PNG under `root` of at least 256 texels a side, also inside `.glb` files, sorted by path.
pub fn load(root: &Path) -> Vec<Image> {
    let mut images = Vec::new();
    for path in files(&root.join("images")).into_iter().chain(files(&root.join("gltf"))) {
        let Ok(bytes) = fs::read(&path) else { continue };
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match path.extension().and_then(|e| e.to_str()) {
            Some("png") => push(&mut images, stem, &bytes),
            Some("glb") => {
                for (i, png) in embedded(&bytes).enumerate() {
                    push(&mut images, format!("{stem}#{i}"), png);
                }
            }
            _ => {}
        }
    }
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

fn push(images: &mut Vec<Image>, name: String, png: &[u8]) {
    let Some((width, height, rgba, channels)) = decode(png) else { return };
    if width.min(height) < 256 {
        return;
    }
    let Some((width, height, rgba)) = crop(width, height, &rgba) else { return };
    if images.iter().any(|i| i.rgba == rgba) {
        return;
    }
    let lower = name.to_lowercase();
    let purpose = if lower.contains("normal") {
        Use::Normal
    } else if channels == 1 {
        Use::Grey
    } else {
        Use::Colour
    };
    let has_alpha = rgba.chunks_exact(4).any(|t| t[3] != 255);
    let image = Image { name, width, height, rgba, purpose, has_alpha };
    // The ways a game stores such maps: a normal map without its third channel, a grey one in red alone.
    match purpose {
        Use::Normal => images.push(swizzled(&image, "rg01", |t| [t[0], t[1], 0, 255])),
        Use::Grey => images.push(swizzled(&image, "r001", |t| [t[0], 0, 0, 255])),
        Use::Colour => {}
    }
    images.push(image);
}

fn swizzled(image: &Image, name: &str, map: impl Fn(&[u8]) -> [u8; 4]) -> Image {
    let rgba = image.rgba.chunks_exact(4).flat_map(map).collect();
    Image { name: format!("{} {name}", image.name), rgba, has_alpha: false, ..*image }
}

fn decode(png: &[u8]) -> Option<(usize, usize, Vec<u8>, usize)> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().ok()?;
    let mut buffer = vec![0; reader.output_buffer_size()?];
    let info = reader.next_frame(&mut buffer).ok()?;
    let buffer = &buffer[..info.buffer_size()];
    let channels = info.color_type.samples();
    let rgba = match channels {
        1 => buffer.iter().flat_map(|&v| [v, v, v, 255]).collect(),
        2 => buffer.chunks_exact(2).flat_map(|t| [t[0], t[0], t[0], t[1]]).collect(),
        3 => buffer.chunks_exact(3).flat_map(|t| [t[0], t[1], t[2], 255]).collect(),
        _ => buffer.to_vec(),
    };
    Some((info.width as usize, info.height as usize, rgba, channels))
}

/// The window with the fewest blocks of one colour; `None` if even that is mostly flat.
fn crop(width: usize, height: usize, rgba: &[u8]) -> Option<(usize, usize, Vec<u8>)> {
    if width * height <= 768 * 512 && width.is_multiple_of(4) && height.is_multiple_of(4) {
        let all = (busy(width, rgba, 0, 0, width, height) * 4 > width * height / 16).then(|| rgba.to_vec());
        return all.map(|rgba| (width, height, rgba));
    }
    let (w, h) = (width.min(SIDE) / 4 * 4, height.min(SIDE) / 4 * 4);
    let mut best = (0, 0, 0);
    for y in (0..=height - h).step_by(128) {
        for x in (0..=width - w).step_by(128) {
            let busy = busy(width, rgba, x, y, w, h);
            if busy > best.0 {
                best = (busy, x, y);
            }
        }
    }
    let (busy, x, y) = best;
    if busy * 4 < w * h / 16 {
        return None;
    }
    let rows = (y..y + h).flat_map(|y| &rgba[(y * width + x) * 4..][..w * 4]).copied().collect();
    Some((w, h, rows))
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
