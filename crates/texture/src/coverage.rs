//! Alpha coverage: keeps the share of texels that pass the alpha test constant over the mip chain.
//!
//! Averaging pulls alpha towards the middle, so that leaves and wires of alpha-tested materials thin out with
//! distance. The alpha of each mip level is multiplied by the one factor that lets the right number of texels
//! pass. The factor is found exactly, by selection, not by an iterative search.

use kiln_ir::{Image, Texels};

use crate::filter_mode::{Sample, Texel};

/// Returns the smallest byte that passes an alpha test against `cutoff`.
fn passing_byte(cutoff: f32) -> u8 {
    (0..=u8::MAX).find(|byte| byte.unorm() >= cutoff).unwrap_or(u8::MAX)
}

/// Returns the alpha coverage of an image.
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

/// Returns the factor for alpha after which a share of `wanted` of the (translucent) texels passes, or the
/// nearest share that equal alphas allow. Returns 1 if no scaling is needed.
pub(crate) fn scale(texels: &[Texel], cutoff: f32, wanted: f64) -> f32 {
    let pass = passing_byte(cutoff);
    // A byte is at least `pass` when its alpha is at least this bound before rounding.
    let bound = (f32::from(pass) - 0.5) / 255.0;
    let wanted = (wanted * texels.len() as f64).round() as usize;
    let passing = |level: f32| texels.iter().filter(|t| t[3] >= level).count();
    if pass == 0 || passing(bound) == wanted {
        return 1.0;
    }
    let mut alphas: Vec<f32> = texels.iter().map(|t| t[3]).filter(|a| *a > MIN_ALPHA).collect();
    if alphas.is_empty() {
        return 1.0;
    }
    let last = wanted.clamp(1, alphas.len()) - 1;
    let pivot = *alphas.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1;
    // Alphas that equal the pivot pass or fail together: take the nearer side. The threshold is next to the
    // pivot, at most midway to the next alpha.
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

/// Alphas up to this value round to zero: no factor makes them visible.
const MIN_ALPHA: f32 = 0.5 / 255.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter_mode::FilterMode;

    fn passing_after(alphas: &[f32], cutoff: f32, wanted: f64) -> usize {
        let texels: Vec<Texel> = alphas.iter().map(|a| [0.0, 0.0, 0.0, *a]).collect();
        let mut bytes = vec![0; texels.len() * 4];
        FilterMode::Translucent.encode(&texels, scale(&texels, cutoff, wanted), &mut bytes);
        bytes.chunks_exact(4).filter(|t| f32::from(t[3]) / 255.0 >= cutoff).count()
    }

    #[test]
    fn coverage_is_exact_for_distinct_alphas() {
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
    fn equal_alphas_round_to_the_nearer_coverage() {
        let alphas = [0.9, 0.4, 0.4, 0.4, 0.4, 0.1];
        assert_eq!(passing_after(&alphas, 0.5, 2.0 / 6.0), 1);
        assert_eq!(passing_after(&alphas, 0.5, 4.0 / 6.0), 5);
    }

    #[test]
    fn scale_is_one_for_full_or_empty_coverage() {
        assert_eq!(scale(&[[0.0, 0.0, 0.0, 1e-9]; 4], 0.5, 1.0), 1.0);
        assert_eq!(scale(&[[0.0, 0.0, 0.0, 1.0]; 4], 0.5, 1.0), 1.0);
        assert_eq!(scale(&[[0.0, 0.0, 0.0, 0.3]; 4], 0.0, 1.0), 1.0);
    }

    #[test]
    fn image_coverage_uses_the_rounded_alpha() {
        let image =
            Image::new(2, 2, Texels::Rgba8(vec![0, 0, 0, 128, 0, 0, 0, 127, 0, 0, 0, 255, 0, 0, 0, 0]));
        assert_eq!(of_image(&image.unwrap(), 0.5), 0.5);
        let deep = Image::new(1, 2, Texels::Rgba16(vec![0, 0, 0, 65535, 0, 0, 0, 100]));
        assert_eq!(of_image(&deep.unwrap(), 0.5), 0.5);
    }
}
