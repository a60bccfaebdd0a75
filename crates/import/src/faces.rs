//! The pictures of a folder that is one source: the six faces of a `*.env/` cubemap, the layers of a `*.array/`.
//!
//! Pure rules over names and sizes; the caller lists the folder and decodes. Names are those of the files in
//! the folder, without directories. Files that are no pictures are left out with a warning, except hidden ones.

use kiln_engine::{Code, Diag};

use crate::Imported;
use crate::image::IMAGE_EXTENSIONS;

/// The faces in the order of cubemaps everywhere: +x, -x, +y, -y, +z, -z.
pub const FACES: [&str; 6] = ["px", "nx", "py", "ny", "pz", "nz"];

/// A picture's file name and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sized<'a> {
    /// The file's name in the folder.
    pub name: &'a str,
    /// Texels in a row.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

/// Which of `names` is which face, in the order of [`FACES`]: `px.png`, with any extension of a picture.
pub fn cube_faces(names: &[&str]) -> Result<Imported<[usize; 6]>, Diag> {
    let mut faces = [None; 6];
    let mut stray = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let face = picture_stem(name).and_then(|stem| FACES.iter().position(|face| *face == stem));
        match face {
            None => stray.push(*name),
            Some(face) => {
                if let Some(first) = faces[face].replace(index) {
                    let message =
                        format!("face `{}` is there twice: {} and {name}", FACES[face], names[first]);
                    return Err(Diag::new(Code::CubemapFaceTwice, message).hint("remove one of them"));
                }
            }
        }
    }
    let missing: Vec<&str> = FACES.iter().zip(faces).filter(|(_, i)| i.is_none()).map(|(f, _)| *f).collect();
    if !missing.is_empty() {
        let message = format!("the cubemap lacks {}", missing.join(", "));
        let hint = "name the six pictures px, nx, py, ny, pz and nz, with the extension of a picture";
        return Err(Diag::new(Code::CubemapFaceMissing, message).hint(hint));
    }
    Ok(Imported { value: faces.map(Option::unwrap_or_default), warnings: strays(&stray) })
}

/// The layers of an array: the pictures among `names`, in the order of the names' bytes (so `10` comes before
/// `2`: number layers with leading zeros).
pub fn layers(names: &[&str]) -> Result<Imported<Vec<usize>>, Diag> {
    let (mut layers, stray): (Vec<usize>, Vec<usize>) =
        (0..names.len()).partition(|&i| picture_stem(names[i]).is_some());
    if layers.is_empty() {
        return Err(Diag::new(Code::ArrayEmpty, "there is no picture in the array")
            .hint(format!("its layers are the files with one of: {}", IMAGE_EXTENSIONS.join(", "))));
    }
    layers.sort_unstable_by_key(|&i| names[i]);
    let stray: Vec<&str> = stray.into_iter().map(|i| names[i]).collect();
    Ok(Imported { value: layers, warnings: strays(&stray) })
}

/// The side of a cubemap whose faces are these, if they are square and equal.
pub fn cube_side(faces: &[Sized<'_>]) -> Result<u32, Diag> {
    if let Some(face) = faces.iter().find(|face| face.width != face.height) {
        let message =
            format!("{} has {}x{} texels, and a face must be square", face.name, face.width, face.height);
        return Err(Diag::new(Code::CubemapFaceShape, message).hint("export the six faces as squares"));
    }
    same_size(Code::CubemapFaceSize, faces).map(|(side, _)| side)
}

/// The size of an array whose layers are these, if they are equal.
pub fn layer_size(layers: &[Sized<'_>]) -> Result<(u32, u32), Diag> {
    same_size(Code::ArrayLayerSize, layers)
}

/// The size that all share. Who differs from most of the others is the odd one.
fn same_size(code: Code, pictures: &[Sized<'_>]) -> Result<(u32, u32), Diag> {
    let size = |picture: &Sized<'_>| (picture.width, picture.height);
    let mut sizes: Vec<_> = pictures.iter().map(size).collect();
    sizes.sort_unstable();
    // The longest run of equal sizes is what most have; no picture at all has no size.
    let usual = sizes.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).and_then(|run| run.first());
    let Some(&usual) = usual else { return Err(Diag::new(code, "there are no pictures")) };
    match pictures.iter().find(|picture| size(picture) != usual) {
        None => Ok(usual),
        Some(odd) => {
            let other = pictures.iter().find(|picture| size(picture) == usual).map_or("", |p| p.name);
            let message = format!(
                "{} has {}x{} texels, and {other} has {}x{}",
                odd.name, odd.width, odd.height, usual.0, usual.1
            );
            Err(Diag::new(code, message).hint("all must have the same size"))
        }
    }
}

/// The name without its extension, if that is one of a picture, and the file is not hidden.
fn picture_stem(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    let known = IMAGE_EXTENSIONS.iter().any(|known| known.eq_ignore_ascii_case(extension));
    (known && !hidden(name)).then_some(stem)
}

/// Hidden by name, or left behind by a file manager that hides it.
fn hidden(name: &str) -> bool {
    name.starts_with('.') || ["Thumbs.db", "desktop.ini"].iter().any(|n| n.eq_ignore_ascii_case(name))
}

fn strays(names: &[&str]) -> Vec<Diag> {
    let mut names: Vec<&str> = names.iter().copied().filter(|name| !hidden(name)).collect();
    names.sort_unstable();
    if names.is_empty() {
        return Vec::new();
    }
    let message = format!("the folder holds files that are not part of it: {}", names.join(", "));
    vec![Diag::new(Code::FolderStrayFile, message).hint("move them out of the folder")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(name: &str, width: u32, height: u32) -> Sized<'_> {
        Sized { name, width, height }
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
    fn missing_and_double_faces_are_named() {
        let error = cube_faces(&["px.png", "nx.png", "py.png", "pz.txt", "nz.png"]).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.message.as_str()),
            ("cubemap-face-missing", "the cubemap lacks ny, pz")
        );
        let error = cube_faces(&["px.png", "px.jpg"]).unwrap_err();
        assert_eq!(error.code, Code::CubemapFaceTwice);
        assert!(error.message.contains("`px`") && error.message.contains("px.png and px.jpg"), "{error}");
    }

    #[test]
    fn strays_are_named_and_hidden_files_are_not() {
        let mut names = vec!["notes.txt", "preview.png", ".DS_Store", "thumbs.db"];
        names.extend(["px.png", "nx.png", "py.png", "ny.png", "pz.png", "nz.png"]);
        let warnings = cube_faces(&names).unwrap().warnings;
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, Code::FolderStrayFile);
        assert!(warnings[0].message.ends_with(": notes.txt, preview.png"), "{}", warnings[0]);
    }

    #[test]
    fn layers_are_ordered_by_the_bytes_of_their_names() {
        let names = ["b.png", "2.png", "a.txt", "10.jpg", "B.png", ".hidden.png"];
        let found = layers(&names).unwrap();
        let ordered: Vec<&str> = found.value.iter().map(|&i| names[i]).collect();
        assert_eq!(ordered, ["10.jpg", "2.png", "B.png", "b.png"]);
        assert_eq!(found.warnings.len(), 1);
        assert!(found.warnings[0].message.ends_with(": a.txt"));
        assert_eq!(layers(&["a.txt"]).unwrap_err().code, Code::ArrayEmpty);
        assert_eq!(layers(&[]).unwrap_err().code, Code::ArrayEmpty);
    }

    #[test]
    fn sizes_must_agree_and_the_odd_one_is_named() {
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
