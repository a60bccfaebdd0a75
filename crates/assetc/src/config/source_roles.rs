//! The settings of other sources, for recipes whose result depends on them: a material refers to the texture of an image
//! only if the image is a source and is compiled in the mode of the slot.

use std::fmt::Write;
use std::sync::Arc;

use super::resolve::Resolver;
use super::settings::{Settings, TextureSettings};

/// Resolves the settings of other sources. The default has no configuration: every image is a source.
#[derive(Clone, Debug, Default)]
pub struct SourceRoles(Option<Arc<Resolver>>);

/// Two are equal if they select the same sources and texture modes.
impl PartialEq for SourceRoles {
    fn eq(&self, other: &SourceRoles) -> bool {
        self.digest() == other.digest()
    }
}

impl SourceRoles {
    pub(super) fn of(resolver: &Resolver) -> SourceRoles {
        SourceRoles(Some(Arc::new(resolver.clone())))
    }

    /// Returns the settings that a file is compiled with; `None` if it is excluded or embedded.
    pub(crate) fn settings(&self, path: &str) -> Option<Arc<Settings>> {
        let Some(resolver) = &self.0 else { return Some(Arc::default()) };
        let is_source = resolver.excluded_by(path).is_none() && !resolver.embeds(path);
        is_source.then(|| resolver.resolve(path).settings)
    }

    /// Returns whether a file is left out by `exclude`.
    pub(crate) fn excludes(&self, path: &str) -> bool {
        self.0.as_ref().is_some_and(|resolver| resolver.excluded_by(path).is_some())
    }

    /// Returns everything that decides about sources and texture modes as text for a fingerprint.
    pub(crate) fn digest(&self) -> String {
        let base = |texture: &TextureSettings| {
            format!("base={:?} {:?} {}\n", texture.kind, texture.suffixes, texture.swizzle.show())
        };
        let Some(resolver) = &self.0 else { return base(&TextureSettings::default()) };
        let mut text = base(&resolver.base.settings.texture);
        let exclude = resolver.exclude.iter().map(|glob| ("exclude", glob));
        let embed = resolver.embed.iter().map(|glob| ("embed", glob));
        for (key, glob) in exclude.chain(embed) {
            let _ = writeln!(text, "{key}={}", glob.glob.pattern());
        }
        for (rule, _) in &resolver.rules {
            let set = rule.overlay.shown(&["kind", "suffixes", "swizzle"]);
            if !set.is_empty() {
                let _ = writeln!(text, "match={} {set}", rule.glob.glob.pattern());
            }
        }
        text
    }
}
