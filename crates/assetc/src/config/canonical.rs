//! The text of settings in cache keys and fingerprints.

use super::settings::{KEYS, SECTIONS, Settings, TextureSettings};
use crate::size_target::SizeStep;
use std::cell::RefCell;
use std::sync::Arc;

/// The last text of texture settings that a thread formatted, with the settings it is of.
type LastText = (TextureSettings, Option<SizeStep>, Arc<str>);

thread_local! {
    /// Nearly all textures of a project share their settings, and to format them takes as long as to decode a small image.
    static LAST_TEXT: RefCell<Option<LastText>> = const { RefCell::new(None) };
}

impl Settings {
    /// Returns the values of these sections as text for a cache key: one `section.key=value` per line, sorted by name.
    /// The text depends on the values only, and not on the layer, preset or rule that set them. Settings that select sources
    /// are left out, so that changing them rebuilds nothing.
    pub fn canonical(&self, sections: &[&str]) -> String {
        debug_assert!(sections.iter().all(|s| SECTIONS.contains(s)), "no such section: {sections:?}");
        let mut lines: Vec<String> = KEYS
            .iter()
            .filter(|key| sections.contains(&key.section) && !key.selects_sources())
            .map(|key| format!("{}.{}={}\n", key.section, key.name, key.show(self)))
            .collect();
        lines.sort();
        lines.extend(self.size_step.filter(|_| sections.contains(&"texture")).map(|step| step.to_string()));
        lines.concat()
    }

    /// Returns [`canonical`](Self::canonical) of the section `texture`, which a thread keeps for the next texture.
    pub(crate) fn canonical_texture(&self) -> Arc<str> {
        LAST_TEXT.with_borrow_mut(|last| {
            let is_same =
                |(texture, step, _): &&LastText| *texture == self.texture && *step == self.size_step;
            if let Some((.., text)) = last.as_ref().filter(is_same) {
                return text.clone();
            }
            let text: Arc<str> = self.canonical(&["texture"]).into();
            *last = Some((self.texture.clone(), self.size_step, text.clone()));
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_stable() {
        assert_eq!(
            Settings::default().canonical(&[
                "animation",
                "environment",
                "font",
                "lut",
                "mesh",
                "shader",
                "texture"
            ]),
            "animation.cubic=degrade\n\
             environment.irradiance=false\n\
             environment.size=false\n\
             environment.specular=false\n\
             font.charset=ascii, latin1\n\
             font.field=sdf\n\
             font.size=48\n\
             font.spread=6\n\
             lut.depth=unorm8\n\
             mesh.clusters=false\n\
             mesh.compress=none\n\
             mesh.format=hmesh\n\
             mesh.gltf_compress=meshopt\n\
             mesh.gltf_lods=false\n\
             mesh.gltf_quantize=true\n\
             mesh.gltf_textures=ktx2\n\
             mesh.lod_error=0.05\n\
             mesh.lods=2\n\
             mesh.merge=true\n\
             mesh.optimize=true\n\
             mesh.scene=false\n\
             mesh.scene_data=false\n\
             mesh.skins=first\n\
             mesh.tangents=auto\n\
             shader.debug=false\n\
             shader.defines=false\n\
             shader.include=false\n\
             shader.optimize=none\n\
             shader.target=vulkan1.2\n\
             shader.variants=false\n\
             texture.alpha_coverage=false\n\
             texture.compress=true\n\
             texture.conflict=first\n\
             texture.depth=8\n\
             texture.flip_green=false\n\
             texture.format=auto\n\
             texture.kind=auto\n\
             texture.max_size=false\n\
             texture.min_scale=1\n\
             texture.mips=true\n\
             texture.precompressed=keep\n\
             texture.quality=default\n\
             texture.rdo=0\n\
             texture.suffixes=standard\n\
             texture.supercompress=zstd\n\
             texture.swizzle=rgba\n\
             texture.target=universal\n\
             texture.wrap=clamp\n"
        );
    }

    #[test]
    fn canonical_text_has_the_requested_sections_only() {
        let mut settings = Settings::default();
        settings.texture.compress = false;
        assert_eq!(settings.canonical(&["lut"]), "lut.depth=unorm8\n");
        assert_eq!(settings.canonical(&[]), "");
        assert_ne!(settings.canonical(&["texture"]), Settings::default().canonical(&["texture"]));
    }

    #[test]
    fn texture_text_follows_the_settings() {
        let mut settings = Settings::default();
        for compress in [true, false, false, true] {
            settings.texture.compress = compress;
            assert_eq!(*settings.canonical_texture(), *settings.canonical(&["texture"]));
        }
    }
}
