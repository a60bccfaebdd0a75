//! The section `cache:` of `assetc.yml`.

use super::Config;
use super::parse::Reader;
use kiln_config::cache::{KEYS, ProjectCache, set};
use kiln_config::nodes::entries;
use kiln_config::yaml::Node;
use kiln_engine::Diag;

/// Reads the section of a project file.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, config: &mut Config) -> Result<(), Diag> {
    for entry in entries(node, "cache")? {
        if set(&mut config.cache, entry)? {
            config.cache_places.push((entry.key.clone(), entry.node.at));
        } else {
            reader.unknown(entry, "cache", KEYS.iter().copied());
        }
    }
    Ok(())
}

impl Config {
    /// Returns the section `cache:`. Some settings take effect only if the project [is trusted](Config::is_trusted).
    pub fn project_cache(&self) -> ProjectCache<'_> {
        ProjectCache {
            settings: &self.cache,
            places: &self.cache_places,
            file: &self.name,
            project: &self.project,
            is_trusted: self.trusted,
            is_foreign: self.foreign,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_engine::Code;
    use kiln_engine::store::settings::{CacheDir, CachePolicy, CacheSettings};

    #[test]
    fn documentation_lists_every_key() {
        let document = include_str!("../../../../docs/reference/cache.md");
        let example = document.split("```yaml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
        let keys = example.lines().skip(1).map(|line| line.trim().split(':').next().unwrap());
        assert_eq!(keys.collect::<Vec<_>>(), KEYS);
        let read = Config::parse(example, "assetc.yml").unwrap();
        assert!(read.warnings().is_empty() && read.cache().url.is_some());
    }

    #[test]
    fn parses_the_section() {
        let parse = |text: &str| Config::parse(text, "assetc.yml").map(|config| config.cache().clone());
        assert_eq!(parse(""), Ok(CacheSettings::default()));
        let full =
            "cache:\n  dir: .cache\n  max_size: 2 GB\n  url: https://h/k\n  policy: off\n  allow_http: true";
        let expected = CacheSettings {
            dir: Some(CacheDir::At(".cache".into())),
            max_size: Some(2 << 30),
            url: Some("https://h/k".into()),
            policy: Some(CachePolicy::Off),
            allow_http: true,
        };
        assert_eq!(parse(full).unwrap(), expected);
        for secret in ["cache: {url: 'https://me:pw@h/'}", "cache: {url: h}"] {
            let refused = parse(secret).unwrap_err();
            assert!(refused.code == Code::ConfigBadValue && !refused.to_string().contains("pw"), "{refused}");
        }
        assert_eq!(parse("cache: {dir: false}").unwrap().dir, Some(CacheDir::Off));
        for bad in [
            "cache: {dir: true}",
            "cache: {dir: ''}",
            "cache: {max_size: big}",
            "cache: {policy: all}",
            "cache: 7",
        ] {
            assert_eq!(parse(bad).unwrap_err().code, Code::ConfigBadValue, "{bad}");
        }
        let unknown = Config::parse("cache: {size: 7}", "assetc.yml").unwrap();
        assert_eq!(unknown.warnings()[0].code, Code::ConfigUnknownKey);
    }
}
