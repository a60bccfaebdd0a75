//! The class of a benchmark image, and the half of the corpus that its file is in.

/// The use of a texture. Figures are given by class: a mean over classes describes no texture at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    Photograph,
    BaseColour,
    Normal,
    PackedOrm,
    SingleChannel,
    Alpha,
    Interface,
}

impl Class {
    pub const ALL: [Self; 7] = [
        Self::Photograph,
        Self::BaseColour,
        Self::Normal,
        Self::PackedOrm,
        Self::SingleChannel,
        Self::Alpha,
        Self::Interface,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Photograph => "photograph",
            Self::BaseColour => "base colour",
            Self::Normal => "normal",
            Self::PackedOrm => "packed ORM",
            Self::SingleChannel => "single-channel",
            Self::Alpha => "alpha",
            Self::Interface => "UI and text",
        }
    }

    /// Classifies an image by the folder and the name of its file, and by its texels where these decide.
    pub fn of(folder: &str, name: &str, rgba: &[u8]) -> Self {
        let name = name.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
        if folder == "images" {
            return Self::Photograph;
        }
        // NormalTangentTest and its mirrored form have an ORM map, a normal map and a base colour.
        if has(&["normaltangent"]) {
            return match name.split('#').nth(1) {
                Some("0") => Self::PackedOrm,
                Some("1") => Self::Normal,
                _ => Self::BaseColour,
            };
        }
        let grey = rgba.chunks_exact(4).all(|t| t[0] == t[1] && t[1] == t[2]);
        if rgba.chunks_exact(4).any(|t| t[3] != 255) {
            Self::Alpha
        } else if has(&["normal"]) {
            Self::Normal
        } else if has(&["roughness", "metallic"]) {
            Self::PackedOrm
        } else if grey || has(&["occlusion"]) {
            Self::SingleChannel
        } else if has(&["test", "uv", "correct", "error", "notsupported", "arrow"]) && !has(&["morph"]) {
            // Labels, arrows and charts of the test models.
            Self::Interface
        } else {
            Self::BaseColour
        }
    }
}

/// Settings are chosen on one half of the files, and figures are published for the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    Tuning,
    Reported,
}

impl Half {
    /// Returns the half of a file: one bit of a hash of its name. Whatever is made of the file is in the same half.
    pub fn of(file: &str) -> Self {
        if fnv(file.as_bytes()) >> 30 & 1 == 0 { Self::Tuning } else { Self::Reported }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Tuning => "tuning",
            Self::Reported => "reported",
        }
    }
}

/// FNV-1a, 64 bits.
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}
