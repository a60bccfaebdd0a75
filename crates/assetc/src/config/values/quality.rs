//! `texture.quality`: an effort, or a target that selects effort and RDO lambda.

use super::{Quality, Value, any_of};
use crate::config::yaml::Scalar;
use kiln_engine::Json;
use kiln_texture::Goal;

/// The effort of the block encoder, or the quality to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum QualitySetting {
    /// A fixed effort.
    Effort(Quality),
    /// The quality that every texture has to reach.
    Target(Goal),
}

/// The largest values of the targets, in decibels and in degrees.
const MAX_PSNR: f32 = 100.0;
const MAX_ANGLE: f32 = 90.0;

impl QualitySetting {
    /// Returns the effort; that of a target is chosen for each texture, starting from the default.
    pub fn effort(self) -> Quality {
        match self {
            QualitySetting::Effort(quality) => quality,
            QualitySetting::Target(_) => Quality::Default,
        }
    }

    /// Returns the target, if there is one.
    pub fn goal(self) -> Option<Goal> {
        match self {
            QualitySetting::Effort(_) => None,
            QualitySetting::Target(goal) => Some(goal),
        }
    }
}

/// The smallest scale of a texture with a quality target: one over a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinScale {
    halvings: u32,
}

impl MinScale {
    const MAX_HALVINGS: u32 = 4;

    /// The resolution of the source.
    pub const FULL: MinScale = MinScale { halvings: 0 };

    /// Returns the number of times that the resolution may be halved.
    pub fn halvings(self) -> u32 {
        self.halvings
    }

    fn all() -> impl Iterator<Item = MinScale> {
        (0..=MinScale::MAX_HALVINGS).map(|halvings| MinScale { halvings })
    }

    fn number(self) -> f64 {
        1.0 / f64::from(1u32 << self.halvings)
    }
}

impl Value for MinScale {
    fn read(scalar: &Scalar) -> Option<MinScale> {
        let number: f64 = scalar.text.parse().ok()?;
        MinScale::all().find(|scale| scale.number() == number)
    }

    fn show(&self) -> String {
        self.number().to_string()
    }

    fn accepts() -> String {
        MinScale::all().map(|scale| format!("`{}`", scale.number())).collect::<Vec<_>>().join(", ")
    }

    fn schema() -> Json {
        Json::object([("enum", Json::list(MinScale::all().map(|scale| Json::Float(scale.number()))))])
    }
}

impl Value for QualitySetting {
    // `{psnr: 42}` becomes `psnr=42`.
    const TAKES_LISTS: bool = true;

    fn read(scalar: &Scalar) -> Option<QualitySetting> {
        let Some((name, value)) = scalar.text.split_once('=') else {
            return Quality::read(scalar).map(QualitySetting::Effort);
        };
        let value: f32 = value.parse().ok()?;
        let inside = |most: f32| value > 0.0 && value <= most;
        let goal = match name {
            "psnr" if inside(MAX_PSNR) => Goal::Psnr(value),
            "angle" if inside(MAX_ANGLE) => Goal::Angle(value),
            _ => return None,
        };
        Some(QualitySetting::Target(goal))
    }

    fn show(&self) -> String {
        match self {
            QualitySetting::Effort(quality) => quality.show(),
            QualitySetting::Target(Goal::Psnr(value)) => format!("psnr={value}"),
            QualitySetting::Target(Goal::Angle(value)) => format!("angle={value}"),
        }
    }

    fn accepts() -> String {
        format!("{}, `{{psnr: DECIBELS}}`, `{{angle: DEGREES}}`", Quality::accepts())
    }

    fn schema() -> Json {
        let target = |name: &str, most: f32| {
            let value = Json::object([
                ("type", "number".into()),
                ("exclusiveMinimum", 0_u64.into()),
                ("maximum", (most as u64).into()),
            ]);
            Json::object([
                ("type", "object".into()),
                ("properties", Json::Object([(name.to_owned(), value)].into_iter().collect())),
                ("required", Json::list([Json::from(name)])),
                ("additionalProperties", false.into()),
            ])
        };
        let text = Json::object([
            ("type", "string".into()),
            ("pattern", "^(psnr|angle)=[0-9]+([.][0-9]+)?$".into()),
        ]);
        any_of([Quality::schema(), text, target("psnr", MAX_PSNR), target("angle", MAX_ANGLE)])
    }
}
