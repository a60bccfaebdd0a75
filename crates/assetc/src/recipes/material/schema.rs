//! The schema of `.mat` files: YAML with the property names of glTF materials. `docs/reference/config/mat.md` documents it.
//!
//! Errors, each with line and column: invalid YAML, unknown keys, values of the wrong type or out of range, a file
//! without a material, and a file that mixes the form for one material with the list form.

use crate::recipes::packing::description::{Description, parse_node, read_yaml};
use crate::recipes::yaml_errors::{bad_value, unknown_key};
use kiln_config::yaml::{self, Entry, Node, Value};
use kiln_engine::{Code, Diag};
use kiln_ir::{AlphaMode, Material, Slot, srgb};

/// A material and the image references of its slots.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Described {
    pub(super) material: Material,
    pub(super) textures: [Option<Reference>; 5],
}

/// The texture of a slot.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reference {
    /// The path of an image or texture description as the file has it, with its position.
    File { text: String, at: String },
    /// A texture description in place of a path, with the key of its slot.
    Packed { key: &'static str, description: Box<Description> },
}

pub(super) const KEYS: [&str; 11] = [
    "name",
    "base_color_factor",
    "metallic_factor",
    "roughness_factor",
    "emissive_factor",
    "normal_scale",
    "occlusion_strength",
    "alpha_mode",
    "alpha_cutoff",
    "double_sided",
    "textures",
];

pub(super) const SLOTS: [(&str, Slot); 5] = [
    ("base_color", Slot::BaseColor),
    ("metallic_roughness", Slot::MetallicRoughness),
    ("normal", Slot::Normal),
    ("occlusion", Slot::Occlusion),
    ("emissive", Slot::Emissive),
];

/// The key of a texture for occlusion (red), roughness (green) and metalness (blue).
pub(super) const ORM: (&str, [Slot; 2]) = ("orm", [Slot::Occlusion, Slot::MetallicRoughness]);

/// Reads the materials of a file, in their order.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Described>, Diag> {
    let root = read_yaml(bytes, Code::MatSyntax)?;
    let empty = || {
        Diag::new(Code::MatValue, "the file contains no material")
            .hint("add properties, such as 'roughness_factor: 0.5'")
    };
    let root = root.ok_or_else(empty)?;
    let entries = map(&root, "the file")?;
    let Some(list) = entries.iter().find(|entry| entry.key == "materials") else {
        return if entries.is_empty() { Err(empty()) } else { Ok(vec![material(entries)?]) };
    };
    if let Some(other) = entries.iter().find(|entry| entry.key != "materials") {
        let message = format!("the key '{}' is not allowed beside 'materials'", yaml::excerpt(&other.key));
        let hint = "move the key into an item of the list";
        return Err(Diag::new(Code::MatValue, message).at(other.at).hint(hint));
    }
    match &list.node.value {
        Value::Seq(items) if items.is_empty() => Err(empty()),
        Value::Seq(items) => items.iter().map(|item| material(map(item, "a material")?)).collect(),
        _ => Err(bad(&list.node, "materials", "a list of materials")),
    }
}

fn material(entries: &[Entry]) -> Result<Described, Diag> {
    let mut described = Described { material: Material::default(), textures: [const { None }; 5] };
    let material = &mut described.material;
    for entry in entries {
        let (key, node) = (entry.key.as_str(), &entry.node);
        let fraction = || number(node, key, 0.0..=1.0);
        match key {
            "name" => {
                material.name =
                    scalar(node).map_or_else(|| Err(bad(node, key, "a name")), |s| Ok(s.to_owned()))?
            }
            "base_color_factor" => material.base_color_factor = colour(node, key)?,
            "emissive_factor" => {
                let [r, g, b, _] = colour(node, key)?;
                material.emissive_factor = [r, g, b];
            }
            "metallic_factor" => material.metallic_factor = fraction()?,
            "roughness_factor" => material.roughness_factor = fraction()?,
            "normal_scale" => material.normal_scale = number(node, key, f32::MIN..=f32::MAX)?,
            "occlusion_strength" => material.occlusion_strength = fraction()?,
            "alpha_cutoff" => material.alpha_cutoff = number(node, key, 0.0..=f32::MAX)?,
            "alpha_mode" => {
                material.alpha_mode = match scalar(node) {
                    Some("opaque") => AlphaMode::Opaque,
                    Some("mask") => AlphaMode::Mask,
                    Some("blend") => AlphaMode::Blend,
                    _ => return Err(bad(node, key, "`opaque`, `mask`, `blend`")),
                }
            }
            "double_sided" => {
                material.double_sided = match scalar(node) {
                    Some("true") => true,
                    Some("false") => false,
                    _ => return Err(bad(node, key, "`true`, `false`")),
                }
            }
            "textures" => described.textures = textures(node)?,
            slot if is_slot(slot) => {
                let error = unknown(entry, &KEYS);
                return Err(error.hint(format!("'{slot}' is a slot: write it below `textures`")));
            }
            _ => return Err(unknown(entry, &KEYS)),
        }
    }
    Ok(described)
}

fn is_slot(key: &str) -> bool {
    key == ORM.0 || SLOTS.iter().any(|(name, _)| *name == key)
}

fn textures(node: &Node) -> Result<[Option<Reference>; 5], Diag> {
    let mut found = [const { None }; 5];
    for entry in map(node, "textures")? {
        let slot = SLOTS.iter().find(|(name, _)| *name == entry.key);
        let (key, slots) = match slot {
            Some((name, slot)) => (*name, &[*slot][..]),
            None if entry.key == ORM.0 => (ORM.0, &ORM.1[..]),
            None => {
                let known: Vec<&str> = SLOTS.iter().map(|(name, _)| *name).chain([ORM.0]).collect();
                return Err(unknown(entry, &known));
            }
        };
        let reference = reference(&entry.node, key)?;
        for slot in slots {
            if found[*slot as usize].replace(reference.clone()).is_some() {
                let message =
                    "'orm' gives occlusion and metallic_roughness, and one of them is given by itself, too";
                return Err(Diag::new(Code::MatValue, message).at(entry.at).hint("remove one of the keys"));
            }
        }
    }
    Ok(found)
}

fn reference(node: &Node, key: &'static str) -> Result<Reference, Diag> {
    if let Value::Map(_) = &node.value {
        return Ok(Reference::Packed { key, description: Box::new(parse_node(node, false)?) });
    }
    let text = scalar(node).filter(|text| !text.is_empty());
    let text =
        text.ok_or_else(|| bad(node, key, "the path of an image, or a map with `r`, `g`, `b`, `a`"))?;
    Ok(Reference::File { text: text.to_owned(), at: node.at.to_string() })
}

fn map<'n>(node: &'n Node, place: &str) -> Result<&'n [Entry], Diag> {
    match &node.value {
        Value::Map(entries) => Ok(entries),
        Value::Scalar(scalar) if scalar.is_null() => Ok(&[]),
        _ => Err(bad(node, place, "a map of keys and values")),
    }
}

fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar(scalar) if !scalar.is_null() => Some(&scalar.text),
        _ => None,
    }
}

fn number(node: &Node, key: &str, range: std::ops::RangeInclusive<f32>) -> Result<f32, Diag> {
    let value = scalar(node).and_then(|text| text.parse::<f32>().ok());
    value.filter(|v| v.is_finite() && range.contains(v)).ok_or_else(|| {
        let accepts = match (*range.start(), *range.end()) {
            (f32::MIN, _) => "a number".to_owned(),
            (low, f32::MAX) => format!("a number, {low} or more"),
            (low, high) => format!("a number from {low} to {high}"),
        };
        bad(node, key, &accepts)
    })
}

/// Reads a colour: three or four linear numbers, or `"#rrggbb"` or `"#rrggbbaa"` in sRGB with straight alpha.
fn colour(node: &Node, key: &str) -> Result<[f32; 4], Diag> {
    let refuse =
        || bad(node, key, "`[r, g, b]` or `[r, g, b, a]` in linear colour, `\"#rrggbb\"`, `\"#rrggbbaa\"`");
    if let Value::Seq(items) = &node.value {
        let mut colour = [1.0; 4];
        if !(3..=4).contains(&items.len()) {
            return Err(refuse());
        }
        for (channel, item) in colour.iter_mut().zip(items) {
            *channel = number(item, key, 0.0..=f32::MAX)?;
        }
        return Ok(colour);
    }
    let digits = scalar(node).and_then(|text| text.strip_prefix('#')).ok_or_else(refuse)?;
    if !digits.is_ascii() || !matches!(digits.len(), 6 | 8) {
        return Err(refuse());
    }
    let mut colour = [1.0; 4];
    for (index, channel) in colour.iter_mut().enumerate().take(digits.len() / 2) {
        let byte = u8::from_str_radix(&digits[index * 2..index * 2 + 2], 16).map_err(|_| refuse())?;
        let value = f64::from(byte) / 255.0;
        *channel = if index == 3 { value as f32 } else { srgb::to_linear(value) as f32 };
    }
    Ok(colour)
}

fn bad(node: &Node, key: &str, accepts: &str) -> Diag {
    bad_value(Code::MatValue, node, key, accepts)
}

fn unknown(entry: &Entry, known: &[&str]) -> Diag {
    unknown_key(Code::MatKey, entry, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, code: &str, at: &str) -> Diag {
        let error = parse(text.as_bytes()).expect_err(text);
        assert_eq!((error.code.as_str(), error.at.as_deref().unwrap_or_default()), (code, at), "{error}");
        error
    }

    #[test]
    fn reads_one_material_from_the_top_level() {
        let text = "name: Moss\nbase_color_factor: \"#ff8000\"\nroughness_factor: 0.9\nmetallic_factor: 0\n\
                    emissive_factor: [0, 2.5, 0]\nnormal_scale: -1\nocclusion_strength: 0.5\nalpha_mode: mask\n\
                    alpha_cutoff: 0.3\ndouble_sided: true\ntextures:\n  base_color: moss.png\n  normal: /n/moss.n.png\n";
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(found.len(), 1);
        let Material { name, base_color_factor, emissive_factor, .. } = &found[0].material;
        assert_eq!(name, "Moss");
        // 0x80 in sRGB is 0.2158605 linear.
        assert_eq!(base_color_factor[0], 1.0);
        assert!((base_color_factor[1] - 0.215_860_5).abs() < 1e-6);
        assert_eq!(base_color_factor[2..], [0.0, 1.0]);
        assert_eq!(*emissive_factor, [0.0, 2.5, 0.0]);
        let material = &found[0].material;
        assert_eq!((material.roughness_factor, material.metallic_factor), (0.9, 0.0));
        assert_eq!((material.normal_scale, material.occlusion_strength), (-1.0, 0.5));
        assert_eq!(
            (material.alpha_mode, material.alpha_cutoff, material.double_sided),
            (AlphaMode::Mask, 0.3, true)
        );
        let file = |text: &str, at: &str| Some(Reference::File { text: text.into(), at: at.into() });
        let expected = [file("moss.png", "12:15"), None, file("/n/moss.n.png", "13:11"), None, None];
        assert_eq!(found[0].textures, expected);
    }

    #[test]
    fn reads_a_list_of_materials_with_defaults() {
        let found = parse(b"materials:\n- name: a\n- name: b\n  roughness_factor: 0.5\n- {}\n").unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[1].material.roughness_factor, 0.5);
        assert_eq!(found[2].material, Material::default());
    }

    #[test]
    fn reports_errors_with_line_and_column() {
        let hint = refused("roughnes_factor: 1\n", "mat-key", "1:1").hint;
        assert_eq!(hint.as_deref().unwrap(), "did you mean 'roughness_factor'?");
        refused("name: a\nroughness_factor: 2\n", "mat-value", "2:19");
        refused("metallic_factor: high\n", "mat-value", "1:18");
        refused("base_color_factor: [1, 2]\n", "mat-value", "1:20");
        refused("base_color_factor: '#12345'\n", "mat-value", "1:20");
        refused("base_color_factor: '#gg0000'\n", "mat-value", "1:20");
        refused("alpha_mode: solid\n", "mat-value", "1:13");
        refused("textures:\n  albedo: a.png\n", "mat-key", "2:3");
        for slot in ["base_color", "orm"] {
            let hint = refused(&format!("{slot}: a.png\n"), "mat-key", "1:1").hint;
            assert_eq!(hint, Some(format!("'{slot}' is a slot: write it below `textures`")));
        }
        refused("textures:\n  normal: [a]\n", "mat-value", "2:11");
        refused("textures:\n  normal: {r: 2}\n", "channel-value", "2:15");
        refused("textures:\n  normal: {kind: normal, r: a.png}\n", "channel-key", "2:12");
        refused("textures:\n  orm: a.png\n  occlusion: b.png\n", "mat-value", "3:3");
        refused("materials: []\n", "mat-value", "");
        refused("materials: a\n", "mat-value", "1:12");
        refused("materials: [{}]\nname: b\n", "mat-value", "2:1");
        refused("", "mat-value", "");
        refused("a: [\n", "mat-syntax", "2:1");
        assert_eq!(parse(b"name: a\n\xff").unwrap_err().at.as_deref(), Some("2"));
    }
}
