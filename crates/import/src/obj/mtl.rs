//! MTL parser: the values of each material, not yet converted.
//!
//! Keys are case-insensitive. A name that is defined twice is one material, and of two values the later counts. Rejects
//! invalid numbers, with their line. Everything else is listed in [`MtlMaterial::unsupported`].

use std::collections::HashMap;

use kiln_diagnostics::{Diag, RelPath};

use super::cursor::Cursor;

/// The values of an MTL material.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MtlMaterial {
    /// The name in the file.
    pub(super) name: Vec<u8>,
    /// The library that defines the material and the line; `None` when it is undefined.
    pub(super) place: Option<(RelPath, usize)>,
    pub(super) diffuse: Option<[f32; 3]>,
    pub(super) specular: Option<[f32; 3]>,
    pub(super) emissive: Option<[f32; 3]>,
    pub(super) opacity: Option<f32>,
    pub(super) exponent: Option<f32>,
    pub(super) roughness: Option<f32>,
    pub(super) metalness: Option<f32>,
    /// The illumination model.
    pub(super) model: Option<f32>,
    /// The images, indexed by [`Role`].
    pub(super) maps: [Option<Map>; Role::COUNT],
    /// The keys that are not supported, in the order of the file.
    pub(super) unsupported: Vec<String>,
}

/// The purpose of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Ambient,
    Diffuse,
    Specular,
    Emissive,
    Opacity,
    Bump,
    Normal,
    Roughness,
    Metalness,
    /// Occlusion, roughness and metalness in the red, green and blue channel.
    Packed,
}

impl Role {
    const COUNT: usize = Role::Packed as usize + 1;
}

/// An image reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Map {
    /// The key of the statement.
    pub(super) key: String,
    /// The file name with forward slashes, or `None` when it is not UTF-8.
    pub(super) file: Option<String>,
    /// The bump multiplier.
    pub(super) strength: f32,
    /// The line of the key.
    pub(super) line: usize,
}

/// The maximum number of unsupported keys that are listed for one material.
const MAX_UNSUPPORTED: usize = 32;

impl MtlMaterial {
    /// Returns the image for a purpose.
    pub(super) fn map(&self, role: Role) -> Option<&Map> {
        self.maps[role as usize].as_ref()
    }

    /// Records an unsupported key.
    pub(super) fn note_unsupported(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.unsupported.len() < MAX_UNSUPPORTED && !self.unsupported.contains(&what) {
            self.unsupported.push(what);
        }
    }
}

/// All materials of the libraries of a model, in order.
#[derive(Default)]
pub(super) struct MtlMaterials {
    pub(super) list: Vec<MtlMaterial>,
    indices: HashMap<Vec<u8>, usize>,
}

impl MtlMaterials {
    /// Returns the index of the material with this name, if it is defined.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.indices.get(name).copied()
    }

    /// Returns the index of the material with this name, and defines it if it is not.
    pub(super) fn define(&mut self, name: Vec<u8>, place: Option<(RelPath, usize)>) -> usize {
        *self.indices.entry(name).or_insert_with_key(|name| {
            self.list.push(MtlMaterial { name: name.clone(), place, ..MtlMaterial::default() });
            self.list.len() - 1
        })
    }

    /// Parses a library and adds its materials.
    pub(super) fn parse(&mut self, text: &[u8], path: &RelPath) -> Result<(), Diag> {
        let mut cursor = Cursor::new(text);
        let mut current = None;
        while cursor.next_statement() {
            let line = cursor.line();
            let word = cursor.word();
            if word.eq_ignore_ascii_case(b"newmtl") {
                current = Some(self.define(cursor.rest(), Some((path.clone(), line))));
            } else if let Some(number) = current {
                statement(&mut cursor, word, &mut self.list[number]).map_err(|diag| diag.path(path))?;
                cursor.rest();
            } else {
                cursor.rest();
            }
        }
        Ok(())
    }
}

fn statement(cursor: &mut Cursor<'_>, word: &[u8], source: &mut MtlMaterial) -> Result<(), Diag> {
    let key = String::from_utf8_lossy(word).into_owned();
    let number = |cursor: &mut Cursor<'_>| cursor.float().map(Some);
    match key.to_ascii_lowercase().as_str() {
        "kd" => source.diffuse = colour(cursor, &key, source)?.or(source.diffuse),
        "ks" => source.specular = colour(cursor, &key, source)?.or(source.specular),
        "ke" => source.emissive = colour(cursor, &key, source)?.or(source.emissive),
        "tf" => {
            if colour(cursor, &key, source)?.is_some_and(|filter| filter != [1.0; 3]) {
                source.note_unsupported(key);
            }
        }
        "d" => {
            cursor.skip_blanks();
            if cursor.peek() == (Some(b'-'), Some(b'h')) && cursor.word() == b"-halo" {
                source.note_unsupported("d -halo");
            }
            source.opacity = number(cursor)?;
        }
        "tr" => source.opacity = Some(1.0 - cursor.float()?),
        "ns" => source.exponent = number(cursor)?,
        "pr" => source.roughness = number(cursor)?,
        "pm" => source.metalness = number(cursor)?,
        "illum" => source.model = number(cursor)?,
        // Zero is the default.
        "ps" | "pc" | "pcr" | "aniso" | "anisor" => {
            if cursor.float()? != 0.0 {
                source.note_unsupported(key);
            }
        }
        // Ambient light, refraction and filtering are up to the renderer.
        "ka" | "ni" | "km" | "sharpness" | "map_aat" => {}
        lower => match role(lower) {
            Some(role) => source.maps[role as usize] = Some(map(cursor, key, source)),
            None => source.note_unsupported(crate::excerpt(&key).trim_matches('"')),
        },
    }
    Ok(())
}

fn role(key: &str) -> Option<Role> {
    Some(match key {
        "map_ka" => Role::Ambient,
        "map_kd" => Role::Diffuse,
        "map_ks" => Role::Specular,
        "map_ke" => Role::Emissive,
        "map_d" | "map_tr" | "map_opacity" => Role::Opacity,
        "map_bump" | "bump" => Role::Bump,
        "norm" | "map_kn" | "map_norm" => Role::Normal,
        "map_pr" => Role::Roughness,
        "map_pm" => Role::Metalness,
        "map_orm" => Role::Packed,
        _ => return None,
    })
}

/// Reads a colour of one or three numbers; `None` when it is a spectrum.
fn colour(cursor: &mut Cursor<'_>, key: &str, source: &mut MtlMaterial) -> Result<Option<[f32; 3]>, Diag> {
    cursor.skip_blanks();
    if let (Some(b's'), Some(b'p')) | (Some(b'x'), Some(b'y')) = cursor.peek() {
        source.note_unsupported(key);
        return Ok(None);
    }
    let red = cursor.float()?;
    let green = cursor.float_or_end()?;
    Ok(Some(match green {
        Some(green) => [red, green, cursor.float()?],
        None => [red; 3],
    }))
}

/// Reads the image reference in the rest of a line, after its options.
fn map(cursor: &mut Cursor<'_>, key: String, source: &mut MtlMaterial) -> Map {
    let line = cursor.line();
    let Ok(text) = String::from_utf8(cursor.rest()) else {
        return Map { key, file: None, strength: 1.0, line };
    };
    let mut strength = 1.0;
    let mut rest = text.as_str();
    while let Some((option, values, after)) = option(rest) {
        let numbers =
            || values.split_ascii_whitespace().map(|value| value.parse::<f32>().unwrap_or(f32::NAN));
        let changes = match option.to_ascii_lowercase().as_str() {
            "-bm" => {
                strength = numbers().next().filter(|v| v.is_finite()).unwrap_or(1.0);
                false
            }
            "-o" | "-t" => numbers().any(|value| value != 0.0),
            "-s" => numbers().any(|value| value != 1.0),
            "-mm" => !numbers().eq([0.0, 1.0]),
            "-clamp" | "-cc" => values.eq_ignore_ascii_case("on"),
            "-imfchan" => true,
            _ => false,
        };
        if changes {
            source.note_unsupported(format!("{key} {option}"));
        }
        rest = after;
    }
    let name = rest.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(rest);
    Map { key, file: Some(name.replace('\\', "/")), strength, line }
}

/// Splits an option and its values from the start of a string. The rest is never empty: of numbers, the last may be the
/// name of a file.
fn option(text: &str) -> Option<(&str, &str, &str)> {
    let next = |text: &str| text.find([' ', '\t']);
    let end = next(text).filter(|_| text.starts_with('-'))?;
    let (name, values) = (&text[..end], text[end..].trim_start());
    let (most, are_numbers) = match name.to_ascii_lowercase().as_str() {
        "-o" | "-s" | "-t" => (3, true),
        "-mm" => (2, false),
        "-blendu" | "-blendv" | "-boost" | "-bm" | "-cc" | "-clamp" | "-imfchan" | "-texres" | "-type" => {
            (1, false)
        }
        _ => return None,
    };
    let mut rest = values;
    for _ in 0..most {
        let Some(end) = next(rest) else { break };
        if are_numbers && rest[..end].parse::<f32>().is_err() {
            break;
        }
        rest = rest[end..].trim_start();
    }
    Some((name, values[..values.len() - rest.len()].trim_end(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_materials(text: &str) -> Vec<MtlMaterial> {
        let mut looks = MtlMaterials::default();
        looks.parse(text.as_bytes(), &RelPath::new("a.mtl").unwrap()).unwrap();
        looks.list
    }

    #[test]
    fn parses_numbers_and_colours() {
        let found = parse_materials(
            "Kd 9 9 9\nnewmtl a b #1\n\tKd 0.1 0.2 0.3\n Ks .5\nke 1 2 3 # bright\nNs 10\nTr 0.25\nPr .1\nPm 1\n\
             illum 2\nKa 1 1 1\nNi 1.45\nTf 1 1 1\nPs 0\nnewmtl c\nd -halo 0.5\nTf 1 0 0\nPc 1\nKd spectral x.rfl 1\n\
             weird 1 2\nnewmtl a b #1\nNs 20",
        );
        assert_eq!(found.len(), 2);
        let [a, c] = [&found[0], &found[1]];
        assert_eq!((a.name.as_slice(), a.place.as_ref().unwrap().1), (&b"a b #1"[..], 2));
        assert_eq!(
            (a.diffuse, a.specular, a.emissive),
            (Some([0.1, 0.2, 0.3]), Some([0.5; 3]), Some([1.0, 2.0, 3.0]))
        );
        assert_eq!((a.exponent, a.opacity, a.roughness), (Some(20.0), Some(0.75), Some(0.1)));
        assert_eq!((a.metalness, a.model), (Some(1.0), Some(2.0)));
        assert!(a.unsupported.is_empty(), "{:?}", a.unsupported);
        assert_eq!((c.opacity, c.diffuse), (Some(0.5), None));
        assert_eq!(c.unsupported, ["d -halo", "Tf", "Pc", "Kd", "weird"]);
    }

    #[test]
    fn parses_options_before_image_names() {
        let file = |line: &str| {
            let found = parse_materials(&format!("newmtl a\n{line}"));
            let map = found[0].maps.iter().flatten().next().cloned().unwrap();
            (map.file.unwrap(), map.strength, found[0].unsupported.clone())
        };
        let plain = |name: &str| (name.to_owned(), 1.0, Vec::<String>::new());
        assert_eq!(file("map_Kd a b.png"), plain("a b.png"));
        assert_eq!(file("MAP_KD  \ttex\\sub dir\\b.png  "), plain("tex/sub dir/b.png"));
        assert_eq!(file("map_Kd \"a b.png\""), plain("a b.png"));
        assert_eq!(file("map_Kd -clamp off -o 0 0 0 -s 1 1 1 -mm 0 1 -blendu on a.png"), plain("a.png"));
        assert_eq!(file("map_Kd -o 0 2.png"), plain("2.png"));
        assert_eq!(file("map_Kd -s 1 1 3"), plain("3"));
        assert_eq!(file("map_Kd -odd.png"), plain("-odd.png"));
        assert_eq!(file("map_Kd -odd name.png"), plain("-odd name.png"));
        assert_eq!(file("map_Kd -clamp"), plain("-clamp"));
        assert_eq!(file("bump -bm 0.5 n.png").1, 0.5);
        let unsupported = file("map_Kd -s 2 2 1 -o 0.5 -clamp on -imfchan m a.png");
        assert_eq!(unsupported.0, "a.png");
        assert_eq!(unsupported.2, ["map_Kd -s", "map_Kd -o", "map_Kd -clamp", "map_Kd -imfchan"]);
    }

    #[test]
    fn rejects_invalid_numbers_with_their_line() {
        let mut looks = MtlMaterials::default();
        for text in [
            "newmtl a\nKd 0,5 1 1",
            "newmtl a\nKd 1 1",
            "newmtl a\nNs nan",
            "newmtl a\nd",
            "newmtl a\nd -x 1",
        ] {
            let error = looks.parse(text.as_bytes(), &RelPath::new("a.mtl").unwrap()).unwrap_err();
            assert_eq!(
                (error.path.as_deref().unwrap_or_default(), error.at.as_deref().unwrap_or_default()),
                ("a.mtl", "line 2"),
                "{error}"
            );
        }
    }
}
