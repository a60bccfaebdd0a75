//! Parsing of the `[material]` table, and of materials given as an image or inline.

use super::super::compression::Compression;
use super::super::toml_document::{Fields, Value};
use super::bitmap::{BitmapSpec, ImageUse, MipLevels};
use super::mesh::MeshSpec;
use super::{NodeId, Planner, Recipe, extension, is_gltf, part};
use kiln_engine::{Code, Diag, RelPath};
use kiln_format::pak::{ALPHA_BLEND, ALPHA_TEST, DOUBLE_SIDED, Half, Kind, PARAM_HEIGHT, PARAM_OCCLUSION};
use kiln_texture::BlockChoice;

/// The source of one channel of the parameter bitmap.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Channel {
    /// The default value: the description does not set the channel.
    Default(u8),
    /// A constant value.
    Value(u8),
    /// An image.
    Image(BitmapSpec),
}

/// The parameter bitmap of a material: metalness, roughness, height or occlusion, transmission.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParamsSpec {
    pub(crate) channels: [Channel; 4],
    pub(crate) levels: MipLevels,
    /// The block format of the images, if one of them has one.
    pub(crate) blocks: Option<BlockChoice>,
}

/// The bitmaps and flags of a material.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MaterialSpec {
    pub(crate) color: NodeId,
    pub(crate) normal: Option<NodeId>,
    pub(crate) emissive: Option<NodeId>,
    pub(crate) params: Option<NodeId>,
    pub(crate) params_used: u8,
    pub(crate) flags: u8,
    pub(crate) emissive_strength: Half,
    pub(crate) alpha_cutoff: f32,
}

impl MaterialSpec {
    /// Returns a material with a base color only.
    fn plain(color: NodeId) -> MaterialSpec {
        MaterialSpec {
            color,
            normal: None,
            emissive: None,
            params: None,
            params_used: 0,
            flags: 0,
            emissive_strength: Half::ONE,
            alpha_cutoff: 0.5,
        }
    }
}

/// The base color of a material without `color`: a brown that is easy to recognize as a default.
const DEFAULT_COLOR: [u8; 4] = [0x8c, 0x57, 0x38, 0xff];

impl Planner<'_, '_> {
    pub(super) fn material(
        &mut self,
        path: &RelPath,
        fields: Fields<'_>,
        compression: Compression,
    ) -> Result<NodeId, Diag> {
        let color = match fields.get("color") {
            None => self.solid(path, DEFAULT_COLOR),
            Some(value) => match solid_color(&value, true)? {
                Some(color) => self.solid(&part(path, "color"), color),
                None => {
                    let spec = self.image(path, &value, ImageUse::Color)?;
                    self.bitmap_node(&part(path, "color"), spec, compression)
                }
            },
        };
        let normal = match fields.get("normal") {
            None => None,
            Some(value) => {
                let spec = self.image(path, &value, ImageUse::Normal)?;
                Some(self.bitmap_node(&part(path, "normal"), spec, compression))
            }
        };
        let emissive = match fields.get("emissive") {
            None => None,
            Some(value) => Some(match solid_color(&value, false)? {
                Some(color) => self.solid(&part(path, "emissive"), color),
                None => {
                    let spec = self.image(path, &value, ImageUse::Emissive)?;
                    self.bitmap_node(&part(path, "emissive"), spec, compression)
                }
            }),
        };
        let (height, displacement) = (fields.get("height"), fields.get("displacement"));
        if let (Some(_), Some(value)) = (&height, &displacement) {
            return Err(value
                .error(Code::PakValue, "height and displacement set the same parameter")
                .hint("remove one of them"));
        }
        let (height, occlusion) = (height.or(displacement), fields.get("occlusion"));
        if let (Some(_), Some(value)) = (&height, &occlusion) {
            return Err(value
                .error(Code::PakValue, "height and occlusion use the same channel of the parameters")
                .hint("remove one of them"));
        }
        let is_occluded = occlusion.is_some();
        let channels = [
            self.channel(path, fields.get("metal"), 0)?,
            self.channel(path, fields.get("rough"), 255)?,
            self.channel(path, height.or(occlusion), 0)?,
            self.channel(path, fields.get("transmission"), 0)?,
        ];
        check_one_compression(&fields, &channels)?;
        let double_sided = fields.flag("double-sided", false)?;
        let alpha_test = fields.flag("alpha-test", false)?;
        let alpha_blend = fields.flag("alpha-blend", false)?;
        let alpha_cutoff = fields.read("alpha-cutoff", |value| value.unit())?.unwrap_or(0.5);
        let emissive_strength = fields.read("emissive-strength", |value| {
            let strength = value.float()?;
            match (1.0..=65504.0).contains(&strength) {
                true => Ok(Half::at_least(strength)),
                false => Err(value.expected("a number from 1 to 65504")),
            }
        })?;
        fields.finish();
        let mut params_used = channels
            .iter()
            .enumerate()
            .filter(|(_, channel)| !matches!(channel, Channel::Default(_)))
            .fold(0, |bits, (n, _)| bits | 1 << n);
        if is_occluded {
            params_used = params_used & !PARAM_HEIGHT | PARAM_OCCLUSION;
        }
        let params = (params_used != 0).then(|| self.params(path, channels, compression));
        let flags = if double_sided { DOUBLE_SIDED } else { 0 }
            | if alpha_test { ALPHA_TEST } else { 0 }
            | if alpha_blend { ALPHA_BLEND } else { 0 };
        let emissive_strength = emissive_strength.unwrap_or(Half::ONE);
        Ok(self.material_node(
            path,
            MaterialSpec {
                color,
                normal,
                emissive,
                params,
                params_used,
                flags,
                emissive_strength,
                alpha_cutoff,
            },
        ))
    }

    /// Returns the material of a description without fields.
    pub(super) fn default_material(&mut self, path: &RelPath) -> NodeId {
        let color = self.solid(path, DEFAULT_COLOR);
        self.material_node(path, MaterialSpec::plain(color))
    }

    pub(super) fn material_node(&mut self, path: &RelPath, spec: MaterialSpec) -> NodeId {
        let lines = format!("{spec:?}\n");
        self.node(path, Kind::Material, Recipe::Material(spec), Compression::default(), &lines)
    }

    pub(super) fn solid(&mut self, path: &RelPath, color: [u8; 4]) -> NodeId {
        self.node(
            path,
            Kind::Bitmap,
            Recipe::Solid(color),
            Compression::default(),
            &format!("solid={color:?}\n"),
        )
    }

    pub(super) fn params(
        &mut self,
        path: &RelPath,
        channels: [Channel; 4],
        compression: Compression,
    ) -> NodeId {
        let count = |levels: MipLevels| match levels {
            MipLevels::Full => u32::MAX,
            MipLevels::Count(n) => n,
        };
        let levels = images(&channels).map(|spec| spec.levels).max_by_key(|levels| count(*levels));
        let levels = levels.unwrap_or(MipLevels::Count(1));
        let compressed = images(&channels).find(|spec| spec.blocks.is_some());
        let blocks = compressed.and_then(|spec| spec.blocks);
        let is_supercompressed = compressed.is_some_and(BitmapSpec::is_supercompressed);
        let compression = if is_supercompressed { Compression::default() } else { compression };
        let lines: String = channels
            .iter()
            .map(|channel| match channel {
                Channel::Default(value) | Channel::Value(value) => format!("{value}\n"),
                Channel::Image(spec) => spec.lines(),
            })
            .collect();
        let compressed_as = blocks.map_or_else(String::new, |choice| format!("blocks={}\n", choice.name()));
        let lines = format!("params\nlevels={levels:?}\n{compressed_as}{lines}");
        let spec = ParamsSpec { channels, levels, blocks };
        self.node(&part(path, "params"), Kind::Bitmap, Recipe::Params(spec.into()), compression, &lines)
    }

    /// Reads a channel of the parameters: a number, `#v` or `#vv`, or an image.
    fn channel(&mut self, path: &RelPath, value: Option<Value<'_>>, default: u8) -> Result<Channel, Diag> {
        let Some(value) = value else { return Ok(Channel::Default(default)) };
        if value.float64().is_some() {
            return Ok(Channel::Value(byte(value.unit()?)));
        }
        if let Some(digits) = hex(&value)? {
            return match *digits.as_slice() {
                [v] => Ok(Channel::Value(v * 17)),
                [a, b] => Ok(Channel::Value(a * 16 + b)),
                _ => Err(value.expected("one or two hexadecimal digits after #")),
            };
        }
        self.image(path, &value, ImageUse::Value).map(Channel::Image)
    }

    /// Reads one or more materials: a description, an image for the base color, a material of a glTF file
    /// (`model.glb#Gold`), all materials of one (`model.glb`), or an inline table.
    ///
    /// `mesh` is the mesh that the materials are for: all materials of its file are those of its slots.
    pub(super) fn materials(
        &mut self,
        path: &RelPath,
        value: &Value<'_>,
        mesh: Option<&MeshSpec>,
        compression: Compression,
    ) -> Result<Vec<NodeId>, Diag> {
        let name = part(path, value.name());
        if value.is_table() {
            return Ok(vec![self.material(&name, value.fields()?, compression)?]);
        }
        let reference = self.reference(value)?;
        match extension(&reference.path).as_str() {
            "toml" => Ok(vec![self.asset(value, Kind::Material, compression)?]),
            _ if is_gltf(reference.path.as_str()) => {
                self.gltf_materials(value, &reference, mesh, compression)
            }
            _ => {
                let spec = BitmapSpec::plain(reference, ImageUse::Color);
                let color = self.bitmap_node(&part(&name, "color"), spec, compression);
                Ok(vec![self.material_node(&name, MaterialSpec::plain(color))])
            }
        }
    }
}

/// Returns the images among the channels of the parameters.
fn images(channels: &[Channel; 4]) -> impl Iterator<Item = &BitmapSpec> {
    channels.iter().filter_map(|channel| match channel {
        Channel::Image(spec) => Some(spec),
        _ => None,
    })
}

/// Rejects images of the parameters with different block formats: the parameters are one bitmap.
fn check_one_compression(fields: &Fields<'_>, channels: &[Channel; 4]) -> Result<(), Diag> {
    let mut compressions = images(channels).filter_map(|spec| spec.blocks);
    let Some(first) = compressions.next() else { return Ok(()) };
    let Some(other) = compressions.find(|other| *other != first) else { return Ok(()) };
    let message = format!(
        "the parameters are one bitmap, and its images have the compressions {:?} and {:?}",
        first.name(),
        other.name()
    );
    Err(fields.error(Code::PakValue, message).hint("give them the same compression"))
}

/// Quantizes a number from 0 to 1 to 8 bits.
pub(super) fn byte(value: f32) -> u8 {
    (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8
}

/// Returns the digits after a `#`; `None` if the value is not such a string.
fn hex(value: &Value<'_>) -> Result<Option<Vec<u8>>, Diag> {
    let Some(digits) = value.raw().as_str().and_then(|text| text.strip_prefix('#')) else { return Ok(None) };
    let digits: Option<Vec<u8>> = digits.chars().map(|c| c.to_digit(16).map(|d| d as u8)).collect();
    digits.map(Some).ok_or_else(|| value.expected("hexadecimal digits after #"))
}

/// Reads a color as hexadecimal digits or as numbers; `None` if the value is an image.
fn solid_color(value: &Value<'_>, alpha: bool) -> Result<Option<[u8; 4]>, Diag> {
    if value.raw().as_array().is_some() {
        let numbers = value.list()?.iter().map(Value::unit).collect::<Result<Vec<_>, _>>()?;
        return match *numbers.as_slice() {
            [r, g, b] => Ok(Some([byte(r), byte(g), byte(b), 255])),
            [r, g, b, a] if alpha => Ok(Some([r, g, b, a].map(byte))),
            _ => Err(value.expected(if alpha {
                "an array of 3 or 4 numbers"
            } else {
                "an array of 3 numbers"
            })),
        };
    }
    let Some(digits) = hex(value)? else { return Ok(None) };
    let pair = |n: usize| digits[2 * n] * 16 + digits[2 * n + 1];
    match digits.len() {
        3 => Ok(Some([digits[0] * 17, digits[1] * 17, digits[2] * 17, 255])),
        4 if alpha => Ok(Some([digits[0] * 17, digits[1] * 17, digits[2] * 17, digits[3] * 17])),
        6 => Ok(Some([pair(0), pair(1), pair(2), 255])),
        8 if alpha => Ok(Some([pair(0), pair(1), pair(2), pair(3)])),
        _ if alpha => Err(value.expected("a color as #rgb, #rgba, #rrggbb or #rrggbbaa")),
        _ => Err(value.expected("a color as #rgb or #rrggbb")),
    }
}
