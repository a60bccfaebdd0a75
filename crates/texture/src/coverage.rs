//! Keeping cut-outs solid: the share of texels that pass the alpha test stays that of the source at every
//! level.
//!
//! Averaging pulls alpha towards the middle, so that leaves and wires thin out with distance. Each level's
//! alpha is multiplied by the one factor that lets the right number of texels through; it is found exactly,
//! by selection, not by searching for it.

use kiln_ir::{Image, Texels};

use crate::texel::{Sample, Texel};

/// The smallest byte that passes a test against `cutoff`.
fn passing_byte(cutoff: f32) -> u8 {
    (0..=u8::MAX).find(|byte| byte.unorm() >= cutoff).unwrap_or(u8::MAX)
}

/// The share of an image's texels that pass the test.
pub(crate) fn of_image(image: &Image, cutoff: f32) -> f64 {
    fn share<S: Sample>(values: &[S], pass: u8) -> f64 {
        let texels = values.as_chunks().0;
        texels.iter().filter(|&&[_, _, _, a]| a.byte() >= pass).count() as f64 / texels.len() as f64
    }
    let pass = passing_byte(cutoff);
    match image.texels() {
        Texels::Rgba8(v) => share(v, pass),
        Texels::Rgba16(v) => share(v, pass),
    }
}

/// The factor for alpha after which a share of `wanted` of the (translucent) texels passes, or as near to it
/// as equal alphas allow. One where nothing needs to change.
pub(crate) fn scale(texels: &[Texel], cutoff: f32, wanted: f64) -> f32 {
    let pass = passing_byte(cutoff);
    // A byte is `pass` or more when its alpha is this or more before rounding.
    let bound = (f32::from(pass) - 0.5) / 255.0;
    let wanted = (wanted * texels.len() as f64).round() as usize;
    let passing = |level: f32| texels.iter().filter(|t| t[3] >= level).count();
    if pass == 0 || passing(bound) == wanted {
        return 1.0;
    }
    let mut alphas: Vec<f32> = texels.iter().map(|t| t[3]).filter(|a| *a > LEAST).collect();
    if alphas.is_empty() {
        return 1.0;
    }
    let last = wanted.clamp(1, alphas.len()) - 1;
    let pivot = *alphas.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1;
    // Alphas that equal the pivot pass or fail together: take the nearer side. The cut lies just
    // beside the pivot, no farther than midway to the next alpha.
    let above = alphas.iter().filter(|a| **a > pivot).count();
    let with_pivot = alphas.iter().filter(|a| **a >= pivot).count();
    let cut = if above.abs_diff(wanted) < with_pivot.abs_diff(wanted) {
        let least = alphas.iter().copied().filter(|a| *a > pivot).fold(f32::INFINITY, f32::min);
        pivot + (least.min(pivot * 1.002) - pivot) / 2.0
    } else {
        let greatest = alphas.iter().copied().filter(|a| *a < pivot).fold(0.0, f32::max);
        pivot - (pivot - greatest.max(pivot * 0.998)) / 2.0
    };
    bound / cut
}

/// Alphas up to this are nothing: no factor makes them visible.
const LEAST: f32 = 0.5 / 255.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texel::Meaning;

    fn passing_after(alphas: &[f32], cutoff: f32, wanted: f64) -> usize {
        let texels: Vec<Texel> = alphas.iter().map(|a| [0.0, 0.0, 0.0, *a]).collect();
        let mut bytes = vec![0; texels.len() * 4];
        Meaning::Translucent.encode(&texels, scale(&texels, cutoff, wanted), &mut bytes);
        bytes.chunks_exact(4).filter(|t| f32::from(t[3]) / 255.0 >= cutoff).count()
    }

    #[test]
    fn the_share_is_met_exactly_when_alphas_differ() {
        let alphas: Vec<f32> = (0..1000).map(|i| 0.01 + i as f32 * 0.0004).collect();
        for cutoff in [0.1, 0.3333, 0.5, 0.75, 1.0] {
            for wanted in [0.0, 0.001, 0.25, 0.5, 0.9, 1.0] {
                assert_eq!(
                    passing_after(&alphas, cutoff, wanted),
                    (wanted * 1000.0).round() as usize,
                    "{cutoff} {wanted}"
                );
            }
        }
    }

    #[test]
    fn equal_alphas_go_to_the_nearer_side() {
        let alphas = [0.9, 0.4, 0.4, 0.4, 0.4, 0.1];
        assert_eq!(passing_after(&alphas, 0.5, 2.0 / 6.0), 1);
        assert_eq!(passing_after(&alphas, 0.5, 4.0 / 6.0), 5);
    }

    #[test]
    fn nothing_and_everything_are_left_alone() {
        assert_eq!(scale(&[[0.0, 0.0, 0.0, 1e-9]; 4], 0.5, 1.0), 1.0);
        assert_eq!(scale(&[[0.0, 0.0, 0.0, 1.0]; 4], 0.5, 1.0), 1.0);
        assert_eq!(scale(&[[0.0, 0.0, 0.0, 0.3]; 4], 0.0, 1.0), 1.0);
    }

    #[test]
    fn an_image_is_measured_as_it_will_be_tested() {
        let image =
            Image::new(2, 2, Texels::Rgba8(vec![0, 0, 0, 128, 0, 0, 0, 127, 0, 0, 0, 255, 0, 0, 0, 0]));
        assert_eq!(of_image(&image.unwrap(), 0.5), 0.5);
        let deep = Image::new(1, 2, Texels::Rgba16(vec![0, 0, 0, 65535, 0, 0, 0, 100]));
        assert_eq!(of_image(&deep.unwrap(), 0.5), 0.5);
    }
}
