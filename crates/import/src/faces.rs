//! The images of a directory that is one source: the six faces of a `*.env/` cubemap, the layers of a `*.array/`.
//!
//! Pure functions of names and sizes; the caller lists the directory and decodes the images. Names are file names without
//! directories. Files that are not images are ignored with a warning, except hidden ones.

use kiln_diagnostics::{Code, Diag};
use std::cmp::Ordering;

use crate::Imported;
use crate::image::IMAGE_EXTENSIONS;

/// The names of the faces in cubemap order: +X, -X, +Y, -Y, +Z, -Z.
pub const FACES: [&str; 6] = ["px", "nx", "py", "ny", "pz", "nz"];

/// The file name of an image and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize<'a> {
    /// The file name in the directory.
    pub name: &'a str,
    /// The number of texels in a row.
    pub width: u32,
    /// The number of rows.
    pub height: u32,
}

/// Returns the index in `names` of each face, in the order of [`FACES`]: `px.png`, or any other image extension.
///
/// # Errors
/// `cubemap-face-duplicate` or `cubemap-face-missing`.
pub fn cube_faces(names: &[&str]) -> Result<Imported<[usize; 6]>, Diag> {
    let mut faces = [None; 6];
    let mut stray = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let face = image_stem(name).and_then(|stem| FACES.iter().position(|face| *face == stem));
        match face {
            None => stray.push(*name),
            Some(face) => {
                if let Some(first) = faces[face].replace(index) {
                    let message =
                        format!("the face `{}` exists twice: {} and {name}", FACES[face], names[first]);
                    return Err(
                        Diag::new(Code::CubemapFaceDuplicate, message).hint("remove one of the two files")
                    );
                }
            }
        }
    }
    let missing: Vec<&str> = FACES.iter().zip(faces).filter(|(_, i)| i.is_none()).map(|(f, _)| *f).collect();
    if !missing.is_empty() {
        let noun = if missing.len() == 1 { "face" } else { "faces" };
        let message = format!("the cubemap lacks the {noun} {}", missing.join(", "));
        let hint = "name the six images px, nx, py, ny, pz and nz, with an image file extension";
        return Err(Diag::new(Code::CubemapFaceMissing, message).hint(hint));
    }
    Ok(Imported { value: faces.map(Option::unwrap_or_default), warnings: stray_warnings(&stray) })
}

/// Returns the indices in `names` of the layers of an array: the images, in natural order of their names (`2` comes
/// before `10`).
///
/// # Errors
/// `array-empty` if there is no image.
pub fn layers(names: &[&str]) -> Result<Imported<Vec<usize>>, Diag> {
    let (mut layers, stray): (Vec<usize>, Vec<usize>) =
        (0..names.len()).partition(|&i| image_stem(names[i]).is_some());
    if layers.is_empty() {
        return Err(Diag::new(Code::ArrayEmpty, "the texture array directory contains no image")
            .hint(format!("layers are files with one of the extensions {}", IMAGE_EXTENSIONS.join(", "))));
    }
    layers.sort_unstable_by(|&a, &b| natural_order(names[a], names[b]));
    let stray: Vec<&str> = stray.into_iter().map(|i| names[i]).collect();
    Ok(Imported { value: layers, warnings: stray_warnings(&stray) })
}

/// Compares names in natural order: runs of ASCII digits by their number, everything else by bytes. Names that differ only
/// in leading zeros are compared by bytes, so that the order is total.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut x, mut y) = (a.as_bytes(), b.as_bytes());
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    while let ([p, ..], [q, ..]) = (x, y) {
        let (n, m) = (digits(x), digits(y));
        let order = if n > 0 && m > 0 {
            let number = |run: &'_ [u8]| run.iter().position(|&digit| digit != b'0').unwrap_or(run.len());
            let (p, q) = (&x[number(&x[..n])..n], &y[number(&y[..m])..m]);
            (x, y) = (&x[n..], &y[m..]);
            // Without leading zeros the longer number is the larger one.
            p.len().cmp(&q.len()).then_with(|| p.cmp(q))
        } else {
            let order = p.cmp(q);
            (x, y) = (&x[1..], &y[1..]);
            order
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    x.len().cmp(&y.len()).then_with(|| a.cmp(b))
}

/// Returns the size of a cubemap with these faces.
///
/// # Errors
/// `cubemap-face-shape` if a face is not square, `cubemap-face-size` if the sizes differ.
pub fn cube_side(faces: &[ImageSize<'_>]) -> Result<u32, Diag> {
    if let Some(face) = faces.iter().find(|face| face.width != face.height) {
        let message = format!(
            "the cubemap face {} has {}x{} texels, and faces must be square",
            face.name, face.width, face.height
        );
        return Err(Diag::new(Code::CubemapFaceShape, message).hint("export the six faces as squares"));
    }
    same_size(Code::CubemapFaceSize, faces).map(|(side, _)| side)
}

/// Returns the width and height of a texture array with these layers.
///
/// # Errors
/// `array-layer-size` if the sizes differ.
pub fn layer_size(layers: &[ImageSize<'_>]) -> Result<(u32, u32), Diag> {
    same_size(Code::ArrayLayerSize, layers)
}

/// Returns the size that all images share; the error names one that differs from the majority.
fn same_size(code: Code, images: &[ImageSize<'_>]) -> Result<(u32, u32), Diag> {
    let size = |image: &ImageSize<'_>| (image.width, image.height);
    let mut sizes: Vec<_> = images.iter().map(size).collect();
    sizes.sort_unstable();
    // The longest run of equal sizes is the majority.
    let usual = sizes.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).and_then(|run| run.first());
    let Some(&usual) = usual else { return Err(Diag::new(code, "there are no images")) };
    match images.iter().find(|image| size(image) != usual) {
        None => Ok(usual),
        Some(different) => {
            let other = images.iter().find(|image| size(image) == usual).map_or("", |p| p.name);
            let message = format!(
                "{} has {}x{} texels, and {other} has {}x{}",
                different.name, different.width, different.height, usual.0, usual.1
            );
            Err(Diag::new(code, message).hint("scale all images to the same size"))
        }
    }
}

/// Returns the name without its extension, if the extension is that of an image and the file is not hidden.
fn image_stem(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let known = IMAGE_EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension));
    (known && !hidden(name)).then_some(stem)
}

/// Returns `true` for hidden files and for those that file managers create.
fn hidden(name: &str) -> bool {
    name.starts_with('.') || ["Thumbs.db", "desktop.ini"].iter().any(|n| n.eq_ignore_ascii_case(name))
}

fn stray_warnings(names: &[&str]) -> Vec<Diag> {
    let mut names: Vec<&str> = names.iter().copied().filter(|name| !hidden(name)).collect();
    names.sort_unstable();
    if names.is_empty() {
        return Vec::new();
    }
    let message = format!("the directory contains files that are not used: {}", names.join(", "));
    vec![Diag::new(Code::FolderStrayFile, message).hint("move these files out of the directory")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(name: &str, width: u32, height: u32) -> ImageSize<'_> {
        ImageSize { name, width, height }
    }

    #[test]
    fn faces_come_in_cubemap_order_whatever_the_folder_order() {
        let names = ["nz.png", "pz.JPG", ".px.png", "py.webp", "px.png", "ny.Tga", "nx.bmp"];
        let faces = cube_faces(&names).unwrap();
        assert_eq!(
            faces.value.map(|i| names[i]),
            ["px.png", "nx.bmp", "py.webp", "ny.Tga", "pz.JPG", "nz.png"]
        );
        assert_eq!(faces.warnings, []);
    }

    #[test]
    fn rejects_missing_and_duplicate_faces() {
        let error = cube_faces(&["px.png", "nx.png", "py.png", "pz.txt", "nz.png"]).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("cubemap-face-missing", "the cubemap lacks the faces ny, pz")
        );
        let error = cube_faces(&["px.png", "px.jpg"]).unwrap_err();
        assert_eq!(error.code, Code::CubemapFaceDuplicate);
        assert!(error.message.contains("`px`") && error.message.contains("px.png and px.jpg"), "{error}");
    }

    #[test]
    fn warns_about_stray_files_but_not_hidden_ones() {
        let mut names = vec!["notes.txt", "preview.png", ".DS_Store", "thumbs.db"];
        names.extend(["px.png", "nx.png", "py.png", "ny.png", "pz.png", "nz.png"]);
        let warnings = cube_faces(&names).unwrap().warnings;
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, Code::FolderStrayFile);
        assert!(warnings[0].message.ends_with(": notes.txt, preview.png"), "{}", warnings[0]);
    }

    #[test]
    fn natural_order_compares_numbers_and_is_total() {
        let sorted = [
            "",
            "01",
            "1",
            "1a",
            "2",
            "10",
            "010a",
            "a",
            "a1b2",
            "a1b10",
            "a02b1",
            "a99999999999999999999",
            "b",
            "ä",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(natural_order(a, b), i.cmp(&j), "{a} {b}");
            }
        }
    }

    #[test]
    fn layers_are_in_natural_order() {
        let names = ["b.png", "2.png", "a.txt", "10.jpg", "1.png", "B.png", ".hidden.png"];
        let found = layers(&names).unwrap();
        let ordered: Vec<&str> = found.value.iter().map(|&i| names[i]).collect();
        assert_eq!(ordered, ["1.png", "2.png", "10.jpg", "B.png", "b.png"]);
        assert_eq!(found.warnings.len(), 1);
        assert!(found.warnings[0].message.ends_with(": a.txt"));
        assert_eq!(layers(&["a.txt"]).unwrap_err().code, Code::ArrayEmpty);
        assert_eq!(layers(&[]).unwrap_err().code, Code::ArrayEmpty);
    }

    #[test]
    fn rejects_different_sizes_and_names_the_exception() {
        let faces = [sized("px.png", 4, 4), sized("nx.png", 8, 8), sized("py.png", 8, 8)];
        let error = cube_side(&faces).unwrap_err();
        assert_eq!(error.code, Code::CubemapFaceSize);
        assert_eq!(error.message, "px.png has 4x4 texels, and nx.png has 8x8");
        assert_eq!(cube_side(&faces[1..]), Ok(8));
        let error = cube_side(&[sized("px.png", 4, 5)]).unwrap_err();
        assert_eq!(error.code, Code::CubemapFaceShape);
        assert!(error.message.contains("px.png has 4x5"));

        assert_eq!(layer_size(&[sized("a", 4, 5), sized("b", 4, 5)]), Ok((4, 5)));
        let error = layer_size(&[sized("a", 4, 5), sized("b", 4, 5), sized("c", 5, 4)]).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("array-layer-size", "c has 5x4 texels, and a has 4x5")
        );
        assert!(layer_size(&[]).is_err());
    }
}
