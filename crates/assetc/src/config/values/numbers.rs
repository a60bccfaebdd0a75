//! Settings that are numbers, each within its bounds.

use super::{Value, number, whole};
use crate::config::yaml::Scalar;
use kiln_texture::Mips;

/// No image needs more mip levels: the full chain of the largest 32-bit size.
const MAX_LEVELS: u32 = 32;

/// `true` is the full chain, `false` the base level alone.
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
}

/// A length of an image in texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pixels(u32);

impl Pixels {
    const MAX: u32 = 65_536;

    /// From 1 to 65536.
    pub fn new(pixels: u32) -> Option<Pixels> {
        (1..=Pixels::MAX).contains(&pixels).then_some(Pixels(pixels))
    }

    /// The number, at least 1.
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
        format!("pixels from 1 to {}", Pixels::MAX)
    }
}

/// The weight of size against error in rate-distortion optimisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lambda(f32);

impl Lambda {
    /// Only error counts: the optimisation is off.
    pub const OFF: Lambda = Lambda(0.0);

    /// Any finite number that is not negative.
    pub fn new(lambda: f32) -> Option<Lambda> {
        // Minus zero becomes zero, so that they share one text.
        (lambda.is_finite() && lambda >= 0.0).then_some(Lambda(lambda + 0.0))
    }

    /// The number: finite, 0 or more.
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
}

/// The alpha at which a cut-out material keeps a texel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutOff(f32);

impl CutOff {
    /// From 0 to 1.
    pub fn new(alpha: f32) -> Option<CutOff> {
        (0.0..=1.0).contains(&alpha).then_some(CutOff(alpha + 0.0))
    }

    /// The number, from 0 to 1.
    pub fn get(self) -> f32 {
        self.0
    }
}

impl Value for CutOff {
    fn read(scalar: &Scalar) -> Option<CutOff> {
        number(scalar).and_then(CutOff::new)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "a cut-off from 0 to 1".into()
    }
}

/// How many levels of detail a mesh has beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lods(u32);

impl Lods {
    const MAX: u32 = 8;

    /// From 0 to 8.
    pub const fn new(count: u32) -> Option<Lods> {
        if count <= Lods::MAX { Some(Lods(count)) } else { None }
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

/// One at about half of the triangles, one at about a quarter.
impl Default for Lods {
    fn default() -> Lods {
        Lods(2)
    }
}

impl Value for Lods {
    fn read(scalar: &Scalar) -> Option<Lods> {
        match bool::read(scalar) {
            Some(false) => Some(Lods(0)),
            _ => whole(scalar).and_then(Lods::new),
        }
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        format!("`false`, a count from 0 to {}", Lods::MAX)
    }
}

/// The number of one of several things, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index(u32);

impl Index {
    /// The number.
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
        "a number from 0".into()
    }
}

/// An error, as part of the size of a thing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share(f32);

impl Share {
    /// Above 0, up to 1.
    pub fn new(share: f32) -> Option<Share> {
        (share > 0.0 && share <= 1.0).then_some(Share(share))
    }

    /// The number.
    pub fn get(self) -> f32 {
        self.0
    }
}

/// A twentieth.
impl Default for Share {
    fn default() -> Share {
        Share(0.05)
    }
}

impl Value for Share {
    fn read(scalar: &Scalar) -> Option<Share> {
        number(scalar).and_then(Share::new)
    }

    fn show(&self) -> String {
        self.0.to_string()
    }

    fn accepts() -> String {
        "a number above 0, up to 1".into()
    }
}

/// A whole number from `LOW` to `HIGH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounded<const LOW: u32, const HIGH: u32>(u32);

impl<const LOW: u32, const HIGH: u32> Bounded<LOW, HIGH> {
    /// The number, or the bound that is nearest to it.
    pub const fn new(number: u32) -> Self {
        Bounded(if number < LOW {
            LOW
        } else if number > HIGH {
            HIGH
        } else {
            number
        })
    }

    /// The number.
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
}
