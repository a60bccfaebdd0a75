//! The corpus made from a data directory: every image, model and other file below it that both tools bake to the same
//! content.
//!
//! Images are bitmaps, and where a folder has maps of one surface (`*baseColor*`, `*normal*`, `*roughness*`), a material
//! too. Models are meshes with the default settings; a model that one of the tools rejects, or that they bake to different
//! numbers of triangles, is left out. Other files are blobs, in the order of their paths until there are enough.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The bytes of blobs: enough to count, not enough to drown the rest.
const BLOB_BYTES: u64 = 24 << 20;
/// The size below which a file is no blob: a game has few small ones.
const SMALLEST_BLOB: u64 = 32 << 10;

/// The numbers of the corpus.
#[derive(Default)]
pub struct Corpus {
    pub bytes: u64,
    pub images: usize,
    pub models: usize,
    pub left_out: Vec<String>,
    pub materials: usize,
    pub blobs: usize,
}

/// Copies the corpus to `root`. `same_triangles` bakes one model with both tools.
pub fn collect(data: &Path, root: &Path, same_triangles: &dyn Fn(&Path, &str) -> bool) -> Corpus {
    let mut files = Vec::new();
    list(data, &mut files);
    files.sort();
    let mut corpus = Corpus::default();
    for dir in ["tex", "mesh", "mat", "blob"] {
        fs::create_dir_all(root.join(dir)).expect("a folder");
    }
    let mut images: Vec<(PathBuf, String)> = Vec::new();
    let mut blob_bytes = 0;
    for (number, path) in files.iter().enumerate() {
        let len = fs::metadata(path).map_or(0, |m| m.len());
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension).to_ascii_lowercase();
        match extension.as_str() {
            _ if len == 0 => {}
            "png" | "jpg" | "jpeg" => {
                let copy = format!("tex/{number}-{name}");
                corpus.bytes += fs::copy(path, root.join(&copy)).expect("a copy");
                images.push((path.clone(), copy));
            }
            "gltf" | "glb" => model(path, number, root, &mut corpus, same_triangles),
            "md" | "toml" => {}
            _ if (SMALLEST_BLOB..BLOB_BYTES).contains(&len) && blob_bytes + len <= BLOB_BYTES => {
                corpus.bytes += fs::copy(path, root.join(format!("blob/{number}-{name}"))).expect("a copy");
                (blob_bytes, corpus.blobs) = (blob_bytes + len, corpus.blobs + 1);
            }
            _ => {}
        }
    }
    corpus.images = images.len();
    corpus.materials = materials(&images, root);
    for codec in ["none", "snap", "brotli", "zstd"] {
        let line = if codec == "none" { String::new() } else { format!("compression = '{codec}'\n") };
        let text = format!(
            "[content]\n{line}\n[[content.group]]\nassets = ['tex/*', 'mesh/*.toml', 'mat/*.toml', 'blob/*']\n"
        );
        fs::write(root.join(format!("{codec}.toml")), text).expect("a file");
    }
    corpus
}

/// Copies a model with the files beside it, if both tools bake it to the same number of triangles.
fn model(
    path: &Path,
    number: usize,
    root: &Path,
    corpus: &mut Corpus,
    same_triangles: &dyn Fn(&Path, &str) -> bool,
) {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return;
    };
    let folder = format!("models/{number}");
    fs::create_dir_all(root.join(&folder)).expect("a folder");
    let beside = if name.ends_with(".glb") { vec![path.to_owned()] } else { files_in(dir) };
    let mut bytes = 0;
    for file in beside {
        bytes += fs::copy(&file, root.join(&folder).join(file.file_name().expect("a file"))).expect("a copy");
    }
    fs::write(root.join(format!("mesh/{number}.toml")), format!("[mesh]\nsrc = '/{folder}/{name}'\n"))
        .expect("a file");
    if same_triangles(root, &format!("mesh/{number}.toml")) {
        (corpus.bytes, corpus.models) = (corpus.bytes + bytes, corpus.models + 1);
        return;
    }
    corpus.left_out.push(name.to_owned());
    let _ = fs::remove_file(root.join(format!("mesh/{number}.toml")));
    let _ = fs::remove_dir_all(root.join(folder));
}

/// Writes a material for each base colour map, with the maps of the same surface beside it.
fn materials(images: &[(PathBuf, String)], root: &Path) -> usize {
    let lower = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let mut count = 0;
    for (path, copy) in images {
        let name = lower(path);
        let Some(at) = name.find("basecolor") else { continue };
        let surface = &name[..at];
        let find = |word: &str| {
            let fits = |other: &Path| {
                other.parent() == path.parent()
                    && lower(other).starts_with(surface)
                    && lower(other).contains(word)
            };
            images.iter().find(|(other, _)| fits(other)).map(|(_, copy)| copy)
        };
        let mut text = format!("[material]\ncolor = '/{copy}'\n");
        if let Some(normal) = find("normal") {
            let _ = writeln!(text, "normal = '/{normal}'");
        }
        if let Some(params) = find("roughness") {
            let _ = writeln!(text, "rough = {{ src = '/{params}', swizzle = 'g' }}");
            let _ = writeln!(text, "metal = {{ src = '/{params}', swizzle = 'b' }}");
        }
        fs::write(root.join(format!("mat/{count}.toml")), text).expect("a file");
        count += 1;
    }
    count
}

fn files_in(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder").flatten().map(|entry| entry.path());
    entries.filter(|path| path.is_file()).collect()
}

fn list(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() { list(&path, files) } else { files.push(path) }
    }
}
