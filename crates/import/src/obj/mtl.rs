//! The text of an MTL file into what it says about each material, not yet interpreted.
//!
//! Keys are read in any case. A name that is defined twice is one material, and of two values the later counts.
//! Refused are numbers that are none or not finite, with their line. Everything else has room in [`Look::lost`].

use std::collections::HashMap;

use kiln_engine::{Diag, RelPath};

use super::cursor::Cursor;

/// The numbers of a material that are kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Look {
    /// As the file has it.
    pub(super) name: Vec<u8>,
    /// The library it is in and its line there; `None` when it is defined nowhere.
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
    /// The pictures, by what they are for.
    pub(super) maps: [Option<Map>; Role::COUNT],
    /// The names of everything else, in the order of the file.
    pub(super) lost: Vec<String>,
}

/// What a picture is for.
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
    /// Occlusion, roughness and metalness, in this order of channels.
    Packed,
}

impl Role {
    const COUNT: usize = Role::Packed as usize + 1;
}

/// A picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Map {
    /// The key that names it.
    pub(super) key: String,
    /// The name of its file, with slashes, or `None` when it is not UTF-8.
    pub(super) file: Option<String>,
    /// How much a bump stands out.
    pub(super) strength: f32,
    /// The line of the key.
    pub(super) line: usize,
}

/// The most things that one material is said to have lost.
const MOST_LOST: usize = 32;

impl Look {
    /// The picture for something.
    pub(super) fn map(&self, role: Role) -> Option<&Map> {
        self.maps[role as usize].as_ref()
    }

    /// Notes that something is not kept.
    pub(super) fn lose(&mut self, what: impl Into<String>) {
        let what = what.into();
        if self.lost.len() < MOST_LOST && !self.lost.contains(&what) {
            self.lost.push(what);
        }
    }
}

/// All materials of the libraries of a model, in their order.
#[derive(Default)]
pub(super) struct Looks {
    pub(super) list: Vec<Look>,
    numbers: HashMap<Vec<u8>, usize>,
}

impl Looks {
    /// The number of the material of this name, if it is defined.
    pub(super) fn find(&self, name: &[u8]) -> Option<usize> {
        self.numbers.get(name).copied()
    }

    /// The number of the material of this name, which is defined by that.
    pub(super) fn define(&mut self, name: Vec<u8>, place: Option<(RelPath, usize)>) -> usize {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.list.push(Look { name: name.clone(), place, ..Look::default() });
            self.list.len() - 1
        })
    }

    /// Adds what a library says.
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

fn statement(cursor: &mut Cursor<'_>, word: &[u8], look: &mut Look) -> Result<(), Diag> {
    let key = String::from_utf8_lossy(word).into_owned();
    let number = |cursor: &mut Cursor<'_>| cursor.float().map(Some);
    match key.to_ascii_lowercase().as_str() {
        "kd" => look.diffuse = colour(cursor, &key, look)?.or(look.diffuse),
        "ks" => look.specular = colour(cursor, &key, look)?.or(look.specular),
        "ke" => look.emissive = colour(cursor, &key, look)?.or(look.emissive),
        "tf" => {
            if colour(cursor, &key, look)?.is_some_and(|filter| filter != [1.0; 3]) {
                look.lose(key);
            }
        }
        "d" => {
            cursor.skip_blanks();
            if cursor.peek() == (Some(b'-'), Some(b'h')) && cursor.word() == b"-halo" {
                look.lose("d -halo");
            }
            look.opacity = number(cursor)?;
        }
        "tr" => look.opacity = Some(1.0 - cursor.float()?),
        "ns" => look.exponent = number(cursor)?,
        "pr" => look.roughness = number(cursor)?,
        "pm" => look.metalness = number(cursor)?,
        "illum" => look.model = number(cursor)?,
        // Zero is what they are when nothing is said.
        "ps" | "pc" | "pcr" | "aniso" | "anisor" => {
            if cursor.float()? != 0.0 {
                look.lose(key);
            }
        }
        // Light that comes from everywhere, refraction and filtering are the renderer's.
        "ka" | "ni" | "km" | "sharpness" | "map_aat" => {}
        lower => match role(lower) {
            Some(role) => look.maps[role as usize] = Some(map(cursor, key, look)),
            None => look.lose(crate::excerpt(&key).trim_matches('"')),
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

/// A colour of one or three numbers; none when it is a spectrum.
fn colour(cursor: &mut Cursor<'_>, key: &str, look: &mut Look) -> Result<Option<[f32; 3]>, Diag> {
    cursor.skip_blanks();
    if let (Some(b's'), Some(b'p')) | (Some(b'x'), Some(b'y')) = cursor.peek() {
        look.lose(key);
        return Ok(None);
    }
    let red = cursor.float()?;
    let green = cursor.float_or_end()?;
    Ok(Some(match green {
        Some(green) => [red, green, cursor.float()?],
        None => [red; 3],
    }))
}

/// The picture that the rest of a line names, after its options.
fn map(cursor: &mut Cursor<'_>, key: String, look: &mut Look) -> Map {
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
            look.lose(format!("{key} {option}"));
        }
        rest = after;
    }
    let name = rest.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(rest);
    Map { key, file: Some(name.replace('\\', "/")), strength, line }
}

/// An option at the start of a text, its values, and what follows. There is always something that follows: of
/// numbers, the last may be the name of a file.
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

    fn looks(text: &str) -> Vec<Look> {
        let mut looks = Looks::default();
        looks.parse(text.as_bytes(), &RelPath::new("a.mtl").unwrap()).unwrap();
        looks.list
    }

    #[test]
    fn numbers_and_colours() {
        let found = looks(
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
        assert!(a.lost.is_empty(), "{:?}", a.lost);
        assert_eq!((c.opacity, c.diffuse), (Some(0.5), None));
        assert_eq!(c.lost, ["d -halo", "Tf", "Pc", "Kd", "weird"]);
    }

    #[test]
    fn names_of_pictures_follow_their_options() {
        let file = |line: &str| {
            let found = looks(&format!("newmtl a\n{line}"));
            let map = found[0].maps.iter().flatten().next().cloned().unwrap();
            (map.file.unwrap(), map.strength, found[0].lost.clone())
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
        let lost = file("map_Kd -s 2 2 1 -o 0.5 -clamp on -imfchan m a.png");
        assert_eq!(lost.0, "a.png");
        assert_eq!(lost.2, ["map_Kd -s", "map_Kd -o", "map_Kd -clamp", "map_Kd -imfchan"]);
    }

    #[test]
    fn a_bad_number_is_an_error_with_its_line() {
        let mut looks = Looks::default();
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
