//! Numeric settings, each with its range.

use super::{Value, any_of, constant, integers, number, whole};
use crate::config::yaml::Scalar;
use kiln_engine::Json;
use kiln_engine::store::settings::parse_size;
use kiln_texture::Mips;

/// The largest number of mip levels: the full chain of the largest 32-bit size.
const MAX_LEVELS: u32 = 32;

/// `true` selects the full chain, `false` the base level alone.
impl Value for Mips {
    fn read(scalar: &Scalar) -> Option<Mips> {
        match bool::read(scalar) {
            Some(true) => Some(Mips::Full),
            Some(false) => Some(Mips::Count(1)),
            None => whole(scalar).filter(|n| (1..=MAX_LEVELS).contains(n)).map(Mips::Count),
        }
    }

    fn show(&self) -> String {
        match self {
            Mips::Full => true.show(),
            Mips::None | Mips::Count(1) => false.show(),
            Mips::Count(count) => count.to_string(),
        }
    }

    fn accepts() -> String {
        format!("`true`, `false`, a count from 1 to {}", MAX_LEVELS)
    }

    fn schema() -> Json {
        any_of([bool::schema(), integers(1, MAX_LEVELS)])
    }
}

/// A width or height in texels, from 1 to 65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels(u32);

impl Pixels {
    const MAX: u32 = 65_536;

    /// Checks the range from 1 to 65536.
    pub fn new(pixels: u32) -> Option<Pixels> {
        (1..=Pixels::MAX).contains(&pixels).then_some(Pixels(pixels))
    }

    /// Returns the number, at least 1.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Value for Pixels {
    fn read(scalar: &Scalar) -> Option<Pixels> {
        whole(scalar).and_then(Pixels::new)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        format!("a number of pixels from 1 to {}", Pixels::MAX)
    }

    fn schema() -> Json {
        integers(1, Pixels::MAX)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(u64);

impl ByteSize {
    /// Returns the number of bytes.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl Value for ByteSize {
    fn read(scalar: &Scalar) -> Option<ByteSize> {
        parse_size(&scalar.text).filter(|bytes| *bytes > 0).map(ByteSize)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "a size such as `20 MB`".into()
    }

    fn schema() -> Json {
        let text = Json::object([("type", "string".into()), ("pattern", "^[0-9]".into())]);
        any_of([Json::object([("type", "integer".into()), ("minimum", 1_u64.into())]), text])
    }
}

/// The lambda of rate-distortion optimisation (RDO): the weight of compressed size against error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lambda(f32);

impl Lambda {
    /// No rate-distortion optimisation: only the error counts.
    pub const OFF: Lambda = Lambda(0.0);

    /// Checks that the number is finite and not negative.
    pub fn new(lambda: f32) -> Option<Lambda> {
        // Negative zero becomes zero, so that both have the same canonical text.
        (lambda.is_finite() && lambda >= 0.0).then_some(Lambda(lambda + 0.0))
    }

    /// Returns the number: finite, 0 or more.
    pub fn get(self) -> f32 {
        self.0
    }
}

impl Value for Lambda {
    fn read(scalar: &Scalar) -> Option<Lambda> {
        number(scalar).and_then(Lambda::new)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "a number, 0 or more".into()
    }

    fn schema() -> Json {
        Json::object([("type", "number".into()), ("minimum", 0_u64.into())])
    }
}

/// The alpha cutoff of a cutout material, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AlphaCutoff(f32);

impl AlphaCutoff {
    /// Checks the range from 0 to 1.
    pub fn new(alpha: f32) -> Option<AlphaCutoff> {
        (0.0..=1.0).contains(&alpha).then_some(AlphaCutoff(alpha + 0.0))
    }

    /// Returns the cutoff, from 0 to 1.
    pub fn get(self) -> f32 {
        self.0
    }
}

impl Value for AlphaCutoff {
    fn read(scalar: &Scalar) -> Option<AlphaCutoff> {
        number(scalar).and_then(AlphaCutoff::new)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "an alpha cutoff from 0 to 1".into()
    }

    fn schema() -> Json {
        Json::object([("type", "number".into()), ("minimum", 0_u64.into()), ("maximum", 1_u64.into())])
    }
}

/// The number of LODs of a mesh, without the mesh itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LodCount(u32);

impl LodCount {
    const MAX: u32 = 8;

    /// No LODs.
    pub(crate) const NONE: LodCount = LodCount(0);

    /// Checks the range from 0 to 8.
    pub const fn new(count: u32) -> Option<LodCount> {
        if count <= LodCount::MAX { Some(LodCount(count)) } else { None }
    }

    /// Returns the number of LODs.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// Two LODs, with about a half and a quarter of the triangles.
impl Default for LodCount {
    fn default() -> LodCount {
        LodCount(2)
    }
}

impl Value for LodCount {
    fn read(scalar: &Scalar) -> Option<LodCount> {
        match bool::read(scalar) {
            Some(false) => Some(LodCount(0)),
            _ => whole(scalar).and_then(LodCount::new),
        }
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        format!("`false`, a count from 0 to {}", LodCount::MAX)
    }

    fn schema() -> Json {
        any_of([constant(false), integers(0, LodCount::MAX)])
    }
}

/// An index, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u32);

impl Index {
    /// Returns the index as a number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl Value for Index {
    fn read(scalar: &Scalar) -> Option<Index> {
        whole(scalar).map(Index)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "an index from 0".into()
    }

    fn schema() -> Json {
        Json::object([("type", "integer".into()), ("minimum", 0_u64.into())])
    }
}

/// A relative error, above 0 and up to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RelativeError(f32);

impl RelativeError {
    /// Checks that the number is above 0 and at most 1.
    pub fn new(share: f32) -> Option<RelativeError> {
        (share > 0.0 && share <= 1.0).then_some(RelativeError(share))
    }

    /// Returns the relative error.
    pub fn get(self) -> f32 {
        self.0
    }
}

/// A relative error of 5 %.
impl Default for RelativeError {
    fn default() -> RelativeError {
        RelativeError(0.05)
    }
}

impl Value for RelativeError {
    fn read(scalar: &Scalar) -> Option<RelativeError> {
        number(scalar).and_then(RelativeError::new)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "a number above 0, up to 1".into()
    }

    fn schema() -> Json {
        Json::object([
            ("type", "number".into()),
            ("exclusiveMinimum", 0_u64.into()),
            ("maximum", 1_u64.into()),
        ])
    }
}

/// An integer from `LOW` to `HIGH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<const LOW: u32, const HIGH: u32>(u32);

impl<const LOW: u32, const HIGH: u32> Bounded<LOW, HIGH> {
    /// Clamps a number to the range.
    pub const fn new(number: u32) -> Self {
        Bounded(if number < LOW {
            LOW
        } else if number > HIGH {
            HIGH
        } else {
            number
        })
    }

    /// Returns the number, from `LOW` to `HIGH`.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<const LOW: u32, const HIGH: u32> Value for Bounded<LOW, HIGH> {
    fn read(scalar: &Scalar) -> Option<Self> {
        whole(scalar).filter(|number| (LOW..=HIGH).contains(number)).map(Bounded)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        format!("a number from {LOW} to {HIGH}")
    }

    fn schema() -> Json {
        integers(LOW, HIGH)
    }
}
